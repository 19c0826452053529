//! What a study states of its devices follows from its printed tables alone.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::collections::BTreeMap;
use tailmark_model::{Bounded, Metric, Point, PointKey, RunRules};
use tailmark_stats::{
    Run,
    comparison::{Place, comparisons},
};
use tailmark_study::import::{Given, Imported, Source, find};

/// Operations per second by thread count.
type Curve = BTreeMap<u32, f64>;

const TABLE: &str = include_str!("fixtures/micron-7400.csv");
const SYSTEMS: [&str; 2] = ["7400 PRO", "7300 PRO"];
const THREADS: [u32; 10] = [4, 8, 16, 32, 48, 64, 96, 128, 192, 256];

/// How much more the first does in a workload, in whole percent: at the peaks, on the average, and
/// at each thread count. The study prints 24 for the average of D, which its table says is 25.8.
const PRINTED: [(&str, i64, i64, [i64; 10]); 5] = [
    ("ycsb-a", 44, 49, [34, 64, 78, 52, 45, 40, 40, 42, 42, 49]),
    ("ycsb-b", 28, 25, [6, 10, 18, 33, 35, 35, 37, 24, 28, 21]),
    ("ycsb-c", 11, 11, [11, 1, 3, 4, 13, 15, 21, 14, 19, 11]),
    ("ycsb-d", 31, 26, [4, 9, 18, 28, 43, 34, 36, 35, 28, 22]),
    ("ycsb-f", 50, 49, [38, 51, 63, 67, 53, 46, 47, 44, 42, 42]),
];

fn imported(table: &str) -> Vec<Imported> {
    let source = Source {
        path: "published.csv".into(),
        bytes: table.into(),
    };
    (find("csv").unwrap().read)(&[source], &Given::default()).unwrap()
}

/// The curve of each workload and system.
fn curves() -> BTreeMap<(String, String), Curve> {
    let mut curves: BTreeMap<_, Curve> = BTreeMap::new();
    for point in imported(TABLE) {
        let curve = curves.entry((point.workload.unwrap(), point.system));
        let ops = point.phase.ops_per_sec();
        assert_eq!(curve.or_default().insert(point.threads, ops), None);
    }
    curves
}

fn percent(part: f64) -> i64 {
    (part * 100.0).round() as i64
}

#[test]
fn peaks_averages_and_improvements_are_those_that_the_study_prints() {
    let pair = SYSTEMS.map(str::to_owned).into();
    let found = comparisons(&runs(TABLE), &[pair], 0.03);
    for (workload, of_peaks, of_average, at_threads) in PRINTED {
        let metric = Metric::OPS_PER_SEC;
        let of_workload = found
            .iter()
            .filter(|comparison| comparison.workload == workload);
        let (mut peaks, mut points) = (Vec::new(), Vec::new());
        for comparison in of_workload.filter(|comparison| comparison.metric == metric) {
            let gain = metric.gain(comparison.ratio);
            match comparison.place {
                Place::Peak { .. } => peaks.push(percent(gain.value)),
                Place::Point { threads, .. } => points.push((threads, gain)),
            }
        }
        assert_eq!(peaks, [of_peaks], "{workload}");
        let gains: Vec<Bounded> = points.iter().map(|(_, gain)| *gain).collect();
        let average = Bounded::mean(&gains).unwrap();
        assert_eq!(percent(average.value), of_average, "{workload}");
        if workload == "ycsb-d" {
            assert_eq!((average.value * 1e3).round(), 258.0);
        }
        let points = points.iter().map(|(t, gain)| (*t, percent(gain.value)));
        assert!(points.eq(THREADS.into_iter().zip(at_threads)), "{workload}");
    }
}

/// The table of the peaks alone, without thread counts.
fn peaks_alone() -> String {
    let rows = curves().into_iter().map(|((workload, system), curve)| {
        let ops = curve.into_values().reduce(f64::max).unwrap();
        format!("{workload},{system},peak,{ops}\n")
    });
    format!(
        "workload,system,threads,ops_per_sec\n{}",
        rows.collect::<String>()
    )
}

fn runs(table: &str) -> Vec<Run> {
    let run = |imported: Imported| {
        let key = PointKey {
            system: imported.system,
            workload: imported.workload.unwrap(),
            distribution: imported.distribution,
            threads: imported.threads,
            repeat: 1,
            target_rate: None,
            arrivals: None,
        };
        let point = Point {
            key,
            phase: imported.phase,
        };
        Run::from_point(
            &point,
            RunRules {
                allow_errors: 0.0,
                ..RunRules::default()
            },
        )
    };
    imported(table).into_iter().map(run).collect()
}

#[test]
fn peaks_without_thread_counts_compare_as_peaks_and_nowhere_else() {
    let pair = SYSTEMS.map(str::to_owned).into();
    let found = comparisons(&runs(&peaks_alone()), &[pair], 0.03);
    let said = found.iter().map(|own| {
        let at = Place::Peak {
            threads_a: PointKey::PEAK,
            threads_b: PointKey::PEAK,
            is_over_common: false,
        };
        assert_eq!((&own.place, own.metric), (&at, Metric::OPS_PER_SEC));
        (own.workload.as_str(), percent(own.ratio.value - 1.0))
    });
    let printed = PRINTED.map(|(workload, peaks, ..)| (workload, peaks));
    assert_eq!(said.collect::<Vec<_>>(), printed);
}

#[test]
fn a_peak_without_a_thread_count_compares_with_that_of_a_curve() {
    let only = |table: &str, system: &str| {
        let mut runs = runs(table);
        runs.retain(|run| run.key.system == system);
        runs
    };
    let both = [only(TABLE, SYSTEMS[0]), only(&peaks_alone(), SYSTEMS[1])].concat();
    let pair = SYSTEMS.map(str::to_owned).into();
    let found = comparisons(&both, &[pair], 0.03);
    let said = found.iter().map(|c| percent(c.ratio.value - 1.0));
    assert_eq!(
        said.collect::<Vec<_>>(),
        PRINTED.map(|(_, peaks, ..)| peaks)
    );
}
