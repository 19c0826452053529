//! The figures of a phase: how they are computed, and how a study keeps them.

use super::Source;
use crate::{Bounded, Metric, Phase, SystemCost};
use std::collections::BTreeMap;

/// The figures with bounds from which stated ones follow.
const INPUTS: [&str; 2] = ["host_write_bytes_per_op", "device_watts"];
/// What follows the name of a metric for an end of its value, where a study keeps it.
const AT_LEAST: &str = " at least";
const AT_MOST: &str = " at most";

impl Phase {
    /// Every sampled metric of a phase whose value is known.
    pub fn sampled_figures(&self, value_bytes: Option<f64>) -> BTreeMap<Metric, Bounded> {
        let value = |metric: Metric| match metric.row().source {
            Source::Sampled(figure) => figure(self, value_bytes).map(Bounded::exact),
            Source::AtMost(figure) => figure(self, value_bytes).map(Bounded::at_most),
            Source::Stepped(figure) => figure(self),
            Source::Counted(_) | Source::Latency(..) | Source::Stated(_) => None,
        };
        let known = Metric::figures().filter_map(|metric| Some((metric, value(metric)?)));
        known.collect()
    }

    /// Sets every metric that follows from known figures and from what the plan states of the
    /// system. Each of them rises or falls with each of its inputs, so the ends of those give its
    /// ends.
    pub fn set_stated_figures(&mut self, cost: &SystemCost) {
        let inputs = INPUTS.iter().filter_map(|name| Metric::from_name(name));
        let inputs = inputs.filter_map(|metric| Some((metric, *self.figures.get(&metric)?)));
        let inputs: Vec<(Metric, Bounded)> = inputs.filter(|(_, own)| !own.is_exact()).collect();
        for metric in Metric::costs() {
            let Source::Stated(figure) = metric.row().source else {
                continue;
            };
            let value = figure(self, cost);
            let value = value.and_then(|value| {
                let ends = self.at_ends(&inputs, &|phase| figure(phase, cost));
                self.figures.extend(inputs.iter().copied());
                between(&ends, value)
            });
            if let Some(value) = value.filter(|value| value.value.is_finite()) {
                self.figures.insert(metric, value);
                if metric.is_money() {
                    self.money.currency.clone_from(&cost.currency);
                }
                if metric.includes_energy() {
                    self.money.energy_of = cost.energy_of(self);
                }
            }
        }
    }

    /// A figure at both ends of each input.
    fn at_ends(
        &mut self,
        inputs: &[(Metric, Bounded)],
        figure: &dyn Fn(&Self) -> Option<f64>,
    ) -> Vec<Option<f64>> {
        let Some(((metric, value), others)) = inputs.split_first() else {
            return vec![figure(self)];
        };
        let ends = [value.low(), value.high()].map(|end| {
            self.figures.insert(*metric, Bounded::exact(end));
            self.at_ends(others, figure)
        });
        ends.concat()
    }

    /// The figures that a study keeps: those that are not computed when it is read.
    pub fn kept_figures(&self) -> BTreeMap<Metric, Bounded> {
        let is_kept = |metric: &Metric| !matches!(metric.row().source, Source::Stated(_));
        let figures = self.figures.iter();
        let kept = figures.filter(|(metric, _)| is_kept(metric));
        kept.map(|(metric, value)| (*metric, *value)).collect()
    }

    /// A known figure by the name of its metric, without its bounds.
    pub fn figure(&self, name: &str) -> Option<f64> {
        let mut figures = self.figures.iter();
        let figure = figures.find(|(metric, _)| metric.row().name == name)?;
        Some(figure.1.value)
    }
}

/// A value between others. One that is unknown is infinite: the life of a drive to which nothing is
/// written.
fn between(ends: &[Option<f64>], value: f64) -> Option<Bounded> {
    let ends = ends.iter().map(|end| end.unwrap_or(f64::INFINITY));
    let (low, high) = (
        ends.clone().fold(value, f64::min),
        ends.fold(value, f64::max),
    );
    Bounded::from_ends(low, value, high)
}

/// Figures by name, as a study keeps them: a value, and under longer names the ends that it has.
/// Versions without such names leave them out.
pub fn figures_to_text(figures: &BTreeMap<Metric, Bounded>) -> BTreeMap<String, f64> {
    let mut named = BTreeMap::new();
    for (metric, bounded) in figures {
        let name = metric.row().name;
        named.insert(name.to_owned(), bounded.value);
        if matches!(metric.row().source, Source::AtMost(_)) || bounded.is_exact() {
            continue;
        }
        if bounded.low() > 0.0 {
            named.insert(format!("{name}{AT_LEAST}"), bounded.low());
        }
        if bounded.high().is_finite() {
            named.insert(format!("{name}{AT_MOST}"), bounded.high());
        }
    }
    named
}

/// The figures that a study keeps. Those of metrics that this version does not know, and of ends
/// that contradict their value, are left out.
pub fn figures_from_text(named: &BTreeMap<String, f64>) -> BTreeMap<Metric, Bounded> {
    let end = |name: &str, side: &str| named.get(&format!("{name}{side}")).copied();
    let figure = |(name, value): (&String, &f64)| {
        let metric = Metric::from_name(name)?;
        if matches!(metric.row().source, Source::AtMost(_)) {
            return Some((metric, Bounded::at_most(*value)));
        }
        let bounded = match (end(name, AT_LEAST), end(name, AT_MOST)) {
            (None, None) => Bounded::exact(*value),
            (low, high) => {
                let (low, high) = (low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY));
                let is_sound = low <= *value && *value <= high;
                Bounded::from_ends(low, *value, high).filter(|_| is_sound)?
            }
        };
        Some((metric, bounded))
    };
    named.iter().filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(known: &[(&str, Bounded)]) -> BTreeMap<Metric, Bounded> {
        let known = known.iter();
        known
            .map(|(name, value)| (Metric::from_name(name).unwrap(), *value))
            .collect()
    }

    #[test]
    fn figures_come_back_from_a_study_with_their_bounds() {
        let between = Bounded::from_ends(1.5, 2.0, 3.0).unwrap();
        let known = figures(&[
            ("device_write_amplification", between),
            ("media_write_bytes_per_op", Bounded::at_least(7.0)),
            ("host_write_bytes_per_op", Bounded::at_most(8.0)),
            ("write_amplification", Bounded::exact(4.0)),
            ("device_read_p99_us", Bounded::at_most(100.0)),
        ]);
        let kept = figures_to_text(&known);
        assert_eq!(figures_from_text(&kept), known);
        // What earlier versions kept is read as they meant it.
        let earlier = known.iter().map(|(m, v)| (m.to_string(), v.value));
        let read = figures_from_text(&earlier.collect());
        let p99 = Metric::from_name("device_read_p99_us").unwrap();
        assert_eq!(read[&p99], Bounded::at_most(100.0));
        let contradiction = [
            ("write_amplification".to_owned(), 4.0),
            ("write_amplification at least".to_owned(), 5.0),
        ];
        assert!(figures_from_text(&contradiction.into()).is_empty());
    }

    #[test]
    fn what_is_known_of_the_hosts_writes_bounds_what_follows_from_them() {
        let cost = SystemCost {
            price: Some(400.0),
            rated_tbw: Some(7_000.0),
            capacity: Some(4_000_000_000_000),
            ..SystemCost::default()
        };
        let stated = |writes: Bounded, name: &str| {
            let mut phase = Phase {
                duration_s: 10.0,
                operations: 1_000_000,
                figures: figures(&[(INPUTS[0], writes)]),
                ..Phase::default()
            };
            phase.set_stated_figures(&cost);
            assert_eq!(
                Metric::from_name(INPUTS[0]).unwrap().value(&phase),
                Some(writes)
            );
            Metric::from_name(name).unwrap().value(&phase)
        };
        // 800 bytes an operation are 1.728 drive writes a day and 2.7727 years; half of them are
        // half, and twice as many years.
        let is_near = |found: Option<Bounded>, ends: [f64; 2]| {
            let found = found.unwrap();
            let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-4;
            near(found.low(), ends[0]) && near(found.high(), ends[1])
        };
        let between = Bounded::from_ends(400.0, 800.0, 1_600.0).unwrap();
        assert!(is_near(
            stated(between, "drive_writes_per_day"),
            [0.864, 3.456]
        ));
        assert!(is_near(stated(between, "life_years"), [1.386_35, 5.545_41]));
        // Of a life beyond the years one drive is bought; of the shortest 3.6066.
        assert!(is_near(
            stated(between, "cost_of_ownership"),
            [400.0, 1_442.64]
        ));
        let least = Bounded::at_least(800.0);
        let bound = |name| stated(least, name).unwrap().bound;
        assert_eq!(bound("drive_writes_per_day"), crate::Bound::AtLeast);
        assert_eq!(bound("life_years"), crate::Bound::AtMost);
        assert_eq!(bound("cost_per_million_ops"), crate::Bound::AtLeast);
        let most = Bounded::at_most(800.0);
        assert_eq!(
            stated(most, "life_years").unwrap().bound,
            crate::Bound::AtLeast
        );
    }
}
