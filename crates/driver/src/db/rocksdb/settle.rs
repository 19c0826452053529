//! Waits for RocksDB's flushes and compactions, and detects those that will never be done.

use super::{NAME, RocksDb};
use crate::{Error, Remark, RemarkCode, Settled, Stopped};
use std::{
    ffi::CStr,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// If this many readings, 100 ms apart, find waiting work but none running, none will run after an
/// error.
const STUCK: u32 = 10;
/// If this many readings, 100 ms apart, find waiting work but none running and no error, the wait
/// ends. RocksDB starts work at once, but reports some that it never starts: of a FIFO database with
/// tables too large to merge, or if automatic compactions are off.
const IDLE: u32 = 50;
/// After an error, this many readings, 100 ms apart, must be quiet, because RocksDB waits a second
/// before it retries.
const RETRY: u32 = 20;
/// If this many attempts fail in one wait (RocksDB makes one per second), the next will fail too.
const FAILURES: u64 = 3;

/// What is done in the background.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BackgroundWork {
    None,
    Runs,
    /// Some work waits, but none runs.
    Waits,
}

impl RocksDb {
    /// Two readings 100 ms apart must be quiet, because another compaction may follow the one that
    /// just ended. After an error it takes more, because RocksDB retries, recovers, or gives up.
    pub(super) fn wait_for_work(
        &self,
        timeout: Duration,
        stop: Stopped<'_>,
    ) -> Result<Settled, Error> {
        let before = self.errors();
        let (end, mut quiet, mut stuck, mut idle) = (Instant::now() + timeout, 0, 0, 0);
        let counted = |is: bool, so_far: u32| if is { so_far + 1 } else { 0 };
        loop {
            let work = self.work();
            let errors = self.errors();
            let waits = work == BackgroundWork::Waits;
            quiet = counted(work == BackgroundWork::None, quiet);
            stuck = counted(waits && errors > 0, stuck);
            idle = counted(waits && errors == 0, idle);
            let enough = if errors > 0 { RETRY } else { 2 };
            if quiet == enough {
                return Ok(Settled::Yes);
            }
            if idle >= IDLE {
                return Ok(Settled::NotStarted);
            }
            if stuck >= STUCK || errors - before >= FAILURES {
                return Err(Error::Database {
                    action: "wait for the background work of",
                    driver: NAME,
                    place: self.place.display().to_string(),
                    source: told(errors, &self.place).into(),
                });
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Settled::No);
            }
            if stop() {
                return Ok(Settled::Unknown);
            }
            thread::sleep(left.min(Duration::from_millis(100)));
        }
    }

    /// The remark if background work failed and then continued.
    pub(super) fn remark_of_errors(&self) -> Option<Remark> {
        let errors = Some(self.errors()).filter(|errors| *errors > 0)?;
        Some(Remark {
            code: RemarkCode::BackgroundErrors,
            text: format!(
                "RocksDB's flushes or compactions failed while the database was open: {}. Find the \
                 cause, and measure the point again.",
                told(errors, &self.place)
            ),
        })
    }

    /// Whether a flush or a compaction runs or waits.
    fn work(&self) -> BackgroundWork {
        let is_any = |names: [&CStr; 2]| {
            let mut numbers = names
                .map(|name| self.store.db.table_number(name))
                .into_iter();
            numbers.any(|number| number.unwrap_or(0) > 0)
        };
        let running = [
            c"rocksdb.num-running-flushes",
            c"rocksdb.num-running-compactions",
        ];
        let waiting = [
            c"rocksdb.mem-table-flush-pending",
            c"rocksdb.compaction-pending",
        ];
        match (is_any(running), is_any(waiting)) {
            (true, _) => BackgroundWork::Runs,
            (false, true) => BackgroundWork::Waits,
            (false, false) => BackgroundWork::None,
        }
    }

    /// The number of failed flushes and compactions since the database was opened. RocksDB counts
    /// those of all column families in the default one.
    fn errors(&self) -> u64 {
        let errors = self.store.db.property(c"rocksdb.background-errors");
        errors
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0)
    }
}

/// The number of errors, and the first one in RocksDB's log.
fn told(errors: u64, place: &Path) -> String {
    let first = first_error(place).map_or_else(String::new, |why| format!("; the first: {why}"));
    format!("rocksdb.background-errors is {errors}{first}")
}

fn first_error(place: &Path) -> Option<String> {
    let log = BufReader::new(File::open(place.join("LOG")).ok()?);
    let mut lines = log.split(b'\n').map_while(Result::ok);
    lines.find_map(|line| {
        let line = String::from_utf8_lossy(&line);
        let (_, after) = line.split_once("Waiting after background ")?;
        let (_, why) = after.split_once("error: ")?;
        Some(why.split(", Accumulated").next()?.to_owned())
    })
}
