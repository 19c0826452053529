//! What a dry run says.

use super::{Facts, SystemFacts, dry_run};
use crate::steps::{DataState, Known};
use std::path::Path;
use tailmark_model::ResolvedRate;
use tailmark_plan::{Plan, RawPlan};
use tailmark_testing::assert_says;

/// One system of the driver that every build has.
const SYSTEM: &str = "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n";

fn plan(text: &str) -> Plan {
    let plan = RawPlan::parse("test", text).and_then(|raw| raw.check());
    plan.unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn a_dry_run_says_that_a_limit_was_not_scaled_as_far_as_the_data() {
    let plan = plan(&format!(
        "scale = 0.0002\n{SYSTEM}[machine]\nmemory_limit = '256GB'"
    ));
    let lines = dry_run(&plan, Path::new("out"), &Facts::default())
        .lines
        .join("\n");
    assert!(
        lines.contains("machine.memory_limit is 512.0 MiB"),
        "{lines}"
    );
}

#[test]
fn a_dry_run_names_every_step_with_time_and_space() {
    let text = format!(
        "{SYSTEM}[[system]]\nname = 'b'\n[sweep]\nworkloads = ['ycsb-a', 'ycsb-c']\n\
         threads = [1, 4]\nduration = '9s'\nwarmup = '1s'\nrate = 5000\n[machine]\nmemory_limit = '1GiB'"
    );
    let plan = plan(&text);
    let facts = Facts {
        known: Known::with_points(&plan, [4, 0]),
        can_drop_caches: true,
        memory: 8 << 30,
        ..Facts::default()
    };
    let lines = dry_run(&plan, Path::new("out"), &facts).lines.join("\n");
    let parts = [
        "2 systems x 2 workloads x 2 thread counts: 8 points in all",
        "study and report in out",
        "limit the memory of the run to 1.0 GiB of 8.0 GiB",
        "keep 4 points of an earlier run",
        "run ycsb-a (zipfian) with 1, 4 threads",
        "run ycsb-c (zipfian) with 1, 4 threads",
        "drop the caches of the machine",
        "warm up for 1s",
        "measure 9s, at 5,000 ops/s over all clients",
        "      4 points, 40s in all",
    ];
    assert_says(&lines, &parts);
}

#[test]
fn a_dry_run_tells_what_each_place_must_hold() {
    let plan = plan(
        "[database]\ndriver = 'file'\n[dataset]\nrecords = '1M'\n[sweep]\noperations = '1M'\n\
         [[system]]\nname = 'a'\npath = '/x'",
    );
    let known = SystemFacts {
        available: Some(1 << 20),
        ..SystemFacts::default()
    };
    let facts = Facts {
        systems: vec![known],
        ..Facts::default()
    };
    let lines = dry_run(&plan, Path::new("out"), &facts).lines.join("\n");
    let parts = [
        "load 1,000,000 records of 4 x 1,024 B with 16 threads",
        "drop the cached pages of the database's files (not root)",
        "measure 1,000,000 operations, as fast as the clients can",
        "3 points of 1,000,000 operations each",
        "1.0 MiB are free: TOO LITTLE",
        "at 100 MB/s",
    ];
    assert_says(&lines, &parts);
}

#[test]
fn a_dry_run_of_a_server_names_its_service_and_does_not_ask_it() {
    let plan = plan(
        "[database]\ndriver = 'cassandra'\n[sweep]\nready_timeout = '3m'\n[[system]]\n\
         name = 'a'\ncontact_points = '127.0.0.1:1'\nservice = { systemd = 'cassandra-a' }",
    );
    let facts = Facts {
        can_drop_caches: true,
        ..Facts::gather(&plan, Path::new("out"))
    };
    assert_eq!(facts.systems[0].refusal, None);
    let text = dry_run(&plan, Path::new("out"), &facts).lines.join("\n");
    let mut rest = text.as_str();
    for part in [
        ", unless the server already has them",
        "stop the service: systemctl stop cassandra-a",
        "drop the caches of the machine",
        "start the service: systemctl start cassandra-a",
        "wait for the server to answer, 3m at most",
        "open the database",
    ] {
        let (_, behind) = rest
            .split_once(part)
            .unwrap_or_else(|| panic!("{text}\nlacks {part}"));
        rest = behind;
    }
    assert!(!text.contains("space on"), "{text}");
    assert!(
        text.contains("waiting for a server to answer: 3 times, each at most 3m"),
        "{text}"
    );
    assert!(
        text.contains("stopping services: 3 times, each at most 3m"),
        "{text}"
    );
}

/// Two systems of the `file` driver, a million records of 4 KiB each.
const FILES: &str = "[database]\ndriver = 'file'\n[dataset]\nrecords = '1M'\n\
    [[system]]\nname = 'a'\npath = '/x'\n[[system]]\nname = 'b'\npath = '/y'\n";

/// A place with so many bytes free on a file system of this name.
fn on(file_system: &str, available: u64) -> SystemFacts {
    SystemFacts {
        file_system: Some(file_system.to_owned()),
        available: Some(available),
        ..SystemFacts::default()
    }
}

fn lines(text: &str, systems: Vec<SystemFacts>) -> String {
    let facts = Facts {
        systems,
        ..Facts::default()
    };
    dry_run(&plan(text), Path::new("out"), &facts)
        .lines
        .join("\n")
}

#[test]
fn two_systems_on_one_file_system_need_room_together() {
    let room = 10 << 30;
    let text = lines(
        FILES,
        vec![on("ext4 on /dev/x", room), on("xfs on /dev/y", room)],
    );
    assert!(
        text.contains("space on ext4 on /dev/x: a needs up to"),
        "{text}"
    );
    assert!(
        text.contains("space on xfs on /dev/y: b needs up to"),
        "{text}"
    );
    assert!(
        !text.contains("TOO LITTLE") && !text.contains(" together, "),
        "{text}"
    );
    let shared = lines(
        FILES,
        vec![on("ext4 on /dev/x", room), on("ext4 on /dev/x", room)],
    );
    let space: Vec<_> = shared
        .lines()
        .filter(|line| line.starts_with("space"))
        .collect();
    let [space] = space[..] else {
        panic!("{shared}")
    };
    let parts = [
        "a needs up to",
        "b needs up to",
        " together",
        "10.0 GiB are free: TOO LITTLE",
    ];
    assert_says(space, &parts);
}

#[test]
fn what_is_loaded_again_needs_its_room_again_and_takes_its_time() {
    let loaded = |restore: &str| {
        let known = SystemFacts {
            data: DataState {
                is_loaded: true,
                ..DataState::default()
            },
            present: 1 << 30,
            ..on("ext4 on /dev/x", 2 << 30)
        };
        let text = format!("[sweep]\nthreads = [1, 4, 16]\n{FILES}");
        let text = text.replace("[dataset]", &format!("[dataset]\n{restore}"));
        lines(&text, vec![known.clone(), known])
    };
    let never = loaded("restore = 'none'");
    assert!(
        never.contains("a needs up to 0 B, b needs up to 0 B"),
        "{never}"
    );
    assert!(
        !never.contains("TOO LITTLE") && !never.contains("loads, "),
        "{never}"
    );
    let workload = loaded("restore = 'reload'\nrestore_before = 'workload'");
    assert!(
        workload.contains("      2 loads") && workload.contains("TOO LITTLE"),
        "{workload}"
    );
    let point = loaded("restore = 'reload'");
    assert!(point.contains("      6 loads"), "{point}");
}

#[test]
fn the_time_counts_what_is_waited_for() {
    let text = format!(
        "[sweep]\nthreads = [1, 4]\nduration = '50s'\nwarmup = '10s'\nsettle = '10m'\n{FILES}"
    );
    let text = lines(&text, Vec::new());
    let parts = [
        "time: about 5m 23s",
        "      4 points, 4m in all",
        "      2 loads",
        // Before and after each of 4 points, and after each of 2 loads.
        "settling before and after each point and after each load: 10 times, each at most 10m",
    ];
    assert_says(&text, &parts);
}

#[test]
fn a_limit_on_waiting_that_is_longer_than_the_run_is_not_added_up() {
    let time = |settle: &str| {
        let text =
            format!("[sweep]\nthreads = [1]\nduration = '50s'\nsettle = '{settle}'\n{FILES}");
        let text = lines(&text, Vec::new());
        text.lines()
            .find(|line| line.starts_with("time"))
            .unwrap()
            .to_owned()
    };
    assert_eq!(time("10m"), "time: about 3m 13s");
    // Before and after 2 points, and after 2 loads.
    assert_eq!(time("10s"), "time: about 3m 13s, 4m 13s at most");
}

#[test]
fn what_is_prepared_is_named_before_a_device_is() {
    let text = "[prepare]\nerase = 'format'\nprecondition = 2\nfilesystem = 'xfs'\n\
                mount_options = 'noatime'\n[database]\ndriver = 'file'\n[[system]]\nname = 'a'\n\
                path = '/mnt/a'\n[[system]]\nname = 'b'\npath = '/mnt/b'\n";
    let parts = [
        "prepare nothing of `a` and `b`, which name no device; on the device that you name",
        "erase: format: erases each device",
        "precondition: 2: writes each whole device in order",
        "filesystem: xfs: makes a file system",
        "mount: xfs with noatime: mounts",
    ];
    assert_says(&lines(text, Vec::new()), &parts);
}

#[test]
fn a_warm_up_by_rule_is_counted_at_its_longest() {
    let text = format!(
        "[sweep]\nthreads = [1, 4]\nduration = '1m'\nwarmup = 'auto'\nwarmup_most = '9m'\n{FILES}"
    );
    let text = lines(&text, Vec::new());
    let parts = [
        "warm up until it is steady: at least 2m 30s after the first 1m, at most 9m in all",
        "time: up to about 41m 23s",
        "      4 points, 40m in all at most",
    ];
    assert_says(&text, &parts);
}

#[test]
fn points_that_end_by_rule_are_counted_from_their_shortest_to_their_longest() {
    let points = |duration: &str| {
        let text =
            format!("[sweep]\nthreads = [1, 4]\nduration = '{duration}'\nwarmup = '10s'\n{FILES}");
        lines(&text, Vec::new())
    };
    let parts = [
        "time: up to about 5m 23s",
        "      4 points, 2m to 4m in all at most",
        "measure 20s to 50s, until ops/s and the latency are known within 5%",
    ];
    assert_says(&points("20s..50s"), &parts);
    // Ten windows of a second are the fewest.
    assert_says(
        &points("2s..50s"),
        &["      4 points, 1m 20s to 4m in all at most"],
    );
}

#[test]
fn a_place_that_does_not_exist_is_judged_by_where_it_would_be() {
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().canonicalize().unwrap();
    let text = FILES.replace("/x", &there.join("new").display().to_string());
    let text = text.replace("/y", &there.display().to_string());
    let checked = plan(&text);
    let facts = Facts::gather(&checked, Path::new("out"));
    let [new, old] = &facts.systems[..] else {
        panic!("{facts:?}")
    };
    assert_eq!(new.file_system, old.file_system);
    assert!(new.available.is_some_and(|bytes| bytes > 0));
    assert_eq!(old.would_be, None);
    let said = new.would_be.clone().unwrap();
    let part = format!("does not exist yet, in {}, on ", there.display());
    assert!(
        said.contains(&part) && said.contains("mounted with r"),
        "{said}"
    );
    assert!(
        dry_run(&checked, Path::new("out"), &facts)
            .lines
            .join("\n")
            .contains(&said)
    );
    assert!(!there.join("new").exists());
    assert_eq!(new.refusal, None);
    // Two missing levels: nothing is mounted there.
    let text = text.replace("/new", "/not/mounted");
    let unmounted = Facts::gather(&plan(&text), Path::new("out"));
    let refusal = unmounted.systems[0].refusal.clone().unwrap_or_default();
    assert!(
        refusal.contains("nor its parent directory exists"),
        "{refusal}"
    );
}

#[test]
fn a_limit_beyond_the_memory_of_the_machine_is_remarked_on() {
    let text = format!("{SYSTEM}[machine]\nmemory_limit = '2GiB'");
    let said = |memory| {
        let facts = Facts {
            memory,
            ..Facts::default()
        };
        let lines = dry_run(&plan(&text), Path::new("out"), &facts)
            .lines
            .join("\n");
        lines.contains("the machine has less memory than that")
    };
    assert!(said(1 << 30) && !said(2 << 30));
}

#[test]
fn a_dry_run_promises_nothing_of_the_caches_of_a_server_on_another_machine() {
    let said = |hosts: &str, more: &str| {
        let plan = plan(&format!(
            "[machine]\ndrop_caches = 'always'\n[database]\ndriver = 'cassandra'\n[[system]]\n\
             name = 'a'\ncontact_points = {hosts}\n{more}"
        ));
        let facts = Facts {
            can_drop_caches: true,
            ..Facts::default()
        };
        dry_run(&plan, Path::new("out"), &facts).lines.join("\n")
    };
    let drops = "drop the caches of the machine";
    for hosts in [
        "'10.0.0.1:9042'",
        "['127.0.0.1:9042', 'db2:9042']",
        "'[fe80::1]:9042'",
    ] {
        let said = said(hosts, "");
        assert!(!said.contains(drops), "{hosts}: {said}");
        assert!(said.contains("leave the caches alone"), "{hosts}: {said}");
    }
    for hosts in [
        "'127.0.0.1:9042'",
        "['localhost', '[::1]:9042']",
        "'127.1.2.3'",
        "'::1'",
    ] {
        assert!(said(hosts, "").contains(drops), "{hosts}");
    }
    // A watched path is on this machine, and so is the server.
    assert!(said("'10.0.0.1:9042'", "path = '/srv'").contains(drops));
}

#[test]
fn a_dry_run_names_the_rates_and_the_peak_that_a_percentage_is_of() {
    let dry = |sweep: &str| {
        let text = format!("{SYSTEM}[[system]]\nname = 'b'\n[sweep]\n{sweep}");
        lines(&text, Vec::new())
    };
    let both = dry(
        "threads = [1, 4]\nrates = ['10k', '60%']\nrate_threads = 8\narrivals = 'poisson'\n\
         duration = '9s'\nwarmup = '1s'\nrepeats = 2",
    );
    let parts = [
        "2 systems x 1 workload x (2 thread counts + 2 rates) x 2 repeats: 16 points in all",
        "run ycsb-a (zipfian) with 1, 4 threads\n  run ycsb-a (zipfian) at 10,000 ops/s, 60% of \
         the peak of a with 8 threads",
        "60% of the peak of b with 8 threads",
        "as fast as the clients can or at the rate of the point (poisson arrivals)",
        "      16 points, 2m 40s in all",
    ];
    assert_says(&both, &parts);
    let of_b = dry("rates = '60%'\nrates_of = 'b'");
    let (first, second) = of_b.split_once("\na: null").unwrap();
    assert!(
        first.contains("b: null, measured first, because the rates"),
        "{of_b}"
    );
    for part in [first, second] {
        assert!(
            part.contains("60% of the peak of b with 64 threads"),
            "{of_b}"
        );
    }
    let alone = dry("rates = '5k, 10k'\noperations = '100k'");
    let by_rate = [
        "2 systems x 1 workload x 2 rates: 4 points in all",
        "measure 100,000 operations, at the rate of the point (even arrivals)",
        // 20 s and 10 s on each.
        "      4 points, 1m in all",
    ];
    assert_says(&alone, &by_rate);
    assert!(!alone.contains("with 1, 4, 16 threads"), "{alone}");
}

#[test]
fn the_time_of_a_part_of_a_peak_is_that_of_a_part_of_the_usual_rate() {
    let text =
        format!("{SYSTEM}[sweep]\nthreads = 1\nrates = '50%'\noperations = '1M'\nwarmup = '0s'");
    let said = lines(&text, Vec::new());
    // 20 s at 50,000 a second, and 40 s at half of that.
    assert!(said.contains("2 points of 1,000,000"), "{said}");
    assert!(said.contains("(1m in all at 50,000 ops/s)"), "{said}");
}

#[test]
fn a_dry_run_says_what_a_percentage_has_come_to() {
    let mut facts = Facts::default();
    facts.known.add_rate(ResolvedRate {
        system: "a".into(),
        workload: "ycsb-a".into(),
        distribution: "zipfian".into(),
        requested: "60%".into(),
        of_system: "a".into(),
        peak_ops_per_sec: 4_000.0,
        rate: 2_400.0,
    });
    let text = format!("{SYSTEM}[sweep]\nrates = '60%, 80%'\nworkloads = 'ycsb-a, ycsb-c'");
    let said = dry_run(&plan(&text), Path::new("out"), &facts)
        .lines
        .join("\n");
    let parts = [
        "run ycsb-a (zipfian) at 60% of the peak of a (2,400 ops/s), 80% of the peak of a with",
        "run ycsb-c (zipfian) at 60% of the peak of a, 80% of the peak of a with",
    ];
    assert_says(&said, &parts);
}

#[test]
fn a_dry_run_begins_with_the_expected_time() {
    let text = lines(FILES, Vec::new());
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("time: about "), "{text}");
}

#[test]
fn a_plan_that_a_run_would_refuse_cannot_run() {
    let can_run = |text: &str, facts: Facts| dry_run(&plan(text), Path::new("out"), &facts).can_run;
    let with = |known: SystemFacts| Facts {
        systems: vec![known, SystemFacts::default()],
        ..Facts::default()
    };
    let expects = format!("unexpected = 'finding'\n{FILES}");
    let optional = FILES.replace("name = 'a'", "name = 'a'\noptional = true");
    let refused = || SystemFacts {
        refusal: Some("it holds foreign data".to_owned()),
        ..SystemFacts::default()
    };
    let other = || SystemFacts {
        unexpected: vec!["ext4, but xfs is expected".to_owned()],
        ..SystemFacts::default()
    };
    assert!(can_run(FILES, Facts::default()));
    assert!(can_run(FILES, with(on("ext4 on /dev/x", 10 << 30))));
    assert!(!can_run(FILES, with(on("ext4 on /dev/x", 1 << 20))));
    assert!(!can_run(FILES, with(refused())));
    assert!(!can_run(FILES, with(other())));
    assert!(can_run(&expects, with(other())));
    // What may be left out does not stop the rest.
    assert!(can_run(&optional, with(refused())));
    assert!(can_run(&optional, with(on("ext4 on /dev/x", 1 << 20))));
    let examples = Facts {
        refusal: Some("the places in this plan are examples".to_owned()),
        ..Facts::default()
    };
    assert!(!can_run(FILES, examples));
}
