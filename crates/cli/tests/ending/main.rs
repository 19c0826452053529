//! How the program ends when it cannot go on: signals, a closed terminal, readers that go away,
//! full disks. The real program, real signals and pipes; a small tmpfs is the full disk.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod full;
#[cfg(all(feature = "db-bench", feature = "rocksdb"))]
mod held;
mod messages;
mod moved;
mod odd;
mod pipes;
mod signals;
mod stopped;
mod support;

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}
