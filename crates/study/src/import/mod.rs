//! Results of other programs, read into the model: one row of [`IMPORTS`] each.
//!
//! Information that a file lacks stays unknown. A result with only a summary has its counts, its
//! rate, and its latencies as a [`tailmark_model::Summary`] next to empty histograms. A finding
//! says so. No histogram is made up.

mod columns;
mod command;
mod csv;
mod db_bench;
mod fio;
mod fio_job;
mod hdr;
mod held;
mod hlog;
mod log;
mod log_tag;
mod ycsb;

use crate::{Error, unlogged::LoggedSettings};
use held::Held;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use tailmark_model::{
    Arrivals, Fact, Finding, Kind, Phase, Sentence, Summary, Unit,
    finding::{ERRORS, MISSES, NOTHING_FOUND, RATE_NOT_MET},
    printable::hex,
};

/// The share of the operations of a rate that may be missing.
const MISSING_MAX: f64 = 0.01;

/// A format that can be imported.
#[derive(Debug, Clone, Copy)]
pub struct Import {
    /// On the command line.
    pub name: &'static str,
    /// One line for `list`.
    pub about: &'static str,
    /// Reads files that belong together.
    pub read: fn(&[Source], &Given) -> Result<Vec<Imported>, Error>,
    /// Whether a file without a result is left out where others have one: one log of many that a
    /// script has written.
    pub leaves_out: bool,
}

/// Every format, sorted by name.
pub const IMPORTS: &[Import] = &[
    csv::IMPORT,
    db_bench::IMPORT,
    fio::IMPORT,
    hlog::IMPORT,
    ycsb::IMPORT,
];

/// Units of the values of histogram logs (`--unit`), and nanoseconds in one.
pub const UNITS: &[(&str, u64)] = &[("ns", 1), ("us", 1_000), ("ms", 1_000_000)];

/// One file.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its path, whose name may state system and threads.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Source {
    /// What only files of the same content have in common: the SHA-256, in hexadecimal digits.
    pub fn digest(&self) -> String {
        hex(&Sha256::digest(&self.bytes))
    }
}

/// The user's description of the files, which overrides their own.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// The system's name.
    pub system: Option<String>,
    /// The workload's name.
    pub workload: Option<String>,
    /// The number of clients, from 1.
    pub threads: Option<u32>,
    /// Nanoseconds in one unit of the values of histogram logs; see [`UNITS`].
    pub unit_ns: Option<u64>,
    /// The distribution of keys.
    pub distribution: Option<String>,
    /// The name of the workload that a table means by a text, if it is one that is known.
    pub workload_of: Option<fn(&str) -> Option<&'static str>>,
}

/// The benchmark of db_bench that reads keys which are not there.
const READ_MISSING: &str = "readmissing";

/// One load or point of another program.
#[derive(Debug, Clone, Default)]
pub struct Imported {
    /// The system's name.
    pub system: String,
    /// The workload's name; `None` for a load.
    pub workload: Option<String>,
    /// The distribution of keys; `unknown` if it is not stated.
    pub distribution: String,
    /// The number of clients; [`tailmark_model::PointKey::PEAK`] where only the peak is known.
    pub threads: u32,
    /// Operations per second that were asked for, if any.
    pub target_rate: Option<f64>,
    /// How operations arrive at that rate, if the source says so.
    pub arrivals: Option<Arrivals>,
    /// The measurements.
    pub phase: Phase,
    /// Directory or device, if the file names it.
    pub place: String,
    /// The settings of the other program, if the file states them.
    pub settings: BTreeMap<String, String>,
    /// The file that it was read from.
    pub file: PathBuf,
    /// The description of its study in our own export.
    pub of_study: Option<LoggedSettings>,
    /// What else the file says: group, name and value of a fact of the system.
    pub facts: Vec<(String, String, String)>,
}

impl Imported {
    /// The system that this one is a ceiling for, if it is one.
    pub fn ceiling_for(&self) -> Option<&str> {
        let ceilings = &self.of_study.as_ref()?.ceilings;
        ceilings.get(&self.system).map(String::as_str)
    }

    /// At a rate, the latencies of other programs begin when a request was sent, however late that
    /// was: of a kind without response times they are unknown. Our own export has them.
    fn leave_response_unknown(&mut self) {
        let kinds = self.phase.kinds.values_mut();
        let unknown = kinds.filter(|kind| self.target_rate.is_some() && !kind.has_response());
        unknown.for_each(|kind| kind.response_summary = Some(Summary::unknown()));
    }

    /// Gives findings of requests that failed, and of reads that found nothing. Our own export has its
    /// findings with it.
    fn find_failures(&mut self) {
        let failures = self.phase.failures_in_words();
        let failures = failures.filter(|_| !ERRORS.is_among(&self.phase.findings));
        let finding = failures.map(|sentence| ERRORS.finding(sentence));
        let misses = self.misses();
        self.phase
            .findings
            .extend(finding.into_iter().chain(misses));
    }

    /// Gives a finding of a rate that was not reached. In other programs each client may have an
    /// operation in flight at the end.
    fn find_missed_rate(&mut self) {
        let Some(target) = self.target_rate else {
            return;
        };
        let due = target * self.phase.duration_s;
        let missing = due - self.phase.operations as f64;
        if missing > (MISSING_MAX * due).max(f64::from(self.threads)) {
            let sentence = Sentence::new(
                "The other program reached {Rate reached} of {Rate offered}. If operations queued \
                 up, latencies from when they were sent do not show it.",
            );
            let sentence =
                sentence.number("Rate reached", self.phase.ops_per_sec(), Unit::OpsPerSecond);
            let sentence = sentence.number("Rate offered", target, Unit::OpsPerSecond);
            self.phase.findings.push(RATE_NOT_MET.finding(sentence));
        }
    }

    /// A read that finds nothing is often cheaper than one that does; some workloads have no others.
    fn misses(&self) -> Option<Finding> {
        let read = self.phase.kinds.get(&Kind::Read)?;
        let is_expected = self.workload.as_deref() == Some(READ_MISSING);
        let is_told = MISSES.is_among(&self.phase.findings) || read.not_found == read.count;
        (read.not_found > 0 && !is_expected && !is_told).then(|| {
            let sentence = Sentence::new("{Misses} of {Reads} reads found nothing.");
            let sentence = sentence.count("Misses", read.not_found);
            MISSES.finding(sentence.count("Reads", read.count))
        })
    }

    /// The study's facts about the system `name`: the source of its points, and other information
    /// in the file. `format` is that of the import.
    pub fn facts(&self, name: &str, format: &str) -> Vec<Fact> {
        let file = self.file.file_name().unwrap_or_default().to_string_lossy();
        let from = (
            Fact::IMPORTED.to_owned(),
            file.into_owned(),
            format.to_owned(),
        );
        let all = std::iter::once(&from).chain(&self.facts);
        let fact = |(group, fact, value): &(String, String, String)| Fact {
            system: Some(name.to_owned()),
            group: group.clone(),
            name: fact.clone(),
            value: value.clone(),
        };
        all.map(fact).collect()
    }
}

impl Import {
    /// Reads files that belong together.
    ///
    /// # Errors
    /// If a file does not have the format, or if a unit is given although the format defines it.
    pub fn import(&self, sources: &[Source], given: &Given) -> Result<Vec<Imported>, Error> {
        match sources.first() {
            Some(source) if given.unit_ns.is_some() && self.name != hlog::IMPORT.name => {
                let own = hlog::IMPORT.name;
                let reason = format!(
                    "{} states its own units; --unit is only for {own}",
                    self.name
                );
                Err(failed(source, reason))
            }
            _ => {
                let mut all = (self.read)(sources, given)?;
                for imported in &mut all {
                    let distribution = given.distribution.as_ref();
                    if let Some(distribution) = distribution.filter(|_| imported.workload.is_some())
                    {
                        distribution.clone_into(&mut imported.distribution);
                    }
                }
                for imported in all.iter_mut().filter(|own| own.of_study.is_none()) {
                    imported.leave_response_unknown();
                    imported.find_failures();
                    imported.find_missed_rate();
                }
                Ok(all)
            }
        }
    }

    /// The same, with the reason for each file that was left out.
    ///
    /// # Errors
    /// As [`Self::import`]. If the format leaves files out, only if none has a result.
    pub fn import_readable(
        &self,
        sources: &[Source],
        given: &Given,
    ) -> Result<(Vec<Imported>, Vec<Error>), Error> {
        if !self.leaves_out {
            return Ok((self.import(sources, given)?, Vec::new()));
        }
        let (mut all, mut skipped, mut held) = (Vec::new(), Vec::new(), Held::default());
        for source in sources {
            match self.import(std::slice::from_ref(source), given) {
                Ok(found) => {
                    let added = found.iter().try_for_each(|_| held.add_point());
                    added.map_err(|reason| failed(source, reason))?;
                    all.extend(found);
                }
                Err(error) => skipped.push(error),
            }
        }
        if all.is_empty() && !skipped.is_empty() {
            Err(skipped.remove(0))
        } else {
            Ok((all, skipped))
        }
    }
}

/// The format of a name.
///
/// # Errors
/// Names the formats that there are.
pub fn find(name: &str) -> Result<&'static Import, Error> {
    IMPORTS
        .iter()
        .find(|import| import.name == name)
        .ok_or_else(|| Error::unknown_format(name, IMPORTS.iter().map(|import| import.name)))
}

/// The error of a file that cannot be imported.
fn failed(source: &Source, reason: impl Into<String>) -> Error {
    Error::Import {
        path: source.path.clone(),
        reason: reason.into(),
    }
}

/// The error of a line of a file.
fn failed_at(source: &Source, line: u64, reason: &str) -> Error {
    failed(source, format!("line {line}: {reason}"))
}

/// What to say of results in which nothing was found.
fn nothing_found(phase: &Phase) -> Option<Finding> {
    phase.found_nothing().then(|| {
        NOTHING_FOUND.finding(
            "Every read, or every scan, found nothing: the point is excluded from peaks and \
             comparisons.",
        )
    })
}

/// A valid measurement: finite, not negative, and within a range in which results of calculations
/// stay numbers.
fn number(text: &str) -> Option<f64> {
    let number = text.trim().parse().ok()?;
    is_measured(number).then_some(number)
}

/// See [`number`].
fn is_measured(number: f64) -> bool {
    number == 0.0 || (1e-9..=1e18).contains(&number)
}

/// The words of a file's name.
fn words(path: &Path) -> Vec<String> {
    let stem = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let is_between = |c: char| !c.is_alphanumeric();
    stem.split(is_between)
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The name of a source's system: as given, or the first word of its file's name.
fn system_of(source: &Source, given: &Given, otherwise: &str) -> String {
    let stem = || words(&source.path).into_iter().next();
    let system = given.system.clone().or_else(stem);
    system.unwrap_or_else(|| otherwise.to_owned())
}

/// The number of clients that a file's name says: `t16`, `16t`, `threads16`, `16threads`, or
/// `threads-16`.
fn threads_in(path: &Path) -> Option<u32> {
    const NAMES: [&str; 5] = ["t", "thr", "thread", "threads", "clients"];
    let words: Vec<_> = words(path)
        .iter()
        .map(|word| word.to_ascii_lowercase())
        .collect();
    let joined = words.iter().find_map(|word| {
        let digits = word.trim_matches(|c: char| !c.is_ascii_digit());
        let name = word.replace(digits, "");
        NAMES
            .contains(&name.as_str())
            .then(|| digits.parse().ok())
            .flatten()
    });
    joined.or_else(|| {
        let pair = words
            .windows(2)
            .find(|pair| NAMES.contains(&pair[0].as_str()))?;
        pair[1].parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_sorted_and_described_in_one_line() {
        assert!(IMPORTS.is_sorted_by(|a, b| a.name < b.name));
        for import in IMPORTS {
            assert!(!import.about.is_empty() && !import.about.contains('\n'));
            assert_eq!(find(import.name).unwrap().name, import.name);
        }
        assert!(find("iostat").unwrap_err().to_string().contains("ycsb"));
    }

    #[test]
    fn threads_are_read_off_the_name_of_a_file() {
        for (name, threads) in [
            ("rocksdb-workloada-t16.txt", Some(16)),
            ("run_16t.out", Some(16)),
            ("a/8threads/x-threads-32.log", Some(32)),
            ("threads128", Some(128)),
            ("workloada.txt", None),
            ("nvme0-2026.txt", None),
        ] {
            assert_eq!(threads_in(Path::new(name)), threads, "{name}");
        }
    }

    #[test]
    fn failed_requests_are_a_finding_of_what_is_imported() {
        let fio = include_str!("../../tests/inputs/fio-plus.json");
        let failing = fio.replace("\"error\" : 0", "\"error\" : 5");
        let ycsb = include_str!("../../tests/inputs/ycsb.txt");
        for (format, text, failed) in [
            ("fio", failing.as_str(), Some("1 of 8,195 requests failed")),
            ("fio", fio, None),
            ("ycsb", ycsb, Some("40 of 90,000 requests failed")),
        ] {
            let source = Source {
                path: "nvme-t8.txt".into(),
                bytes: text.as_bytes().to_vec(),
            };
            let import = find(format).unwrap();
            let found = import.import(&[source], &Given::default()).unwrap();
            let findings = &found[0].phase.findings;
            let errors = findings.iter().find(|finding| ERRORS.is_of(finding));
            let said = errors.map(Finding::text);
            match failed {
                Some(begin) => assert!(said.unwrap().starts_with(begin), "{format}"),
                None => assert_eq!(said, None),
            }
        }
    }
}
