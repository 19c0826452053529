//! Results of other programs, in each format. The first byte chooses it.

#![no_main]

#[path = "../../crates/study/tests/inputs/imported.rs"]
mod imported;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| imported::import(input));
