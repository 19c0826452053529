//! Ranks on one machine.

use crate::{END, here, says};
use tailmark_testing::test;

#[test]
fn large_messages_of_all_to_all_at_once_arrive_whole_and_in_their_order() {
    let ended = here(4, "exchange 20").end(END);
    says(&ended, 4, "all of [0, 1, 2, 3]");
}

#[test]
fn what_was_sent_before_a_rank_left_arrives() {
    let ended = here(4, "leave 1000").end(END);
    says(&ended, 1, "got [1000, 1000, 1000, 1000]");
}

#[test]
fn ranks_that_answer_each_other_know_each_others_clock() {
    let ended = here(3, "clock 5").end(END);
    for line in ended.out.lines() {
        let (ahead_ns, bound_ns) = crate::hosts::measured(line);
        // It is one clock.
        assert!(ahead_ns.unsigned_abs() <= bound_ns, "{line}");
    }
    says(&ended, 10, "ahead");
}

#[test]
fn two_ranks_that_beat_leave_the_processor_alone() {
    // Generous: how it is without others on the machine is a matter for benches.
    let ended = here(2, "beat 5").end(END);
    for line in ended.out.lines().filter(|l| l.contains("processor")) {
        let ppm: u64 = line
            .split(' ')
            .nth(5)
            .unwrap_or_default()
            .parse()
            .unwrap_or(u64::MAX);
        assert!(ppm < 100_000, "{line}");
    }
    says(&ended, 2, "processor");
}
