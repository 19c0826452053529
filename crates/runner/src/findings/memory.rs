//! What holds a whole data set, so that reads do not reach the device.

use super::Evidence;
use bytesize::ByteSize;
use tailmark_driver::{DataSet, Driver, Settings};

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
    let (room, by) = match paged {
        true => (
            cache.max(memory),
            "memory, and reads go through the page cache",
        ),
        false => (cache, "the cache of the database"),
    };
    let data = data.bytes();
    (data > 0 && data <= room).then_some(Cached { data, room, by })
}

/// The rule of a point.
pub fn fits_in_memory(e: &Evidence<'_>) -> Option<String> {
    let Cached { data, room, by } =
        cached(e.driver, e.data, &e.params.settings, e.memory, e.is_here)?;
    let scaled = e.unscaled.map_or_else(String::new, |full| {
        format!(" At full scale it is {}.", ByteSize(full.bytes()))
    });
    Some(format!(
        "The data set ({}) fits in {by} ({}), so most reads did not reach the \
             device.{scaled} \
             Use more records, a smaller cache, direct reads or host.memory_limit.",
        ByteSize(data),
        ByteSize(room)
    ))
}
