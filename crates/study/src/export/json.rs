//! The study as one JSON document; `docs/export.schema.json` says what is in it.

mod anatomy;
mod document;
mod slo;

use super::{
    Format,
    comparison::{comparison_json, comparisons_of, pairs_of},
    figures_known, numbers, operations_and_seconds, timestamp, us,
};
use crate::{Error, Study};
use anatomy::anatomy_json;
use document::Document;
use serde_json::{Map, Value, json};
use slo::slo_json;
use std::{collections::BTreeMap, io::Write};
use tailmark_model::{
    Arrivals, BlockQos, BlockValue, DeviceBandwidth, ErrorCount, Fact, Finding, Header, Interval,
    IntervalKind, KindResult, Latencies, Load, Metric, Packed, Phase, Point, Qos, RankedLatencies,
    System, TimeBasis, Warmup, finding::UNEQUAL_CONDITIONS,
};
use tailmark_stats::{
    Conditions, Run,
    comparison::RunsRead,
    scaling::{Curves, SystemScaling},
};

/// The version of the document's schema.
const VERSION: u32 = 4;

pub const FORMAT: Format = Format {
    name: "json",
    about: "one JSON document with everything in the study",
    write,
};

/// Writes member by member and point by point: the intervals and series of a long study do not fit
/// into memory together.
fn write(study: &Study, out: &mut dyn Write) -> Result<(), Error> {
    let header = study.header()?;
    let (allowed, systems, facts) = (
        header.settings.rules.allow_errors,
        study.systems()?,
        study.facts()?,
    );
    let mut document = Document::begin(out)?;
    document.member("version", &VERSION.into())?;
    document.member("study", &header.id.as_str().into())?;
    document.member("title", &header.title.as_str().into())?;
    document.member("tailmark", &header.tailmark.as_str().into())?;
    document.member("created_at", &timestamp(header.created_ms).into())?;
    document.member("plan", &json!(header.plan_texts()))?;
    document.member("assumed", &json!(header.assumed))?;
    document.member("systems", &systems.iter().map(system).collect())?;
    document.member("facts", &json!(facts))?;
    document.member("notices", &json!(study.notices()?))?;
    let mut loads = document.list("loads")?;
    study.each_load(|loaded| loads.element(&load(&loaded, &header)))?;
    loads.end()?;
    document.member("resolved_rates", &json!(study.resolved_rates()?))?;
    let (mut runs, mut first_runs) = (Vec::new(), BTreeMap::new());
    let (mut curves, mut read) = (Curves::default(), RunsRead::default());
    let mut points = document.list("points")?;
    study.each_point(|measured| {
        if read.is_new(&measured) {
            runs.push(Run::from_point(&measured, header.settings.rules));
            curves.add(&measured, allowed);
        }
        if let Some(ms) = measured.phase.started_ms {
            let first = first_runs.entry(measured.key.system.clone()).or_insert(ms);
            *first = ms.min(*first);
        }
        points.element(&point(&measured, &header))
    })?;
    points.end()?;
    document.member("slo", &slo_json(study)?.into())?;
    let mut anatomies = document.list("anatomy")?;
    study.each_anatomy(|own, found| anatomies.element(&anatomy_json(&own, &found)))?;
    anatomies.end()?;
    let comparisons = comparisons_of(&runs, &systems, &header);
    document.member(
        "comparisons",
        &comparisons.iter().map(comparison_json).collect(),
    )?;
    document.member("scaling", &curves.laws().iter().map(scaling).collect())?;
    document.member(
        "unequal",
        &unequal((&header, &systems, &facts), &first_runs, &runs).into(),
    )?;
    document.end()
}

/// The conditions that two systems that are compared differ in; `first_runs` has when the first
/// point of each began.
fn unequal(
    (header, systems, facts): (&Header, &[System], &[Fact]),
    first_runs: &BTreeMap<String, u64>,
    runs: &[Run],
) -> Vec<Value> {
    let conditions = |name: &str| {
        let system = systems.iter().find(|system| system.name == name)?;
        let first_run = Some(*first_runs.get(name)?);
        let mut conditions = Conditions::new(Some(header), system, facts, first_run);
        for run in runs.iter().filter(|run| run.key.system == name) {
            conditions.add_run(&run.into());
        }
        Some(conditions)
    };
    let mut unequal = Vec::new();
    for (a, b) in pairs_of(systems) {
        let Some((of_a, of_b)) = conditions(&a).zip(conditions(&b)) else {
            continue;
        };
        unequal.extend(of_a.unequal(&of_b, false).into_iter().map(|condition| {
            json!({
                "code": UNEQUAL_CONDITIONS.name,
                "a": a,
                "b": b,
                "condition": condition.name,
                "value_a": condition.a,
                "value_b": condition.b,
            })
        }));
    }
    unequal
}

fn scaling(law: &SystemScaling) -> Value {
    json!({
        "system": law.system,
        "workload": law.workload,
        "distribution": law.distribution,
        "threads_max": law.threads_max,
        "lambda": law.scaling.lambda,
        "sigma": law.scaling.sigma,
        "kappa": law.scaling.kappa,
        "r_squared": law.scaling.explained,
        "peak_threads": law.scaling.peak_threads(),
    })
}

fn system(system: &System) -> Value {
    json!({
        "name": system.name,
        "driver": system.driver,
        "place": system.place,
        "semantics": system.semantics,
        "settings": system.settings,
        "ceiling_for": system.ceiling_for,
    })
}

fn load(load: &Load, header: &Header) -> Value {
    let head = json!({
        "system": load.system,
        "records": load.records,
        "threads": load.threads,
    });
    joined(head, phase(&load.phase, header))
}

fn point(point: &Point, header: &Header) -> Value {
    let head = json!({
        "system": point.key.system,
        "workload": point.key.workload,
        "distribution": point.key.distribution,
        "threads": point.key.clients(),
        "repeat": point.key.repeat,
        "target_rate": point.key.target_rate,
        "arrivals": point.key.arrivals.map(Arrivals::name),
        "warmup": point.phase.warmup.as_deref().map(warmup),
        "figures_known": figures_known(&point.phase, header),
    });
    joined(head, phase(&point.phase, header))
}

fn warmup(warmup: &Warmup) -> Value {
    json!({
        "length_s": warmup.length_s(),
        "steady_s": warmup.steady_s,
        "reason": warmup.reason,
    })
}

fn phase(phase: &Phase, header: &Header) -> Value {
    let value = |metric: Metric| metric.value(phase).map(|bounded| bounded.value);
    let derived = Metric::figures().map(|metric| (metric.row().name, value(metric)));
    let ends = Metric::figures().filter_map(|metric| {
        let bounded = metric.value(phase).filter(|known| !known.is_exact())?;
        let (low, high) = (bounded.low(), bounded.high());
        let ends = json!({
            "at_least": Some(low).filter(|low| *low > 0.0),
            "at_most": Some(high).filter(|high| high.is_finite()),
        });
        Some((metric.row().name, ends))
    });
    let known = operations_and_seconds(phase);
    let lag = phase.start_lag.as_ref();
    let causes = lag.and_then(|lag| lag.causes.as_ref());
    json!({
        "started_at": phase.started_ms.map(timestamp),
        "duration_s": known.map(|(_, seconds)| seconds),
        "operations": known.map(|(operations, _)| operations),
        "failed_operations": phase.failed,
        "drained_operations": phase.drained,
        "censored_operations": phase.censored,
        "ops_per_sec": phase.ops_per_sec(),
        "errors_per_sec": phase.errors_per_sec(),
        "valid": phase.fault(header.settings.rules.allow_errors).is_none(),
        "errors": phase.errors(),
        "errors_by_cause": phase.errors.iter().map(error).collect::<Vec<_>>(),
        "findings": phase.findings.iter().map(finding).collect::<Vec<_>>(),
        "start_lag_us": lag.map(|lag| latency(RankedLatencies::new(&lag.all))),
        "start_lag_no_client_us": causes.map(|causes| counted(&causes.no_client)),
        "start_lag_woken_late_us": causes.map(|causes| counted(&causes.woken_late)),
        "kinds": phase.kinds.iter().map(|(k, r)| (k.name(), kind(r))).collect::<BTreeMap<_, _>>(),
        "qos": qos(phase),
        "bandwidth": bandwidth(phase),
        "derived": derived.collect::<BTreeMap<_, _>>(),
        "currency": Some(&phase.money.currency).filter(|name| !name.is_empty()),
        "derived_bounds": ends.collect::<BTreeMap<_, _>>(),
        "counters": phase.counters,
        "intervals": phase.intervals.iter().map(interval).collect::<Vec<_>>(),
        "series": phase.series,
        "ranks": phase.ranks,
    })
}

fn bandwidth(phase: &Phase) -> Value {
    let all = phase.bandwidth();
    let device = |(name, own): &(&str, DeviceBandwidth)| {
        json!({
            "device": name,
            "read_mb_per_sec": own.read,
            "written_mb_per_sec": own.written,
        })
    };
    json!({
        "devices": phase.device_bandwidths().iter().map(device).collect::<Vec<_>>(),
        "device_read_mb_per_sec": all.device.map(|bandwidth| bandwidth.read),
        "device_written_mb_per_sec": all.device.map(|bandwidth| bandwidth.written),
        "database_mb_per_sec": all.database,
    })
}

fn interval(interval: &Interval) -> Value {
    let kinds = interval.kinds.iter();
    json!({
        "start_s": interval.start_s,
        "length_s": interval.length_s,
        "operations": interval.operations,
        "failed_operations": interval.failed,
        "kinds": kinds.map(|(k, result)| (k.name(), interval_kind(result))).collect::<BTreeMap<_, _>>(),
    })
}

fn interval_kind(result: &IntervalKind) -> Value {
    let latency = |packed: &Packed| latency(result.known(&packed.unpack()));
    let service = latency(&result.service);
    let response = result.response.as_ref().map(latency);
    json!({
        "count": result.count,
        "errors": result.errors,
        "service_us": service,
        "response_us": response.as_ref().unwrap_or(&service),
    })
}

/// The quality of service by kind and by the instant from which it is timed: of the whole run, and
/// of its blocks.
fn qos(phase: &Phase) -> Value {
    let qualities = |kind, time| {
        phase
            .qos(kind, time)
            .iter()
            .map(quality)
            .collect::<Vec<_>>()
    };
    let kinds = phase.kinds.keys().map(|&kind| {
        let times = json!({
            "service": qualities(kind, TimeBasis::Service),
            "response": qualities(kind, TimeBasis::Response),
        });
        (kind.name(), times)
    });
    json!(kinds.collect::<BTreeMap<_, _>>())
}

fn quality(qos: &Qos<'_>) -> Value {
    json!({
        "quantile": qos.quantile.name,
        "run_us": qos.run.map(|run| us(run.value)),
        "run_is_at_least": qos.run.is_some_and(|run| !run.is_exact()),
        "solid": qos.is_solid,
        "blocks": qos.blocks.map(blocks),
    })
}

fn blocks(blocks: &BlockQos) -> Value {
    let value = |value: BlockValue| {
        json!({
            "us": us(value.ns as f64),
            "is_at_least": value.is_at_least,
            "start_s": value.start_s,
        })
    };
    json!({
        "count": blocks.blocks,
        "samples_min": blocks.samples_min,
        "solid": blocks.is_solid(),
        "worst": value(blocks.worst),
        "median": value(blocks.median),
        "best": value(blocks.best),
    })
}

fn error(error: &ErrorCount) -> Value {
    json!({
        "kind": error.kind.name(),
        "cause": error.cause,
        "count": error.count,
        "example": error.example,
    })
}

fn finding(finding: &Finding) -> Value {
    json!({ "code": finding.code, "text": finding.text(), "evidence": finding.evidence })
}

fn kind(result: &KindResult) -> Value {
    json!({
        "count": result.count,
        "not_found": result.not_found,
        "errors": result.errors,
        "bytes": result.bytes,
        "censored": result.ranked_response().censored(),
        "service_us": latency(result.ranked_service()),
        "response_us": latency(result.ranked_response()),
        "failed_us": result.failed.as_ref().map(RankedLatencies::new).map(latency),
        "only_summary": matches!(result.ranked_service(), RankedLatencies::Summary { .. }),
    })
}

/// A latency and its number of samples.
fn counted(latencies: &Latencies) -> Value {
    let count = json!({ "count": latencies.len() });
    joined(count, latency(RankedLatencies::new(latencies)))
}

/// Microseconds. Unknown values, and those with too few samples, are null. `at_least` names lower
/// bounds, if there are any.
fn latency(known: RankedLatencies<'_>) -> Value {
    let mut map = Map::new();
    if let RankedLatencies::Summary { numbers, .. } = known {
        map.extend(
            numbers
                .numbers()
                .map(|(name, ns)| (name.to_owned(), json!(us(ns)))),
        );
    }
    let mut at_least = Vec::new();
    for (name, bounded) in numbers(known) {
        map.insert(name.to_owned(), json!(bounded.map(|ns| us(ns.value))));
        if bounded.is_some_and(|ns| !ns.is_exact()) {
            at_least.push(name);
        }
    }
    if !at_least.is_empty() {
        map.insert("at_least".to_owned(), json!(at_least));
    }
    map.into()
}

/// One object with the members of both, in this order.
fn joined(mut head: Value, tail: Value) -> Value {
    if let (Some(head), Value::Object(tail)) = (head.as_object_mut(), tail) {
        head.extend(tail);
    }
    head
}
