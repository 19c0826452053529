//! Results of other programs, in each format. The first byte chooses it.

#![no_main]

#[path = "../../crates/study/tests/inputs/imported.rs"]
mod imported;

use libfuzzer_sys::fuzz_target;
use tailmark_study::import::{Given, IMPORTS};

fuzz_target!(|input: &[u8]| {
    let Some((&chosen, rest)) = input.split_first() else {
        return;
    };
    let format = IMPORTS[usize::from(chosen) % IMPORTS.len()].name;
    imported::import_as(format, &[("disk-t8-READ.log", rest)], &Given::default());
});
