//! The grid that a point belongs to, and its name: by workload, distribution, rate and arrivals.

use crate::{
    Data,
    axis::{self, Axis},
    block::anchor,
};
use std::collections::{BTreeMap, BTreeSet};
use tailmark_model::{Arrivals, Header, Point, number};

/// The distribution of imported points whose source does not state it.
pub const UNKNOWN: &str = "unknown";

/// Identifies the points of an axis of rates: those whose clients share one sequence of arrivals,
/// if the plan has such an axis. One rate over several client counts is not an axis.
pub struct Rates<'a> {
    is_axis: bool,
    /// The client counts of each workload at rates.
    clients: BTreeMap<RatesName<'a>, BTreeSet<u32>>,
}

/// Workload, distribution and arrivals.
type RatesName<'a> = (&'a str, &'a str, &'static str);

impl<'a> Rates<'a> {
    /// The names for the points of `data`.
    pub fn from_data(data: &'a Data) -> Self {
        let mut clients: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
        for point in &data.points {
            if let Some(name) = Self::name(point) {
                clients.entry(name).or_default().insert(point.key.threads);
            }
        }
        let has_rates = |header: &Header| header.settings.has_rates;
        Self {
            is_axis: data.headers.iter().any(has_rates),
            clients,
        }
    }

    fn name(point: &Point) -> Option<RatesName<'_>> {
        let key = &point.key;
        Some((&key.workload, &key.distribution, key.arrivals?.name()))
    }

    fn axis(&self, point: &Point) -> Axis {
        match point.key.arrivals {
            Some(_) if self.is_axis => Axis::Rates,
            _ => Axis::Threads,
        }
    }

    /// The clients of a point at a rate, if other points of the workload have a different number.
    fn clients(&self, point: &Point) -> Option<u32> {
        let counts = self.clients.get(&Self::name(point)?)?;
        (self.is_axis && counts.len() > 1).then_some(point.key.threads)
    }
}

/// The name of a grid, and its identity.
pub struct GridName {
    pub axis: Axis,
    /// The identity of the grid, even if names look alike.
    pub identity: Vec<String>,
    /// The anchor; made unique where several grids look alike.
    pub anchor: String,
    pub title: String,
    pub conditions: String,
    pub clients: Option<String>,
}

impl GridName {
    /// Of the grid that a point is in.
    pub fn new(point: &Point, rates: &Rates<'_>) -> Self {
        let (key, axis) = (&point.key, rates.axis(point));
        let clients = rates.clients(point).map(number::threads);
        let rate = match axis {
            Axis::Threads => key.target_rate.map(number::ops),
            Axis::Rates => Some("rates".to_owned()),
        };
        let mut parts = vec!["workload", &key.workload, &key.distribution];
        parts.extend(rate.as_deref());
        parts.extend(key.arrivals.map(Arrivals::name));
        parts.extend(clients.as_deref());
        let identity = parts.iter().map(|part| (*part).to_owned()).collect();
        let anchor = anchor(&parts);
        let at = match (axis, &rate) {
            (Axis::Rates, _) => ", at fixed rates".to_owned(),
            (Axis::Threads, None) => String::new(),
            (Axis::Threads, Some(rate)) => format!(", at a fixed rate of {rate}"),
        };
        let arrivals = key.arrivals.map(axis::arrivals);
        let arrivals = arrivals.map_or_else(String::new, |how| format!(" with {how}"));
        Self {
            axis,
            identity,
            anchor,
            title: workload_title(&key.workload),
            conditions: match key.distribution.as_str() {
                UNKNOWN => format!("{at}{arrivals}")
                    .trim_start_matches(", ")
                    .to_owned(),
                known => format!("{known} keys{at}{arrivals}"),
            },
            clients,
        }
    }
}

/// `ycsb-a` as people write it, `YCSB A`; other names as they are.
#[must_use]
pub fn workload_title(name: &str) -> String {
    match name.strip_prefix("ycsb-") {
        None => name.to_owned(),
        Some(rest) => {
            let mut words = rest.splitn(2, '-');
            let letter = words.next().unwrap_or_default().to_uppercase();
            words.next().map_or_else(
                || format!("YCSB {letter}"),
                |more| format!("YCSB {letter} {}", more.replace('-', " ")),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_titled_as_people_write_them() {
        for (name, title) in [
            ("ycsb-a", "YCSB A"),
            ("ycsb-d-uniform", "YCSB D uniform"),
            ("sessions", "sessions"),
        ] {
            assert_eq!(workload_title(name), title);
        }
    }
}
