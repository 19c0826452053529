//! The database and its data: `[database]` and `[dataset]`.

use super::roles::{DATA_SET, LOAD, RUN, SYSTEM};
use crate::{
    Accept::{Choice, Count, Flag, FlagOr, Number, Size, Text},
    Adopt, Error, Plan, PlanKey, Restore, RestorePlan, Sweep, SystemPlan,
    limits::{DRIVER_DEFAULT, RATE_MAX, RATE_MIN, RECORDS_MAX},
    reader::TableReader,
    units::times,
};
use tailmark_driver::{DataSet, OperationKind, Schema, Semantics};
use tailmark_workload::Workload;

/// The semantics that a system can have.
const SEMANTICS: &[&str] = &[Semantics::Faithful.name(), Semantics::Correct.name()];

/// The keys of `database`.
pub(super) const DATABASE_KEYS: &[PlanKey] = &[
    PlanKey::new("database", "driver", SYSTEM, Text)
        .about("which database; `tailmark list drivers` shows them and their settings")
        .or(DRIVER_DEFAULT)
        .flag(0, "--driver", "DRIVER")
        .help("The database (`tailmark list drivers`)"),
    PlanKey::new("database", "semantics", SYSTEM, Choice(SEMANTICS))
        .about("faithful: as YCSB and db_bench do it, faults included; correct: as documented")
        .or("faithful"),
    PlanKey::new("database", "version", SYSTEM, Text)
        .about("version of the described study; another one is a finding"),
];

/// Settings of drivers that have a flag. A flag sets every setting of its name, and those that begin
/// with it: `--direct` sets `direct_reads` and `direct_flush_compaction` of RocksDB.
pub const SETTING_FLAGS: &[PlanKey] = &[
    PlanKey::new("database", "compression", SYSTEM, Text)
        .flag(3, "--compression", "NAME")
        .help("Compression of stored data, such as none, lz4 or zstd"),
    PlanKey::new("database", "direct", SYSTEM, Flag)
        .flag(4, "--direct", "")
        .help("Bypass the page cache with O_DIRECT: rocksdb and file"),
];

/// The keys of `dataset`.
pub(super) const DATASET_KEYS: &[PlanKey] = &[
    PlanKey::new("dataset", "records", DATA_SET, Count(1, RECORDS_MAX))
        .about("records to load")
        .or("1M")
        .flag(1, "--records", "COUNT")
        .help("Records to load: 250_000_000, 100k, 2.5M, 10G")
        .sets(|plan| Some(of_plan(plan)?.records.to_string())),
    PlanKey::new("dataset", "fields", DATA_SET, Count(1, 1_000))
        .about("fields per record")
        .or("4")
        .sets(|plan| Some(of_plan(plan)?.schema.fields.len().to_string())),
    PlanKey::new("dataset", "field_length", DATA_SET, Size(1, 16 << 20))
        .about("bytes per field")
        .or("1024")
        .flag(2, "--record-size", "SIZE")
        .help("Bytes per record, split evenly over its fields: 4KiB")
        .sets(|plan| Some(of_plan(plan)?.field_length.to_string())),
    PlanKey::new("dataset", "key_length", DATA_SET, Count(1, 1_000))
        .about("bytes per key; db_bench workloads only")
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
        .about("part of each value that a compressor can remove")
        .or("0")
        .sets(|plan| Some(plan.dataset.compressibility.to_string())),
    PlanKey::new("dataset", "write_all_fields", DATA_SET, Flag)
        .about("an update writes all fields, not one")
        .or("false")
        .sets(|plan| Some(plan.dataset.write_all_fields.to_string())),
    PlanKey::new("dataset", "load_rate", LOAD, Number(RATE_MIN, RATE_MAX))
        .about("records per second of a load; without it, as fast as possible")
        .flag(5, "--load-rate", "OPS")
        .help("Records per second of a load; default: no limit")
        .sets(|plan| Some(plan.dataset.load_rate?.to_string())),
    PlanKey::new("dataset", "adopt", DATA_SET, FlagOr(Adopt::OVERWRITE))
        .about("use data that tailmark did not load; overwrite: workloads may write to it")
        .or(Adopt::No.name())
        .flag(6, "--adopt", "overwrite")
        .with_optional_value()
        .help("Use data that tailmark did not load; writes need =overwrite")
        .sets(|plan| {
            (plan.dataset.adopt != Adopt::No).then(|| plan.dataset.adopt.name().to_owned())
        }),
    PlanKey::new("dataset", "upgrade", DATA_SET, Flag)
        .about("adopted data may become unreadable for the version that wrote it")
        .or("false")
        .flag(7, "--upgrade", "")
        .help("Write adopted data even if its old version cannot read it")
        .sets(|plan| plan.dataset.upgrade.then(|| true.to_string())),
    PlanKey::new("dataset", "into_existing", RUN, Flag)
        .about("create tables in a keyspace that tailmark did not create")
        .or("false")
        .flag(8, "--into-existing", "")
        .help("Create tables in a keyspace that tailmark did not create"),
];

/// The data set, and what may be done to existing data.
#[derive(Debug, Clone)]
pub struct DataSetPlan {
    /// Whether data that tailmark did not load is used.
    pub adopt: Adopt,
    /// Whether it may become unreadable for the version of the database that wrote it.
    pub upgrade: bool,
    /// Whether data may be loaded into an existing keyspace that tailmark did not create.
    pub into_existing: bool,
    /// Records per second of a load over all its clients; `None`: as fast as possible.
    pub load_rate: Option<f64>,
    /// Whether an update writes all fields instead of one.
    pub write_all_fields: bool,
    /// The fraction of each value that is not random: 0 (incompressible) to 1.
    pub compressibility: f64,
    /// How points get it as it was loaded.
    pub restore: RestorePlan,
}

impl DataSetPlan {
    pub(crate) fn read(
        keys: &TableReader<'_>,
        sweep: &Sweep,
        systems: &[SystemPlan],
    ) -> Result<Self, Error> {
        let adopt = keys.get("adopt")?;
        Ok(Self {
            restore: RestorePlan::read(keys, (adopt, sweep), systems)?,
            adopt,
            upgrade: keys.get("upgrade")?,
            into_existing: keys.get("into_existing")?,
            load_rate: keys.optional("load_rate")?,
            write_all_fields: keys.get("write_all_fields")?,
            compressibility: keys.get("compressibility")?,
        })
    }

    /// Adopted data is never created, loaded or removed. So a plan that needs one of these is
    /// refused, and so is a plan that writes to it without saying so.
    pub(crate) fn refuse_to_change_adopted(
        &self,
        dataset: &TableReader<'_>,
        sweep: &Sweep,
        systems: &[SystemPlan],
    ) -> Result<(), Error> {
        if self.adopt == Adopt::No {
            return Ok(());
        }
        let empties = sweep.workloads.iter().find(|w| w.starts_empty());
        let does_delete = |w: &Workload| w.kinds().contains(&OperationKind::Delete);
        let deletes = sweep.workloads.iter().find(|w| does_delete(w));
        let writes = sweep.workloads.iter().find(|w| w.writes());
        let erased = systems.iter().find(|system| system.prepare.destroys());
        let accepted = if self.restore.how != Restore::None {
            let how = self.restore.how.name();
            format!(
                "`false` if dataset.restore is `{how}`, because tailmark never removes adopted data"
            )
        } else if let Some(workload) = empties {
            let name = &workload.name;
            format!(
                "`false` with workload `{name}`, which begins with an empty database, because \
             tailmark never removes adopted data"
            )
        } else if let Some(workload) = deletes {
            let name = &workload.name;
            format!(
                "`false` with workload `{name}`, which removes records, because tailmark never removes \
                 adopted data"
            )
        } else if let Some(system) = erased {
            let name = &system.name;
            format!("`false` because preparing system `{name}` would erase the data to adopt")
        } else if self.into_existing {
            "`false` with dataset.into_existing, because adopted data is not loaded".to_owned()
        } else if let Some(workload) = writes.filter(|_| self.adopt == Adopt::Read) {
            let name = &workload.name;
            format!(
                "`{}` (--adopt=overwrite) with workload `{name}`, which writes to the adopted data; or \
             choose workloads that only read, such as ycsb-c",
                Adopt::OVERWRITE
            )
        } else {
            return Ok(());
        };
        Err(Error::BadValue {
            key: dataset.label("adopt"),
            value: self.adopt.name().to_owned(),
            accepted,
        })
    }
}

/// The records before scaling.
pub(crate) fn data_set(reader: &TableReader<'_>) -> Result<DataSet, Error> {
    let fields: u64 = reader.get("fields")?;
    Ok(DataSet {
        schema: Schema {
            table: "usertable".to_owned(),
            fields: (0..fields).map(|index| format!("field{index}")).collect(),
        },
        records: reader.get("records")?,
        field_length: reader.get("field_length")?,
    })
}

/// The data set times `scale`, but at least one record per client if there were that many.
pub(crate) fn scaled(data: &DataSet, scale: f64, clients: u32) -> DataSet {
    let min = u64::from(clients).min(data.records);
    let records = times(data.records, scale).clamp(min, RECORDS_MAX);
    DataSet {
        records,
        ..data.clone()
    }
}

/// The data set, which is the same for every system.
fn of_plan(plan: &Plan) -> Option<&DataSet> {
    plan.systems.first().map(|system| &system.data)
}
