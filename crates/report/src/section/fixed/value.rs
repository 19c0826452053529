//! A value at a fixed rate or latency: measured, searched or read off a curve.

use crate::{
    grid_cell::GridCell,
    reading::{self, CurvePoint},
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{
    Arrivals, Bound, Bounded, Kind, PointKey, Statistic, TimeBasis,
    finding::{CLIENT_SATURATED, RATE_NOT_MET},
};
use tailmark_stats::slo::Answer;

/// A value and its source.
#[derive(Debug, Clone)]
pub enum Reading<'g, 'a> {
    /// Of points at that rate, which have their comparisons.
    Measured {
        value: Bounded,
        group: &'g WorkloadGrid<'a>,
        cell: &'g GridCell<'a>,
    },
    /// By a search: the highest rate that held the limit and the lowest that did not.
    Searched { answer: Answer, is_quick: bool },
    /// Of a point of the curve of a closed loop that is exactly at the rate or latency; a bound if
    /// the clients were the limit of a point.
    Met(Bounded),
    /// Between two points of the curve of a closed loop; a bound as of `Met`.
    Interpolated(Bounded),
    /// Of a latency that no point of the curve gets to: the most ops/s within it, and where they were
    /// measured.
    Within(f64, WithinAt),
    /// Of a latency that every point of the curve is above.
    Exceeds,
    /// Of a rate below the curve: the latency at its first point, which has more ops/s.
    Below(f64),
    /// Of a rate beyond the curve: its most ops/s.
    NotReached(f64),
}

/// Where the most ops/s within a latency were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithinAt {
    ClosedLoop,
    Rate,
    Search,
}

impl WithinAt {
    const fn text(self) -> &'static str {
        match self {
            Self::ClosedLoop => "measured in a closed loop",
            Self::Rate => "measured at that rate",
            Self::Search => "measured by a search",
        }
    }
}

impl Reading<'_, '_> {
    pub const fn value(&self) -> f64 {
        match self {
            Self::Measured { value, .. } | Self::Met(value) | Self::Interpolated(value) => {
                value.value
            }
            Self::Within(value, _) => *value,
            Self::Searched { answer, .. } => match answer.low {
                Some(low) => low,
                None => 0.0,
            },
            Self::Below(ns) => *ns,
            Self::Exceeds => 0.0,
            Self::NotReached(_) => f64::INFINITY,
        }
    }

    /// The number; `None` if there is none, as for a search without a result.
    pub fn bounded(&self) -> Option<Bounded> {
        Some(match self {
            Self::Measured { value, .. } | Self::Met(value) | Self::Interpolated(value) => *value,
            Self::Searched { answer, .. } => match (answer.low?, answer.high) {
                (low, None) => Bounded::at_least(low),
                (low, Some(_)) => Bounded::exact(low),
            },
            Self::Within(value, _) => Bounded::at_least(*value),
            Self::Below(ns) => Bounded::at_most(*ns),
            Self::Exceeds | Self::NotReached(_) => return None,
        })
    }

    /// Whether it was never measured.
    pub const fn is_interpolated(&self) -> bool {
        matches!(self, Self::Interpolated(_))
    }

    /// Whether it is read off the curve of a closed loop, or known by it.
    pub const fn is_of_curve(&self) -> bool {
        matches!(
            self,
            Self::Met(_)
                | Self::Interpolated(_)
                | Self::Within(..)
                | Self::Exceeds
                | Self::Below(_)
                | Self::NotReached(_)
        )
    }

    /// Whether a point at the rate did not reach it: how slow it was then says how long the point was.
    pub fn is_not_reached(&self) -> bool {
        match self {
            Self::Measured { cell, .. } => cell.has_finding(&RATE_NOT_MET),
            _ => false,
        }
    }

    /// Two values form a ratio only if both have the same source.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Measured { group: a, .. }, Self::Measured { group: b, .. }) => {
                a.arrivals == b.arrivals
            }
            (Self::Searched { .. }, Self::Searched { .. }) => true,
            _ => self.is_of_curve() && other.is_of_curve(),
        }
    }

    pub fn source(&self) -> String {
        match self {
            Self::Measured { group, .. } => match group.arrivals {
                Some(arrivals) => format!("measured, {} arrivals", arrivals.name()),
                None => "measured".to_owned(),
            },
            Self::Searched { is_quick: true, .. } => "measured by a quick search".to_owned(),
            Self::Searched { .. } => "measured by a search".to_owned(),
            Self::Interpolated(_) => "interpolated".to_owned(),
            Self::Within(_, at) => at.text().to_owned(),
            Self::Met(_) | Self::Exceeds | Self::Below(_) | Self::NotReached(_) => {
                WithinAt::ClosedLoop.text().to_owned()
            }
        }
    }
}

/// How the first relates to the second. For two searches whose ranges do not overlap, it is the
/// smallest possible distance: the lower end of the higher one relative to the upper end of the
/// lower one. `None` if neither side is known.
pub fn ratio(a: &Reading<'_, '_>, b: &Reading<'_, '_>) -> Option<Bounded> {
    if let (Reading::Searched { answer: a, .. }, Reading::Searched { answer: b, .. }) = (a, b) {
        let at_least = |low: f64, high: f64| (low > high).then(|| Bounded::at_least(low / high));
        let is_more = a
            .low
            .zip(b.high)
            .and_then(|(low, high)| at_least(low, high));
        let is_less = || {
            let more = b
                .low
                .zip(a.high)
                .and_then(|(low, high)| at_least(low, high));
            more.map(|more| Bounded {
                value: 1.0 / more.value,
                bound: Bound::AtMost,
            })
        };
        return is_more.or_else(is_less);
    }
    let bound = a.bounded()?.bound.and(b.bounded()?.bound.reversed())?;
    let value = a.value() / b.value();
    Some(Bounded { value, bound })
}

/// The response time of points at the rate; with several client counts, of the highest.
pub fn measured<'g, 'a>(
    sweep: &'g SweepTable<'a>,
    group: &WorkloadGrid<'a>,
    system: &'a str,
    (kind, statistic): (Kind, Statistic),
    (rate, arrivals): (f64, Option<Arrivals>),
) -> Option<Reading<'g, 'a>> {
    let cells = at_rate(sweep, group, system, rate);
    let valid = cells.filter(|(own, cell)| own.arrivals == arrivals && cell.fault.is_none());
    let (own, cell) = valid.max_by_key(|(_, cell)| cell.step.threads)?;
    Some(Reading::Measured {
        value: cell.latency(kind, TimeBasis::Response, statistic)?.middle,
        group: own,
        cell,
    })
}

/// The cells of a system in a workload at a rate, each with its grid.
pub fn at_rate<'g, 'a>(
    sweep: &'g SweepTable<'a>,
    group: &WorkloadGrid<'a>,
    system: &'a str,
    rate: f64,
) -> impl Iterator<Item = (&'g WorkloadGrid<'a>, &'g GridCell<'a>)> {
    let (workload, distribution) = (group.workload.clone(), group.distribution.clone());
    let groups = sweep.all_groups();
    let own = groups
        .filter(move |other| other.workload == workload && other.distribution == distribution);
    own.flat_map(move |other| {
        let is_at = move |cell: &&GridCell<'a>| cell.step.rate.or(other.rate) == Some(rate);
        let cells = other.cells_of(system).filter(is_at);
        cells.map(move |cell| (other, cell))
    })
}

/// The curve of a system by client count in a closed loop, from the first point with an exact
/// latency to the next point that is a bound, invalid or missing, because nothing is read across a
/// gap. Earlier points still count in two ways: operations per second may fall after them, and
/// clients may have been the limit.
pub struct ClosedLoop {
    points: Vec<CurvePoint>,
    /// The number of points before the first at which the clients were the limit.
    own: usize,
    /// Whether a point before the first has no exact latency.
    has_before: bool,
    /// The known points after the gap, if there is one.
    beyond: Vec<CurvePoint>,
}

impl ClosedLoop {
    pub fn new<'a>(
        group: &WorkloadGrid<'a>,
        system: &'a str,
        (kind, statistic): (Kind, Statistic),
    ) -> Self {
        let point = |cell: &GridCell<'_>| {
            let ns = cell.latency(kind, TimeBasis::Response, statistic)?.middle;
            let is_known = cell.fault.is_none() && ns.is_exact() && ns.value > 0.0;
            let ops = cell.ops()?.middle;
            let point = CurvePoint { ops, ns: ns.value };
            is_known.then(|| (point, cell.has_finding(&CLIENT_SATURATED)))
        };
        // In a closed loop response time is service time, but for background clients at a rate.
        let steps = group.steps.iter().filter(|_| group.has_peaks());
        let steps = steps.filter(|step| group.is_expected(system, **step));
        let cells = || steps.clone().map(|&step| group.cell(system, step));
        let lacks = |cell: &Option<&GridCell<'_>>| cell.and_then(point).is_none();
        let before = cells().take_while(lacks).flatten();
        let before: Vec<_> = before.filter(|cell| cell.fault.is_none()).collect();
        let ops_before = before.iter().filter_map(|cell| Some(cell.ops()?.middle));
        let ops_before = ops_before.fold(0.0, f64::max);
        let points = cells().skip_while(lacks);
        let points = points.map_while(|cell| cell.and_then(point));
        let points = points.take_while(|(own, _)| !reading::falls(own.ops, ops_before));
        let (points, limited): (Vec<_>, Vec<_>) = points.unzip();
        let own = limited.iter().position(|limited| *limited);
        let own = own.unwrap_or(points.len());
        let known = cells().filter_map(|cell| cell.and_then(point));
        let beyond = known.map(|(known, _)| known).skip(points.len());
        let is_limited_before = before.iter().any(|c| c.has_finding(&CLIENT_SATURATED));
        Self {
            own: if is_limited_before { 0 } else { own },
            has_before: cells().next().is_some_and(|first| lacks(&first)),
            beyond: beyond.collect(),
            points,
        }
    }

    /// The latency at a rate. It is an upper bound if the clients were the limit, because the
    /// system would have reached the rate with fewer of them.
    pub fn latency_at<'g, 'a>(&self, ops: f64) -> Option<Reading<'g, 'a>> {
        let read = self.read(Bound::AtMost, |curve| reading::latency_at(curve, ops))?;
        Some(self.reading(
            read,
            CurvePoint {
                ops,
                ns: read.value,
            },
        ))
    }

    /// The rate at a latency. It is a lower bound if the clients were the limit. `None` if a point with
    /// more ops/s is within the latency, which contradicts it.
    pub fn ops_at<'g, 'a>(&self, ns: f64) -> Option<Reading<'g, 'a>> {
        let read = self.read(Bound::AtLeast, |curve| reading::ops_at(curve, ns))?;
        let is_exceeded = self.most_within(ns).is_some_and(|most| most > read.value);
        let crossed = self.reading(
            read,
            CurvePoint {
                ops: read.value,
                ns,
            },
        );
        (!is_exceeded).then_some(crossed)
    }

    fn reading<'g, 'a>(&self, read: Bounded, at: CurvePoint) -> Reading<'g, 'a> {
        if self.points.contains(&at) {
            Reading::Met(read)
        } else {
            Reading::Interpolated(read)
        }
    }

    /// The most operations per second of any known point within a latency, also after a fall or a gap.
    pub fn most_within(&self, ns: f64) -> Option<f64> {
        reading::most_within(self.points.iter().chain(&self.beyond), ns)
    }

    /// The latency at the first point, if that has more ops/s than a rate.
    pub fn latency_below(&self, ops: f64) -> Option<f64> {
        let first = self.points.first().filter(|_| !self.has_before)?;
        (ops < first.ops).then_some(first.ns)
    }

    fn read(&self, limited: Bound, read: impl Fn(&[CurvePoint]) -> Option<f64>) -> Option<Bounded> {
        let value = read(&self.points)?;
        let is_own = read(&self.points[..self.own]) == Some(value);
        let bound = if is_own { Bound::Exact } else { limited };
        Some(Bounded { value, bound })
    }
}

/// Whether every point of a system by client count is known to be above a latency, from the fewest
/// clients of the workload on.
pub fn is_above<'a>(
    group: &WorkloadGrid<'a>,
    system: &'a str,
    (kind, statistic): (Kind, Statistic),
    ns: f64,
) -> bool {
    let is = |cell: &GridCell<'_>| {
        let known = cell.latency(kind, TimeBasis::Response, statistic);
        cell.fault.is_none() && known.is_some_and(|latency| latency.middle.value > ns)
    };
    let first = group.steps.first();
    group.has_peaks()
        && first.is_some_and(|&first| group.cell(system, first).is_some())
        && group.cells_of(system).all(is)
}

/// The most ops/s of a system by client count, if a rate is beyond all of its points, and each of
/// them is valid.
pub fn most_below<'a>(group: &WorkloadGrid<'a>, system: &'a str, rate: f64) -> Option<f64> {
    let cells = || group.cells_of(system);
    let is_known =
        |cell: &GridCell<'_>| cell.fault.is_none() && !cell.has_finding(&CLIENT_SATURATED);
    let all = cells().filter_map(|cell| Some(cell.ops()?.middle));
    let most = all.reduce(f64::max)?;
    (group.has_peaks() && most < rate && cells().all(is_known)).then_some(most)
}

/// The highest rate of a system at which the latency was measured to be within a limit, by a point
/// at that rate.
pub fn rate_within<'a>(
    sweep: &SweepTable<'a>,
    group: &WorkloadGrid<'a>,
    system: &'a str,
    (kind, statistic): (Kind, Statistic),
    ns: f64,
) -> Option<f64> {
    let own = sweep.all_groups().filter(|other| {
        !other.has_peaks()
            && other.workload == group.workload
            && other.distribution == group.distribution
    });
    let within = own.flat_map(|other| other.cells_of(system)).filter(|cell| {
        let known = cell.latency(kind, TimeBasis::Response, statistic);
        let is_within = known.is_some_and(|latency| {
            latency.middle.bound != Bound::AtLeast && latency.middle.value <= ns
        });
        cell.fault.is_none() && !cell.has_finding(&RATE_NOT_MET) && is_within
    });
    let rates = within.filter_map(|cell| Some(cell.ops()?.middle));
    rates.reduce(f64::max)
}

/// The operations per second of a peak at an unknown thread count, if its latency is within a limit.
pub fn peak_within<'a>(
    group: &WorkloadGrid<'a>,
    system: &'a str,
    (kind, statistic): (Kind, Statistic),
    ns: f64,
) -> Option<f64> {
    let cells = group.cells_of(system);
    let mut peaks =
        cells.filter(|cell| cell.step.threads == PointKey::PEAK && cell.fault.is_none());
    let peak = peaks.next()?;
    let latency = peak.latency(kind, TimeBasis::Response, statistic)?.middle;
    let is_within = latency.is_exact() && latency.value <= ns;
    peak.ops().filter(|_| is_within).map(|ops| ops.middle)
}
