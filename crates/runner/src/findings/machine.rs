//! What the samples of the machine say against a number: the device or the volume was held back, the
//! processors were given to others, or something else used the device.

use tailmark_driver::Place;
use tailmark_results::{Phase, RankPart, number};

/// From this share of the time on a device or a volume counts as held back, and processors as given
/// to others.
const SHARE: f64 = 0.01;

/// Counters of a drive that was too hot, of its SMART log and of OCP's extended one.
const THROTTLINGS: [(&str, &str, &str); 5] = [
    (
        "nvme-smart",
        "light_throttlings",
        "transitions to its first thermal state",
    ),
    (
        "nvme-smart",
        "heavy_throttlings",
        "transitions to its second thermal state",
    ),
    (
        "nvme-smart",
        "warning_temperature_s",
        "s above its warning temperature",
    ),
    (
        "nvme-smart",
        "critical_temperature_s",
        "s above its critical temperature",
    ),
    ("nvme-ocp", "throttlings", "thermal throttlings"),
];

/// A drive slowed itself down.
pub fn device_throttled(phase: &Phase) -> Option<String> {
    let rise = |(probe, counter, what): &(&'static str, &str, &str)| {
        let times = phase.sampled(probe).known_rate(counter)? * phase.duration_s;
        (times >= 0.5).then(|| format!("{} {what}", number::count(times.round() as u64)))
    };
    let mut rises: Vec<String> = THROTTLINGS.iter().filter_map(rise).collect();
    let status = phase.sampled("nvme-ocp").known_mean("throttling_status");
    if rises.is_empty() && status.is_some_and(|status| status > 0.0) {
        rises.push("a thermal throttling status other than 0".to_owned());
    }
    let rises: Vec<&str> = rises.iter().map(String::as_str).collect();
    (!rises.is_empty()).then(|| {
        format!(
            "The drive says of itself that it was too hot: {}. It did less than it can. Cool it, or \
             measure for as long as it can be kept cool in production.",
            number::list(&rises)
        )
    })
}

/// Counters of time in which a cloud volume was asked for more than it or its instance is given.
const LIMITS: [(&str, &str); 4] = [
    ("volume_iops_exceeded_s", "the IOPS of the volume"),
    (
        "volume_throughput_exceeded_s",
        "the throughput of the volume",
    ),
    ("instance_iops_exceeded_s", "the IOPS of the instance"),
    (
        "instance_throughput_exceeded_s",
        "the throughput of the instance",
    ),
];

/// A cloud volume was held to its limit, or to that of its instance.
pub fn volume_capped(phase: &Phase) -> Option<String> {
    let share = |(counter, what): &(&str, &str)| {
        let share = phase.sampled("cloud-volume").known_rate(counter)?;
        (share >= SHARE).then(|| format!("{what} for {} of the time", number::share(share)))
    };
    let shares: Vec<String> = LIMITS.iter().filter_map(share).collect();
    let shares: Vec<&str> = shares.iter().map(String::as_str).collect();
    (!shares.is_empty()).then(|| {
        format!(
            "The volume says that more was asked for than is given: {}. What was measured is that \
             limit. Buy more of it, or compare volumes at the same limit.",
            number::list(&shares)
        )
    })
}

/// Processors were given to other guests of the host.
pub fn steal(phase: &Phase) -> Option<String> {
    let share = phase.cpu_steal()?;
    (share >= SHARE).then(|| {
        format!(
            "{} of the processors' time went to other guests of this machine's host (steal): \
             requests waited for a processor that was not there. Use a dedicated host or a larger \
             instance.",
            number::share(share)
        )
    })
}

/// Below so many bytes a second what others do is not worth a word.
const OTHERS_MIN: f64 = 1e6;
/// From this part of what a device did on it is. A file system's journal and metadata are written by
/// the kernel for the database, so more is let pass of writes than of reads.
const OTHERS: [(&str, &str, f64); 2] = [
    ("read_bytes", "read from", 0.1),
    ("write_bytes", "written to", 0.5),
];

/// What the kernel writes of a journal and of metadata with each flush, at most.
const JOURNAL_PER_FLUSH: f64 = 65_536.0;

/// Something else used the device.
pub fn other_load(phase: &Phase, place: Place) -> Option<String> {
    // What the processes of other ranks on the same machine ask for is not counted.
    let host = |part: &RankPart| part.host == phase.ranks[0].host;
    if phase.ranks.iter().skip(1).any(host) {
        return None;
    }
    let process = match place {
        Place::Hosts => "database-process",
        _ => "process",
    };
    let other = |(counter, what, part): &(&str, &str, f64)| {
        let device = phase.sampled("disk").rate(counter)?;
        let flushes = phase.sampled("disk").rate("flushes").unwrap_or(0.0);
        let journal = match *counter {
            "write_bytes" => flushes * JOURNAL_PER_FLUSH,
            _ => 0.0,
        };
        let other = device - phase.sampled(process).rate(counter)? - journal;
        let is_much = other >= OTHERS_MIN && other >= part * device;
        is_much.then(|| {
            format!(
                "{}/s of {}/s {what} it",
                number::bytes(other),
                number::bytes(device)
            )
        })
    };
    let others: Vec<String> = OTHERS.iter().filter_map(other).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    (!others.is_empty()).then(|| {
        format!(
            "The device did what the database did not ask for: {}. Stop other programs that use it, \
             or give the test a device of its own.",
            number::list(&others)
        )
    })
}

#[cfg(test)]
mod tests;
