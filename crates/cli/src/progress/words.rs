//! The line about a measured point or trial.

use std::time::Duration;
use tailmark_model::{Kind, Metric, Phase, STATISTICS, SloSettings, Statistic, number};
use tailmark_plan::Plan;
use tailmark_stats::slo::{Next, Slo, Trial};

/// The result of a search's last trial, and what follows: the bracket, the next rate and the
/// remaining time, or the answer.
pub fn searched(slo: &Slo, settings: &SloSettings) -> Vec<String> {
    let name = format!("[slo] {} {}", slo.system, slo.workload);
    let last = slo.trials.last().map_or_else(String::new, Trial::text);
    match slo.next(settings) {
        Next::Try { rate, .. } => {
            let left = settings.time.saturating_sub(slo.took());
            let left = number::rounded(Duration::from_secs(left.as_secs()));
            let (bracket, next) = (slo.bracket_text(), number::rate(rate));
            vec![format!(
                "{name}: {last}; {bracket}, next {next}, {left} left at most"
            )]
        }
        Next::Done(answer) => {
            let quick = if settings.quick { ", quick search" } else { "" };
            let missed = slo.background_text();
            let missed = missed.map_or_else(String::new, |missed| format!("; {missed}"));
            let (target, rates, remark) = (settings.target(), answer.rates(), answer.remark());
            vec![
                format!("{name}: {last}"),
                format!("{name}: {target}: {rates} ({remark}{quick}{missed})"),
            ]
        }
    }
}

/// The result of a point: `12,345 ops/s, p99.9 read 1.23 ms, 2 findings`. The metric is that of the
/// study; a point without it states the p99 of the kind that it sent most often.
pub fn measured(phase: &Phase, of_study: Option<Metric>) -> String {
    let mut said = vec![number::ops(phase.ops_per_sec())];
    // The pair of a read-modify-write has no more to tell than its two halves.
    let kinds = phase.kinds.iter().rev();
    let kinds = kinds.filter(|(kind, _)| **kind != Kind::ReadModifyWrite);
    let main = kinds.max_by_key(|(_, result)| result.count);
    let main = main.map(|(kind, _)| Metric::from_latency(*kind, Statistic::P99));
    let stated = of_study.into_iter().chain(main);
    let stated = stated.filter_map(|metric| Some((metric, metric.value(phase)?)));
    if let Some((metric, value)) = { stated }.next() {
        said.push(format!(
            "{metric} {}",
            metric.text_with_unit(value, &phase.money.currency)
        ));
    }
    if phase.censored > 0 {
        let never = number::plural(phase.censored, "operation");
        said.push(format!("{never} never done"));
    }
    if phase.errors() > 0 {
        said.push(failed(phase.errors()));
    }
    if phase.failed > 0 {
        let share = number::percent(phase.error_share());
        said.push(format!(
            "{share} failed, {}",
            number::ops(phase.errors_per_sec())
        ));
    }
    if !phase.findings.is_empty() {
        said.push(number::plural(phase.findings.len() as u64, "finding"));
    }
    said.join(", ")
}

/// A line of at most that many columns about a point: if it is too long, its name is shortened, and
/// then what comes last.
pub fn fitted(count: &str, name: &str, result: &str, columns: usize) -> String {
    /// No name is shorter.
    const NAME_MIN: usize = 16;
    let width = |text: &str| text.chars().count();
    let cut = |text: &str, most: usize| {
        if width(text) <= most {
            text.to_owned()
        } else {
            let kept = text.chars().take(most.saturating_sub(1));
            kept.chain(['…']).collect()
        }
    };
    let rest = width(count) + width(result) + " : ".len();
    let name = cut(name, columns.saturating_sub(rest).max(NAME_MIN));
    cut(&format!("{count} {name}: {result}"), columns)
}

/// The metric that the report of a plan is about; without one, that of the first limit to search
/// for.
pub fn metric_of(plan: &Plan) -> Option<Metric> {
    let limit = plan.slo.as_ref().and_then(|slo| slo.latency.first());
    let of_limit = limit.and_then(|limit| {
        let mut all = STATISTICS.into_iter();
        let statistic = all.find(|own: &Statistic| own.quantile == Some(limit.quantile))?;
        Some(Metric::from_latency(limit.kind, statistic))
    });
    plan.report.metric.or(of_limit)
}

/// The number of failed requests: `no errors`.
pub fn failed(errors: u64) -> String {
    match errors {
        0 => "no errors".to_owned(),
        errors => number::plural(errors, "error"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_model::{Censored, KindResult};

    #[test]
    fn the_line_of_a_point_says_what_is_a_lower_bound() {
        let mut censored = Censored::default();
        censored.service.record_n(84_000_000, 198).unwrap();
        censored.response.record_n(84_000_000, 198).unwrap();
        let mut read = KindResult {
            count: 802,
            censored: Some(Box::new(censored)),
            ..KindResult::default()
        };
        read.service.record_n(1_000_000, 802).unwrap();
        let phase = Phase {
            duration_s: 1.0,
            operations: 802,
            censored: 198,
            kinds: [(Kind::Read, read)].into(),
            ..Phase::default()
        };
        assert_eq!(
            measured(&phase, None),
            "802 ops/s, p99 read ≥ 83.9 ms, 198 operations never done"
        );
    }

    #[test]
    fn the_line_of_a_point_has_the_metric_of_the_study() {
        let mut kinds = std::collections::BTreeMap::new();
        for (kind, count, ns) in [
            (Kind::Read, 90_000, 1_000_000),
            (Kind::Update, 110_000, 2_000_000),
        ] {
            let mut result = KindResult {
                count,
                ..KindResult::default()
            };
            result.service.record_n(ns, count).unwrap();
            kinds.insert(kind, result);
        }
        let phase = Phase {
            duration_s: 1.0,
            operations: 200_000,
            kinds,
            ..Phase::default()
        };
        let line = |metric: &str| measured(&phase, Metric::from_name(metric));
        assert_eq!(line("p99.9 read"), "200,000 ops/s, p99.9 read 1.00 ms");
        // Neither scans nor this figure are in it: the kind that was sent most.
        for metric in ["p99 scan", "write_amplification", ""] {
            assert_eq!(line(metric), "200,000 ops/s, p99 update 2.00 ms");
        }
    }

    #[test]
    fn a_line_about_a_point_fits_in_80_columns() {
        let result = "12,345 ops/s, p99.99 read 1.23 ms, 2 findings";
        let short = fitted("[3/12]", "disk ycsb-a zipfian, 4 threads", result, 90);
        assert_eq!(
            short,
            format!("[3/12] disk ycsb-a zipfian, 4 threads: {result}")
        );
        let name = "a drive with a long name ycsb-a zipfian, 16 threads, repeat 4";
        let line = fitted("[3/12]", name, result, 80);
        assert_eq!(line, format!("[3/12] a drive with a long name …: {result}"));
        assert_eq!(line.chars().count(), 80);
        let failed = "12,345 ops/s, 1,234 operations never done, 99 errors, 0.5 % failed, 2 ops/s";
        let cut = fitted("[3/12]", name, failed, 80);
        assert_eq!(cut.chars().count(), 80);
        assert!(
            cut.starts_with("[3/12] a drive with a …: 12,345 ops/s, "),
            "{cut}"
        );
    }
}
