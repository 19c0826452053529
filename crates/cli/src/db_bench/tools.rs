//! What a list of benchmarks does beside measuring: flush, compact, wait, print.

use super::{benchmarks::Tool, text::Outcome};
use crate::output;
use std::time::{Duration, Instant};
use tailmark_driver::{Database, Settled};

/// How long `waitforcompaction` waits at most.
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

/// Does it to the database at `place`, and says what db_bench says.
///
/// # Errors
/// Where the database refuses.
pub fn use_tool(
    database: &dyn Database,
    tool: Tool,
    place: &str,
    threads: u32,
) -> anyhow::Result<()> {
    let report = |name| {
        let text = database.report(name);
        text.unwrap_or_else(|| "(failed)".to_owned())
    };
    match tool {
        Tool::Print(name) => output::say(&format!("\n{}", report(name))),
        Tool::Memstats => MEMORY
            .iter()
            .try_for_each(|name| output::say(&format!("{name}: {}", report(name)))),
        Tool::Flush => {
            database.flush()?;
            output::say("flush memtable")
        }
        Tool::Compact => {
            let start = Instant::now();
            database.compact()?;
            let outcome = Outcome {
                operations: 1,
                seconds: start.elapsed().as_secs_f64(),
                bytes: 0,
                threads,
            };
            output::say(&outcome.line("compact", ""))
        }
        Tool::CompactAll => Ok(database.compact()?),
        Tool::CompactLevel(from) => output::say(&database.compact_level(from)?),
        Tool::Wait => {
            output::say(&format!("waitforcompaction({place}): started"))?;
            let status = match database.settle(SETTLE)? {
                Settled::No => "Operation timed out",
                Settled::Yes | Settled::Unknown => "OK",
            };
            output::say(&format!(
                "waitforcompaction({place}): finished with status ({status})"
            ))
        }
    }
}
