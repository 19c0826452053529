//! Whole sweeps on servers that are really there, which `TEST_CASSANDRA`, `TEST_AEROSPIKE` and
//! `TEST_REDIS` name. The tests that need a server of their own start a Cassandra (with Java and Maven) where there is
//! one at all; without a server the tests are ignored.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod clean;
mod clusters;
mod foreign;
mod gone;
mod lost;
mod own;
mod redis;
mod replaced;
mod services;
mod snapshots;
mod sweeps;

use tailmark_testing::Program;

/// The program.
const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}
