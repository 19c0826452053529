//! Work while a call runs: groups are filled, status lines and histogram logs are written.

use super::{
    measurement::{OutputFormat, OutputFormats, TimeSeries},
    status::Status,
    tally::{self, Failed, MeasurementInterval, Tallies, Tally, microseconds},
};
use hdrhistogram::serialization::{V2DeflateSerializer, interval_log::IntervalLogWriterBuilder};
use rustix::fs::OFlags;
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Write},
    mem,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};
use tailmark_console::Console;
use tailmark_engine::{IntervalStats, Observer, PhaseStart, Stop};
use tailmark_model::{histogram, instant::since_1970};
use tailmark_study::refuse_block_device;

/// How long after a full second the work of all clients has arrived.
const LATE: Duration = Duration::from_millis(100);

/// State and output of a running call.
#[derive(Debug)]
pub struct Watch {
    /// Where status lines go.
    pub console: Console,
    /// Stands before status lines.
    pub label: String,
    /// Seconds between status lines; `None`: no status lines.
    pub every: Option<Duration>,
    /// Operations in all.
    pub operations: Option<u64>,
    /// The latencies that are reported.
    pub interval: MeasurementInterval,
    /// The groups for failures.
    pub failed: Failed,
    /// The formats of groups.
    pub formats: OutputFormats,
    /// The prefix of histogram logs, if they are required.
    pub logs: Option<String>,
    /// Requested at the first failed insert, if a load must not continue.
    pub stop_at_failure: Option<Stop>,
    /// The measurements.
    pub measured: Mutex<Measured>,
}

/// The measurements so far.
#[derive(Debug, Default)]
pub struct Measured {
    /// Of the whole phase.
    pub all: Tallies,
    /// Since the last status line and up to the next.
    recent: Recent,
    /// Beyond the next status line.
    later: Recent,
    /// Closings of sessions.
    cleanup: Tally,
    /// Over time.
    pub series: TimeSeries,
    /// When the phase began, since 1970 UTC.
    began: Duration,
    /// Operations in the last status line, and when it was written.
    last_reported: (u64, Duration),
    /// Started logs, and when their last line ended.
    logs: BTreeMap<String, (File, Duration)>,
    /// The first error of a log.
    pub log_error: Option<io::Error>,
}

/// The measurements of a part of the phase.
#[derive(Debug, Default)]
struct Recent {
    tallies: Tallies,
    operations: u64,
}

impl Observer for Watch {
    fn phase_started(&self, _: &PhaseStart<'_>) {
        self.measured().began = since_1970();
    }

    fn recorded(&self, second: u32, stats: &IntervalStats) {
        let mut measured = self.measured();
        let Measured {
            all,
            recent,
            later,
            series,
            last_reported: (_, reported),
            ..
        } = &mut *measured;
        tally::add(all, stats, self.interval, &self.failed);
        let is_later = |every| Duration::from_secs(second.into()) >= *reported + every;
        let part = if self.every.is_some_and(is_later) {
            later
        } else {
            recent
        };
        part.operations += stats.operations;
        if self.every.is_some() || self.logs.is_some() {
            tally::add(&mut part.tallies, stats, self.interval, &self.failed);
        }
        if self.formats.includes(OutputFormat::TimeSeries) {
            series.add(second, stats);
        }
        let failed = stats
            .kinds
            .iter()
            .flatten()
            .any(|kind| !kind.failures.is_empty());
        if let Some(stop) = self.stop_at_failure.as_ref().filter(|_| failed) {
            stop.request();
        }
    }

    fn session_closed(&self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let latencies = &mut self.measured().cleanup.latencies;
        histogram::record(latencies, ns, 1);
    }
}

impl Watch {
    /// The measurements so far.
    pub fn measured(&self) -> MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes status lines until `done` is closed.
    pub fn report(&self, started: Instant, done: &Receiver<()>) {
        let Some(every) = self.every else { return };
        self.line(Duration::ZERO);
        let mut next = every;
        loop {
            let wait = (next + LATE).saturating_sub(started.elapsed());
            match done.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => self.line(next),
                _ => break,
            }
            next += every;
        }
    }

    /// Writes the final output when the phase has ended after that long.
    pub fn end(&self, elapsed: Duration) {
        let Some(every) = self.every else {
            self.add_cleanup();
            return self.write_logs(&mut self.measured(), elapsed);
        };
        // YCSB's last line comes after those of all full intervals: a second that was reported
        // already, which those who read the lines by their second leave out.
        loop {
            let due = self.measured().last_reported.1 + every;
            if due > elapsed {
                break;
            }
            self.line(due);
        }
        self.add_cleanup();
        self.line(elapsed);
    }

    /// Adds the closing of sessions, as a group like those of operations.
    fn add_cleanup(&self) {
        let mut measured = self.measured();
        let cleanup = mem::take(&mut measured.cleanup);
        if cleanup.latencies.is_empty() {
            return;
        }
        let groups: &[&str] = match self.interval {
            MeasurementInterval::Both => &["CLEANUP", "Intended-CLEANUP"],
            _ => &["CLEANUP"],
        };
        for group in groups {
            let Measured { all, recent, .. } = &mut *measured;
            for tallies in [all, &mut recent.tallies] {
                tallies.insert((*group).to_owned(), cleanup.clone());
            }
        }
    }

    fn line(&self, elapsed: Duration) {
        let mut measured = self.measured();
        let (reported, when) = measured.last_reported;
        let operations = reported + measured.recent.operations;
        let status = Status {
            label: &self.label,
            now: jiff::Zoned::now()
                .strftime("%Y-%m-%d %H:%M:%S:%3f")
                .to_string(),
            elapsed,
            since: elapsed.saturating_sub(when),
            operations,
            recent: operations - reported,
            left: self.operations.map(|all| all.saturating_sub(operations)),
        };
        let line = status.line(&measured.recent.tallies, &self.formats);
        self.console.warn(&line);
        if self.formats.includes(OutputFormat::TimeSeries) {
            // A closed pipe shows when the summary is written.
            let _ = self.console.say(&line);
        }
        self.write_logs(&mut measured, elapsed);
        measured.last_reported = (operations, elapsed);
        let later = mem::take(&mut measured.later);
        let before = mem::replace(&mut measured.recent, later);
        // A group that was seen once is in every line.
        for group in before.tallies.into_keys() {
            measured.recent.tallies.entry(group).or_default();
        }
    }

    fn write_logs(&self, measured: &mut Measured, elapsed: Duration) {
        let Some(prefix) = &self.logs else { return };
        let began = measured.began;
        for (group, tally) in &measured.recent.tallies {
            let log = measured.logs.remove(group);
            match log_line(prefix, group, log, tally, (began, elapsed)) {
                Ok(log) => drop(measured.logs.insert(group.clone(), log)),
                Err(error) => drop(measured.log_error.get_or_insert(error)),
            }
        }
    }
}

/// A line of the logs of this program, by which a later call knows them.
pub const OWN_LOG: &str = "#[Logged by tailmark]";

/// Writes the line of one group's log, starting the log if it does not exist. Its times count from
/// the start of the phase.
fn log_line(
    prefix: &str,
    group: &str,
    log: Option<(File, Duration)>,
    tally: &Tally,
    (began, elapsed): (Duration, Duration),
) -> io::Result<(File, Duration)> {
    const US_PER_S: f64 = 1e6;
    let (mut file, from) = match log {
        Some(log) => log,
        None => {
            let path = format!("{prefix}{group}.hdr");
            refuse_block_device(Path::new(&path))?;
            // Under the default name there may be a link that another user planted.
            let mut flags = OFlags::empty();
            flags.set(OFlags::NOFOLLOW, prefix.is_empty());
            let mut file = OpenOptions::new()
                .create(true)
                .write(true)
                .truncate(true)
                .custom_flags(flags.bits().cast_signed())
                .open(path)?;
            let start = began.as_secs_f64();
            write!(
                file,
                "#[Logging for: {group}]\n{OWN_LOG}\n#[Histogram log format version 1.2]\n\
                 #[StartTime: {start:.3} (seconds since epoch)]\n"
            )?;
            file.write_all(
                b"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
            )?;
            (file, Duration::ZERO)
        }
    };
    let length = elapsed.saturating_sub(from);
    let mut written = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .with_max_value_divisor(US_PER_S)
        .begin_log_with(&mut written, &mut serializer)?;
    writer
        .write_histogram(&microseconds(&tally.latencies), from, length, None)
        .map_err(|error| io::Error::other(error.to_string()))?;
    drop(writer);
    // The writer begins with comments of its own.
    let text = String::from_utf8_lossy(&written);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        writeln!(file, "{line}")?;
    }
    Ok((file, elapsed))
}
