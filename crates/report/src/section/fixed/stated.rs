//! What is known at a fixed rate or latency where bounds leave no ratio: each value with its systems.

use super::{Fixed, GroupReading, value::Reading};
use crate::{
    compare,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Metric, number};

/// The values of a workload at a fixed rate or latency that are not compared.
pub struct FixedValues<'g, 'a> {
    /// The workload.
    pub group: &'g WorkloadGrid<'a>,
    /// `the p99 read latency is`, `ops/s are`.
    pub verb: String,
    /// Each value in words, with its systems.
    values: Vec<(String, Vec<&'a str>)>,
    /// That of the subject, or of the only system: `≤ 3.00 ms`, and its name.
    pub own: Option<(String, &'a str)>,
}

impl<'a> FixedValues<'_, 'a> {
    /// `the p99 read latency is at most 3.00 ms (A and B) and at most 6.00 ms (C)`
    pub fn words(&self) -> String {
        let values = self.values.iter();
        let said = values.map(|(value, names)| format!("{value} ({})", number::list(names)));
        let said: Vec<String> = said.collect();
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        format!("{} {}", self.verb, number::list(&said))
    }

    /// The value and its system, if it is the only one.
    pub fn only(&self) -> Option<(&str, &'a str)> {
        match &self.values[..] {
            [(value, names)] if names.len() == 1 => Some((value, names[0])),
            _ => None,
        }
    }
}

impl Fixed {
    /// `None` if nothing is known, a rate was not met, or verdicts stand beside what is read off curves.
    pub(super) fn stated<'g, 'a>(
        self,
        sweep: &SweepTable<'a>,
        group: &'g WorkloadGrid<'a>,
        metric: Metric,
        readings: &[GroupReading<'g, 'a>],
    ) -> Option<FixedValues<'g, 'a>> {
        let known = || {
            let all = readings.iter();
            all.filter_map(|(name, reading)| Some((*name, reading.as_ref()?)))
        };
        let is_beside_verdicts =
            |reading: &Reading<'_, '_>| sweep.comparisons.has_verdicts() && reading.is_of_curve();
        if known().any(|(_, one)| one.is_not_reached() || is_beside_verdicts(one)) {
            return None;
        }
        let mut values: Vec<(String, Vec<&'a str>)> = Vec::new();
        for (name, reading) in known().filter(|(_, reading)| reading.bounded().is_some()) {
            let said = in_words(&self.written(reading));
            match values.iter_mut().find(|(own, _)| *own == said) {
                Some((_, names)) => names.push(name),
                None => values.push((said, vec![name])),
            }
        }
        if values.is_empty() {
            return None;
        }
        let subject = compare::subject(sweep).or(sweep.baseline());
        let own = known().find(|(name, _)| readings.len() == 1 || subject == Some(*name));
        let own = own.filter(|(_, reading)| reading.bounded().is_some());
        Some(FixedValues {
            group,
            verb: match self {
                Self::Rate(_) => format!("the {} is", metric.noun()),
                Self::Latency(_) => "ops/s are".to_owned(),
            },
            values,
            own: own.map(|(name, reading)| (self.written(reading), name)),
        })
    }
}

/// The systems whose every point is above a latency.
pub(super) fn exceeding<'a>(readings: &[GroupReading<'_, 'a>]) -> Vec<&'a str> {
    let all = readings.iter();
    let above = all.filter(|(_, reading)| matches!(reading, Some(Reading::Exceeds)));
    above.map(|(name, _)| *name).collect()
}

/// A bound in words: `at most 3.00 ms`.
fn in_words(value: &str) -> String {
    value.replace("≥ ", "at least ").replace("≤ ", "at most ")
}
