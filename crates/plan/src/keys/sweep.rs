//! The sweep: `[sweep]`.

use super::{
    roles::{DISTRIBUTION, EVERY_POINT, POINTS, WORKLOAD},
    texts::{joined, time},
    threads::Threads as ThreadPoints,
    until::{self, Length, Repeats},
};
use crate::{
    Accept::{
        self, Choice, Count, Distribution, Number, Percent, Rates, Text, Threads, Time, TimeOrAuto,
        Words,
    },
    AskedRate, DefaultInputs, Error, Ladder, Order, Plan, PlanKey, Warmup,
    limits::{ARRIVALS, AUTO, RATE_MAX, RATE_MIN, THREADS_MAX, YEAR},
    rate::Rates as AskedRates,
    reader::TableReader,
    units::{self, timed, times},
    workloads::Workloads,
};
use std::{sync::Arc, time::Duration};
use tailmark_model::{Arrivals, RepeatRange};
use tailmark_workload::Workload;

/// The longest default warm-up.
const WARMUP_DEFAULT_MAX: Duration = Duration::from_secs(60);

/// The keys of `sweep`.
pub(super) const SWEEP_KEYS: &[PlanKey] = &[
    PlanKey::new("sweep", "workloads", POINTS, Words)
        .about("names from `tailmark list workloads` or of [[workload]] tables")
        .or("ycsb-a")
        .flag(9, "--workload", "NAMES")
        .help("Workloads, separated by commas (`tailmark list workloads`)")
        .sets(workload_names),
    PlanKey::new("sweep", "distribution", DISTRIBUTION, Distribution)
        .about("how keys are drawn, for all workloads; without it, each workload's own")
        .flag(10, "--distribution", "NAME")
        .help("How keys are drawn (`tailmark list distributions`)"),
    PlanKey::new("sweep", "threads", POINTS, Threads)
        .about("clients with one operation in flight each")
        .or("1,4,16")
        .flag(11, "--threads", "COUNTS")
        .help("Clients: 1,4,16; or 8.. to double until there is no gain")
        .sets(client_counts),
    PlanKey::new(
        "sweep",
        "operations",
        EVERY_POINT,
        Count(1, 1_000_000_000_000_000),
    )
    .about("ends a point after this many operations")
    .flag(12, "--operations", "COUNT")
    .help("End a point after this many operations: 2.5M")
    .sets(|plan| Some(plan.sweep.operations?.to_string())),
    PlanKey::new("sweep", "duration", EVERY_POINT, Accept::Length(0.1, YEAR))
        .about("ends a point after this time; `2m..20m`: once its figures are known; default 60s")
        .or_else(|inputs| inputs.operations.is_none().then(|| "60s".to_owned()))
        .flag(13, "--duration", "TIME")
        .help("End a point after this time: 90s; 2m..20m: once its figures are known")
        .sets(until::length),
    PlanKey::new("sweep", "warmup", EVERY_POINT, TimeOrAuto(0.0, YEAR))
        .about(
            "runs before each point: a time, or auto; default a tenth of the duration, 1m at most",
        )
        .or_else(warmup)
        .flag(14, "--warmup", "TIME")
        .help("Run before each point: 10s; auto: until it is steady")
        .sets(|plan| {
            Some(
                plan.sweep
                    .warmup
                    .fixed()
                    .map_or_else(|| AUTO.to_owned(), time),
            )
        }),
    PlanKey::new("sweep", "warmup_least", EVERY_POINT, Time(0.0, YEAR))
        .about("auto: shortest time before the check begins")
        .or("1m")
        .sets(|plan| Some(time(plan.sweep.warmup.limits()?.0))),
    PlanKey::new("sweep", "warmup_most", EVERY_POINT, Time(0.0, YEAR))
        .about("auto: ends a warm-up that is not steady")
        .or("30m")
        .sets(|plan| Some(time(plan.sweep.warmup.limits()?.1))),
    PlanKey::new("sweep", "repeats", POINTS, Accept::Repeats)
        .about("runs of each point; verdicts need 4; `4..20`: 4, then more until all are decided")
        .or("1")
        .flag(20, "--repeats", "COUNT")
        .help("Runs of each point; verdicts need 4; 4..20: until decided")
        .sets(until::repeats),
    PlanKey::new("sweep", "order", POINTS, Choice(Order::NAMES))
        .about("how systems take turns; interleaved if there are repeats")
        .or_else(|inputs| Some(Order::of_repeats(inputs.repeats).name().to_owned()))
        .flag(21, "--order", "ORDER")
        .help("How systems take turns: interleaved or systems")
        .sets(order),
    PlanKey::new("sweep", "rate", POINTS, Number(RATE_MIN, RATE_MAX))
        .about("operations per second at every thread count; without it, as fast as possible")
        .flag(15, "--rate", "OPS")
        .help("Operations per second of all clients; default: no limit")
        .sets(|plan| Some(plan.sweep.rate?.to_string())),
    PlanKey::new("sweep", "rates", POINTS, Rates)
        .about("adds a point for each rate; a percentage refers to the measured peak")
        .flag(16, "--rates", "RATES")
        .help("Add a point for each rate: 10k,20k,60% (of the peak)")
        .sets(asked_rates),
    PlanKey::new("sweep", "rate_threads", POINTS, Count(1, THREADS_MAX))
        .about("clients at `rates`: the most operations in flight")
        .or("64")
        .flag(17, "--rate-threads", "COUNT")
        .help("Clients at --rates: the most operations in flight")
        .sets(|plan| asked_rates(plan).map(|_| plan.sweep.rate_threads.to_string())),
    PlanKey::new("sweep", "rates_of", POINTS, Text)
        .about("system whose peak the percentages refer to; without it, each its own")
        .flag(18, "--rates-of", "SYSTEM")
        .help("System whose peak --rates refer to; default: each its own")
        .sets(|plan| plan.sweep.rates_of.clone()),
    PlanKey::new("sweep", "arrivals", POINTS, Choice(ARRIVALS))
        .about("how operations arrive at a rate")
        .or("even")
        .flag(19, "--arrivals", "HOW")
        .help("How operations arrive at a rate: even or poisson")
        .sets(arrivals),
    PlanKey::new(
        "sweep",
        "background_rate",
        WORKLOAD,
        Number(RATE_MIN, RATE_MAX),
    )
    .about("operations per second of background clients, as in readwhilewriting")
    .sets(background_rate),
    PlanKey::new("sweep", "seed", POINTS, Count(0, i64::MAX as u64))
        .about("seed of all random draws")
        .or("1")
        .flag(22, "--seed", "NUMBER")
        .help("Seed of all random draws")
        .sets(|plan| Some(plan.sweep.seed.to_string())),
    PlanKey::new("sweep", "load_threads", EVERY_POINT, Count(1, THREADS_MAX))
        .about("clients that load")
        .or("16")
        .sets(|plan| Some(plan.sweep.load_threads.to_string())),
    PlanKey::new("sweep", "settle", EVERY_POINT, Time(0.0, YEAR))
        .about("longest wait for background work to settle")
        .or("30m")
        .sets(|plan| Some(time(plan.sweep.settle))),
    PlanKey::new("sweep", "ready_timeout", POINTS, Time(0.1, YEAR))
        .about("longest wait for a server to answer")
        .or("5m")
        .sets(|plan| Some(time(plan.sweep.ready_timeout))),
    PlanKey::new("sweep", "allow_errors", POINTS, Percent(0.0, 100.0))
        .about("with more failed operations, a point is excluded from peaks and comparisons")
        .or("0.1%")
        .sets(|plan| Some(units::percent_text(plan.sweep.allow_errors))),
];

/// The axes of the sweep, and the budget of each point.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// Workloads in order, each with its effective distribution.
    pub workloads: Vec<Arc<Workload>>,
    /// Client counts in order, each from 1 to 1,024; empty if only rates are measured.
    pub threads: Vec<u32>,
    /// The ladder, if client counts are climbed until there is no gain. `threads` are all its
    /// rungs; those above its end are not measured.
    pub ladder: Option<Ladder>,
    /// The number of repeats, from 1; the most, if they end before.
    pub repeats: u32,
    /// How many there are, if they end once a verdict is reached.
    pub until_decided: Option<RepeatRange>,
    /// The order in which the points of several systems are measured.
    pub order: Order,
    /// Operations per second over all clients, at every thread count; `None`: a closed loop.
    pub rate: Option<f64>,
    /// Rates in order, each a separate point in addition to the thread counts.
    pub rates: Vec<AskedRate>,
    /// Clients of such a point, which limit the operations in flight: from 1 to 1,024.
    pub rate_threads: u32,
    /// The system whose peak percentages refer to; `None`: the same system.
    pub rates_of: Option<String>,
    /// How operations arrive at a rate, in one sequence that all clients share; `None`: each client
    /// has its own schedule, as in older studies.
    pub arrivals: Option<Arrivals>,
    /// Ends a point after this many operations. This or `duration` is set, or both.
    pub operations: Option<u64>,
    /// Ends a point after this time.
    pub duration: Option<Duration>,
    /// The shortest time of a point that ends once its figures are known.
    pub until_known: Option<Duration>,
    /// The uncounted warm-up before the measured part.
    pub warmup: Warmup,
    /// The seed of all random draws.
    pub seed: u64,
    /// Clients that load.
    pub load_threads: u32,
    /// The time limit for background work to settle.
    pub settle: Duration,
    /// The time limit for a server to answer.
    pub ready_timeout: Duration,
    /// The share of a point's operations that may fail, 0 to 1. A point with more is no peak.
    pub allow_errors: f64,
}

impl Sweep {
    /// Reads the sweep, with operations and times scaled.
    pub(crate) fn read(
        keys: &TableReader<'_>,
        workloads: &Workloads,
        scale: f64,
        time_scale: f64,
    ) -> Result<Self, Error> {
        let rates = AskedRates::read(keys)?;
        let threads = thread_points(keys, &rates)?;
        let operations: Option<u64> = keys.optional("operations")?;
        let clients = clients(&threads.counts, &rates);
        let operations = operations.map(|n| times(n, scale).max(n.min(u64::from(clients))));
        let mut inputs = DefaultInputs {
            operations,
            ..DefaultInputs::default()
        };
        let length: Option<Length> = keys.computed("duration", &inputs)?;
        let scaled = |time| timed(time, time_scale);
        let duration = length.map(|length| scaled(length.most));
        let until_known = length.and_then(|length| length.least).map(scaled);
        inputs.duration = until_known.or(duration);
        let warmup = Warmup::read(keys, &inputs, time_scale)?;
        let repeats: Repeats = keys.get("repeats")?;
        inputs.repeats = repeats.most;
        let order = keys.computed("order", &inputs)?;
        Ok(Self {
            workloads: workloads.chosen(keys)?,
            threads: threads.counts,
            ladder: threads.ladder,
            repeats: repeats.most,
            until_decided: repeats.range,
            order: order.unwrap_or(Order::of_repeats(inputs.repeats)),
            rate: rates.rate,
            rates: rates.rates,
            rate_threads: rates.threads,
            rates_of: rates.of,
            arrivals: Some(rates.arrivals),
            operations,
            duration,
            until_known,
            warmup,
            seed: keys.get("seed")?,
            load_threads: keys.get("load_threads")?,
            settle: keys.get("settle")?,
            ready_timeout: keys.get("ready_timeout")?,
            allow_errors: keys.get("allow_errors")?,
        })
    }
}

/// The most clients of a point.
fn clients(threads: &[u32], rates: &AskedRates) -> u32 {
    let of_rates = (!rates.rates.is_empty()).then_some(rates.threads);
    threads.iter().copied().chain(of_rates).max().unwrap_or(1)
}

/// The client counts to measure: none if there are rates that need no peak, and `threads` was not
/// given.
fn thread_points(keys: &TableReader<'_>, rates: &AskedRates) -> Result<ThreadPoints, Error> {
    let is_given = keys.given().contains_key("threads");
    let needs_peak = rates.rates.iter().any(|rate| rate.is_of_peak());
    if rates.rates.is_empty() || needs_peak || is_given {
        ThreadPoints::read(keys)
    } else {
        Ok(ThreadPoints::default())
    }
}

fn workload_names(plan: &Plan) -> Option<String> {
    let names = plan.sweep.workloads.iter().map(|w| w.name.as_str());
    Some(names.collect::<Vec<_>>().join(", "))
}

/// `None` if only rates are measured.
fn client_counts(plan: &Plan) -> Option<String> {
    if let Some(ladder) = plan.sweep.ladder {
        return Some(ladder.to_string());
    }
    joined(&plan.sweep.threads)
}

/// `None` if the plan has no rates, so that it equals an older plan.
fn asked_rates(plan: &Plan) -> Option<String> {
    joined(&plan.sweep.rates)
}

/// `None` if there is no rate.
fn arrivals(plan: &Plan) -> Option<String> {
    let Sweep { rate, rates, .. } = &plan.sweep;
    let has_rate = rate.is_some() || !rates.is_empty();
    let arrivals = plan.sweep.arrivals.filter(|_| has_rate)?;
    Some(arrivals.name().to_owned())
}

/// `None` if systems are measured one after the other, which was once the only order.
fn order(plan: &Plan) -> Option<String> {
    let is_interleaved = plan.sweep.order == Order::Interleaved && plan.systems.len() > 1;
    is_interleaved.then(|| plan.sweep.order.name().to_owned())
}

/// The rate of the first background clients, if a workload has some.
fn background_rate(plan: &Plan) -> Option<String> {
    let mut groups = plan
        .sweep
        .workloads
        .iter()
        .flat_map(|workload| &workload.groups);
    let background = groups.find(|group| group.is_background())?;
    let rate = background.rate.map(|rate| rate.to_string());
    Some(rate.unwrap_or_else(|| "as fast as they can".to_owned()))
}

/// A tenth of the duration, up to a maximum.
fn warmup(inputs: &DefaultInputs<'_>) -> Option<String> {
    let tenth = inputs.duration.unwrap_or_default() / 10;
    Some(time(tenth.min(WARMUP_DEFAULT_MAX)))
}
