//! What a key accepts, and how its value is read. Given values and defaults use the same code.

use super::{
    limits::{AUTO, RATE_MAX, RATE_MIN, RATE_PERCENT_MAX, REPEATS_MAX, THREADS_MAX},
    units,
};
use bytesize::ByteSize;
use std::{ops::RangeInclusive, time::Duration};
use tailmark_driver::Semantics;
use tailmark_model::{Kind, Metric, QUANTILES, number};
use tailmark_stats::statistics::RUNS_MIN;
use toml::Value;

/// What a key accepts.
#[derive(Debug, Clone, Copy)]
pub enum Accept {
    /// Any text.
    Text,
    /// A list of words.
    Words,
    /// A path, or a list of them.
    Paths,
    /// `true` or `false`.
    Flag,
    /// `true`, `false` or a path.
    FlagOrPath,
    /// `true`, `false` or this word.
    FlagOr(&'static str),
    /// A whole number in this range, inclusive.
    Count(u64, u64),
    /// A number in this range, inclusive.
    Number(f64, f64),
    /// Bytes in this range, inclusive.
    Size(u64, u64),
    /// Seconds in this range, inclusive.
    Time(f64, f64),
    /// Seconds in this range, inclusive, or a rule that decides.
    TimeOrAuto(f64, f64),
    /// A percentage in this range, inclusive.
    Percent(f64, f64),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Client counts.
    Threads,
    /// A count of repeats, or a range of them.
    Repeats,
    /// Seconds in this range, inclusive, or a range of times in it.
    Length(f64, f64),
    /// Any number of times in seconds, in this range, inclusive.
    Times(f64, f64),
    /// Rates.
    FixedRates,
    /// Rates, and percentages of a peak.
    Rates,
    /// A metric that a report can be about.
    Metric,
    /// Latencies with their limits.
    Limits,
    /// Limits that end a run.
    AbortLimits,
    /// The name of a distribution, or a table with its parameters.
    Distribution,
    /// A table of keys.
    Table,
    /// Any number of tables of keys.
    Tables,
}

/// A type that values of a plan are read into.
pub(super) trait Accepted: Sized {
    /// The value, if it is accepted.
    fn read(value: &Value, accept: Accept) -> Option<Self>;
}

/// Text that is not empty, or one of the words to choose from.
impl Accepted for String {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let text = value.as_str()?;
        let is_accepted = match accept {
            Accept::Choice(words) => words.contains(&text),
            Accept::Text => !text.trim().is_empty(),
            _ => false,
        };
        is_accepted.then(|| text.to_owned())
    }
}

/// A list of words or paths, none of them empty. A path may contain commas.
impl Accepted for Vec<String> {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let words = match (accept, value) {
            (Accept::Paths, Value::String(path)) => Some(vec![path.clone()]),
            (Accept::Paths, Value::Array(paths)) if paths.is_empty() => None,
            (Accept::Paths | Accept::Words, _) => units::words(value),
            _ => None,
        };
        words.filter(|words| words.iter().all(|word| !word.is_empty()))
    }
}

impl Accepted for bool {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        units::flag(value).filter(|_| matches!(accept, Accept::Flag))
    }
}

/// A count, or bytes.
impl Accepted for u64 {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        match accept {
            Accept::Count(min, max) => within(units::count(value), min..=max),
            Accept::Size(min, max) => within(units::size(value), min..=max),
            _ => None,
        }
    }
}

/// A count or bytes in a range that fits.
impl Accepted for u32 {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        u64::read(value, accept)?.try_into().ok()
    }
}

/// A number, or a percentage as a fraction.
impl Accepted for f64 {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        match accept {
            Accept::Number(min, max) => within(units::number(value), min..=max),
            Accept::Percent(min, max) => {
                within(units::percent(value), min..=max).map(|percent| percent / 100.0)
            }
            _ => None,
        }
    }
}

impl Accepted for Duration {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let Accept::Time(min, max) = accept else {
            return None;
        };
        units::time(value).filter(|time| (min..=max).contains(&time.as_secs_f64()))
    }
}

/// Rates: a list, or text with commas.
impl Accepted for Vec<f64> {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let items = units::items(value).filter(|_| matches!(accept, Accept::FixedRates))?;
        let rate = |item: &Value| within(units::number(item), RATE_MIN..=RATE_MAX);
        items.iter().map(rate).collect()
    }
}

/// Times: a list, or text with commas.
impl Accepted for Vec<Duration> {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let Accept::Times(min, max) = accept else {
            return None;
        };
        let time = |item: &Value| Duration::read(item, Accept::Time(min, max));
        units::items(value)?.iter().map(time).collect()
    }
}

impl Accepted for Semantics {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let name = String::read(value, accept)?;
        let mut all = [Self::Faithful, Self::Correct].into_iter();
        all.find(|semantics| semantics.name() == name)
    }
}

fn within<T: PartialOrd>(number: Option<T>, accepted: RangeInclusive<T>) -> Option<T> {
    number.filter(|number| accepted.contains(number))
}

fn percent(min: f64, max: f64) -> String {
    let example = min.max(0.1);
    format!("a percentage such as `{example}%`, from {min}% to {max}%")
}

impl std::fmt::Display for Accept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Text => write!(f, "text"),
            Self::Words => write!(f, "a list of words, such as [\"a\", \"b\"]"),
            Self::Paths => write!(f, "a path, or a list such as [\"/mnt/a\", \"/mnt/b\"]"),
            Self::Flag => write!(f, "true or false"),
            Self::FlagOrPath => write!(f, "true, false or a path"),
            Self::FlagOr(word) => write!(f, "true, false or {word}"),
            Self::Count(min, max) => {
                let (min, most) = (number::count(min), number::count(max));
                let such_as = if max > 1_000_000 {
                    "100000 or `100k`"
                } else {
                    "`1`"
                };
                write!(f, "a whole number from {min} to {most}, such as {such_as}")
            }
            Self::Number(min, max) => write!(f, "a number from {min} to {max}"),
            Self::Size(min, max) => {
                write!(
                    f,
                    "a size such as `64MiB`, from {} to {}",
                    ByteSize(min),
                    ByteSize(max)
                )
            }
            Self::Time(min, max) => f.write_str(&time(min, max)),
            Self::TimeOrAuto(min, max) => write!(f, "{}, or `{AUTO}`", time(min, max)),
            Self::Times(min, max) => f.write_str(&times(min, max)),
            Self::FixedRates => write!(
                f,
                "rates from {RATE_MIN} to {} ops/s, such as [\"10k\", \"40k\"]",
                number::count(RATE_MAX as u64)
            ),
            Self::Percent(min, max) => f.write_str(&percent(min, max)),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::Threads => write!(
                f,
                "client counts from 1 to {}, such as [1, 4, 16], {{ from = 1, to = 64, factor = 2 \
                 }}, or `8..` and `8..256x1.5` to climb until there is no gain",
                number::count(THREADS_MAX)
            ),
            Self::Repeats => f.write_str(&repeats()),
            Self::Length(min, max) => f.write_str(&length(min, max)),
            Self::Rates => write!(
                f,
                "rates from {RATE_MIN} to {} ops/s or percentages of a peak of up to \
                 {RATE_PERCENT_MAX}%, each once, such as [\"10k\", \"20k\", \"60%\"]",
                number::count(RATE_MAX as u64)
            ),
            Self::Metric => f.write_str(&Metric::accepted()),
            Self::Limits => write!(
                f,
                "latencies with their limits, each once, such as `p99.99 read < 15ms`: {} of {}",
                QUANTILES.map(|quantile| quantile.name).join(", "),
                Kind::ALL.map(Kind::name).join(", ")
            ),
            Self::AbortLimits => f.write_str(ABORT_LIMITS),
            Self::Distribution => write!(
                f,
                "the name of a distribution, or a table such as \
                 {{ name = \"hotspot\", data_fraction = 0.1 }}"
            ),
            Self::Table => write!(f, "a table"),
            Self::Tables => write!(f, "tables, each with a name"),
        }
    }
}

/// What [`Accept::AbortLimits`] accepts.
const ABORT_LIMITS: &str =
    "limits such as `errors > 1%`, `p99 read > 200ms for 10s` and `down nodes > 0`";

/// What [`Accept::Repeats`] accepts.
fn repeats() -> String {
    format!(
        "a whole number from 1 to {REPEATS_MAX}, or a range such as `4..20`, from {RUNS_MIN} on, \
         that ends once a verdict is reached"
    )
}

/// What [`Accept::Length`] accepts.
fn length(min: f64, max: f64) -> String {
    format!(
        "{}, or a range such as `2m..20m`, that ends once its figures are known",
        time(min, max)
    )
}

/// What [`Accept::Time`] accepts.
fn time(min: f64, max: f64) -> String {
    format!(
        "a time with its unit, such as `90s` or `20m`, from {} to {} days",
        humantime::format_duration(Duration::from_secs_f64(min)),
        max / 86_400.0
    )
}

/// What [`Accept::Times`] accepts.
fn times(min: f64, max: f64) -> String {
    let time = |s| humantime::format_duration(Duration::from_secs_f64(s));
    format!(
        "times with their units, such as [\"2ms\", \"15ms\"], from {} to {}",
        time(min),
        time(max)
    )
}
