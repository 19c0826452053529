//! Systems that took turns while the machine drifted, in an order that is not balanced.

use super::*;

/// Two systems in the order b b a a b b a a, as after a run of `a` that was measured again. Both fall
/// by 3 % from run to run, and `a` does 5 % more. So the mean of `b` is the higher one.
fn unbalanced() -> Data {
    const EQUAL: &[f64] = &[1_000.0; 4];
    let mut data = study(&[Runs("a", EQUAL), Runs("b", EQUAL)]);
    for point in &mut data.points {
        let (level, at) = match point.key.system.as_str() {
            "a" => (1_050.0, [2, 3, 6, 7]),
            _ => (1_000.0, [0, 1, 4, 5]),
        };
        let repeat = point.key.repeat as usize - 1;
        let noise = [1.001, 0.999, 1.0, 1.001][repeat];
        let more = f64::from(point.key.threads) / 16.0;
        let drift = (-0.03 * f64::from(at[repeat])).exp();
        point.phase = phase(level * more * noise * drift);
        let turn = 2 * u64::try_from(at[repeat]).unwrap() + u64::from(point.key.threads > 4);
        point.phase.started_ms = Some(1_000 + turn);
    }
    data.headers[0].settings.rules.takes_turns = true;
    data
}

#[test]
fn where_drift_is_removed_the_order_follows_the_ratio_and_not_the_means() {
    let data = unbalanced();
    let summary = said("summary", &data);
    let expected = "a has higher peak ops/s than b in YCSB C, by 5 %.";
    assert!(summary.starts_with(expected), "{summary}");
    let cells = &tables("peaks", &data)[0].rows[0].cells;
    let [highest, over] = [&cells[cells.len() - 2], &cells[cells.len() - 1]];
    assert_eq!([&highest.text[..], &over.text[..]], ["a", "+5 %"]);
    for row in [0, 1] {
        let cell = improvement(&data, row);
        assert_eq!(cell.text, "+5 %");
        assert!(cell.detail.ends_with(", better"), "{}", cell.detail);
    }
}

#[test]
fn a_latency_at_a_fixed_rate_has_the_ratio_of_its_comparison() {
    let mut data = unbalanced();
    data.points.retain(|point| point.key.threads == 16);
    for point in &mut data.points {
        (point.key.target_rate, point.key.arrivals) = (Some(500.0), Some(Arrivals::Poisson));
    }
    data.settings.at_rate = vec![500.0];
    let fixed = said("fixed", &data);
    assert!(fixed.contains("a is 5 % lower than b"), "{fixed}");
}
