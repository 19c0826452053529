//! What must hold of every file that is imported. The fuzz target `import` asks the same.

use std::path::PathBuf;
use tailmark_study::import::{Given, IMPORTS, Source, find};

/// Reads a file in the format that its first byte chooses.
///
/// # Panics
/// As [`import_as`].
pub fn import(input: &[u8]) {
    if let Some((&chosen, rest)) = input.split_first() {
        let format = IMPORTS[usize::from(chosen) % IMPORTS.len()].name;
        import_as(format, &[("disk-t8-READ.log", rest)], &Given::default());
    }
}

/// Reads files of these names and contents in one format, as `tailmark import` does.
///
/// # Panics
/// If what is read has a rate or an interval that is no number.
pub fn import_as(format: &str, files: &[(&str, &[u8])], given: &Given) {
    let source = |(path, bytes): &(&str, &[u8])| Source {
        path: PathBuf::from(path),
        bytes: bytes.to_vec(),
    };
    let sources: Vec<_> = files.iter().map(source).collect();
    match find(format).unwrap().import(&sources, given) {
        Ok(all) => all.iter().for_each(|imported| {
            let rate = imported.phase.ops_per_sec();
            assert!(rate.is_finite() && rate >= 0.0, "{rate} a second");
            assert!(
                imported
                    .phase
                    .intervals
                    .iter()
                    .all(|i| i.length_s.is_finite())
            );
        }),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
