//! The trials of a search: measured latency over offered rate, with the limit.

use super::{axis, log_axis};
use crate::{
    chart::quantised::{quantised, rate},
    style::{self, SystemStyle},
};
use serde_json::{Value, json};
use tailmark_model::Limit;
use tailmark_stats::slo::{Slo, Trial, Verdict};

/// The part that does not depend on measurements.
pub fn base(limit: Limit) -> Value {
    let mut option = super::base();
    option["tooltip"] = json!({"trigger": "item", "formatter": "@offered", "confine": true});
    option["xAxis"] = axis("value", "offered operations per second", 28, "@rate");
    option["xAxis"]["scale"] = true.into();
    option["yAxis"] = axis("log", "latency", 62, "@latency");
    option["yAxis"]["name"] = format!(
        "{} {} latency (log scale)",
        limit.quantile.name,
        limit.kind.name()
    )
    .into();
    option
}

/// The marks of each system. `None` if no trial has a value.
pub fn marks(limit: Limit, searches: &[(SystemStyle, &Slo)]) -> Option<Value> {
    let limit_us = limit.latency.as_nanos() as f64 / 1e3;
    let mut values = vec![limit_us];
    let mut series = Vec::new();
    for (look, slo) in searches {
        let marks = slo.trials.iter().filter_map(|trial| {
            let (us, value) = mark(trial, limit, look.color)?;
            values.push(us);
            Some(value)
        });
        let marks: Vec<Value> = marks.collect();
        let line = if series.is_empty() {
            limit_line(limit, limit_us)
        } else {
            Value::Null
        };
        series.push(json!({
            "type": "scatter", "name": slo.system, "symbol": look.symbol, "symbolSize": 11,
            "itemStyle": {"color": look.color}, "z": 4, "data": marks, "markLine": line,
        }));
    }
    if values.len() == 1 {
        return None;
    }
    Some(json!({"yAxis": log_axis(values.into_iter()), "series": series}))
}

fn mark(trial: &Trial, limit: Limit, color: &str) -> Option<(f64, Value)> {
    let result = trial.limits.iter().find(|result| result.limit == limit)?;
    let us = result.value?.value / 1e3;
    let value = json!([
        trial.rate(),
        quantised(us),
        trial.key.threads,
        rate(trial.ops_per_sec)
    ]);
    // Of a trial that held and is no answer, that.
    let verdict = match trial.verdict {
        Verdict::NotSteady | Verdict::ClientLimit => trial.verdict,
        _ => result.verdict,
    };
    let style = match verdict {
        Verdict::Pass => json!({"color": color}),
        Verdict::Fail | Verdict::ClientLimit => {
            json!({"color": color, "borderColor": style::FAULT, "borderWidth": 3})
        }
        Verdict::Undecided | Verdict::NotSteady => {
            json!({"color": "#fff", "borderColor": color, "borderWidth": 2})
        }
    };
    Some((us, json!({"value": value, "itemStyle": style})))
}

fn limit_line(limit: Limit, us: f64) -> Value {
    json!({
        "symbol": "none", "silent": true,
        "lineStyle": {"color": style::INK, "type": [6, 4], "width": 1.5},
        "label": {"formatter": limit.to_string(), "position": "insideEndTop", "color": style::INK},
        "data": [{"yAxis": us}],
    })
}
