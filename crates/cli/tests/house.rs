//! The house of docs/ARCHITECTURE.md: which crate may import which, checked against the manifests.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{collections::BTreeSet, fs, path::Path};

/// A crate's folder, and the crates of ours that it may import.
const HOUSE: &[(&str, &[&str])] = &[
    ("driver", &[]),
    ("results", &[]),
    ("workload", &["driver"]),
    ("host", &["results"]),
    ("runner", &["driver", "workload", "results", "host"]),
    ("report", &["results"]),
    (
        "cli",
        &["driver", "workload", "results", "host", "runner", "report"],
    ),
];

/// Crates from outside that only some of ours may import.
const KEPT_TO: &[(&str, &[&str])] = &[
    ("clap", &["cli"]),
    ("indicatif", &["cli"]),
    ("anyhow", &["cli"]),
    ("rust-rocksdb", &["driver"]),
    ("rusqlite", &["results"]),
    ("maud", &["report"]),
    ("quanta", &["runner"]),
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
fn every_crate_is_in_the_house() {
    let found: BTreeSet<_> = fs::read_dir(crates())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let known: BTreeSet<_> = HOUSE
        .iter()
        .map(|(folder, _)| (*folder).to_owned())
        .collect();
    assert_eq!(found, known);
}

#[test]
fn crates_import_only_crates_below_them() {
    for (folder, allowed) in HOUSE {
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
    for (folder, _) in HOUSE {
        for import in imports(folder) {
            if let Some((name, allowed)) = KEPT_TO.iter().find(|(name, _)| *name == import) {
                assert!(
                    allowed.contains(folder),
                    "`{folder}` must not import `{name}`"
                );
            }
        }
    }
}
