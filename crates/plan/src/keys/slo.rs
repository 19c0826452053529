//! What is searched for, and what ends a run: `[slo]` and `[abort]`.

use super::{
    roles::{RUN, TRIALS},
    texts::{joined, time},
};
use crate::{
    Accept::{AbortLimits, Choice, Count, Flag, Limits, Number, Percent, Time},
    PlanKey,
    limits::{ARRIVALS, RATE_MAX, RATE_MIN, THREADS_MAX, YEAR},
    units,
};

/// The keys of `slo`.
pub(super) const SLO_KEYS: &[PlanKey] = &[
    PlanKey::new("slo", "latency", TRIALS, Limits)
        .about("limits that all must hold: `p99.99 read < 15ms`; none: no search")
        .flag(24, "--slo", "LIMITS")
        .help("Search the highest rate at which these hold: \"p99.99 read < 15ms\"")
        .sets(|plan| Some(plan.slo.as_ref()?.target())),
    PlanKey::new("slo", "min_rate", TRIALS, Number(RATE_MIN, RATE_MAX))
        .about("the lowest rate that is tried; a hundredth of the first")
        .sets(|plan| Some(plan.slo.as_ref()?.bounds.min_rate?.to_string())),
    PlanKey::new("slo", "max_rate", TRIALS, Number(RATE_MIN, RATE_MAX))
        .about("the highest rate that is tried; none: as high as the client can")
        .sets(|plan| Some(plan.slo.as_ref()?.bounds.max_rate?.to_string())),
    PlanKey::new("slo", "resolution", TRIALS, Percent(0.5, 100.0))
        .about("how far apart the two ends of the answer may be; 5%, quick 10%")
        .or_else(|inputs| Some(if inputs.quick { "10%" } else { "5%" }.to_owned()))
        .sets(|plan| Some(units::percent_text(plan.slo.as_ref()?.bounds.resolution))),
    PlanKey::new("slo", "arrivals", TRIALS, Choice(ARRIVALS))
        .about("how operations arrive at a trial")
        .or("poisson")
        .sets(|plan| Some(plan.slo.as_ref()?.arrivals.name().to_owned())),
    PlanKey::new("slo", "threads", TRIALS, Count(1, THREADS_MAX))
        .about("clients of a trial: the most operations in flight")
        .or("256")
        .sets(|plan| Some(plan.slo.as_ref()?.threads.to_string())),
    PlanKey::new("slo", "block", TRIALS, Time(1.0, YEAR))
        .about("the least that a block lasts, of which a trial has 20 to 40; 10s, quick 2s")
        .or_else(|inputs| Some(if inputs.quick { "2s" } else { "10s" }.to_owned()))
        .sets(|plan| Some(time(plan.slo.as_ref()?.rule.block))),
    PlanKey::new("slo", "warmup", TRIALS, Time(0.0, YEAR))
        .about("runs before each trial, not counted; 30s, quick 5s")
        .or_else(|inputs| Some(if inputs.quick { "5s" } else { "30s" }.to_owned()))
        .sets(|plan| Some(time(plan.slo.as_ref()?.warmup))),
    PlanKey::new("slo", "time", TRIALS, Time(1.0, YEAR))
        .about("the longest that a search may measure; 40m, quick 6m")
        .or_else(|inputs| Some(if inputs.quick { "6m" } else { "40m" }.to_owned()))
        .sets(|plan| Some(time(plan.slo.as_ref()?.time))),
    PlanKey::new("slo", "quick", TRIALS, Flag)
        .about("whether the search is to be quick rather than sure; every number says so")
        .or("false")
        .flag(25, "--quick", "")
        .help("A quick search (--slo): blocks of 2 s, a resolution of 10 %, 6 minutes at most")
        .sets(|plan| plan.slo.as_ref()?.quick.then(|| true.to_string())),
];

/// The keys of `abort`.
pub(super) const ABORT_KEYS: &[PlanKey] = &[PlanKey::new("abort", "when", RUN, AbortLimits)
    .about("limits that end the run when one is broken: `errors > 1%`")
    .flag(28, "--abort", "LIMITS")
    .help("End the run when one of these is broken: \"errors > 1%, p99 read > 200ms for 10s\"")
    .sets(|plan| joined(&plan.abort))];
