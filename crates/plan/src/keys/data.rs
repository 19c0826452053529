//! What is measured and what is loaded: `[database]` and `[dataset]`.

use super::roles::{DATA_SET, LOAD, RUN, SYSTEM};
use crate::{
    Accept::{Choice, Count, Flag, FlagOr, Number, Size, Text},
    Adopt, Plan, PlanKey,
    limits::{DRIVER_DEFAULT, RATE_MAX, RATE_MIN, RECORDS_MAX},
};
use tailmark_driver::{DataSet, Semantics};

/// Whose semantics a system can keep.
const SEMANTICS: &[&str] = &[Semantics::Faithful.name(), Semantics::Correct.name()];

/// The keys of `database`.
pub(super) const DATABASE_KEYS: &[PlanKey] = &[
    PlanKey::new("database", "driver", SYSTEM, Text)
        .about("which database; `list drivers` names them and their settings")
        .or(DRIVER_DEFAULT)
        .flag(0, "--driver", "DRIVER")
        .help("The database (`tailmark list drivers`)"),
    PlanKey::new("database", "semantics", SYSTEM, Choice(SEMANTICS))
        .about("YCSB's, faults included, or what the operation promises")
        .or("faithful"),
    PlanKey::new("database", "version", SYSTEM, Text)
        .about("the version that the described study used; a database of another is a finding"),
];

/// The keys of `dataset`.
pub(super) const DATASET_KEYS: &[PlanKey] = &[
    PlanKey::new("dataset", "records", DATA_SET, Count(1, RECORDS_MAX))
        .about("how many records are loaded")
        .or("1M")
        .flag(3, "--records", "COUNT")
        .help("Records to load: 250_000_000, 100k, 2.5M, 10G")
        .sets(|plan| Some(data_set(plan)?.records.to_string())),
    PlanKey::new("dataset", "fields", DATA_SET, Count(1, 1_000))
        .about("fields of a record")
        .or("4")
        .sets(|plan| Some(data_set(plan)?.schema.fields.len().to_string())),
    PlanKey::new("dataset", "field_length", DATA_SET, Size(1, 16 << 20))
        .about("bytes of a field")
        .or("1024")
        .sets(|plan| Some(data_set(plan)?.field_length.to_string())),
    PlanKey::new("dataset", "key_length", DATA_SET, Count(1, 1_000))
        .about("bytes of a key, with db_bench's workloads")
        .or("16")
        .sets(|plan| {
            Some(
                plan.sweep
                    .workloads
                    .first()?
                    .record_layout()?
                    .key_bytes
                    .to_string(),
            )
        }),
    PlanKey::new("dataset", "compressibility", DATA_SET, Number(0.0, 1.0))
        .about("the part of each value that a compressor can remove")
        .or("0")
        .sets(|plan| Some(plan.sweep.compressibility.to_string())),
    PlanKey::new("dataset", "write_all_fields", DATA_SET, Flag)
        .about("whether an update writes all fields instead of one")
        .or("false")
        .sets(|plan| Some(plan.sweep.write_all_fields.to_string())),
    PlanKey::new("dataset", "load_rate", LOAD, Number(RATE_MIN, RATE_MAX))
        .about("records per second of a load over all its clients; none: as fast as they can")
        .flag(27, "--load-rate", "OPS")
        .help("Records per second of a load; without it, as fast as its clients can")
        .sets(|plan| Some(plan.sweep.load_rate?.to_string())),
    PlanKey::new("dataset", "adopt", DATA_SET, FlagOr(Adopt::OVERWRITE))
        .about("whether data that tailmark did not load is used; overwrite: workloads may write")
        .or(Adopt::No.name())
        .flag(16, "--adopt", "overwrite")
        .with_optional_value()
        .help(
            "Use data that tailmark did not load, after reading a sample of its records. Nothing is \
             created, loaded or removed, and workloads that write are refused, except with \
             --adopt=overwrite",
        )
        .sets(|plan| (plan.sweep.adopt != Adopt::No).then(|| plan.sweep.adopt.name().to_owned())),
    PlanKey::new("dataset", "upgrade", DATA_SET, Flag)
        .about("whether adopted data may become unreadable for the version that wrote it")
        .or("false")
        .flag(31, "--upgrade", "")
        .help(
            "Let workloads write to adopted data even if the version of the database that wrote \
             it cannot read it afterwards",
        )
        .sets(|plan| plan.sweep.upgrade.then(|| true.to_string())),
    PlanKey::new("dataset", "into_existing", RUN, Flag)
        .about("whether tables are created in a keyspace that tailmark did not create")
        .or("false")
        .flag(30, "--into-existing", "")
        .help("Create tables in a keyspace that exists and that tailmark did not create"),
];

/// The data set, the same of every system.
fn data_set(plan: &Plan) -> Option<&DataSet> {
    plan.systems.first().map(|system| &system.data)
}
