//! A comparison as one JSON document; `docs/CLI.md` describes it.

use super::{
    Verdicts,
    gate::{Gate, Judged, Reason, Repeats},
    sides::{Pair, Subject},
};
use serde_json::{Value, json};
use tailmark_model::{Bounded, PointName, finding::UNEQUAL_CONDITIONS};
use tailmark_stats::statistics::SIGNIFICANCE;
use tailmark_study::export::{bound_name, comparison_json};

/// The version of the document's schema.
const VERSION: u32 = 1;

/// The document.
pub fn document(verdicts: &Verdicts) -> Value {
    let shown = |c: &&tailmark_stats::Comparison| verdicts.metrics.contains(&c.metric);
    let comparisons = verdicts.comparisons.iter().filter(shown);
    let side = |side: fn(&Pair) -> &Subject| verdicts.pairs.iter().map(side).map(subject);
    let skipped = verdicts.skipped().into_iter().map(|out| {
        json!({
            "a": out.pair.a.label,
            "b": out.pair.b.label,
            "workload": out.point.workload,
            "distribution": out.point.distribution,
            "threads": out.point.threads,
            "rate": out.point.target_rate(),
            "reason": out.reason,
        })
    });
    let unlike = verdicts.unlike_money().into_iter().map(|unlike| {
        let [a, b] = unlike.runs.map(|runs| runs.center(unlike.metric));
        let value = |known: Option<Bounded>| known.map(|known| known.value);
        let bound = |known: Option<Bounded>| known.map(|known| bound_name(known.bound));
        json!({
            "a": unlike.pair.a.label,
            "b": unlike.pair.b.label,
            "workload": unlike.point.workload,
            "distribution": unlike.point.distribution,
            "threads": unlike.point.threads,
            "rate": unlike.point.target_rate(),
            "metric": unlike.metric.to_string(),
            "value_a": value(a),
            "value_b": value(b),
            "bound_a": bound(a),
            "bound_b": bound(b),
            "currency_a": unlike.runs[0].currency(),
            "currency_b": unlike.runs[1].currency(),
            "energy_of_a": unlike.runs[0].energy_of(),
            "energy_of_b": unlike.runs[1].energy_of(),
        })
    });
    let unequal = verdicts.unequal.iter().map(|(pair, unequal)| {
        let pair = &verdicts.pairs[*pair];
        json!({
            "code": UNEQUAL_CONDITIONS.name,
            "a": pair.a.label,
            "b": pair.b.label,
            "condition": unequal.name,
            "value_a": unequal.a,
            "value_b": unequal.b,
        })
    });
    json!({
        "version": VERSION,
        "a": side(|pair| &pair.a).collect::<Vec<_>>(),
        "b": side(|pair| &pair.b).collect::<Vec<_>>(),
        "equivalence": verdicts.band,
        "significance": SIGNIFICANCE,
        "comparisons": comparisons.map(comparison_json).collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
        "unlike_money": unlike.collect::<Vec<_>>(),
        "unequal": unequal.collect::<Vec<_>>(),
        "gates": verdicts.gates.iter().map(gate).collect::<Vec<_>>(),
    })
}

fn subject(subject: &Subject) -> Value {
    json!({
        "name": subject.label,
        "system": subject.system,
        "study": subject.study.display().to_string(),
        "title": subject.title,
    })
}

fn gate(gate: &Gate) -> Value {
    json!({
        "condition": gate.condition.to_string(),
        "outcome": gate.outcome.name().to_lowercase(),
        "points": gate.judged.iter().map(judged).collect::<Vec<_>>(),
    })
}

fn judged(judged: &Judged) -> Value {
    let compared = judged.comparison.as_ref();
    let ends = compared.and_then(|comparison| comparison.one_sided);
    json!({
        "a": judged.pair.a.label,
        "b": judged.pair.b.label,
        "workload": judged.workload,
        "distribution": judged.distribution,
        "threads": judged.point.as_ref().map(|point| point.threads),
        "rate": judged.point.as_ref().and_then(PointName::target_rate),
        "place": if judged.point.is_some() { "point" } else { "peak" },
        "outcome": judged.outcome().name().to_lowercase(),
        "reason": match judged.reason {
            Reason::Met => "met",
            Reason::Disturbed => "disturbed",
            Reason::RuledOut => "ruled out",
            Reason::Hidden => "hidden",
            Reason::Noise => "noise",
            Reason::TooFewRuns => "too few runs",
            Reason::NoNoise => "no noise",
            Reason::Bound | Reason::UnlikePeaks => "not testable",
            Reason::UnlikeMoney => "unlike money",
            Reason::RateNotMet => "rate not met",
            Reason::Failed => "failed",
            Reason::Unknown => "not known",
        },
        "ratio": compared.map(|comparison| comparison.ratio.value),
        "at_least": ends.map(|(at_least, _)| at_least),
        "at_most": ends.map(|(_, at_most)| at_most),
        "p_adjusted": compared.and_then(|comparison| comparison.p_adjusted),
        "repeats_needed": judged.repeats.and_then(|repeats| match repeats {
            Repeats::About(count) => Some(count),
            Repeats::More => None,
        }),
        "disturbances": judged.disturbances.iter().map(|found| json!({
            "code": found.code,
            "runs_a": found.runs_a,
            "runs_b": found.runs_b,
        })).collect::<Vec<_>>(),
    })
}
