//! The program on processors with and without what RocksDB was compiled for, as QEMU's user mode
//! emulates them. Where `qemu-x86_64` is not installed (Debian: qemu-user) the tests are ignored.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::process::{Command, Output};
use tailmark_testing::{not_here, not_installed, test};

/// `tailmark --version` on a processor.
fn version_on(processor: &str) -> Output {
    if !cfg!(target_arch = "x86_64") {
        not_here("the program is for another kind of processor");
    }
    let mut qemu = Command::new("qemu-x86_64");
    let program = env!("CARGO_BIN_EXE_tailmark");
    let ended = qemu
        .args(["-cpu", processor, program, "--version"])
        .output();
    ended.unwrap_or_else(|_| not_installed("qemu-x86_64 is missing (Debian: qemu-user)"))
}

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn a_processor_without_the_baseline_gets_one_error_and_no_signal() {
    let ended = version_on("Nehalem");
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: this processor lacks "), "{said}");
    assert!(
        said.contains(" avx2 ") && said.contains("x86-64-v3"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(ended.stdout.is_empty());
}

#[test]
fn a_processor_with_the_baseline_runs_the_program() {
    let ended = version_on("max");
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with(b"tailmark "));
}
