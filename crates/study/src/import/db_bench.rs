//! Results of RocksDB's db_bench: its output, and the table that its benchmark.sh writes.
//!
//! Neither has a histogram of more than two digits, so latencies are kept as the printed summary.
//! The number of clients is not printed. If neither the command nor the file's name states it, it
//! is estimated: the time per operation times operations per second. Threads that end early make
//! that product too small.

use super::{
    Given, Import, Imported, Source, failed_at,
    held::{Held, check_size},
    nothing_found, number, system_of, threads_in,
};
use crate::Error;
use std::path::Path;
use tailmark_model::{
    Kind, KindResult, Phase, Sentence, Summary, Unit,
    finding::{LENGTH_UNKNOWN, SUMMARY_ONLY, THREADS_ESTIMATED},
};

/// The row of the table.
pub const IMPORT: Import = Import {
    name: "db_bench",
    about: "RocksDB's db_bench: its output, or the table (TSV) that its benchmark.sh writes",
    read,
    leaves_out: true,
};

/// What db_bench calls the kinds of its histograms.
const WORDS: &[(&str, Kind)] = &[
    ("read", Kind::Read),
    ("write", Kind::Insert),
    ("delete", Kind::Delete),
    ("seek", Kind::Scan),
    ("update", Kind::Update),
];

/// The columns of benchmark.sh's table that become counters, with factors to the counters' units.
const COLUMNS: &[(&str, &str, f64)] = &[
    ("usec_op", "operation_us", 1.0),
    ("c_wgb", "compaction_written_mb", 1000.0),
    ("stall%", "stall_permille", 10.0),
    ("Nstall", "stalls", 1.0),
];

/// The columns that are latencies of the test's kind, microseconds each; without a name the
/// maximum.
const LATENCIES: &[(&str, Option<f64>)] = &[
    ("p50", Some(50.0)),
    ("p99", Some(99.0)),
    ("p99.9", Some(99.9)),
    ("p99.99", Some(99.99)),
    ("pmax", None),
];

/// Bytes of what both call a megabyte.
const MIB: f64 = 1_048_576.0;

fn read(sources: &[Source], given: &Given) -> Result<Vec<Imported>, Error> {
    let (mut all, mut held) = (Vec::new(), Held::default());
    for source in sources {
        check_size(source)?;
        // Where both outputs are in one file, a progress line ends in a carriage return.
        let text = String::from_utf8_lossy(&source.bytes).replace('\r', "\n");
        let system = system_of(source, given, "db_bench");
        let results = text.lines().zip(1..).filter(|(line, _)| is_result(line));
        for (_, number) in results {
            let added = held.add_point();
            added.map_err(|reason| failed_at(source, number, &reason))?;
        }
        let given = &Given {
            threads: given
                .threads
                .or_else(|| stated_threads(&source.path, &text)),
            ..given.clone()
        };
        let mut found = if text.lines().any(|line| line.starts_with("ops_sec\t")) {
            table(&text, &system, given)
        } else {
            output(&text, &system, given)
        };
        let direction = RangeDirection::of_source(&source.path, &text);
        let named = found.iter_mut().filter_map(|point| point.workload.as_mut());
        named.for_each(|workload| direction.name(workload));
        if found.is_empty() {
            return Err(Error::Import {
                path: source.path.clone(),
                reason: "it contains neither a result line of db_bench nor a table of \
                         benchmark.sh"
                    .to_owned(),
            });
        }
        for point in &mut found {
            point.file.clone_from(&source.path);
        }
        all.extend(found);
    }
    Ok(all)
}

/// The number of threads in the command, which benchmark.sh writes first, or in the file's name.
fn stated_threads(path: &Path, text: &str) -> Option<u32> {
    let of_command = text.split_whitespace().find_map(|word| {
        let (name, value) = word.split_once('=')?;
        let is_threads = name.starts_with('-') && name.trim_start_matches('-') == "threads";
        is_threads.then(|| value.parse().ok())?
    });
    of_command
        .or_else(|| threads_in(path))
        .filter(|threads| *threads > 0)
}

/// Whether a line may become a point: the result of a benchmark, or a row of a table.
fn is_result(line: &str) -> bool {
    line.contains("micros/op") || line.contains('\t')
}

/// The direction of a seekrandom, which its result line does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RangeDirection {
    Unknown,
    Forward,
    Reverse,
}

impl RangeDirection {
    /// As benchmark.sh names the file, and by the command that it writes at its beginning.
    fn of_source(path: &Path, text: &str) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_reverse = |word: &str| {
            let flag = word.trim_start_matches('-');
            matches!(
                flag,
                "reverse_iterator" | "reverse_iterator=1" | "reverse_iterator=true"
            )
        };
        let mut flags = text.split_whitespace().filter(|word| word.starts_with('-'));
        match () {
            () if name.contains("revrange") || flags.any(is_reverse) => Self::Reverse,
            () if name.contains("fwdrange") => Self::Forward,
            () => Self::Unknown,
        }
    }

    /// Names seekrandom as benchmark.sh's table does: ranges of two directions are two workloads.
    fn name(self, workload: &mut String) {
        let Some(rest) = workload.strip_prefix("seekrandom") else {
            return;
        };
        match self {
            Self::Unknown => {}
            Self::Forward => *workload = format!("fwdrange{rest}"),
            Self::Reverse => *workload = format!("revrange{rest}"),
        }
    }
}

/// The numbers of a result line.
#[derive(Debug, Clone, PartialEq)]
struct ResultLine {
    name: String,
    micros: f64,
    rate: f64,
    /// Seconds and operations; db_bench printed neither before RocksDB 7.
    length: Option<(f64, u64)>,
    mib_rate: Option<f64>,
    /// The keys that one thread found, and the keys that it read.
    found: Option<(u64, u64)>,
}

impl ResultLine {
    /// `name : N micros/op N ops/sec [N seconds N operations]; [N MB/s] [(N of N found)]`
    fn parse(line: &str) -> Option<Self> {
        let (name, rest) = line.split_once(':')?;
        let tokens: Vec<_> = rest
            .split([' ', ';', '(', ')'])
            .filter(|t| !t.is_empty())
            .collect();
        let before = |unit: &str| {
            let at = tokens.iter().position(|token| *token == unit)?;
            number(tokens.get(at.checked_sub(1)?)?)
        };
        let whole = |text: &str| text.trim_end_matches(',').parse::<u64>().ok();
        // `1 of 2 found`, and of mixgraph `reads 1 in 2 found`.
        let is_found = |three: &&[&str]| ["of", "in"].contains(&three[1]);
        let found = tokens.windows(3).find(is_found);
        let found = found.and_then(|three| Some((whole(three[0])?, whole(three[2])?)));
        // Of readrandomwriterandom.
        let named = |word: &str| {
            tokens
                .iter()
                .find_map(|token| whole(token.strip_prefix(word)?))
        };
        let found = found.or_else(|| named("found:").zip(named("reads:")));
        Some(Self {
            name: name.trim().to_owned(),
            micros: before("micros/op")?,
            rate: before("ops/sec")?,
            length: before("seconds").zip(before("operations").map(|n| n as u64)),
            mib_rate: before("MB/s"),
            found,
        })
    }

    /// The number of these reads that missed. The line has the hits of one thread, which stand for
    /// all.
    fn not_found(&self, reads: u64) -> u64 {
        let found = self.found.filter(|(_, tried)| *tried > 0);
        let missed = found.map_or(0.0, |(found, tried)| {
            tried.saturating_sub(found) as f64 / tried as f64
        });
        (missed * reads as f64).round() as u64
    }

    /// The duration: operations divided by the rate, if that is printed with more digits than
    /// seconds, which have three decimals.
    fn exact_seconds(&self, (seconds, operations): (f64, u64)) -> f64 {
        let by_rate = operations as f64 / self.rate;
        let is_finer = 0.5 / self.rate < 0.0005 / seconds;
        if is_finer && (by_rate - seconds).abs() < 0.001 {
            by_rate
        } else {
            seconds
        }
    }
}

/// An estimate of the number of threads.
#[derive(Debug, Clone, Copy)]
struct Estimate {
    /// Microseconds per operation of a thread times operations per second of all, divided by 10^6.
    busy: f64,
    /// By what share printed digits let that differ.
    rounding: f64,
}

impl Estimate {
    /// From a time per operation with three decimals and a rate without any, as db_bench prints
    /// them.
    fn new(micros: f64, rate: f64) -> Self {
        let rounding = 0.001 / micros + 1.0 / rate;
        Self {
            busy: micros * rate / 1e6,
            rounding: if rounding.is_finite() { rounding } else { 0.0 },
        }
    }

    /// The number given, else the estimate, with a finding unless all threads were busy to the end,
    /// as one always is.
    fn or(self, given: Option<u32>, phase: &mut Phase) -> u32 {
        let threads = (self.busy.round() as u32).max(1);
        let off = (self.busy / f64::from(threads) - 1.0).abs();
        if given.is_none() && off > self.rounding {
            let sentence = Sentence::new(
                "Neither the command nor the file's name states the number of threads. On average \
                 {Threads busy} of them were busy. Give `--threads`.",
            );
            let sentence = sentence.number("Threads busy", self.busy, Unit::Count);
            phase.findings.push(THREADS_ESTIMATED.finding(sentence));
        }
        given.unwrap_or(threads)
    }
}

fn output(text: &str, system: &str, given: &Given) -> Vec<Imported> {
    let (mut all, mut results): (Vec<Imported>, _) = (Vec::new(), Vec::new());
    // Warm-ups still to come, and whether the lines are of one.
    let (mut kind, mut warmups, mut is_warmup) = (None, 0, false);
    let mut read_rate = None;
    for line in text.lines() {
        if let Some(rate) = line.strip_prefix("Read rate:") {
            let rate = rate.split_whitespace().next().and_then(number);
            read_rate = rate.filter(|rate| *rate > 0.0);
        } else if let Some(count) = warmups_in(line) {
            warmups = count;
        } else if let Some(result) = ResultLine::parse(line) {
            (kind, is_warmup) = (None, warmups > 0);
            warmups = warmups.saturating_sub(1);
            // A compaction as a whole is no operation of a client.
            if result.name != "compact" && !is_warmup {
                let is_of_reads = kind_of(&result.name) == Some(Kind::Read);
                all.push(Imported {
                    target_rate: read_rate.filter(|_| is_of_reads),
                    ..point(&result, system, given)
                });
                results.push(result);
            }
        } else if let Some(point) = all.last_mut().filter(|_| !is_warmup) {
            if let Some(word) = line.strip_prefix("Microseconds per ") {
                let word = word.trim_end_matches(':');
                let row = WORDS.iter().find(|(known, _)| *known == word);
                kind = row.map(|(_, known)| *known);
            } else if line.starts_with("---") {
                kind = None;
            } else if let Some(kind) = kind {
                block(&mut point.phase, kind, line);
            }
        }
    }
    for (imported, line) in all.iter_mut().zip(results) {
        let phase = &mut imported.phase;
        if kind_of(&line.name).is_none()
            && let Some(reads) = phase.kinds.get_mut(&Kind::Read)
        {
            reads.not_found = line.not_found(reads.count);
        }
        // For a benchmark of several kinds the line does not show to which its bytes belong.
        if let (1, Some((_, result))) = (phase.kinds.len(), phase.kinds.iter_mut().next()) {
            result.bytes = bytes(line.mib_rate, phase.duration_s);
        }
        conclude(phase);
    }
    all
}

fn bytes(mib_rate: Option<f64>, seconds: f64) -> u64 {
    (mib_rate.unwrap_or(0.0) * seconds * MIB) as u64
}

/// How many of the following results are warm-ups of `readrandom[X3-W2]`.
fn warmups_in(line: &str) -> Option<u32> {
    let rest = line.strip_prefix("Warming up benchmark by running ")?;
    rest.strip_suffix(" times")?.parse().ok()
}

/// A point with the numbers of its result line.
fn point(line: &ResultLine, system: &str, given: &Given) -> Imported {
    // Without a length, a second of it: rates are right, counts are not known.
    let (seconds, operations) = line.length.map_or((1.0, line.rate as u64), |printed| {
        (line.exact_seconds(printed), printed.1)
    });
    let mut phase = phase(seconds, operations);
    if line.length.is_none() {
        phase.findings.push(LENGTH_UNKNOWN.finding(
            "This db_bench printed neither duration nor operations. The rate was measured; the \
             duration of one second is assumed.",
        ));
    }
    phase
        .counters
        .insert("operation_ns".to_owned(), (line.micros * 1000.0) as u64);
    if let Some(kind) = kind_of(&line.name) {
        let result = KindResult {
            not_found: line.not_found(operations),
            bytes: bytes(line.mib_rate, seconds),
            ..counted(operations)
        };
        phase.kinds.insert(kind, result);
    }
    // One benchmark reads keys that are not there.
    if line.name != "readmissing" {
        phase.findings.extend(nothing_found(&phase));
    }
    let threads = Estimate::new(line.micros, line.rate).or(given.threads, &mut phase);
    Imported {
        system: system.to_owned(),
        workload: Some(given.workload.clone().unwrap_or_else(|| line.name.clone())),
        distribution: "unknown".to_owned(),
        threads,
        phase,
        ..Imported::default()
    }
}

/// One line of a histogram's head, whose numbers are microseconds.
fn block(phase: &mut Phase, kind: Kind, line: &str) {
    let tokens: Vec<_> = line.split_whitespace().collect();
    for pair in tokens.windows(2) {
        let (Some(name), Some(value)) = (pair[0].strip_suffix(':'), number(pair[1])) else {
            continue;
        };
        // If the operations have several kinds, only their histograms count them.
        let result = phase.kinds.entry(kind).or_insert_with(|| counted(0));
        let summary = result.summary.get_or_insert_default();
        let ns = value * 1000.0;
        match name {
            "Count" if result.count == 0 => result.count = value as u64,
            "Average" => summary.set(Summary::MEAN, ns),
            "Min" => summary.set(Summary::MIN, ns),
            "Max" => summary.set(Summary::MAX, ns),
            _ => {
                let percent = name.strip_prefix('P').and_then(number);
                if let Some(percent) = percent {
                    summary.set_percentile(percent, ns);
                }
            }
        }
    }
}

/// So many operations of a kind, of whose latencies there is no histogram.
fn counted(count: u64) -> KindResult {
    KindResult {
        count,
        ..KindResult::default()
    }
}

/// The rows of benchmark.sh's table.
fn table(text: &str, system: &str, given: &Given) -> Vec<Imported> {
    let mut lines = text
        .lines()
        .skip_while(|line| !line.starts_with("ops_sec\t"));
    let names: Vec<_> = lines.next().unwrap_or_default().split('\t').collect();
    let row = |line: &str| {
        let cells: Vec<_> = line.split('\t').collect();
        let cell = |name: &str| {
            let at = names.iter().position(|known| *known == name)?;
            cells.get(at).map(|cell| cell.trim())
        };
        let number = |name: &str| super::number(cell(name)?.trim_end_matches(char::is_alphabetic));
        let (rate, test) = (number("ops_sec")?, cell("test")?);
        let (name, threads) = match test.split_once(".t") {
            Some((name, rest)) => {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                (name, digits.parse().ok())
            }
            None => (test, None),
        };
        let micros = number("usec_op").unwrap_or(0.0);
        let seconds = number("uptime")
            .filter(|seconds| *seconds > 0.0)
            .unwrap_or(1.0);
        let operations = (rate * seconds) as u64;
        let mut phase = phase(seconds, operations);
        if let Some(kind) = kind_of(name) {
            let mut summary = Summary::default();
            for &(column, percent) in LATENCIES {
                match (number(column), percent) {
                    (Some(us), Some(percent)) => summary.set_percentile(percent, us * 1000.0),
                    (Some(us), None) => summary.set(Summary::MAX, us * 1000.0),
                    (None, _) => {}
                }
            }
            let result = KindResult {
                bytes: bytes(number("mb_sec"), seconds),
                summary: summary.if_any(),
                ..counted(operations)
            };
            phase.kinds.insert(kind, result);
        }
        for (column, counter, unit) in COLUMNS {
            if let Some(value) = number(column) {
                phase
                    .counters
                    .insert((*counter).to_owned(), (value * unit) as u64);
            }
        }
        conclude(&mut phase);
        let threads = Estimate::new(micros, rate).or(threads.or(given.threads), &mut phase);
        Some(Imported {
            system: system.to_owned(),
            workload: Some(given.workload.clone().unwrap_or_else(|| name.to_owned())),
            distribution: "unknown".to_owned(),
            threads,
            phase,
            ..Imported::default()
        })
    };
    lines.filter_map(row).collect()
}

fn phase(duration_s: f64, operations: u64) -> Phase {
    Phase {
        duration_s,
        operations,
        ..Phase::default()
    }
}

/// The kind of request of a db_bench benchmark or a benchmark.sh test, if its name shows it.
fn kind_of(name: &str) -> Option<Kind> {
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    match () {
        () if begins(&["readrandomwriterandom", "mixgraph"]) => None,
        () if begins(&["read", "multiread"]) => Some(Kind::Read),
        () if begins(&["bulkload", "fill", "overwrite"]) => Some(Kind::Insert),
        () if begins(&["fwdrange", "revrange", "seek"]) => Some(Kind::Scan),
        () if begins(&["delete"]) => Some(Kind::Delete),
        () if begins(&["update"]) => Some(Kind::Update),
        () => None,
    }
}

fn conclude(phase: &mut Phase) {
    phase.findings.push(SUMMARY_ONLY.finding(
        "Only a summary of the latencies was imported, so other quantiles are unknown. db_bench \
         interpolates within buckets that grow by a half, so its quantiles can be off by tens of \
         percent.",
    ));
}

#[cfg(test)]
mod tests;
