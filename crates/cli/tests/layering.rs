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
    // What is measured logs nothing.
    ("tracing", &["prepare", "remote", "cli"]),
    ("tracing-subscriber", &["cli"]),
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

/// Crates below `plan`, and those beside it, that know a plan by roles and typed settings alone.
const WITHOUT_KEYS: &[&str] = &[
    "cluster", "driver", "workload", "model", "stats", "study", "machine", "prepare", "remote",
    "engine", "report",
];

/// Texts that tell a person which key to set: file and key.
const ADVICE: &[(&str, &str)] = &[
    ("machine/src/limit.rs", "machine.memory_limit"),
    ("model/src/finding.rs", "machine.memory_limit"),
    ("model/src/finding.rs", "sweep.rate_threads"),
    ("model/src/finding.rs", "sweep.settle"),
    ("model/src/finding.rs", "sweep.warmup"),
    ("report/src/section/method.rs", "sweep.allow_errors"),
    ("stats/src/slo/blame.rs", "slo.threads"),
];

/// Rust files below a folder, apart from tests.
fn sources(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() && !is_test {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") && !is_test {
            found.push(path);
        }
    }
}

/// The texts of a program, apart from its tests: what stands between quotation marks.
fn texts(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = code.lines().map(str::trim_start);
    let program: Vec<&str> = lines.filter(|line| !line.starts_with("//")).collect();
    let program = program.join("\n").replace("\\\"", "").replace("'\"'", "");
    let parts = program.split('"').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

/// Whether a text has a name as a word of its own.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    text.match_indices(name).any(|(at, _)| {
        let after = text[at + name.len()..].trim_start_matches('.');
        !text[..at].ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[test]
fn no_crate_below_the_plan_names_a_key() {
    let keys = || {
        tailmark_plan::KEYS
            .iter()
            .filter(|key| !key.table.is_empty())
    };
    let tables: BTreeSet<&str> = keys().map(|key| key.table).collect();
    let mut named = BTreeSet::new();
    for folder in WITHOUT_KEYS {
        let mut files = Vec::new();
        sources(&crates().join(folder).join("src"), &mut files);
        for file in files {
            let name = file.strip_prefix(crates()).unwrap().display().to_string();
            for text in texts(&fs::read_to_string(&file).unwrap()) {
                let paths = keys().map(|key| key.path());
                let mentioned = paths.filter(|path| has_word(&text, path));
                named.extend(mentioned.map(|path| (name.clone(), path)));
                // Parts that a key is put together of, and prefixes that keys are told apart by.
                let is_prefix = |table: &&&str| {
                    let rest = text
                        .strip_prefix(**table)
                        .and_then(|rest| rest.strip_prefix('.'));
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('{'))
                };
                if let Some(table) = tables.iter().find(is_prefix) {
                    named.insert((name.clone(), format!("{table}.")));
                }
            }
        }
    }
    let advice = ADVICE
        .iter()
        .map(|(file, key)| ((*file).to_owned(), (*key).to_owned()));
    // The errors of a driver name its settings.
    let errors = ("driver/src/error.rs".to_owned(), "database.".to_owned());
    assert_eq!(named, advice.chain([errors]).collect());
}
