//! Repeats and lengths of points: fixed, or from a least until something is known.

use super::texts::time;
use crate::{
    Accept, Error, Order, Plan, accept::Accepted, limits::REPEATS_MAX, reader::TableReader, units,
};
use std::time::Duration;
use tailmark_model::RepeatRange;
use tailmark_stats::statistics::RUNS_MIN;
use toml::Value;

/// The words after a range of repeats in the effective plan, and after one of times.
const DECIDED: &str = "until decided";
const KNOWN: &str = "until known";

/// The ends of a range, such as `4..20` or `4..20 until decided`.
fn ends<'t>(text: &'t str, until: &str) -> Option<[&'t str; 2]> {
    let text = text.trim();
    let (least, most) = text.strip_suffix(until).unwrap_or(text).split_once("..")?;
    Some([least.trim(), most.trim()])
}

/// The repeats of a plan: a count, or a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Repeats {
    /// How many there are at most.
    pub most: u32,
    /// The range, if they end once a verdict is reached.
    pub range: Option<RepeatRange>,
}

impl Accepted for Repeats {
    fn read(value: &Value, _: Accept) -> Option<Self> {
        let count = |one: &Value| {
            let count = units::count(one).filter(|count| (1..=REPEATS_MAX).contains(count));
            count.map(|count| count as u32)
        };
        if let Some(most) = count(value) {
            return Some(Self { most, range: None });
        }
        let [least, most] = ends(value.as_str()?, DECIDED)?.map(|end| count(&end.into()));
        let (least, most) = (least?, most?);
        let range = Some(RepeatRange { least, most });
        (RUNS_MIN as u32 <= least && least < most).then_some(Self { most, range })
    }
}

/// The length of a point: a time, or a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Length {
    /// The longest time.
    pub most: Duration,
    /// The shortest, if a point ends once its figures are known.
    pub least: Option<Duration>,
}

impl Accepted for Length {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let Accept::Length(min, max) = accept else {
            return None;
        };
        let time = |one: &Value| Duration::read(one, Accept::Time(min, max));
        if let Some(most) = time(value) {
            return Some(Self { most, least: None });
        }
        let [least, most] = ends(value.as_str()?, KNOWN)?.map(|end| time(&end.into()));
        let (least, most) = (least?, most?);
        (least < most).then_some(Self {
            most,
            least: Some(least),
        })
    }
}

/// Repeats as the effective plan has them.
pub(super) fn repeats(plan: &Plan) -> Option<String> {
    Some(match plan.sweep.until_decided {
        Some(RepeatRange { least, most }) => format!("{least}..{most} {DECIDED}"),
        None => plan.sweep.repeats.to_string(),
    })
}

/// The length of points as the effective plan has it.
pub(super) fn length(plan: &Plan) -> Option<String> {
    let most = time(plan.sweep.duration?);
    Some(match plan.sweep.until_known {
        Some(least) => format!("{}..{most} {KNOWN}", time(least)),
        None => most,
    })
}

/// Refuses repeats that end once a verdict is reached where there is none to reach.
pub(crate) fn refuse_undecidable(keys: &TableReader<'_>, plan: &Plan) -> Result<(), Error> {
    let sweep = &plan.sweep;
    let compared = plan.systems.iter();
    let compared = compared.filter(|system| system.ceiling_for.is_none());
    let has_rates = sweep.rate.is_some() || !sweep.rates.is_empty();
    let refused = if sweep.until_decided.is_none() {
        return Ok(());
    } else if compared.count() < 2 {
        "a count with a single system, because a range ends by comparing systems"
    } else if sweep.order == Order::Systems {
        "a count with order = \"systems\", because a range compares after each repeat; leave the \
         order out"
    } else if sweep.ladder.is_some() {
        "a count if sweep.threads climb until there is no gain, because each thread count needs all \
         its repeats before the next"
    } else if has_rates && plan.report.metric.is_none() {
        "a count, or a range with report.metric (such as `p99 read`): at a rate it is what is decided"
    } else {
        return Ok(());
    };
    Err(Error::BadValue {
        key: keys.label("repeats"),
        value: repeats(plan).unwrap_or_default(),
        accepted: refused.to_owned(),
    })
}
