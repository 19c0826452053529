//! Each rule on a phase whose answer is known, on both sides of its threshold.

use super::{super::findings, *};
use crate::point::Measured;
use tailmark_driver::{Access, DataSet, Location, Params, Schema, Semantics, Settings};
use tailmark_model::{Censored, Kind, LagCauses, Observed, PointKey, new_latencies};
use tailmark_testing::assert_says;

/// Milliseconds in nanoseconds.
const MS: u64 = 1_000_000;

fn latencies(values: &[(u64, u64)]) -> Latencies {
    let mut latencies = new_latencies();
    for (ns, count) in values {
        latencies.record_n(*ns, *count).expect("it grows");
    }
    latencies
}

/// Reads of this service time, and as many response times.
fn reads(service: &[(u64, u64)], response: &[(u64, u64)]) -> KindResult {
    let service = latencies(service);
    KindResult {
        count: service.len(),
        service,
        response: Some(latencies(response)),
        ..KindResult::default()
    }
}

/// 10,000 operations in 10 s, each of 10 ms.
fn phase() -> Phase {
    let ten_ms = [(10 * MS, 10_000)];
    Phase {
        duration_s: 10.0,
        operations: 10_000,
        kinds: [(Kind::Read, reads(&ten_ms, &ten_ms))].into(),
        ..Phase::default()
    }
}

fn with_causes(no_client: &[(u64, u64)], woken_late: &[(u64, u64)]) -> Phase {
    let causes = LagCauses {
        no_client: latencies(no_client),
        woken_late: latencies(woken_late),
    };
    let mut all = causes.no_client.clone();
    all.add(&causes.woken_late).expect("it grows");
    Phase {
        start_lag: Some(StartLag {
            all,
            causes: Some(causes),
        }),
        ..phase()
    }
}

/// The findings of a phase at 1,000 operations a second by 64 clients.
struct Found(Vec<tailmark_model::Finding>);

impl Found {
    fn from_phase(phase: Phase) -> Self {
        Self::with_arrivals(phase, Arrivals::Even, 64)
    }

    fn with_arrivals(phase: Phase, arrivals: Arrivals, threads: u32) -> Self {
        let driver = tailmark_driver::db::find("null").expect("a row");
        let params = Params {
            location: Location::None,
            data: DataSet {
                schema: Schema {
                    table: "t".into(),
                    fields: vec![],
                },
                records: 0,
                field_length: 0,
            },
            settings: Settings::default(),
            semantics: Semantics::Faithful,
            access: Access::Write,
            study: String::new(),
        };
        let key = PointKey {
            system: "a".into(),
            workload: "ycsb-c".into(),
            distribution: "uniform".into(),
            threads,
            repeat: 1,
            target_rate: Some(1_000.0),
            arrivals: Some(arrivals),
        };
        let measured = Measured {
            phase,
            clock_step_ms: 0,
            not_sampled: Vec::new(),
        };
        Self(findings(&PointContext::new(
            driver, &params, &key, &measured,
        )))
    }

    fn text(&self, code: &str) -> String {
        let found = self.0.iter().find(|finding| finding.code == code);
        found.map_or_else(String::new, |finding| finding.text())
    }

    fn has(&self, code: &str) -> bool {
        !self.text(code).is_empty()
    }
}

#[test]
fn operations_that_waited_for_a_client_are_a_finding_from_one_in_a_hundred_on() {
    let waited = |count| with_causes(&[(3 * MS, count)], &[(1_000, 10_000 - count)]);
    let found = Found::from_phase(waited(100));
    let text = found.text("no-free-client");
    let parts = [
        "No client was free for 1.0 % of the operations",
        "waited 3.00 ms or more",
        "is 10.0 ms",
        "64 clients",
        "sweep.rate_threads",
    ];
    assert_says(&text, &parts);
    assert!(!found.has("woken-late") && !found.has("started-late"));
    assert!(!Found::from_phase(waited(99)).has("no-free-client"));
    assert!(!Found::from_phase(waited(0)).has("no-free-client"));
}

#[test]
fn a_wait_for_a_client_counts_from_a_millisecond_or_a_tenth_of_the_response_on() {
    let waited = |ns| Found::from_phase(with_causes(&[(ns, 10_000)], &[])).has("no-free-client");
    // A tenth of 10 ms is a millisecond.
    assert!(waited(1_100_000) && !waited(900_000));
    let quick = |ns| {
        let mut phase = with_causes(&[(ns, 10_000)], &[]);
        let quick = [(2 * MS, 10_000)];
        phase.kinds.insert(Kind::Read, reads(&quick, &quick));
        Found::from_phase(phase).has("no-free-client")
    };
    assert!(quick(220_000) && !quick(180_000));
    let very_quick = |ns| {
        let mut phase = with_causes(&[(ns, 10_000)], &[]);
        let counts = [(50_000, 10_000)];
        phase.kinds.insert(Kind::Read, reads(&counts, &counts));
        Found::from_phase(phase).has("no-free-client")
    };
    assert!(very_quick(110_000) && !very_quick(90_000));
}

#[test]
fn clients_that_are_woken_late_are_a_finding_of_their_own() {
    let woken = |late| with_causes(&[], &[(2 * MS, late), (1_000, 10_000 - late)]);
    let found = Found::from_phase(woken(100));
    let text = found.text("woken-late");
    let parts = [
        "1 % of the operations were sent 2.00 ms or more",
        "a client was free",
        "machine of the clients is busy",
    ];
    assert_says(&text, &parts);
    assert!(!found.has("no-free-client") && !found.has("started-late"));
    assert!(!Found::from_phase(woken(99)).has("woken-late"));
    let late = |ns| Found::from_phase(with_causes(&[], &[(ns, 10_000)])).has("woken-late");
    assert!(late(1_100_000) && !late(900_000));
}

#[test]
fn lag_may_have_both_causes() {
    let both = Found::from_phase(with_causes(&[(5 * MS, 5_000)], &[(2 * MS, 5_000)]));
    assert!(both.has("no-free-client") && both.has("woken-late"));
}

#[test]
fn lag_without_causes_keeps_its_code() {
    let late = |ns| Phase {
        start_lag: Some(StartLag {
            all: latencies(&[(1_000, 9_900), (ns, 100)]),
            causes: None,
        }),
        ..phase()
    };
    let found = Found::from_phase(late(2 * MS));
    assert!(found.text("started-late").contains("2.00 ms or more"));
    assert!(!found.has("no-free-client") && !found.has("woken-late"));
    assert!(!Found::from_phase(late(900_000)).has("started-late"));
}

#[test]
fn a_rate_is_met_by_what_was_done_in_time() {
    let met = |operations, drained| {
        let phase = Phase {
            operations,
            drained,
            ..phase()
        };
        !Found::from_phase(phase).has("rate-not-met")
    };
    // 1 % of 10,000 may be missing.
    assert!(met(9_900, 0) && !met(9_899, 0));
    assert!(met(10_000, 100) && !met(10_000, 101));
    assert!(met(9_950, 50) && !met(9_950, 51));
}

#[test]
fn what_was_never_done_is_missing_too() {
    let met = |censored| {
        let phase = Phase {
            operations: 10_000 - censored,
            censored,
            ..phase()
        };
        !Found::from_phase(phase).has("rate-not-met")
    };
    assert!(met(100) && !met(101));
}

#[test]
fn a_rate_that_was_not_reached_says_what_was_late_and_not_that_it_queued_up() {
    // 10,000 were due in 10 s: a stall at the end left 500, of which 200 were done after it.
    let phase = Phase {
        operations: 9_700,
        drained: 200,
        censored: 300,
        ..phase()
    };
    let found = Found::from_phase(phase);
    let said = found.text("rate-not-met");
    assert!(
        said.contains(
            "; 500 operations were done after the end, or never. If operations queued \
                       up"
        ),
        "{said}"
    );
}

/// 1,000 were due in a second, and 30 of nearly a second each were in flight nearly all the time.
#[test]
fn as_many_may_be_in_flight_at_the_end_as_were_on_the_average() {
    let met = |missing: u64, threads| {
        let done = [(990 * MS, 30), (1, 970 - missing)];
        let phase = Phase {
            duration_s: 1.0,
            operations: 1_000 - missing,
            drained: 0,
            kinds: [(Kind::Read, reads(&done, &done))].into(),
            ..Phase::default()
        };
        !Found::with_arrivals(phase, Arrivals::Even, threads).has("rate-not-met")
    };
    // That is more than 1 % of what was due, with this many clients.
    assert!(met(30, 64) && !met(31, 64));
    assert!(met(20, 20) && !met(21, 20));
    // 1 % of what was due is more than one client has in flight.
    assert!(met(10, 1) && !met(11, 1));
}

#[test]
fn a_poisson_process_may_have_fewer_arrivals_than_its_rate_says() {
    let met = |operations, drained| {
        let phase = Phase {
            operations,
            drained,
            ..phase()
        };
        let found = Found::with_arrivals(phase, Arrivals::Poisson, 64);
        !found.has("rate-not-met")
    };
    // Three times the square root of 10,000, and 1 %.
    assert!(met(9_600, 0) && !met(9_599, 0));
    // Operations that were due and done after the end are known, whatever chance drew.
    assert!(met(10_200, 100) && !met(10_200, 101));
}

#[test]
fn operations_that_were_never_done_bound_the_quantiles_above_those_that_were() {
    let done = [(10 * MS, 9_900), (20_000 * MS, 80)];
    let ages = |ns| Censored {
        service: new_latencies(),
        response: latencies(&[(ns, 20)]),
    };
    let with = |ns| {
        let mut phase = phase();
        phase.censored = 20;
        phase.operations = 9_980;
        let mut read = reads(&done, &done);
        read.censored = Some(Box::new(ages(ns)));
        phase.kinds.insert(Kind::Read, read);
        Found::from_phase(phase)
    };
    let found = with(12_000 * MS);
    let text = found.text("censored");
    let parts = [
        "20 of 10,000 operations were due but never done",
        "quantiles of reads above p98.99 are lower bounds",
    ];
    assert_says(&text, &parts);
    let young = with(5 * MS);
    let few = young.text("censored");
    assert!(few.contains("all quantiles of reads"), "{few}");
    assert!(!Found::from_phase(phase()).has("censored"));
}

#[test]
fn requests_of_background_clients_that_were_never_done_are_named_as_theirs() {
    let done = [(10 * MS, 9_900)];
    let update = KindResult {
        censored: Some(Box::new(Censored {
            response: latencies(&[(12_000 * MS, 100)]),
            ..Censored::default()
        })),
        ..reads(&done, &done)
    };
    let mut phase = phase();
    phase.kinds.insert(Kind::Update, update);
    let parts = [
        "100 requests of background clients were due but never done",
        "quantiles of updates above p98.99 are lower bounds",
    ];
    assert_says(&Found::from_phase(phase).text("censored"), &parts);
}

#[test]
fn what_failed_ranks_above_the_quantiles_that_are_known_beside_operations_never_done() {
    // 281 of 60,000 operations failed and 500 were never done: 59,219 are 98.698 %.
    let done = [(MS, 59_219)];
    let ages = Censored {
        service: new_latencies(),
        response: latencies(&[(10_100 * MS, 500)]),
    };
    let read = KindResult {
        errors: 281,
        censored: Some(Box::new(ages)),
        ..reads(&done, &done)
    };
    let phase = Phase {
        censored: 500,
        operations: 59_500,
        failed: 281,
        kinds: [(Kind::Read, read)].into(),
        ..phase()
    };
    let parts = [
        "500 of 60,000 operations were due but never done",
        "quantiles of reads above p98.696 are lower bounds",
    ];
    assert_says(&Found::from_phase(phase).text("censored"), &parts);
}

#[test]
fn a_quantile_is_named_no_higher_than_what_is_known() {
    for (part, name) in [
        (0.99, "p99"),
        (0.9988, "p99.88"),
        (0.999_999, "p99.999"),
        (0.123_456, "p12.345"),
    ] {
        assert_eq!(quantile_name(part), name);
    }
}

#[test]
fn a_p99_that_is_a_bound_is_evidence_as_a_number_and_not_in_words() {
    let mut phase = with_causes(&[(3 * MS, 100)], &[(1_000, 9_900)]);
    let names = |measured: &Phase| {
        let found = Found::from_phase(measured.clone()).0.into_iter();
        let mut found = found.filter(|finding| finding.code == "no-free-client");
        let finding = found.next().unwrap();
        let numbers = finding.evidence.iter();
        let numbers = numbers.filter(|seen| matches!(seen.value, Observed::Number(_)));
        let names: Vec<String> = numbers.map(|seen| seen.name.clone()).collect();
        (names, finding.text())
    };
    let (exact, _) = names(&phase);
    assert!(exact.contains(&"p99 response".to_owned()), "{exact:?}");
    phase.kinds.get_mut(&Kind::Read).unwrap().errors = 200;
    let (bound, text) = names(&phase);
    assert!(
        bound.contains(&"p99 response, at least".to_owned()),
        "{bound:?}"
    );
    assert!(
        text.contains("is at least 10.0 ms") && !text.contains('≥'),
        "{text}"
    );
}
