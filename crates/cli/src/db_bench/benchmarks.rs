//! db_bench's benchmarks by name, and what each is here.

use super::flags::Flags;
use anyhow::{Context, bail, ensure};
use tailmark_driver::{Direction, Semantics};
use tailmark_workload::{
    Workload,
    db_bench::{Exponential, Job, MixGraph, Order, Pareto, Power, Shape, Sizes},
};

/// What a name of the list stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A workload.
    Measure(Measure),
    /// Something done to the database, or printed of it.
    Tool(Tool),
}

/// A benchmark that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// The row of the table of workloads.
    pub row: &'static str,
    /// What it needs of the database and the flags.
    pub needs: Needs,
    /// Which flag says how many operations each client does.
    pub count: Count,
    /// Whether a duration may end it.
    pub timed: bool,
    /// Whether bytes are counted in the result line.
    pub bytes: bool,
}

/// What a benchmark needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The database as it is.
    Nothing,
    /// A database made anew.
    Fresh,
    /// A database made anew, synchronous writes, and a thousandth of the records.
    FreshSync,
    /// A database made anew, values of 100,000 bytes, and a thousandth of the records.
    FreshLarge,
    /// A thousandth of the reads.
    FewReads,
    /// One client.
    OneClient,
}

/// Which flag counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// `--reads`
    Reads,
    /// `--writes`
    Writes,
    /// `--deletes`
    Deletes,
    /// The greater of `--reads` and `--writes`
    Both,
}

/// What is done beside the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Prints properties of the database, each under a blank line.
    Print(&'static str),
    /// Prints the state of the memtables.
    Memstats,
    /// Writes the memtables out.
    Flush,
    /// Compacts everything.
    Compact,
    /// Waits until background work has come to rest.
    Wait,
}

const fn measure(row: &'static str, needs: Needs, count: Count) -> Action {
    Action::Measure(Measure {
        row,
        needs,
        count,
        timed: true,
        bytes: true,
    })
}

const fn untimed(row: &'static str, needs: Needs, count: Count, bytes: bool) -> Action {
    Action::Measure(Measure {
        row,
        needs,
        count,
        timed: false,
        bytes,
    })
}

const fn silent(row: &'static str, count: Count) -> Action {
    Action::Measure(Measure {
        row,
        needs: Needs::Nothing,
        count,
        timed: true,
        bytes: false,
    })
}

/// Every benchmark, sorted by name.
pub const BENCHMARKS: &[(&str, Action)] = &[
    (
        "cacheentrystats",
        Action::Tool(Tool::Print("rocksdb.block-cache-entry-stats")),
    ),
    ("compact", Action::Tool(Tool::Compact)),
    ("compactall", Action::Tool(Tool::Compact)),
    ("deleterandom", silent("deleterandom", Count::Deletes)),
    (
        "deleteseq",
        untimed("deleteseq", Needs::Nothing, Count::Deletes, false),
    ),
    (
        "fill100K",
        measure("fillrandom", Needs::FreshLarge, Count::Writes),
    ),
    (
        "fillrandom",
        measure("fillrandom", Needs::Fresh, Count::Writes),
    ),
    (
        "fillseq",
        untimed("fillseq", Needs::Fresh, Count::Writes, true),
    ),
    (
        "fillsync",
        measure("fillrandom", Needs::FreshSync, Count::Writes),
    ),
    (
        "filluniquerandom",
        untimed("filluniquerandom", Needs::Fresh, Count::Writes, true),
    ),
    ("flush", Action::Tool(Tool::Flush)),
    (
        "levelstats",
        Action::Tool(Tool::Print("rocksdb.levelstats")),
    ),
    ("memstats", Action::Tool(Tool::Memstats)),
    (
        "mixgraph",
        measure("mixgraph", Needs::Nothing, Count::Reads),
    ),
    (
        "multireadrandom",
        measure("multireadrandom", Needs::Nothing, Count::Reads),
    ),
    (
        "overwrite",
        measure("overwrite", Needs::Nothing, Count::Writes),
    ),
    (
        "readmissing",
        measure("readmissing", Needs::Nothing, Count::Reads),
    ),
    (
        "readrandom",
        measure("readrandom", Needs::Nothing, Count::Reads),
    ),
    (
        "readrandomsmall",
        measure("readrandom", Needs::FewReads, Count::Reads),
    ),
    (
        "readrandomwriterandom",
        silent("readrandomwriterandom", Count::Both),
    ),
    (
        "readreverse",
        untimed("readreverse", Needs::Nothing, Count::Reads, true),
    ),
    (
        "readseq",
        untimed("readseq", Needs::Nothing, Count::Reads, true),
    ),
    (
        "readtocache",
        untimed("readseq", Needs::OneClient, Count::Reads, true),
    ),
    (
        "readwhilewriting",
        measure("readwhilewriting", Needs::Nothing, Count::Reads),
    ),
    (
        "seekrandom",
        measure("seekrandom", Needs::Nothing, Count::Reads),
    ),
    (
        "seekrandomwhilewriting",
        measure("seekrandomwhilewriting", Needs::Nothing, Count::Reads),
    ),
    ("sstables", Action::Tool(Tool::Print("rocksdb.sstables"))),
    ("stats", Action::Tool(Tool::Print("rocksdb.stats"))),
    (
        "updaterandom",
        measure("updaterandom", Needs::Nothing, Count::Both),
    ),
    ("waitforcompaction", Action::Tool(Tool::Wait)),
];

/// One entry of `--benchmarks`: `readrandom`, `readrandom[X3]`, `readrandom[X3-W1]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its name, as it is printed.
    pub name: &'static str,
    /// What it does.
    pub action: Action,
    /// How often it is measured.
    pub repeats: u32,
    /// How often it is run before that.
    pub warmups: u32,
}

impl Entry {
    /// Reads a whole list.
    ///
    /// # Errors
    /// Names the benchmark that is not known, with the nearest that is.
    pub fn list(text: &str) -> anyhow::Result<Vec<Self>> {
        text.split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(Self::parse)
            .collect()
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let (name, suffix) = match text.split_once('[') {
            Some((name, suffix)) => (
                name,
                suffix
                    .strip_suffix(']')
                    .with_context(|| format!("`{text}` lacks a `]`"))?,
            ),
            None => (text, ""),
        };
        let Some(&(name, action)) = BENCHMARKS.iter().find(|(known, _)| *known == name) else {
            let near = tailmark_driver::nearest(name, BENCHMARKS.iter().map(|(known, _)| *known));
            let near = near
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            bail!("unknown benchmark `{name}`{near}");
        };
        let mut entry = Self {
            name,
            action,
            repeats: 1,
            warmups: 0,
        };
        for part in suffix.split('-').filter(|part| !part.is_empty()) {
            let count = || {
                part[1..]
                    .parse()
                    .ok()
                    .filter(|count| (1..=10_000).contains(count))
            };
            let count = part.is_char_boundary(1).then(count).flatten();
            let count =
                count.with_context(|| format!("`{part}` of `{text}` is not X or W and a count"))?;
            match &part[..1] {
                "X" => entry.repeats = count,
                "W" => entry.warmups = count,
                _ => bail!("`{part}` of `{text}` is not X or W and a count"),
            }
        }
        Ok(entry)
    }
}

impl Measure {
    /// Records, and operations of each client, as the flags and the needs have it.
    ///
    /// # Errors
    /// Names a flag that is out of its range.
    pub fn counts(&self, flags: &Flags) -> anyhow::Result<(u64, u64)> {
        let mut records: u64 = flags.number("num")?;
        ensure!(records > 0, "--num is 0, but it must be at least 1");
        if matches!(self.needs, Needs::FreshSync | Needs::FreshLarge) {
            records = (records / 1000).max(1);
        }
        let given = |name| Ok::<_, anyhow::Error>(u64::try_from(flags.number::<i64>(name)?).ok());
        let count = match self.count {
            Count::Reads => given("reads")?,
            Count::Writes => given("writes")?,
            Count::Deletes => given("deletes")?,
            Count::Both => given("reads")?.max(given("writes")?),
        };
        let mut count = count.unwrap_or(records);
        match self.needs {
            Needs::FreshSync | Needs::FreshLarge if flags.number::<i64>("writes")? >= 0 => {
                count = (count / 1000).max(1);
            }
            Needs::FewReads => count = (count / 1000).max(1),
            _ => {}
        }
        Ok((records, count))
    }

    /// The workload, as the flags shape it.
    ///
    /// # Errors
    /// Names a flag that is out of its range.
    pub fn workload(&self, name: &str, flags: &Flags) -> anyhow::Result<Workload> {
        let mut workload = tailmark_workload::find(self.row)?.with_shape(shape(flags)?);
        name.clone_into(&mut workload.name);
        let write_rate: f64 = flags.number("benchmark_write_rate_limit")?;
        let bytes: f64 = flags.number::<f64>("key_size")? + flags.number::<f64>("value_size")?;
        for group in &mut workload.groups {
            if group.is_beside() && write_rate > 0.0 {
                group.rate = Some(write_rate / bytes);
            }
            let is_beside = group.is_beside();
            let Some(task) = &mut group.task else {
                continue;
            };
            if is_beside {
                task.shape.batch = 1;
                task.shape.writes_over = flags.number("bgwriter_num")?;
            }
            match &mut task.job {
                Job::ReadThenWrite { read_percent } => {
                    *read_percent = flags.number("readwritepercent")?;
                }
                Job::Seek {
                    nexts,
                    direction,
                    distance_max,
                } => {
                    *nexts = flags.number("seek_nexts")?;
                    *distance_max = flags.number("max_scan_distance")?;
                    if flags.flag("reverse_iterator") {
                        *direction = Direction::Backward;
                    }
                }
                Job::MixGraph(graph) => *graph = mix_graph(flags)?,
                _ => {}
            }
        }
        workload.validate()?;
        Ok(workload)
    }

    /// Operations per second over all clients, where a flag limits them.
    ///
    /// # Errors
    /// Names a flag that is out of its range.
    pub fn rate(&self, workload: &Workload, flags: &Flags) -> anyhow::Result<Option<f64>> {
        let batch: f64 = flags.number("batch_size")?;
        let job = workload.groups.iter().find(|group| !group.is_beside());
        let job = job.and_then(|group| group.task).map(|task| task.job);
        let rate = match job {
            Some(Job::Write(_) | Job::Update) => {
                let record =
                    flags.number::<f64>("key_size")? + flags.number::<f64>("value_size")?;
                flags.number::<f64>("benchmark_write_rate_limit")? / (record * batch)
            }
            Some(Job::ReadMany) => flags.number::<f64>("benchmark_read_rate_limit")? / batch,
            Some(Job::Read | Job::ReadMissing | Job::Seek { .. } | Job::Walk(_)) => {
                flags.number("benchmark_read_rate_limit")?
            }
            _ => 0.0,
        };
        Ok((rate > 0.0).then_some(rate))
    }

    /// Records that one operation stands for.
    pub fn batch(&self, workload: &Workload) -> u64 {
        let task = workload
            .groups
            .iter()
            .find(|group| !group.is_beside())
            .and_then(|g| g.task);
        match task {
            Some(task) if is_batched(&task.job) => task.shape.batch.into(),
            _ => 1,
        }
    }
}

const fn is_batched(job: &Job) -> bool {
    matches!(
        job,
        Job::ReadMany
            | Job::Write(Order::Sequential | Order::Random | Order::Unique)
            | Job::Delete(_)
    )
}

fn shape(flags: &Flags) -> anyhow::Result<Shape> {
    let (min, max) = (
        flags.number("value_size_min")?,
        flags.number("value_size_max")?,
    );
    let sizes = match flags.text("value_size_distribution_type") {
        "fixed" => Sizes::Fixed,
        "uniform" => Sizes::Uniform { min, max },
        "normal" => Sizes::Normal { min, max },
        other => bail!(
            "--value_size_distribution_type is `{other}`, but it must be fixed, uniform or normal"
        ),
    };
    Ok(Shape {
        key_bytes: flags.number("key_size")?,
        prefix_bytes: flags.number("prefix_size")?,
        keys_per_prefix: flags.number("keys_per_prefix")?,
        sizes,
        batch: flags.number("batch_size")?,
        exp_range: flags.number("read_random_exp_range")?,
        stride: flags.number("multiread_stride")?,
        writes_over: 0,
    })
}

fn mix_graph(flags: &Flags) -> anyhow::Result<MixGraph> {
    let n = |name| flags.number::<f64>(name);
    Ok(MixGraph {
        weights: [
            n("mix_get_ratio")?,
            n("mix_put_ratio")?,
            n("mix_seek_ratio")?,
        ],
        keys: Power {
            a: n("key_dist_a")?,
            b: n("key_dist_b")?,
        },
        ranges: Exponential {
            a: n("keyrange_dist_a")?,
            b: n("keyrange_dist_b")?,
            c: n("keyrange_dist_c")?,
            d: n("keyrange_dist_d")?,
        },
        range_count: flags.number("keyrange_num")?,
        values: Pareto {
            theta: n("value_theta")?,
            k: n("value_k")?,
            sigma: n("value_sigma")?,
        },
        value_max: flags.number("mix_max_value_size")?,
        scans: Pareto {
            theta: n("iter_theta")?,
            k: n("iter_k")?,
            sigma: n("iter_sigma")?,
        },
        scan_max: flags.number("mix_max_scan_len")?,
        semantics: Semantics::Faithful,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_sorted() {
        let names: Vec<_> = BENCHMARKS
            .iter()
            .map(|(name, _)| name.to_lowercase())
            .collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    }

    #[test]
    fn every_measured_benchmark_has_a_valid_workload() {
        let flags = Flags::parse(&[]).unwrap();
        for (name, action) in BENCHMARKS {
            if let Action::Measure(measure) = action {
                measure
                    .workload(name, &flags)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }

    #[test]
    fn suffixes_say_how_often() {
        let entry = Entry::list("readrandom[X3-W1]").unwrap()[0];
        assert_eq!(
            (entry.name, entry.repeats, entry.warmups),
            ("readrandom", 3, 1)
        );
        for bad in [
            "readrandom[X0]",
            "readrandom[Y1]",
            "readrandom[X3",
            "readrandm",
        ] {
            assert!(Entry::list(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_writer_beside_the_readers_has_its_own_rate() {
        let words = ["--benchmark_write_rate_limit=11600".to_owned()];
        let flags = Flags::parse(&words).unwrap();
        let (_, action) = BENCHMARKS
            .iter()
            .find(|(name, _)| *name == "readwhilewriting")
            .unwrap();
        let Action::Measure(measure) = action else {
            panic!("a tool")
        };
        let workload = measure.workload("readwhilewriting", &flags).unwrap();
        assert_eq!(workload.groups[1].rate, Some(100.0));
        assert_eq!(measure.rate(&workload, &flags).unwrap(), None);
    }
}
