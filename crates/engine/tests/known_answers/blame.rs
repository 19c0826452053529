//! What a trial of a search says where requests were sent late: whether it was the system that all
//! clients waited for, or the clients. In virtual time no client is woken late.

use super::*;
use tailmark_model::{Bounds, Limit, Point, Rule, SloSettings};
use tailmark_stats::slo::{Trial, Verdict};

fn tried_at(model: &'static str, threads: u32, rate: f64) -> Trial {
    let requested = Asked {
        model,
        rate,
        arrivals: Arrivals::Poisson,
        threads,
        duration_s: 200,
        ..Asked::default()
    };
    let key = PointKey {
        target_rate: Some(rate),
        arrivals: Some(requested.arrivals),
        ..key(threads)
    };
    let settings = SloSettings {
        latency: vec![Limit::parse("p99 read < 15ms").unwrap()],
        bounds: Bounds {
            min_rate: None,
            max_rate: None,
            resolution: 0.05,
        },
        arrivals: requested.arrivals,
        threads,
        rule: Rule::with_block(Duration::from_secs(10)),
        warmup: Duration::ZERO,
        time: Duration::from_secs(2_400),
        quick: false,
    };
    let phase = measure(requested);
    Trial::from_point(&Point { key, phase }, &settings)
}

#[test]
fn the_client_is_not_blamed_for_stalls_of_the_system() {
    // All clients wait for an answer in 1 of 20 seconds: 5 % of the reads are due in it, and few
    // of them can be sent.
    for threads in [1, 8, 64] {
        let trial = tried_at("constant 100us; compaction 20s 1s 10000", threads, 1_000.0);
        let said = (trial.verdict, &trial.evidence);
        assert_eq!(said, (Verdict::Fail, &None), "{threads}");
    }
}

#[test]
fn too_few_clients_are_the_limit_of_a_system_that_answers_as_fast_as_ever() {
    // Two clients do 400 reads of 5 ms a second, even if the system could do more.
    let trial = tried_at("constant 5ms", 2, 500.0);
    assert_eq!(trial.verdict, Verdict::ClientLimit);
    let evidence = trial.evidence.unwrap();
    assert!(evidence.contains("no client was free"), "{evidence}");
    assert_eq!(tried_at("constant 5ms", 64, 500.0).verdict, Verdict::Pass);
}
