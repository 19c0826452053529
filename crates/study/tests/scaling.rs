//! The law of a system's points in the export of a study.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

use common::*;
use serde_json::Value;
use tailmark_study::{FORMATS, Study};

/// The laws in the export of a study with so many thread counts of X(N) = 1000 N / (1 + 0.1 (N - 1)).
fn laws(counts: u32) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &[]).unwrap();
    for threads in 1..=counts {
        let mut point = point(threads, false);
        let n = f64::from(threads);
        let phase = &mut point.phase;
        (phase.duration_s, phase.failed, phase.drained) = (1_000.0, 0, 0);
        phase.operations = (1e6 * n / (1.0 + 0.1 * (n - 1.0))) as u64;
        phase.errors.clear();
        phase.findings.clear();
        for kind in phase.kinds.values_mut() {
            kind.errors = 0;
        }
        study.add_point(&point).unwrap();
    }
    let json = FORMATS.iter().find(|format| format.name == "json").unwrap();
    let mut out = Vec::new();
    (json.write)(&study, &mut out).unwrap();
    let document: Value = serde_json::from_slice(&out).unwrap();
    document["scaling"].clone()
}

#[test]
fn the_export_has_the_law_of_each_system() {
    let laws = laws(8);
    let law = &laws[0];
    let near = |name: &str, known: f64| (law[name].as_f64().unwrap() - known).abs() < 1e-3 * known;
    assert!(near("lambda", 1_000.0) && near("sigma", 0.1), "{law}");
    assert_eq!(law["threads_max"], 8);
    assert!(law["r_squared"].as_f64().unwrap() > 0.999, "{law}");
    assert!(law["kappa"].as_f64().unwrap() < 1e-6, "{law}");
    assert_eq!(laws.as_array().unwrap().len(), 1);
    assert_eq!(self::laws(5), serde_json::json!([]));
}
