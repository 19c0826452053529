//! Several studies as one: what is the same stays one system, what is not says what differs.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

use std::collections::BTreeMap;
use tailmark_model::{
    Fact, Header, Kind, KindResult, Phase, PlanValue, Point, PointKey, Role, Scope, StudySettings,
    Subject, System,
};
use tailmark_report::Data;

fn point(system: &str, threads: u32, repeat: u32) -> Point {
    let key = PointKey {
        system: system.into(),
        workload: "ycsb-a".into(),
        distribution: "zipfian".into(),
        threads,
        repeat,
        target_rate: None,
        arrivals: None,
    };
    let mut read = KindResult::default();
    read.service.record_n(1_000, 10).unwrap();
    let phase = Phase {
        duration_s: 1.0,
        operations: 10,
        kinds: [(Kind::Read, read)].into(),
        ..Phase::default()
    };
    Point { key, phase }
}

/// A key of a plan, in its role.
fn planned(key: &str, value: &str) -> (String, PlanValue) {
    let role = match key.split_once('.') {
        Some(("dataset", _)) => Role::Condition(Subject::DataSet),
        Some(("sweep", _)) => Role::Scope(Scope::Points),
        Some(("workload", key)) if key.ends_with(".distribution") => {
            Role::Condition(Subject::Distribution)
        }
        Some(("workload", _)) => Role::Condition(Subject::Workload),
        _ => Role::Condition(Subject::Run),
    };
    (key.to_owned(), PlanValue::new(value, role))
}

/// A disk and its ceiling, measured at 4 threads.
fn study(title: &str, plan: &[(&str, &str)]) -> Data {
    let system = System {
        name: "disk".into(),
        driver: "rocksdb".into(),
        place: "/mnt/a".into(),
        semantics: "faithful".into(),
        settings: BTreeMap::from([("cache".into(), "64".into())]),
        ceiling_for: None,
    };
    let ceiling = System {
        name: "file".into(),
        ceiling_for: Some("disk".into()),
        ..system.clone()
    };
    let plan = [("dataset.records", "1000"), ("sweep.seed", "1")]
        .into_iter()
        .chain(plan.iter().copied());
    Data {
        headers: vec![Header {
            id: "55555555555555555555555555555555".into(),
            title: title.into(),
            tailmark: "0.1.0".into(),
            created_ms: 0,
            plan: plan.map(|(key, value)| planned(key, value)).collect(),
            settings: StudySettings::default(),
            source: String::new(),
            assumed: Vec::new(),
        }],
        systems: vec![system, ceiling],
        facts: vec![
            fact("kernel", "release", "6.1"),
            fact("cpu", "model", "same"),
        ],
        points: vec![point("disk", 4, 1), point("file", 4, 1)],
        ..Data::default()
    }
}

fn fact(group: &str, name: &str, value: &str) -> Fact {
    Fact {
        system: None,
        group: group.into(),
        name: name.into(),
        value: value.into(),
    }
}

fn names(data: &Data) -> Vec<&str> {
    data.systems.iter().map(|s| s.name.as_str()).collect()
}

fn keys(data: &Data) -> Vec<(&str, u32, u32)> {
    let key = |p: &'_ Point| (p.key.threads, p.key.repeat);
    let keys = data.points.iter().map(|p| (p.key.system.as_str(), key(p)));
    keys.map(|(system, (threads, repeat))| (system, threads, repeat))
        .collect()
}

#[test]
fn what_is_alike_is_one_system_with_more_repeats() {
    let mut other = study(
        "same",
        &[
            ("sweep.seed", "7"),
            ("sweep.repeats", "3"),
            ("sweep.threads", "4, 8"),
        ],
    );
    other
        .points
        .iter_mut()
        .for_each(|p| p.phase.operations = 11);
    let merged = Data::merged(vec![study("same", &[]), other]);
    assert_eq!(names(&merged), ["disk", "file"]);
    assert_eq!(
        keys(&merged),
        [
            ("disk", 4, 1),
            ("file", 4, 1),
            ("disk", 4, 2),
            ("file", 4, 2)
        ]
    );
    assert_eq!((merged.headers.len(), merged.facts.len()), (2, 2));
    assert!(merged.notices.is_empty(), "{:?}", merged.notices);
}

#[test]
fn a_repeat_is_one_run_over_all_thread_counts_also_where_ladders_end_apart() {
    let with = |threads: &[u32]| {
        let mut data = study("same", &[]);
        data.systems.truncate(1);
        let runs = threads
            .iter()
            .flat_map(|&n| [point("disk", n, 1), point("disk", n, 2)]);
        data.points = runs.collect();
        for (point, run) in data.points.iter_mut().zip(1..) {
            let read = point.phase.kinds.get_mut(&Kind::Read).unwrap();
            read.service
                .record_n(2_000, run * 7 * threads.len() as u64)
                .unwrap();
        }
        data
    };
    let merged = Data::merged(vec![with(&[4, 8]), with(&[4, 8, 16])]);
    let repeats = |threads: u32| -> Vec<u32> {
        let own = keys(&merged).into_iter().filter(|(_, n, _)| *n == threads);
        own.map(|(.., repeat)| repeat).collect()
    };
    assert_eq!(
        (repeats(4), repeats(8), repeats(16)),
        (vec![1, 2, 3, 4], vec![1, 2, 3, 4], vec![3, 4])
    );
}

#[test]
fn data_sets_that_differ_make_two_systems_that_say_so() {
    let large = study("large", &[("dataset.records", "100000")]);
    let merged = Data::merged(vec![study("small", &[]), large]);
    assert_eq!(
        names(&merged),
        [
            "disk (records 1,000)",
            "file (records 1,000)",
            "disk (records 100,000)",
            "file (records 100,000)"
        ]
    );
    let ceilings: Vec<_> = merged
        .systems
        .iter()
        .filter_map(|s| s.ceiling_for.as_deref())
        .collect();
    assert_eq!(ceilings, ["disk (records 1,000)", "disk (records 100,000)"]);
    assert!(
        merged
            .points
            .iter()
            .all(|p| names(&merged).contains(&&*p.key.system))
    );
    let notices = merged.notices.join("\n");
    assert!(
        notices.contains("`disk` was measured under different conditions (dataset.records)"),
        "{notices}"
    );
    assert!(
        notices.contains("dataset.records is 1,000 in `small` and 100,000 in `large`"),
        "{notices}"
    );
    let of_plan = |system: &str| {
        let mut facts = merged.facts.iter();
        let is_it = |f: &&Fact| f.group == "plan" && f.system.as_deref() == Some(system);
        facts.find(is_it).map(|f| f.value.as_str())
    };
    assert_eq!(of_plan("disk (records 100,000)"), Some("100000"));
}

#[test]
fn every_condition_tells_apart() {
    let changed = |change: fn(&mut Data)| {
        let mut other = study("same", &[]);
        // Points of other thread counts: nothing was measured twice.
        other.points.iter_mut().for_each(|p| p.key.threads = 8);
        change(&mut other);
        Data::merged(vec![study("same", &[]), other])
    };
    type Change = fn(&mut Data);
    let cases: [(Change, &str); 7] = [
        (
            |d| d.systems[0].driver = "file".into(),
            "disk (driver file)",
        ),
        (
            |d| d.systems[0].place = "/mnt/b".into(),
            "disk (place /mnt/b)",
        ),
        (
            |d| drop(d.systems[0].settings.insert("cache".into(), "128".into())),
            "disk (cache 128)",
        ),
        (
            |d| {
                let limit = planned("machine.memory_limit", "5");
                d.headers[0].plan.extend([limit]);
            },
            "disk (memory_limit 5)",
        ),
        (
            |d| {
                let compressibility = planned("dataset.compressibility", "1");
                d.headers[0].plan.extend([compressibility]);
            },
            "disk (compressibility 1)",
        ),
        (
            |d| d.facts[0].value = "6.18".into(),
            "disk (kernel release 6.18)",
        ),
        (
            |d| {
                d.facts.push(Fact {
                    system: Some("disk".into()),
                    ..fact("device", "firmware", "2")
                });
                d.systems[0].semantics = "correct".into();
            },
            "disk (semantics correct)",
        ),
    ];
    for (change, name) in cases {
        let merged = changed(change);
        assert!(
            names(&merged).contains(&name),
            "{name}: {:?}",
            names(&merged)
        );
    }
    assert_eq!(names(&changed(|_| {})), ["disk", "file"]);
    assert_eq!(
        names(&changed(|d| d.facts.push(fact("machine", "hostname", "x")))),
        ["disk", "file"]
    );
}

#[test]
fn a_ceiling_follows_the_system_that_it_is_of() {
    let mut other = study("same", &[]);
    other.systems[0]
        .settings
        .insert("cache".into(), "128".into());
    let merged = Data::merged(vec![study("same", &[]), other]);
    let ceilings: Vec<_> = merged
        .systems
        .iter()
        .filter_map(|s| s.ceiling_for.as_deref())
        .collect();
    assert_eq!(ceilings, ["disk (cache 64)", "disk (cache 128)"]);
}

#[test]
fn a_workload_of_another_mix_tells_apart_and_one_more_workload_does_not() {
    let mix = |mix: &str| study("same", &[("workload.own.mix", mix)]);
    let merged = Data::merged(vec![mix("read 1"), mix("read 0.5, update 0.5")]);
    assert_eq!(names(&merged)[0], "disk (workload.own.mix read 1)");
    let unlike = Data::merged(vec![mix("read 1"), study("same", &[])]);
    assert_eq!(names(&unlike), ["disk", "file"]);
    let drawn = |how: &str| study("same", &[("workload.own.distribution", how)]);
    let by_distribution = Data::merged(vec![drawn("uniform"), drawn("zipfian")]);
    assert_eq!(
        names(&by_distribution),
        ["disk", "file"],
        "points are named by it"
    );
    let by_hotspot = Data::merged(vec![drawn("hotspot 0.8"), drawn("hotspot 0.9")]);
    assert_eq!(by_hotspot.systems.len(), 4);
}

#[test]
fn titles_tell_apart_what_was_measured_twice() {
    let merged = Data::merged(vec![study("old", &[]), study("new", &[])]);
    assert_eq!(names(&merged)[0], "disk (old)");
    let mut more = study("new", &[]);
    more.points.iter_mut().for_each(|p| p.key.threads = 8);
    let grown = Data::merged(vec![study("old", &[]), more]);
    assert_eq!(names(&grown), ["disk", "file"]);
}

#[test]
fn three_studies_of_two_data_sets_are_two_systems() {
    let large = || study("same", &[("dataset.records", "100000")]);
    let mut again = large();
    again
        .points
        .iter_mut()
        .for_each(|p| p.phase.operations = 11);
    let merged = Data::merged(vec![large(), study("same", &[]), again]);
    assert_eq!(merged.systems.len(), 4);
    assert!(keys(&merged).contains(&("disk (records 100,000)", 4, 2)));
}

#[test]
fn published_results_stand_in_the_table_of_measured_ones() {
    let published = |workload: &str| {
        let mut data = study("Published", &[]);
        data.systems.truncate(1);
        data.systems[0].name = "published".into();
        data.systems[0].driver = "csv (imported)".into();
        data.points.truncate(1);
        let key = &mut data.points[0].key;
        key.system = "published".into();
        key.distribution = "unknown".into();
        key.workload = workload.into();
        data
    };
    let measured = study("Measured", &[]);
    let own = measured.points[0].key.clone();
    let merged = Data::merged(vec![measured.clone(), published(&own.workload)]);
    let drawn: Vec<&str> = merged
        .points
        .iter()
        .map(|point| point.key.distribution.as_str())
        .collect();
    assert_eq!(drawn, [own.distribution.as_str(); 3]);
    let notice = format!("`published` with {} keys", own.distribution);
    assert!(merged.notices.iter().any(|said| said.contains(&notice)));
    // Of a workload that nobody else has, or that others draw in two ways, it stays unknown.
    let mut two = study("Uniform", &[]);
    two.points[0].key.distribution = "uniform".into();
    for studies in [
        vec![measured.clone(), published("another")],
        vec![measured, two, published(&own.workload)],
    ] {
        let apart = Data::merged(studies);
        let of_it = apart.points.iter().find(|p| p.key.system == "published");
        assert_eq!(of_it.unwrap().key.distribution, "unknown");
    }
}

#[test]
fn imports_of_which_too_little_is_known_are_kept_apart() {
    let imported = |ms: u64| {
        let mut data = study("Imported", &[]);
        data.headers[0].created_ms = ms;
        data.systems.truncate(1);
        data.systems[0].driver = "ycsb (imported)".into();
        data
    };
    let within_a_second = Data::merged(vec![imported(1), imported(2)]);
    assert_eq!(names(&within_a_second).len(), 2);
    let merged = Data::merged(vec![imported(0), imported(86_400_000)]);
    assert_eq!(
        names(&merged),
        [
            "disk (Imported, 1970-01-01 00:00:00.000 UTC)",
            "disk (Imported, 1970-01-02 00:00:00.000 UTC)"
        ]
    );
}

#[test]
fn machine_facts_that_differ_become_facts_of_the_systems() {
    let mut new = study("same", &[]);
    new.facts[0].value = "6.18".into();
    let data = Data::merged(vec![study("same", &[]), new]);
    let kernel = |system: &str| {
        data.facts
            .iter()
            .find(|f| f.system.as_deref() == Some(system) && f.group == "kernel")
            .map(|f| f.value.as_str())
    };
    assert_eq!(kernel("disk (kernel release 6.1)"), Some("6.1"));
    assert_eq!(kernel("disk (kernel release 6.18)"), Some("6.18"));
    let shared: Vec<&str> = data
        .facts
        .iter()
        .filter(|f| f.system.is_none())
        .map(|f| f.group.as_str())
        .collect();
    assert_eq!(shared, ["cpu"]);
}

#[test]
fn each_system_is_judged_by_the_plan_it_was_measured_under() {
    let named = |name: &str, allow_errors: f64, takes_turns: bool| {
        let mut data = study(name, &[]);
        data.systems.truncate(1);
        data.points.truncate(1);
        name.clone_into(&mut data.systems[0].name);
        name.clone_into(&mut data.points[0].key.system);
        let rules = &mut data.headers[0].settings.rules;
        (rules.allow_errors, rules.takes_turns) = (allow_errors, takes_turns);
        data
    };
    let merged = Data::merged(vec![named("P", 0.1, true), named("Q", 0.001, false)]);
    let rules = |name: &str| {
        let own = &merged.conditions[name];
        (merged.allow_errors(name), own.rules.takes_turns)
    };
    assert_eq!((rules("P"), rules("Q")), ((0.1, true), (0.001, false)));
    // The same system under two plans: what both allow.
    let again = Data::merged(vec![named("P", 0.1, true), named("P", 0.001, false)]);
    let own = &again.conditions["P"];
    assert_eq!(
        (own.rules.allow_errors, own.rules.takes_turns),
        (0.001, false)
    );
}

#[test]
fn copies_count_once_in_one_study_and_in_several_also_without_their_time() {
    let mut data = study("a", &[]);
    data.points.push(point("disk", 4, 2));
    assert_eq!(Data::merged(vec![data.clone()]).points.len(), 2);
    let mut twice = data.clone();
    twice.points[2].phase.operations = 11;
    let merged = Data::merged(vec![twice.clone(), data, twice.clone()]);
    assert_eq!(merged.points, twice.points);
    let is_said = merged
        .notices
        .iter()
        .any(|n| n.contains("copies count once"));
    assert!(is_said, "{:?}", merged.notices);
}

#[test]
fn a_copy_of_a_study_adds_no_runs() {
    let started = |mut study: Data| {
        for (point, ms) in study.points.iter_mut().zip(1_764_000_000_000..) {
            point.phase.started_ms = Some(ms);
        }
        study
    };
    let (whole, mut begun_only) = (started(study("a", &[])), started(study("a", &[])));
    begun_only.points.truncate(1);
    // What was measured since the copy was made counts.
    for studies in [
        vec![whole.clone(), begun_only.clone()],
        vec![begun_only, whole.clone()],
    ] {
        let merged = Data::merged(studies);
        assert_eq!(merged.points, whole.points);
        assert!(
            merged.notices.iter().any(|n| n.contains("count once")),
            "{:?}",
            merged.notices
        );
    }
    // The same histograms are the same run, whenever it says that it began.
    let mut again = started(study("a", &[]));
    again.points.truncate(1);
    again.points[0].phase.started_ms = Some(1);
    let merged = Data::merged(vec![whole.clone(), again.clone()]);
    assert_eq!(merged.points, whole.points);
    let read = again.points[0].phase.kinds.get_mut(&Kind::Read).unwrap();
    read.service.record_n(2_000, 1).unwrap();
    let apart = Data::merged(vec![whole, again]);
    assert_eq!(apart.points.len(), 3);
    assert_eq!(apart.notices, Vec::<String>::new());
}
