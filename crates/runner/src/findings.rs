//! What qualifies a point's numbers: each rule looks at the evidence and says what it saw and what
//! to do about it.

use bytesize::ByteSize;
use std::time::Duration;
use tailmark_driver::{DataSet, Database, Driver, Params, Place, Settled};
use tailmark_results::{Finding, Kind, Phase, PointKey};

/// What the rules look at.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// What opened the database.
    pub driver: &'a Driver,
    /// What it opened.
    pub params: &'a Params,
    /// The data set that was worked on.
    pub data: &'a DataSet,
    /// What the data set is at full scale, where the plan scales it down.
    pub unscaled: Option<&'a DataSet>,
    /// Which point.
    pub key: &'a PointKey,
    /// What was measured.
    pub phase: &'a Phase,
    /// Bytes of memory the run may use: the limit, or the machine's.
    pub memory: u64,
    /// Processors of the machine.
    pub cpus: usize,
    /// How long background work was waited for at most.
    pub settle: Duration,
    /// Whether background work came to rest before the point.
    pub settled_before: Settled,
    /// Whether it did after the point.
    pub settled_after: Settled,
    /// Why caches were not dropped, if they were not.
    pub caches_kept: Option<&'a str>,
    /// The limit of memory that was asked for, bytes, and why there is none.
    pub memory_unlimited: Option<(u64, &'a str)>,
    /// How far the wall clock moved against the monotonic clock during the point.
    pub clock_step: Duration,
}

impl<'a> Evidence<'a> {
    /// Of a point that was measured as it came: nothing waited for, dropped, limited or scaled.
    #[must_use]
    pub fn new(
        driver: &'a Driver,
        params: &'a Params,
        key: &'a PointKey,
        phase: &'a Phase,
    ) -> Self {
        Self {
            driver,
            params,
            data: &params.data,
            unscaled: None,
            key,
            phase,
            memory: tailmark_host::memory().total,
            cpus: tailmark_host::cpus(),
            settle: Duration::ZERO,
            settled_before: Settled::Unknown,
            settled_after: Settled::Unknown,
            caches_kept: None,
            memory_unlimited: None,
            clock_step: Duration::ZERO,
        }
    }
}

/// One rule: a row of [`RULES`].
pub struct Rule {
    /// The stable word that the finding is found by.
    pub code: &'static str,
    /// One line for the documentation.
    pub about: &'static str,
    /// The evidence and the remedy, where the rule applies.
    pub check: fn(&Evidence<'_>) -> Option<String>,
}

/// Every rule, sorted by code.
pub const RULES: &[Rule] = &[
    Rule {
        code: "caches-not-dropped",
        about: "the caches of the point before were kept",
        check: caches_not_dropped,
    },
    Rule {
        code: "client-saturated",
        about: "the processors were the limit, not the storage",
        check: client_saturated,
    },
    Rule {
        code: "clock-stepped",
        about: "the wall clock was set during the point",
        check: clock_stepped,
    },
    Rule {
        code: "errors",
        about: "requests failed",
        check: errors,
    },
    Rule {
        code: "fits-in-memory",
        about: "the data set fits in memory or in the cache",
        check: fits_in_memory,
    },
    Rule {
        code: "memory-not-limited",
        about: "the memory limit of the plan was not applied",
        check: memory_not_limited,
    },
    Rule {
        code: "misses",
        about: "reads found nothing",
        check: misses,
    },
    Rule {
        code: "not-settled",
        about: "background work was left over",
        check: not_settled,
    },
    Rule {
        code: "rate-not-met",
        about: "the target rate was not reached",
        check: rate_not_met,
    },
    Rule {
        code: "started-late",
        about: "operations were sent later than due, for want of a free client or processor",
        check: started_late,
    },
    Rule {
        code: "too-few-samples",
        about: "too few samples for a high quantile",
        check: too_few_samples,
    },
];

/// The findings of a point.
#[must_use]
pub fn findings(evidence: &Evidence<'_>) -> Vec<Finding> {
    let apply = |rule: &Rule| {
        (rule.check)(evidence).map(|text| Finding {
            code: rule.code.to_owned(),
            text,
        })
    };
    RULES.iter().filter_map(apply).collect()
}

/// What a database itself has to say beside its numbers.
#[must_use]
pub fn remarks(database: &dyn Database) -> Vec<Finding> {
    let finding = |remark: tailmark_driver::Remark| Finding {
        code: remark.code.to_owned(),
        text: remark.text,
    };
    database.remarks().into_iter().map(finding).collect()
}

fn caches_not_dropped(e: &Evidence<'_>) -> Option<String> {
    e.caches_kept.map(|why| {
        format!("Caches were not dropped before this point ({why}), so part of its reads may not have reached the device. Run as root.")
    })
}

fn memory_not_limited(e: &Evidence<'_>) -> Option<String> {
    e.memory_unlimited.map(|(limit, why)| {
        format!(
            "The plan limits memory to {}, but that was not applied: {why}.",
            ByteSize(limit)
        )
    })
}

fn client_saturated(e: &Evidence<'_>) -> Option<String> {
    const BUSY: f64 = 0.90;
    let change = |name: &str| {
        let all = e
            .phase
            .series
            .iter()
            .filter(|s| s.probe == "cpu" && s.subject == "machine");
        let series = all.into_iter().find(|s| s.name == name)?;
        let from = series.at_s.iter().position(|&at| at >= -0.5)?;
        Some(series.values.last()? - series.values.get(from)?)
    };
    let idle = change("idle_s")? + change("iowait_s").unwrap_or(0.0);
    let working: f64 = ["user_s", "system_s", "irq_s", "steal_s"]
        .into_iter()
        .filter_map(change)
        .sum();
    let busy = working / (working + idle);
    (busy >= BUSY).then(|| {
        format!(
            "The {} processors were {:.0} % busy, so they, not the storage, were the limit. Use fewer \
             threads, more processors, or a cache small enough that reads reach the device.",
            e.cpus,
            busy * 100.0
        )
    })
}

fn clock_stepped(e: &Evidence<'_>) -> Option<String> {
    (e.clock_step >= Duration::from_secs(1)).then(|| {
        format!(
            "The wall clock moved by {:.1} s against the monotonic clock. Latencies are not affected; \
             times of day are. Let the clock settle before measuring.",
            e.clock_step.as_secs_f64()
        )
    })
}

fn errors(e: &Evidence<'_>) -> Option<String> {
    let failed = e.phase.errors();
    let sent: u64 = e
        .phase
        .kinds
        .iter()
        .filter(|(k, _)| **k != Kind::ReadModifyWrite)
        .map(|(_, r)| r.count + r.errors)
        .sum();
    let first = e.phase.errors.iter().max_by_key(|c| c.count)?;
    Some(format!(
        "{failed} of {sent} requests failed, most often: {} {} ({}). Their latencies are kept apart; \
         the rate counts them. Find the cause before using these numbers.",
        first.kind.name(),
        first.cause,
        first.example
    ))
}

fn fits_in_memory(e: &Evidence<'_>) -> Option<String> {
    let (data, settings) = (e.data.bytes(), &e.params.settings);
    let cache = (e.driver.cache)(e.data, settings);
    let paged = (e.driver.page_cache)(settings) && is_here(e);
    let (room, what) = match paged {
        true => (
            cache.max(e.memory),
            "memory, and reads go through the page cache",
        ),
        false => (cache, "the cache of the database"),
    };
    let scaled = e.unscaled.map_or_else(String::new, |full| {
        format!(" At full scale it is {}.", ByteSize(full.bytes()))
    });
    (data > 0 && data <= room).then(|| {
        format!(
            "The data set ({}) fits in {what} ({}), so most reads did not reach the device.{scaled} \
             Use more records, a smaller cache, direct reads or host.memory_limit.",
            ByteSize(data), ByteSize(room)
        )
    })
}

/// Whether the data is on this machine, whose memory is known.
fn is_here(e: &Evidence<'_>) -> bool {
    let place = e.params.place.to_string_lossy();
    e.driver.place != Place::Hosts
        || ["127.", "localhost", "[::1]", "::1"]
            .iter()
            .any(|here| place.starts_with(here))
}

fn misses(e: &Evidence<'_>) -> Option<String> {
    let read = e.phase.kinds.get(&Kind::Read)?;
    (read.not_found > 0).then(|| {
        format!(
            "{} of {} reads found nothing; a miss is often cheaper than a hit. Check that the data \
             set was loaded with as many records as are asked for.",
            read.not_found, read.count
        )
    })
}

fn not_settled(e: &Evidence<'_>) -> Option<String> {
    let wait = humantime::format_duration(e.settle);
    let left = |when, what| {
        Some(format!(
            "Background work (flushes, compactions) was still going on {wait} {when} the point; {what}. \
             Raise sweep.settle."
        ))
    };
    match (e.settled_before, e.settled_after) {
        (Settled::No, _) => left(
            "after waiting before",
            "it took device time from the measurement",
        ),
        (_, Settled::No) => left("after", "the next point may have started with it"),
        _ => None,
    }
}

fn rate_not_met(e: &Evidence<'_>) -> Option<String> {
    let target = e.key.target_rate?;
    let missing = target * e.phase.duration_s - e.phase.operations as f64;
    // Each client may have one operation in flight at the end that was due before it.
    (missing > 0.01 * target * e.phase.duration_s && missing > f64::from(e.key.threads)).then(
        || {
            format!(
                "{:.0} operations per second were reached of {target:.0}, so response times grow \
             with the length of the run. Use more threads, or a rate that the system holds.",
                e.phase.ops_per_sec()
            )
        },
    )
}

fn started_late(e: &Evidence<'_>) -> Option<String> {
    const FLOOR_NS: u64 = 1_000_000;
    let lag = e.phase.start_lag.as_ref()?.value_at_quantile(0.99);
    let response = e
        .phase
        .kinds
        .values()
        .map(|k| k.response().value_at_quantile(0.99))
        .max()?;
    (lag > FLOOR_NS.min(response / 10) && lag > 100_000).then(|| {
        format!(
            "1 % of the operations were sent {:.1} ms or more after they were due. Response time \
             includes that wait: use more threads, or leave the clients more processor time.",
            lag as f64 / 1e6
        )
    })
}

fn too_few_samples(e: &Evidence<'_>) -> Option<String> {
    let (kind, result) = e
        .phase
        .kinds
        .iter()
        .filter(|(k, _)| **k != Kind::ReadModifyWrite)
        .max_by_key(|(_, r)| r.count)?;
    let missing: Vec<_> = tailmark_results::QUANTILES
        .iter()
        .filter(|q| tailmark_results::quantile(&result.service, q.value).is_none())
        .collect();
    let (first, last) = (missing.first()?, missing.last()?);
    let needed = (10.0 / (1.0 - last.value)).round();
    let rate = result.count as f64 / e.phase.duration_s.max(1e-9);
    Some(format!(
        "{} {}s are too few to state {}: it takes 10 samples beyond a quantile, for {} {needed:.0} \
         operations or {} at this rate.",
        result.count,
        kind.name(),
        if first.name == last.name {
            first.name.to_owned()
        } else {
            format!("{} to {}", first.name, last.name)
        },
        last.name,
        humantime::format_duration(Duration::from_secs(
            (needed / rate.max(1e-9)).ceil().min(1e9) as u64
        )),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_sorted() {
        assert!(RULES.is_sorted_by(|a, b| a.code < b.code));
        assert!(
            RULES
                .iter()
                .all(|r| !r.about.is_empty() && !r.about.contains('\n'))
        );
    }
}
