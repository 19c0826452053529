//! The properties of YCSB's `CoreWorkload`, with its defaults, as a workload on a data set.

use super::{options::Action, properties::Properties};
use anyhow::{Context, bail, ensure};
use std::{path::Path, sync::Arc, time::Duration};
use tailmark_driver::{DataSet, Schema, read_text_stream};
use tailmark_workload::{
    ClientGroup, Distribution, FieldLengths, KeyFormat, KeyOrder, KeyRange, LengthChoice,
    LengthHistogram, Mix, MixedOperations, RecordFormat, ScanLength, ValueBytes, Workload,
};

/// The number of records for `recordcount=0`.
const RECORDS_UNSET: u64 = i32::MAX as u64;
const COUNT: &str = "a whole number from 0 up";

/// What YCSB's properties ask for.
#[derive(Debug)]
pub struct Core {
    /// Load or run.
    pub action: Action,
    /// The workload of the clients.
    pub workload: Workload,
    /// The records; their number is that of the keys that exist.
    pub data: DataSet,
    /// The first key that is inserted.
    pub first_insert: u64,
    /// It ends after this many operations; `None`: never by itself.
    pub operations: Option<u64>,
    /// Whether an update writes all fields.
    pub write_all_fields: bool,
    /// Whether reads are compared with what was written.
    pub data_integrity: bool,
    /// What an insert that failed is given.
    pub retry: Retry,
    /// From the first to the last second.
    pub duration: Option<Duration>,
}

/// What an insert of the loading phase that failed is given.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// The number of retries.
    pub limit: u64,
    /// The wait before a retry, times a random number from 0.8 to 1.2.
    pub interval: Duration,
    /// Whether the load continues with the next record when all that failed.
    pub keep_going: bool,
}

impl Core {
    /// Reads the properties.
    ///
    /// # Errors
    /// Names the property that is wrong.
    pub fn read(
        properties: &Properties,
        action: Action,
        is_faithful: bool,
    ) -> anyhow::Result<Self> {
        let class = properties
            .text("workload")
            .context("Missing property: workload")?;
        let known = [
            "site.ycsb.workloads.CoreWorkload",
            "com.yahoo.ycsb.workloads.CoreWorkload",
            "core",
        ];
        ensure!(
            known.contains(&class),
            "property workload is `{class}`, but it must be one of {}",
            known.join(", ")
        );
        let count = |name, default| properties.number::<u64>(name, default, COUNT);
        let records = match count("recordcount", 0)? {
            0 => RECORDS_UNSET,
            records => records,
        };
        let start = count("insertstart", 0)?;
        let inserts = count("insertcount", records.saturating_sub(start))?;
        ensure!(
            records >= start.saturating_add(inserts),
            "recordcount ({records}) must be at least insertstart + insertcount ({start} + {inserts})"
        );
        let mut operations = count("operationcount", 0)?;
        if action == Action::Load {
            let unset = properties
                .text("recordcount")
                .is_none_or(|text| text.trim() == "0");
            let all = properties.text("insertcount").is_some() || !unset;
            operations = if all { inserts } else { 0 };
        }
        let data = data(properties, records)?;
        let format = format(properties, data.field_length, is_faithful)?;
        let data_integrity = format.bytes == ValueBytes::Checked;
        let data = match &format.lengths {
            FieldLengths::Histogram(histogram) => DataSet {
                field_length: histogram.longest(),
                ..data
            },
            _ => data,
        };
        // A load reads what the transactions will be, too, though it is no concern of it: a
        // workload file serves both, and no property of it is unknown.
        let transactions = transactions(properties, is_faithful, data_integrity);
        let mut workload = match action {
            Action::Load => Workload::load(),
            Action::Run => transactions?,
        };
        workload.format = format;
        if action == Action::Run {
            workload.range = Some(KeyRange {
                first: start,
                count: inserts.max(1),
            });
        }
        let seconds = count("maxexecutiontime", 0)?;
        Ok(Self {
            action,
            workload,
            first_insert: if action == Action::Load {
                start
            } else {
                records
            },
            data,
            operations: (operations > 0).then_some(operations),
            write_all_fields: properties.flag("writeallfields", false),
            data_integrity,
            retry: retry(properties)?,
            duration: (seconds > 0).then(|| Duration::from_secs(seconds)),
        })
    }
}

fn data(properties: &Properties, records: u64) -> anyhow::Result<DataSet> {
    let fields = properties.number::<u64>("fieldcount", 10, COUNT)?;
    ensure!(
        (1..=100_000).contains(&fields),
        "{}",
        properties.refuse("fieldcount", "from 1 to 100,000")
    );
    let prefix = properties.text_or("fieldnameprefix", "field");
    Ok(DataSet {
        schema: Schema {
            table: properties.text_or("table", "usertable").to_owned(),
            fields: (0..fields)
                .map(|field| format!("{prefix}{field}"))
                .collect(),
        },
        records,
        field_length: properties.number("fieldlength", 100, COUNT)?,
    })
}

fn format(
    properties: &Properties,
    longest: u32,
    is_faithful: bool,
) -> anyhow::Result<RecordFormat> {
    let min = properties.number("minfieldlength", 1, COUNT)?;
    let lengths = match properties.text_or("fieldlengthdistribution", "constant") {
        "constant" => FieldLengths::Constant,
        "uniform" | "zipfian" if min > longest => {
            bail!("minfieldlength ({min}) must not be above fieldlength ({longest})")
        }
        "uniform" => FieldLengths::Uniform { min },
        "zipfian" => FieldLengths::Zipfian { min },
        "histogram" => {
            let path = properties.text_or("fieldlengthhistogram", "hist.txt");
            let failed = || format!("Couldn't read field length histogram file: {path}");
            let text = read_text_stream(Path::new(path)).with_context(failed)?;
            FieldLengths::Histogram(Arc::new(
                LengthHistogram::parse(&text).with_context(failed)?,
            ))
        }
        other => bail!("Unknown field length distribution \"{other}\""),
    };
    let checked = properties.flag("dataintegrity", false);
    ensure!(
        !checked || lengths == FieldLengths::Constant,
        "Must have constant field size to check data integrity."
    );
    let order = match properties.text_or("insertorder", "hashed") {
        "hashed" => KeyOrder::Hashed,
        _ => KeyOrder::Ordered,
    };
    let digits_min = properties.number("zeropadding", 1, "a whole number from 0 to 1,000")?;
    ensure!(
        digits_min <= 1_000,
        "{}",
        properties.refuse("zeropadding", "a whole number from 0 to 1,000")
    );
    let prefix = properties.text_or("keyprefix", "user").to_owned().into();
    let bytes = match (checked, is_faithful) {
        (true, _) => ValueBytes::Checked,
        (false, true) => ValueBytes::Printable,
        (false, false) => ValueBytes::Random,
    };
    Ok(RecordFormat {
        keys: KeyFormat {
            prefix,
            order,
            digits_min,
        },
        lengths,
        bytes,
    })
}

fn transactions(
    properties: &Properties,
    is_faithful: bool,
    data_integrity: bool,
) -> anyhow::Result<Workload> {
    let share = |name, default| properties.number::<f64>(name, default, "a number from 0 up");
    let mix = Mix {
        read: share("readproportion", 0.95)?,
        update: share("updateproportion", 0.05)?,
        insert: share("insertproportion", 0.0)?,
        scan: share("scanproportion", 0.0)?,
        read_modify_write: share("readmodifywriteproportion", 0.0)?,
    };
    let min = properties.number("minscanlength", 1, COUNT)?;
    let max = properties.number("maxscanlength", 1000, COUNT)?;
    let choice = match properties.text_or("scanlengthdistribution", "uniform") {
        "uniform" => LengthChoice::Uniform,
        "zipfian" => LengthChoice::Zipfian,
        other => bail!("Distribution \"{other}\" not allowed for scan length"),
    };
    // Every field by its name is the whole record, however it is asked for.
    let _ = properties.flag("readallfieldsbyname", false);
    let group = ClientGroup::mixed(MixedOperations {
        mix,
        distribution: distribution(properties, is_faithful)?,
        scan: ScanLength { min, max, choice },
        read_all_fields: properties.flag("readallfields", true) || data_integrity,
    });
    let name = properties.text_or("tailmark.workload", "ycsb").to_owned();
    let workload = Workload::new(name, "as the properties of a YCSB call say", group);
    workload.validate()?;
    Ok(workload)
}

fn distribution(properties: &Properties, is_faithful: bool) -> anyhow::Result<Distribution> {
    /// YCSB takes a fraction out of range for 0, and says so.
    fn fraction(properties: &Properties, name: &str, default: f64) -> anyhow::Result<f64> {
        let fraction = properties.number(name, default, "a number from 0 to 1")?;
        if (0.0..=1.0).contains(&fraction) {
            return Ok(fraction);
        }
        properties.warn(format!("{name} is out of range. Setting to 0.0"));
        Ok(0.0)
    }
    let hotspot = |name, default| fraction(properties, name, default);
    let number = |name, default| properties.number(name, default, "a number above 0");
    Ok(match properties.text_or("requestdistribution", "uniform") {
        "uniform" => Distribution::Uniform,
        "zipfian" if is_faithful => Distribution::Zipfian,
        "zipfian" => Distribution::TrueZipfian { theta: 0.99 },
        "latest" => Distribution::Latest,
        "sequential" => Distribution::Sequential,
        "hotspot" => Distribution::Hotspot {
            data_fraction: hotspot("hotspotdatafraction", 0.2)?,
            operation_fraction: hotspot("hotspotopnfraction", 0.8)?,
        },
        "exponential" => Distribution::Exponential {
            percentile: number("exponential.percentile", 95.0)?,
            fraction: number("exponential.frac", 0.857_142_857_1)?,
        },
        other => bail!("Unknown request distribution \"{other}\""),
    })
}

fn retry(properties: &Properties) -> anyhow::Result<Retry> {
    let seconds = properties.number("core_workload_insertion_retry_interval", 3, COUNT)?;
    Ok(Retry {
        limit: properties.number("core_workload_insertion_retry_limit", 0, COUNT)?,
        interval: Duration::from_secs(seconds),
        keep_going: properties.flag("core_workload_insertion_keep_going_on_error", false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, action: Action) -> anyhow::Result<Core> {
        let mut properties = Properties::default();
        properties
            .read_text("workload=site.ycsb.workloads.CoreWorkload\n")
            .unwrap();
        properties.read_text(text).unwrap();
        Core::read(&properties, action, true)
    }

    #[test]
    fn defaults_are_those_of_ycsb() {
        let core = read("recordcount=1000", Action::Run).unwrap();
        let group = core.workload.groups[0].mix().unwrap();
        assert_eq!(
            (group.mix.read, group.mix.update, group.mix.sum()),
            (0.95, 0.05, 1.0)
        );
        assert_eq!(group.distribution, Distribution::Uniform);
        assert_eq!((group.scan.min, group.scan.max), (1, 1000));
        assert_eq!(
            (core.data.schema.fields.len(), core.data.field_length),
            (10, 100)
        );
        assert_eq!(core.data.schema.table, "usertable");
        assert_eq!(
            (core.first_insert, core.operations, core.duration),
            (1000, None, None)
        );
        assert!(group.read_all_fields && !core.write_all_fields && !core.data_integrity);
    }

    #[test]
    fn a_load_inserts_its_slice() {
        let core = read(
            "recordcount=1000\ninsertstart=200\ninsertcount=300",
            Action::Load,
        )
        .unwrap();
        assert_eq!((core.first_insert, core.operations), (200, Some(300)));
        let rest = read("recordcount=1000\ninsertstart=200", Action::Load).unwrap();
        assert_eq!(rest.operations, Some(800));
    }

    #[test]
    fn a_load_knows_the_properties_of_transactions() {
        let mut properties = Properties::default();
        properties
            .read_text(
                "workload=core\nrecordcount=9\nreadproportion=0\nupdateproportion=0\n\
             scanproportion=1\nrequestdistribution=zipfian\nmaxscanlength=5\n",
            )
            .unwrap();
        Core::read(&properties, Action::Load, true).unwrap();
        assert_eq!(properties.warnings(), Vec::<String>::new());
    }

    #[test]
    fn counts_beyond_32_bits_are_taken() {
        let core = read(
            "recordcount=10000000000\noperationcount=20000000000",
            Action::Run,
        )
        .unwrap();
        assert_eq!(
            (core.data.records, core.operations),
            (10_000_000_000, Some(20_000_000_000))
        );
    }

    #[test]
    fn what_is_wrong_is_refused_by_name() {
        for (text, word) in [
            ("recordcount=x", "recordcount"),
            (
                "recordcount=10\ninsertstart=5\ninsertcount=6",
                "insertstart + insertcount",
            ),
            (
                "requestdistribution=zipf",
                "Unknown request distribution \"zipf\"",
            ),
            ("scanlengthdistribution=x", "not allowed for scan length"),
            (
                "fieldlengthdistribution=x",
                "Unknown field length distribution",
            ),
            (
                "fieldlengthdistribution=uniform\nminfieldlength=101",
                "minfieldlength",
            ),
            (
                "fieldlengthdistribution=uniform\ndataintegrity=true",
                "constant field size",
            ),
            (
                "fieldlengthdistribution=histogram\nfieldlengthhistogram=/no",
                "/no",
            ),
            ("fieldcount=0", "fieldcount"),
            ("workload=site.ycsb.workloads.RestWorkload", "RestWorkload"),
            ("readproportion=0\nupdateproportion=0", "weight"),
        ] {
            let error = format!("{:#}", read(text, Action::Run).expect_err(text));
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
