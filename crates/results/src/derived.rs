//! What follows from the samples of a phase: how long requests waited at the devices, bytes at the
//! device for each byte that clients asked for, processor time of an operation. The one place that
//! computes it, so that reports and exports say the same.
//!
//! Everything is a mean over the measured part; of several devices what can be summed is summed.

use crate::{
    Kind, Phase, Series, SeriesKind,
    steady::{DATABASE, PENDING_COMPACTION},
};

/// A figure: a row of [`DERIVED`].
#[derive(Debug, Clone, Copy)]
pub struct Derived {
    /// Its name in exports, unit last.
    pub name: &'static str,
    /// What a report calls it, with its unit.
    pub title: &'static str,
    /// Its unit; empty for a ratio.
    pub unit: &'static str,
    /// Where it comes from, in one line.
    pub about: &'static str,
    /// The figure; none where it was not sampled, or there was nothing to divide by.
    pub of: fn(&Phase) -> Option<f64>,
}

/// Every figure, in the order of reports.
pub const DERIVED: &[Derived] = &[
    Derived {
        name: "device_reads_per_sec",
        title: "reads/s",
        unit: "1/s",
        about: "requests to read that the devices completed",
        of: |phase| phase.sampled("disk").rate("reads"),
    },
    Derived {
        name: "device_writes_per_sec",
        title: "writes/s",
        unit: "1/s",
        about: "requests to write that the devices completed",
        of: |phase| phase.sampled("disk").rate("writes"),
    },
    Derived {
        name: "device_read_await_us",
        title: "read await, us",
        unit: "us",
        about: "how long a request to read took at the devices in the mean, queueing included",
        of: |phase| phase.sampled("disk").mean_us("read_s", "reads"),
    },
    Derived {
        name: "device_write_await_us",
        title: "write await, us",
        unit: "us",
        about: "how long a request to write took at the devices in the mean, queueing included",
        of: |phase| phase.sampled("disk").mean_us("write_s", "writes"),
    },
    Derived {
        name: "device_queue",
        title: "queue",
        unit: "",
        about: "requests queued or under way at the devices, in the mean",
        of: |phase| phase.sampled("disk").rate("weighted_s"),
    },
    Derived {
        name: "read_amplification",
        title: "read at the device per byte",
        unit: "",
        about: "bytes read from the devices for each byte that clients read",
        of: |phase| phase.per_byte("read_bytes", &[Kind::Read, Kind::Scan]),
    },
    Derived {
        name: "write_amplification",
        title: "written at the device per byte",
        unit: "",
        about: "bytes written to the devices for each byte that clients wrote",
        of: |phase| phase.per_byte("write_bytes", &[Kind::Insert, Kind::Update]),
    },
    Derived {
        name: "client_cpu_us_per_op",
        title: "client CPU per operation, us",
        unit: "us",
        about: "processor time of this process for each operation, an embedded database included",
        of: |phase| phase.per_operation_us("process", CPU_S),
    },
    Derived {
        name: "cpu_busy_percent",
        title: "processors busy, %",
        unit: "%",
        about: "share of the time of all processors of the machine that was not idle",
        of: |phase| phase.cpu_percent(|name| !matches!(name, "idle_s" | "iowait_s")),
    },
    Derived {
        name: "cpu_steal_percent",
        title: "steal, %",
        unit: "%",
        about: "share of the time of all processors that the hypervisor gave to others",
        of: |phase| phase.cpu_percent(|name| name == "steal_s"),
    },
    Derived {
        name: "io_stalled_percent",
        title: "waited for I/O, %",
        unit: "%",
        about: "share of the time in which some task of the machine waited for I/O",
        of: |phase| Some(100.0 * phase.sampled("pressure").rate("io_some_s")?),
    },
    Derived {
        name: "pending_compaction_bytes",
        title: "compaction pending",
        unit: "bytes",
        about: "what compactions had yet to rewrite, in the mean",
        of: |phase| phase.sampled(DATABASE).mean(PENDING_COMPACTION),
    },
];

/// Counters of processor time.
const CPU_S: [&str; 2] = ["user_s", "system_s"];

/// The series of one probe during a phase.
#[derive(Debug, Clone, Copy)]
pub struct Sampled<'a> {
    phase: &'a Phase,
    probe: &'static str,
}

impl Phase {
    /// What a probe sampled.
    #[must_use]
    pub const fn sampled(&self, probe: &'static str) -> Sampled<'_> {
        Sampled { phase: self, probe }
    }

    /// Bytes at the devices for each byte of these kinds.
    fn per_byte(&self, counter: &str, kinds: &[Kind]) -> Option<f64> {
        let of_kinds = kinds.iter().filter_map(|kind| self.kinds.get(kind));
        let bytes: u64 = of_kinds.map(|result| result.bytes).sum();
        let at_device = self.sampled("disk").rate(counter)? * self.duration_s;
        (bytes > 0).then(|| at_device / bytes as f64)
    }

    /// Of counters in seconds, for each operation, microseconds.
    fn per_operation_us(&self, probe: &'static str, counters: [&str; 2]) -> Option<f64> {
        let [a, b] = counters.map(|name| self.sampled(probe).rate(name));
        let seconds = (a? + b?) * self.duration_s;
        (self.operations > 0).then(|| seconds * 1e6 / self.operations as f64)
    }

    /// The share that these counters have of the time of all processors.
    fn cpu_percent(&self, is_meant: fn(&str) -> bool) -> Option<f64> {
        let machine = self.series.iter().filter(|series| {
            let is_time = series.kind == SeriesKind::Counter && series.name.ends_with("_s");
            series.probe == "cpu" && series.subject == "machine" && is_time
        });
        let (mut all, mut meant) = (0.0, None);
        for series in machine {
            let rate = series.mean_rate(self.duration_s)?;
            all += rate;
            if is_meant(&series.name) {
                meant = Some(meant.unwrap_or(0.0) + rate);
            }
        }
        meant.filter(|_| all > 0.0).map(|meant| 100.0 * meant / all)
    }
}

impl Sampled<'_> {
    fn named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Series> {
        let series = self.phase.series.iter();
        series.filter(move |series| series.probe == self.probe && series.name == name)
    }

    /// Change per second of a counter, of all that were sampled together.
    #[must_use]
    pub fn rate(&self, name: &str) -> Option<f64> {
        let mut of_each = self.named(name).peekable();
        of_each.peek()?;
        of_each.map(|of| of.mean_rate(self.phase.duration_s)).sum()
    }

    /// The same of one subject alone.
    #[must_use]
    pub fn rate_of(&self, subject: &str, name: &str) -> Option<f64> {
        let mut named = self.named(name);
        let series = named.find(|series| series.subject == subject)?;
        series.mean_rate(self.phase.duration_s)
    }

    /// The mean of a gauge in the measured part, of all together.
    #[must_use]
    pub fn mean(&self, name: &str) -> Option<f64> {
        let mut of_each = self.named(name).peekable();
        of_each.peek()?;
        let mean = |series: &Series| {
            let samples = series.at_s.iter().zip(&series.values);
            let inside = samples.filter(|(at, _)| (0.0..=self.phase.duration_s).contains(*at));
            let (sum, n) = inside.fold((0.0, 0), |(sum, n), (_, value)| (sum + value, n + 1));
            (n > 0).then(|| sum / f64::from(n))
        };
        of_each.map(mean).sum()
    }

    /// Time for each of what was counted meanwhile, microseconds; none where nothing was.
    fn mean_us(&self, seconds: &str, count: &str) -> Option<f64> {
        let (seconds, count) = (self.rate(seconds)?, self.rate(count)?);
        (count > 0.0).then(|| seconds * 1e6 / count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KindResult;
    use std::collections::BTreeMap;

    fn counter(probe: &str, subject: &str, name: &str, per_s: f64) -> Series {
        Series {
            probe: probe.to_owned(),
            subject: subject.to_owned(),
            name: name.to_owned(),
            kind: SeriesKind::Counter,
            at_s: vec![0.0, 5.0, 10.0],
            values: vec![7.0, 7.0 + 5.0 * per_s, 7.0 + 10.0 * per_s],
        }
    }

    /// 1,000 reads of 100 bytes and 500 updates of 200 in 10 s, on two disks.
    fn phase() -> Phase {
        let disk = |subject: &str, share: f64| {
            let rates = [
                ("reads", 50.0),
                ("read_s", 0.01),
                ("read_bytes", 20_000.0),
                ("writes", 10.0),
                ("write_s", 0.05),
                ("write_bytes", 40_000.0),
                ("weighted_s", 2.0),
            ];
            rates.map(|(name, rate)| counter("disk", subject, name, rate * share))
        };
        let cpu = [
            ("user_s", 1.0),
            ("steal_s", 0.5),
            ("idle_s", 2.0),
            ("iowait_s", 0.5),
        ];
        let cpu = cpu.map(|(name, rate)| counter("cpu", "machine", name, rate));
        let mut series: Vec<Series> = [disk("a", 1.0), disk("b", 3.0)].concat();
        series.extend(cpu);
        series.push(counter("cpu", "cpu0", "user_s", 1.0));
        series.push(counter("process", "process", "user_s", 0.1));
        series.push(counter("process", "process", "system_s", 0.05));
        series.push(counter("pressure", "machine", "io_some_s", 0.25));
        let kind = |count, bytes| KindResult {
            count,
            bytes,
            ..KindResult::default()
        };
        let kinds = [
            (Kind::Read, kind(1_000, 100_000)),
            (Kind::Update, kind(500, 100_000)),
        ];
        Phase {
            duration_s: 10.0,
            operations: 1_500,
            kinds: BTreeMap::from(kinds),
            series,
            ..Phase::default()
        }
    }

    fn value(phase: &Phase, name: &str) -> Option<f64> {
        let row = DERIVED.iter().find(|row| row.name == name).unwrap();
        (row.of)(phase)
    }

    #[test]
    fn every_figure_is_what_it_says() {
        let phase = phase();
        for (name, expected) in [
            ("device_reads_per_sec", 200.0),
            ("device_writes_per_sec", 40.0),
            ("device_read_await_us", 200.0),
            ("device_write_await_us", 5_000.0),
            ("device_queue", 8.0),
            ("read_amplification", 8.0),
            ("write_amplification", 16.0),
            ("client_cpu_us_per_op", 1_000.0),
            ("cpu_busy_percent", 37.5),
            ("cpu_steal_percent", 12.5),
            ("io_stalled_percent", 25.0),
        ] {
            let value = value(&phase, name).unwrap();
            assert!((value / expected - 1.0).abs() < 1e-9, "{name}: {value}");
        }
    }

    #[test]
    fn what_was_not_sampled_or_has_nothing_to_be_divided_by_is_none() {
        let none = Phase {
            series: Vec::new(),
            ..phase()
        };
        assert!(DERIVED.iter().all(|row| (row.of)(&none).is_none()));
        let idle = Phase {
            kinds: BTreeMap::new(),
            operations: 0,
            ..phase()
        };
        assert_eq!(value(&idle, "read_amplification"), None);
        assert_eq!(value(&idle, "client_cpu_us_per_op"), None);
    }

    #[test]
    fn names_are_unique_and_say_their_unit() {
        let names: std::collections::BTreeSet<_> = DERIVED.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), DERIVED.len());
        assert!(DERIVED.iter().all(|row| !row.about.contains('\n')));
    }
}
