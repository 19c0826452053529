//! Runs of several processes under a real `mpirun`: what they add up to, on servers and without, and
//! what is left of them when a rank or a host is lost. `TEST_MPI` names the program with MPI, as
//! `./dev build mpi` prints it.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod faults;
mod results;
mod servers;

use serde_json::{Value, json};
use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};
use tailmark_testing::{Ended, Mpirun, Program, not_installed};

/// The program without MPI; it reads the same studies.
const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// No run here takes nearly so long; the machine may be busy.
const END: Duration = Duration::from_secs(240);

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

/// The program with MPI.
fn program() -> PathBuf {
    match env::var_os("TEST_MPI") {
        Some(program) => program.into(),
        None => not_installed("TEST_MPI names no program with MPI"),
    }
}

/// So many ranks of a run, in this directory.
fn ranks<'a>(ranks: u32, directory: &Path, args: &[impl AsRef<OsStr>]) -> Mpirun<'a> {
    Mpirun::new(ranks, &program(), directory).args(args)
}

/// All of it is done.
fn done(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.out, ended.err);
}

/// What of a point a failed test shows.
fn shown(point: &Value) -> Value {
    let keys = ["threads", "target_rate", "operations", "errors", "ranks"];
    keys.iter()
        .map(|key| json!({ *key: point[*key] }))
        .collect()
}
