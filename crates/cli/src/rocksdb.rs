//! `tailmark rocksdb`: lists and gets the versions of RocksDB that a plan can name.
//!
//! Nothing is fetched in a run. Here the user's own Maven or curl fetches, with the user's own
//! settings for proxies and mirrors.

use crate::{
    args::{FetchArgs, ListVersionsArgs, RocksDbArgs, RocksDbCommand, TextFormat},
    screen,
};
use anyhow::{Context, anyhow, bail};
use serde_json::json;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tailmark_console::{Console, Exit, Refused};
use tailmark_driver::{
    db::{self, RocksDbLibrary},
    open_file,
};
use tailmark_model::{json_text, printable};
use tailmark_report::{Cell, Column, Table, TableRow, text_table};

/// The version of the document's schema.
const VERSION: u32 = 1;
/// Maven's plugin that copies an artifact, as `./dev` uses it.
const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";
const COLUMNS: [&str; 5] = ["version", "library", "built", "compression", "CRC32C"];

/// Carries out the subcommand.
pub fn rocksdb(args: &RocksDbArgs, console: &Console) -> anyhow::Result<Exit> {
    match &args.command {
        RocksDbCommand::List(args) => list(args, console),
        RocksDbCommand::Fetch(args) => fetch(args, console),
    }
}

/// One row: what a library says, or why it cannot be used.
struct Listed {
    library: String,
    told: Result<RocksDbLibrary, String>,
}

fn list(args: &ListVersionsArgs, console: &Console) -> anyhow::Result<Exit> {
    let embedded = Listed {
        library: "embedded".to_owned(),
        told: RocksDbLibrary::embedded(),
    };
    let cached = db::cached().into_iter().map(|path| Listed {
        library: path.display().to_string(),
        told: RocksDbLibrary::look(&path),
    });
    let all: Vec<_> = [embedded].into_iter().chain(cached).collect();
    match args.format {
        TextFormat::Text => {
            let table = Table {
                columns: COLUMNS.map(Column::text).into(),
                rows: all.iter().map(row).collect(),
                ..Table::default()
            };
            console.say(&text_table(&table, screen::wide(&io::stdout())).join("\n"))?;
        }
        TextFormat::Json => {
            let libraries: Vec<_> = all.iter().map(document).collect();
            let document = json!({ "version": VERSION, "libraries": libraries });
            console.say(&json_text(&serde_json::to_string_pretty(&document)?))?;
        }
    }
    Ok(Exit::Done)
}

fn row(listed: &Listed) -> TableRow {
    let library = listed.library.clone();
    let cells = match &listed.told {
        Ok(told) => [
            told.version.clone(),
            library,
            told.build.clone(),
            told.compressions.clone(),
            told.crc32c.clone(),
        ],
        Err(why) => [
            "?".to_owned(),
            library,
            why.clone(),
            String::new(),
            String::new(),
        ],
    };
    TableRow {
        cells: cells.map(Cell::from).into(),
        total: false,
    }
}

fn document(listed: &Listed) -> serde_json::Value {
    let library = &listed.library;
    match &listed.told {
        Ok(told) => json!({
            "library": library,
            "version": told.version,
            "build": told.build,
            "compressions": told.compressions,
            "crc32c": told.crc32c,
        }),
        Err(why) => json!({ "library": library, "error": why }),
    }
}

fn fetch(args: &FetchArgs, console: &Console) -> anyhow::Result<Exit> {
    let version = &args.version;
    if !db::is_release(version) {
        let why = format!(
            "VERSION is `{version}`, but it must be a whole version such as 8.1.1.1; all are listed \
             at {}",
            db::ALL_VERSIONS
        );
        return Err(Refused(why).into());
    }
    let directory = db::libraries_directory().context("HOME names no directory for the cache")?;
    fs::create_dir_all(&directory)
        .with_context(|| format!("failed to create `{}`", directory.display()))?;
    // Beside its place, so that it can be moved there as a whole.
    let folder = tempfile::tempdir_in(&directory)?;
    let fetched = match &args.url {
        None => by_maven(version, folder.path(), console)?,
        Some(url) => by_url(url, folder.path(), console)?,
    };
    if let Some(expected) = &args.sha256 {
        let digest = db::sha256(&fetched)?;
        if !digest.eq_ignore_ascii_case(expected) {
            bail!("it has the SHA-256 digest {digest}, not {expected}: nothing was kept");
        }
    }
    let told = RocksDbLibrary::look(&fetched);
    let told = told.map_err(|why| anyhow!("nothing was kept: {why}"))?;
    if !db::is_build_of(version, &told.version) {
        bail!(
            "nothing was kept: it is RocksDB {}, not {version}",
            told.version
        );
    }
    let place = directory.join(db::library_name(version, &fetched)?);
    fs::rename(&fetched, &place)
        .with_context(|| format!("failed to move it to `{}`", place.display()))?;
    let RocksDbLibrary {
        version: own,
        build,
        crc32c,
        ..
    } = told;
    console.say(&format!(
        "RocksDB {own} ({build}; CRC32C: {crc32c}) is in `{}`; use it with: database.library = \
         \"{version}\"",
        place.display()
    ))?;
    Ok(Exit::Done)
}

/// Maven checks the artifact against the checksum of its repository.
fn by_maven(version: &str, folder: &Path, console: &Console) -> anyhow::Result<PathBuf> {
    console.warn(&format!("Maven fetches org.rocksdb:rocksdbjni:{version}"));
    let mut maven = Command::new("mvn");
    maven
        .args(["-q", "-B", "-Dstyle.color=never", PLUGIN])
        .arg(format!("-Dartifact=org.rocksdb:rocksdbjni:{version}"))
        .arg(format!("-DoutputDirectory={}", folder.display()));
    run(
        &mut maven,
        console,
        "mvn (package maven), or use --url with --sha256",
    )
    .with_context(|| {
        format!(
            "failed to get {version}; all versions: {}",
            db::ALL_VERSIONS
        )
    })?;
    Ok(folder.join(db::jar_name(version)))
}

fn by_url(url: &str, folder: &Path, console: &Console) -> anyhow::Result<PathBuf> {
    let place = folder.join("library");
    if let Some(path) = url.strip_prefix("file:") {
        let path = path.strip_prefix("//").unwrap_or(path);
        let failed = || format!("failed to copy `{path}`");
        let mut library = open_file(Path::new(path)).with_context(failed)?;
        let copied = fs::File::create_new(&place);
        copied
            .and_then(|mut copy| io::copy(&mut library, &mut copy))
            .with_context(failed)?;
    } else if url.starts_with("https://") {
        console.warn(&format!("curl fetches {url}"));
        let mut curl = Command::new("curl");
        curl.args(["-fsSL", "--proto", "=https", "-o"]).arg(&place);
        run(curl.arg("--").arg(url), console, "curl (package curl)")?;
    } else {
        let why = format!("--url is `{url}`, but it must be file:PATH or https://...");
        return Err(Refused(why).into());
    }
    Ok(place)
}

/// Runs a program of the user, and passes on what it prints: Debian's Maven writes control sequences
/// of a terminal also where there is none.
fn run(program: &mut Command, console: &Console, needed: &str) -> anyhow::Result<()> {
    let name = program.get_program().to_string_lossy().into_owned();
    let ran = match program.stdin(Stdio::null()).output() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            bail!("there is no program `{name}`: install {needed}")
        }
        ran => ran.with_context(|| format!("failed to start {name}"))?,
    };
    for text in [&ran.stdout, &ran.stderr] {
        let text = without_control_sequences(&String::from_utf8_lossy(text));
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.for_each(|line| console.warn(&printable(line)));
    }
    if !ran.status.success() {
        bail!("{name} failed ({}); its own messages are above", ran.status);
    }
    Ok(())
}

/// A text without the sequences that set colours and move the cursor: `ESC [`, parameters, a letter.
fn without_control_sequences(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_parameter = |c: char| ('\u{20}'..='\u{3f}').contains(&c);
        let mut rest = part.trim_start_matches(is_parameter).chars();
        rest.next();
        plain.push_str(rest.as_str());
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_program_prints_has_no_control_sequences() {
        let text = "\u{1b}[0m\u{1b}[1;31mERROR\u{1b}[m] no artifact [8.1]\u{1b}[2K";
        assert_eq!(without_control_sequences(text), "ERROR] no artifact [8.1]");
        assert_eq!(without_control_sequences("plain \u{1b}["), "plain ");
    }
}
