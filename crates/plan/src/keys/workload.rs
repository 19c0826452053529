//! Custom workloads, and the distribution of keys.

use super::roles::{DISTRIBUTION, REPORT, WORKLOAD};
use crate::{
    Accept::{Choice, Count, Distribution, Flag, Number, Text},
    PlanKey,
};

/// The keys of `workload`.
pub(super) const WORKLOAD_KEYS: &[PlanKey] = &[
    PlanKey::new("workload", "name", WORKLOAD, Text).about("name for `sweep.workloads`"),
    PlanKey::new("workload", "about", REPORT, Text)
        .about("one line for the report")
        .or_else(|inputs| inputs.names.first().map(ToString::to_string)),
    PlanKey::new("workload", "read", WORKLOAD, Number(0.0, 1e9))
        .about("weight of reads")
        .or("0"),
    PlanKey::new("workload", "update", WORKLOAD, Number(0.0, 1e9))
        .about("weight of updates")
        .or("0"),
    PlanKey::new("workload", "insert", WORKLOAD, Number(0.0, 1e9))
        .about("weight of inserts")
        .or("0"),
    PlanKey::new("workload", "scan", WORKLOAD, Number(0.0, 1e9))
        .about("weight of scans")
        .or("0"),
    PlanKey::new("workload", "read_modify_write", WORKLOAD, Number(0.0, 1e9))
        .about("weight of reads that then update the record")
        .or("0"),
    PlanKey::new("workload", "distribution", DISTRIBUTION, Distribution)
        .about("how keys are drawn")
        .or("uniform"),
    PlanKey::new("workload", "scan_length_min", WORKLOAD, Count(1, 1_000_000))
        .about("fewest records per scan")
        .or("1"),
    PlanKey::new("workload", "scan_length_max", WORKLOAD, Count(1, 1_000_000))
        .about("most records per scan")
        .or("100"),
    PlanKey::new(
        "workload",
        "scan_length",
        WORKLOAD,
        Choice(&["uniform", "zipfian"]),
    )
    .about("how scan lengths are drawn")
    .or("uniform"),
    PlanKey::new("workload", "read_all_fields", WORKLOAD, Flag)
        .about("a read asks for all fields, not one")
        .or("true"),
];

/// The keys of `distribution`.
pub(super) const DISTRIBUTION_KEYS: &[PlanKey] = &[
    PlanKey::new("distribution", "name", DISTRIBUTION, Text)
        .about("a name from `tailmark list distributions`"),
    PlanKey::new("distribution", "theta", DISTRIBUTION, Number(0.01, 10.0))
        .about("true-zipfian: exponent")
        .or("0.99"),
    PlanKey::new(
        "distribution",
        "data_fraction",
        DISTRIBUTION,
        Number(0.0, 1.0),
    )
    .about("hotspot: part of the records that is hot")
    .or("0.2"),
    PlanKey::new(
        "distribution",
        "operation_fraction",
        DISTRIBUTION,
        Number(0.0, 1.0),
    )
    .about("hotspot: part of the draws that hit hot records")
    .or("0.8"),
    PlanKey::new(
        "distribution",
        "percentile",
        DISTRIBUTION,
        Number(0.01, 99.999),
    )
    .about("exponential: percentage of draws within `fraction`")
    .or("95"),
    PlanKey::new("distribution", "fraction", DISTRIBUTION, Number(1e-9, 1.0))
        .about("exponential: this part of the records, the newest")
        .or("0.8571428571"),
];
