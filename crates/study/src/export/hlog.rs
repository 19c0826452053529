//! The interval histograms as an HdrHistogram log, version 1.3, for HdrHistogram's own tools.
//!
//! All phases of a study go into one log, one after the other as they were run. A line is one
//! interval of one kind; its tag names phase, kind and time, so that a tool reads one of them at a
//! time (`-tag`). Values are nanoseconds, the maximum in a line's third column milliseconds.

use super::{Format, failed};
use crate::{
    Error, Study,
    unlogged::{LoggedSettings, Unlogged},
};
use hdrhistogram::serialization::{
    V2DeflateSerializer,
    interval_log::{IntervalLogWriter, IntervalLogWriterBuilder, Tag},
};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::Write,
    time::{Duration, UNIX_EPOCH},
};
use tailmark_model::{Interval, Kind, Packed, Phase, PointKey, new_latencies};

pub const FORMAT: Format = Format {
    name: "hlog",
    about: "an HdrHistogram interval log: a tagged line per interval and kind",
    write,
};

const VERSION: &str = "#[Histogram log format version 1.3]";
const LEGEND: &str = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
                      \"Interval_Compressed_Histogram\"";
const NS_PER_MS: f64 = 1e6;

type Log<'a, 'b, 'o> = IntervalLogWriter<'a, 'b, &'o mut dyn Write, V2DeflateSerializer>;

/// One phase of the study; points are read when it is their turn, as they are large.
enum PhaseSource {
    Load { tag: String, phase: Box<Phase> },
    Point(PointKey),
}

fn write(study: &Study, mut out: &mut dyn Write) -> Result<(), Error> {
    let phases = phases(study)?;
    let base = Duration::from_millis(phases.iter().find_map(|(started, _)| *started).unwrap_or(0));
    writeln!(out, "{VERSION}\n{LEGEND}").map_err(failed(FORMAT.name))?;
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .with_start_time(UNIX_EPOCH + base)
        .with_base_time(UNIX_EPOCH + base)
        .with_max_value_divisor(NS_PER_MS)
        .begin_log_with(&mut out, &mut serializer)
        .map_err(failed(FORMAT.name))?;
    let settings = study.header()?.settings;
    let settings = LoggedSettings {
        rules: settings.rules,
        ceilings: study
            .systems()?
            .into_iter()
            .filter_map(|system| Some((system.name, system.ceiling_for?)))
            .collect(),
    };
    let settings = settings.comment().map_err(failed(FORMAT.name))?;
    log.write_comment(&settings).map_err(failed(FORMAT.name))?;
    for (started_ms, source) in phases {
        // Of an unknown start, as if it were the first: its intervals keep their distances.
        let since_base = Duration::from_millis(started_ms.unwrap_or(0)).saturating_sub(base);
        let (tag, phase) = match source {
            PhaseSource::Load { tag, phase } => (tag, phase),
            PhaseSource::Point(key) => match study.point(&key)? {
                Some(point) => (point_tag(&key), point.phase.into()),
                None => continue,
            },
        };
        let unlogged = Unlogged::from_phase(&phase).comment(&tag);
        let unlogged = unlogged.map_err(failed(FORMAT.name))?;
        let has_lines = phase.intervals.iter().any(|i| !i.kinds.is_empty());
        let unlogged = has_lines.then_some(unlogged).into_iter();
        for line in unlogged.chain(never_done(&tag, &phase)) {
            log.write_comment(&line).map_err(failed(FORMAT.name))?;
        }
        let lines = lines(&phase.intervals);
        for interval in &phase.intervals {
            write_interval(&mut log, since_base, &tag, interval, &lines)?;
        }
    }
    Ok(())
}

/// A comment about operations that were due and never done, which the histograms of a phase lack.
fn never_done(tag: &str, phase: &Phase) -> Vec<String> {
    let kinds = phase.kinds.iter().filter_map(|(kind, result)| {
        let known = result.ranked_response();
        let age = known.censored_age()?;
        let (count, kind) = (known.censored(), kind.name());
        Some(format!(
            " {tag}/{kind}: {count} were due and never done, and are in no line; the lowest age is {age} ns"
        ))
    });
    kinds.collect()
}

/// Every phase, in order of time. Those with an unknown start come first.
fn phases(study: &Study) -> Result<Vec<(Option<u64>, PhaseSource)>, Error> {
    let mut phases = Vec::new();
    for (position, load) in (1..).zip(study.loads()?) {
        let tag = format!("{}/load/{position}", escaped(&load.system));
        phases.push((
            load.phase.started_ms,
            PhaseSource::Load {
                tag,
                phase: load.phase.into(),
            },
        ));
    }
    for point in study.point_totals()? {
        phases.push((point.phase.started_ms, PhaseSource::Point(point.key)));
    }
    phases.sort_by_key(|(started_ms, _)| *started_ms);
    Ok(phases)
}

/// What each interval of a phase has a line for: the kinds of any, and whether they have response
/// times.
fn lines(intervals: &[Interval]) -> BTreeMap<Kind, bool> {
    let mut lines = BTreeMap::new();
    for (kind, measured) in intervals.iter().flat_map(|interval| &interval.kinds) {
        *lines.entry(*kind).or_default() |= measured.response.is_some();
    }
    lines
}

/// Writes the lines of an interval; one in which nothing was done has empty histograms.
fn write_interval(
    log: &mut Log<'_, '_, '_>,
    since_base: Duration,
    tag: &str,
    interval: &Interval,
    lines: &BTreeMap<Kind, bool>,
) -> Result<(), Error> {
    let start = since_base + seconds(interval.start_s);
    let length = seconds(interval.length_s);
    let nothing = Packed::pack(&new_latencies());
    for (kind, has_response) in lines {
        let measured = interval.kinds.get(kind);
        let service = measured.map_or(&nothing, |measured| &measured.service);
        // If only some intervals have response times, those of the others equal their service
        // times.
        let response = measured.and_then(|measured| measured.response.as_ref());
        let response = has_response.then(|| response.unwrap_or(service));
        for (time, packed) in [("service", Some(service)), ("response", response)] {
            let Some(packed) = packed else { continue };
            let tag = format!("{tag}/{}/{time}", kind.name());
            let tag = Tag::new(&tag).expect("names are escaped");
            log.write_histogram(&packed.unpack(), start, length, Some(tag))
                .map_err(failed(FORMAT.name))?;
        }
    }
    Ok(())
}

/// `SYSTEM/WORKLOAD/DISTRIBUTION/tTHREADS/rREPEAT`, then `/RATE` for a fixed rate, with its
/// arrivals after it if they are known: `/20000-poisson`.
fn point_tag(key: &PointKey) -> String {
    let names = [&key.system, &key.workload, &key.distribution].map(|name| escaped(name));
    let arrivals = key.arrivals.map(|arrivals| format!("-{}", arrivals.name()));
    let arrivals = arrivals.unwrap_or_default();
    let rate = key
        .target_rate
        .map(|rate| format!("/{rate}{arrivals}"))
        .unwrap_or_default();
    format!("{}/t{}/r{}{rate}", names.join("/"), key.threads, key.repeat)
}

/// A name in which nothing has a meaning in a tag: other characters than letters, digits, `.`, `-`
/// and `_` become `%` and two hexadecimal digits for each of their bytes.
fn escaped(name: &str) -> String {
    name.bytes().fold(String::new(), |mut tag, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => tag.push(byte.into()),
            _ => write!(tag, "%{byte:02X}").expect("text takes all characters"),
        }
        tag
    })
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::Arrivals;

    #[test]
    fn tags_of_different_points_differ() {
        let key = PointKey {
            system: "a, b".into(),
            workload: "ycsb-a".into(),
            distribution: "uniform".into(),
            threads: 16,
            repeat: 1,
            target_rate: None,
            arrivals: None,
        };
        assert_eq!(point_tag(&key), "a%2C%20b/ycsb-a/uniform/t16/r1");
        let rated = PointKey {
            target_rate: Some(20_000.0),
            ..key.clone()
        };
        assert_eq!(point_tag(&rated), "a%2C%20b/ycsb-a/uniform/t16/r1/20000");
        let spread = PointKey {
            arrivals: Some(Arrivals::Poisson),
            ..rated.clone()
        };
        assert_eq!(
            point_tag(&spread),
            "a%2C%20b/ycsb-a/uniform/t16/r1/20000-poisson"
        );
        let other = PointKey {
            system: "a%2C b".into(),
            ..key.clone()
        };
        assert_ne!(point_tag(&other), point_tag(&key));
    }
}
