//! The settings of a search: `[slo]`.

use super::{roles::TRIALS, texts::time};
use crate::{
    Accept,
    Accept::{Choice, Count, Flag, Limits, Number, Percent, Time},
    DefaultInputs, Error, PlanKey,
    accept::Accepted,
    limits::{ARRIVALS, RATE_MAX, RATE_MIN, THREADS_MAX, YEAR},
    reader::TableReader,
    requests::sends,
    units,
};
use std::{sync::Arc, time::Duration};
use tailmark_model::{Bounds, Kind, Limit, Rule, SloSettings};
use tailmark_workload::Workload;
use toml::Value;

/// The keys of `slo`.
pub(super) const SLO_KEYS: &[PlanKey] = &[
    PlanKey::new("slo", "latency", TRIALS, Limits)
        .about("limits on response times: `p99.99 read < 15ms`; without it, no search")
        .flag(23, "--slo", "LIMITS")
        .help("Search for the highest rate within limits: \"p99 read < 5ms\"")
        .sets(|plan| Some(plan.slo.as_ref()?.target())),
    PlanKey::new("slo", "min_rate", TRIALS, Number(RATE_MIN, RATE_MAX))
        .about("lowest rate to try; default a hundredth of the first")
        .sets(|plan| Some(plan.slo.as_ref()?.bounds.min_rate?.to_string())),
    PlanKey::new("slo", "max_rate", TRIALS, Number(RATE_MIN, RATE_MAX))
        .about("highest rate to try; without it, as high as the client can")
        .sets(|plan| Some(plan.slo.as_ref()?.bounds.max_rate?.to_string())),
    PlanKey::new("slo", "resolution", TRIALS, Percent(0.5, 100.0))
        .about("width of the answer; 5%, quick 10%")
        .or_else(|inputs| Some(if inputs.quick { "10%" } else { "5%" }.to_owned()))
        .sets(|plan| Some(units::percent_text(plan.slo.as_ref()?.bounds.resolution))),
    PlanKey::new("slo", "arrivals", TRIALS, Choice(ARRIVALS))
        .about("how operations arrive in a trial")
        .or("poisson")
        .sets(|plan| Some(plan.slo.as_ref()?.arrivals.name().to_owned())),
    PlanKey::new("slo", "threads", TRIALS, Count(1, THREADS_MAX))
        .about("clients of a trial: the most operations in flight")
        .or("256")
        .sets(|plan| Some(plan.slo.as_ref()?.threads.to_string())),
    PlanKey::new("slo", "block", TRIALS, Time(1.0, YEAR))
        .about("shortest block of a trial, which has 20 to 40; 10s, quick 2s")
        .or_else(|inputs| Some(if inputs.quick { "2s" } else { "10s" }.to_owned()))
        .sets(|plan| Some(time(plan.slo.as_ref()?.rule.block))),
    PlanKey::new("slo", "warmup", TRIALS, Time(0.0, YEAR))
        .about("runs before each trial, not counted; 30s, quick 5s")
        .or_else(|inputs| Some(if inputs.quick { "5s" } else { "30s" }.to_owned()))
        .sets(|plan| Some(time(plan.slo.as_ref()?.warmup))),
    PlanKey::new("slo", "time", TRIALS, Time(1.0, YEAR))
        .about("longest total of the trials of a search; 40m, quick 6m")
        .or_else(|inputs| Some(if inputs.quick { "6m" } else { "40m" }.to_owned()))
        .sets(|plan| Some(time(plan.slo.as_ref()?.time))),
    PlanKey::new("slo", "quick", TRIALS, Flag)
        .about("a fast, less certain search; every number says so")
        .or("false")
        .flag(24, "--quick", "")
        .help("A fast, less certain --slo search: 6 minutes at most")
        .sets(|plan| plan.slo.as_ref()?.quick.then(|| true.to_string())),
];

/// Reads the settings of the search: `None` if the plan has no `slo.latency`. Refuses a limit on
/// requests that no workload sends, and rates in the wrong order.
pub(crate) fn read(
    keys: &TableReader<'_>,
    workloads: &[Arc<Workload>],
    scaled: impl Fn(Duration) -> Duration,
) -> Result<Option<SloSettings>, Error> {
    let Some(latency) = keys.optional::<Vec<Limit>>("latency")? else {
        return match keys.given().keys().next() {
            None => Ok(None),
            Some(_) => Err(Error::Missing {
                key: keys.full("latency"),
                accepted: Accept::Limits.to_string(),
            }),
        };
    };
    let is_sent = |kind: Kind| workloads.iter().any(|workload| sends(workload, kind));
    if latency.iter().any(|limit| !is_sent(limit.kind)) {
        let sent = Kind::ALL.into_iter().filter(|kind| is_sent(*kind));
        let sent: Vec<_> = sent.map(Kind::name).collect();
        let accepted = "of requests that a workload of the plan sends";
        return Err(keys.refuse_given("latency", format!("{accepted}: {}", sent.join(", "))));
    }
    let inputs = DefaultInputs {
        quick: keys.get("quick")?,
        ..DefaultInputs::default()
    };
    let bounds = Bounds {
        min_rate: keys.optional("min_rate")?,
        max_rate: keys.optional("max_rate")?,
        resolution: keys.computed("resolution", &inputs)?.unwrap_or_default(),
    };
    if let (Some(min), Some(max)) = (bounds.min_rate, bounds.max_rate)
        && min >= max
    {
        return Err(keys.refuse_given("max_rate", format!("more than slo.min_rate ({min})")));
    }
    let time = |name: &str| {
        let time: Option<Duration> = keys.computed(name, &inputs)?;
        Ok::<_, Error>(scaled(time.unwrap_or_default()))
    };
    let mut settings = SloSettings {
        latency,
        bounds,
        arrivals: keys.get("arrivals")?,
        threads: keys.get("threads")?,
        rule: Rule::with_block(time("block")?),
        warmup: time("warmup")?,
        time: time("time")?,
        quick: inputs.quick,
    };
    if keys.value("time").is_none() {
        // Blocks are not scaled, so a scaled search still needs time for this many trials.
        settings.time = settings.time.max(settings.shortest_trial() * TRIALS_MIN);
    }
    if settings.time < settings.shortest_trial() {
        let shortest = humantime::format_duration(settings.shortest_trial());
        let why = format!(
            "at least one trial: {} blocks and a warm-up, {shortest}",
            Rule::BLOCKS_MIN
        );
        return Err(keys.refuse_given("time", why));
    }
    Ok(Some(settings))
}

/// The default time allows this many of the shortest trials.
const TRIALS_MIN: u32 = 8;

/// Whether a search has anything to judge in a workload.
#[must_use]
pub fn is_searched(settings: &SloSettings, workload: &Workload) -> bool {
    settings
        .latency
        .iter()
        .any(|limit| sends(workload, limit.kind))
}

/// Limits: a list, or text with commas.
impl Accepted for Vec<Limit> {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let items = units::items(value).filter(|_| matches!(accept, Accept::Limits))?;
        let limits: Option<Self> = items
            .iter()
            .map(|item| Limit::parse(item.as_str()?))
            .collect();
        limits.filter(|limits| {
            let is_again = |(index, limit): (usize, &Limit)| {
                let same =
                    |other: &Limit| other.kind == limit.kind && other.quantile == limit.quantile;
                limits[..index].iter().any(same)
            };
            !limits.is_empty() && !limits.iter().enumerate().any(is_again)
        })
    }
}
