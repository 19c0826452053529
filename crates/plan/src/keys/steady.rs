//! A mix that brings a device to its steady state: `prepare.steady`.

use super::roles::PREPARATION;
use crate::{
    Accept::{Choice, Count, Size, Time},
    Error, PlanKey,
    reader::TableReader,
    units,
};
use std::time::Duration;
use toml::Value;

/// The targets of its requests.
pub const STEADY_OVER: &[&str] = &["device", "filesystem"];
/// Requests are multiples of this many bytes.
const STEADY_BLOCK: u64 = 4096;

/// The keys of `steady`.
pub(super) const STEADY_KEYS: &[PlanKey] = &[
    PlanKey::new("steady", "over", PREPARATION, Choice(STEADY_OVER))
        .about("where to send requests; filesystem: a temporary file in it")
        .or("device"),
    PlanKey::new("steady", "fill", PREPARATION, Count(1, 95))
        .about("size of that file, percent of the free space")
        .or("90"),
    PlanKey::new("steady", "read", PREPARATION, Count(0, 100))
        .about("percent of reads; the rest are writes")
        .or("0"),
    PlanKey::new("steady", "block", PREPARATION, Size(4096, 16 << 20))
        .about("bytes per request, a multiple of 4 KiB")
        .or("4KiB"),
    PlanKey::new("steady", "depth", PREPARATION, Count(1, 1024))
        .about("requests in flight")
        .or("32"),
    PlanKey::new("steady", "round", PREPARATION, Time(1.0, 86_400.0))
        .about("length of a round; 25 rounds at most")
        .or("1m"),
];

/// A mix of requests that is sent in rounds until the device is steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steady {
    /// The percentage of the file system's space that a file fills; `None`: over the device.
    pub fill: Option<u32>,
    /// Reads per hundred requests.
    pub read: u32,
    /// Bytes per request.
    pub block: u64,
    /// Requests in flight.
    pub depth: u32,
    /// The length of a round.
    pub round: Duration,
}

impl Steady {
    /// Reads the table `steady` of the preparation.
    pub(crate) fn read(prepare: &TableReader<'_>) -> Result<Option<Self>, Error> {
        let table = match prepare.given().get("steady") {
            None => return Ok(None),
            Some(Value::Table(table)) => table,
            Some(other) => return Err(prepare.refuse("steady", other)),
        };
        let keys = prepare.inline("steady", table, "steady")?;
        let over: String = keys.get("over")?;
        let is_device = over == "device";
        if let Some(fill) = table.get("fill").filter(|_| is_device) {
            return Err(Error::BadValue {
                key: keys.label("fill"),
                value: units::text(fill),
                accepted: "absent with over = \"device\", because the whole device is written"
                    .to_owned(),
            });
        }
        let block: u64 = keys.get("block")?;
        if !block.is_multiple_of(STEADY_BLOCK) {
            return Err(Error::BadValue {
                key: keys.label("block"),
                value: block.to_string(),
                accepted: format!("a multiple of {STEADY_BLOCK} bytes"),
            });
        }
        let fill: u32 = keys.get("fill")?;
        Ok(Some(Self {
            fill: (!is_device).then_some(fill),
            read: keys.get("read")?,
            block,
            depth: keys.get("depth")?,
            round: keys.get("round")?,
        }))
    }

    /// The mix in one line, for the study.
    pub(crate) fn text(&self) -> String {
        let over = match self.fill {
            Some(fill) => format!("filesystem, fill = {fill}"),
            None => "device".to_owned(),
        };
        format!(
            "over = {over}, read = {}, block = {}, depth = {}, round = {}",
            self.read,
            self.block,
            self.depth,
            humantime::format_duration(self.round)
        )
    }
}
