//! The repeats of each point: so many, or until a verdict is reached.

use crate::{Error, Order, Sweep, SystemPlan, limits::REPEATS_MAX, reader::TableReader, units};
use tailmark_model::{RepeatRange, ReportSettings};
use tailmark_stats::statistics::RUNS_MIN;

/// The words after a range in the effective plan.
const UNTIL: &str = "until decided";

/// The repeats of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Repeats {
    /// How many there are at most.
    pub most: u32,
    /// The range, if they end once a verdict is reached.
    pub range: Option<RepeatRange>,
}

impl Repeats {
    /// A count, or a range as text: `4..20`, also with `until decided`.
    pub fn read(sweep: &TableReader<'_>) -> Result<Self, Error> {
        let value = sweep.value("repeats").expect("the key has a default");
        let count = |count: &toml::Value| {
            let count = units::count(count).filter(|count| (1..=REPEATS_MAX).contains(count));
            count.map(|count| count as u32)
        };
        let range = |text: &str| {
            let text = text.trim();
            let (least, most) = text.strip_suffix(UNTIL).unwrap_or(text).split_once("..")?;
            let [least, most] = [least, most].map(|end| toml::Value::from(end.trim()));
            let (least, most) = (count(&least)?, count(&most)?);
            let is_range = RUNS_MIN as u32 <= least && least < most;
            is_range.then_some(RepeatRange { least, most })
        };
        let repeats = match value.as_str().filter(|text| text.contains("..")) {
            Some(text) => range(text).map(|range| Self {
                most: range.most,
                range: Some(range),
            }),
            None => count(&value).map(|most| Self { most, range: None }),
        };
        repeats.ok_or_else(|| sweep.refuse("repeats", &value))
    }
}

/// As the effective plan has it.
pub(super) fn text(sweep: &Sweep) -> String {
    match sweep.until_decided {
        Some(RepeatRange { least, most }) => format!("{least}..{most} {UNTIL}"),
        None => sweep.repeats.to_string(),
    }
}

/// Refuses repeats that end once a verdict is reached where there is none to reach.
pub(crate) fn refuse_undecidable(
    keys: &TableReader<'_>,
    sweep: &Sweep,
    systems: &[SystemPlan],
    report: &ReportSettings,
) -> Result<(), Error> {
    let compared = systems.iter().filter(|system| system.ceiling_for.is_none());
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
    } else if (sweep.rate.is_some() || !sweep.rates.is_empty()) && report.metric.is_none() {
        "a count, or a range with report.metric (such as `p99 read`): at a rate it is what is decided"
    } else {
        return Ok(());
    };
    Err(Error::BadValue {
        key: keys.label("repeats"),
        value: text(sweep),
        accepted: refused.to_owned(),
    })
}
