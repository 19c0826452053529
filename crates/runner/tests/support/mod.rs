//! Plans made by hand, and the points that running them leaves.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};
use tailmark_driver::{DataSet, Location, Schema, Semantics, Settings, db};
use tailmark_engine::{Silent, Stop};
use tailmark_model::{
    ALLOW_ERRORS, Arrivals, Header, Load, PlanValue, Point, ReportSettings, Role, Scope,
    StudySettings,
};
use tailmark_plan::{
    Adopt, Agent, DataSetPlan, Expect, General, MachinePlan, Order, Plan, Restore, RestoreBefore,
    RestorePlan, Sweep, SystemPlan, Warmup,
};
use tailmark_runner::{Error, Summary};
use tailmark_study::Study;

pub const RECORDS: u64 = 2000;

pub fn system(name: &str, driver: &str, place: &Path) -> SystemPlan {
    system_with(name, driver, place, &[])
}

pub fn system_with(
    name: &str,
    driver: &str,
    place: &Path,
    settings: &[(&str, &str)],
) -> SystemPlan {
    let given: BTreeMap<_, _> = settings
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    let driver = db::find(driver).unwrap();
    let schema = Schema {
        table: "usertable".into(),
        fields: vec!["field0".into()],
    };
    let data = DataSet {
        schema,
        records: RECORDS,
        field_length: 100,
    };
    SystemPlan {
        ssh: Vec::new(),
        agent: Agent::Own,
        name: name.into(),
        place: place.display().to_string(),
        location: Location::Directory(place.to_owned()),
        placeholder: false,
        driver,
        settings: Settings::check(driver, &given, &data, 1.0).unwrap(),
        semantics: Semantics::Faithful,
        version: None,
        data,
        ceiling_for: None,
        optional: false,
        watch: Vec::new(),
        expect: Expect::default(),
        service: None,
        prepare: Default::default(),
        emulate: None,
        cost: None,
    }
}

pub fn plan(systems: Vec<SystemPlan>, workloads: &[&str], threads: &[u32]) -> Plan {
    let workloads: Vec<_> = workloads
        .iter()
        .map(|name| Arc::new(tailmark_workload::find(name).unwrap()))
        .collect();
    let threads_key = PlanValue::new(format!("{threads:?}"), Role::Scope(Scope::Points));
    Plan {
        slo: None,
        anatomy: None,
        abort: Vec::new(),
        own_notices: Vec::new(),
        general: General {
            // All places are directories of one file system.
            same_device: true,
            ..General::default()
        },
        header: Header {
            id: "55555555555555555555555555555555".into(),
            title: "test".into(),
            tailmark: "0".into(),
            created_ms: 0,
            plan: [("sweep.threads".to_owned(), threads_key)].into(),
            settings: StudySettings::default(),
            source: String::new(),
            assumed: vec![],
        },
        systems,
        dataset: DataSetPlan {
            adopt: Adopt::No,
            upgrade: false,
            into_existing: false,
            load_rate: None,
            write_all_fields: false,
            compressibility: 0.0,
            restore: RestorePlan::default(),
        },
        sweep: Sweep {
            workloads,
            threads: threads.to_vec(),
            ladder: None,
            until_decided: None,
            repeats: 1,
            order: Order::Systems,
            rate: None,
            rates: Vec::new(),
            rate_threads: 4,
            rates_of: None,
            arrivals: Some(Arrivals::Even),
            operations: Some(500),
            duration: None,
            until_known: None,
            warmup: Warmup::Fixed(Duration::ZERO),
            seed: 1,
            load_threads: 2,
            settle: Duration::from_secs(1),
            ready_timeout: Duration::from_secs(1),
            allow_errors: ALLOW_ERRORS,
        },
        machine: MachinePlan::default(),
        report: ReportSettings::default(),
        unscaled: None,
        retry_failed: false,
        begun_on: Default::default(),
        settings: Default::default(),
        consent: Default::default(),
    }
}

/// A plan that restores its data set.
pub fn restoring(mut plan: Plan, how: Restore, before: RestoreBefore) -> Plan {
    (plan.dataset.restore.how, plan.dataset.restore.before) = (how, before);
    plan
}

pub fn run(plan: &Plan, out: &Path) -> Result<Summary, Error> {
    tailmark_runner::run(plan, out, &Silent, &Stop::new())
}

pub fn points(out: &Path) -> Vec<Point> {
    Study::open_read_only(out).unwrap().points().unwrap()
}

pub fn loads(out: &Path) -> Vec<Load> {
    Study::open_read_only(out).unwrap().loads().unwrap()
}
