//! Plans, and what a dry run says of them.

#![no_main]

#[path = "../../crates/runner/tests/planned/mod.rs"]
mod planned;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| planned::plan(input));
