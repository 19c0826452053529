//! Which keys and values the phases of a sweep draw: seen in the file that they leave.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

mod support;

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};
use support::{RECORDS, plan, run, system_with};
use tailmark_engine::{Observer, Stop};
use tailmark_model::{Load, Point};
use tailmark_plan::{Plan, SystemPlan, Warmup};
use tempfile::TempDir;

fn file(name: &str, place: &Path) -> SystemPlan {
    system_with(name, "file", place, &[("direct", "false")])
}

/// What stands in each slot: the record's number and its value.
fn slots(path: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap().split_off(1 << 20); // after the stamp
    let slots = (RECORDS + RECORDS.div_ceil(10)) as usize;
    let of_slot = |slot: &[u8]| slot[..8 + 100].to_vec();
    bytes.chunks(bytes.len() / slots).map(of_slot).collect()
}

/// Keeps what stands in the file after each load and point.
struct Snapshots {
    path: PathBuf,
    taken: Mutex<Vec<Vec<Vec<u8>>>>,
}

impl Snapshots {
    fn take(&self) {
        self.taken.lock().unwrap().push(slots(&self.path));
    }
}

impl Observer for Snapshots {
    fn load_finished(&self, _: &Load) {
        self.take();
    }
    fn point_finished(&self, _: &Point) {
        self.take();
    }
}

/// What stands in the file after the load and after each point.
fn snapshots(
    workloads: &[&str],
    threads: &[u32],
    change: impl FnOnce(&mut Plan),
) -> Vec<Vec<Vec<u8>>> {
    let (place, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut plan = plan(vec![file("a", place.path())], workloads, threads);
    change(&mut plan);
    let snapshots = Snapshots {
        path: place.path().join("slots.dat"),
        taken: Mutex::default(),
    };
    tailmark_runner::run(&plan, out.path(), &snapshots, &Stop::new()).unwrap();
    snapshots.taken.into_inner().unwrap()
}

/// The slots that each point changed.
fn changed(snapshots: &[Vec<Vec<u8>>]) -> Vec<BTreeSet<usize>> {
    let differing = |pair: &[Vec<Vec<u8>>]| {
        let slots = 0..pair[0].len();
        slots
            .filter(|&slot| pair[0][slot] != pair[1][slot])
            .collect()
    };
    snapshots.windows(2).map(differing).collect()
}

#[test]
fn no_phase_writes_a_value_that_another_one_wrote() {
    // Inserts of ycsb-d overwrite those of the point before.
    let snapshots = snapshots(&["ycsb-a", "ycsb-f", "ycsb-d"], &[1, 2], |plan| {
        plan.sweep.repeats = 2;
        plan.sweep.warmup = Warmup::Fixed(Duration::from_millis(20));
    });
    assert_eq!(snapshots.len(), 1 + 12);
    let empty = vec![0; 8 + 100];
    let mut seen = HashSet::new();
    let mut before = vec![Vec::new(); snapshots[0].len()];
    for snapshot in snapshots {
        let new = before.iter().zip(&snapshot).filter(|(was, is)| was != is);
        for (_, slot) in new.filter(|(_, is)| **is != empty) {
            assert!(seen.insert(slot[8..].to_vec()), "a value comes again");
        }
        before = snapshot;
    }
}

#[test]
fn every_point_draws_keys_of_its_own() {
    let snapshots = snapshots(&["ycsb-a", "ycsb-f"], &[1, 2], |plan| {
        plan.sweep.repeats = 2
    });
    let changed = changed(&snapshots);
    assert!(changed.iter().all(|slots| slots.len() > 100));
    let distinct: BTreeSet<_> = changed.iter().collect();
    assert_eq!(distinct.len(), 8);
    // 500 operations on 2,000 records change some 10 to 25 % of the slots. By chance, about as
    // few are common to two points.
    for (i, one) in changed.iter().enumerate() {
        for other in &changed[i + 1..] {
            let common = one.intersection(other).count();
            assert!(common < one.len() * 7 / 10, "{common} of {}", one.len());
        }
    }
}

#[test]
fn every_run_and_every_system_of_a_plan_gets_the_same_operations() {
    let run = || {
        let (one, other, out) = (
            TempDir::new().unwrap(),
            TempDir::new().unwrap(),
            TempDir::new().unwrap(),
        );
        let systems = vec![file("a", one.path()), file("b", other.path())];
        let mut plan = plan(systems, &["ycsb-a", "ycsb-d", "ycsb-f"], &[1]);
        plan.sweep.load_threads = 1; // several would each take the next record to load
        plan.sweep.repeats = 2;
        run(&plan, out.path()).unwrap();
        [one, other].map(|place| slots(&place.path().join("slots.dat")))
    };
    let [one, other] = run();
    assert!(one == other, "two systems differ");
    assert!(run() == [one, other], "two runs differ");
}

#[test]
fn a_load_that_goes_on_writes_values_of_its_own() {
    let seeds = |key| tailmark_runner::PointSeeds::new(1, &key);
    let key = tailmark_model::PointKey {
        system: "a".into(),
        workload: "ycsb-a".into(),
        distribution: "zipfian".into(),
        threads: 1,
        repeat: 1,
        target_rate: None,
        arrivals: None,
    };
    let froms: HashSet<_> = (0..1000)
        .map(|from| seeds(key.clone()).load(from))
        .collect();
    assert_eq!(froms.len(), 1000);
}
