//! Benchmarks of a list that do not measure: flush, compact, wait, print.

use super::{benchmarks::Tool, text::BenchmarkResult};
use std::time::{Duration, Instant};
use tailmark_console::Console;
use tailmark_driver::{Database, Settled, Stopped, db::RocksDb};

/// The longest wait of `waitforcompaction`.
const SETTLE: Duration = Duration::from_secs(24 * 3600);

/// What `memstats` prints.
const MEMORY: &[&str] = &[
    "rocksdb.num-immutable-mem-table",
    "rocksdb.cur-size-active-mem-table",
    "rocksdb.cur-size-all-mem-tables",
    "rocksdb.size-all-mem-tables",
    "rocksdb.num-entries-active-mem-table",
    "rocksdb.num-entries-imm-mem-tables",
];

/// Applies the action to the database at `place`, and prints db_bench's messages. `stop` ends a
/// wait.
///
/// # Errors
/// If the database refuses.
pub fn use_tool(
    database: &RocksDb,
    tool: Tool,
    place: &str,
    threads: u32,
    stop: Stopped<'_>,
    console: &Console,
) -> anyhow::Result<()> {
    let report = |name| {
        let text = database.report(name);
        text.unwrap_or_else(|| "(failed)".to_owned())
    };
    match tool {
        Tool::Print(name) => console.say(&format!("\n{}", report(name))),
        Tool::Memstats => MEMORY
            .iter()
            .try_for_each(|name| console.say(&format!("{name}: {}", report(name)))),
        Tool::Flush => {
            database.flush(&|| false)?;
            console.say("flush memtable")
        }
        Tool::Compact => {
            let start = Instant::now();
            database.compact();
            let result = BenchmarkResult {
                operations: 1,
                seconds: start.elapsed().as_secs_f64(),
                bytes: 0,
                threads,
            };
            console.say(&result.line("compact", ""))
        }
        Tool::CompactAll => {
            database.compact();
            Ok(())
        }
        Tool::CompactLevel(from) => console.say(&database.compact_level(from)?),
        Tool::Wait => {
            console.say(&format!("waitforcompaction({place}): started"))?;
            let status = match database.settle(SETTLE, stop)? {
                Settled::No => "Operation timed out",
                Settled::Yes | Settled::NotStarted | Settled::Unknown => "OK",
            };
            console.say(&format!(
                "waitforcompaction({place}): finished with status ({status})"
            ))
        }
    }
}
