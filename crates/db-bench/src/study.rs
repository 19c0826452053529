//! The benchmarks of a call as points of a study, so that a db_bench user gets the report too.

use super::flags::Flags;
use anyhow::Context;
use std::path::Path;
use tailmark_driver::Params;
use tailmark_model::{Header, System, secret::own_command};
use tailmark_runner::point::CallStudy;

/// The name of the system under test.
pub const SYSTEM: &str = "rocksdb";

/// Flags that describe the data. Calls that differ in one measure different systems.
const OF_DATA: &[&str] = &[
    "compression_ratio",
    "key_size",
    "num",
    "value_size",
    "value_size_distribution_type",
    "value_size_max",
    "value_size_min",
];

/// The study in `out`, created if it does not exist.
///
/// # Errors
/// If it cannot be created or opened.
pub fn open(out: &Path, flags: &Flags, params: &Params) -> anyhow::Result<CallStudy> {
    let given = flags
        .given()
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let system = System {
        name: SYSTEM.to_owned(),
        driver: "rocksdb".to_owned(),
        place: params.location.to_string(),
        semantics: params.semantics.name().to_owned(),
        settings: given.collect(),
        ceiling_for: None,
    };
    tailmark_report::refuse_foreign(&["html"], out)?;
    let header = Header::without_plan("db_bench", own_command());
    let of_data = |flag: &str| OF_DATA.contains(&flag);
    CallStudy::open(out, &header, &system, of_data)
        .with_context(|| format!("failed to open the study in `{}`", out.display()))
}
