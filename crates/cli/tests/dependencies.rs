//! What the program is built of: under which licences, and each crate once.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

/// Licences that a program under the Apache License may have parts under.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];

/// Crates of which two versions or more are built, until those that need the older one are released.
/// `bindgen`, `itertools` and `shlex` are so for MPI alone.
const SEVERAL_VERSIONS: &[&str] = &[
    "base64",
    "bindgen",
    "embedded-io",
    "font-types",
    "getrandom",
    "hashbrown",
    "imagesize",
    "indexmap",
    "itertools",
    "miniz_oxide",
    "nom",
    "rand",
    "rand_core",
    "read-fonts",
    "schemars",
    "shlex",
    "skrifa",
    "syn",
];

/// What is built on this platform and comes from elsewhere: name, version, licence.
fn dependencies() -> Vec<(String, String, String)> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .args(["--filter-platform", &platform])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&metadata.stderr);
    assert!(metadata.status.success(), "{said}");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let built = list(&metadata["resolve"]["nodes"]);
    let built: BTreeSet<String> = built.iter().map(|node| node["id"].to_string()).collect();
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let packages = list(&metadata["packages"]).into_iter();
    let from_elsewhere = packages.filter(|package| {
        built.contains(&package["id"].to_string()) && !package["source"].is_null()
    });
    from_elsewhere
        .map(|package| {
            (
                text(&package["name"]),
                text(&package["version"]),
                text(&package["license"]),
            )
        })
        .collect()
}

/// Whether a licence of each part of an expression is among [`LICENCES`].
fn is_allowed(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    let mut parts = plain.split(" AND ");
    parts.all(|part| {
        let mut alternatives = part.split(" OR ").map(str::trim);
        alternatives.any(|licence| LICENCES.contains(&licence))
    })
}

#[test]
fn every_dependency_has_a_licence_that_allows_its_use() {
    let refused: Vec<_> = dependencies()
        .into_iter()
        .filter(|(_, _, licence)| !is_allowed(licence))
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
    assert!(!is_allowed("GPL-3.0") && !is_allowed("MIT AND GPL-3.0") && !is_allowed(""));
}

#[test]
fn no_crate_is_built_in_several_versions_but_those_that_are_known() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, version, _) in dependencies() {
        versions.entry(name).or_default().insert(version);
    }
    let several = versions.iter().filter(|(_, all)| all.len() > 1);
    let several: Vec<&str> = several.map(|(name, _)| name.as_str()).collect();
    assert_eq!(several, SEVERAL_VERSIONS);
}
