//! The rates of a plan: operations per second, or a percentage of a peak that is measured first.

use super::{
    Error,
    limits::{RATE_MAX, RATE_MIN, RATE_PERCENT_MAX},
    reader::TableReader,
    units,
};
use std::fmt;
use tailmark_driver::did_you_mean;
use tailmark_model::{Arrivals, number};
use toml::Value;

/// A requested rate. The effective plan and the study write it as `20000` or `60%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AskedRate {
    /// Operations per second over all clients.
    Fixed(f64),
    /// This fraction of a peak, from above 0 to 10.
    OfPeak(f64),
}

impl AskedRate {
    /// Whether it depends on a peak.
    #[must_use]
    pub const fn is_of_peak(self) -> bool {
        matches!(self, Self::OfPeak(_))
    }

    /// For display: `20,000 ops/s`, `60% of the peak of a`.
    #[must_use]
    pub fn described(self, of_system: &str) -> String {
        match self {
            Self::Fixed(rate) => number::ops(rate),
            Self::OfPeak(_) => format!("{self} of the peak of {of_system}"),
        }
    }

    fn read(item: &Value) -> Option<Self> {
        let rate = units::number(item).filter(|rate| (RATE_MIN..=RATE_MAX).contains(rate));
        let share = || {
            let percent = units::percent(item)?;
            (percent > 0.0 && percent <= RATE_PERCENT_MAX).then(|| percent / 100.0)
        };
        rate.map(Self::Fixed).or_else(|| share().map(Self::OfPeak))
    }
}

impl fmt::Display for AskedRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(rate) => write!(f, "{rate}"),
            Self::OfPeak(part) => f.write_str(&units::percent_text(*part)),
        }
    }
}

/// The rates in a plan.
pub(super) struct Rates {
    /// The rate of every thread point.
    pub rate: Option<f64>,
    /// The axis besides the thread counts.
    pub rates: Vec<AskedRate>,
    /// Clients of a point of that axis.
    pub threads: u32,
    /// The system whose peak percentages refer to; `None`: the same system.
    pub of: Option<String>,
    /// How operations arrive.
    pub arrivals: Arrivals,
}

impl Rates {
    /// Reads the keys of rates, and refuses keys without effect.
    pub fn read(sweep: &TableReader<'_>) -> Result<Self, Error> {
        let rates = rates(sweep)?;
        let read = Self {
            rate: sweep.optional("rate")?,
            rates,
            threads: sweep.get("rate_threads")?,
            of: sweep.optional("rates_of")?,
            arrivals: sweep.get("arrivals")?,
        };
        let refuse = |name: &str, accepted: &str| match sweep.given().get(name) {
            None => Ok(()),
            Some(value) => Err(Error::BadValue {
                key: sweep.label(name),
                value: units::text(value),
                accepted: accepted.to_owned(),
            }),
        };
        if read.rate.is_some() && !read.rates.is_empty() {
            refuse(
                "rates",
                "left out if sweep.rate is given, because sweep.rate sets the rate of every thread \
                 point and sweep.rates adds separate points",
            )?;
        }
        if read.rates.is_empty() {
            refuse("rate_threads", "given together with sweep.rates")?;
        }
        if !read.rates.iter().any(|rate| rate.is_of_peak()) {
            let accepted = "given together with a percentage in sweep.rates, such as `60%`";
            refuse("rates_of", accepted)?;
        }
        if read.rates.is_empty() && read.rate.is_none() {
            refuse("arrivals", "given together with sweep.rates or sweep.rate")?;
        }
        Ok(read)
    }
}

/// Rates and percentages: a list, or text with commas.
fn rates(sweep: &TableReader<'_>) -> Result<Vec<AskedRate>, Error> {
    let Some(value) = sweep.value("rates") else {
        return Ok(Vec::new());
    };
    let refuse = || sweep.refuse("rates", &value);
    let one = |item: &Value| AskedRate::read(item).ok_or_else(refuse);
    let items = units::items(&value).ok_or_else(refuse)?;
    let rates: Vec<AskedRate> = items.iter().map(one).collect::<Result<_, _>>()?;
    let comes_again = |(index, rate): (usize, &AskedRate)| rates[..index].contains(rate);
    if rates.is_empty() || rates.iter().enumerate().any(comes_again) {
        return Err(refuse());
    }
    Ok(rates)
}

/// Refuses `rates_of` if the plan has no such system.
pub(super) fn refuse_unknown_peak(
    sweep: &TableReader<'_>,
    system: Option<&str>,
    names: &[&str],
) -> Result<(), Error> {
    match system.filter(|system| !names.contains(system)) {
        None => Ok(()),
        Some(system) => Err(Error::NotThere {
            key: sweep.label("rates_of"),
            name: system.to_owned(),
            table: "system",
            hint: did_you_mean(system, names.iter().copied()),
            known: names.join(", "),
        }),
    }
}
