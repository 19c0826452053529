//! What carries messages between processes, under a real `mpirun`: on this machine, between hosts
//! that are network namespaces, and when a rank or a host is lost. The ranks are this program too.

mod acts;
mod faults;
mod hosts;
mod local;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};
use tailmark_testing::{Ended, Hosts, Job, Mpirun};

/// What a rank is to do, and the number that goes with it.
const ACT: &str = "TEST_ACT";

/// No job takes nearly so long; this machine may be busy.
const END: Duration = Duration::from_secs(90);

fn main() -> ExitCode {
    match env::var(ACT) {
        Ok(act) => {
            let (name, number) = act.split_once(' ').expect("an act is a name and a number");
            acts::play(name, number.parse().expect("the number is one"));
            ExitCode::SUCCESS
        }
        Err(_) => tailmark_testing::run(),
    }
}

fn program() -> PathBuf {
    env::current_exe().expect("this is a program")
}

fn job(mpirun: Mpirun, act: &str) -> Job {
    mpirun.env(ACT, act).env("RUST_BACKTRACE", "0").start()
}

/// So many ranks on this machine.
fn here(ranks: u32, act: &str) -> Job {
    job(Mpirun::new(ranks, &program(), Path::new("/")), act)
}

/// A rank on each of these hosts.
fn on(hosts: &Hosts, act: &str) -> Job {
    job(Mpirun::on(hosts, &program(), Path::new("/")), act)
}

/// It ended well, and said this many lines like that.
fn says(ended: &Ended, lines: usize, what: &str) {
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.out, ended.err);
    let found = ended.out.lines().filter(|line| line.contains(what)).count();
    assert_eq!(found, lines, "{what}: {}\n{}", ended.out, ended.err);
}
