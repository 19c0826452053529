//! Emulated devices: volumes as slow as the plan says.

use super::roles::SYSTEM;
use crate::{
    Accept::{Choice, Count, Size, Text, Time},
    Error, PlanKey,
    reader::TableReader,
    units,
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use toml::Value;

/// The keys of `device`.
pub(super) const DEVICE_KEYS: &[PlanKey] = &[
    PlanKey::new("device", "emulate", SYSTEM, Choice(EMULATIONS))
        .about("emulate a device: a volume with limits; needs root"),
    PlanKey::new("device", "size", SYSTEM, Size(16 << 20, 1 << 50)).about("capacity"),
    PlanKey::new("device", "iops", SYSTEM, Count(1, 100_000_000))
        .about("requests per second, reads and writes together"),
    PlanKey::new("device", "bandwidth", SYSTEM, Text)
        .about("bytes per second, reads and writes together: \"125MB/s\""),
    PlanKey::new("device", "burst", SYSTEM, Count(1, 100_000_000))
        .about("requests per second during a burst; more than `iops`"),
    PlanKey::new("device", "burst_time", SYSTEM, Time(1.0, 86_400.0))
        .about("longest burst after idling"),
    PlanKey::new("device", "delay", SYSTEM, Time(0.001, 60.0))
        .about("delay added to each request, in whole milliseconds; needs nbdkit"),
];

/// The directory of a run's volumes, each in a subdirectory named after its system.
const EMULATED_DIRECTORY: &str = "/var/lib/tailmark/emulated";
/// The kinds of emulation.
pub const EMULATIONS: &[&str] = &["volume"];

/// An emulated device: one volume of the given speed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emulate {
    /// Its own directory during the run, which contains the link `device`.
    pub directory: PathBuf,
    /// Bytes.
    pub bytes: u64,
    /// Requests per second.
    pub iops: Option<u64>,
    /// Bytes per second.
    pub bandwidth: Option<u64>,
    /// Requests per second during a burst.
    pub burst: Option<u64>,
    /// How long a burst may last after an idle time.
    pub burst_time: Option<Duration>,
    /// Additional delay of each request, in whole milliseconds.
    pub delay: Option<Duration>,
}

impl Emulate {
    /// The link to its block device.
    #[must_use]
    pub fn device(&self) -> PathBuf {
        self.directory.join("device")
    }

    /// The delay of each request, milliseconds.
    #[must_use]
    pub fn delay_ms(&self) -> Option<u64> {
        self.delay
            .map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX))
    }

    /// Reads the table `device` of a system; `None` if it is not a table.
    pub(crate) fn read(system: &TableReader<'_>, name: &str) -> Result<Option<Self>, Error> {
        let Some(Value::Table(table)) = system.given().get("device") else {
            return Ok(None);
        };
        let keys = system.inline("device", table, "device")?;
        let missing = |key: &str, accepted: &str| Error::Missing {
            key: keys.full(key),
            accepted: accepted.to_owned(),
        };
        let kind: Option<String> = keys.optional("emulate")?;
        kind.ok_or_else(|| missing("emulate", "\"volume\""))?;
        let bytes: Option<u64> = keys.optional("size")?;
        let burst: Option<u64> = keys.optional("burst")?;
        let burst_time: Option<Duration> = keys.optional("burst_time")?;
        let iops: Option<u64> = keys.optional("iops")?;
        if burst.is_some() != burst_time.is_some() {
            let missed = if burst.is_some() {
                "burst_time"
            } else {
                "burst"
            };
            return Err(missing(
                missed,
                "both keys: the rate of a burst and its length",
            ));
        }
        if let Some(burst) = burst.filter(|burst| iops.is_none_or(|iops| *burst <= iops)) {
            return Err(Error::BadValue {
                key: keys.label("burst"),
                value: burst.to_string(),
                accepted: "more than `iops`, the rate after the burst".to_owned(),
            });
        }
        let delay: Option<Duration> = keys.optional("delay")?;
        if let Some(delay) = delay.filter(|delay| delay.subsec_nanos() % 1_000_000 != 0) {
            return Err(Error::BadValue {
                key: keys.label("delay"),
                value: format!("{delay:?}"),
                accepted: "whole milliseconds".to_owned(),
            });
        }
        Ok(Some(Self {
            directory: Path::new(EMULATED_DIRECTORY).join(name),
            bytes: bytes.ok_or_else(|| missing("size", "a size such as 8GiB"))?,
            iops,
            bandwidth: bandwidth(&keys)?,
            burst,
            burst_time,
            delay,
        }))
    }

    /// The emulation in one line, for the study.
    #[must_use]
    pub fn text(&self) -> String {
        let number = |key: &str, value: Option<u64>| {
            value.map_or_else(String::new, |value| format!(", {key} = {value}"))
        };
        format!(
            "volume, size = {}{}{}{}{}{}",
            self.bytes,
            number("iops", self.iops),
            number("bandwidth", self.bandwidth),
            number("burst", self.burst),
            number("burst_time", self.burst_time.map(|time| time.as_secs())),
            number("delay_ms", self.delay_ms())
        )
    }
}

/// Bytes per second, with or without `/s`.
fn bandwidth(keys: &TableReader<'_>) -> Result<Option<u64>, Error> {
    let Some(value) = keys.given().get("bandwidth") else {
        return Ok(None);
    };
    let bare = match value {
        Value::String(text) => Value::from(text.trim_end_matches("/s")),
        other => other.clone(),
    };
    match units::size(&bare).filter(|bytes| *bytes > 0) {
        Some(bytes) => Ok(Some(bytes)),
        None => Err(Error::BadValue {
            key: keys.label("bandwidth"),
            value: units::text(value),
            accepted: "bytes per second, such as 125MB/s".to_owned(),
        }),
    }
}
