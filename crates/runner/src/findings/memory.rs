//! What holds a whole data set, so that reads do not reach the device.

use super::Evidence;
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

/// What holds a data set on a machine with so much memory, where something does; `is_here`: it is
/// that machine's memory which caches it.
pub(crate) fn cached(
    driver: &Driver,
    data: &DataSet,
    settings: &Settings,
    memory: u64,
    is_here: bool,
) -> Option<Cached> {
    let cache = (driver.cache)(data, settings);
    let paged = (driver.page_cache)(settings) && is_here;
    let (room, by) = if paged {
        (
            cache.max(memory),
            "memory, and reads go through the page cache",
        )
    } else {
        (cache, "the cache of the database")
    };
    let data = data.bytes();
    (data > 0 && data <= room).then_some(Cached { data, room, by })
}

/// The rule of a point.
pub fn fits_in_memory(e: &Evidence<'_>) -> Option<Sentence> {
    let Cached { data, room, by } =
        cached(e.driver, e.data, &e.params.settings, e.memory, e.is_here)?;
    let fits = Sentence::new(format!(
        "The data set ({{Data set}}) fits in {by} ({{Room}}), so most reads did not reach the device."
    ));
    let fits = fits.number("Data set", data as f64, Unit::Bytes);
    let fits = fits.number("Room", room as f64, Unit::Bytes);
    let scaled = e.unscaled.map_or_else(Sentence::default, |full| {
        let scaled = Sentence::new("At full scale it is {At full scale}.");
        scaled.number("At full scale", full.bytes() as f64, Unit::Bytes)
    });
    let remedy = "Use more records, a smaller cache, direct reads or machine.memory_limit.";
    Some(fits.and(scaled).and(remedy.into()))
}
