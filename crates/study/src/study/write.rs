//! Writes rows from the model. The caller holds the transaction.

use super::{
    RESPONSE, SERVICE,
    block_row::BlockQosRow,
    bounded::{SYSTEMS_MAX, check_rows, cut_name, cut_text, writable},
    digest, numbers, read,
    read::Keyed,
};
use crate::encoding::encode;
use rusqlite::{Connection, OptionalExtension, Result, named_params, params};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tailmark_model::{
    Arrivals, BlockQos, Bounded, Header, Interval, Kind, Load, Metric, Phase, PlanValue, Point,
    ResolvedRate, Series, StudySettings, Summary, System, Warmup, figures_to_text, qos,
};

/// The group and the name of the fact that says when the load of a data set began.
pub const DATA_SET: &str = "data set";
pub const LOADED: &str = "load began";

pub fn header(c: &Connection, header: &Header) -> Result<()> {
    c.execute(
        "INSERT INTO header (id, title, tailmark, created_ms, source, plan, settings, assumed,
                             study)
         VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            writable(&header.title)?,
            header.tailmark,
            integer(header.created_ms),
            header.source,
            json(&header.plan)?,
            json(&header.settings)?,
            json(&header.assumed)?,
            header.id
        ],
    )?;
    Ok(())
}

/// Sets the keys and the settings of a plan.
pub fn plan(
    c: &Connection,
    plan: &BTreeMap<String, PlanValue>,
    settings: &StudySettings,
) -> Result<()> {
    let sql = "UPDATE header SET plan = ?, settings = ?";
    c.execute(sql, [json(plan)?, json(settings)?]).map(drop)
}

pub fn systems(c: &Connection, systems: &[System]) -> Result<()> {
    for system in systems {
        c.execute(
            "INSERT INTO system (name, driver, place, semantics, settings, ceiling_for)
             VALUES (?, ?, ?, ?, ?, ?)",
            params![
                writable(&system.name)?,
                system.driver,
                system.place,
                system.semantics,
                json(&system.settings)?,
                system.ceiling_for
            ],
        )?;
    }
    check_rows(c, "system", SYSTEMS_MAX)
}

/// Adds a resolved rate, unless one exists.
pub fn resolved_rate(c: &Connection, rate: &ResolvedRate) -> Result<()> {
    c.execute(
        "INSERT INTO resolved_rate (system, workload, distribution, requested, of_system,
                                    peak_ops_per_sec, rate)
         VALUES (?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (system, workload, distribution, requested) DO NOTHING",
        params![
            rate.system,
            rate.workload,
            rate.distribution,
            rate.requested,
            rate.of_system,
            rate.peak_ops_per_sec,
            rate.rate
        ],
    )?;
    Ok(())
}

pub fn load(c: &Connection, load: &Load) -> Result<()> {
    let id = phase(c, &load.phase)?;
    c.execute(
        "INSERT INTO load (phase, system, records, threads) VALUES (?, ?, ?, ?)",
        params![id, load.system, integer(load.records), load.threads],
    )?;
    digest::seal(c, id)
}

/// Removes the last load of a system if it began at this time.
pub fn remove_load(c: &Connection, system: &str, started: &str) -> Result<()> {
    c.execute(
        "DELETE FROM phase WHERE id = (SELECT max(phase) FROM load WHERE system = :system)
         AND EXISTS (SELECT 1 FROM fact WHERE system = :system AND \"group\" = :group
                     AND name = :name AND value = :begun)",
        named_params! {
            ":system": system, ":group": DATA_SET, ":name": LOADED, ":begun": started
        },
    )?;
    Ok(())
}

pub fn point(c: &Connection, keyed: Keyed, point: &Point) -> Result<()> {
    let key = &point.key;
    if let Some(old) = read::phase_of(c, keyed, key)? {
        c.execute("DELETE FROM phase WHERE id = ?", [old])?;
    }
    let id = phase(c, &point.phase)?;
    c.execute(
        "INSERT INTO point (phase, system, workload, distribution, threads, repeat, target_rate,
                            arrivals, is_trial)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            id,
            writable(&key.system)?,
            writable(&key.workload)?,
            key.distribution,
            key.threads,
            key.repeat,
            key.target_rate,
            key.arrivals.map(Arrivals::name),
            keyed.is_trial()
        ],
    )?;
    if let Some(kept) = &point.phase.warmup {
        warmup(c, id, kept)?;
    }
    digest::seal(c, id)
}

/// Writes the warm-up of a point.
fn warmup(c: &Connection, point: i64, warmup: &Warmup) -> Result<()> {
    let id = phase(c, &warmup.phase)?;
    c.execute(
        "UPDATE phase SET warmup_of = ?, steady_s = ?, not_steady = ? WHERE id = ?",
        params![point, warmup.steady_s, warmup.reason, id],
    )?;
    digest::seal(c, id)
}

/// Writes a phase and returns its id, greater than that of every phase before.
fn phase(c: &Connection, phase: &Phase) -> Result<i64> {
    let lag = phase.start_lag.as_ref();
    let causes = lag.and_then(|lag| lag.causes.as_ref());
    let ranks = if phase.ranks.is_empty() {
        None
    } else {
        Some(json(&phase.ranks)?)
    };
    c.execute(
        "INSERT INTO phase (id, started_ms, duration_s, operations, failed, start_lag, counters,
                            drained, censored, lag_no_client, lag_woken_late, ranks,
                            drained_failed, figures)
         VALUES ((SELECT ifnull(max(id), 0) + 1 FROM phase), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            integer(phase.started_ms.unwrap_or(0)),
            phase.duration_s,
            integer(phase.operations),
            integer(phase.failed),
            lag.map(|lag| encode(&lag.all)),
            json(&phase.counters)?,
            integer(phase.drained),
            integer(phase.censored),
            causes.map(|causes| encode(&causes.no_client)),
            causes.map(|causes| encode(&causes.woken_late)),
            ranks,
            integer(phase.drained_failed),
            json(&figures_to_text(&figures(c, phase)?))?
        ],
    )?;
    let id = c.last_insert_rowid();
    totals(c, id, phase)?;
    for interval in &phase.intervals {
        self::interval(c, id, interval)?;
    }
    series(c, id, &phase.series)?;
    Ok(id)
}

fn totals(c: &Connection, id: i64, phase: &Phase) -> Result<()> {
    // Worked out here if the caller did not.
    let block_qos = if phase.block_qos.is_empty() {
        Cow::Owned(qos::block_qos(&phase.intervals))
    } else {
        Cow::Borrowed(&phase.block_qos)
    };
    for (kind, result) in &phase.kinds {
        let censored = result.censored.as_deref();
        c.prepare_cached("INSERT INTO kind VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?
            .execute(params![
                id,
                kind.name(),
                integer(result.count),
                integer(result.not_found),
                integer(result.errors),
                integer(result.bytes),
                encode(&result.service),
                result.response.as_ref().map(encode),
                result.failed.as_ref().map(encode),
                result.failed_response.as_ref().map(encode),
                censored.map(|ages| encode(&ages.service)),
                censored.map(|ages| encode(&ages.response)),
                block_rows(&block_qos, *kind)?,
                integer(result.drained_bytes)
            ])?;
        for (time, summary) in [
            (SERVICE, &result.summary),
            (RESPONSE, &result.response_summary),
        ] {
            for (name, ns) in summary.iter().flat_map(Summary::rows) {
                c.prepare_cached("INSERT INTO summary VALUES (?, ?, ?, ?, ?)")?
                    .execute(params![id, kind.name(), time, name, ns])?;
            }
        }
    }
    for error in &phase.errors {
        c.prepare_cached("INSERT INTO error VALUES (?, ?, ?, ?, ?)")?
            .execute(params![
                id,
                error.kind.name(),
                cut_name(&error.cause),
                integer(error.count),
                cut_text(&error.example)
            ])?;
    }
    for finding in &phase.findings {
        let evidence = (!finding.evidence.is_empty()).then(|| json(&finding.evidence));
        c.prepare_cached("INSERT INTO finding VALUES (?, ?, ?, ?)")?
            .execute(params![
                id,
                finding.code,
                cut_text(&finding.wording),
                evidence.transpose()?
            ])?;
    }
    Ok(())
}

/// The quantiles over blocks of a kind; `None` if there are none.
fn block_rows(all: &[BlockQos], kind: Kind) -> Result<Option<String>> {
    let own = all.iter().filter(|blocks| blocks.kind == kind);
    let own: Vec<BlockQosRow> = own.map(BlockQosRow::from).collect();
    (!own.is_empty()).then(|| json(&own)).transpose()
}

fn interval(c: &Connection, phase: i64, interval: &Interval) -> Result<()> {
    c.prepare_cached(
        "INSERT INTO interval (phase, start_s, length_s, operations, failed)
         VALUES (?, ?, ?, ?, ?)",
    )?
    .execute(params![
        phase,
        interval.start_s,
        interval.length_s,
        integer(interval.operations),
        integer(interval.failed)
    ])?;
    let id = c.last_insert_rowid();
    let mut insert = c.prepare_cached("INSERT INTO interval_kind VALUES (?, ?, ?, ?, ?, ?)")?;
    for (kind, measured) in &interval.kinds {
        insert.execute(params![
            id,
            kind.name(),
            integer(measured.count),
            integer(measured.errors),
            measured.service.as_bytes(),
            measured
                .response
                .as_ref()
                .map(tailmark_model::Packed::as_bytes)
        ])?;
    }
    Ok(())
}

/// Writes series; instants that several of them share are written once.
fn series(c: &Connection, phase: i64, series: &[Series]) -> Result<()> {
    let mut ticks: Vec<(&[f64], i64)> = Vec::new();
    for one in series {
        let known = ticks
            .iter()
            .find(|(at_s, _)| *at_s == one.at_s)
            .map(|(_, id)| *id);
        let tick = if let Some(id) = known {
            id
        } else {
            c.prepare_cached("INSERT INTO tick (phase, at_s) VALUES (?, ?)")?
                .execute(params![phase, numbers::encode(&one.at_s)])?;
            ticks.push((&one.at_s, c.last_insert_rowid()));
            c.last_insert_rowid()
        };
        c.prepare_cached("INSERT INTO series VALUES (?, ?, ?, ?, ?, ?, ?)")?
            .execute(params![
                phase,
                tick,
                one.probe,
                cut_name(&one.subject),
                cut_name(&one.name),
                one.kind.name(),
                numbers::encode(&one.values)
            ])?;
    }
    Ok(())
}

/// The metrics of a phase's series. A phase read from a study already has them. A part that is sent
/// between processes has no study with a known data set.
fn figures(c: &Connection, phase: &Phase) -> Result<BTreeMap<Metric, Bounded>> {
    let kept = phase.kept_figures();
    if !kept.is_empty() {
        return Ok(kept);
    }
    let header = read::header(c).optional()?;
    Ok(header.map_or_else(BTreeMap::new, |header| {
        phase.sampled_figures(header.value_bytes())
    }))
}

/// SQLite's integers are signed: a count above 2^63 would appear negative in the file.
const fn integer(count: u64) -> i64 {
    count.cast_signed()
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}
