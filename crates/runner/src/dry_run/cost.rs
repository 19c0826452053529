//! The cost of a run: the expected time, the longest possible waits, and the space on each file
//! system.

use super::{
    counted, restore,
    work::{SystemWork, Work},
};
use bytesize::ByteSize;
use std::{collections::BTreeMap, time::Duration};
use tailmark_driver::Place;
use tailmark_engine::DRAIN;
use tailmark_model::number;
use tailmark_plan::{AskedRate, Plan, PlanPoint, Restore, RestoreBefore, Sweep};
use tailmark_stats::steady::UntilKnown;

/// The assumed bandwidth of a load, because it is unknown in advance.
const LOAD_BYTES_PER_SEC: u64 = 100_000_000;
/// The rate at which the time of a budget of operations is given, for the same reason.
const OPERATIONS_PER_SEC: f64 = 50_000.0;

/// The expected time and space of a run, lines for a person, and whether there is enough space.
pub fn totals(plan: &Plan, work: &Work<'_>) -> (Vec<String>, bool) {
    let mut lines = time(plan, work);
    let file_systems = space(plan, work);
    let has_room = file_systems.values().all(|claims| !claims.is_short());
    lines.extend(file_systems.iter().map(Claims::line));
    (lines, has_room)
}

/// Those of its points at a rate that end by time: due operations may take a while longer.
fn drained(plan: &Plan, work: &SystemWork<'_>) -> u64 {
    let ends_by_time = plan.sweep.arrivals.is_some() && plan.sweep.duration.is_some();
    let drained = work
        .points
        .iter()
        .filter(|point| ends_by_time && point.rate.is_some());
    drained.count() as u64
}

fn time(plan: &Plan, work: &Work<'_>) -> Vec<String> {
    let up_to = work.up_to();
    let points = work.sum(|own| own.points.len() as u64);
    let sum = |time: &dyn Fn(&PlanPoint<'_>) -> Duration| {
        let times = work.systems.iter().flat_map(|own| &own.points).map(time);
        times.fold(Duration::ZERO, Duration::saturating_add)
    };
    let mut expected = sum(&|point| point_time(&plan.sweep, point));
    let shortest = sum(&|point| shortest_time(&plan.sweep, point));
    let mut lines = vec![format!(
        "      {}",
        points_time(plan, up_to, points, shortest, expected)
    )];
    let again = work.sum(|own| loads_of_searches(plan, own));
    let all_loads = |own: &SystemWork<'_>| own.loads.saturating_add(loads_of_searches(plan, own));
    let bytes = work.sum(|own| own.system.data.bytes().saturating_mul(all_loads(own)));
    if bytes > 0 {
        let (time, at) = load_time(plan, work, bytes, &all_loads);
        expected = expected.saturating_add(time);
        let (loads, size) = (work.sum(all_loads), ByteSize(bytes));
        let loads = counted(loads as usize, "load") + if again > 0 { " at most" } else { "" };
        lines.push(format!(
            "      {loads}, {size} in all: {} at {at}",
            number::rounded(time)
        ));
    }
    if let Some((line, time)) = restore::time(plan, &work.systems) {
        expected = expected.saturating_add(time);
        lines.push(line);
    }
    if let Some((line, time)) = searches(plan, work) {
        expected = expected.saturating_add(time);
        lines.push(line);
    }
    if points == 0 && expected.is_zero() {
        return vec!["time: none, everything is measured".to_owned()];
    }
    let waited = waits(plan, work, &mut lines);
    // A limit far beyond the expected time does not show when a run ends.
    let is_of_use = !waited.is_zero() && waited <= expected;
    let most = is_of_use.then(|| expected.saturating_add(waited));
    let most = most.map_or(String::new(), |most| format!(", {} at most", about(most)));
    // Warm-ups and points that end by rule are counted at their longest.
    let has_rule = plan.sweep.warmup.is_auto() || plan.sweep.until_known.is_some();
    let is_most = up_to.is_empty() && has_rule;
    let up_to = if is_most { "up to " } else { up_to };
    lines.insert(0, format!("time: {up_to}about {}{most}", about(expected)));
    lines
}

/// A time in its two largest units: `3days 8h`.
fn about(time: Duration) -> String {
    let text = number::rounded(time);
    let units: Vec<_> = text.split(' ').take(2).collect();
    units.join(" ")
}

/// The duration of all loads of that many bytes, at the plan's rate or else at the assumed
/// bandwidth, and a description of which.
fn load_time(
    plan: &Plan,
    work: &Work<'_>,
    bytes: u64,
    loads: &dyn Fn(&SystemWork<'_>) -> u64,
) -> (Duration, String) {
    let Some(rate) = plan.dataset.load_rate else {
        let time = Duration::from_secs(bytes.div_ceil(LOAD_BYTES_PER_SEC));
        return (time, "100 MB/s".to_owned());
    };
    let records = |own: &SystemWork<'_>| own.system.data.records as f64 * loads(own) as f64;
    let records: f64 = work.systems.iter().map(records).sum();
    let time = Duration::try_from_secs_f64(records / rate).unwrap_or(Duration::MAX);
    (time, number::ops(rate))
}

/// The searches that are left, and how long they measure at most.
fn searches(plan: &Plan, work: &Work<'_>) -> Option<(String, Duration)> {
    let settings = plan.slo.as_ref()?;
    let left = work.sum(|own| own.searches);
    let times = u32::try_from(left).unwrap_or(u32::MAX);
    let time = settings.time.saturating_mul(times);
    let quick = if settings.quick { "quick " } else { "" };
    let line = format!(
        "      {} for the highest rate at which {} holds: each at most {}, {} in all",
        match left {
            1 => format!("1 {quick}search"),
            left => format!("{left} {quick}searches"),
        },
        settings.target(),
        number::rounded(settings.time),
        number::rounded(time)
    );
    (left > 0).then_some((line, time))
}

/// The most trials that the searches of a system may still make.
fn trials(plan: &Plan, work: &SystemWork<'_>) -> u64 {
    let Some(settings) = &plan.slo else {
        return 0;
    };
    let each = settings.time.as_secs_f64() / settings.shortest_trial().as_secs_f64().max(1e-9);
    work.searches.saturating_mul(each as u64)
}

/// How often the data set of a system may be loaded again for its searches, at most.
fn loads_of_searches(plan: &Plan, work: &SystemWork<'_>) -> u64 {
    let is_loaded = work.system.driver.place != Place::Nowhere && !work.known.adopted;
    let reloads = plan.dataset.restore.how == Restore::Reload;
    match plan.dataset.restore.before {
        _ if !is_loaded || !reloads => 0,
        RestoreBefore::Repeat => 0,
        RestoreBefore::Workload => work.searches,
        RestoreBefore::Point => trials(plan, work),
    }
}

/// The longest possible waits besides measuring and loading. Adds a line for each cause.
fn waits(plan: &Plan, work: &Work<'_>, lines: &mut Vec<String>) -> Duration {
    let mut waited = Duration::ZERO;
    let mut wait = |count: u64, most: Duration, what: &str| {
        if count == 0 || most.is_zero() {
            return;
        }
        let all = most.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
        waited = waited.saturating_add(all);
        let times = match count {
            1 => "once".to_owned(),
            _ => format!("{} times", number::count(count)),
        };
        let most = number::rounded(most);
        lines.push(format!("      plus {what}: {times}, each at most {most}"));
    };
    // Trials have the same waits as points.
    let measured = |own: &SystemWork<'_>| own.points.len() as u64 + trials(plan, own);
    let settles = work.sum(|own| match own.system.driver.place {
        Place::Nowhere => 0,
        _ => {
            let loads = own.loads.saturating_add(loads_of_searches(plan, own));
            measured(own).saturating_mul(2).saturating_add(loads)
        }
    });
    wait(
        settles,
        plan.sweep.settle,
        "settling before and after each point and after each load",
    );
    let timeout = plan.sweep.ready_timeout;
    let restarts = work.sum(|own| own.system.service.as_ref().map_or(0, |_| measured(own)));
    let stops = restarts.saturating_add(work.stops);
    wait(stops, timeout, "stopping services");
    let answers = work.sum(|own| match own.system.driver.place {
        Place::Hosts => measured(own),
        _ => 0,
    });
    wait(answers, timeout, "waiting for a server to answer");
    wait(
        work.sum(|own| drained(plan, own).saturating_add(trials(plan, own))),
        DRAIN,
        "finishing due operations when a point at a rate ends",
    );
    waited
}

/// The duration of a point, as far as it can be known.
fn point_time(sweep: &Sweep, point: &PlanPoint<'_>) -> Duration {
    let rate = match point.rate {
        Some(AskedRate::Fixed(rate)) => Some(rate),
        Some(AskedRate::OfPeak(part)) if sweep.duration.is_none() => {
            Some(part * OPERATIONS_PER_SEC)
        }
        None if sweep.duration.is_none() => Some(OPERATIONS_PER_SEC),
        // An unknown rate may take the whole time.
        Some(AskedRate::OfPeak(_)) | None => None,
    };
    let at = |(operations, per_s): (u64, f64)| {
        Duration::try_from_secs_f64(operations as f64 / per_s).unwrap_or(Duration::MAX)
    };
    let by_rate = sweep.operations.zip(rate).map(at);
    let measured = by_rate.into_iter().chain(sweep.duration).min();
    measured
        .unwrap_or_default()
        .saturating_add(sweep.warmup.longest())
}

/// The duration of a point that ends as early as it can.
fn shortest_time(sweep: &Sweep, point: &PlanPoint<'_>) -> Duration {
    let longest = point_time(sweep, point);
    let least = sweep.until_known.map(|least| {
        let least = least.max(UntilKnown::SHORTEST);
        least.saturating_add(sweep.warmup.longest())
    });
    least.map_or(longest, |least| least.min(longest))
}

/// The duration of that many points, in words.
fn points_time(
    plan: &Plan,
    up_to: &str,
    points: u64,
    shortest: Duration,
    longest: Duration,
) -> String {
    let sweep = &plan.sweep;
    let counted = up_to.to_owned() + &counted(points as usize, "point");
    let all = if shortest < longest {
        format!(
            "{} to {}",
            number::rounded(shortest),
            number::rounded(longest)
        )
    } else {
        number::rounded(longest)
    };
    let is_fixed = |(_, rate)| matches!(rate, Some(AskedRate::Fixed(_)));
    match (sweep.duration, sweep.operations) {
        (Some(_), None)
            if up_to.is_empty() && !sweep.warmup.is_auto() && sweep.until_known.is_none() =>
        {
            format!("{counted}, {all} in all")
        }
        (Some(_), _) => format!("{counted}, {all} in all at most"),
        (None, Some(_)) if sweep.axis().all(is_fixed) => format!("{counted}, {all} in all"),
        (None, Some(n)) => format!(
            "{counted} of {} operations each; the time depends on the result ({all} in all at \
             50,000 ops/s)",
            number::count(n)
        ),
        (None, None) => counted,
    }
}

/// The required space on a file system.
#[derive(Default)]
struct Claims {
    /// Bytes that the systems there still write, at most.
    needed: u64,
    free: Option<u64>,
    systems: Vec<String>,
    /// The part of `needed` that no optional system needs.
    required: u64,
}

impl Claims {
    /// Whether there is too little for the systems that are not optional.
    fn is_short(&self) -> bool {
        self.free.is_some_and(|free| free < self.required)
    }

    fn line((name, claims): (&String, &Self)) -> String {
        let free = claims.free.map_or_else(String::new, |free| {
            let short = if free < claims.needed {
                ": TOO LITTLE"
            } else {
                ""
            };
            format!(", {} are free{short}", ByteSize(free))
        });
        let together = match claims.systems.len() {
            1 => String::new(),
            _ => format!(", {} together", ByteSize(claims.needed)),
        };
        format!(
            "space on {name}: {}{together}{free}",
            claims.systems.join(", ")
        )
    }
}

/// What each system needs, and what that is together on each file system.
fn space(plan: &Plan, work: &Work<'_>) -> BTreeMap<String, Claims> {
    let mut file_systems: BTreeMap<String, Claims> = BTreeMap::new();
    let mut systems: Vec<_> = work.systems.iter().collect();
    systems.sort_by_key(|own| own.place);
    for own in systems {
        let SystemWork {
            system,
            known,
            points,
            loads,
            ..
        } = own;
        // The space of a server is not checked.
        if matches!(system.driver.place, Place::Nowhere | Place::Hosts) || points.is_empty() {
            continue;
        }
        // Existing data is removed before it is loaded again, which frees its space.
        let fills = plan
            .sweep
            .workloads
            .iter()
            .any(|workload| workload.starts_empty());
        let whole = if *loads > 0 || fills {
            (system.driver.space)(&system.data, &system.settings)
        } else {
            0
        };
        let needed = whole.saturating_sub(known.present);
        let needed = needed.saturating_add(restore::space(plan, own));
        let to_come = || format!("a file system that is not there yet ({})", system.name);
        let claims = file_systems
            .entry(known.file_system.clone().unwrap_or_else(to_come))
            .or_default();
        claims.needed = claims.needed.saturating_add(needed);
        if !system.optional {
            claims.required = claims.required.saturating_add(needed);
        }
        claims.free = known.available;
        let optional = if system.optional {
            ", if there is space"
        } else {
            ""
        };
        let needs = format!("{} needs up to {}{optional}", system.name, ByteSize(needed));
        claims.systems.push(needs);
    }
    file_systems
}
