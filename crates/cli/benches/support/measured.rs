//! tailmark as a sweep runs it, with everything on: the side that is held against the others.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};
use tailmark_driver::{
    Access, Clients, DataSet, Database, Driver, Location, Params, Place, Schema, Semantics,
    Settings,
};
use tailmark_engine::{Silent, Spec, Stop, Terms};
use tailmark_model::{Phase, PointKey};
use tailmark_runner::{capture::Watched, point};
use tailmark_workload::{Distribution, KeySpace, Stream, StreamConfig, Workload};

/// Records of 4 x 1,024 B.
pub fn data(records: u64) -> DataSet {
    let fields = (0..4).map(|i| format!("field{i}")).collect();
    DataSet {
        schema: Schema {
            table: "usertable".into(),
            fields,
        },
        records,
        field_length: 1024,
    }
}

/// Opens a database of so many records.
pub fn open(
    driver: &'static Driver,
    place: &Path,
    settings: &[(&str, &str)],
    records: u64,
) -> Box<dyn Database> {
    (driver.open)(&params(driver, place, settings, records)).unwrap()
}

/// What a database of so many records is opened with.
pub fn params(
    driver: &'static Driver,
    place: &Path,
    settings: &[(&str, &str)],
    records: u64,
) -> Params {
    let given: BTreeMap<_, _> = settings
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    let data = data(records);
    Params {
        location: match driver.place {
            Place::Hosts => Location::of_hosts(&place.to_string_lossy()),
            _ => Location::Directory(place.to_owned()),
        },
        settings: Settings::check(driver, &given, &data, 1.0).unwrap(),
        data,
        semantics: Semantics::Faithful,
        access: Access::Create,
        study: String::new(),
    }
}

/// The reads of YCSB C, uniform.
pub fn uniform_reads() -> Arc<Workload> {
    let workload = tailmark_workload::find("ycsb-c").unwrap();
    Arc::new(workload.with_distribution(Distribution::Uniform))
}

/// The operations of one client.
pub fn stream(workload: &Arc<Workload>, records: u64, client: u32, keys: &Arc<KeySpace>) -> Stream {
    Stream::new(&StreamConfig {
        workload: Arc::clone(workload),
        group: 0,
        data: data(records),
        keys: Arc::clone(keys),
        seed: 1,
        client,
        operations: None,
        write_all_fields: false,
        compressibility: 0.0,
    })
    .unwrap()
}

/// When a run ends.
#[derive(Clone, Copy)]
pub enum Budget {
    /// After so long, on a data set that is there.
    Time(Duration),
    /// When every record was written.
    Load,
}

/// Runs a workload; what it found and did not find is checked.
pub fn run(
    database: &dyn Database,
    kind: Clients,
    workload: &Arc<Workload>,
    records: u64,
    clients: u32,
    budget: Budget,
) -> Phase {
    let watched = Watched {
        places: vec!["/".into()],
        ..Watched::default()
    };
    run_watched(database, kind, workload, records, clients, budget, &watched)
}

/// As [`run`], with these probes on.
pub fn run_watched(
    database: &dyn Database,
    kind: Clients,
    workload: &Arc<Workload>,
    records: u64,
    clients: u32,
    budget: Budget,
    watched: &Watched,
) -> Phase {
    let key = PointKey {
        system: "bench".into(),
        workload: workload.name.clone(),
        distribution: "uniform".into(),
        threads: clients,
        repeat: 1,
        target_rate: None,
        arrivals: None,
    };
    let (keys, operations, duration) = match budget {
        Budget::Time(time) => (KeySpace::new(records, records), None, Some(time)),
        Budget::Load => (KeySpace::new(0, 0), Some(records), None),
    };
    let (data, keys) = (data(records), Arc::new(keys));
    let spec = Spec {
        clients: kind,
        system: "bench",
        point: Some(&key),
        terms: Terms {
            threads: clients,
            operations,
            duration,
            seed: 1,
            ..Terms::default()
        },
        ..Spec::new(database, workload, &data, &keys)
    };
    let measured = point::measure(&spec, watched, &Silent, &Stop::new()).unwrap();
    let phase = measured.phase;
    assert_eq!(phase.errors(), 0);
    let missed: u64 = phase.kinds.values().map(|result| result.not_found).sum();
    assert_eq!(missed, 0, "every key is found");
    assert!(phase.operations > 0);
    phase
}
