//! What happens while a call runs: the groups fill, status lines and histogram logs are written.

use super::{
    measurement::{Form, Forms, Series},
    status::Status,
    tally::{self, Failed, Interval, Tallies, Tally, microseconds},
};
use crate::output;
use hdrhistogram::serialization::{V2DeflateSerializer, interval_log::IntervalLogWriterBuilder};
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Write},
    mem,
    sync::{
        Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tailmark_runner::{Observer, Stop, phase::Sheet};

/// How long after a full second the sheets of all clients are there.
const LATE: Duration = Duration::from_millis(100);

/// What a call wants to know while it runs.
#[derive(Debug)]
pub struct Watch {
    /// Stands before status lines.
    pub label: String,
    /// Seconds between status lines; none: none are wanted.
    pub every: Option<Duration>,
    /// Operations in all.
    pub operations: Option<u64>,
    /// Which latencies are reported.
    pub interval: Interval,
    /// Where those of failures go.
    pub failed: Failed,
    /// How groups are written.
    pub forms: Forms,
    /// What stands before the names of histogram logs, where they are wanted.
    pub logs: Option<String>,
    /// Requested at the first insert that failed, where a load does not go on.
    pub stop_at_failure: Option<Stop>,
    /// What was measured.
    pub measured: Mutex<Measured>,
}

/// What was measured so far.
#[derive(Debug, Default)]
pub struct Measured {
    /// Of the whole phase.
    pub all: Tallies,
    /// Since the last status line.
    recent: Tallies,
    /// Over time.
    pub series: Series,
    operations: u64,
    /// Operations told in the last status line, and when.
    told: (u64, Duration),
    /// Started logs, and when their last line ended.
    logs: BTreeMap<String, (File, Duration)>,
    /// The first error of a log.
    pub log_error: Option<io::Error>,
}

impl Observer for Watch {
    fn recorded(&self, second: u32, sheet: &Sheet) {
        let mut measured = self.measured();
        let Measured {
            all,
            recent,
            series,
            operations,
            ..
        } = &mut *measured;
        *operations += sheet.operations;
        tally::add(all, sheet, self.interval, &self.failed);
        if self.every.is_some() || self.logs.is_some() {
            tally::add(recent, sheet, self.interval, &self.failed);
        }
        if self.forms.wants(Form::Series) {
            series.add(second, sheet);
        }
        let failed = sheet
            .kinds
            .iter()
            .flatten()
            .any(|kind| !kind.failures.is_empty());
        if let Some(stop) = self.stop_at_failure.as_ref().filter(|_| failed) {
            stop.request();
        }
    }
}

impl Watch {
    /// What was measured so far.
    pub fn measured(&self) -> MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes status lines until `done` is closed.
    pub fn tell(&self, started: Instant, done: &Receiver<()>) {
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

    /// Takes how long it took to close the sessions: a group like those of the operations.
    pub fn closed(&self, cleanup: Tally) {
        if cleanup.latencies.is_empty() {
            return;
        }
        let groups: &[&str] = match self.interval {
            Interval::Both => &["CLEANUP", "Intended-CLEANUP"],
            _ => &["CLEANUP"],
        };
        let mut measured = self.measured();
        for group in groups {
            measured.all.insert((*group).to_owned(), cleanup.clone());
            measured.recent.insert((*group).to_owned(), cleanup.clone());
        }
    }

    /// What is written when the phase has ended.
    pub fn end(&self, elapsed: Duration) {
        if self.every.is_some() {
            self.line(elapsed);
        } else {
            self.write_logs(&mut self.measured(), elapsed);
        }
    }

    fn line(&self, elapsed: Duration) {
        let mut measured = self.measured();
        let (operations, (told, when)) = (measured.operations, measured.told);
        let status = Status {
            label: &self.label,
            now: jiff::Zoned::now()
                .strftime("%Y-%m-%d %H:%M:%S:%3f")
                .to_string(),
            elapsed,
            since: elapsed.saturating_sub(when),
            operations,
            recent: operations - told,
            left: self.operations.map(|all| all.saturating_sub(operations)),
        };
        let line = status.line(&measured.recent, &self.forms);
        output::warn(&line);
        if self.forms.wants(Form::Series) {
            // A closed pipe shows when the summary is written.
            let _ = output::say(&line);
        }
        measured.told = (operations, elapsed);
        self.write_logs(&mut measured, elapsed);
        for tally in measured.recent.values_mut() {
            *tally = Tally::default();
        }
    }

    fn write_logs(&self, measured: &mut Measured, elapsed: Duration) {
        let Some(prefix) = &self.logs else { return };
        for (group, tally) in mem::take(&mut measured.recent) {
            let log = measured.logs.remove(&group);
            match log_line(prefix, &group, log, &tally, elapsed) {
                Ok(log) => drop(measured.logs.insert(group.clone(), log)),
                Err(error) => drop(measured.log_error.get_or_insert(error)),
            }
            measured.recent.insert(group, tally);
        }
    }
}

/// Writes the line of one group's log; starts the log where there is none.
fn log_line(
    prefix: &str,
    group: &str,
    log: Option<(File, Duration)>,
    tally: &Tally,
    elapsed: Duration,
) -> io::Result<(File, Duration)> {
    const US_PER_S: f64 = 1e6;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let (mut file, from) = match log {
        Some(log) => log,
        None => {
            let path = format!("{prefix}{group}.hdr");
            let mut file = OpenOptions::new()
                .create(true)
                .write(true)
                .truncate(true)
                .open(path)?;
            let start = now.saturating_sub(elapsed).as_secs_f64();
            write!(
                file,
                "#[Logging for: {group}]\n#[Histogram log format version 1.2]\n\
                 #[StartTime: {start:.3} (seconds since epoch)]\n"
            )?;
            file.write_all(
                b"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
            )?;
            (file, Duration::ZERO)
        }
    };
    let length = elapsed.saturating_sub(from);
    let mut line = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .with_max_value_divisor(US_PER_S)
        .begin_log_with(&mut line, &mut serializer)?;
    writer
        .write_histogram(
            &microseconds(&tally.latencies),
            now.saturating_sub(length),
            length,
            None,
        )
        .map_err(|error| io::Error::other(format!("{error:?}")))?;
    drop(writer);
    // The writer begins with comments of its own.
    let text = String::from_utf8_lossy(&line);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        writeln!(file, "{line}")?;
    }
    Ok((file, elapsed))
}
