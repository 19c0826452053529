//! Points that write age a database: without a restore, repeats drift and say so; with one, each
//! starts from what was loaded. On a simulated database, whose answer is known, and on RocksDB.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use std::{fs, path::Path};
use support::{plan, points, restoring, run, system_with};
use tailmark_model::{Point, finding::UNEQUAL_START};
use tailmark_plan::{Order, Plan, Restore, RestoreBefore, SystemPlan};
use tempfile::TempDir;

const REPEATS: u32 = 4;

/// A simulated database of 200 KB that is slower by a tenth for each 100 KB that were written.
fn sim(name: &str, state: &Path) -> SystemPlan {
    let settings = [
        ("model", "constant 1ms; run-noise 2%; age 10% 100KB"),
        ("state", state.to_str().unwrap()),
    ];
    system_with(name, "sim", Path::new("x"), &settings)
}

/// Each repeat writes about half of 2,000 values of 100 bytes to two equal databases in turns.
fn aging(dir: &Path) -> Plan {
    let systems = ["a", "b"].map(|name| sim(name, &dir.join(name)));
    let mut plan = plan(systems.to_vec(), &["ycsb-a"], &[4]);
    plan.sweep.repeats = REPEATS;
    plan.sweep.order = Order::Interleaved;
    plan.sweep.operations = Some(2_000);
    plan
}

/// How often the finding is there, and ops/s of the last repeat in parts of those of the first.
fn found(points: &[Point]) -> (usize, f64) {
    let has = |point: &&Point| UNEQUAL_START.is_among(&point.phase.findings);
    let ops = |repeat: u32| {
        let of_repeat = points.iter().filter(|point| point.key.repeat == repeat);
        of_repeat
            .map(|point| point.phase.ops_per_sec())
            .sum::<f64>()
    };
    (points.iter().filter(has).count(), ops(REPEATS) / ops(1))
}

#[test]
fn repeats_drift_and_say_so_unless_each_starts_from_what_was_loaded() {
    let dir = TempDir::new().unwrap();
    let measured = |name: &str, how: Restore, command: Option<&str>| {
        let (own, out) = (dir.path().join(name), TempDir::new().unwrap());
        fs::create_dir(&own).unwrap();
        let mut plan = restoring(aging(&own), how, RestoreBefore::Point);
        plan.dataset.restore.command = command.map(str::to_owned);
        run(&plan, out.path()).unwrap();
        let points = points(out.path());
        assert_eq!(points.len(), 8);
        found(&points)
    };
    // All but the first of each system started from other bytes than an earlier point.
    let (said, drift) = measured("none", Restore::None, None);
    assert_eq!(said, 6);
    assert!(drift < 0.85, "{drift}");
    for (name, how, command) in [
        ("reload", Restore::Reload, None),
        ("command", Restore::Command, Some("rm -f \"$STATE\"")),
    ] {
        let own = dir.path().join(name);
        let command = command
            .map(|text| text.replace("$STATE", &format!("{}/$TAILMARK_SYSTEM", own.display())));
        let (findings, last) = measured(name, how, command.as_deref());
        assert_eq!(findings, 0, "{name}");
        assert!((last - 1.0).abs() < 0.08, "{name}: {last}");
    }
}

#[test]
fn a_command_that_fails_ends_the_run_and_the_next_one_restores() {
    let (dir, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let place = dir.path().join("a");
    let copy = dir.path().join("copy");
    let slots = system_with("a", "file", &place, &[("direct", "false")]);
    let mut plan = plan(vec![slots], &["ycsb-a"], &[1]);
    plan.sweep.repeats = 2;
    let mut plan = restoring(plan, Restore::Command, RestoreBefore::Point);
    let (fails, log) = (dir.path().join("fails"), dir.path().join("log"));
    fs::write(&fails, "").unwrap();
    let command = format!(
        "echo $1 >> {log}; [ $1 = keep ] && exec cp $TAILMARK_PLACE {copy}; \
         [ -e {fails} ] && echo no luck && exit 3; cp {copy} $TAILMARK_PLACE",
        log = log.display(),
        copy = copy.display(),
        fails = fails.display()
    );
    plan.dataset.restore.command = Some(command);
    let error = run(&plan, out.path()).unwrap_err();
    let error = tailmark_model::in_one_line(&error);
    for part in ["failed to restore", "exit status: 3", "no luck"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(points(out.path()).len(), 1);
    fs::remove_file(&fails).unwrap();
    run(&plan, out.path()).unwrap();
    assert_eq!(points(out.path()).len(), 2);
    assert_eq!(
        fs::read_to_string(&log).unwrap(),
        "keep\nrestore\nrestore\n"
    );
}

mod rocksdb {
    use super::*;
    use tailmark_model::StartState;

    /// Four repeats of updates on a small RocksDB, which flushes and compacts often.
    fn updates(place: &Path) -> Plan {
        let settings = [("write_buffer", "1MiB")];
        let system = system_with("a", "rocksdb", place, &settings);
        let mut plan = plan(vec![system], &["ycsb-a"], &[2]);
        plan.sweep.repeats = REPEATS;
        plan.sweep.operations = Some(20_000);
        plan.sweep.settle = std::time::Duration::from_secs(30);
        let data = &mut plan.systems[0].data;
        (data.records, data.field_length) = (20_000, 1_000);
        plan
    }

    /// Files, bytes and what is left to compact of each repeat's start, and how many say that it is
    /// another one.
    fn starts(how: Restore) -> (Vec<[f64; 3]>, usize) {
        let (dir, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let plan = restoring(updates(&dir.path().join("a")), how, RestoreBefore::Point);
        run(&plan, out.path()).unwrap();
        let points = points(out.path());
        assert_eq!(points.len(), REPEATS as usize);
        let of = |start: StartState| {
            ["files", "bytes", "pending_compaction_bytes"].map(|name| start.value(name).unwrap())
        };
        let starts = points.iter().map(|point| of(point.phase.start()));
        (starts.collect(), found(&points).0)
    }

    #[test]
    fn the_tree_ages_from_repeat_to_repeat_unless_it_is_restored() {
        let (aged, said) = starts(Restore::None);
        println!("without: {aged:?}");
        assert!(aged.windows(2).all(|pair| pair[0] != pair[1]), "{aged:?}");
        assert!(aged[0][1] < aged[3][1], "updates add bytes: {aged:?}");
        assert!(said > 0, "{aged:?}");
        for how in [Restore::Checkpoint, Restore::Copy] {
            let (restored, none) = starts(how);
            println!("{how:?}: {restored:?}");
            assert!(
                restored.iter().all(|start| *start == restored[0]),
                "{restored:?}"
            );
            assert_eq!(none, 0);
        }
    }
}
