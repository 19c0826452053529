//! When repeats ended that end once a verdict is reached.

use crate::support::{A, B, one, phase, said};
use tailmark_model::{Metric, RepeatRange};
use tailmark_report::Data;

/// The points of A and B, repeated so often, with noise of this part.
fn repeated(repeats: u32, noise: f64) -> Data {
    let mut data = one(&[A, B]);
    data.headers[0].settings.rules.repeats = Some(RepeatRange { least: 4, most: 8 });
    let first = data.points.clone();
    data.points.clear();
    for repeat in 1..=repeats {
        for point in &first {
            let sign = if repeat % 2 == 0 { 1.0 } else { -1.0 };
            let ops = point.phase.ops_per_sec() * (1.0 + sign * noise * f64::from(repeat));
            let mut again = point.clone();
            again.key.repeat = repeat;
            again.phase = phase(ops, 1.0 + 0.01 * f64::from(repeat));
            data.points.push(again);
        }
    }
    data
}

fn ended(data: &Data) -> Vec<String> {
    let mut lines = said(data);
    lines.retain(|line| line.contains("of at most 8 repeats"));
    lines
}

#[test]
fn a_report_says_after_how_many_repeats_there_was_a_verdict() {
    let decided = ended(&repeated(5, 0.001));
    assert_eq!(
        decided,
        ["Verdicts on ops/s were decided after 5 of at most 8 repeats."]
    );
    let open = ended(&repeated(8, 0.1)).concat();
    assert!(
        open.contains("Verdicts on ops/s are open after 8"),
        "{open}"
    );
}

#[test]
fn only_metrics_with_a_verdict_are_said_to_be_decided_and_only_open_ones_to_be_open() {
    // The latencies are decided, ops/s are not; of the last metric there is no value at all.
    for metric in ["p99 read", "device_write_p99_us"] {
        let mut data = repeated(8, 0.1);
        data.headers[0].settings.report.metric = Metric::from_name(metric);
        for point in &mut data.points {
            let factor = if point.key.system == "A" { 1.0 } else { 3.0 };
            let ms = factor * (1.0 + 0.001 * f64::from(point.key.repeat));
            point.phase = phase(point.phase.ops_per_sec(), ms);
        }
        let open = ended(&data).concat();
        assert!(open.contains("on ops/s are open after 8"), "{open}");
        assert!(!open.contains("p99 read latency are open"), "{open}");
        assert!(!open.contains("device"), "{open}");
    }
}

#[test]
fn of_several_studies_and_without_verdicts_it_says_nothing() {
    let one = repeated(5, 0.001);
    let mut other = repeated(5, 0.002);
    other.headers[0].id = "another".to_owned();
    assert_eq!(ended(&Data::merged(vec![one.clone(), other])), [""; 0]);
    let mut alone = one;
    alone.systems.truncate(1);
    alone.points.retain(|point| point.key.system == "A");
    assert_eq!(ended(&alone), [""; 0]);
}
