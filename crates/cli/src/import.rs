//! `tailmark import`: reads results of other programs into a study.

use crate::args::ImportArgs;
use anyhow::Context;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};
use tailmark_console::{Console, Exit, Refused};
use tailmark_model::{Fact, Header, Load, PointKey, RunRules, System, secret::own_command};
use tailmark_report::{refuse_foreign, write_studies};
use tailmark_study::{
    Error, Study,
    import::{Given, Imported, Source, UNITS, find},
};

/// The most bytes of all files of an import.
const BYTES_MAX: u64 = 256 << 20;

/// Reads the files and adds their content to the study. Prints the path of its report.
pub fn import(args: &ImportArgs, console: &Console) -> anyhow::Result<Exit> {
    let format = find(&args.format)?;
    let mut left = BYTES_MAX;
    let read = |path: &std::path::PathBuf| {
        let unreadable = |why| Refused(format!("failed to read `{}`: {why}", path.display()));
        let bytes = contents(path, left).map_err(unreadable)?;
        left -= bytes.len() as u64;
        anyhow::Ok(Source {
            path: path.clone(),
            bytes,
        })
    };
    let mut seen = BTreeSet::new();
    let sources = args
        .files
        .iter()
        .filter(|path| seen.insert(*path))
        .map(read)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let (system, workload) = (args.system.clone(), args.workload.clone());
    let given = Given {
        system,
        workload,
        threads: args.threads,
        unit_ns: args.unit.as_deref().and_then(unit_ns),
        distribution: args.distribution.clone(),
        workload_of: Some(tailmark_workload::named),
    };
    let (all, skipped) = format.import_readable(&sources, &given)?;
    for error in &skipped {
        console.warn(&format!("left out: {error}"));
    }
    refuse_foreign(&["html"], &args.out)?;
    let digests = sources.iter().map(|s| (s.path.clone(), s.digest()));
    let digests: BTreeMap<PathBuf, String> = digests.collect();
    let failed = || format!("failed to add to the study in `{}`", args.out.display());
    let origin = Origin {
        format: format.name,
        file: sources
            .first()
            .filter(|_| sources.len() == 1)
            .map(|source| source.path.as_path()),
        title: args.title.as_deref(),
        driver: args.driver.as_deref(),
    };
    let copies = add_all(&args.out, all, &digests, origin).with_context(failed)?;
    for path in copies {
        console.warn(&format!(
            "left out: `{}` is already in the study, with the same content",
            path.display()
        ));
    }
    let reported = write_studies(std::slice::from_ref(&args.out), &["html"], &args.out);
    let page = reported.context("the study is complete, but its report could not be written")?;
    console.say(&page.path().display().to_string())?;
    Ok(Exit::Done)
}

/// The content of a file, of at most that many bytes out of [`BYTES_MAX`].
fn contents(path: &Path, left: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(left + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > left {
        let most = BYTES_MAX >> 20;
        return Err(io::Error::other(format!(
            "the files of this import have more than {most} MiB; split them, and import the parts \
             one after the other into the same directory"
        )));
    }
    Ok(bytes)
}

/// Nanoseconds in one of a unit.
fn unit_ns(name: &str) -> Option<u64> {
    let known = UNITS.iter().find(|(known, _)| *known == name);
    known.map(|(_, ns)| *ns)
}

/// The source of the results, as given by the user.
#[derive(Clone, Copy)]
struct Origin<'a> {
    /// The format of the files.
    format: &'a str,
    /// The only file, if there is one.
    file: Option<&'a Path>,
    /// The title of a new study.
    title: Option<&'a str>,
    /// The database.
    driver: Option<&'a str>,
}

/// Adds everything to the study in a directory, or nothing: a study and a directory that were made
/// for it go again. Returns the files that were left out as copies of others.
fn add_all(
    out: &Path,
    all: Vec<Imported>,
    digests: &BTreeMap<PathBuf, String>,
    origin: Origin<'_>,
) -> Result<Vec<PathBuf>, Error> {
    let had_directory = out.exists();
    let remove_directory = || {
        if !had_directory {
            let _ = fs::remove_dir(out);
        }
    };
    let (study, is_new) = match Study::create(out, &header(origin, &all), &[]) {
        // It was there, or another import made it just now.
        Err(Error::Exists { .. }) => (Study::open(out)?, false),
        made => (made.inspect_err(|_| remove_directory())?, true),
    };
    let mut copies = Vec::new();
    let added = Contents::from_study(&study).and_then(|mut known| {
        study.together(|| {
            all.into_iter().try_for_each(|imported| {
                let digest = &digests[&imported.file];
                if known.is_copy(&imported, digest) {
                    copies.extend((!copies.contains(&imported.file)).then_some(imported.file));
                    return Ok(());
                }
                let content = content(&imported, digest);
                add(&study, imported, origin)?;
                study.set_facts(&[content])
            })?;
            // Text that could not be read again is not written.
            study.loads()?;
            study.points().map(drop)
        })
    });
    if added.is_err() && is_new {
        drop(study);
        let _ = fs::remove_file(out.join(Study::FILE));
        remove_directory();
    }
    added.map(|()| copies)
}

/// The fact that names the content of the file that a system was read from.
fn content(imported: &Imported, digest: &str) -> Fact {
    let file = imported.file.file_name().unwrap_or_default();
    Fact {
        system: Some(imported.system.clone()),
        group: Fact::IMPORTED_CONTENTS.to_owned(),
        name: digest.to_owned(),
        value: file.to_string_lossy().into_owned(),
    }
}

/// The identity of a file's content for a point or a load. Two files with the same content have the
/// same runs, if they belong to the same point.
#[derive(PartialEq)]
struct Place {
    system: String,
    workload: Option<String>,
    distribution: String,
    threads: u32,
    target_rate: Option<f64>,
}

impl Place {
    fn from_imported(imported: &Imported) -> Self {
        let (system, workload) = (imported.system.clone(), imported.workload.clone());
        let distribution = workload.as_ref().map(|_| imported.distribution.clone());
        Self {
            system,
            workload,
            distribution: distribution.unwrap_or_default(),
            threads: imported.threads,
            target_rate: imported.target_rate,
        }
    }

    fn from_key(key: PointKey) -> Self {
        Self {
            system: key.system,
            workload: Some(key.workload),
            distribution: key.distribution,
            threads: key.threads,
            target_rate: key.target_rate,
        }
    }
}

/// The earlier imports, so that the same file does not count as two runs.
struct Contents {
    /// The contents of each system, by their digests.
    facts: Vec<Fact>,
    places: Vec<Place>,
    /// The results read so far, each with its file.
    read: Vec<(PathBuf, String, Place)>,
}

impl Contents {
    fn from_study(study: &Study) -> Result<Self, Error> {
        let mut facts = study.facts()?;
        facts.retain(|fact| fact.group == Fact::IMPORTED_CONTENTS);
        let points = study.point_keys()?.into_iter().map(Place::from_key);
        let loads = study.loads()?.into_iter().map(|load| Place {
            system: load.system,
            workload: None,
            distribution: String::new(),
            threads: load.threads,
            target_rate: None,
        });
        Ok(Self {
            facts,
            places: points.chain(loads).collect(),
            read: Vec::new(),
        })
    }

    /// Whether a file with the same content was imported before; rows of one file are repeats.
    fn is_copy(&mut self, imported: &Imported, digest: &str) -> bool {
        let place = Place::from_imported(imported);
        let is_content =
            |fact: &Fact| fact.name == digest && fact.system.as_ref() == Some(&imported.system);
        let is_other = |(file, content, at): &(PathBuf, String, Place)| {
            *file != imported.file && content == digest && *at == place
        };
        let is_known = self.facts.iter().any(is_content) && self.places.contains(&place);
        if is_known || self.read.iter().any(is_other) {
            return true;
        }
        self.read
            .push((imported.file.clone(), digest.to_owned(), place));
        false
    }
}

fn add(study: &Study, imported: Imported, origin: Origin<'_>) -> Result<(), Error> {
    let Origin { format, driver, .. } = origin;
    study.add_system(&System {
        name: imported.system.clone(),
        driver: format!("{} (imported)", driver.unwrap_or(format)),
        place: imported.place.clone(),
        semantics: "faithful".to_owned(),
        settings: imported.settings.clone(),
        ceiling_for: imported.ceiling_for().map(ToOwned::to_owned),
    })?;
    study.set_facts(&imported.facts(&imported.system, format))?;
    let Imported {
        system,
        workload,
        distribution,
        threads,
        target_rate,
        arrivals,
        phase,
        ..
    } = imported;
    let Some(workload) = workload else {
        let records = phase.succeeded();
        return study.add_load(&Load {
            system,
            records,
            threads,
            phase,
        });
    };
    let key = PointKey {
        system,
        workload,
        distribution,
        threads,
        repeat: 1,
        target_rate,
        arrivals,
    };
    study.append_point(key, phase)
}

/// The header of a new study. Its points are judged by what all logs permit that state it; one that
/// states nothing took no turns.
fn header(origin: Origin<'_>, all: &[Imported]) -> Header {
    let title = match origin.title {
        Some(title) => title.to_owned(),
        None => match origin.file.and_then(Path::file_stem) {
            Some(stem) => stem.to_string_lossy().into_owned(),
            None => format!("Imported from {}", origin.format),
        },
    };
    let mut header = Header::without_plan(title, own_command());
    let rules = all.iter().map(|one| {
        let own = one.of_study.as_ref();
        own.map_or_else(RunRules::default, |own| own.rules)
    });
    if let Some(rules) = rules.reduce(RunRules::and) {
        header.settings.rules = rules;
    }
    header
}
