use super::*;
use tailmark_model::{
    Arrivals, Interval, IntervalKind, KindResult, LagCauses, Packed, StartLag,
    finding::{DATABASE_SATURATED, MACHINE_BUSY},
    new_latencies,
};
use tailmark_model::{Bounds, Rule};

const MS: u64 = 1_000_000;

fn settings() -> SloSettings {
    SloSettings {
        latency: vec![Limit::parse("p99 read < 15ms").unwrap()],
        bounds: Bounds {
            resolution: 0.05,
            min_rate: None,
            max_rate: None,
        },
        arrivals: Arrivals::Poisson,
        threads: 16,
        rule: Rule::with_block(Duration::from_secs(2)),
        warmup: Duration::ZERO,
        time: Duration::from_secs(600),
        quick: true,
    }
}

/// Two minutes of reads of which half took 30 ms from when they were due, and `service_ms` from when they
/// were sent.
fn late(service_ms: u64) -> Phase {
    let mut service = new_latencies();
    service.record_n(service_ms * MS, 100).unwrap();
    let mut response = new_latencies();
    response.record_n(MS, 50).unwrap();
    response.record_n(30 * MS, 50).unwrap();
    let interval = |start: u32| Interval {
        start_s: start.into(),
        length_s: 1.0,
        operations: 100,
        failed: 0,
        kinds: [(
            Kind::Read,
            IntervalKind {
                count: 100,
                errors: 0,
                service: Packed::pack(&service),
                response: Some(Packed::pack(&response)),
            },
        )]
        .into(),
    };
    let result = KindResult {
        count: 12_000,
        service: service.clone(),
        response: Some(response.clone()),
        ..KindResult::default()
    };
    Phase {
        duration_s: 120.0,
        operations: 12_000,
        kinds: [(Kind::Read, result)].into(),
        intervals: (0..120).map(interval).collect(),
        ..Phase::default()
    }
}

fn verdict(mut phase: Phase, found: &[FindingCode]) -> Verdict {
    phase.findings = found.iter().map(|code| code.finding("found")).collect();
    let key = PointKey {
        system: "a".to_owned(),
        workload: "ycsb-c".to_owned(),
        distribution: "uniform".to_owned(),
        threads: 16,
        repeat: 1,
        target_rate: Some(100.0),
        arrivals: Some(Arrivals::Poisson),
    };
    judge(&Point { key, phase }, &settings()).1
}

#[test]
fn the_client_is_the_limit_of_a_trial_by_its_own_share_of_the_processors() {
    assert_eq!(verdict(late(30), &[]), Verdict::Fail);
    assert_eq!(verdict(late(30), &[CLIENT_SATURATED]), Verdict::ClientLimit);
    for other in [DATABASE_SATURATED, MACHINE_BUSY] {
        assert_eq!(verdict(late(30), &[other]), Verdict::Fail);
    }
}

#[test]
fn clients_that_a_database_on_their_machine_woke_late_wait_for_the_system() {
    let mut woken = late(1);
    let mut lag = new_latencies();
    lag.record_n(29 * MS, 50).unwrap();
    woken.start_lag = Some(StartLag {
        all: lag.clone(),
        causes: Some(LagCauses {
            no_client: new_latencies(),
            woken_late: lag,
        }),
    });
    for other in [&[][..], &[MACHINE_BUSY]] {
        assert_eq!(verdict(woken.clone(), other), Verdict::ClientLimit);
    }
    assert_eq!(verdict(woken, &[DATABASE_SATURATED]), Verdict::Fail);
}
