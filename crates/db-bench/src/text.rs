//! The output of db_bench: its header, result lines and histograms.

use super::{
    flags::Flags,
    histogram::Histogram,
    measure::{Measure, foreground},
    tally::Tally,
};
use std::{collections::BTreeMap, fmt::Write as _, fs};
use tailmark_driver::OperationKind;
use tailmark_engine::recorded_as;
use tailmark_model::{Kind, KindResult, Phase, QUANTILES};
use tailmark_workload::{Workload, db_bench::Op};

const MIB: f64 = 1_048_576.0;

/// The lines about the machine, for standard error.
pub fn environment(version: &str) -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let values = |name: &str| {
        let pairs = cpus.lines().filter_map(|line| line.split_once(':'));
        let named = pairs.filter(|(key, _)| key.trim() == name);
        named
            .map(|(_, value)| value.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let (models, caches) = (values("model name"), values("cache size"));
    format!(
        "RocksDB:    version {version}\nDate:       {}\nCPU:        {} * {}\nCPUCache:   {}",
        super::date::long(),
        models.len(),
        models.last().map_or("", String::as_str),
        caches.last().map_or("", String::as_str),
    )
}

/// The lines about the data, for standard output.
pub fn header(flags: &Flags) -> anyhow::Result<String> {
    let n = |name| flags.number::<f64>(name);
    let (keys, records, ratio) = (n("key_size")?, n("num")?, n("compression_ratio")?);
    let fixed = flags.text("value_size_distribution_type") == "fixed";
    let value = if fixed {
        n("value_size")?
    } else {
        ((n("value_size_min")? + n("value_size_max")?) / 2.0).floor()
    };
    let compressed = (value * ratio + 0.5).floor();
    let mut text = format!("Keys:       {keys} bytes each (+ 0 bytes user-defined timestamp)\n");
    let average = if fixed { "" } else { " avg" };
    writeln!(
        text,
        "Values:     {value}{average} bytes each ({compressed} bytes after compression)"
    )?;
    if !fixed {
        writeln!(
            text,
            "Values Distribution: {} (min: {}, max: {})",
            flags.text("value_size_distribution_type"),
            flags.text("value_size_min"),
            flags.text("value_size_max")
        )?;
    }
    let raw = (keys + value) * records / MIB;
    let file = (keys + value * ratio) * records / MIB;
    let compression = flags.text("compression_type");
    let compression = match compression {
        "none" => "NoCompression",
        "snappy" => "Snappy",
        "zlib" => "Zlib",
        "bzip2" => "BZip2",
        "lz4" => "LZ4",
        "lz4hc" => "LZ4HC",
        "zstd" => "ZSTD",
        other => other,
    };
    let memtables = match flags.text("memtablerep") {
        "skip_list" => "SkipListFactory",
        "vector" => "VectorRepFactory",
        other => other,
    };
    write!(
        text,
        "Entries:    {records}\nPrefix:    {} bytes\nKeys per prefix:    {}\n\
         RawSize:    {raw:.1} MB (estimated)\nFileSize:   {file:.1} MB (estimated)\n\
         Write rate: {} bytes/second\nRead rate: {} ops/second\nCompression: {compression}\n\
         Compression sampling rate: {}\nMemtablerep: {memtables}\nPerf Level: 1\n\
         ------------------------------------------------",
        flags.text("prefix_size"),
        flags.text("keys_per_prefix"),
        flags.text("benchmark_write_rate_limit"),
        flags.text("benchmark_read_rate_limit"),
        flags.text("sample_for_compression"),
    )?;
    Ok(text)
}

/// One benchmark's numbers in db_bench's terms.
pub struct BenchmarkResult {
    /// Records, over all clients of the point.
    pub operations: u64,
    /// Seconds from the first start to the last end.
    pub seconds: f64,
    /// Bytes of keys and values, over all clients of the point.
    pub bytes: u64,
    /// Clients of the point.
    pub threads: u32,
}

impl BenchmarkResult {
    /// The numbers of a phase of that many clients.
    pub fn new(phase: &Phase, measure: &Measure, workload: &Workload, threads: u32) -> Self {
        let misses_end = matches!(op(workload), Some(Op::Walk(_)));
        let ends = phase
            .kinds
            .get(&Kind::Read)
            .filter(|_| misses_end)
            .map_or(0, |k| k.not_found);
        Self {
            operations: (phase.operations - ends.min(phase.operations)) * measure.batch(workload),
            seconds: phase.elapsed_s(),
            bytes: if measure.bytes {
                bytes(&phase.kinds, workload)
            } else {
                0
            },
            threads,
        }
    }

    /// Operations per second.
    pub fn rate(&self) -> f64 {
        self.operations as f64 / self.seconds.max(1e-9)
    }

    /// Mebibytes per second.
    pub fn mib_rate(&self) -> f64 {
        self.bytes as f64 / MIB / self.seconds.max(1e-9)
    }

    /// The result line.
    pub fn line(&self, name: &str, message: &str) -> String {
        let micros = f64::from(self.threads) * self.seconds * 1e6 / self.operations.max(1) as f64;
        let mut line = format!(
            "{name:<12} : {micros:11.3} micros/op {} ops/sec {:.3} seconds {} operations;",
            self.rate() as u64,
            self.seconds,
            self.operations
        );
        if self.bytes > 0 {
            let _ = write!(line, " {:6.1} MB/s", self.mib_rate());
        }
        if !message.is_empty() {
            line.push(' ');
            line.push_str(message);
        }
        line
    }
}

/// Bytes of keys and values that the clients of the point read and wrote; of mixgraph, that they
/// read.
fn bytes(kinds: &BTreeMap<Kind, KindResult>, workload: &Workload) -> u64 {
    let own = own_kinds(workload);
    let reads_only = matches!(op(workload), Some(Op::MixGraph(_)));
    let counts = |kind: Kind| own.contains(&kind) && !(reads_only && kind == Kind::Insert);
    let counted = kinds.iter().filter(|(kind, _)| counts(**kind));
    counted.map(|(_, result)| result.bytes).sum()
}

/// The part of the result line about found records.
pub fn message(phase: &Phase, workload: &Workload, tally: &Tally, configured: u64) -> String {
    let kind = |kind| phase.kinds.get(&kind);
    let count = |k| kind(k).map_or(0, |found| found.count);
    let found = |k| kind(k).map_or(0, |found| found.count - found.not_found);
    match op(workload) {
        Some(Op::Read | Op::ReadMissing) => {
            format!("({} of {} found)\n", found(Kind::Read), count(Kind::Read))
        }
        Some(Op::Seek { .. }) => {
            format!("({} of {} found)\n", found(Kind::Scan), count(Kind::Scan))
        }
        Some(Op::ReadMany) => {
            let keys = count(Kind::Read) * batch(workload);
            format!("({} of {keys} found)", tally.records())
        }
        Some(Op::ReadThenWrite { .. }) => format!(
            "( reads:{} writes:{} total:{configured} found:{})",
            count(Kind::Read),
            count(Kind::Insert),
            found(Kind::Read)
        ),
        Some(Op::Update) => {
            format!(
                "( updates:{} found:{})",
                count(Kind::Update),
                found(Kind::Read)
            )
        }
        Some(Op::MixGraph(_)) => {
            let (gets, puts, seeks) = (count(Kind::Read), count(Kind::Insert), count(Kind::Scan));
            let average = |sum: u64, operations: u64| match operations {
                0 => "nan".to_owned(),
                n => format!("{:.1}", sum as f64 / n as f64),
            };
            format!(
                "( Gets:{gets} Puts:{puts} Seek:{seeks}, reads {} in {} found, \
                 avg size: {} value, {} scan)\n",
                found(Kind::Read) + found(Kind::Scan),
                gets + seeks,
                average(tally.value_bytes(), puts),
                average(tally.walked(), seeks)
            )
        }
        _ => String::new(),
    }
}

/// The histogram blocks of the point's clients, followed by those that db_bench leaves out:
/// background clients, with their rate.
pub fn histograms(phase: &Phase, workload: &Workload) -> String {
    let own = own_kinds(workload);
    let mut text = String::new();
    if matches!(op(workload), Some(Op::Update)) {
        if let Some(pair) = phase.kinds.get(&Kind::ReadModifyWrite) {
            let _ = write!(
                text,
                "Microseconds per update:\n{}\n",
                Histogram::new(&pair.service)
            );
        }
        return text;
    }
    for kind in own {
        let word = match kind {
            Kind::Read => "read",
            Kind::Update | Kind::ReadModifyWrite => "update",
            Kind::Insert => "write",
            Kind::Scan => "seek",
            Kind::Delete => "delete",
        };
        if let Some(result) = phase.kinds.get(&kind) {
            let _ = write!(
                text,
                "Microseconds per {word}:\n{}\n",
                Histogram::new(&result.service)
            );
        }
    }
    text
}

/// Figures that db_bench does not show: the background writer, quantiles up to P99.999 with three
/// digits if enough samples lie beyond them, and response time if a rate was given.
pub fn hidden(phase: &Phase, workload: &Workload) -> Vec<String> {
    let own = own_kinds(workload);
    let is_update = matches!(op(workload), Some(Op::Update));
    let mut lines = Vec::new();
    for (kind, result) in &phase.kinds {
        let is_own = own.contains(kind) || (*kind == Kind::ReadModifyWrite && is_update);
        let background = if is_own { "" } else { " (background clients)" };
        let rate = result.count as f64 / phase.elapsed_s().max(1e-9);
        let micros = |latencies: &tailmark_model::Latencies| {
            let shown = [QUANTILES[3], QUANTILES[5], QUANTILES[6]].into_iter();
            let known = shown.filter_map(|quantile| {
                let ns = quantile.value_in(latencies)?;
                Some(format!("{} {:.3}, ", quantile.name, ns as f64 / 1e3))
            });
            let max = latencies.max() as f64 / 1e3;
            format!("{}max {max:.3}", known.collect::<String>())
        };
        let mut line = format!(
            "{}{background}: {rate:.0} a second; service us: {}",
            kind.name(),
            micros(&result.service)
        );
        if let Some(response) = &result.response {
            let _ = write!(line, "; response us: {}", micros(response));
        }
        lines.push(line);
    }
    lines
}

fn op(workload: &Workload) -> Option<Op> {
    foreground(workload).map(|db_bench| db_bench.op)
}

fn batch(workload: &Workload) -> u64 {
    let db_bench = workload.groups.first().and_then(|group| group.db_bench());
    db_bench.map_or(1, |db_bench| db_bench.layout.batch.into())
}

/// The kinds of request of the point's clients.
fn own_kinds(workload: &Workload) -> Vec<Kind> {
    let kind = |kind: &OperationKind| recorded_as(*kind);
    op(workload).map_or_else(Vec::new, |op| op.kinds().iter().map(kind).collect())
}

#[cfg(test)]
mod tests {
    use super::super::benchmarks::{Action, BENCHMARKS};
    use super::*;

    #[test]
    fn mixgraph_counts_the_bytes_that_it_reads() {
        let kinds = [(Kind::Read, 100), (Kind::Insert, 50), (Kind::Scan, 7)];
        let result = |bytes| KindResult {
            bytes,
            ..KindResult::default()
        };
        let kinds = kinds.map(|(kind, bytes)| (kind, result(bytes))).into();
        let flags = Flags::parse(&[]).unwrap();
        for (name, expected) in [("mixgraph", 107), ("readrandomwriterandom", 150)] {
            let row = BENCHMARKS.iter().find(|(known, _)| *known == name);
            let Action::Measure(measure) = row.unwrap().1 else {
                panic!("{name} is measured")
            };
            let workload = measure.workload(name, &flags).unwrap();
            assert_eq!(bytes(&kinds, &workload), expected, "{name}");
        }
    }

    #[test]
    fn quantiles_beyond_db_bench_are_those_of_exports_and_withheld_where_these_withhold_them() {
        let mut read = KindResult::default();
        (1..=1_000).for_each(|us| read.service.record(us * 1_000).unwrap());
        let p99 = tailmark_model::quantile(&read.service, 0.99).unwrap();
        assert!(
            p99 > read.service.value_at_quantile(0.99),
            "the 10th highest of 1,000"
        );
        let phase = Phase {
            kinds: [(Kind::Read, read)].into(),
            ..Phase::default()
        };
        let flags = Flags::parse(&[]).unwrap();
        let row = BENCHMARKS.iter().find(|(name, _)| *name == "readrandom");
        let Action::Measure(measure) = row.unwrap().1 else {
            panic!("readrandom is measured")
        };
        let workload = measure.workload("readrandom", &flags).unwrap();
        let line = &hidden(&phase, &workload)[0];
        let (_, quantiles) = line.split_once("service us: ").unwrap();
        let max = phase.kinds[&Kind::Read].service.max() as f64 / 1e3;
        assert_eq!(
            quantiles,
            format!("p99 {:.3}, max {max:.3}", p99 as f64 / 1e3)
        );
    }

    #[test]
    fn the_pairs_of_updaterandom_are_not_background_clients_and_a_writer_is() {
        let flags = Flags::parse(&[]).unwrap();
        let names = |benchmark: &str, kinds: &[Kind]| -> Vec<String> {
            let row = BENCHMARKS.iter().find(|(name, _)| *name == benchmark);
            let Action::Measure(measure) = row.unwrap().1 else {
                panic!("{benchmark} is measured")
            };
            let workload = measure.workload(benchmark, &flags).unwrap();
            let phase = Phase {
                kinds: kinds
                    .iter()
                    .map(|kind| (*kind, KindResult::default()))
                    .collect(),
                ..Phase::default()
            };
            let lines = hidden(&phase, &workload).into_iter();
            let name = |line: String| line.split_once(": ").unwrap().0.to_owned();
            lines.map(name).collect()
        };
        let update = [Kind::Read, Kind::Update, Kind::ReadModifyWrite];
        assert_eq!(
            names("updaterandom", &update),
            ["read", "update", "read-modify-write"]
        );
        assert_eq!(
            names("readwhilewriting", &[Kind::Read, Kind::Insert]),
            ["read", "insert (background clients)"]
        );
    }

    #[test]
    fn a_result_line_is_that_of_db_bench() {
        let result = BenchmarkResult {
            operations: 1000,
            seconds: 0.5,
            bytes: 1 << 20,
            threads: 2,
        };
        assert_eq!(
            result.line("readrandom", "(632 of 1000 found)\n"),
            "readrandom   :    1000.000 micros/op 2000 ops/sec 0.500 seconds 1000 operations;    \
             2.0 MB/s (632 of 1000 found)\n"
        );
        let silent = BenchmarkResult { bytes: 0, ..result };
        assert!(silent.line("deleteseq", "").ends_with("1000 operations;"));
    }
}
