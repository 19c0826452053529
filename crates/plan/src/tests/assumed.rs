//! What is marked as assumed: what the plan says, and never what the user gave.

use super::{message, plan, shipped};
use crate::{PLANS, RawPlan};
use tailmark_testing::assert_says;

const PLAN: &str = "\
assumed = ['database.latency_us', 'database.semantics', 'dataset', 'sweep.distribution', 'sweep.warmup',
    'sweep.duration', 'machine.memory_limit', 'system.b.database.miss_every', 'system.\"c d\".ceiling_for',
    'workload.mine.scan', 'workload.mine.distribution.theta']
[database]
driver = 'sim-threads'
latency_us = 5
[dataset]
records = 1000
[sweep]
workloads = ['ycsb-c', 'mine']
duration = '20m'
warmup = '1m'
[machine]
memory_limit = '4GiB'
[[system]]
name = 'a'
[[system]]
name = 'b'
database = { latency_us = 7, miss_every = 9 }
[[system]]
name = 'c d'
ceiling_for = 'a'
database = { driver = 'null' }
[[workload]]
name = 'mine'
scan = 1
";

fn marked(change: impl FnOnce(&mut RawPlan)) -> Vec<String> {
    let mut raw = RawPlan::parse("test", PLAN).unwrap();
    change(&mut raw);
    let checked = raw.check();
    checked
        .unwrap_or_else(|error| panic!("{}", message(&error)))
        .header
        .assumed
}

#[test]
fn every_key_that_an_assumed_one_becomes_is_marked() {
    let marked = marked(|_| {});
    for key in [
        "sweep.warmup",
        "machine.memory_limit",
        "dataset.records",
        "dataset.compressibility",
        "system.a.database.latency_us",
        "system.a.semantics",
        "system.b.semantics",
        "system.b.database.miss_every",
        "system.c d.semantics",
        "system.c d.ceiling_for",
        "workload.ycsb-c.distribution",
        "workload.mine.distribution",
        "workload.mine.mix",
    ] {
        assert!(marked.contains(&key.to_owned()), "{key}: {marked:?}");
    }
    for key in [
        "system.b.database.latency_us",
        "system.a.database.miss_every",
        "system.a.driver",
        "system.a.place",
        "sweep.threads",
        "machine.drop_caches",
        "workload.ycsb-c.mix",
    ] {
        assert!(!marked.contains(&key.to_owned()), "{key}: {marked:?}");
    }
}

#[test]
fn what_the_user_gives_is_not_marked() {
    let lacks = |marked: Vec<String>, gone: &[&str], kept: &[&str]| {
        for key in gone {
            assert!(!marked.contains(&(*key).to_owned()), "{key}: {marked:?}");
        }
        for key in kept {
            assert!(marked.contains(&(*key).to_owned()), "{key}: {marked:?}");
        }
    };
    let by_flag = marked(|raw| raw.set("--warmup", "sweep.warmup", "1m".into()).unwrap());
    lacks(by_flag, &["sweep.warmup"], &["sweep.duration"]);
    let by_set = marked(|raw| raw.assign("database.latency_us=6").unwrap());
    let name = "database.latency_us";
    lacks(
        by_set,
        &[name, "system.a.database.latency_us"],
        &["system.a.semantics"],
    );
    let one = marked(|raw| raw.assign("system.a.database.semantics=correct").unwrap());
    lacks(
        one,
        &["system.a.semantics"],
        &["system.b.semantics", "database.semantics"],
    );
    let all = marked(|raw| raw.assign("sweep.distribution=uniform").unwrap());
    lacks(
        all,
        &[
            "sweep.distribution",
            "workload.ycsb-c.distribution",
            "workload.mine.distribution",
        ],
        &["workload.mine.mix"],
    );
    let scaled = marked(|raw| raw.set("--scale", "scale", "2".into()).unwrap());
    lacks(
        scaled,
        &["dataset.records", "machine.memory_limit"],
        &["dataset.fields", "sweep.duration"],
    );
    let timed = marked(|raw| raw.set("--time-scale", "time_scale", "0.5".into()).unwrap());
    lacks(
        timed,
        &["sweep.duration", "sweep.warmup"],
        &["dataset.records"],
    );
    let placed = marked(|raw| raw.set_systems(&["a=x".to_owned()]).unwrap());
    lacks(
        placed,
        &["system.a.place", "system.b.database.miss_every"],
        &["system.a.database.latency_us", "system.c d.ceiling_for"],
    );
}

#[test]
fn a_driver_that_the_user_gives_takes_the_marks_of_the_plans_own_along() {
    let text = "assumed = ['database', 'database.latency_us', 'database.driver']\n\
                [database]\ndriver = 'sim-threads'\nlatency_us = 5\n[[system]]\nname = 'a'\n";
    let mut raw = RawPlan::parse("test", text).unwrap();
    let before = raw.check().unwrap().header.assumed;
    assert!(before.contains(&"system.a.driver".to_owned()), "{before:?}");
    raw.set_driver("null");
    let after = raw.check().unwrap().header.assumed;
    assert_eq!(after, ["database", "system.a.semantics"]);
}

#[test]
fn a_name_of_which_nothing_is_left_goes_too() {
    let text = "assumed = ['database.block_cache', 'database.compression', 'database.sync']\n\
                [[system]]\nname = 'a'\npath = '/x'\n";
    let mut raw = RawPlan::parse("test", text).unwrap();
    raw.set("--scale", "scale", "2".into()).unwrap();
    let marked = raw.check().unwrap().header.assumed;
    // A compression that is not given has no value to assume.
    let left = [
        "database.compression",
        "database.sync",
        "system.a.database.sync",
    ];
    assert_eq!(marked, left);
}

#[test]
fn a_scale_leaves_the_mark_where_it_changes_nothing() {
    let text = PLAN.replace("'1m'", "'0s'");
    let mut raw = RawPlan::parse("test", &text).unwrap();
    raw.set("--time-scale", "time_scale", "0.5".into()).unwrap();
    let marked = raw.check().unwrap().header.assumed;
    assert!(marked.contains(&"sweep.warmup".to_owned()), "{marked:?}");
    // A scale in the plan is not a choice of the user.
    let own = plan(&format!("scale = 2\n{PLAN}")).header.assumed;
    assert!(own.contains(&"dataset.records".to_owned()), "{own:?}");
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest() {
    for (name, near) in [
        ("database.latency", "`database.latency_us`"),
        ("database.block_cache", "keys of this plan"),
        ("sweep.wramup", "`sweep.warmup`"),
        ("machine.memory", "keys of this plan"),
        ("system.e.optional", "`system.a.optional`"),
        (
            "system.b.database.mis_every",
            "`system.b.database.miss_every`",
        ),
        ("workload.mine.raed", "`workload.mine.read`"),
        ("sweep.distribution.name.x", "keys of this plan"),
    ] {
        let text = PLAN.replace("'sweep.warmup'", &format!("'{name}'"));
        let error = message(&RawPlan::parse("test", &text).unwrap().check().unwrap_err());
        assert!(
            error.starts_with(&format!("test, line 1: assumed is `{name}`")),
            "{error}"
        );
        assert_says(&error, &[near]);
    }
}

#[test]
fn every_name_that_a_shipped_plan_assumes_marks_what_is_in_effect() {
    for row in PLANS {
        let raw = shipped(row.name);
        let Ok(plan) = raw.check() else { continue };
        let of_plan = |name: &String| !plan.header.plan.contains_key(name);
        let names = plan.header.assumed.iter().filter(|name| of_plan(name));
        for name in names.filter(|name| name.starts_with("database.")) {
            let setting = name.trim_start_matches("database.");
            let is_unset = plan.systems[0].settings.text(setting).is_none();
            let ending = format!(".{setting}");
            let is_marked = plan
                .header
                .assumed
                .iter()
                .any(|key| key.starts_with("system.") && key.ends_with(&ending));
            assert!(is_marked || is_unset, "{}: {name}", row.name);
        }
    }
}

#[test]
fn every_setting_of_rocksdb_is_marked_in_the_studies_of_rocksdb() {
    for name in [
        "micron-7400-rocksdb",
        "micron-7450-rocksdb",
        "micron-7450-dbbench",
    ] {
        let plan = shipped(name).check().unwrap();
        let system = &plan.systems[0];
        // What only tailmark has, and what RocksDB did not have yet.
        let own = ["statistics", "async_io", "library"];
        for (setting, _) in system
            .settings
            .iter()
            .filter(|(setting, _)| !own.contains(setting))
        {
            let key = format!("system.{}.database.{setting}", system.name);
            assert!(plan.header.assumed.contains(&key), "{name}: {key}");
        }
    }
}
