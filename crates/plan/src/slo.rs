//! The service level objectives of a plan: for them the highest rate that holds is searched for.

use super::{
    Accept, DefaultInputs, Error, accept::Accepted, reader::TableReader, requests::sends, units,
};
use std::{sync::Arc, time::Duration};
use tailmark_model::{Bounds, Kind, Limit, Rule, SloSettings};
use tailmark_workload::Workload;
use toml::Value;

/// Reads what is searched for; none where the plan has no `slo.latency`. Refuses a limit of requests
/// that no workload sends, and rates in the wrong order.
pub(super) fn read(
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
        // A scale of times leaves blocks as long as they must be: so many trials still have room.
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

/// For so many of the shortest trials there is time unless the plan says otherwise.
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
