//! The limits and words of values that several modules know.

use tailmark_model::Arrivals;

/// The most clients that a point may have.
pub const THREADS_MAX: u64 = 1024;
/// The lowest rate, operations per second.
pub const RATE_MIN: f64 = 0.1;
/// The highest rate, operations per second.
pub const RATE_MAX: f64 = 1e9;
/// The most that a rate may be of a peak, percent.
pub const RATE_PERCENT_MAX: f64 = 1_000.0;
/// The most records of a data set.
pub const RECORDS_MAX: u64 = 1_000_000_000_000;
/// The driver where a plan names none.
pub const DRIVER_DEFAULT: &str = "rocksdb";
/// A year, seconds: longer than any phase.
pub const YEAR: f64 = 365.0 * 86_400.0;
/// How operations can arrive at a rate.
pub const ARRIVALS: &[&str] = &[Arrivals::Even.name(), Arrivals::Poisson.name()];
/// The word for a warm-up that ends by rule.
pub const AUTO: &str = "auto";
/// What a ladder is climbed until: the one word for it in plans.
pub const NO_GAIN: &str = "no gain";
