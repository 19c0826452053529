//! HdrHistogram interval logs with lines tagged by kind: those of `tailmark export`, with any
//! number of points, and those of other programs, with one point per file.
//!
//! A log does not name the unit of its values, so the user does. Its lines have every latency of
//! successful operations, but no failures and no bytes. Our export has those in comments.

use super::{
    Given, Import, Imported, Source, failed, hdr,
    held::Held,
    log_tag::{LogTag, PointTag, Time},
    system_of, threads_in,
};
use crate::{
    Error,
    unlogged::{LoggedSettings, Unlogged, interval_at, operations_in_lines},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use hdrhistogram::serialization::interval_log::{
    IntervalLogHistogram, IntervalLogIterator, LogEntry,
};
use std::time::Duration;
use tailmark_model::{
    IntervalKind, Kind, Latencies, Packed, Phase, Sentence, finding::CENSORED, histogram,
    new_latencies,
};

pub const IMPORT: Import = Import {
    name: "hlog",
    about: "HdrHistogram interval logs whose tags are kinds, with values in --unit",
    read,
    leaves_out: false,
};

/// Timestamps of lines are since 1970, unless they are this long before the start of the log, as in
/// HdrHistogram's own reader.
const RELATIVE_BEFORE: Duration = Duration::from_secs(365 * 86_400);

/// What our export says in a comment of operations that are in no line.
const NEVER_DONE: &str = " were due and never done";

fn read(sources: &[Source], given: &Given) -> Result<Vec<Imported>, Error> {
    let (mut all, mut held) = (Vec::new(), Held::default());
    for source in sources {
        let unit_ns = given.unit_ns.ok_or_else(|| {
            failed(
                source,
                "a histogram log does not state its unit; give --unit ns, us or ms",
            )
        })?;
        let mut log = Log::default();
        let text = String::from_utf8_lossy(&source.bytes);
        for (line, number) in text.lines().zip(1..) {
            let at = |reason: String| failed(source, format!("line {number}: {reason}"));
            let added = log.add(&format!("{line}\n"), source, unit_ns, &mut held);
            added.map_err(at)?;
        }
        let points = log.finish(source, given)?;
        if points.is_empty() {
            return Err(failed(source, "it contains no line of a histogram log"));
        }
        all.extend(points);
    }
    Ok(all)
}

/// The content of one file so far.
#[derive(Default)]
struct Log {
    start: Option<Duration>,
    base: Option<Duration>,
    /// In the order of their first lines. Those of our export are identified by a part of the tag.
    found: Vec<Found>,
    /// What our export says of the study.
    settings: Option<LoggedSettings>,
}

/// One load or point.
#[derive(Default)]
struct Found {
    /// Its tag in our export; `None` for the only point of a foreign file.
    tag: Option<PointTag>,
    /// The timestamp of its first line.
    begin: Option<Duration>,
    phase: Phase,
    /// What our export says of it besides.
    unlogged: Option<Unlogged>,
}

impl Log {
    /// Adds a line, which ends with a line feed.
    fn add(
        &mut self,
        line: &str,
        source: &Source,
        unit_ns: u64,
        held: &mut Held,
    ) -> Result<(), String> {
        let not_a_line = || "it is not a line of a histogram log".to_owned();
        if line.trim().is_empty() {
            return Ok(());
        }
        if let Some((tag, count)) = never_done(line) {
            let never_done = Sentence::new(
                "The log reports {Operations never done} operations that were due but never done. \
                 They are missing from its lines, so the latencies are too low.",
            );
            let never_done = never_done.count("Operations never done", count);
            let point = self.found(Some(tag), held)?;
            if !CENSORED.is_among(&point.phase.findings) {
                point.phase.findings.push(CENSORED.finding(never_done));
            }
            return Ok(());
        }
        if let Some(settings) = LoggedSettings::parse(line.trim_end()) {
            self.settings = Some(settings?);
            return Ok(());
        }
        if let Some(unlogged) = Unlogged::parse(line) {
            let (tag, unlogged) = unlogged?;
            let tag = PointTag::parse(tag).ok_or_else(|| format!("`{tag}` names no point"))?;
            held.add_counts(unlogged.counts())?;
            self.found(Some(tag), held)?.unlogged = Some(unlogged);
            return Ok(());
        }
        // Other programs call ends of intervals, in other units, by a legend that begins alike.
        if line.starts_with("\"StartTimestamp\"") && !line.contains("\"Interval_Length\"") {
            return Err(format!(
                "its legend is `{}`, but a histogram log has \
                 `\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"`",
                line.trim_end()
            ));
        }
        let Some(entry) = IntervalLogIterator::new(line.as_bytes()).next() else {
            return Ok(());
        };
        match entry.map_err(|_| not_a_line())? {
            LogEntry::StartTime(at) => self.start = Some(at),
            LogEntry::BaseTime(at) => self.base = Some(at),
            LogEntry::Interval(interval) => {
                let tag = interval.tag().map(|tag| tag.as_str());
                match LogTag::new(tag, &source.path)? {
                    LogTag::Ours(tag, kind, time) => {
                        let point = self.found(Some(tag), held)?;
                        point.add(&interval, (kind, time), unit_ns, held)?;
                    }
                    LogTag::Foreign(kind, time) => {
                        let point = self.found(None, held)?;
                        point.add(&interval, (kind, time), unit_ns, held)?;
                    }
                    LogTag::Wait => {}
                }
            }
        }
        Ok(())
    }

    /// The load or point with a tag, created if missing.
    fn found(&mut self, tag: Option<PointTag>, held: &mut Held) -> Result<&mut Found, String> {
        let at = self.found.iter().rposition(|found| found.tag == tag);
        if at.is_none() {
            held.add_point()?;
            self.found.push(Found {
                tag,
                ..Found::default()
            });
        }
        let at = at.unwrap_or(self.found.len() - 1);
        Ok(&mut self.found[at])
    }

    fn finish(self, source: &Source, given: &Given) -> Result<Vec<Imported>, Error> {
        let (start, base, settings) = (self.start, self.base, self.settings);
        let started = |begin: Duration| match (base, start) {
            (Some(base), _) => base.checked_add(begin),
            (None, Some(start)) if begin.saturating_add(RELATIVE_BEFORE) < start => {
                start.checked_add(begin)
            }
            (None, start) => start.map(|_| begin),
        };
        let point = |mut found: Found| {
            let begin = found.begin.and_then(started);
            found.phase.started_ms = begin.and_then(|at| u64::try_from(at.as_millis()).ok());
            let imported = found.into_imported(source, given)?;
            Ok(Imported {
                of_study: settings.clone(),
                ..imported
            })
        };
        self.found.into_iter().map(point).collect()
    }
}

impl Found {
    fn add(
        &mut self,
        line: &IntervalLogHistogram<'_>,
        (kind, time): (Kind, Time),
        unit_ns: u64,
        held: &mut Held,
    ) -> Result<(), String> {
        held.add_row()?;
        let damaged = || "its histogram is damaged".to_owned();
        let bytes = BASE64_STANDARD.decode(line.encoded_histogram());
        let values = hdr::decode(&bytes.map_err(|_| damaged())?).ok_or_else(damaged)?;
        let latencies = nanoseconds(values, unit_ns);
        let begin = *self.begin.get_or_insert(line.start_timestamp());
        let start_s = line.start_timestamp().saturating_sub(begin).as_secs_f64();
        let interval = interval_at(
            &mut self.phase.intervals,
            start_s,
            line.duration().as_secs_f64(),
        );
        if latencies.is_empty() {
            return Ok(());
        }
        let result = self.phase.kinds.entry(kind).or_default();
        let total = match time {
            Time::Service => &mut result.service,
            Time::Response => result.response.get_or_insert_with(new_latencies),
        };
        let before = total.distinct_values();
        histogram::add(total, &latencies);
        held.add_counts(total.distinct_values() - before)?;
        let measured = interval.kinds.entry(kind).or_insert_with(|| IntervalKind {
            count: 0,
            errors: 0,
            service: Packed::pack(&new_latencies()),
            response: None,
        });
        let packed = Packed::pack(&latencies);
        match (time, &measured.response) {
            (Time::Service, _) => {
                measured.count = measured.count.saturating_add(latencies.len());
                measured.service = measured.service.sum(&packed);
            }
            (Time::Response, None) => measured.response = Some(packed),
            (Time::Response, Some(known)) => measured.response = Some(known.sum(&packed)),
        }
        Ok(())
    }

    fn into_imported(self, source: &Source, given: &Given) -> Result<Imported, Error> {
        let Self {
            tag,
            mut phase,
            unlogged,
            ..
        } = self;
        conclude(&mut phase, unlogged).map_err(|reason| failed(source, reason))?;
        let named = tag.unwrap_or_else(|| PointTag {
            system: system_of(source, given, "hlog"),
            workload: Some("hlog".to_owned()),
            distribution: "unknown".to_owned(),
            ..PointTag::default()
        });
        let is_load = named.workload.is_none();
        let threads = given
            .threads
            .or(named.threads)
            .or_else(|| threads_in(&source.path));
        let threads = threads.or(is_load.then_some(1)).ok_or_else(|| {
            failed(
                source,
                "neither the log nor its file name states the number of clients; give --threads",
            )
        })?;
        let given_workload = given.workload.clone().filter(|_| !is_load);
        Ok(Imported {
            system: given.system.clone().unwrap_or(named.system),
            workload: given_workload.or(named.workload),
            distribution: named.distribution,
            threads,
            target_rate: named.target_rate,
            arrivals: named.arrivals,
            phase,
            file: source.path.clone(),
            ..Imported::default()
        })
    }
}

/// The operations that are in no line, and their point, from a comment of our export.
fn never_done(line: &str) -> Option<(PointTag, u64)> {
    let (head, _) = line.strip_prefix("# ")?.split_once(NEVER_DONE)?;
    let (tag, count) = head.rsplit_once(": ")?;
    let (point, _) = tag.rsplit_once('/')?;
    Some((PointTag::parse(point)?, count.parse().ok()?))
}

/// A histogram of nanoseconds, from one with values in another unit or fewer digits. A value counts
/// as the middle of its slot, so that means stay right.
pub(super) fn nanoseconds(values: Latencies, unit_ns: u64) -> Latencies {
    let mut ns = new_latencies();
    if unit_ns == 1 && (values.sigfig(), values.low()) == (ns.sigfig(), ns.low()) {
        return values;
    }
    for value in values.iter_recorded() {
        let in_unit = values.median_equivalent(value.value_iterated_to());
        let count = value.count_at_value();
        histogram::record(&mut ns, in_unit.saturating_mul(unit_ns), count);
    }
    ns
}

/// Counts operations and time from the lines, and adds what they lack.
fn conclude(phase: &mut Phase, unlogged: Option<Unlogged>) -> Result<(), String> {
    for result in phase.kinds.values_mut() {
        // Of response times alone, each is of one request too.
        let response = result.response.as_ref().map_or(0, Latencies::len);
        result.count = result.service.len().max(response);
    }
    for interval in &mut phase.intervals {
        interval.operations = operations_in_lines(interval);
        phase.operations = phase.operations.saturating_add(interval.operations);
    }
    phase.duration_s = phase.elapsed_s();
    if let Some(unlogged) = unlogged {
        unlogged.add_to(phase)?;
    }
    match () {
        () if phase.duration_s <= 0.0 => Err("its lines have no duration".to_owned()),
        () if phase.operations == 0 => {
            Err("no line has service times: tags must be KIND or KIND/service".to_owned())
        }
        () => Ok(()),
    }
}
