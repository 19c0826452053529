//! A rank or a host is lost, or a rank ends the job: nothing of it goes on.

use crate::{END, here, on};
use std::time::Duration;
use tailmark_testing::{Ended, Hosts, Job, test};

/// A job with beats that nothing ends.
const BEAT: &str = "beat 600";

/// Ended with this code, on every host, and said this.
fn ended(mut job: Job, code: i32, why: &str) -> Ended {
    job.until_no_rank_lives(END);
    let ended = job.end(END);
    assert!(ended.err.contains(why), "{}\n{}", ended.out, ended.err);
    assert_eq!(ended.code, Some(code), "{}", ended.err);
    ended
}

#[test]
fn a_panic_of_any_thread_ends_the_job_and_names_the_rank_and_its_host() {
    let hosts = Hosts::new(3);
    let job = on(&hosts, "panic 1");
    ended(job, 101, "error: rank 1 on node2: thread ");
}

#[test]
fn a_rank_can_end_the_job_with_a_code_and_a_reason() {
    let job = here(4, "abort 2");
    let ended = ended(job, 17, ": it is over");
    assert!(ended.err.contains("error: rank 2 on "), "{}", ended.err);
}

#[test]
fn a_rank_that_is_killed_ends_the_job() {
    let hosts = Hosts::new(3);
    let mut job = on(&hosts, BEAT);
    job.until_said("rank 1 on node2: process", END);
    let rank = job.rank(1, END);
    job.signal(rank, "KILL");
    ended(job, 137, "rank 1");
}

#[test]
fn a_rank_that_is_stopped_ends_the_job() {
    let mut job = here(4, BEAT);
    job.until_said("rank 2 on", END);
    let rank = job.rank(2, END);
    job.signal(rank, "STOP");
    ended(job, 3, "heard nothing of rank 2");
}

#[test]
fn leader_that_is_stopped_ends_the_job() {
    let mut job = here(4, BEAT);
    job.until_said("rank 0 on", END);
    let rank = job.rank(0, END);
    job.signal(rank, "STOP");
    ended(job, 3, "heard nothing of rank 0");
}

#[test]
fn a_host_that_is_lost_ends_the_job_on_both_sides() {
    let hosts = Hosts::new(3);
    let mut job = on(&hosts, BEAT);
    for node in 1..=3 {
        job.until_said(&format!("on node{node}: process"), END);
    }
    hosts.link_down(3);
    ended(job, 205, "lost communication");
}

#[test]
fn an_interrupt_of_mpirun_ends_every_rank() {
    let hosts = Hosts::new(2);
    let mut job = on(&hosts, BEAT);
    job.until_said("rank 1 on node2: process", END);
    job.signal(job.pid(), "INT");
    job.until_no_rank_lives(END);
    assert_ne!(job.end(END).code, Some(0));
}

#[test]
fn an_mpirun_that_is_killed_leaves_no_rank_behind() {
    let hosts = Hosts::new(2);
    let mut job = on(&hosts, BEAT);
    job.until_said("rank 1 on node2: process", END);
    job.signal(job.pid(), "KILL");
    job.until_no_rank_lives(Duration::from_secs(60));
}
