//! What db_bench prints: its header, result lines and histograms.

use super::{flags::Flags, histogram::Histogram, measure::Measure, tally::Tally};
use std::{fmt::Write as _, fs};
use tailmark_results::{Kind, Phase};
use tailmark_workload::{Workload, db_bench::Job};

const MIB: f64 = 1_048_576.0;

/// The lines about the machine, for standard error.
pub fn environment(version: &str) -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let values = |name: &str| {
        let of = |line: &str| {
            line.split_once(':')
                .filter(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim().to_owned())
        };
        cpus.lines().filter_map(of).collect::<Vec<_>>()
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
    let value = match fixed {
        true => n("value_size")?,
        false => ((n("value_size_min")? + n("value_size_max")?) / 2.0).floor(),
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
pub struct Outcome {
    /// Records, over all clients of the point.
    pub operations: u64,
    /// Seconds from the first start to the last end.
    pub seconds: f64,
    /// Bytes of keys and values, over all clients of the point.
    pub bytes: u64,
    /// Clients of the point.
    pub threads: u32,
}

impl Outcome {
    /// The numbers of a phase of so many clients.
    pub fn new(phase: &Phase, measure: &Measure, workload: &Workload, threads: u32) -> Self {
        let own = own_kinds(workload);
        let bytes = phase.kinds.iter().filter(|(kind, _)| own.contains(kind));
        let misses_end = matches!(job(workload), Some(Job::Walk(_)));
        let ends = phase
            .kinds
            .get(&Kind::Read)
            .filter(|_| misses_end)
            .map_or(0, |k| k.not_found);
        Self {
            operations: (phase.operations - ends.min(phase.operations)) * measure.batch(workload),
            seconds: phase.duration_s,
            bytes: if measure.bytes {
                bytes.map(|(_, kind)| kind.bytes).sum()
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

/// What the result line says of what was found.
pub fn message(phase: &Phase, workload: &Workload, tally: &Tally, configured: u64) -> String {
    let kind = |kind| phase.kinds.get(&kind);
    let count = |k| kind(k).map_or(0, |found| found.count);
    let found = |k| kind(k).map_or(0, |found| found.count - found.not_found);
    match job(workload) {
        Some(Job::Read | Job::ReadMissing) => {
            format!("({} of {} found)\n", found(Kind::Read), count(Kind::Read))
        }
        Some(Job::Seek { .. }) => {
            format!("({} of {} found)\n", found(Kind::Scan), count(Kind::Scan))
        }
        Some(Job::ReadMany) => {
            let keys = count(Kind::Read) * batch(workload);
            format!("({} of {keys} found)", tally.records())
        }
        Some(Job::ReadThenWrite { .. }) => format!(
            "( reads:{} writes:{} total:{configured} found:{})",
            count(Kind::Read),
            count(Kind::Insert),
            found(Kind::Read)
        ),
        Some(Job::Update) => {
            format!(
                "( updates:{} found:{})",
                count(Kind::Update),
                found(Kind::Read)
            )
        }
        Some(Job::MixGraph(_)) => {
            let (gets, puts, seeks) = (count(Kind::Read), count(Kind::Insert), count(Kind::Scan));
            let average = |sum: u64, of: u64| match of {
                0 => "nan".to_owned(),
                of => format!("{:.1}", sum as f64 / of as f64),
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

/// The histogram blocks of the clients of the point, and after them what db_bench leaves out: those
/// beside the point, with their rate.
pub fn histograms(phase: &Phase, workload: &Workload) -> String {
    let own = own_kinds(workload);
    let mut text = String::new();
    if matches!(job(workload), Some(Job::Update)) {
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

/// What db_bench does not show: the writer beside the readers, quantiles beyond P99.99 with three
/// digits, and response time where a rate was given.
pub fn hidden(phase: &Phase, workload: &Workload) -> Vec<String> {
    let own = own_kinds(workload);
    let mut lines = Vec::new();
    for (kind, result) in &phase.kinds {
        let beside = if own.contains(kind) {
            ""
        } else {
            " (beside the point)"
        };
        let rate = result.count as f64 / phase.duration_s.max(1e-9);
        let micros = |latencies: &tailmark_results::Latencies| {
            let at = |q| latencies.value_at_quantile(q) as f64 / 1e3;
            let (p99, p9999, p99999) = (at(0.99), at(0.9999), at(0.99999));
            format!(
                "p99 {p99:.3}, p99.99 {p9999:.3}, p99.999 {p99999:.3}, max {:.3}",
                latencies.max() as f64 / 1e3
            )
        };
        let mut line = format!(
            "{}{beside}: {rate:.0} a second; service us: {}",
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

fn job(workload: &Workload) -> Option<Job> {
    let group = workload.groups.iter().find(|group| !group.is_beside());
    group.and_then(|group| group.task).map(|task| task.job)
}

fn batch(workload: &Workload) -> u64 {
    let task = workload.groups.first().and_then(|group| group.task);
    task.map_or(1, |task| task.shape.batch.into())
}

/// What the clients of the point send.
fn own_kinds(workload: &Workload) -> Vec<Kind> {
    let kind = |kind: &tailmark_driver::Kind| match kind {
        tailmark_driver::Kind::Read => Kind::Read,
        tailmark_driver::Kind::Update => Kind::Update,
        tailmark_driver::Kind::Insert => Kind::Insert,
        tailmark_driver::Kind::Scan => Kind::Scan,
        tailmark_driver::Kind::Delete => Kind::Delete,
    };
    job(workload).map_or_else(Vec::new, |job| job.kinds().iter().map(kind).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_line_is_that_of_db_bench() {
        let outcome = Outcome {
            operations: 1000,
            seconds: 0.5,
            bytes: 1 << 20,
            threads: 2,
        };
        assert_eq!(
            outcome.line("readrandom", "(632 of 1000 found)\n"),
            "readrandom   :    1000.000 micros/op 2000 ops/sec 0.500 seconds 1000 operations;    \
             2.0 MB/s (632 of 1000 found)\n"
        );
        let silent = Outcome {
            bytes: 0,
            ..outcome
        };
        assert!(silent.line("deleteseq", "").ends_with("1000 operations;"));
    }
}
