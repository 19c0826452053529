//! The study as one JSON document; `docs/EXPORT.md` says what is in it.

use super::{Format, failed, timestamp, us};
use crate::{
    Error, ErrorCount, Finding, KindResult, Known, Load, Phase, Point, QUANTILES, Study, Summary,
    System,
};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, io::Write};

/// The version of the document's schema.
const VERSION: u32 = 2;

pub const FORMAT: Format = Format {
    name: "json",
    about: "one JSON document: systems, facts, loads and points",
    write,
};

fn write(study: &Study, out: &mut dyn Write) -> Result<(), Error> {
    let document = document(study)?;
    serde_json::to_writer_pretty(&mut *out, &document).map_err(failed(FORMAT.name))?;
    writeln!(out).map_err(failed(FORMAT.name))
}

fn document(study: &Study) -> Result<Value, Error> {
    let header = study.header()?;
    let allowed = header.allow_errors();
    Ok(json!({
        "version": VERSION,
        "title": header.title,
        "tailmark": header.tailmark,
        "created_at": timestamp(header.created_ms),
        "plan": header.plan,
        "assumed": header.assumed,
        "systems": study.systems()?.iter().map(system).collect::<Vec<_>>(),
        "facts": study.facts()?,
        "notices": study.notices()?,
        "loads": study.load_totals()?.iter().map(|l| load(l, allowed)).collect::<Vec<_>>(),
        "points": study.point_totals()?.iter().map(|p| point(p, allowed)).collect::<Vec<_>>(),
    }))
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

fn load(load: &Load, allowed: f64) -> Value {
    let head = json!({
        "system": load.system,
        "records": load.records,
        "threads": load.threads,
    });
    joined(head, phase(&load.phase, allowed))
}

fn point(point: &Point, allowed: f64) -> Value {
    let head = json!({
        "system": point.key.system,
        "workload": point.key.workload,
        "distribution": point.key.distribution,
        "threads": point.key.threads,
        "repeat": point.key.repeat,
        "target_rate": point.key.target_rate,
    });
    joined(head, phase(&point.phase, allowed))
}

fn phase(phase: &Phase, allowed: f64) -> Value {
    json!({
        "started_at": phase.started_ms.map(timestamp),
        "duration_s": phase.duration_s,
        "operations": phase.operations,
        "failed_operations": phase.failed,
        "ops_per_sec": phase.ops_per_sec(),
        "errors_per_sec": phase.errors_per_sec(),
        "valid": phase.fault(allowed).is_none(),
        "errors": phase.errors(),
        "errors_by_cause": phase.errors.iter().map(error).collect::<Vec<_>>(),
        "findings": phase.findings.iter().map(finding).collect::<Vec<_>>(),
        "start_lag_us": phase.start_lag.as_ref().map(|lag| latency(Known::Histogram(&lag.all))),
        "kinds": phase.kinds.iter().map(|(k, r)| (k.name(), kind(r))).collect::<BTreeMap<_, _>>(),
        "counters": phase.counters,
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
    json!({ "code": finding.code, "text": finding.text })
}

fn kind(result: &KindResult) -> Value {
    json!({
        "count": result.count,
        "not_found": result.not_found,
        "errors": result.errors,
        "bytes": result.bytes,
        "service_us": latency(result.known_service()),
        "response_us": latency(result.known_response()),
        "failed_us": result.failed.as_ref().map(Known::Histogram).map(latency),
        "only_summary": matches!(result.known_service(), Known::Summary { .. }),
    })
}

/// Microseconds; what has too few samples, or is not known, is null.
fn latency(known: Known<'_>) -> Value {
    let mut map = Map::new();
    if let Known::Summary { numbers, .. } = known {
        map.extend(
            numbers
                .numbers()
                .map(|(name, ns)| (name.to_owned(), json!(us(ns)))),
        );
    }
    let mut put = |name: &str, ns: Option<f64>| map.insert(name.to_owned(), json!(ns.map(us)));
    put(Summary::MEAN, known.mean());
    put(Summary::MIN, known.min());
    for quantile in QUANTILES {
        put(quantile.name, known.quantile(quantile));
    }
    put(Summary::MAX, known.max());
    map.into()
}

/// One object with the members of both, in this order.
fn joined(mut head: Value, tail: Value) -> Value {
    if let (Some(head), Value::Object(tail)) = (head.as_object_mut(), tail) {
        head.extend(tail);
    }
    head
}
