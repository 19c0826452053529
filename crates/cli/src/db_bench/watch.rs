//! What is written while a benchmark runs: the interval lines and the report file.

use super::{date, flags::Flags};
use crate::output;
use anyhow::Context;
use std::{
    fs::File,
    io::Write,
    sync::{Mutex, PoisonError},
};
use tailmark_driver::Database;
use tailmark_runner::{Live, Observer, Stop};

/// Writes an interval line and a row of the report file as often as the flags say.
pub struct Watch<'a> {
    database: &'a dyn Database,
    /// Seconds from one interval line to the next; 0: none.
    line_s: u64,
    /// Whether the database's own statistics follow each line.
    stats: bool,
    /// Seconds from one row of the report file to the next.
    row_s: u64,
    /// Records of one operation.
    batch: u64,
    /// A request to stop everything, and what it becomes: one to stop this benchmark.
    stops: [Stop; 2],
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    report: Option<File>,
    /// Elapsed seconds and operations at the last line, and operations at the last row.
    line: (f64, u64),
    row: u64,
    seconds: u64,
}

impl<'a> Watch<'a> {
    /// Watches one benchmark.
    ///
    /// # Errors
    /// Where the report file cannot be made.
    pub fn new(
        flags: &Flags,
        database: &'a dyn Database,
        batch: u64,
        stops: [&Stop; 2],
    ) -> anyhow::Result<Self> {
        let row_s = flags.number("report_interval_seconds")?;
        let mut state = State::default();
        if row_s > 0 {
            let path = flags.text("report_file");
            let failed = || format!("failed to write --report_file `{path}`");
            let mut file = File::create(path).with_context(failed)?;
            writeln!(file, "secs_elapsed,interval_qps").with_context(failed)?;
            state.report = Some(file);
        }
        let line_s = flags.number("stats_interval_seconds")?;
        let stats = flags.number::<i64>("stats_per_interval")? != 0;
        let stops = stops.map(Stop::clone);
        Ok(Self {
            database,
            line_s,
            stats,
            row_s,
            batch,
            stops,
            state: Mutex::new(state),
        })
    }

    fn line(&self, state: &mut State, elapsed: f64, operations: u64) {
        let (before_s, before) = std::mem::replace(&mut state.line, (elapsed, operations));
        let (seconds, done) = (elapsed - before_s, operations - before);
        output::warn(&format!(
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
                    output::warn(&format!("{label}{text}"));
                }
            }
        }
    }
}

impl Observer for Watch<'_> {
    fn interval(&self, live: &Live) {
        if self.stops[0].requested() {
            self.stops[1].request();
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (elapsed, operations) = (live.elapsed.as_secs_f64(), live.operations * self.batch);
        state.seconds += 1;
        if self.row_s > 0 && state.seconds.is_multiple_of(self.row_s) {
            let (row, seconds) = (operations - state.row, state.seconds);
            state.row = operations;
            if let Some(file) = &mut state.report {
                // A report that cannot be written ends no benchmark.
                let _ = writeln!(file, "{seconds},{row}");
            }
        }
        if self.line_s > 0 && state.seconds.is_multiple_of(self.line_s) {
            self.line(&mut state, elapsed, operations);
        }
    }
}
