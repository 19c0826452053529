//! What people read: every command of a guide runs, every link leads somewhere, and the English of
//! pages, help and messages keeps to its rules.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use proc_macro2::{TokenStream, TokenTree};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};
use syn::LitStr;
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
const DOCS_WORDS_MAX: usize = 35_500;
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
                let (command, _) = line.split_once("  #").unwrap_or((line, ""));
                commands.push_str(command);
                // Where a place of the guide is missing or small, a dry run says so by its exit code.
                if command.trim_end().ends_with(" --dry-run") {
                    commands.push_str(" || [ $? -eq 2 ]");
                }
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

/// The phrases in a text that a native reader stumbles over.
fn stumbles(text: &str) -> impl Iterator<Item = String> {
    let small = text.to_lowercase();
    let found = STUMBLES
        .iter()
        .filter(move |(phrase, _)| small.contains(phrase));
    found.map(|(phrase, instead)| format!("`{phrase}`: write {instead}"))
}

/// The sentences of a text that are too long.
fn long_sentences(prose: &str) -> Vec<String> {
    let ends = ["? ", "! ", ": ", "; ", "\n\n", "\n  "];
    let prose = prose.to_owned();
    let prose = ends
        .iter()
        .fold(prose, |prose, end| prose.replace(end, ". "));
    let sentences = prose.split(". ").map(|sentence| {
        let words: Vec<&str> = sentence.split_whitespace().collect();
        (
            words.len(),
            words.into_iter().take(8).collect::<Vec<_>>().join(" "),
        )
    });
    let long = sentences.filter(|(words, _)| *words > WORDS_MAX);
    long.map(|(words, start)| format!("a sentence of {words} words: {start} ..."))
        .collect()
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
            if !is_code {
                wrong.extend(stumbles(line).map(|why| format!("{name}:{number}: {why}")));
            }
        }
        let long = long_sentences(&prose(&text)).into_iter();
        wrong.extend(long.map(|why| format!("{name}: {why}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The help of a command, as wide as it is without a terminal.
#[test]
fn the_docs_are_no_longer_than_a_stranger_reads() {
    let is_doc = |name: &str| name.starts_with("docs/") || name == "README.md";
    let docs = pages().into_iter().filter(|(name, _)| is_doc(name));
    let has_letter = |word: &&str| word.contains(char::is_alphanumeric);
    let words: usize = docs
        .map(|(_, text)| text.split_whitespace().filter(has_letter).count())
        .sum();
    assert!(words <= DOCS_WORDS_MAX, "{words} words");
}

fn help(command: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tailmark"));
    let said = program.args(command).arg("--help").output().unwrap();
    assert!(said.status.success(), "{command:?}");
    String::from_utf8(said.stdout).unwrap()
}

/// The names in the list of commands of a help.
fn commands_in(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let list = list.take_while(|line| !line.is_empty());
    let names = list.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(ToOwned::to_owned)
        .collect()
}

/// The help of every command. The drop-ins print that of the program they stand in for.
fn helps() -> Vec<(String, String)> {
    let top = help(&[]);
    let mut helps = vec![("tailmark".to_owned(), top.clone())];
    for name in commands_in(&top) {
        if ["ycsb", "db-bench"].contains(&name.as_str()) {
            continue;
        }
        let own = help(&[&name]);
        for below in commands_in(&own) {
            helps.push((format!("{name} {below}"), help(&[&name, &below])));
        }
        helps.push((name, own));
    }
    helps
}

/// Two screens.
const HELP_LINES_MAX: usize = 90;
/// A command with more flags than this shows them in groups.
const UNGROUPED_MAX: usize = 16;

#[test]
fn every_help_has_groups_one_line_for_each_flag_and_a_few_examples() {
    let mut wrong = Vec::new();
    for (name, text) in helps() {
        let mut fails = |why: String| wrong.push(format!("{name}: {why}"));
        let count = text.lines().count();
        if count > HELP_LINES_MAX {
            fails(format!("{count} lines"));
        }
        for line in text
            .lines()
            .filter(|line| line.chars().count() > COLUMNS_MAX)
        {
            fails(format!("more than {COLUMNS_MAX} columns: {line}"));
        }
        let (flags, examples) = text.split_once("\nExamples:\n").unwrap_or((&text, ""));
        let (mut in_group, mut most) = (0, 0);
        for line in flags.lines() {
            let words = line.trim_start();
            let indent = line.len() - words.len();
            if words.starts_with('-') && indent > 0 {
                in_group += 1;
                most = most.max(in_group);
            } else if indent > 8 {
                fails(format!("a second line: {line}"));
            } else if indent == 0 && !words.is_empty() {
                in_group = 0;
            }
        }
        if most > UNGROUPED_MAX {
            fails(format!("{most} flags in one group"));
        }
        let given = examples
            .lines()
            .filter(|line| line.starts_with("  tailmark "));
        let given = given.count();
        if !(1..=3).contains(&given) && !name.starts_with("device ") {
            fails(format!("{given} examples"));
        }
        stumbles(&text).for_each(&mut fails);
        let prose = flags.replace('\n', "\n\n");
        long_sentences(&prose).into_iter().for_each(&mut fails);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The source files of a folder and all below it, without tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let is_test = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == "tests");
    let own = paths.into_iter().filter(|path| !is_test(path));
    own.flat_map(|path| {
        if path.is_dir() {
            sources(&path)
        } else {
            let is_source = path.extension().is_some_and(|end| end == "rs");
            Vec::from_iter(is_source.then_some(path))
        }
    })
    .collect()
}

/// The texts in quotation marks of a source file, each with its line: what the program may print.
fn texts(source: &str) -> Vec<(usize, String)> {
    let own = source
        .split("#[cfg(test)]\nmod ")
        .next()
        .unwrap_or_default();
    let mut texts = Vec::new();
    collect_texts(own.parse().unwrap(), &mut texts);
    texts
}

fn collect_texts(tokens: TokenStream, texts: &mut Vec<(usize, String)>) {
    for token in tokens {
        match token {
            // A doc comment.
            TokenTree::Group(group) if group.to_string().starts_with("[doc =") => {}
            TokenTree::Group(group) => collect_texts(group.stream(), texts),
            TokenTree::Literal(literal) => {
                if let Ok(text) = syn::parse_str::<LitStr>(&literal.to_string()) {
                    texts.push((literal.span().start().line, text.value()));
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

#[test]
fn texts_of_a_source_are_found_with_their_lines() {
    let source = "// \"no\"\nlet a = '\"';\nsay(\"one \\\n   two\", \"a\\n\\\"b\\\"\");\n\"last\"";
    let expected = [(3, "one two"), (4, "a\n\"b\""), (5, "last")];
    let expected = expected.map(|(line, text)| (line, text.to_owned()));
    assert_eq!(texts(source), expected);
}

#[test]
fn messages_are_plain_english() {
    let root = root();
    let crates = fs::read_dir(root.join("crates")).unwrap();
    let folders = crates.map(|entry| entry.unwrap().path().join("src"));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for path in folders
        // What the tests share is no message to a user.
        .filter(|folder| folder.is_dir() && !folder.starts_with(root.join("crates/testing")))
        .flat_map(|folder| sources(&folder))
    {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        for (line, text) in texts(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            // Scripts for a shell and lists of words are not sentences.
            let is_prose = !text.contains("$(") && text.contains(['.', ',', ';', ':']);
            let long = if is_prose {
                long_sentences(&text)
            } else {
                Vec::new()
            };
            let found = stumbles(&text).chain(long);
            wrong.extend(found.map(|why| format!("{name}:{line}: {why}")));
        }
    }
    assert!(count > 5_000, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
