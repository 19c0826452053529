//! A rank, its host or the disk is lost during the second of three points: every rank ends within a
//! bound, the first point is in the study, and the same command measures the others.

use crate::{END, TAILMARK, done, program, ranks, shown};
use std::{fs, path::Path, time::Duration};
use tailmark_testing::{Ended, Hosts, Job, Mpirun, Tmpfs, test};
use tempfile::TempDir;

/// Three points of the driver that does nothing, on all ranks.
const RUN: &[&str] = &[
    "run",
    "--driver=null",
    "--system=a=x",
    "--records=1k",
    "--threads=4,8,12",
    "--duration=3s",
    "--warmup=0s",
    "--probe=none",
    "--output=out",
];

/// A rank that is not heard of is noticed in 15 s, and a job is ended in 2 s from then; the rest is
/// for a busy machine.
const BOUND: Duration = Duration::from_secs(60);

/// The name of this machine.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    name.trim().to_owned()
}

/// Waits until the second point is under way.
fn second_point(job: &mut Job) {
    job.until_said("[1/3]", END);
}

/// It ends in time with a code that is not 0, and says this; no rank is left.
fn fails(mut job: Job, said: &str) -> Ended {
    job.until_no_rank_lives(BOUND);
    let ended = job.end(BOUND);
    assert_ne!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains(said), "no `{said}`: {}", ended.err);
    ended
}

/// The first point is in the study of `directory`, and the same command measures the others.
fn continues(directory: &Path, ranks: u32) {
    let kept = TAILMARK.points(directory);
    assert!((1..3).contains(&kept.len()), "{}", kept.len());
    let ended = crate::ranks(ranks, directory, RUN).run(END);
    done(&ended);
    assert!(ended.err.contains("kept from before"), "{}", ended.err);
    let points = TAILMARK.points(directory);
    assert_eq!(points.len(), 3);
    for point in kept {
        assert!(points.contains(&point), "{}", shown(&point));
    }
}

#[test]
fn a_rank_that_is_killed_ends_the_run_and_its_points_stay() {
    let dir = TempDir::new().unwrap();
    let mut job = ranks(4, dir.path(), RUN).start();
    second_point(&mut job);
    let rank = job.rank(2, END);
    job.signal(rank, "KILL");
    // What mpirun says of it.
    let ended = fails(job, "rank 2 with PID");
    let says_where = ended.err.contains(&format!("on node {}", host()));
    assert!(says_where, "{}", ended.err);
    continues(dir.path(), 4);
}

#[test]
fn a_rank_that_is_stopped_ends_the_run_and_is_named() {
    let dir = TempDir::new().unwrap();
    let mut job = ranks(4, dir.path(), RUN).start();
    second_point(&mut job);
    let rank = job.rank(2, END);
    job.signal(rank, "STOP");
    let said = format!("rank 2 on {} has not answered for", host());
    fails(job, &said);
    continues(dir.path(), 4);
}

#[test]
fn a_leader_that_is_killed_leaves_a_study_that_goes_on() {
    let dir = TempDir::new().unwrap();
    let mut job = ranks(4, dir.path(), RUN).start();
    second_point(&mut job);
    let rank = job.rank(0, END);
    job.signal(rank, "KILL");
    fails(job, "rank 0 with PID");
    continues(dir.path(), 4);
}

#[test]
fn a_leader_that_is_stopped_is_noticed_by_the_others() {
    let dir = TempDir::new().unwrap();
    let mut job = ranks(4, dir.path(), RUN).start();
    second_point(&mut job);
    let rank = job.rank(0, END);
    job.signal(rank, "STOP");
    let said = format!("rank 0 on {} has not answered for", host());
    fails(job, &said);
    continues(dir.path(), 4);
}

#[test]
fn a_host_whose_link_is_down_ends_the_run_on_both_sides() {
    let (dir, hosts) = (TempDir::new().unwrap(), Hosts::new(3));
    let mut job = Mpirun::on(&hosts, &program(), dir.path())
        .args(RUN.iter().copied())
        .start();
    second_point(&mut job);
    hosts.link_down(3);
    // What mpirun says of the host, and before that rank 0 of the rank.
    let ended = fails(job, &hosts.address(3));
    let said = "rank 0 on node1: rank 2 on node3 has not answered for";
    assert!(ended.err.contains(said), "{}", ended.err);
    continues(dir.path(), 3);
}

#[test]
fn an_interrupt_of_mpirun_ends_all_ranks_and_the_run_goes_on() {
    let dir = TempDir::new().unwrap();
    let mut job = ranks(4, dir.path(), RUN).start();
    second_point(&mut job);
    job.signal(job.pid(), "INT");
    fails(job, "");
    continues(dir.path(), 4);
}

#[test]
fn an_mpirun_that_is_killed_leaves_no_rank_behind() {
    let dir = TempDir::new().unwrap();
    let mut job = ranks(4, dir.path(), RUN).start();
    second_point(&mut job);
    job.signal(job.pid(), "KILL");
    job.until_no_rank_lives(BOUND);
    continues(dir.path(), 4);
}

#[test]
fn a_full_disk_of_the_leader_is_the_error_and_ends_all_ranks() {
    let disk = Tmpfs::new(8 << 20);
    let mut job = ranks(4, disk.path(), RUN).start();
    second_point(&mut job);
    disk.fill(0);
    fails(job, "failed to write the study");
    fs::remove_file(disk.filler()).unwrap();
    continues(disk.path(), 4);
}

/// Each request takes an hour: no rank comes to the end of its part.
#[test]
fn a_database_that_hangs_ends_the_run_some_time_after_the_point_was_over() {
    let dir = TempDir::new().unwrap();
    let run = [
        "run",
        "--driver=sim-threads",
        "--system=a=x",
        "--set=database.model=constant 3600s",
        "--records=10",
        "--threads=2",
        "--duration=2s",
        "--warmup=0s",
        "--output=out",
    ];
    let mut job = ranks(2, dir.path(), &run).start();
    job.until_no_rank_lives(END);
    let ended = job.end(END);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(
        ended.err.contains("has not ended its part"),
        "{}",
        ended.err
    );
}
