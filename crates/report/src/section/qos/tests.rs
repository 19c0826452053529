//! How many requests a second there were, and how they are written.

use super::*;
use tailmark_model::{Censored, Summary};

#[test]
fn few_requests_a_second_keep_two_digits() {
    for (value, text) in [
        (1_234.4, "1,234"),
        (10.0, "10.0"),
        (0.5, "0.50"),
        (0.012_34, "0.012"),
        (0.0, "0.0"),
    ] {
        assert_eq!(few(value), text);
    }
}

#[test]
fn requests_of_a_kind_are_its_share_of_operations_and_what_failed() {
    let counted = |count, errors| KindResult {
        count,
        errors,
        ..KindResult::default()
    };
    let phase = |kinds: &[(Kind, KindResult)]| Phase {
        duration_s: 10.0,
        operations: 101_415,
        kinds: kinds.iter().cloned().collect(),
        ..Phase::default()
    };
    let rounded = |of_phase: &Phase, kind| requests_per_s(of_phase, kind).map(f64::round);
    // An import has 10,141.5 ops/s and counts that are of any time.
    let reads = phase(&[(Kind::Read, counted(10_000_000, 0))]);
    assert_eq!(requests_per_s(&reads, Kind::Read), Some(10_141.5));
    let mixed = [
        (Kind::Read, counted(95_000_000, 0)),
        (Kind::Update, counted(5_000_000, 0)),
    ];
    let mixed = phase(&mixed);
    assert_eq!(rounded(&mixed, Kind::Update), Some(507.0));
    // Of 8,000 requests a second a fifth fails: a hundredth of all is 80.
    let failing = Phase {
        operations: 80_000,
        failed: 16_000,
        ..phase(&[(Kind::Read, counted(64_000, 16_000))])
    };
    assert_eq!(rounded(&failing, Kind::Read), Some(8_000.0));
    // 50,000 reads, of which 30,000 are one half of a pair, as all updates are.
    let pairs = Phase {
        operations: 50_000,
        ..phase(&[
            (Kind::Read, counted(50_000, 0)),
            (Kind::Update, counted(30_000, 0)),
            (Kind::ReadModifyWrite, counted(30_000, 0)),
        ])
    };
    let kinds = [Kind::Read, Kind::Update, Kind::ReadModifyWrite];
    assert_eq!(
        kinds.map(|kind| rounded(&pairs, kind)),
        [Some(5_000.0), Some(3_000.0), Some(3_000.0)]
    );
    // 1,000 requests a second are due, of which half is done.
    let mut never = Censored::default();
    never.response.record_n(1_000_000, 5_000).unwrap();
    let late = KindResult {
        censored: Some(Box::new(never)),
        ..counted(5_000, 0)
    };
    let overloaded = Phase {
        operations: 5_000,
        ..phase(&[(Kind::Read, late)])
    };
    assert_eq!(rounded(&overloaded, Kind::Read), Some(1_000.0));
    let mut summary = Summary::default();
    summary.set_percentile(99.0, 9_000.0);
    let uncounted = KindResult {
        summary: Some(summary),
        ..KindResult::default()
    };
    let unknown = [
        (Kind::Read, counted(10_000_000, 0)),
        (Kind::Update, uncounted),
    ];
    assert_eq!(requests_per_s(&phase(&unknown), Kind::Read), None);
}
