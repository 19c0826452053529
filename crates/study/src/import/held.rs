//! A limit on the memory that an import holds at a time.
//!
//! All points of an import are in memory until the study has them. A few bytes of a file can stand
//! for a histogram of half a megabyte, so the limit applies to what is created, not to the size of
//! files.

use super::{Source, failed};
use crate::Error;
use tailmark_model::Phase;

/// The most points and loads of one import.
pub const POINTS_MAX: usize = 2_000;
/// The most rows that points are made of: lines of a histogram log, status lines, results.
pub const ROWS_MAX: usize = 300_000;
/// The most values of a JSON document.
pub const VALUES_MAX: usize = 1_000_000;
/// The most counts of all histograms, 8 bytes each.
pub const COUNTS_MAX: u64 = 32 << 20;

/// The largest file of tables and result lines, bytes: the most points of an import with 8 KiB
/// each. Each cell takes 16 bytes of memory in addition to its text, so separators alone could fill
/// it.
const BYTES_MAX: usize = 16 << 20;

/// What an import holds so far.
#[derive(Debug, Default)]
pub struct Held {
    points: usize,
    rows: usize,
    counts: u64,
}

impl Held {
    /// Adds one point.
    ///
    /// # Errors
    /// Names the limit that is passed, and says what to do; so do all of these.
    pub fn add_point(&mut self) -> Result<(), String> {
        self.points += 1;
        within(self.points, POINTS_MAX, "points")
    }

    /// Adds one row.
    pub fn add_row(&mut self) -> Result<(), String> {
        self.rows += 1;
        within(self.rows, ROWS_MAX, "rows")
    }

    /// Adds a point with its histograms.
    pub fn add_phase(&mut self, phase: &Phase) -> Result<(), String> {
        self.add_point()?;
        let kinds = phase.kinds.values();
        let histograms = kinds.flat_map(|kind| [Some(&kind.service), kind.response.as_ref()]);
        self.add_counts(histograms.flatten().map(|h| h.distinct_values()).sum())
    }

    /// Adds room for this many counts of histograms.
    pub fn add_counts(&mut self, counts: usize) -> Result<(), String> {
        self.counts += counts as u64;
        if self.counts <= COUNTS_MAX {
            return Ok(());
        }
        let most = COUNTS_MAX >> 17;
        Err(format!(
            "its histograms need more than {most} MiB; {REMEDY}"
        ))
    }
}

/// Refuses a file that is larger than [`BYTES_MAX`].
pub fn check_size(source: &Source) -> Result<(), Error> {
    if source.bytes.len() <= BYTES_MAX {
        return Ok(());
    }
    let why = format!("it is larger than 16 MiB, too large for {POINTS_MAX} results; {REMEDY}");
    Err(failed(source, why))
}

/// What to do about a file that has too much.
const REMEDY: &str =
    "split the file, and import the parts one after the other into the same directory";

/// Refuses a JSON document with more values than [`VALUES_MAX`]. Every value of a list except the
/// first follows a comma.
pub fn check_json(text: &str) -> Result<(), String> {
    let commas = text.bytes().filter(|byte| *byte == b',').count();
    within(commas, VALUES_MAX, "values in one JSON document")
}

fn within(count: usize, most: usize, what: &str) -> Result<(), String> {
    if count <= most {
        return Ok(());
    }
    let most = tailmark_model::number::count(most as u64);
    Err(format!("there are more than {most} {what}; {REMEDY}"))
}
