//! Limits and words that several modules use.

use tailmark_model::Arrivals;

/// The most clients that a point may have.
pub const THREADS_MAX: u64 = 1024;
/// The most repeats of a point.
pub const REPEATS_MAX: u64 = 100;
/// The lowest rate, operations per second.
pub const RATE_MIN: f64 = 0.1;
/// The highest rate, operations per second.
pub const RATE_MAX: f64 = 1e9;
/// The highest rate relative to a peak, percent.
pub const RATE_PERCENT_MAX: f64 = 1_000.0;
/// The most records of a data set.
pub const RECORDS_MAX: u64 = 1_000_000_000_000;
/// The default driver.
pub const DRIVER_DEFAULT: &str = "rocksdb";
/// A year, seconds: longer than any phase.
pub const YEAR: f64 = 365.0 * 86_400.0;
/// How operations can arrive at a rate.
pub const ARRIVALS: &[&str] = &[Arrivals::Even.name(), Arrivals::Poisson.name()];
/// The word for a warm-up that ends by rule.
pub const AUTO: &str = "auto";
/// The only end of a ladder in plans.
pub const NO_GAIN: &str = "no gain";
