//! What people read: every command of a guide runs, every link leads somewhere, and the English keeps
//! to its rules.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};
use tailmark_testing::err;
use tempfile::TempDir;

/// Pages whose commands are run, in an empty directory, from top to bottom: blocks of `sh`. What needs
/// root, a server or another program is in a block of `sh,ignore`.
const RUN: &[&str] = &[
    "docs/guides",
    "docs/explain",
    "docs/tutorial.md",
    "docs/YCSB.md",
    "docs/DB_BENCH.md",
    "docs/SERVERS.md",
    "docs/SCALE-OUT.md",
];
/// Phrases that a native reader stumbles over, and what to write instead.
const STUMBLES: &[(&str, &str)] = &[
    ("somebody", "another program, a user"),
    (" nobody ", "no client, no one"),
    ("one's own", "your own, custom"),
    (" is said", "prints, reports"),
    (" is told", "prints, reports"),
    ("comes to rest", "settles"),
    ("comes to its end", "ends"),
    ("in the mean,", "on average"),
    (" so many ", "that many"),
    ("where there is none", "if there is no ..."),
    ("tells whether", "shows whether"),
];
const WORDS_MAX: usize = 40;
const COLUMNS_MAX: usize = 100;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// The Markdown files of a file or directory, the latter with all below it.
fn pages_in(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let is_page = |own: &PathBuf| own.is_dir() || own.extension().is_some_and(|end| end == "md");
    let pages = paths.into_iter().filter(is_page);
    pages.flat_map(|own| pages_in(&own)).collect()
}

/// Every page, by its path from the root.
fn pages() -> BTreeMap<String, String> {
    let root = root();
    let named = ["docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"];
    let all = named.iter().flat_map(|name| pages_in(&root.join(name)));
    all.map(|path| {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        (name, fs::read_to_string(path).unwrap())
    })
    .collect()
}

/// The lines of a page, each with its number and whether it is in a block of code.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut is_code = false;
    text.lines().enumerate().map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (index + 1, line, is_code || is_fence)
    })
}

/// The commands of all blocks of `sh`.
fn commands(text: &str) -> String {
    let mut commands = String::new();
    let mut is_run = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(_) if is_run => is_run = false,
            Some(language) => is_run = language == "sh",
            None if is_run => {
                commands.push_str(line);
                commands.push('\n');
            }
            None => {}
        }
    }
    commands
}

#[test]
fn every_command_of_a_guide_runs() {
    let program = Path::new(env!("CARGO_BIN_EXE_tailmark")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let root = root();
    let pages = RUN.iter().flat_map(|name| pages_in(&root.join(name)));
    let left = Mutex::new(pages.collect::<Vec<_>>());
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some(page) = { left.lock().unwrap().pop() } {
            let script = commands(&fs::read_to_string(&page).unwrap());
            let (dir, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
            let mut bash = Command::new("timeout");
            bash.args([
                "--signal=KILL",
                "900",
                "bash",
                "-euo",
                "pipefail",
                "-c",
                &script,
            ]);
            bash.current_dir(dir.path()).env("PATH", &path);
            let done = bash.env("HOME", home.path()).output().unwrap();
            if !done.status.success() {
                let why = format!("{}: {}\n{}", page.display(), done.status, err(&done));
                failed.lock().unwrap().push(why);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// What the page of tables begins with.
const REFERENCE: &str = "# Reference\n\n`./dev book` makes this page of the tables in the code: \
                         `tailmark list --markdown`.\n";

#[test]
fn the_reference_has_the_tables_of_the_program() {
    let mut list = Command::new(env!("CARGO_BIN_EXE_tailmark"));
    let list = list.args(["list", "--markdown"]).output().unwrap();
    let made = REFERENCE.to_owned() + &String::from_utf8(list.stdout).unwrap();
    let path = root().join("docs/REFERENCE.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "docs/REFERENCE.md is not that of the program: run ./dev book"
    );
}

/// As Markdown makes it from a heading: `What's new?` is `whats-new`.
fn anchor(heading: &str) -> String {
    let text = heading.to_lowercase();
    let kept = text.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() => Some(c),
        _ => None,
    });
    kept.collect()
}

fn anchors(text: &str) -> Vec<String> {
    let headings = lines(text).filter(|(_, line, is_code)| !is_code && line.starts_with('#'));
    let headings = headings.map(|(_, line, _)| anchor(line.trim_start_matches('#').trim()));
    let named = text.split("<a id=\"").skip(1);
    let named = named.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
    headings.chain(named).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let (root, pages) = (root(), pages());
    let mut broken = Vec::new();
    for (name, text) in &pages {
        let folder = Path::new(name).parent().unwrap();
        for (number, line, _) in lines(text).filter(|(.., is_code)| !is_code) {
            for link in line.split("](").skip(1) {
                let Some((link, _)) = link.split_once(')') else {
                    continue;
                };
                if link.contains("://") {
                    continue;
                }
                let (file, part) = link.split_once('#').unwrap_or((link, ""));
                let target = match file {
                    "" => root.join(name),
                    file => root.join(folder).join(file),
                };
                let found = target.canonicalize().ok();
                let own = found
                    .as_ref()
                    .and_then(|found| fs::read_to_string(found).ok());
                let has_part = part.is_empty()
                    || own.is_some_and(|own| anchors(&own).iter().any(|known| known == part));
                if found.is_none() || !has_part {
                    broken.push(format!("{name}:{number}: {link}"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Prose alone: no code, tables, headings or list marks; paragraphs end where a line is empty.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    for (_, line, is_code) in lines(text) {
        let line = line.trim();
        let is_apart = line.is_empty() || line.starts_with(['#', '|', '<', '!']) || is_code;
        if is_apart {
            prose.push_str(". ");
            continue;
        }
        let item = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let item = item.strip_prefix(". ").or(line.strip_prefix("- "));
        if item.is_some() {
            prose.push_str(". ");
        }
        prose.push_str(item.unwrap_or(line));
        prose.push(' ');
    }
    prose
}

#[test]
fn pages_are_plain_english() {
    let mut wrong = Vec::new();
    for (name, text) in pages() {
        for (number, line, is_code) in lines(&text) {
            let columns = line.chars().count();
            let is_table = line.starts_with('|') || line.contains("](") || line.starts_with("[![");
            if columns > COLUMNS_MAX && !is_table && !is_code {
                wrong.push(format!("{name}:{number}: {columns} columns"));
            }
            let small = line.to_lowercase();
            for (phrase, instead) in STUMBLES.iter().filter(|(phrase, _)| small.contains(phrase)) {
                if !is_code {
                    wrong.push(format!("{name}:{number}: `{phrase}`: write {instead}"));
                }
            }
        }
        let ends = ["? ", "! ", ": ", "; "];
        let prose = ends
            .iter()
            .fold(prose(&text), |prose, end| prose.replace(end, ". "));
        for sentence in prose.split(". ") {
            let words = sentence.split_whitespace().count();
            if words > WORDS_MAX {
                let start: Vec<&str> = sentence.split_whitespace().take(8).collect();
                wrong.push(format!(
                    "{name}: a sentence of {words} words: {} ...",
                    start.join(" ")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
