//! The counts, rate and workload of a measured benchmark, given the flags.

use super::flags::Flags;
use anyhow::{bail, ensure};
use tailmark_driver::{Direction, Semantics};
use tailmark_workload::{
    SineRate, Workload,
    db_bench::{
        DbBenchWorkload, Exponential, MixGraph, Op, Order, Pareto, Power, RecordLayout, Sizes,
    },
};

/// A benchmark that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// The row of the table of workloads.
    pub row: &'static str,
    /// Its requirements for the database and the flags.
    pub needs: Needs,
    /// The flag with the number of operations per client.
    pub count: Count,
    /// Whether a duration may end it.
    pub timed: bool,
    /// Whether bytes are counted in the result line.
    pub bytes: bool,
}

/// The requirements of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The database as it is.
    Nothing,
    /// A fresh database.
    Fresh,
    /// A fresh database, synchronous writes, and a thousandth of the records.
    FreshSync,
    /// A fresh database, values of 100,000 bytes, and a thousandth of the records.
    FreshLarge,
    /// A thousandth of the reads.
    FewReads,
    /// One client.
    OneClient,
}

impl Needs {
    /// Whether there are a thousandth of the records.
    pub const fn is_small(self) -> bool {
        matches!(self, Self::FreshSync | Self::FreshLarge)
    }

    /// Whether the database is a fresh one.
    pub const fn is_fresh(self) -> bool {
        matches!(self, Self::Fresh | Self::FreshSync | Self::FreshLarge)
    }
}

/// The flag that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// `--reads`
    Reads,
    /// `--writes`
    Writes,
    /// `--deletes`
    Deletes,
    /// The larger of `--reads` and `--writes`
    Both,
}

impl Measure {
    /// Records, and operations per client, according to flags and requirements.
    ///
    /// # Errors
    /// Names a flag that is out of its range.
    pub fn counts(&self, flags: &Flags) -> anyhow::Result<(u64, u64)> {
        let all: u64 = flags.number("num")?;
        ensure!(all > 0, "--num is 0, but it must be at least 1");
        let mut records = all;
        if self.needs.is_small() {
            records = (all / 1000).max(1);
        }
        let given = |name| Ok::<_, anyhow::Error>(u64::try_from(flags.number::<i64>(name)?).ok());
        let count = match self.count {
            Count::Reads => given("reads")?,
            // Without writes, as many as there are records.
            Count::Writes => given("writes")?.map(|n| if n == 0 { records } else { n }),
            Count::Deletes => given("deletes")?,
            Count::Both => given("reads")?.max(given("writes")?),
        };
        let count = match (self.needs, count.unwrap_or(all)) {
            (Needs::FewReads, count) => (count / 1000).max(1),
            (Needs::OneClient, _) => all,
            (_, count) => count,
        };
        // What goes through the keys in order continues beyond the last.
        let continues = matches!(self.row, "fillseq" | "deleteseq");
        Ok((
            if continues {
                records.max(count)
            } else {
                records
            },
            count,
        ))
    }

    /// The workload, as the flags shape it.
    ///
    /// # Errors
    /// Names a flag that is out of its range.
    pub fn workload(&self, name: &str, flags: &Flags) -> anyhow::Result<Workload> {
        let mut workload = tailmark_workload::find(self.row)?.with_layout(layout(flags)?);
        name.clone_into(&mut workload.name);
        let write_rate: f64 = flags.number("benchmark_write_rate_limit")?;
        let bytes: f64 = flags.number::<f64>("key_size")? + flags.number::<f64>("value_size")?;
        for group in &mut workload.groups {
            if group.is_background() && write_rate > 0.0 {
                group.rate = Some(write_rate / bytes);
            }
            let is_background = group.is_background();
            let Some(db_bench) = group.db_bench_mut() else {
                continue;
            };
            if is_background {
                db_bench.layout.batch = 1;
                db_bench.layout.writes_over = flags.number("bgwriter_num")?;
            }
            match &mut db_bench.op {
                Op::ReadThenWrite { read_percent } => {
                    *read_percent = flags.number("readwritepercent")?;
                }
                Op::Seek {
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
                Op::MixGraph(graph) => *graph = mix_graph(flags)?,
                _ => {}
            }
            let op = db_bench.op;
            if !is_background {
                group.sine = sine(&op, flags)?.map(|(_, sine)| sine);
            }
        }
        workload.validate()?;
        Ok(workload)
    }

    /// Operations per second over all clients, if a flag limits them.
    ///
    /// # Errors
    /// Names a flag that is out of its range.
    pub fn rate(&self, workload: &Workload, flags: &Flags) -> anyhow::Result<Option<f64>> {
        let op = foreground(workload).map(|db_bench| db_bench.op);
        if let Some(op) = &op
            && let Some((mean, _)) = sine(op, flags)?
        {
            return Ok(Some(mean));
        }
        let batch: f64 = flags.number("batch_size")?;
        let rate = match op {
            Some(Op::Write(_) | Op::Update) => {
                flags.number::<f64>("benchmark_write_rate_limit")? / batch_bytes(flags)?
            }
            Some(Op::ReadMany) => flags.number::<f64>("benchmark_read_rate_limit")? / batch,
            Some(Op::Read | Op::ReadMissing | Op::Seek { .. } | Op::Walk(_)) => {
                flags.number("benchmark_read_rate_limit")?
            }
            _ => 0.0,
        };
        Ok((rate > 0.0).then_some(rate))
    }

    /// Records that one operation stands for.
    pub fn batch(&self, workload: &Workload) -> u64 {
        match foreground(workload) {
            Some(db_bench) if is_batched(&db_bench.op) => db_bench.layout.batch.into(),
            _ => 1,
        }
    }
}

/// The work of the point's clients.
pub fn foreground(workload: &Workload) -> Option<&DbBenchWorkload> {
    let group = workload.groups.iter().find(|group| !group.is_background());
    group.and_then(|group| group.db_bench())
}

/// Bytes of a batch of records.
fn batch_bytes(flags: &Flags) -> anyhow::Result<f64> {
    let record: f64 = flags.number::<f64>("key_size")? + flags.number::<f64>("value_size")?;
    Ok(record * flags.number::<f64>("batch_size")?)
}

/// The sinusoidal rate of a flag: its mean in operations per second, and the sine.
/// `--sine_write_rate` speaks of bytes, `--sine_mix_rate` of operations.
fn sine(op: &Op, flags: &Flags) -> anyhow::Result<Option<(f64, SineRate)>> {
    let (flag, interval, unit) = match op {
        Op::Write(_) => (
            "sine_write_rate",
            "sine_write_rate_interval_milliseconds",
            batch_bytes(flags)?,
        ),
        Op::MixGraph(_) => ("sine_mix_rate", "sine_mix_rate_interval_milliseconds", 1.0),
        _ => return Ok(None),
    };
    if !flags.flag(flag) {
        return Ok(None);
    }
    let (mean, millis): (f64, f64) = (flags.number("sine_d")?, flags.number(interval)?);
    ensure!(
        mean > 0.0,
        "--sine_d is {mean}, but with --{flag} it is the mean rate and must be above 0"
    );
    ensure!(
        millis > 0.0,
        "--{interval} is {millis}, but it must be at least 1"
    );
    let sine = SineRate {
        amplitude: flags.number::<f64>("sine_a")? / unit,
        speed: flags.number("sine_b")?,
        phase: flags.number("sine_c")?,
        step_s: millis / 1000.0,
    };
    Ok(Some((mean / unit, sine)))
}

const fn is_batched(op: &Op) -> bool {
    matches!(
        op,
        Op::ReadMany | Op::Write(Order::Sequential | Order::Random | Order::Unique) | Op::Delete(_)
    )
}

fn layout(flags: &Flags) -> anyhow::Result<RecordLayout> {
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
    Ok(RecordLayout {
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
    use super::super::benchmarks::{Action, BENCHMARKS};
    use super::*;

    fn flags(line: &str) -> Flags {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Flags::parse(&words).unwrap()
    }

    fn measure(name: &str) -> Measure {
        let row = BENCHMARKS.iter().find(|(known, _)| *known == name);
        match row.unwrap().1 {
            Action::Measure(measure) => measure,
            Action::Tool(_) => panic!("{name} is a tool"),
        }
    }

    #[test]
    fn every_measured_benchmark_has_a_valid_workload() {
        let flags = flags("");
        for (name, action) in BENCHMARKS {
            if let Action::Measure(measure) = action {
                measure
                    .workload(name, &flags)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }

    #[test]
    fn a_background_writer_has_its_own_rate() {
        let (flags, measure) = (
            flags("--benchmark_write_rate_limit=11600"),
            measure("readwhilewriting"),
        );
        let workload = measure.workload("readwhilewriting", &flags).unwrap();
        assert_eq!(workload.groups[1].rate, Some(100.0));
        assert_eq!(measure.rate(&workload, &flags).unwrap(), None);
    }

    #[test]
    fn a_sine_is_of_operations_in_a_mix_and_of_bytes_in_writes() {
        let given = "--sine_mix_rate --sine_write_rate --sine_a=1160 --sine_b=0.5 --sine_d=11600";
        for (name, mean, amplitude) in [
            ("mixgraph", Some(11_600.0), Some(1160.0)),
            ("overwrite", Some(100.0), Some(10.0)),
            ("readrandom", None, None),
        ] {
            let (flags, measure) = (flags(given), measure(name));
            let workload = measure.workload(name, &flags).unwrap();
            assert_eq!(measure.rate(&workload, &flags).unwrap(), mean, "{name}");
            let sine = workload.groups[0].sine;
            assert_eq!(sine.map(|sine| sine.amplitude), amplitude, "{name}");
            assert!(sine.is_none_or(|sine| (sine.step_s - 10.0).abs() < 1e-9));
        }
        let refused =
            measure("mixgraph").workload("mixgraph", &flags("--sine_mix_rate --sine_d=0"));
        assert!(refused.unwrap_err().to_string().contains("--sine_d is 0"));
    }

    #[test]
    fn counts_are_those_of_db_bench() {
        for (name, given, expected) in [
            ("readrandom", "--num=5000", (5000, 5000)),
            ("readrandom", "--num=5000 --reads=70", (5000, 70)),
            ("readrandomsmall", "--num=5000", (5000, 5)),
            // As many writes as ever, to a thousandth of the keys.
            ("fillsync", "--num=5000", (5, 5000)),
            ("fill100K", "--num=5000 --writes=8", (5, 8)),
            ("fillseq", "--num=5000 --writes=8000", (8000, 8000)),
            ("overwrite", "--num=5000 --writes=8000", (5000, 8000)),
            ("readtocache", "--num=5000 --reads=70", (5000, 5000)),
            ("updaterandom", "--num=5000 --reads=7 --writes=9", (5000, 9)),
        ] {
            let counts = measure(name).counts(&flags(given)).unwrap();
            assert_eq!(counts, expected, "{name} {given}");
        }
    }
}
