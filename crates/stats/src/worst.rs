//! The seconds with the worst latency and what was unusual in them, as a starting point for finding
//! the cause. Unusual at the same time does not mean cause.

use tailmark_model::{
    Bounded, Interval, IntervalKind, Kind, Latencies, Phase, STATISTICS, Series, Span, Statistic,
};

use std::cmp::Ordering;

/// The number of seconds listed.
pub const WORST: usize = 5;
/// A value is unusual if it is that many standard deviations from the usual one, estimated from the
/// median deviation (which a few unusual seconds do not change),
const DEVIATIONS: f64 = 5.0;
/// and larger or smaller by this factor.
const TIMES: f64 = 1.5;
/// For normal samples, the median absolute deviation is this fraction of a standard deviation.
const MEDIAN_OF_DEVIATIONS: f64 = 0.674_5;
/// With fewer samples, the usual value is unknown.
const SAMPLES_MIN: usize = 8;
/// A second in which nothing was done is a stall if the median second has this many requests.
const REQUESTS_MIN: u64 = 100;

/// An interval in which latency was high.
#[derive(Debug, Clone, PartialEq)]
pub struct WorstSecond {
    /// Seconds since the start of the measured part.
    pub start_s: f64,
    /// Seconds.
    pub length_s: f64,
    /// The latency in it.
    pub latency: Bounded,
    /// What was unusual in it, the most unusual first.
    pub unusual: Vec<Unusual>,
}

/// A value that differed from most of the measured part.
#[derive(Debug, Clone, PartialEq)]
pub struct Unusual {
    /// Its subject: `nvme0n1`, `machine`.
    pub subject: String,
    /// What was watched, with its unit.
    pub what: &'static Watched,
    /// Its value in that second.
    pub value: f64,
    /// The median over the measured part.
    pub usual: f64,
}

/// A watched quantity: a row of [`WATCHED`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watched {
    /// Its name in reports.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The probe that samples it.
    pub probe: &'static str,
    /// A counter, whose change per second is watched, or a gauge.
    pub series: &'static str,
    /// A counter whose change it is divided by: time per request.
    pub per: Option<&'static str>,
}

impl Watched {
    const fn new(
        name: &'static str,
        unit: &'static str,
        probe: &'static str,
        series: &'static str,
    ) -> Self {
        Self {
            name,
            unit,
            probe,
            series,
            per: None,
        }
    }

    const fn per(self, count: &'static str) -> Self {
        Self {
            per: Some(count),
            ..self
        }
    }
}

/// Every watched quantity.
pub const WATCHED: &[Watched] = &[
    Watched::new("time of a read at the device", "s", "disk", "read_s").per("reads"),
    Watched::new("time of a write at the device", "s", "disk", "write_s").per("writes"),
    Watched::new("requests queued at the device", "", "disk", "weighted_s"),
    Watched::new("read from the device", "bytes/s", "disk", "read_bytes"),
    Watched::new("written to the device", "bytes/s", "disk", "write_bytes"),
    Watched::new(
        "discarded on the device",
        "bytes/s",
        "disk",
        "discard_bytes",
    ),
    Watched::new("flushes of the device", "1/s", "disk", "flushes"),
    Watched::new("flushes of the database", "1/s", "database", "flushes"),
    Watched::new("compactions", "1/s", "database", "compactions"),
    Watched::new("compactions", "1/s", "database", "compaction_tasks"),
    Watched::new(
        "writers held back by the database",
        "s/s",
        "database",
        "stall_s",
    ),
    Watched::new(
        "compaction pending",
        "bytes",
        "database",
        "pending_compaction_bytes",
    ),
    Watched::new("processors, system", "cores", "cpu", "system_s"),
    Watched::new("processors, user", "cores", "cpu", "user_s"),
    Watched::new("processors stolen", "cores", "cpu", "steal_s"),
    Watched::new("waiting for I/O", "s/s", "pressure", "io_some_s"),
    Watched::new("waiting for a processor", "s/s", "pressure", "cpu_some_s"),
    Watched::new("waiting for memory", "s/s", "pressure", "memory_some_s"),
    Watched::new("page faults with I/O", "1/s", "process", "major_faults"),
    Watched::new(
        "memory to be written back",
        "bytes",
        "memory",
        "dirty_bytes",
    ),
];

/// The seconds with the worst latency, the worst first, and the latency: the requested statistic,
/// or the next lower one with enough samples in most seconds. `None` if there is none.
///
/// A stalled second has few samples because it stalled. Its latency is that of the same rank, and
/// at least its length if nothing was done in it.
pub fn worst_seconds(
    phase: &Phase,
    kind: Kind,
    wanted: Statistic,
) -> Option<(Statistic, Vec<WorstSecond>)> {
    let within = phase.intervals.iter();
    let within = within.filter(|interval| interval.start_s < phase.duration_s);
    let unpacked: Vec<(&Interval, Latencies)> = within
        .filter_map(|interval| Some((interval, response(interval.kinds.get(&kind)?))))
        .collect();
    let not_above = STATISTICS.iter().rev();
    let mut not_above = not_above.skip_while(|statistic| statistic.name != wanted.name);
    let (statistic, mut known) = not_above.find_map(|&statistic| {
        let of_each = unpacked.iter().filter_map(|(interval, latencies)| {
            let known = interval.kinds[&kind].known(latencies);
            Some((*interval, statistic.value(known)?))
        });
        let known: Vec<(&Interval, Bounded)> = of_each.collect();
        (!known.is_empty() && known.len() * 2 >= unpacked.len()).then_some((statistic, known))
    })?;
    let rank = |bounded: &Bounded| (!bounded.is_exact(), bounded.value);
    let rest = stalled(phase, (kind, statistic), &unpacked, &known);
    known.extend(rest);
    known.sort_by(|a, b| {
        rank(&b.1)
            .partial_cmp(&rank(&a.1))
            .unwrap_or(Ordering::Equal)
    });
    known.truncate(WORST);
    let tracks = tracks(phase);
    let second = |(interval, latency): (&Interval, Bounded)| WorstSecond {
        start_s: interval.start_s,
        length_s: interval.length_s,
        latency,
        unusual: unusual(&tracks, interval),
    };
    Some((statistic, known.into_iter().map(second).collect()))
}

/// The whole seconds in which too few requests were done for a quantile, or none at all.
fn stalled<'a>(
    phase: &'a Phase,
    (kind, statistic): (Kind, Statistic),
    unpacked: &[(&'a Interval, Latencies)],
    known: &[(&'a Interval, Bounded)],
) -> Vec<(&'a Interval, Bounded)> {
    let is_whole =
        |interval: &Interval| interval.start_s + interval.length_s <= phase.duration_s + 1e-6;
    let is_known = |interval: &Interval| {
        let mut starts = known.iter().map(|(own, _)| own.start_s);
        starts.any(|start| start == interval.start_s)
    };
    let few = unpacked.iter();
    let few = few.filter(|(interval, _)| is_whole(interval) && !is_known(interval));
    let few = few.filter_map(|(interval, latencies)| {
        let own = interval.kinds[&kind].known(latencies);
        Some((*interval, own.at_rank_of(statistic.quantile?)?))
    });
    let mut counts: Vec<u64> = unpacked.iter().map(|(_, own)| own.len()).collect();
    counts.sort_unstable();
    let is_busy = counts
        .get(counts.len() / 2)
        .is_some_and(|median| *median >= REQUESTS_MIN);
    let silent = phase.intervals.iter();
    let silent = silent.filter(|own| is_busy && own.operations == 0 && is_whole(own));
    let silent = silent.map(|own| (own, Bounded::at_least(own.length_s * 1e9)));
    few.chain(silent).collect()
}

/// Response time if it was recorded, otherwise service time.
fn response(result: &IntervalKind) -> Latencies {
    result.response.as_ref().unwrap_or(&result.service).unpack()
}

fn unusual(tracks: &[Track<'_>], interval: &Interval) -> Vec<Unusual> {
    let at = tracks.iter().filter_map(|track| track.unusual(interval));
    let mut unusual: Vec<(f64, Unusual)> = at.collect();
    unusual.sort_by(|a, b| b.0.total_cmp(&a.0));
    unusual.into_iter().map(|(_, unusual)| unusual).collect()
}

/// A watched quantity over the measured part.
struct Track<'a> {
    what: &'static Watched,
    subject: &'a str,
    spans: Vec<Span>,
    median: f64,
    deviation: f64,
}

fn tracks(phase: &Phase) -> Vec<Track<'_>> {
    let mut tracks = Vec::new();
    for what in WATCHED {
        // Of processors the machine as a whole.
        let is_core = |series: &Series| series.probe == "cpu" && series.subject != "machine";
        let is_it = |series: &&Series| series.probe == what.probe && series.name == what.series;
        for series in phase.series.iter().filter(is_it).filter(|s| !is_core(s)) {
            let per = what.per.map(|name| {
                let is_count = |other: &&Series| {
                    (other.probe == what.probe && other.name == name)
                        && other.subject == series.subject
                };
                phase.series.iter().find(is_count)
            });
            let spans = match per {
                None => series.spans(),
                Some(None) => continue,
                Some(Some(count)) => divided(series.spans(), &count.spans()),
            };
            tracks.extend(Track::new(what, &series.subject, spans, phase.duration_s));
        }
    }
    tracks
}

impl<'a> Track<'a> {
    /// `None` if there are too few samples.
    fn new(
        what: &'static Watched,
        subject: &'a str,
        mut spans: Vec<Span>,
        end_s: f64,
    ) -> Option<Self> {
        spans.retain(|span| span.from_s > -0.5 && span.until_s < end_s + 0.5);
        if spans.len() < SAMPLES_MIN {
            return None;
        }
        let median = median(spans.iter().map(|span| span.value));
        let deviation = self::median(spans.iter().map(|span| (span.value - median).abs()));
        Some(Self {
            what,
            subject,
            spans,
            median,
            deviation: deviation / MEDIAN_OF_DEVIATIONS,
        })
    }

    /// How unusual it was in an interval, in deviations; `None` if it was not unusual.
    fn unusual(&self, interval: &Interval) -> Option<(f64, Unusual)> {
        let (start, end) = (interval.start_s, interval.start_s + interval.length_s);
        let overlap = |span: &&Span| span.until_s.min(end) - span.from_s.max(start);
        let spans = self.spans.iter().filter(|span| overlap(span) > 0.0);
        let nearest = spans.max_by(|a, b| overlap(a).total_cmp(&overlap(b)))?;
        let (value, usual) = (nearest.value, self.median);
        let (less, more) = (value.min(usual), value.max(usual));
        // A constant value is unusual as soon as it changes noticeably.
        let deviation = self.deviation.max(more * 0.05);
        let away = (value - usual).abs() / deviation;
        let is_unusual = away >= DEVIATIONS && more >= TIMES * less;
        is_unusual.then(|| {
            let unusual = Unusual {
                subject: self.subject.to_owned(),
                what: self.what,
                value,
                usual,
            };
            (away, unusual)
        })
    }
}

/// Time per request, if there were any.
fn divided(seconds: Vec<Span>, counts: &[Span]) -> Vec<Span> {
    let pairs = seconds.into_iter().zip(counts);
    let each = pairs.filter(|(_, count)| count.value > 0.0);
    each.map(|(span, count)| Span {
        value: span.value / count.value,
        ..span
    })
    .collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

#[cfg(test)]
mod tests;
