//! Caches that hold a whole data set, so that reads do not reach the device.

use super::PointContext;
use tailmark_driver::{DataSet, Driver, Settings};
use tailmark_model::{Sentence, Unit};

/// What holds a whole data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cached {
    /// Bytes of the data set.
    pub data: u64,
    /// Bytes of what holds it.
    pub room: u64,
    /// What that is.
    pub by: &'static str,
}

/// The memory that holds a whole data set, if any; `memory` is what can cache its files, if that is
/// known.
pub(crate) fn cached(
    driver: &Driver,
    data: &DataSet,
    settings: &Settings,
    memory: Option<u64>,
) -> Option<Cached> {
    let cache = (driver.cache)(data, settings);
    let (room, by) = match memory.filter(|_| (driver.page_cache)(settings)) {
        Some(memory) => (
            cache.max(memory),
            "memory, and reads go through the page cache",
        ),
        None => (cache, "the cache of the database"),
    };
    let data = data.bytes();
    (data > 0 && data <= room).then_some(Cached { data, room, by })
}

/// The rule of a point.
pub fn fits_in_memory(point: &PointContext<'_>) -> Option<Sentence> {
    let (driver, params) = (point.driver, point.params);
    let Cached { data, room, by } = cached(driver, &params.data, &params.settings, point.memory)?;
    let fits = Sentence::new(format!(
        "The data set ({{Data set}}) fits in {by} ({{Room}}), so most reads did not reach the device."
    ));
    let fits = fits.number("Data set", data as f64, Unit::Bytes);
    let fits = fits.number("Room", room as f64, Unit::Bytes);
    let plan = point.sweep.as_ref().map(|sweep| sweep.plan);
    let unscaled =
        plan.and_then(|plan| plan.unscaled.as_ref().filter(|_| plan.general.scale < 1.0));
    let scaled = unscaled.map_or_else(Sentence::default, |full| {
        let scaled = Sentence::new("At full scale it is {At full scale}.");
        scaled.number("At full scale", full.bytes() as f64, Unit::Bytes)
    });
    let remedy = "Use more records, a smaller cache, direct reads or machine.memory_limit.";
    Some(fits.and(scaled).and(remedy.into()))
}
