//! What a read-modify-write counts, and from when its halves are timed.

use super::*;

fn highest_ms(phase: &Phase, kind: Kind) -> u64 {
    phase.kinds[&kind].response().max() / MS
}

#[test]
fn the_response_time_of_an_update_does_not_contain_the_read_before_it() {
    let phase = measure(Asked {
        workload: "ycsb-f",
        model: "constant 10ms",
        ..Asked::default()
    });
    let highest = [Kind::Read, Kind::Update, Kind::ReadModifyWrite];
    assert_eq!(highest.map(|kind| highest_ms(&phase, kind)), [10, 10, 20]);
}

#[test]
fn the_response_time_of_an_update_contains_the_wait_of_its_pair_for_a_client() {
    // Half of the operations take 10 ms, half 20 ms: one client does 67 of the 100 a second.
    let phase = measure(Asked {
        workload: "ycsb-f",
        model: "constant 10ms",
        rate: 100.0,
        threads: 1,
        duration_s: 10,
        ..Asked::default()
    });
    assert_eq!(phase.kinds[&Kind::Update].service.max() / MS, 10);
    let [update, pair] = [Kind::Update, Kind::ReadModifyWrite].map(|kind| highest_ms(&phase, kind));
    assert!(
        update > 3_000 && pair.abs_diff(update + 10) <= pair / 500,
        "{update} {pair}"
    );
}

#[test]
fn bytes_read_after_the_end_are_in_no_bandwidth() {
    // Half of the due operations are done in time, and the other half after the end.
    let phase = measure(Asked {
        model: "constant 1ms",
        rate: 2_000.0,
        threads: 1,
        ..Asked::default()
    });
    assert!(phase.drained >= 9_900, "{}", phase.drained);
    let read = &phase.kinds[&Kind::Read];
    let each = read.bytes as f64 / read.count as f64;
    let per_second = phase.bandwidth().database.unwrap() * 1e6;
    let expected = each * phase.ops_per_sec(); // names of keys are not all as long
    assert!(
        (per_second / expected - 1.0).abs() < 0.01,
        "{per_second} {expected}"
    );
}
