//! What is said of a comparison to people: tables of verdicts, what qualifies them, and gates.

use super::{
    Compared,
    gate::{Gate, Judged, Outcome, Reason},
    points::{PointName, Points, at},
    sides::{Pair, Subject},
    text::{
        Align::{Left, Right},
        Block, Table,
    },
};
use tailmark_results::{
    Comparison, Metric, Stated, comparison::Verdict, finding::UNEQUAL_CONDITIONS, number,
    statistics::RUNS_MIN,
};

/// A point that is in no comparison.
pub struct LeftOut<'a> {
    /// Of which two.
    pub pair: &'a Pair,
    /// Which one.
    pub point: &'a PointName,
    /// Why.
    pub reason: &'static str,
}

/// The points that only one side has, or of which a run failed.
pub fn left_out<'a>(compared: &'a Compared, points: &'a Points<'_>) -> Vec<LeftOut<'a>> {
    let mut found = Vec::new();
    for pair in &compared.pairs {
        let (a, b) = (&pair.a.label, &pair.b.label);
        let (of_a, of_b) = (points.names(a), points.names(b));
        for point in of_a.union(&of_b).copied() {
            let reason = match (points.get(a, point), points.get(b, point)) {
                (Some(_), None) => "only A has it",
                (None, _) => "only B has it",
                (Some(a), Some(b)) => match (a.are_valid(), b.are_valid()) {
                    (true, true) => continue,
                    (false, true) => "a run of A failed",
                    (true, false) => "a run of B failed",
                    (false, false) => "runs of both failed",
                },
            };
            found.push(LeftOut {
                pair,
                point,
                reason,
            });
        }
    }
    found
}

/// Everything, in the order of reading.
pub fn blocks(compared: &Compared, points: &Points<'_>, gates: &[Gate<'_>]) -> Vec<Block> {
    let mut blocks = vec![Block::Lines(sides(compared))];
    for &metric in &compared.metrics {
        blocks.extend(table(compared, points, metric, false));
    }
    blocks.extend(table(compared, points, Metric::OpsPerSec, true));
    if compared.comparisons.is_empty() {
        let said = "No point was measured of both without a failure: there is nothing to compare.";
        blocks.push(Block::Lines(vec![said.to_owned()]));
    }
    let out: Vec<_> = left_out(compared, points)
        .iter()
        .map(|out| {
            let point = of_pair(compared, out.pair, &out.point.text());
            (format!("{point}: {}", out.reason), Vec::new())
        })
        .collect();
    if !out.is_empty() {
        blocks.push(Block::Heading("Points that are not compared".to_owned()));
        blocks.push(Block::List(out));
    }
    blocks.extend(unequal(compared));
    if !gates.is_empty() {
        let heading = "Gates (one-sided 95 % bounds; p adjusted for all points of a metric)";
        blocks.push(Block::Heading(heading.to_owned()));
        let said = |of| gate(compared, of);
        blocks.push(Block::List(gates.iter().map(said).collect()));
    }
    blocks.push(Block::Lines(vec![about(compared)]));
    blocks
}

fn sides(compared: &Compared) -> Vec<String> {
    let side = |name: &str, of: fn(&Pair) -> &Subject| {
        let first = of(&compared.pairs[0]);
        let systems: Vec<_> = compared
            .pairs
            .iter()
            .map(|p| of(p).system.as_str())
            .collect();
        let study = first.study.display();
        format!(
            "{name}: {} in {study}, \"{}\"",
            number::list(&systems),
            first.title
        )
    };
    let band = number::percent(compared.band);
    vec![
        side("A", |pair| &pair.a),
        format!("{}; the baseline", side("B", |pair| &pair.b)),
        format!("A against B: + is better. Equivalent: within {band} either way."),
    ]
}

/// The comparisons of a metric.
fn table(compared: &Compared, points: &Points<'_>, metric: Metric, is_peak: bool) -> Vec<Block> {
    let comparisons = compared.of_metric(metric, is_peak);
    if comparisons.is_empty() || !compared.metrics.contains(&metric) {
        return Vec::new();
    }
    let mut columns = vec![
        ("workload", Left),
        (if is_peak { "peak at" } else { "at" }, Left),
        ("A", Right),
        ("B", Right),
        ("A against B", Right),
        ("95 % interval", Left),
        ("runs", Right),
        ("p adjusted", Right),
        ("verdict", Left),
    ];
    let has_systems = compared.pairs.len() > 1;
    if has_systems {
        columns.insert(0, ("system", Left));
    }
    let row = |of: &&Comparison| {
        let mut cells = cells(of, points);
        if has_systems {
            let pair = compared.pairs.iter().find(|pair| pair.a.label == of.a);
            cells.insert(0, pair.map_or(String::new(), |pair| pair.a.system.clone()));
        }
        cells
    };
    let rows = comparisons.iter().map(row).collect();
    let heading = if is_peak {
        format!("Peaks of {metric}")
    } else {
        metric.to_string()
    };
    vec![
        Block::Heading(heading),
        Block::Table(Table { columns, rows }),
    ]
}

fn cells(of: &Comparison, points: &Points<'_>) -> Vec<String> {
    let values = points
        .compared(of)
        .map(|runs| runs.map(|runs| runs.center(of.metric)));
    let [a, b] = values.unwrap_or_default().map(|stated| match stated {
        Some(stated) => value(of.metric, stated),
        None => String::new(),
    });
    let interval = match of.interval {
        Some(ends) => interval(of.metric, ends),
        None => "-".to_owned(),
    };
    vec![
        format!("{} {}", of.workload, of.distribution),
        at(of),
        a,
        b,
        improvement(of.metric, of.ratio),
        interval,
        format!("{}, {}", of.runs_a, of.runs_b),
        of.p_adjusted.map_or_else(|| "-".to_owned(), p),
        if of.verdict.is_difference() {
            format!("A is {}", of.verdict.name())
        } else {
            of.verdict.name().to_owned()
        },
    ]
}

fn value(metric: Metric, stated: Stated) -> String {
    match metric {
        Metric::OpsPerSec => number::stated_rate(stated),
        Metric::Latency { .. } => number::stated_latency(stated),
    }
}

/// A ratio as reports say it, but that small percentages have a decimal.
fn improvement(metric: Metric, ratio: Stated) -> String {
    let said = metric.improvement(ratio);
    if said.ends_with('%') && ratio.is_exact() {
        change(metric.gain(ratio).value)
    } else {
        said
    }
}

/// As an improvement from the lower one up.
fn interval(metric: Metric, (low, high): (f64, f64)) -> String {
    let of = |ratio| improvement(metric, Stated::exact(ratio));
    if metric.more_is_better() {
        format!("{} to {}", of(low), of(high))
    } else {
        format!("{} to {}", of(high), of(low))
    }
}

/// A signed percentage, below ten with one decimal: what is judged is often a few percent.
fn change(share: f64) -> String {
    let tenths = (share * 1000.0).round();
    match tenths.abs() {
        0.5..99.5 => {
            let sign = if tenths > 0.0 { '+' } else { '\u{2212}' };
            format!("{sign}{:.1} %", tenths.abs() / 10.0)
        }
        _ => number::change(share),
    }
}

fn p(p: f64) -> String {
    match p {
        ..0.0001 => "<0.0001".to_owned(),
        ..0.0995 => format!("{p:.4}"),
        _ => format!("{p:.2}"),
    }
}

/// The name of a system before what is said of it, where there are several.
fn of_pair(compared: &Compared, pair: &Pair, text: &str) -> String {
    match compared.pairs.len() {
        1 => text.to_owned(),
        _ => format!("{}, {text}", pair.a.system),
    }
}

fn unequal(compared: &Compared) -> Vec<Block> {
    if compared.unequal.is_empty() {
        return Vec::new();
    }
    let line = |(pair, unequal): &(usize, tailmark_results::Inequality)| {
        let text = of_pair(compared, &compared.pairs[*pair], &unequal.to_string());
        let finding = UNEQUAL_CONDITIONS.finding(text);
        (format!("{}: {}", finding.code, finding.text()), Vec::new())
    };
    let heading = "Unequal conditions: A and B differ in more than what is compared";
    vec![
        Block::Heading(heading.to_owned()),
        Block::List(compared.unequal.iter().map(line).collect()),
    ]
}

/// A condition with its outcome, and below it why, at the points that it goes by.
fn gate(compared: &Compared, gate: &Gate<'_>) -> (String, Vec<String>) {
    let all = gate.judged.len();
    let decisive = gate.judged.iter().filter(|j| j.outcome() == gate.outcome);
    let decisive: Vec<_> = decisive.collect();
    let what = if gate.condition.is_of_peaks {
        "peak"
    } else {
        "point"
    };
    let of_all = number::plural(all as u64, what);
    let head = format!("{}: {}", gate.outcome.name(), gate.condition);
    let head = match gate.outcome {
        _ if all == 0 => format!("{head} (no {what} was measured of both)"),
        Outcome::NotShown => format!("{head} (ruled out at {of_all})"),
        _ => format!("{head} (at {} of {of_all})", decisive.len()),
    };
    if gate.outcome == Outcome::NotShown {
        return (head, Vec::new());
    }
    let line = |judged: &&Judged<'_>| {
        let place = match judged.point {
            Some(point) => point.text(),
            None => format!("{} {}, peaks", judged.workload, judged.distribution),
        };
        let place = of_pair(compared, judged.pair, &place);
        format!("{place}: {}", why(gate, judged))
    };
    (head, decisive.iter().map(line).collect())
}

fn why(gate: &Gate<'_>, judged: &Judged<'_>) -> String {
    let repeats = judged.repeats.map(|repeats| repeats.text());
    let metric = gate.condition.metric;
    let found = judged
        .comparison
        .map(|comparison| improvement(metric, comparison.ratio));
    let found = found.unwrap_or_default();
    match (judged.reason, judged.comparison) {
        (Reason::Met, Some(comparison)) => {
            let p = comparison.p_adjusted.map_or_else(String::new, p);
            let interval = comparison.interval.map(|ends| interval(metric, ends));
            format!("{found} ({}), p {p}", interval.unwrap_or_default())
        }
        (Reason::TooFewRuns, Some(comparison)) => {
            let runs = format!("{} and {} runs", comparison.runs_a, comparison.runs_b);
            let needed = repeats.unwrap_or_else(|| format!("{RUNS_MIN} repeats"));
            format!("{found}, but {runs} are too few: {needed} of each are needed")
        }
        (Reason::Noise, Some(comparison)) => {
            let room = room(gate, comparison);
            match repeats {
                Some(repeats) => {
                    format!("{found}, but {room} not ruled out: {repeats} of each are needed")
                }
                None => format!("{found}, but {room} not ruled out: close to what is asked"),
            }
        }
        (Reason::Bound, of) => {
            let (both, why) = match judged.point {
                Some(_) => ("both are", "requests failed, or were due and never done"),
                None => ("both peaks are", "the clients were the limit"),
            };
            match of {
                Some(_) => format!("{found}: only a bound, for {why}"),
                None => format!("{both} lower bounds, for {why}"),
            }
        }
        (Reason::RateNotMet, _) => {
            "the rate was not reached, so that latencies are not compared".to_owned()
        }
        (Reason::UnlikePeaks, _) => format!(
            "{found} as measured: the lower peak is of a system that has no valid point at some \
             thread counts of the other"
        ),
        (Reason::Failed, _) => match judged.point {
            Some(_) => "a run of it failed, so that it is not compared".to_owned(),
            None => "one of them has no peak: its points failed".to_owned(),
        },
        _ => format!("{metric} is not known of every run: too few samples, or none"),
    }
}

/// What the one-sided bounds leave room for.
fn room(gate: &Gate<'_>, comparison: &Comparison) -> String {
    let Some((at_least, at_most)) = comparison.one_sided else {
        return "nothing is".to_owned();
    };
    let metric = gate.condition.metric;
    let of = |ratio| improvement(metric, Stated::exact(ratio));
    let low = gate.condition.low().filter(|low| at_least <= *low);
    let high = gate.condition.high().filter(|high| at_most >= *high);
    match (low, high) {
        (Some(_), Some(_)) => format!("{} and {} are", of(at_least), of(at_most)),
        (Some(_), None) => format!("{} is", of(at_least)),
        _ => format!("{} is", of(at_most)),
    }
}

/// What verdicts are about.
fn about(compared: &Compared) -> String {
    let day = |ms: u64| number::instant(ms).chars().take(10).collect::<String>();
    let days = match compared.began.map(|(first, last)| (day(first), day(last))) {
        Some((first, last)) if first == last => format!("on this day ({first})"),
        Some((first, last)) => format!("on these days ({first} to {last})"),
        None => "on the days of these runs".to_owned(),
    };
    let is_verdict =
        |c: &Comparison| !matches!(c.verdict, Verdict::TooFewRuns | Verdict::NotTestable);
    let subject = if compared.comparisons.iter().any(is_verdict) {
        "Verdicts are"
    } else {
        "There is no verdict; these numbers are"
    };
    format!("{subject} about these devices under this load {days}, not about others of their kind.")
}
