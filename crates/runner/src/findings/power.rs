//! What limits the figures of energy and wear: sensors that cover other hardware, counters with
//! coarse steps, and lives that follow from few writes.

use super::PointContext;
use tailmark_driver::Place;
use tailmark_model::{Phase, PowerOf, Sentence, Unit, number};

/// From this share of all processor time on, other programs drew part of the power.
const OTHERS: f64 = 0.05;
/// A power sensor covers more or other hardware than the system.
pub fn covers_others(point: &PointContext<'_>) -> Option<Sentence> {
    let phase = point.phase();
    let known = [PowerOf::Processors, PowerOf::Server].into_iter();
    let known = known.filter(|of| phase.watts(*of).is_some());
    let known: Vec<&str> = known.map(PowerOf::name).collect();
    if known.is_empty() || !phase.servers().is_empty() {
        return None;
    }
    let sentence = |text: &str| {
        let wording = format!("The power of {{Sensors}} {text}");
        Sentence::new(wording).text("Sensors", number::list(&known))
    };
    let is_here = point
        .sweep
        .as_ref()
        .is_none_or(|sweep| sweep.system.is_here());
    if point.driver.place == Place::Hosts && !is_here && !is_of_plan(phase) {
        return Some(sentence(
            "is that of the clients' machine, not of the database's server. Name its hosts by \
             `ssh`, or a `machine.power_command` that asks them.",
        ));
    }
    let others = phase.cpu_shares()?.others;
    (others >= OTHERS).then(|| {
        sentence(
            "includes other programs, which used {Other programs} of the processors' time. Stop \
             them, and measure again.",
        )
        .number("Other programs", others * 100.0, Unit::Percent)
    })
}

/// Whether the only power is what the plan itself names as that of the system.
fn is_of_plan(phase: &Phase) -> bool {
    let sources = [PowerOf::Processors, PowerOf::Server].map(|of| phase.power_source(of));
    let mut sensors = sources.into_iter().flatten();
    sensors.all(|probe| {
        matches!(
            probe,
            tailmark_model::POWER_COMMAND | tailmark_model::POWER_LOG
        )
    })
}

/// A drive counts in steps that are coarse against what was written, or late: what follows is known
/// within bounds, or unknown.
pub fn coarse_counter(point: &PointContext<'_>) -> Option<Sentence> {
    let phase = point.phase();
    let figures = phase.sampled_figures(None).into_iter();
    // Whole watts are no counter of writes.
    let is_counted =
        |metric: &tailmark_model::Metric| metric.may_have_ends() && metric.row().unit != "W";
    let coarse = figures.filter(|(metric, value)| is_counted(metric) && !value.is_exact());
    let coarse = coarse.map(|(metric, value)| {
        let text = metric.text_with_unit(value, &phase.money.currency);
        format!("{} is {text}", metric.row().title)
    });
    let silent = phase.silent_counters().into_iter();
    let silent = silent.map(|counter| format!("values from its counter of {counter} are unknown"));
    let known: Vec<String> = coarse.chain(silent).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    (!known.is_empty()).then(|| {
        Sentence::new(
            "A drive counts writes in coarse steps or updates its counter late, so {Known}. \
             Measure longer.",
        )
        .text("Known", number::list(&known))
    })
}

/// The life of the devices follows from writes of less than their capacity.
pub fn life_extrapolated(point: &PointContext<'_>) -> Option<Sentence> {
    let cost = point.sweep.as_ref()?.system.cost.as_ref()?;
    let capacity = cost.rated_tbw.and(cost.capacity)? as f64;
    let phase = point.phase();
    let written = phase.sampled("disk").rate("write_bytes")? * phase.duration_s;
    (written > 0.0 && written < capacity).then(|| {
        Sentence::new(
            "The years of life follow from {Written}, {Share} of the capacity of {Capacity}. A \
             drive that is written over collects garbage, and may wear faster or slower. Measure \
             longer.",
        )
        .number("Written", written, Unit::Bytes)
        .text("Share", number::share(written / capacity))
        .number("Capacity", capacity, Unit::Bytes)
    })
}

#[cfg(test)]
mod tests;
