//! A trial: a rate, its measurements, and its verdicts on the limits.

use super::{
    Answer, Next, ShareOver, Status, Verdict,
    blame::{self, Cause, Clients},
    counts::{self, Count},
    is_rising,
    search::{self, Tried, tries_left},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tailmark_model::{
    Bounded, Finding, FindingCode, Kind, Limit, Metric, MoneyBasis, Phase, Point, PointKey,
    SloSettings, TimeBasis,
    finding::{CLIENT_SATURATED, CLIENT_STOPPED, NO_ANSWER, NOTHING_FOUND},
};

/// The result of a trial in a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// System, workload and rate. The repeat counts the trials of that rate.
    pub key: PointKey,
    /// The verdict on all limits.
    pub verdict: Verdict,
    /// The verdict on each limit, in the order of the plan; empty if its kind was never requested.
    pub limits: Vec<TrialResult>,
    /// Completed operations per second.
    pub ops_per_sec: f64,
    /// Its duration with the warm-up.
    pub took: Duration,
    /// Why the clients are the limit or the trial gives no answer, if so.
    pub evidence: Option<String>,
    /// Findings that qualify it.
    pub findings: Vec<Finding>,
    /// Metrics besides rates and latencies of requests.
    pub figures: BTreeMap<Metric, Bounded>,
    /// The basis of those that are money.
    pub money: MoneyBasis,
    /// Mean time of a request from when it was sent, nanoseconds.
    service_ns: f64,
    /// Whether the clients are the limit because none was free.
    had_no_client: bool,
}

/// The result of a trial for one limit.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialResult {
    /// The limit.
    pub limit: Limit,
    /// The share over it; `None` if too little was measured.
    pub over: Option<ShareOver>,
    /// The measured quantile; `None` if too few samples lie beyond it.
    pub value: Option<Bounded>,
    /// Whether it holds.
    pub verdict: Verdict,
    /// The counts of each block.
    pub blocks: Vec<Count>,
}

impl Trial {
    /// The result of the phase of a trial.
    pub fn from_point(point: &Point, settings: &SloSettings) -> Self {
        let Point { key, phase } = point;
        let (limits, verdict, cause) = judge(point, settings);
        Self {
            key: key.clone(),
            verdict,
            limits,
            ops_per_sec: phase.ops_per_sec(),
            took: settings.warmup + Duration::from_secs_f64(phase.duration_s.max(0.0)),
            had_no_client: cause.as_ref().is_some_and(|cause| cause.is_no_client),
            evidence: cause.map(|cause| cause.text),
            findings: phase.findings.clone(),
            figures: phase.figures.clone(),
            money: phase.money.clone(),
            service_ns: service_ns(phase),
        }
    }

    /// Corrects the verdict using the whole search. A limit of a kind that is sent, but was not
    /// sent here, is undecided. If all clients waited and requests took much longer than they can,
    /// the system is to blame.
    fn with(&mut self, settings: &SloSettings, kinds: &BTreeSet<Kind>, service_ns: f64) {
        let requested = settings.latency.iter();
        let requested = requested.filter(|limit| kinds.contains(&limit.kind));
        let known = std::mem::take(&mut self.limits);
        let find = |limit: &Limit| known.iter().find(|result| result.limit == *limit).cloned();
        self.limits = requested
            .map(|limit| find(limit).unwrap_or_else(|| TrialResult::none(*limit)))
            .collect();
        if self.verdict == Verdict::Pass && self.limits.len() > known.len() {
            self.verdict = Verdict::Undecided;
        }
        let is_slowed = self.service_ns >= SLOWED * service_ns;
        if self.verdict == Verdict::ClientLimit && self.had_no_client && is_slowed {
            (self.verdict, self.evidence) = (Verdict::Fail, None);
        }
    }

    /// Requested operations per second.
    pub fn rate(&self) -> f64 {
        self.key.target_rate.unwrap_or_default()
    }

    /// The result for the limit that is closest to breaking, or farthest exceeded.
    pub fn worst(&self) -> Option<&TrialResult> {
        let results = self.limits.iter();
        results.max_by(|a, b| a.part().total_cmp(&b.part()))
    }

    /// The share over that limit relative to the allowed share.
    fn part(&self) -> f64 {
        self.worst().map_or(0.0, TrialResult::part)
    }

    /// The result for one limit alone; `None` if it is not among the limits.
    fn of_limit(&self, limit: Limit) -> Option<Self> {
        let own = self.limits.iter().find(|r| r.limit == limit)?.clone();
        let says_nothing = self.verdict == Verdict::Undecided && self.evidence.is_some();
        let verdict = match own.verdict {
            _ if says_nothing => Verdict::Undecided,
            Verdict::Fail if self.verdict == Verdict::ClientLimit => Verdict::ClientLimit,
            Verdict::Pass if is_rising(&own.blocks) => Verdict::NotSteady,
            verdict => verdict,
        };
        Some(Self {
            verdict,
            limits: vec![own],
            ..self.clone()
        })
    }
}

/// If service time reaches this multiple of the lowest, busy clients are waiting for the system.
const SLOWED: f64 = 2.0;

/// The mean service time of all requests, nanoseconds; infinite without requests.
fn service_ns(phase: &Phase) -> f64 {
    let halves = Kind::sent(&phase.kinds);
    let each = halves.map(|result| (result.service.mean(), result.service.len() as f64));
    let (sum, count) = each.fold((0.0, 0.0), |sums, (mean, count)| {
        (sums.0 + mean * count, sums.1 + count)
    });
    if count > 0.0 {
        sum / count
    } else {
        f64::INFINITY
    }
}

impl TrialResult {
    /// The result of a limit without requests.
    const fn none(limit: Limit) -> Self {
        Self {
            limit,
            over: None,
            value: None,
            verdict: Verdict::Undecided,
            blocks: Vec::new(),
        }
    }

    /// The share over the limit relative to the allowed share.
    fn part(&self) -> f64 {
        self.over
            .map_or(0.0, |over| over.share / self.limit.allowed())
    }
}

/// The results of a phase at a rate for each limit and for all together, and why it gives no answer
/// if it does not.
fn judge(point: &Point, settings: &SloSettings) -> (Vec<TrialResult>, Verdict, Option<Cause>) {
    let Point { key, phase } = point;
    let judged = |limit: &Limit, basis| {
        let counts = counts::of_phase(phase, *limit, basis);
        let (blocks, block_s) = counts::independent_blocks(&counts, &settings.rule);
        let over = ShareOver::new(&blocks, block_s);
        let verdict = over.map_or(Verdict::Undecided, |over| {
            over.verdict(*limit, &settings.rule)
        });
        TrialResult {
            limit: *limit,
            over,
            value: limit.metric().and_then(|metric| metric.value(phase)),
            verdict,
            blocks,
        }
    };
    let is_asked = |limit: &&Limit| phase.kinds.contains_key(&limit.kind);
    let requested: Vec<&Limit> = settings.latency.iter().filter(is_asked).collect();
    let in_response = |limit: &&Limit| judged(limit, TimeBasis::Response);
    let mut limits: Vec<TrialResult> = requested.iter().map(in_response).collect();
    let found = |code: FindingCode| {
        let finding = phase.findings.iter().find(|finding| code.is_of(finding));
        finding.map(|finding| Cause {
            text: finding.text(),
            is_no_client: false,
        })
    };
    // It was ended because nothing was answered any more: what was due is over every limit.
    if let Some(cause) = found(NO_ANSWER) {
        limits.iter_mut().for_each(|r| r.verdict = Verdict::Fail);
        return (limits, Verdict::Fail, Some(cause));
    }
    if let Some(cause) = found(NOTHING_FOUND).or_else(|| found(CLIENT_STOPPED)) {
        return (limits, Verdict::Undecided, Some(cause));
    }
    let failed = limits.iter().filter(|r| r.verdict == Verdict::Fail);
    let broken: Vec<Limit> = failed.map(|result| result.limit).collect();
    if !broken.is_empty() {
        let is_answered =
            |limit: &Limit| judged(limit, TimeBasis::Service).verdict == Verdict::Pass;
        let are_answered = broken.iter().all(is_answered);
        let late = || are_answered.then(|| blame::late(phase, Clients::from_key(key), &broken))?;
        let cause = found(CLIENT_SATURATED).or_else(late);
        let verdict = match cause {
            Some(_) => Verdict::ClientLimit,
            None => Verdict::Fail,
        };
        return (limits, verdict, cause);
    }
    let verdicts: Vec<Verdict> = limits.iter().map(|result| result.verdict).collect();
    let is_steady = !limits.iter().any(|result| is_rising(&result.blocks));
    let verdict = match Verdict::of_all(&verdicts) {
        Verdict::Pass if !is_steady => Verdict::NotSteady,
        verdict => verdict,
    };
    (limits, verdict, None)
}

/// The search for one system and workload: its trials so far, and the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Slo {
    /// The system's name.
    pub system: String,
    /// The workload's name.
    pub workload: String,
    /// How keys are drawn.
    pub distribution: String,
    /// Trials in order.
    pub trials: Vec<Trial>,
    /// The answer that a sweep suggests, operations per second.
    hint: Option<f64>,
}

impl Slo {
    /// A search with its trials, and the points of a sweep, from these.
    pub fn new(
        (system, workload, distribution): (&str, &str, &str),
        settings: &SloSettings,
        points: &[Point],
        trials: &[Trial],
        allow_errors: f64,
    ) -> Self {
        let is_of = |key: &PointKey| key.names() == (system, workload, distribution);
        let swept = || points.iter().filter(|point| is_of(&point.key));
        let valid = || swept().filter(|point| point.phase.fault(allow_errors).is_none());
        let known: Vec<(f64, bool)> = valid()
            .map(|point| (point.phase.ops_per_sec(), holds(&point.phase, settings)))
            .collect();
        let own = trials.iter().filter(|trial| is_of(&trial.key));
        let mut own: Vec<Trial> = own.cloned().collect();
        let in_points = swept().flat_map(|point| point.phase.kinds.keys().copied());
        let results = own.iter().flat_map(|trial| &trial.limits);
        let in_trials = results.map(|result| result.limit.kind);
        let kinds: BTreeSet<Kind> = in_points.chain(in_trials).collect();
        let services = valid().map(|point| service_ns(&point.phase));
        let mut least_ns = services.fold(f64::INFINITY, f64::min);
        for trial in &mut own {
            least_ns = least_ns.min(trial.service_ns);
            trial.with(settings, &kinds, least_ns);
        }
        Self {
            system: system.to_owned(),
            workload: workload.to_owned(),
            distribution: distribution.to_owned(),
            trials: own,
            hint: search::hint(&known),
        }
    }

    /// The places of the system's name.
    pub fn systems_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let trials = self.trials.iter_mut().map(|trial| &mut trial.key.system);
        std::iter::once(&mut self.system).chain(trials)
    }

    /// The next rate to try, or the result.
    pub fn next(&self, settings: &SloSettings) -> Next {
        search::next(
            &settings.bounds,
            self.hint,
            &self.tried(settings),
            self.tries_left(settings),
        )
    }

    fn tried(&self, settings: &SloSettings) -> Vec<Tried> {
        let tried = |(index, trial): (usize, &Trial)| Tried {
            rate: trial.rate(),
            verdict: trial.verdict,
            part: trial.part(),
            together: self.together(index, settings),
        };
        self.trials.iter().enumerate().map(tried).collect()
    }

    /// The verdict of a trial together with earlier trials of its rate, with all blocks taken as
    /// one.
    fn together(&self, index: usize, settings: &SloSettings) -> Verdict {
        let (before, last) = (&self.trials[..index], &self.trials[index]);
        let same = || before.iter().filter(|trial| trial.rate() == last.rate());
        // If all agree there is nothing to weigh.
        if same().all(|trial| trial.verdict == last.verdict) {
            return last.verdict;
        }
        let of_limit = |result: &TrialResult| {
            let earlier = same().flat_map(|trial| &trial.limits);
            let earlier = earlier.filter(|other| other.limit == result.limit);
            let blocks: Vec<Count> = earlier
                .chain([result])
                .flat_map(|one| one.blocks.iter().copied())
                .collect();
            let over = ShareOver::new(&blocks, result.over.map_or(0.0, |over| over.block_s));
            over.map_or(Verdict::Undecided, |over| {
                over.verdict(result.limit, &settings.rule)
            })
        };
        let verdicts: Vec<Verdict> = last.limits.iter().map(of_limit).collect();
        Verdict::of_all(&verdicts)
    }

    /// The result so far.
    pub fn answer(&self, settings: &SloSettings) -> Answer {
        match self.next(settings) {
            Next::Done(answer) => answer,
            Next::Try { .. } => {
                let (low, high) = self.bracket();
                Answer {
                    status: Status::Unfinished,
                    low,
                    high,
                }
            }
        }
    }

    /// The result for one of several limits. The search looks for the rate at which any limit
    /// breaks, so a limit that breaks later has only a lower end.
    pub fn answer_of(&self, limit: Limit, settings: &SloSettings) -> Answer {
        let of_all = self.answer(settings);
        if settings.latency == [limit] || of_all.status == Status::Unfinished {
            return of_all;
        }
        let trials = self.trials.iter().filter_map(|trial| trial.of_limit(limit));
        let alone = Self {
            trials: trials.collect(),
            ..self.clone()
        };
        match search::next(&settings.bounds, self.hint, &alone.tried(settings), 0) {
            Next::Done(answer) => answer,
            Next::Try { .. } => Answer {
                status: Status::Undecided,
                low: None,
                high: None,
            },
        }
    }

    /// The highest rate so far at which the limits held, and the lowest above it at which they did
    /// not, confirmed or not.
    pub fn bracket(&self) -> (Option<f64>, Option<f64>) {
        let is = |wanted: &[Verdict]| {
            let trials = self.trials.iter();
            let wanted = trials.filter(|trial| wanted.contains(&trial.verdict));
            wanted.map(Trial::rate).collect::<Vec<f64>>()
        };
        let broken = is(&[Verdict::Fail, Verdict::ClientLimit]);
        let high = broken.into_iter().min_by(f64::total_cmp);
        let held = is(&[Verdict::Pass]).into_iter();
        let low = held.filter(|low| high.is_none_or(|high| *low < high));
        (low.max_by(f64::total_cmp), high)
    }

    /// The total duration of the trials so far.
    pub fn took(&self) -> Duration {
        self.trials.iter().map(|trial| trial.took).sum()
    }

    fn tries_left(&self, settings: &SloSettings) -> usize {
        tries_left(settings.time, self.took(), settings.shortest_trial())
    }

    /// The number of trials at a rate.
    pub fn tries_of(&self, rate: f64) -> u32 {
        let tries = self.trials.iter().filter(|trial| trial.rate() == rate);
        u32::try_from(tries.count()).unwrap_or(u32::MAX)
    }
}

/// Whether a point of a sweep held the limits, as far as its quantiles show.
fn holds(phase: &Phase, settings: &SloSettings) -> bool {
    settings.latency.iter().all(|limit| {
        let value = limit.metric().and_then(|metric| metric.value(phase));
        // Of too few samples nothing is known: the search looks above it.
        value.is_none_or(|value| value.value <= limit.latency.as_nanos() as f64)
    })
}

#[cfg(test)]
mod tests;
