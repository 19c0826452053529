//! The plans of published studies are those studies, and say what of them is assumed.

use super::{driver_of, message, shipped};
use crate::{Order, PLANS, RawPlan, SystemPlan};
use std::time::Duration;
use tailmark_driver::Semantics;

#[test]
fn shipped_plans_are_sorted_and_accepted() {
    assert!(PLANS.is_sorted_by(|a, b| a.name < b.name));
    for row in PLANS {
        assert!(
            !row.about.is_empty() && !row.about.contains('\n'),
            "{}",
            row.name
        );
        let raw = shipped(row.name);
        let plan = raw.check();
        if tailmark_driver::db::find(driver_of(&raw)).is_err() {
            // A build without the driver refuses the plan; one with it checks the whole plan.
            let error = message(&plan.unwrap_err());
            assert!(error.contains("there is no driver"), "{error}");
            continue;
        }
        if let Err(error) = &plan
            && message(error).contains("get it with: tailmark rocksdb fetch")
        {
            // Only the releases are missing here.
            assert_eq!(row.name, "rocksdb-releases");
            continue;
        }
        let plan = plan.unwrap_or_else(|error| panic!("{}: {}", row.name, message(&error)));
        assert!(plan.systems.len() >= 2, "{}", row.name);
    }
}

#[test]
fn the_studies_are_faithful_at_full_scale() {
    let of_2021 = shipped("micron-7400-rocksdb").check().unwrap();
    let data = &of_2021.systems[0].data;
    assert_eq!(
        (data.records, data.schema.fields.len(), data.field_length),
        (250_000_000, 4, 1024)
    );
    assert_eq!(
        of_2021.sweep.threads,
        [4, 8, 16, 32, 48, 64, 96, 128, 192, 256]
    );
    assert_eq!(of_2021.sweep.operations, Some(200_000_000));
    let names: Vec<_> = of_2021
        .sweep
        .workloads
        .iter()
        .map(|w| w.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d-uniform", "ycsb-f"]
    );
    assert!(
        of_2021
            .sweep
            .workloads
            .iter()
            .all(|w| w.distribution_name() == "uniform")
    );
    assert!(of_2021.header.assumed.contains(&"sweep.warmup".to_owned()));
    let of_2022 = shipped("micron-7450-rocksdb").check().unwrap();
    assert_eq!((of_2022.systems.len(), of_2022.sweep.threads.len()), (4, 4));
    assert_eq!(of_2022.sweep.workloads.len(), 1);
}

#[test]
fn the_studies_of_servers_are_faithful_at_full_scale() {
    for (name, records, threads, workloads, systems, assumed) in [
        (
            "micron-6500ion-cassandra",
            2_000_000_000,
            &[8, 16, 32, 64, 128][..],
            ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-f"],
            2,
            "database.replication",
        ),
        (
            "micron-9400-aerospike",
            900_000_000,
            &[8, 16, 32, 64, 128, 256, 512, 1024],
            ["ycsb-c", "ycsb-a", "ycsb-b", "ycsb-f"],
            4,
            "database.commit_level",
        ),
    ] {
        let (_, driver) = name.rsplit_once('-').unwrap();
        if tailmark_driver::db::find(driver).is_err() {
            continue; // this build has no such driver
        }
        let plan = shipped(name).check().unwrap();
        let data = &plan.systems[0].data;
        let shape = (data.records, data.schema.fields.len(), data.field_length);
        assert_eq!(shape, (records, 4, 1024), "{name}");
        assert_eq!(plan.sweep.threads, threads, "{name}");
        assert_eq!(
            plan.sweep.duration,
            Some(Duration::from_secs(20 * 60)),
            "{name}"
        );
        let sent = plan.sweep.workloads.iter();
        let sent: Vec<_> = sent
            .map(|w| (w.name.as_str(), w.distribution_name()))
            .collect();
        assert_eq!(sent, workloads.map(|w| (w, "uniform")), "{name}");
        let is_faithful = |system: &SystemPlan| {
            system.service.is_some() && system.ssh.len() == 1 && system.expect.version.is_some()
        };
        assert!(plan.systems.iter().all(is_faithful), "{name}");
        assert_eq!(plan.sweep.ladder.is_some(), name.contains("9400"));
        assert_eq!(plan.systems.len(), systems, "{name}");
        for key in ["dataset.records", assumed] {
            assert!(
                plan.header.assumed.contains(&key.to_owned()),
                "{name}: {key}"
            );
        }
    }
}

#[test]
fn the_studies_have_the_memory_versions_and_competitors_that_were_published() {
    for (name, memory, version, systems) in [
        (
            "micron-7400-rocksdb",
            512,
            None,
            &["Micron 7400", "Micron 7300"][..],
        ),
        (
            "micron-7450-rocksdb",
            512,
            Some("6.22"),
            &["Micron 7450", "Device A", "Device B", "Device C"],
        ),
        (
            "micron-7450-dbbench",
            256,
            Some("8.1.1"),
            &["Micron 7450", "Samsung PM9A3", "Solidigm D5-P5430"],
        ),
    ] {
        let plan = shipped(name).check().unwrap();
        assert_eq!(plan.machine.memory_limit, Some(memory << 30), "{name}");
        let names: Vec<_> = plan.systems.iter().map(|system| &system.name[..]).collect();
        assert_eq!(names, systems);
        for system in &plan.systems {
            assert_eq!(system.version.as_deref(), version, "{name}");
            assert!(system.placeholder, "{name}");
        }
        let marked = |key: &str| plan.header.assumed.contains(&key.to_owned());
        assert!(!marked("machine.memory_limit"), "{name}");
    }
    let quickstart = RawPlan::find("quickstart").unwrap();
    assert!(!quickstart.source().contains("placeholder"));
}

#[test]
fn what_the_study_of_db_bench_does_not_say_is_marked() {
    let rocksdb = tailmark_driver::db::find("rocksdb").unwrap();
    let plan = shipped("micron-7450-dbbench").check().unwrap();
    for key in [
        "sweep.workloads",
        "sweep.background_rate",
        "dataset.restore",
        "workload.readrandom.distribution",
        "system.Samsung PM9A3.database.layout",
        "system.Samsung PM9A3.database.cache_kind",
        "system.Samsung PM9A3.database.block_size",
    ] {
        assert!(plan.header.plan.contains_key(key), "{key}");
        assert!(plan.header.assumed.contains(&key.to_owned()), "{key}");
    }
    let system = &plan.systems[0];
    assert_eq!(system.settings.text("block_size"), Some("8192"));
    assert_eq!(system.settings.text("layout"), Some("raw"));
    assert!(rocksdb.stored.contains(&"block_size"));
}

#[test]
fn the_studies_of_servers_name_their_competitors_and_what_their_updates_do() {
    let names = |name: &str| {
        let raw = RawPlan::find(name).unwrap();
        assert!(!raw.source().contains("Gb network"), "{name}");
        let systems = raw.table()["system"].as_array().unwrap().iter();
        let names = systems.map(|system| system["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let cassandra = names("micron-6500ion-cassandra");
    assert_eq!(cassandra, ["Micron 6500 ION", "Solidigm D5-P5316"]);
    let aerospike = names("micron-9400-aerospike");
    let competitors = ["Competitor P", "Competitor M", "Competitor C"];
    assert_eq!(aerospike[1..], competitors);
    let plan = shipped("micron-9400-aerospike").check().unwrap();
    let system = &plan.systems[0];
    assert_eq!(system.settings.text("update"), Some("replace"));
    assert_eq!(system.semantics, Semantics::Faithful);
    for key in ["database.update", "semantics"] {
        let key = format!("system.Micron 9400.{key}");
        assert!(plan.header.assumed.contains(&key), "{key}");
    }
}

#[test]
fn the_study_of_persistence_has_a_service_of_each_kind_behind_one_address() {
    if tailmark_driver::db::find("redis").is_err() {
        return; // this build has no such driver
    }
    let plan = shipped("redis-persistence").check().unwrap();
    let names: Vec<_> = plan.systems.iter().map(|system| &*system.name).collect();
    assert_eq!(names, ["always", "everysec", "snapshots", "none"]);
    assert!(plan.sweep.repeats >= 4 && plan.sweep.order == Order::Interleaved);
    for system in &plan.systems {
        assert!(system.service.is_some(), "{}", system.name);
        assert_eq!(system.location.to_string(), "127.0.0.1:6400");
    }
}

#[test]
fn the_quickstart_has_runs_enough_for_verdicts_and_is_short() {
    let raw = shipped("quickstart");
    let plan = raw.check().unwrap();
    assert!(plan.sweep.repeats >= 4);
    assert_eq!(plan.sweep.order, Order::Interleaved);
    assert!(plan.report.metric.is_some());
    let points = u32::try_from(plan.systems.len() * plan.points().count()).unwrap();
    let of_point = plan.sweep.duration.unwrap() + plan.sweep.warmup.longest();
    // The rest of the five minutes is for loading, opening and settling.
    assert!(points * of_point < Duration::from_secs(200));
}

#[test]
fn a_plan_that_is_larger_than_its_study_may_be_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("quickstart");
    std::fs::write(&path, "title = 'own'").unwrap();
    let file = RawPlan::find(path.to_str().unwrap()).unwrap();
    assert_eq!(file.name.as_deref(), Some("quickstart"));
    std::fs::write(&path, " ".repeat((4 << 20) + 1)).unwrap();
    let refused = RawPlan::find(path.to_str().unwrap()).unwrap_err();
    let cause = std::error::Error::source(&refused).map(ToString::to_string);
    assert_eq!(
        cause.as_deref(),
        Some("it has more than 4 MiB"),
        "{refused}"
    );
}
