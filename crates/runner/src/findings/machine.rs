//! What the machine's samples say against a number: the device or the volume was throttled,
//! processors were taken away, another program used the device, or settings of a killed run are
//! still in force.

use tailmark_driver::Place;
use tailmark_model::{Finding, Phase, RankPart, Sentence, Unit, finding, number};

/// From this share of the time on a device or a volume counts as held back, and processors as given
/// to others.
const SHARE: f64 = 0.01;

/// Overheating counters of a drive, from its SMART log and OCP's extended log: probe, counter, the
/// name of the observation, its unit, and its text.
const THROTTLINGS: [(&str, &str, &str, Unit, &str); 5] = [
    (
        "nvme-smart",
        "light_throttlings",
        "Light throttlings",
        Unit::Count,
        "{Light throttlings} transitions to its first thermal state",
    ),
    (
        "nvme-smart",
        "heavy_throttlings",
        "Heavy throttlings",
        Unit::Count,
        "{Heavy throttlings} transitions to its second thermal state",
    ),
    (
        "nvme-smart",
        "warning_temperature_s",
        "Above warning temperature",
        Unit::Seconds,
        "{Above warning temperature} above its warning temperature",
    ),
    (
        "nvme-smart",
        "critical_temperature_s",
        "Above critical temperature",
        Unit::Seconds,
        "{Above critical temperature} above its critical temperature",
    ),
    (
        "nvme-ocp",
        "throttlings",
        "Thermal throttlings",
        Unit::Count,
        "{Thermal throttlings} thermal throttlings",
    ),
];

/// A drive slowed itself down.
pub fn device_throttled(phase: &Phase) -> Option<Sentence> {
    let rise =
        |&(probe, counter, name, unit, said): &(&'static str, &'static str, &str, Unit, &str)| {
            let times = phase.sampled(probe).known_rate(counter)? * phase.duration_s;
            (times >= 0.5).then(|| Sentence::new(said).number(name, times.round(), unit))
        };
    let mut rises: Vec<Sentence> = THROTTLINGS.iter().filter_map(rise).collect();
    let status = phase.sampled("nvme-ocp").known_mean("throttling_status");
    if rises.is_empty() && status.is_some_and(|status| status > 0.0) {
        rises.push("a thermal throttling status other than 0".into());
    }
    listed(
        "The drive reports that it was too hot:",
        rises,
        "It did less than it can. Cool it, or measure it as hot as it will run in production.",
    )
}

/// Several sentences as one list after an introduction; `None` if there are none.
fn listed(introduction: &str, all: Vec<Sentence>, remedy: &str) -> Option<Sentence> {
    let wordings: Vec<&str> = all.iter().map(|one| one.wording.as_str()).collect();
    let wording = format!("{introduction} {}. {remedy}", number::list(&wordings));
    (!all.is_empty()).then(|| Sentence {
        wording,
        evidence: all.into_iter().flat_map(|one| one.evidence).collect(),
    })
}

/// Counters of time in which a cloud volume received more requests than it or its instance may
/// serve, and the names of the observations.
const LIMITS: [(&str, &str, &str); 4] = [
    (
        "volume_iops_exceeded_s",
        "At IOPS of volume",
        "the IOPS of the volume for {At IOPS of volume} of the time",
    ),
    (
        "volume_throughput_exceeded_s",
        "At throughput of volume",
        "the throughput of the volume for {At throughput of volume} of the time",
    ),
    (
        "instance_iops_exceeded_s",
        "At IOPS of instance",
        "the IOPS of the instance for {At IOPS of instance} of the time",
    ),
    (
        "instance_throughput_exceeded_s",
        "At throughput of instance",
        "the throughput of the instance for {At throughput of instance} of the time",
    ),
];

/// A cloud volume was held to its limit, or to that of its instance.
pub fn volume_capped(phase: &Phase) -> Option<Sentence> {
    let share = |&(counter, name, said): &(&'static str, &str, &str)| {
        let share = phase.sampled("cloud-volume").known_rate(counter)?;
        let sentence = || Sentence::new(said).number(name, share * 100.0, Unit::Percent);
        (share >= SHARE).then(sentence)
    };
    listed(
        "The volume reports that requests exceeded its limits:",
        LIMITS.iter().filter_map(share).collect(),
        "The numbers show that limit. Buy a higher limit, or compare volumes at the same limit.",
    )
}

/// Processors were given to other guests of the host.
pub fn steal(phase: &Phase) -> Option<Sentence> {
    let share = phase.cpu_steal()?;
    (share >= SHARE).then(|| {
        Sentence::new(
            "{Steal} of the processors' time went to other guests of this machine's host (steal), \
             so requests waited for a processor. Use a dedicated host or a larger instance.",
        )
        .number("Steal", share * 100.0, Unit::Percent)
    })
}

/// Below this many bytes per second, activity of other programs is not mentioned.
const OTHERS_MIN: f64 = 1e6;
/// From this share of a device's activity on, it is. The kernel writes a file system's journal and
/// metadata for the database, so more is tolerated for writes than for reads.
const OTHERS: [(&str, &str, &str, f64); 2] = [
    ("read_bytes", "Read", "read from", 0.1),
    ("write_bytes", "Written", "written to", 0.5),
];

/// The most that the kernel writes of a journal and of metadata with each flush.
const JOURNAL_PER_FLUSH: f64 = 65_536.0;

/// Something else used the device.
pub fn other_load(phase: &Phase, place: Place) -> Option<Sentence> {
    // Memory that other ranks on the same machine ask for is not counted.
    let host = |part: &RankPart| part.host == phase.ranks[0].host;
    if phase.ranks.iter().skip(1).any(host) {
        return None;
    }
    let process = match place {
        Place::Hosts => "database-process",
        _ => "process",
    };
    let other = |&(counter, what, verb, part): &(&'static str, &str, &str, f64)| {
        let device = phase.sampled("disk").rate(counter)?;
        let flushes = phase.sampled("disk").rate("flushes").unwrap_or(0.0);
        let journal = match counter {
            "write_bytes" => flushes * JOURNAL_PER_FLUSH,
            _ => 0.0,
        };
        let other = device - phase.sampled(process).rate(counter)? - journal;
        let is_much = other >= OTHERS_MIN && other >= part * device;
        is_much.then(|| {
            let (by_others, in_all) = (format!("{what} by others"), format!("{what} in all"));
            Sentence::new(format!("{{{by_others}}} of {{{in_all}}} {verb} it"))
                .number(&by_others, other, Unit::BytesPerSecond)
                .number(&in_all, device, Unit::BytesPerSecond)
        })
    };
    listed(
        "The device did work that the database did not request:",
        OTHERS.iter().filter_map(other).collect(),
        "Stop other programs that use it, or give the test its own device.",
    )
}

/// The finding that settings of this machine, each as `vm.swappiness is 1, was 60`, are left from a
/// killed run.
pub(crate) fn settings_left(settings: &[String]) -> Option<Finding> {
    (!settings.is_empty()).then(|| {
        let sentence = Sentence::new(format!(
            "A killed run of tailmark changed settings of this machine and did not restore them: \
             {{Settings}}. Restore them with `{}`, and measure again.",
            tailmark_prepare::RESTORE
        ));
        finding::SETTINGS_LEFT.finding(sentence.text("Settings", settings.join("; ")))
    })
}

#[cfg(test)]
mod tests;
