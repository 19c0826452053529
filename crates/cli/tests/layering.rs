//! The layers of docs/ARCHITECTURE.md: which crate may import which, checked against the manifests.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    slice,
};

/// A crate's folder, and the crates of ours that it may import.
const LAYERS: &[(&str, &[&str])] = &[
    ("cluster", &[]),
    ("mpi", &["cluster"]),
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
            "engine", "plan", "runner", "report", "console", "ycsb", "db-bench", "mpi",
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
    ("mpi", &["mpi"]),
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
    ("model/src/finding.rs", "dataset.restore"),
    ("model/src/finding.rs", "machine.memory_limit"),
    ("model/src/finding.rs", "sweep.rate_threads"),
    ("model/src/finding.rs", "sweep.settle"),
    ("model/src/finding.rs", "sweep.warmup"),
    ("report/src/section/method.rs", "sweep.allow_errors"),
    ("stats/src/slo/blame.rs", "slo.threads"),
    ("stats/src/slo/blame.rs", "sweep.background_rate"),
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

/// A program apart from its tests and comments, cut at its quotation marks: code, text, code, ...
fn parts(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = code.lines().map(str::trim_start);
    let program: Vec<&str> = lines.filter(|line| !line.starts_with("//")).collect();
    let program = program.join("\n").replace("\\\"", "").replace("'\"'", "");
    program.split('"').map(str::to_owned).collect()
}

/// The texts of a program: what stands between quotation marks.
fn texts(source: &str) -> Vec<String> {
    parts(source).into_iter().skip(1).step_by(2).collect()
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

/// Files that hold a table of rows or say what a row is: what they import opens no circle.
const TABLES: &[(&str, &str)] = &[
    // METRICS: a row reads a phase, and a phase keeps its figures by metric.
    ("model", "metrics"),
    // KEYS: a row says what it sets in a plan, and a plan is made of what keys set.
    ("plan", "key"),
    // The same table: a row stands beside what reads its key, and that looks up the row.
    ("plan", "keys"),
];

/// The names of a path: of a module in its crate, or of what is taken from one.
type Names = Vec<String>;

fn names(path: &str) -> Names {
    let names = path.split("::").filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// A file of a crate as text. Methods, and what a macro defines, are not seen.
#[derive(Default)]
struct RustFile {
    defined: BTreeSet<String>,
    /// What `use` brings in, by its name here.
    uses: BTreeMap<String, Names>,
    /// What it takes: all that it imports, and what it names in full. What it hands on by `pub use`
    /// is taken only if it names it.
    taken: BTreeSet<Names>,
}

impl RustFile {
    fn parse(source: &str) -> Self {
        const KEYWORDS: &[&str] = &["struct", "enum", "fn", "trait", "type", "const", "static"];
        let code: String = parts(source).into_iter().step_by(2).collect();
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let (mut file, mut words) = (Self::default(), BTreeSet::new());
        let mut lines = code.lines();
        while let Some(line) = lines.next() {
            let public = line.strip_prefix("pub");
            let item = public.map_or(line, |rest| rest.split_once(' ').map_or("", |at| at.1));
            if let Some(tree) = item.strip_prefix("use ") {
                let mut tree = tree.to_owned();
                while !tree.ends_with(';') {
                    tree.push_str(lines.next().unwrap());
                }
                for leaf in leaves(&tree) {
                    let (path, name) = (names(leaf.split(' ').next().unwrap()), leaf);
                    let name = name.rsplit([' ', ':']).next().unwrap().to_owned();
                    file.uses.insert(name, path.clone());
                    file.taken.extend(public.is_none().then_some(path));
                }
            } else if !item.starts_with("mod ") {
                let mut after = item.split(' ').skip_while(|word| !KEYWORDS.contains(word));
                let name = after.find(|word| !KEYWORDS.contains(word) && *word != "unsafe");
                let name = name.and_then(|word| word.split(|c| !is_part(c)).next());
                file.defined.extend(name.map(str::to_owned));
                words.extend(line.split(|c| !is_part(c) && c != ':').map(names));
            }
        }
        let first: BTreeSet<_> = words.iter().filter_map(|word| word.first()).collect();
        let named = file.uses.iter().filter(|(name, _)| first.contains(name));
        let named: Vec<_> = named.map(|(_, path)| path.clone()).collect();
        let in_full = words.into_iter().filter(|path| path.len() > 1);
        file.taken.extend(in_full.chain(named));
        file
    }
}

/// The paths of a tree of `use`, which ends with a semicolon.
fn leaves(tree: &str) -> Vec<String> {
    let (mut leaves, mut before) = (Vec::new(), vec![String::new()]);
    for part in tree.split_inclusive(['{', ',', '}', ';']) {
        let (name, end) = part.split_at(part.len() - 1);
        let path = format!("{}{}", before.last().unwrap(), name.trim());
        match (name.trim(), end) {
            (_, "{") => before.push(path),
            ("", _) => {}
            _ => leaves.push(path.trim_end_matches("::self").to_owned()),
        }
        if end == "}" {
            before.pop();
        }
    }
    leaves
}

/// The module in whose file stands what a path leads to; none if that is of another crate.
fn definer(files: &BTreeMap<Names, RustFile>, module: &Names, path: &[String]) -> Option<Names> {
    let mut at = module.clone();
    for (name, rest) in path.iter().zip((1..).map(|next| &path[next..])) {
        let (file, child) = (files.get(&at)?, [&at[..], slice::from_ref(name)].concat());
        let imported = file.uses.get(name).filter(|from| from[0] != *name);
        match (name.as_str(), imported) {
            ("self", _) => {}
            ("crate", _) => at.clear(),
            ("super", _) => _ = at.pop(),
            _ if files.contains_key(&child) && !rest.is_empty() => at = child,
            _ if file.defined.contains(name) => return Some(at),
            (_, Some(from)) => return definer(files, &at, &[from, rest].concat()),
            // A module alone, or what a macro defines.
            _ => return (at != *module && !files.contains_key(&child)).then_some(at),
        }
    }
    None
}

/// The arrows of all circles of a crate's files, each with the names that tie it. A file in a folder is
/// a part of the folder's module: that it takes something of that module's own file is no arrow.
fn circles(files: &BTreeMap<Names, RustFile>) -> Vec<String> {
    let mut arrows: BTreeMap<Names, BTreeMap<Names, BTreeSet<&str>>> = BTreeMap::new();
    for (module, file) in files {
        let arrows_of_file = arrows.entry(module.clone()).or_default();
        for path in &file.taken {
            let other = definer(files, module, path).filter(|other| !module.starts_with(other));
            let taken = other.map(|other| arrows_of_file.entry(other).or_default());
            taken.map(|taken| taken.insert(path.last().unwrap()));
        }
    }
    let leads_to = |from: &Names, to: &Names| {
        let (mut reached, mut pending) = (BTreeSet::new(), vec![from]);
        while let Some(module) = pending.pop() {
            pending.extend(arrows[module].keys().filter(|next| reached.insert(*next)));
        }
        reached.contains(to)
    };
    let mut said = Vec::new();
    for (from, all) in &arrows {
        for (to, taken) in all.iter().filter(|(to, _)| leads_to(to, from)) {
            said.push(format!("{} -> {}: {taken:?}", from.join("/"), to.join("/")));
        }
    }
    said
}

#[test]
fn no_circle_of_files() {
    let mut found = Vec::new();
    for (folder, _) in LAYERS {
        let (source, mut paths) = (crates().join(folder).join("src"), Vec::new());
        sources(&source, &mut paths);
        let mut files = BTreeMap::new();
        for file in paths {
            let module = file.strip_prefix(&source).unwrap().with_extension("");
            let mut module = names(&module.display().to_string().replace('/', "::"));
            module.pop_if(|last| ["lib", "main", "mod"].contains(&last.as_str()));
            let mut parsed = RustFile::parse(&fs::read_to_string(&file).unwrap());
            let all = parsed.uses.get("*").filter(|path| path[0] != "super");
            assert_eq!(all, None, "{module:?} of {folder} hides what it takes");
            if TABLES.contains(&(folder, &module.join("/"))) {
                parsed.taken.clear();
            }
            files.insert(module, parsed);
        }
        let arrows = circles(&files).into_iter();
        found.extend(arrows.map(|arrow| format!("{folder}: {arrow}")));
    }
    assert!(found.is_empty(), "circles of files: {found:#?}");
}
