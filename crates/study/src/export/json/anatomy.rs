//! Points whose requests were taken apart, as JSON.

use serde_json::{Map, Value, json};
use tailmark_model::{
    Anatomy, Arrivals, Point,
    anatomy::{Band, Request},
};

/// One of them. Times of parts are by the names of the parts.
pub fn anatomy_json(point: &Point, anatomy: &Anatomy) -> Value {
    let key = &point.key;
    let kinds = anatomy.kinds.iter().map(|(kind, own)| {
        let request = |one: &Request| request(anatomy, one);
        let found = json!({
            "timed": own.timed,
            "lost": own.lost,
            "bands": own.bands.iter().map(|one| band(anatomy, one)).collect::<Vec<_>>(),
            "slowest": own.slowest.iter().map(request).collect::<Vec<_>>(),
            "sample": own.sample.iter().map(request).collect::<Vec<_>>(),
        });
        (kind.name().to_owned(), found)
    });
    json!({
        "system": key.system,
        "workload": key.workload,
        "distribution": key.distribution,
        "threads": key.clients(),
        "target_rate": key.target_rate,
        "arrivals": key.arrivals.map(Arrivals::name),
        "every": anatomy.every,
        "ops_per_sec": anatomy.ops_per_sec,
        "ordinary_ops_per_sec": anatomy.ordinary_ops_per_sec,
        "parts": anatomy.parts,
        "kinds": kinds.collect::<Map<_, _>>(),
    })
}

fn band(anatomy: &Anatomy, band: &Band) -> Value {
    json!({
        "above": band.above,
        "up_to": band.up_to,
        "requests": band.requests,
        "parts_ns": parts(anatomy, &band.ns),
    })
}

fn request(anatomy: &Anatomy, request: &Request) -> Value {
    json!({
        "due_ns": request.due,
        "sent_ns": request.sent,
        "done_ns": request.done,
        "interval": request.interval(),
        "client": request.client,
        "key": request.key,
        "blocks": request.blocks,
        "cache_hits": request.cache_hits,
        "parts_ns": parts(anatomy, &request.ns),
    })
}

/// The parts that took any time.
fn parts(anatomy: &Anatomy, ns: &[u64]) -> Map<String, Value> {
    let own = anatomy.parts.iter().zip(ns).filter(|(_, ns)| **ns > 0);
    own.map(|(part, time)| (part.name.clone(), json!(time)))
        .collect()
}
