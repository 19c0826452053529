//! `tailmark rocksdb`: lists and gets the versions of RocksDB that a plan can name.
//!
//! Nothing is fetched in a run. Here the user's own Maven or curl fetches, with the user's own
//! settings for proxies and mirrors.

use crate::{
    args::{FetchArgs, ListVersionsArgs, RocksDbArgs, RocksDbCommand, TextFormat},
    screen,
};
use anyhow::{Context, bail};
use serde_json::json;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};
use tailmark_console::{Console, Exit, Refused};
use tailmark_driver::db::{self, RocksDbLibrary};
use tailmark_model::json_text;
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
    let is_number = |part: &str| part.parse::<u32>().is_ok();
    if version.split('.').count() < 3 || !version.split('.').all(is_number) {
        let why = format!("VERSION is `{version}`, but it must be a release such as 8.1.1.1");
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
    let told = RocksDbLibrary::look(&fetched)
        .map_err(|why| anyhow::anyhow!("it is no library of RocksDB for this machine: {why}"))?;
    if !format!("{version}.").starts_with(&format!("{}.", told.version)) {
        bail!(
            "it is RocksDB {}, not {version}: nothing was kept",
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
        .args(["-q", "-B", PLUGIN])
        .arg(format!("-Dartifact=org.rocksdb:rocksdbjni:{version}"))
        .arg(format!("-DoutputDirectory={}", folder.display()));
    run(
        &mut maven,
        "mvn (package maven), or use --url with --sha256",
    )?;
    Ok(folder.join(db::jar_name(version)))
}

fn by_url(url: &str, folder: &Path, console: &Console) -> anyhow::Result<PathBuf> {
    let place = folder.join("library");
    if let Some(path) = url.strip_prefix("file:") {
        let path = path.strip_prefix("//").unwrap_or(path);
        fs::copy(path, &place).with_context(|| format!("failed to copy `{path}`"))?;
    } else if url.starts_with("https://") {
        console.warn(&format!("curl fetches {url}"));
        let mut curl = Command::new("curl");
        curl.args(["-fsSL", "--proto", "=https", "-o"]).arg(&place);
        run(curl.arg("--").arg(url), "curl (package curl)")?;
    } else {
        let why = format!("--url is `{url}`, but it must be file:PATH or https://...");
        return Err(Refused(why).into());
    }
    Ok(place)
}

/// Runs a program of the user, which prints its own errors.
fn run(program: &mut Command, needed: &str) -> anyhow::Result<()> {
    let name = program.get_program().to_string_lossy().into_owned();
    match program.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("{name} failed ({status}); its own messages are above"),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            bail!("there is no program `{name}`: install {needed}")
        }
        Err(e) => Err(e).context(format!("failed to start {name}")),
    }
}
