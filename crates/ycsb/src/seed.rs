//! The seed of a call's operations. YCSB has no seed and draws different operations in each call;
//! so does this, unless a seed is given.

use tailmark_model::{PointKey, instant::since_1970};
use tailmark_runner::PointSeeds;
use tailmark_workload::Seed;

/// A seed that no other call has: nanoseconds since 1970 UTC.
pub fn of_now() -> u64 {
    u64::try_from(since_1970().as_nanos()).unwrap_or(u64::MAX)
}

/// The seed of a run, or of a load from this insert on. A run draws other keys and values than
/// the load, and than a run of another workload, of other clients or at another rate.
pub fn of_phase(seed: u64, point: Option<&PointKey>, first_insert: u64) -> u64 {
    match point {
        Some(key) => PointSeeds::new(seed, key).measure(),
        None => {
            let load = Seed::new(seed).with("phase", "load");
            load.with_number("from", first_insert).value()
        }
    }
}
