//! What a plan says is what takes effect, and what is wrong in one is refused by name.

mod assumed;
mod effective;
mod errors;
mod expect;
mod flags;
mod hosts;
mod ladder;
mod notices;
mod orders;
mod places;
mod prepare;
mod rates;
mod refused;
mod restores;
mod shipped;
mod until;

use super::{
    DropCaches, Error, Order, Plan, RawPlan, Restore, RestoreBefore, Warmup, report_settings,
};
use std::{path::Path, time::Duration};
use tailmark_driver::{Location, Semantics};
use tailmark_model::{ALLOW_ERRORS, LatencyAxis, ReportSettings};
use tailmark_stats::{comparison::equivalence, statistics::EQUIVALENCE};
use tailmark_workload::Distribution;

/// One system of the driver that every build has.
const SYSTEM: &str = "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n";

fn check(text: &str) -> Result<Plan, Error> {
    RawPlan::parse("test", text)?.check()
}

fn plan(text: &str) -> Plan {
    check(text).unwrap_or_else(|error| panic!("{text}: {}", message(&error)))
}

fn message(error: &Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

fn shipped(name: &str) -> RawPlan {
    RawPlan::find(name).unwrap()
}

fn driver_of(raw: &RawPlan) -> &str {
    raw.table()["database"]["driver"].as_str().unwrap()
}

#[test]
fn everything_has_a_default_but_one_system() {
    let plan = plan(SYSTEM);
    let data = &plan.systems[0].data;
    assert_eq!(
        (data.records, data.schema.fields.len(), data.field_length),
        (1_000_000, 4, 1024)
    );
    assert_eq!(plan.sweep.threads, [1, 4, 16]);
    assert_eq!(plan.sweep.duration, Some(Duration::from_secs(60)));
    assert_eq!(plan.sweep.operations, None);
    assert_eq!(plan.sweep.warmup, Warmup::Fixed(Duration::from_secs(6)));
    assert_eq!(plan.sweep.workloads[0].name, "ycsb-a");
    assert_eq!(plan.sweep.workloads[0].distribution_name(), "zipfian");
    assert_eq!(plan.systems[0].semantics, Semantics::Faithful);
    assert_eq!(plan.machine.drop_caches, DropCaches::Own);
    assert!(plan.machine.memory_limit.is_none());
    assert_eq!(plan.unscaled, None);
    assert_eq!(plan.header.title, "a");
}

#[test]
fn a_distribution_has_the_parameters_of_its_name_where_its_table_gives_none() {
    let drawn = |distribution: &str| {
        let plan = plan(&format!("{SYSTEM}[sweep]\ndistribution = {distribution}"));
        plan.sweep.workloads[0].groups[0]
            .mix()
            .unwrap()
            .distribution
    };
    for row in tailmark_workload::DISTRIBUTIONS {
        let table = drawn(&format!("{{ name = '{}' }}", row.name));
        assert_eq!(table, drawn(&format!("'{}'", row.name)), "{}", row.name);
    }
}

#[test]
fn a_plan_allows_the_errors_that_a_study_without_the_key_allows() {
    assert_eq!(plan(SYSTEM).sweep.allow_errors, ALLOW_ERRORS);
    let header = plan(SYSTEM).header;
    assert_eq!(header.plan["sweep.allow_errors"].value, "0.1%");
    assert_eq!(header.settings.rules.allow_errors, ALLOW_ERRORS);
}

#[test]
fn a_plan_has_the_band_that_a_study_without_the_key_has() {
    let plan = plan(SYSTEM);
    assert_eq!(plan.report.equivalence, Some(EQUIVALENCE));
    assert_eq!(equivalence(&plan.header), EQUIVALENCE);
    let mut header = plan.header;
    header.settings.report.equivalence = None;
    assert_eq!(equivalence(&header), EQUIVALENCE);
}

#[test]
fn a_report_without_flags_overrides_nothing_of_its_studies() {
    let read = |text: &str| report_settings(&RawPlan::parse("test", text).unwrap()).unwrap();
    assert_eq!(read(""), ReportSettings::default());
    let given = read("[report]\nequivalence = '3%'\nlatency_axis = 'log'");
    assert_eq!(given.equivalence, Some(EQUIVALENCE));
    assert_eq!(given.latency_axis, Some(LatencyAxis::Log));
}

#[test]
fn what_the_report_is_about_shapes_no_point() {
    let keys = |report: &str| plan(&format!("{SYSTEM}[report]\n{report}")).header.plan;
    let (one, other) = (
        keys("metric = 'p99.9 read'"),
        keys("metric = 'mean update'\nequivalence = '5%'"),
    );
    assert_ne!(one, other);
    assert_eq!(one["report.metric"].value, "p99.9 read");
    let differing = other
        .iter()
        .filter(|(key, value)| one.get(*key) != Some(value));
    let differing: Vec<_> = differing.map(|(key, _)| key.as_str()).collect();
    assert_eq!(differing, ["report.equivalence", "report.metric"]);
    assert!(
        differing
            .iter()
            .all(|key| !other[*key].role.shapes_points())
    );
    assert!(other["sweep.seed"].role.shapes_points());
}

#[test]
fn every_key_takes_effect() {
    let text = "title = 'T'\nassumed = ['sweep.seed', 'database.driver']\n\
        [database]\ndriver = 'null'\nsemantics = 'correct'\n\
        [dataset]\nrecords = '2.5k'\nfields = 2\nfield_length = '1KiB'\ncompressibility = 0.5\n\
        write_all_fields = true\nrestore = 'reload'\nrestore_before = 'workload'\n\
        [sweep]\nworkloads = ['mine', 'ycsb-c']\nthreads = { from = 1, to = 20, factor = 3 }\n\
        operations = '10k'\nduration = '5s'\nwarmup = '2s'\nrepeats = 2\nrate = '20k'\nseed = 9\n\
        order = 'systems'\nload_threads = 3\nsettle = '1m'\n\
        [machine]\nmemory_limit = '2GiB'\ndrop_caches = false\n\
        [[system]]\nname = 'a'\noptional = true\n[[system]]\nname = 'b'\nceiling_for = 'a'\n\
        database = { semantics = 'faithful' }\n\
        [[workload]]\nname = 'mine'\nread = 3\nscan = 1\nscan_length_max = 50\n\
        distribution = { name = 'hotspot', data_fraction = 0.1 }\n";
    let plan = plan(text);
    let (header, machine, dataset) = (&plan.header, &plan.machine, &plan.dataset);
    let (systems, sweep) = (&plan.systems, &plan.sweep);
    assert_eq!((header.title.as_str(), header.source.as_str()), ("T", text));
    assert_eq!(
        header.assumed,
        [
            "database.driver",
            "sweep.seed",
            "system.a.driver",
            "system.b.driver"
        ]
    );
    assert_eq!(
        (systems[0].data.records, systems[0].data.value_bytes()),
        (2_500, 2_048)
    );
    assert_eq!(
        (systems[0].semantics, systems[0].optional),
        (Semantics::Correct, true)
    );
    assert_eq!(systems[1].semantics, Semantics::Faithful);
    assert_eq!(systems[1].ceiling_for.as_deref(), Some("a"));
    let mine = sweep.workloads[0].groups[0].mix().unwrap();
    let hotspot = Distribution::Hotspot {
        data_fraction: 0.1,
        operation_fraction: 0.8,
    };
    assert_eq!(
        (mine.mix.read, mine.mix.scan, mine.scan.max),
        (3.0, 1.0, 50)
    );
    assert_eq!(mine.distribution, hotspot);
    assert_eq!(sweep.workloads[1].distribution_name(), "zipfian");
    assert_eq!(sweep.threads, [1, 3, 9]);
    assert_eq!(
        (sweep.operations, sweep.duration),
        (Some(10_000), Some(Duration::from_secs(5)))
    );
    assert_eq!(
        (sweep.warmup.longest(), sweep.settle),
        (Duration::from_secs(2), Duration::from_secs(60))
    );
    assert_eq!(
        (sweep.repeats, sweep.rate, sweep.seed),
        (2, Some(20_000.0), 9)
    );
    let restore = (dataset.restore.how, dataset.restore.before);
    assert_eq!(restore, (Restore::Reload, RestoreBefore::Workload));
    assert_eq!(sweep.load_threads, 3);
    assert_eq!(sweep.order, Order::Systems);
    assert!(dataset.write_all_fields);
    assert_eq!(dataset.compressibility, 0.5);
    assert_eq!(
        (machine.memory_limit, machine.drop_caches),
        (Some(2 << 30), DropCaches::Never)
    );
}

#[test]
fn a_flag_is_named_where_it_is_wrong() {
    let mut raw = RawPlan::parse("test", SYSTEM).unwrap();
    raw.set("--threads", "sweep.threads", "0".into()).unwrap();
    let error = message(&raw.check().unwrap_err());
    assert!(
        error.starts_with("--threads (sweep.threads) is `0`"),
        "{error}"
    );
}

#[test]
fn flags_and_sets_say_what_a_plan_would() {
    let mut raw = RawPlan::default();
    raw.set_driver("null");
    raw.set_systems(&["a=/x".into(), "b c=/y".into()]).unwrap();
    raw.set("--threads", "sweep.threads", "1,8".into()).unwrap();
    raw.set("--workload", "sweep.workloads", "ycsb-a,ycsb-c".into())
        .unwrap();
    raw.assign("dataset.records=100k").unwrap();
    raw.assign("sweep.duration = 5s").unwrap();
    raw.assign("system.\"b c\".optional=true").unwrap();
    let from_flags = raw.check().unwrap();
    let same = plan(&from_flags.header.source);
    assert_eq!(from_flags.header.plan, same.header.plan);
    assert_eq!(from_flags.sweep.threads, [1, 8]);
    assert_eq!(from_flags.sweep.workloads.len(), 2);
    assert_eq!(from_flags.systems[1].data.records, 100_000);
    assert_eq!(from_flags.systems[1].location.path(), Some(Path::new("/y")));
    assert!(from_flags.systems[1].optional && !from_flags.systems[0].optional);
    assert_eq!(from_flags.header.title, "a against b c");
}

#[test]
fn bad_assignments_are_refused() {
    let mut raw = RawPlan::parse("test", SYSTEM).unwrap();
    for (given, word) in [
        ("records", "KEY=VALUE"),
        ("=3", "KEY=VALUE"),
        ("system.z.path=/x", "it has: a"),
        ("sweep..threads=1", "no key"),
    ] {
        let error = message(&raw.assign(given).unwrap_err());
        assert!(error.contains(word), "{given}: {error}");
    }
    raw.assign("sweep.threats=1").unwrap();
    let error = message(&raw.check().unwrap_err());
    assert!(error.contains("did you mean `threads`?"), "{error}");
    for given in ["disk", "=x", "disk="] {
        let refusal = message(
            &RawPlan::default()
                .set_systems(&[given.to_owned()])
                .unwrap_err(),
        );
        assert!(refusal.contains("NAME=WHERE"), "{refusal}");
    }
}

#[test]
fn scale_shrinks_counts_and_memory_and_keeps_threads() {
    let text = format!(
        "scale = 0.001\n{SYSTEM}[dataset]\nrecords = '1M'\n[sweep]\noperations = '2M'\n\
         [machine]\nmemory_limit = '2TiB'"
    );
    let plan = plan(&text);
    assert_eq!(plan.systems[0].data.records, 1_000);
    assert_eq!(plan.sweep.operations, Some(2_000));
    assert_eq!(plan.sweep.threads, [1, 4, 16]);
    assert_eq!(plan.machine.memory_limit, Some(2_199_023_256));
    assert_eq!(plan.machine.limit_notice(), None);
    assert_eq!(plan.unscaled.unwrap().records, 1_000_000);
}

#[test]
fn scale_leaves_the_memory_that_a_run_needs() {
    let host = |limit: &str| {
        plan(&format!(
            "scale = 0.0002\n{SYSTEM}[machine]\nmemory_limit = '{limit}'"
        ))
        .machine
    };
    let raised = host("256GB");
    assert_eq!(raised.memory_limit, Some(512 << 20));
    let notice = raised.limit_notice().unwrap();
    assert!(notice.contains("512.0 MiB, not 48.8 MiB"), "{notice}");
    assert_eq!(host("64MiB").memory_limit, Some(64 << 20));
}

#[test]
fn scale_leaves_a_record_and_an_operation_for_each_client() {
    let plan = plan(&format!(
        "scale = 1e-9\n{SYSTEM}[sweep]\noperations = '2M'\nthreads = [64]"
    ));
    assert_eq!(plan.systems[0].data.records, 64);
    assert_eq!(plan.sweep.operations, Some(64));
}

#[test]
fn time_scale_never_goes_below_ten_seconds_or_touches_what_was_shorter() {
    let times = |duration: &str, warmup: &str, scale: &str| {
        let text = format!(
            "time_scale = {scale}\n{SYSTEM}[sweep]\nduration = '{duration}'\nwarmup = '{warmup}'"
        );
        let sweep = plan(&text).sweep;
        (
            sweep.duration.unwrap().as_secs_f64(),
            sweep.warmup.longest().as_secs_f64(),
        )
    };
    assert_eq!(times("20m", "1m", "0.1"), (120.0, 10.0));
    assert_eq!(times("20m", "5s", "0.001"), (10.0, 5.0));
    assert_eq!(times("5s", "1s", "3"), (15.0, 3.0));
}

#[test]
fn a_warm_up_by_rule_is_scaled_and_can_always_be_steady() {
    let plan_of = |scale: &str, sweep: &str| {
        plan(&format!(
            "time_scale = {scale}\n{SYSTEM}[sweep]\nwarmup = 'auto'\n{sweep}"
        ))
    };
    let limits = |scale: &str, sweep: &str| {
        let (least, most) = plan_of(scale, sweep).sweep.warmup.limits().unwrap();
        (least.as_secs(), most.as_secs())
    };
    assert_eq!(limits("1", ""), (60, 1_800));
    assert_eq!(
        limits("0.5", "warmup_least = '2m'\nwarmup_most = '1h'"),
        (60, 1_800)
    );
    assert_eq!(limits("0.01", ""), (10, 160));
    let keys = plan_of("1", "").header.plan;
    let said =
        ["warmup", "warmup_least", "warmup_most"].map(|key| &*keys[&format!("sweep.{key}")].value);
    assert_eq!(said, ["auto", "1m", "30m"]);
    let fixed = plan(&format!("{SYSTEM}[sweep]\nwarmup = '5s'")).header.plan;
    assert!(!fixed.contains_key("sweep.warmup_least"));
}

#[test]
fn two_systems_cannot_share_a_database() {
    let two = |second: &str| {
        let text = format!(
            "[database]\ndriver = 'file'\n[[system]]\nname = 'a'\npath = '/x'\n\
             [[system]]\nname = 'b'\npath = '{second}'"
        );
        check(&text)
    };
    let error = message(&two("/x").unwrap_err());
    assert!(
        error.contains("`a` and `b`") && error.contains("/x"),
        "{error}"
    );
    assert!(two("/y").is_ok());
}

#[test]
fn a_workload_that_a_driver_cannot_do_is_refused_with_both_names() {
    let error = check(
        "[database]\ndriver = 'aerospike'\n[sweep]\nworkloads = ['ycsb-e']\n\
         [[system]]\nname = 'a'\ncontact_points = 'x'",
    );
    let error = message(&error.unwrap_err());
    assert!(
        error.contains("ycsb-e") && error.contains("scan") && error.contains("aerospike"),
        "{error}"
    );
    let simulated = |workload: &str| {
        check(&format!(
            "[database]\ndriver = 'sim'\n[dataset]\nfields = 1\n[sweep]\nworkloads = ['{workload}']\n\
             [[system]]\nname = 'a'"
        ))
    };
    for workload in ["seekrandom", "readseq", "multireadrandom", "mixgraph"] {
        let refusal = message(&simulated(workload).unwrap_err());
        let is_named = refusal.contains(workload) && refusal.contains("batches and iterators");
        assert!(is_named, "{refusal}");
    }
    simulated("readwhilewriting").unwrap();
}

#[test]
fn the_place_is_what_the_driver_takes() {
    let place = |line: &str| {
        check(&format!(
            "[database]\ndriver = 'file'\n[[system]]\nname = 'a'\n{line}"
        ))
    };
    assert_eq!(
        place("device = '/dev/x'").unwrap().systems[0].location,
        Location::Device("/dev/x".into())
    );
    for (line, word) in [
        ("", "system.a.path is missing"),
        ("contact_points = 'x:1'", "system.a.contact_points is `x:1`"),
        ("path = '/x'\ndevice = '/y'", "system.a.device is `/y`"),
        ("path = '~/x'", "system.a.path is `~/x`"),
    ] {
        let error = message(&place(line).unwrap_err());
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn faithful_is_not_said_of_updates_that_merge() {
    let check = |database: &str| {
        check(&format!(
            "[database]\ndriver = 'aerospike'\n{database}\n[[system]]\nname = 'a'\ncontact_points = 'x:1'"
        ))
    };
    let semantics = |database: &str| check(database).unwrap().systems[0].semantics;
    assert_eq!(semantics(""), Semantics::Correct);
    assert_eq!(semantics("update = 'merge'"), Semantics::Correct);
    assert_eq!(semantics("update = 'replace'"), Semantics::Faithful);
    for (database, words) in [
        ("semantics = 'faithful'", ["`faithful`", "`correct`"]),
        (
            "update = 'replace'\nsemantics = 'correct'",
            ["`correct`", "`faithful`"],
        ),
    ] {
        let error = message(&check(database).unwrap_err());
        assert!(error.contains(": database.semantics is"), "{error}");
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}

#[test]
fn a_version_is_of_an_embedded_database() {
    let error =
        check("[database]\ndriver = 'file'\nversion = '1'\n[[system]]\nname = 'a'\npath = '/x'");
    let error = message(&error.unwrap_err());
    assert!(error.contains("database.version is `1`"), "{error}");
}

#[test]
fn a_named_system_moves_with_its_ceiling_and_replaces_the_others() {
    let mut raw = shipped("quickstart");
    raw.set_systems(&["disk=/mnt/nvme0".into()]).unwrap();
    let names = raw.table()["system"].as_array().unwrap().iter();
    let names: Vec<_> = names
        .map(|s| s["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["disk", "disk ceiling"]);
    let plan = raw.check().unwrap();
    assert!(
        plan.systems
            .iter()
            .all(|s| s.location.path() == Some(Path::new("/mnt/nvme0")))
    );
}

#[test]
fn an_unknown_plan_is_refused_with_the_nearest() {
    let error = message(&RawPlan::find("quickstrat").unwrap_err());
    assert!(
        error.contains("`quickstart`?") && error.contains("micron-7400-rocksdb"),
        "{error}"
    );
}

#[test]
fn the_title_and_what_is_assumed_may_change_between_runs() {
    let one = plan(&format!("title = 'x'\n{SYSTEM}"));
    let other = plan(&format!("title = 'y'\nassumed = ['sweep.seed']\n{SYSTEM}"));
    let changed = plan(&format!("{SYSTEM}[sweep]\nseed = 2"));
    assert_eq!(one.header.plan, other.header.plan);
    assert_ne!(one.header.plan, changed.header.plan);
}
