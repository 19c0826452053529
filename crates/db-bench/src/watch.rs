//! Output while a benchmark runs: the interval lines and the report file.

use super::{date, flags::Flags};
use anyhow::{Context, bail};
use rustix::{
    fs::{OFlags, fcntl_setfl},
    io::Errno,
};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tailmark_console::Console;
use tailmark_driver::db::RocksDb;
use tailmark_engine::{IntervalStats, Live, Observer};
use tailmark_study::refuse_output;

/// Writes interval lines and rows of the report file as often as the flags say.
pub struct IntervalWriter<'a> {
    console: &'a Console,
    database: &'a RocksDb,
    /// Seconds from one interval line to the next; 0: none.
    line_s: u64,
    /// Whether the database's own statistics follow each line.
    stats: bool,
    /// Seconds from one row of the report file to the next.
    row_s: u64,
    /// Records of one operation.
    batch: u64,
    state: Mutex<State>,
}

/// Refuses to write the report of `--report_interval_seconds` over a file that the call does not name.
///
/// # Errors
/// If there is a file with the default name.
pub fn refuse_default_report(flags: &Flags) -> anyhow::Result<()> {
    let path = flags.text("report_file");
    let is_given = flags.given().any(|(name, _)| name == "report_file");
    let is_asked = flags.number::<u64>("report_interval_seconds")? > 0;
    if is_asked && !is_given && Path::new(path).symlink_metadata().is_ok() {
        bail!(
            "failed to write --report_file `{path}`: it exists already, and the call does not name it"
        );
    }
    Ok(())
}

/// Opens a file and empties it, without waiting for the reader of a pipe. Under the default name a
/// link is refused, because another user may have planted it.
fn create(path: &str, is_given: bool) -> io::Result<File> {
    refuse_output(Path::new(path))?;
    let mut options = File::options();
    let options = options.write(true).create(true).truncate(true);
    let mut flags = OFlags::NONBLOCK;
    flags.set(OFlags::NOFOLLOW, !is_given);
    let file = options.custom_flags(flags.bits().cast_signed());
    let file = file.open(path).map_err(|error| {
        if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) {
            io::Error::other("no program reads this pipe: start its reader first")
        } else {
            error
        }
    })?;
    fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

#[derive(Default)]
struct State {
    report: Option<File>,
    /// Elapsed seconds and operations at the last line.
    line: (f64, u64),
    seconds: u64,
    /// The end of the last row, seconds.
    row_end: u64,
    /// Operations that are in no row yet, by the second.
    operations: BTreeMap<u32, u64>,
}

impl<'a> IntervalWriter<'a> {
    /// Watches one benchmark.
    ///
    /// # Errors
    /// If the report file cannot be created.
    pub fn new(
        flags: &Flags,
        database: &'a RocksDb,
        batch: u64,
        console: &'a Console,
    ) -> anyhow::Result<Self> {
        let row_s = flags.number("report_interval_seconds")?;
        let mut state = State::default();
        if row_s > 0 {
            let path = flags.text("report_file");
            let failed = || format!("failed to write --report_file `{path}`");
            let is_given = flags.given().any(|(name, _)| name == "report_file");
            let mut file = create(path, is_given).with_context(failed)?;
            writeln!(file, "secs_elapsed,interval_qps").with_context(failed)?;
            state.report = Some(file);
        }
        let line_s = flags.number("stats_interval_seconds")?;
        let stats = flags.number::<i64>("stats_per_interval")? != 0;
        Ok(Self {
            console,
            database,
            line_s,
            stats,
            row_s,
            batch,
            state: Mutex::new(state),
        })
    }

    /// Writes the remaining rows of full intervals when the benchmark has ended after that long.
    pub fn end(&self, elapsed: Duration) {
        let mut state = self.state();
        while self.row_s > 0 && state.row_end + self.row_s <= elapsed.as_secs() {
            self.row(&mut state);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next row of the report file.
    fn row(&self, state: &mut State) {
        state.row_end += self.row_s;
        let end = state.row_end;
        let later = state
            .operations
            .split_off(&u32::try_from(end).unwrap_or(u32::MAX));
        let done: u64 = std::mem::replace(&mut state.operations, later)
            .values()
            .sum();
        if let Some(file) = &mut state.report {
            // A report that cannot be written ends no benchmark.
            let _ = writeln!(file, "{end},{}", done * self.batch);
        }
    }

    fn line(&self, state: &mut State, elapsed: f64, operations: u64) {
        let (before_s, before) = std::mem::replace(&mut state.line, (elapsed, operations));
        let (seconds, done) = (elapsed - before_s, operations - before);
        self.console.warn(&format!(
            "{}  ... thread 0: ({done},{operations}) ops and ({:.1},{:.1}) ops/second in \
             ({seconds:.6},{elapsed:.6}) seconds",
            date::short(),
            done as f64 / seconds.max(1e-9),
            operations as f64 / elapsed.max(1e-9),
        ));
        if self.stats {
            for (name, label) in [
                ("rocksdb.stats", ""),
                (
                    "rocksdb.num-running-compactions",
                    "num-running-compactions: ",
                ),
                ("rocksdb.num-running-flushes", "num-running-flushes: "),
            ] {
                if let Some(text) = self.database.report(name) {
                    self.console.warn(&format!("{label}{text}"));
                }
            }
        }
    }
}

impl Observer for IntervalWriter<'_> {
    fn interval(&self, live: &Live) {
        let mut state = self.state();
        let (elapsed, operations) = (live.elapsed.as_secs_f64(), live.operations * self.batch);
        state.seconds += 1;
        if self.row_s > 0 && state.seconds.is_multiple_of(self.row_s) {
            self.row(&mut state);
        }
        if self.line_s > 0 && state.seconds.is_multiple_of(self.line_s) {
            self.line(&mut state, elapsed, operations);
        }
    }

    fn recorded(&self, second: u32, stats: &IntervalStats) {
        if self.row_s > 0 {
            *self.state().operations.entry(second).or_default() += stats.operations;
        }
    }
}
