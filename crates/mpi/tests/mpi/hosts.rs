//! Ranks on hosts of their own, which are network namespaces.

use crate::{END, on, says};
use tailmark_testing::{Hosts, test};

/// What a line of the act `clock` says: by how much a clock is ahead, and the bound, in ns.
pub fn measured(line: &str) -> (i64, u64) {
    let words: Vec<_> = line.split(' ').collect();
    let number = |at: usize| words[at].parse::<i64>().expect("it is a number");
    (number(7), number(9).unsigned_abs())
}

#[test]
fn three_hosts_exchange_large_messages() {
    let hosts = Hosts::new(3);
    let ended = on(&hosts, "exchange 20").end(END);
    says(&ended, 1, "rank 2 on node3: all of [0, 1, 2]");
    says(&ended, 3, "all of [0, 1, 2]");
}

/// Time namespaces of the kernel: the hosts' clocks are really apart.
#[test]
fn clocks_of_other_hosts_are_found_within_their_bound() {
    let hosts = Hosts::with_clocks(&[0, 3600, -100]);
    let ended = on(&hosts, "clock 3").end(END);
    for (rank, ahead_s) in [(1, 3600), (2, -100)] {
        let mark = format!(": rank {rank} ahead");
        for line in ended.out.lines().filter(|line| line.contains(&mark)) {
            let (ahead_ns, bound_ns) = measured(line);
            let error = ahead_ns - ahead_s * 1_000_000_000;
            assert!(error.unsigned_abs() <= bound_ns, "{line}");
            assert!(bound_ns < 1_000_000_000, "{line}");
        }
        says(&ended, 3, &mark);
    }
}
