//! The client counts of a plan: a list, a series, or a ladder, which is climbed until there is
//! nothing to gain.

use super::roles::POINTS;
use crate::{
    Accept::{Choice, Count, Number},
    Error, PlanKey,
    limits::{NO_GAIN, THREADS_MAX},
    reader::TableReader,
    units,
};
use std::fmt;
use toml::Value;

/// The keys of `threads`.
pub(super) const THREADS_KEYS: &[PlanKey] = &[
    PlanKey::new("threads", "from", POINTS, Count(1, THREADS_MAX))
        .about("first thread count")
        .or("1"),
    PlanKey::new("threads", "to", POINTS, Count(1, THREADS_MAX))
        .about("highest thread count; 1,024 with `until`"),
    PlanKey::new("threads", "factor", POINTS, Number(1.01, 1024.0))
        .about("from one thread count to the next")
        .or("2"),
    PlanKey::new("threads", "until", POINTS, Choice(&[NO_GAIN]))
        .about("stop when there is no gain"),
];

/// The smallest factor between rungs. Less than a tenth more clients could not reach what counts as
/// a gain.
const FACTOR_MIN: f64 = 1.1;

/// A series of client counts that is climbed until there is no gain. The effective plan and the
/// flag write it as `8..1024 x2 until no gain`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ladder {
    /// The clients of the first rung, 1 to 1,024.
    pub from: u32,
    /// The most clients of a rung, `from` to 1,024.
    pub to: u32,
    /// The factor from one rung to the next, 1.1 or more.
    pub factor: f64,
}

impl Ladder {
    /// The client counts of all rungs, rising. Each is rounded, and at least one more than the
    /// previous one.
    #[must_use]
    pub fn rungs(&self) -> Vec<u32> {
        series(self.from.into(), self.to.into(), self.factor)
    }

    /// Parses a ladder: `8..`, `8..256`, `8.. x1.5`, each also with `until no gain`.
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let series = text.strip_suffix(NO_GAIN).map(str::trim_end);
        let series = series.map_or(Some(text), |text| text.strip_suffix("until"))?;
        let (from, rest) = series.split_once("..")?;
        let (to, factor) = match rest.split_once('x') {
            Some((to, factor)) => (to, factor.trim().parse().ok()?),
            None => (rest, 2.0),
        };
        let count = |number: &str| {
            let count = units::count(&number.trim().into())?;
            (1..=THREADS_MAX).contains(&count).then_some(count as u32)
        };
        let ladder = Self {
            from: count(from)?,
            to: match to.trim() {
                "" => THREADS_MAX as u32,
                to => count(to)?,
            },
            factor,
        };
        let is_one =
            ladder.from <= ladder.to && (FACTOR_MIN..=THREADS_MAX as f64).contains(&ladder.factor);
        is_one.then_some(ladder)
    }
}

impl fmt::Display for Ladder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, factor } = self;
        write!(f, "{from}..{to} x{factor} until {NO_GAIN}")
    }
}

/// The client counts from one to another, each this many times the previous one, rounded, and at
/// least one more.
fn series(from: u64, to: u64, factor: f64) -> Vec<u32> {
    let next = |n: &u64| Some(((*n as f64 * factor).round() as u64).max(n + 1));
    let counts = std::iter::successors(Some(from), next);
    counts.take_while(|n| *n <= to).map(|n| n as u32).collect()
}

/// The client counts of a plan.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// All client counts that may be measured.
    pub counts: Vec<u32>,
    /// The ladder, if they are climbed.
    pub ladder: Option<Ladder>,
}

impl Threads {
    /// Client counts: a list, text with commas, a ladder as text, or a table of their series.
    pub fn read(sweep: &TableReader<'_>) -> Result<Self, Error> {
        let value = sweep.value("threads").expect("the key has a default");
        let refuse = || sweep.refuse("threads", &value);
        let one = |item: &Value| {
            let count = units::count(item).filter(|n| (1..=THREADS_MAX).contains(n));
            count.map(|n| n as u32).ok_or_else(refuse)
        };
        let counts: Vec<u32> = match &*value {
            Value::Array(items) => items.iter().map(one).collect::<Result<_, _>>()?,
            Value::String(text) if text.contains("..") => {
                return Ladder::parse(text)
                    .map(Self::from_ladder)
                    .ok_or_else(refuse);
            }
            Value::String(text) => text
                .split(',')
                .map(|word| one(&word.into()))
                .collect::<Result<_, _>>()?,
            Value::Table(table) => {
                let read = Self::of_series(&sweep.inline("threads", table, "threads")?)?;
                return read.ok_or_else(refuse);
            }
            single => vec![one(single)?],
        };
        let mut sorted = counts.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if counts.is_empty() || sorted.len() != counts.len() {
            return Err(refuse());
        }
        Ok(Self {
            counts,
            ladder: None,
        })
    }

    fn from_ladder(ladder: Ladder) -> Self {
        Self {
            counts: ladder.rungs(),
            ladder: Some(ladder),
        }
    }

    /// Reads a table; `None` if it has no client count.
    fn of_series(series: &TableReader<'_>) -> Result<Option<Self>, Error> {
        let from: u32 = series.get("from")?;
        let factor: f64 = series.get("factor")?;
        let to: Option<u32> = series.optional("to")?;
        let until: Option<String> = series.optional("until")?;
        if until.is_none() {
            let Some(to) = to else {
                let accepted = format!("the last client count, or until = \"{NO_GAIN}\"");
                let key = series.full("to");
                return Err(Error::Missing { key, accepted });
            };
            let counts = self::series(from.into(), to.into(), factor);
            let ladder = None;
            return Ok((!counts.is_empty()).then_some(Self { counts, ladder }));
        }
        if factor < FACTOR_MIN {
            return Err(Error::BadValue {
                key: series.label("factor"),
                value: factor.to_string(),
                accepted: format!(
                    "{FACTOR_MIN} or more with until = \"{NO_GAIN}\", because a smaller step \
                     cannot gain enough"
                ),
            });
        }
        let to = to.unwrap_or(THREADS_MAX as u32);
        let ladder = Ladder { from, to, factor };
        Ok((from <= to).then(|| Self::from_ladder(ladder)))
    }
}
