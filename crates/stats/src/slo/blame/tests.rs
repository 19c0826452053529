use super::*;
use std::collections::BTreeMap;
use tailmark_model::{Kind, KindResult, LagCauses, Sentence, StartLag, new_latencies};

const MS: u64 = 1_000_000;

fn latencies(samples: &[(u64, u64)]) -> Latencies {
    let mut latencies = new_latencies();
    for &(ns, count) in samples {
        latencies.record_n(ns, count).unwrap();
    }
    latencies
}

/// 100,000 reads with these service times, and by how much they were sent late for each cause.
fn phase(service: &[(u64, u64)], no_client: &[(u64, u64)], woken_late: &[(u64, u64)]) -> Phase {
    let service = latencies(service);
    let read = KindResult {
        count: service.len(),
        service,
        ..KindResult::default()
    };
    let causes = LagCauses {
        no_client: latencies(no_client),
        woken_late: latencies(woken_late),
    };
    Phase {
        operations: read.service.len(),
        kinds: BTreeMap::from([(Kind::Read, read)]),
        start_lag: Some(StartLag {
            all: new_latencies(),
            causes: Some(causes),
        }),
        ..Phase::default()
    }
}

fn blamed(phase: &Phase, count: u32, rate: f64) -> Option<bool> {
    let limit = Limit::parse("p99 read < 15ms").unwrap();
    late(phase, Clients { count, rate }, &[limit]).map(|cause| cause.is_no_client)
}

const FAST: &[(u64, u64)] = &[(MS, 100_000)];

#[test]
fn operations_that_were_on_time_do_not_blame_the_client_however_many_they_are() {
    // 5 stalls of a second in 100 s, in which 64 clients wait and 1,000 operations become due.
    let service = [(MS, 99_680), (1_000 * MS, 320)];
    let waited = [(500 * MS, 5_000)];
    for on_time in [0, 5_000] {
        let stalled = phase(&service, &waited, &[(on_time, 95_000)]);
        assert_eq!(blamed(&stalled, 64, 1_000.0), None);
    }
}

#[test]
fn a_machine_that_wakes_its_clients_late_is_to_blame() {
    let woken = phase(FAST, &[(2 * MS, 90_000)], &[(20 * MS, 2_000), (0, 8_000)]);
    assert_eq!(blamed(&woken, 64, 1_000.0), Some(false));
    // So late, and no client free for more of them by as much.
    let both = phase(FAST, &[(20 * MS, 50_000)], &[(20 * MS, 2_000)]);
    assert_eq!(blamed(&both, 64, 1_000.0), None);
}

#[test]
fn clients_that_cannot_do_the_rate_at_the_time_of_a_request_are_too_few() {
    let waited = phase(FAST, &[(400 * MS, 100_000)], &[]);
    assert_eq!(blamed(&waited, 1, 1_100.0), Some(true));
    // At 95 % one client is too often busy; two are not.
    assert_eq!(blamed(&waited, 1, 950.0), Some(true));
    assert_eq!(blamed(&waited, 2, 950.0), None);
}

#[test]
fn of_several_limits_each_must_be_the_clients_fault() {
    let mut two = phase(FAST, &[(400 * MS, 100_000)], &[]);
    let update = KindResult {
        service: latencies(&[(MS, 1)]),
        ..KindResult::default()
    };
    two.kinds.insert(Kind::Update, update);
    let clients = Clients {
        count: 1,
        rate: 1_100.0,
    };
    let both = ["p99 read < 15ms", "p99 update < 1s"].map(|text| Limit::parse(text).unwrap());
    assert!(late(&two, clients, &both[..1]).is_some());
    assert_eq!(late(&two, clients, &both), None);
}

#[test]
fn erlangs_formula_gives_the_published_shares() {
    // With one client the share of the time that it is busy; 2 at 1: 1/3; 10 at 8: 0.409.
    for (clients, busy, share) in [(1, 0.5, 0.5), (2, 1.0, 1.0 / 3.0), (10, 8.0, 0.409)] {
        assert!((erlang_c(clients, busy) - share).abs() < 5e-4, "{clients}");
    }
}

#[test]
fn own_time_and_waits_count_together() {
    // Requests take exponential(1 ms), so exp(-5) = 0.67 % of them take over 5 ms. With 6.8 of 8
    // clients busy, 0.5 % wait over 4 ms, and 1.9 % wait and take over 5 ms together.
    let quantile = |part: f64| (-(1.0 - part).ln() * 1e6) as u64;
    let samples: Vec<(u64, u64)> = (0..10_000)
        .map(|at| (quantile((f64::from(at) + 0.5) / 1e4), 10))
        .collect();
    let few = phase(&samples, &[(6 * MS, 5_000)], &[]);
    let limit = Limit::parse("p99 read < 5ms").unwrap();
    let blamed =
        |count, rate| late(&few, Clients { count, rate }, &[limit]).map(|cause| cause.is_no_client);
    assert_eq!(blamed(8, 6_800.0), Some(true));
    assert_eq!(blamed(256, 6_800.0), None);
}

#[test]
fn too_few_background_clients_are_to_blame_for_their_own_kind_alone() {
    let mut late_reads = phase(FAST, &[], &[]);
    let late = |kinds: &str| {
        let sentence = Sentence::new("{Sent late}").text(LATE_KINDS, kinds);
        BACKGROUND_RATE_NOT_MET.finding(sentence)
    };
    late_reads.findings = vec![late("insert")];
    assert_eq!(blamed(&late_reads, 64, 1_000.0), None);
    late_reads.findings = vec![late("insert, read")];
    assert_eq!(blamed(&late_reads, 64, 1_000.0), Some(true));
    // In a stall they are not too few.
    late_reads.findings = vec![BACKGROUND_RATE_NOT_MET.finding("")];
    assert_eq!(blamed(&late_reads, 64, 1_000.0), None);
}

#[test]
fn the_work_of_background_clients_makes_the_clients_of_the_point_no_fewer() {
    // In a stall both of two clients wait. A background client does two writes for each read.
    let service = [(MS, 99_990), (1_000 * MS, 10)];
    let mut stalled = phase(&service, &[(500 * MS, 5_000)], &[]);
    let insert = KindResult {
        count: 200_000,
        service: latencies(&[(MS, 200_000)]),
        ..KindResult::default()
    };
    stalled.kinds.insert(Kind::Insert, insert);
    assert_eq!(stalled.background_requests(), 200_000);
    assert_eq!(blamed(&stalled, 2, 1_000.0), None);
}
