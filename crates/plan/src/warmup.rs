//! The warm-up before the measured part of a point: for a fixed time, or until it is steady.

use super::{
    DefaultInputs, Error, Plan,
    accept::{Accept, Accepted},
    limits::AUTO,
    reader::TableReader,
    units::{self, timed},
};
use std::time::Duration;
use tailmark_stats::steady::{SteadyRule, WINDOW_MIN_S, WINDOWS};
use toml::Value;

impl Plan {
    /// The rule for steadiness: in ops/s, and in the report's latency.
    #[must_use]
    pub const fn steady_rule(&self) -> SteadyRule {
        SteadyRule {
            latency: self.report.metric,
        }
    }
}

/// The uncounted warm-up before the measured part of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// For this time.
    Fixed(Duration),
    /// Until it is steady.
    Auto {
        /// The time that is ignored before the windows of the rule.
        least: Duration,
        /// The time after which it ends, steady or not.
        most: Duration,
    },
}

impl Warmup {
    /// The longest time that it may take.
    #[must_use]
    pub const fn longest(&self) -> Duration {
        match *self {
            Self::Fixed(time) => time,
            Self::Auto { most, .. } => most,
        }
    }

    /// The shortest time.
    pub(crate) const fn least(&self) -> Duration {
        match *self {
            Self::Fixed(time) => time,
            Self::Auto { least, .. } => least,
        }
    }

    /// Whether it ends by rule.
    #[must_use]
    pub const fn is_auto(&self) -> bool {
        matches!(self, Self::Auto { .. })
    }

    /// Its length, if that is fixed.
    #[must_use]
    pub const fn fixed(&self) -> Option<Duration> {
        match *self {
            Self::Fixed(time) => Some(time),
            Self::Auto { .. } => None,
        }
    }

    /// The ignored time and the longest time, if a rule ends it.
    #[must_use]
    pub const fn limits(&self) -> Option<(Duration, Duration)> {
        match *self {
            Self::Fixed(_) => None,
            Self::Auto { least, most } => Some((least, most)),
        }
    }

    /// Reads the keys of a warm-up, and refuses keys without effect.
    pub(super) fn read(
        sweep: &TableReader<'_>,
        inputs: &DefaultInputs<'_>,
        scale: f64,
    ) -> Result<Self, Error> {
        let given: Option<WarmupSetting> = sweep.optional("warmup")?;
        if given != Some(WarmupSetting::Auto) {
            for name in ["warmup_least", "warmup_most"] {
                refuse_without_auto(sweep, name)?;
            }
        }
        Ok(match given {
            Some(WarmupSetting::Auto) => Self::auto(sweep, scale)?,
            Some(WarmupSetting::Time(time)) => Self::Fixed(timed(time, scale)),
            // The default is a tenth of the duration, which is scaled already.
            None => match sweep.computed("warmup", inputs)? {
                Some(WarmupSetting::Time(time)) => Self::Fixed(time),
                _ => Self::Fixed(Duration::ZERO),
            },
        })
    }

    /// The longest time is never so short that it could not become steady before.
    fn auto(sweep: &TableReader<'_>, scale: f64) -> Result<Self, Error> {
        let windows = Duration::from_secs_f64(WINDOWS as f64 * WINDOW_MIN_S);
        let (least, most): (Duration, Duration) =
            (sweep.get("warmup_least")?, sweep.get("warmup_most")?);
        if most < least + windows {
            return Err(Error::BadValue {
                key: sweep.label("warmup_most"),
                value: humantime::format_duration(most).to_string(),
                accepted: format!(
                    "{} or more: sweep.warmup_least plus five windows of {WINDOW_MIN_S} s",
                    humantime::format_duration(least + windows)
                ),
            });
        }
        let least = timed(least, scale);
        Ok(Self::Auto {
            least,
            most: timed(most, scale).max(least + windows),
        })
    }
}

fn refuse_without_auto(sweep: &TableReader<'_>, name: &str) -> Result<(), Error> {
    match sweep.given().get(name) {
        None => Ok(()),
        Some(value) => Err(Error::BadValue {
            key: sweep.label(name),
            value: units::text(value),
            accepted: format!("given together with sweep.warmup = \"{AUTO}\""),
        }),
    }
}

/// The setting of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WarmupSetting {
    Time(Duration),
    Auto,
}

impl Accepted for WarmupSetting {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let Accept::TimeOrAuto(min, max) = accept else {
            return None;
        };
        match value.as_str() {
            Some(AUTO) => Some(Self::Auto),
            _ => Duration::read(value, Accept::Time(min, max)).map(Self::Time),
        }
    }
}
