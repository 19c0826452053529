//! A report is made of every study that can be read, whatever its numbers say. See
//! `tailmark-testing` for how inputs are made and how many.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::{fs, path::Path};
use tailmark_report::{Data, html::body};
use tailmark_results::Study;
use tailmark_testing::Trial;
use tempfile::TempDir;

#[test]
fn a_study_with_damaged_pages_is_reported_or_refused() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fixture = fixture.join("../results/tests/fixtures/version-2.study");
    let shm = Path::new("/dev/shm");
    let dir = if shm.is_dir() {
        TempDir::new_in(shm)
    } else {
        TempDir::new()
    };
    let path = dir.as_ref().unwrap().path().join(Study::FILE);
    let trial = Trial {
        name: "report of a study by pages",
        samples: &[fs::read(fixture).unwrap()],
        words: &[],
        inputs: 60,
    };
    trial.run(|input| {
        fs::write(&path, input).unwrap();
        let study = Study::open_read_only(&path);
        if let Ok(data) = study
            .map_err(drop)
            .and_then(|study| Data::read(&[study]).map_err(drop))
        {
            assert!(!body(&data).is_empty());
        }
    });
}
