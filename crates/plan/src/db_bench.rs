//! Requirements of plans with db_bench's workloads, which store a different sort of record.

use super::{Error, Sweep, SystemPlan, reader::TableReader};
use std::sync::Arc;
use tailmark_workload::{Workload, db_bench::RecordLayout};

/// The sweep with db_bench's workloads adapted to the data set and the rate.
///
/// # Errors
/// If they are mixed with others, or the records have several fields.
pub(super) fn with_layout(
    mut sweep: Sweep,
    dataset: &TableReader<'_>,
    keys: &TableReader<'_>,
) -> Result<Sweep, Error> {
    let count = sweep
        .workloads
        .iter()
        .filter(|workload| workload.is_db_bench())
        .count();
    let names = || {
        let names: Vec<_> = sweep
            .workloads
            .iter()
            .map(|workload| &workload.name[..])
            .collect();
        names.join(", ")
    };
    let refuse = |key, value: String, accepted: &str| {
        Err(Error::BadValue {
            key,
            value,
            accepted: accepted.to_owned(),
        })
    };
    if count == 0 {
        return Ok(sweep);
    }
    if count < sweep.workloads.len() {
        let accepted = "only db_bench workloads or only others, because they store different \
                        records";
        return refuse(keys.label("workloads"), names(), accepted);
    }
    let fields: u64 = dataset.get("fields")?;
    if fields != 1 {
        return refuse(
            dataset.label("fields"),
            fields.to_string(),
            "1 with db_bench workloads",
        );
    }
    let key_bytes = dataset.get("key_length")?;
    let rate = keys.optional("background_rate")?;
    let with_layout = |workload: &Arc<Workload>| {
        let layout = RecordLayout {
            key_bytes,
            ..workload.record_layout().unwrap_or(RecordLayout::DEFAULT)
        };
        let mut workload = workload.as_ref().clone().with_layout(layout);
        for group in workload
            .groups
            .iter_mut()
            .filter(|group| group.is_background())
        {
            group.rate = rate;
        }
        Arc::new(workload)
    };
    sweep.workloads = sweep.workloads.iter().map(with_layout).collect();
    Ok(sweep)
}

/// Refuses a system whose driver would store db_bench's records in YCSB's layout, or vice versa.
///
/// # Errors
/// Names the setting and its required value.
pub(super) fn refuse_other_layout(systems: &[SystemPlan], sweep: &Sweep) -> Result<(), Error> {
    let required = if sweep
        .workloads
        .iter()
        .any(|workload| workload.is_db_bench())
    {
        "raw"
    } else {
        "ycsb"
    };
    let other = systems
        .iter()
        .filter_map(|system| system.settings.text("layout"))
        .find(|layout| *layout != required);
    match other {
        None => Ok(()),
        Some(layout) => Err(Error::BadValue {
            key: "database.layout".to_owned(),
            value: layout.to_owned(),
            accepted: format!("`{required}` with the workloads of this plan"),
        }),
    }
}
