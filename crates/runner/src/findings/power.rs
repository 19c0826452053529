//! What limits the figures of energy and wear: sensors that cover other hardware, counters with
//! coarse steps, and lives that follow from few writes.

use super::PointContext;
use tailmark_driver::Place;
use tailmark_model::{Phase, PowerOf, Sentence, Unit, number};

/// From this share of all processor time on, other programs drew part of the power.
const OTHERS: f64 = 0.05;
/// Bytes of a step of the counter of host writes in a drive's SMART log.
const STEP: f64 = 512_000.0;
/// With at least this many steps, the counter is off by 2 % at most.
const STEPS_MIN: f64 = 50.0;

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

/// A drive counts in steps that are coarse against what was written: the amplification that follows
/// is known within bounds.
pub fn coarse_counter(point: &PointContext<'_>) -> Option<Sentence> {
    let phase = point.phase();
    let rise = |probe, name| Some(phase.sampled(probe).rate(name)? * phase.duration_s);
    let host = rise("nvme-smart", "write_bytes")?;
    let media = rise("nvme-ocp", "media_write_bytes")?;
    let drives = phase
        .series
        .iter()
        .filter(|series| series.probe == "nvme-smart" && series.name == "write_bytes");
    // Each counter may be off by one step.
    let off = STEP * drives.count() as f64;
    if host <= 0.0 || host >= STEPS_MIN * off {
        return None;
    }
    let low = media / (host + off);
    let sentence = if host > off {
        let high = number::bounded_figure(tailmark_model::Bounded::exact(media / (host - off)));
        Sentence::new(
            "The counter of host writes rose by {Host writes}, in steps of {Step}, so the write \
             amplification inside the device is at least {At least} and at most {At most}. Measure \
             longer.",
        )
        .text("At most", high)
    } else {
        Sentence::new(
            "The counter of host writes rose by {Host writes}, in steps of {Step}, so the write \
             amplification inside the device is at least {At least}. Measure longer.",
        )
    };
    let low = number::bounded_figure(tailmark_model::Bounded::exact(low));
    let sentence = sentence.number("Host writes", host, Unit::Bytes);
    Some(
        sentence
            .number("Step", off, Unit::Bytes)
            .text("At least", low),
    )
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
