//! The layers of docs/ARCHITECTURE.md: which crate may import which, checked against the manifests.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{collections::BTreeSet, fs, path::Path};

/// A crate's folder, and the crates of ours that it may import.
const LAYERS: &[(&str, &[&str])] = &[
    ("cluster", &[]),
    ("driver", &[]),
    ("model", &[]),
    ("stats", &["model"]),
    ("study", &["model", "stats"]),
    ("workload", &["driver"]),
    ("machine", &["model"]),
    ("prepare", &["model", "stats", "machine"]),
    ("remote", &["cluster", "model", "machine", "prepare"]),
    ("engine", &["driver", "workload", "model", "stats"]),
    ("plan", &["driver", "workload", "model", "stats"]),
    (
        "runner",
        &[
            "cluster", "driver", "workload", "model", "stats", "study", "machine", "prepare",
            "remote", "engine", "plan",
        ],
    ),
    ("report", &["model", "stats", "study"]),
    ("console", &["model", "engine"]),
    ("ycsb", DROP_IN),
    ("db-bench", DROP_IN),
    (
        "cli",
        &[
            "cluster", "driver", "workload", "model", "stats", "study", "machine", "prepare",
            "engine", "plan", "runner", "report", "console", "ycsb", "db-bench",
        ],
    ),
    // Imported by tests alone.
    ("testing", &["testing-macros"]),
    ("testing-macros", &[]),
];

/// What stands in for another program reads no plan.
const DROP_IN: &[&str] = &[
    "driver", "workload", "model", "stats", "study", "machine", "prepare", "engine", "runner",
    "report", "console",
];

/// Crates from outside that only some of ours may import.
const RESTRICTED_DEPS: &[(&str, &[&str])] = &[
    ("clap", &["cli"]),
    ("indicatif", &["cli"]),
    ("anyhow", &["cli", "console", "ycsb", "db-bench"]),
    ("rust-rocksdb", &["driver"]),
    ("regex", &["model"]),
    ("rusqlite", &["study"]),
    ("statrs", &["stats"]),
    ("zstd", &["study"]),
    ("krilla", &["report"]),
    ("maud", &["report"]),
    ("mpi", &["cluster"]),
    ("resvg", &["report"]),
    ("rquickjs", &["report"]),
    ("quanta", &["engine"]),
];

fn crates() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What a crate imports, apart from its tests and benches.
fn imports(folder: &str) -> BTreeSet<String> {
    let manifest = fs::read_to_string(crates().join(folder).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    assert_eq!(
        manifest["lints"]["workspace"].as_bool(),
        Some(true),
        "{folder} has its own lints"
    );
    let tables = ["dependencies", "build-dependencies"];
    let names = |table: &str| {
        manifest
            .get(table)
            .and_then(|t| t.as_table())
            .into_iter()
            .flat_map(|t| t.keys().cloned())
            .collect::<Vec<_>>()
    };
    tables.into_iter().flat_map(names).collect()
}

#[test]
fn every_crate_has_its_layer() {
    let found: BTreeSet<_> = fs::read_dir(crates())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let known: BTreeSet<_> = LAYERS
        .iter()
        .map(|(folder, _)| (*folder).to_owned())
        .collect();
    assert_eq!(found, known);
}

#[test]
fn crates_import_only_crates_below_them() {
    for (folder, allowed) in LAYERS {
        for import in imports(folder) {
            if let Some(ours) = import.strip_prefix("tailmark-") {
                assert!(
                    allowed.contains(&ours),
                    "`{folder}` must not import `{ours}`"
                );
            }
        }
    }
}

#[test]
fn outside_crates_stay_where_they_belong() {
    for (folder, _) in LAYERS {
        for import in imports(folder) {
            if let Some((name, allowed)) = RESTRICTED_DEPS.iter().find(|(name, _)| *name == import)
            {
                assert!(
                    allowed.contains(folder),
                    "`{folder}` must not import `{name}`"
                );
            }
        }
    }
}
