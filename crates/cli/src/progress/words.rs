//! The line about a measured point or trial.

use std::time::Duration;
use tailmark_model::{Kind, Phase, SloSettings, number, quantile::P99};
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
            let (target, rates, remark) = (settings.target(), answer.rates(), answer.remark());
            vec![
                format!("{name}: {last}"),
                format!("{name}: {target}: {rates} ({remark}{quick})"),
            ]
        }
    }
}

/// The result of a point: `12,345 ops/s, read p99 1.23 ms, no errors`.
pub fn measured(phase: &Phase) -> String {
    let mut said = vec![number::ops(phase.ops_per_sec())];
    for (kind, result) in &phase.kinds {
        // The pair of a read-modify-write says what its two halves say.
        if *kind == Kind::ReadModifyWrite {
            continue;
        }
        if let Some(p99) = result.ranked_response().quantile(P99) {
            let p99 = number::bounded_latency(p99);
            said.push(format!("{} p99 {p99}", kind.name()));
        }
    }
    if phase.censored > 0 {
        let never = number::plural(phase.censored, "operation");
        said.push(format!("{never} never done"));
    }
    said.push(failed(phase.errors()));
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
            measured(&phase),
            "802 ops/s, read p99 ≥ 83.9 ms, 198 operations never done, no errors"
        );
    }
}
