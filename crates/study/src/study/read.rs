//! Reads rows into the model. The caller holds the transaction.

use super::{
    Detail, RESPONSE, SERVICE,
    block_row::BlockQosRow,
    bounded::{
        FACTS_MAX, NOTICES_MAX, SYSTEMS_MAX, TEXT_MAX, amount, at_most, check_rows, count,
        instant_ms, name, seconds, text,
    },
    digest, numbers,
};
use crate::encoding::decode;
use rusqlite::{Connection, Error, OptionalExtension, Params, Result, Row, params, types::Type};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use tailmark_model::{
    Arrivals, BlockQos, Bounded, Censored, Damaged, ErrorCount, Fact, Finding, Header, Interval,
    IntervalKind, Kind, KindResult, LagCauses, Latencies, Load, Metric, Packed, Phase, Point,
    PointKey, RankPart, ResolvedRate, Series, SeriesKind, StartLag, StudySettings, Summary, System,
    Warmup, figures_from_text, finding, interval::without_gaps, observation,
};

pub fn header(c: &Connection) -> Result<Header> {
    let sql = "SELECT title, tailmark, created_ms, source, plan, settings, assumed, study
               FROM header";
    c.query_row(sql, [], |row| {
        Ok(Header {
            id: row.get(7)?,
            title: name(row, 0)?,
            tailmark: name(row, 1)?,
            created_ms: instant_ms(row, 2)?,
            source: text(row, 3)?,
            plan: json(row, 4)?,
            settings: json(row, 5)?,
            assumed: json(row, 6)?,
        })
    })
}

pub fn systems(c: &Connection) -> Result<Vec<System>> {
    check_rows(c, "system", SYSTEMS_MAX)?;
    let sql = "SELECT name, driver, place, semantics, settings, ceiling_for FROM system
               ORDER BY position";
    rows(c, sql, [], |row| {
        Ok(System {
            name: name(row, 0)?,
            driver: name(row, 1)?,
            place: text(row, 2)?,
            semantics: name(row, 3)?,
            settings: json(row, 4)?,
            ceiling_for: unless_null(row, 5, name)?,
        })
    })
}

pub fn facts(c: &Connection) -> Result<Vec<Fact>> {
    check_rows(c, "fact", FACTS_MAX)?;
    let sql = "SELECT system, \"group\", name, value FROM fact ORDER BY position";
    rows(c, sql, [], |row| {
        Ok(Fact {
            system: unless_null(row, 0, name)?,
            group: name(row, 1)?,
            name: name(row, 2)?,
            value: text(row, 3)?,
        })
    })
}

pub fn notices(c: &Connection) -> Result<Vec<String>> {
    check_rows(c, "notice", NOTICES_MAX)?;
    rows(c, "SELECT text FROM notice ORDER BY position", [], |row| {
        text(row, 0)
    })
}

pub fn loads(c: &Connection, detail: Detail) -> Result<Vec<Load>> {
    let sql = "SELECT phase, system, records, threads FROM load ORDER BY phase";
    rows(c, sql, [], |row| load(c, row, detail))
}

/// From a row of phase, system, records and threads.
fn load(c: &Connection, row: &Row<'_>, detail: Detail) -> Result<Load> {
    Ok(Load {
        system: name(row, 1)?,
        records: count(row, 2)?,
        threads: row.get(3)?,
        phase: phase(c, row.get(0)?, detail)?,
    })
}

/// The next load after that of a phase, completely, with its own phase.
pub fn load_after(c: &Connection, phase_before: i64) -> Result<Option<(i64, Load)>> {
    let sql = "SELECT phase, system, records, threads FROM load WHERE phase > ?
               ORDER BY phase LIMIT 1";
    let next = rows(c, sql, [phase_before], |row| {
        Ok((row.get(0)?, load(c, row, Detail::Whole)?))
    })?;
    Ok(next.into_iter().next())
}

pub fn points(c: &Connection, detail: Detail) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    each_point(c, detail, |point| points.push(point))?;
    Ok(points)
}

/// Reads one point after the other, so that no more than one of them is in memory here.
pub fn each_point(c: &Connection, detail: Detail, mut act: impl FnMut(Point)) -> Result<()> {
    let costs = costs(c)?;
    for (id, key) in keys(c, Keyed::Point)? {
        let mut phase = phase(c, id, detail)?;
        phase.set_stated_figures(&costs.cost(&key.system));
        act(Point { key, phase });
    }
    Ok(())
}

pub fn point(c: &Connection, keyed: Keyed, key: &PointKey) -> Result<Option<Point>> {
    let Some(id) = phase_of(c, keyed, key)? else {
        return Ok(None);
    };
    let mut phase = phase(c, id, Detail::Whole)?;
    phase.set_stated_figures(&costs(c)?.cost(&key.system));
    Ok(Some(Point {
        key: key.clone(),
        phase,
    }))
}

/// The settings that have what the plan states of its systems' prices; the default without a
/// header.
fn costs(c: &Connection) -> Result<StudySettings> {
    let sql = "SELECT settings FROM header";
    let settings = c.query_row(sql, [], |row| json(row, 0)).optional()?;
    Ok(settings.unwrap_or_default())
}

/// The sorts of keyed phases: points of a sweep, and those that are in no curve: trials of a search,
/// and points whose requests are taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keyed {
    Point,
    Trial,
    Anatomy,
}

impl Keyed {
    /// The value of the column `is_trial`.
    pub const fn is_trial(self) -> Option<i64> {
        match self {
            Self::Point => None,
            Self::Trial => Some(1),
            Self::Anatomy => Some(2),
        }
    }
}

/// Every key of a kind with the id of its phase.
pub fn keys(c: &Connection, keyed: Keyed) -> Result<Vec<(i64, PointKey)>> {
    let sql = "SELECT phase, system, workload, distribution, threads, repeat, target_rate, arrivals
               FROM point WHERE is_trial IS ? ORDER BY phase";
    rows(c, sql, [keyed.is_trial()], |row| {
        let key = PointKey {
            system: name(row, 1)?,
            workload: name(row, 2)?,
            distribution: name(row, 3)?,
            threads: row.get(4)?,
            repeat: row.get(5)?,
            target_rate: unless_null(row, 6, amount)?,
            arrivals: word(row, 7)?,
        };
        Ok((row.get(0)?, key))
    })
}

/// The id of the phase with a key, if it exists. The index is not used: the digest covers the row
/// itself, and a flipped bit in the index would lead to another point's phase.
pub fn phase_of(c: &Connection, keyed: Keyed, key: &PointKey) -> Result<Option<i64>> {
    let sql = "SELECT phase FROM point NOT INDEXED WHERE system = ? AND workload = ?
               AND distribution = ? AND threads = ? AND repeat = ? AND target_rate IS ?
               AND arrivals IS ? AND is_trial IS ?";
    c.prepare_cached(sql)?
        .query_row(
            params![
                key.system,
                key.workload,
                key.distribution,
                key.threads,
                key.repeat,
                key.target_rate,
                key.arrivals.map(Arrivals::name),
                keyed.is_trial()
            ],
            |row| row.get(0),
        )
        .optional()
}

/// What percentages came to, in the order in which they were worked out.
pub fn resolved_rates(c: &Connection) -> Result<Vec<ResolvedRate>> {
    let sql = "SELECT system, workload, distribution, requested, of_system, peak_ops_per_sec, rate
               FROM resolved_rate ORDER BY position";
    rows(c, sql, [], |row| {
        Ok(ResolvedRate {
            system: name(row, 0)?,
            workload: name(row, 1)?,
            distribution: name(row, 2)?,
            requested: name(row, 3)?,
            of_system: name(row, 4)?,
            peak_ops_per_sec: amount(row, 5)?,
            rate: amount(row, 6)?,
        })
    })
}

/// The warm-up of a point, given the id of its phase.
fn warmup(c: &Connection, point: i64, detail: Detail) -> Result<Option<Box<Warmup>>> {
    let sql = "SELECT id, steady_s, not_steady FROM phase WHERE warmup_of = ?";
    let kept = rows(c, sql, [point], |row| {
        Ok(Box::new(Warmup {
            phase: phase_alone(c, row.get(0)?, detail)?,
            steady_s: unless_null(row, 1, seconds)?,
            reason: unless_null(row, 2, name)?,
        }))
    })?;
    Ok(kept.into_iter().next())
}

fn phase(c: &Connection, id: i64, detail: Detail) -> Result<Phase> {
    Ok(Phase {
        warmup: warmup(c, id, detail)?,
        ..phase_alone(c, id, detail)?
    })
}

/// Without its warm-up.
fn phase_alone(c: &Connection, id: i64, detail: Detail) -> Result<Phase> {
    digest::verify(c, id, detail == Detail::Whole)?;
    let sql = "SELECT started_ms, duration_s, operations, start_lag, counters, failed, drained,
                      censored, lag_no_client, lag_woken_late, ranks, drained_failed,
                      figures
               FROM phase WHERE id = ?";
    let mut phase = c.prepare_cached(sql)?.query_row([id], |row| {
        Ok(Phase {
            started_ms: Some(instant_ms(row, 0)?).filter(|&ms| ms > 0),
            duration_s: seconds(row, 1)?,
            operations: count(row, 2)?,
            start_lag: start_lag(row)?,
            counters: json(row, 4)?,
            failed: count(row, 5)?,
            drained: count(row, 6)?,
            censored: count(row, 7)?,
            ranks: ranks(row)?,
            drained_failed: count(row, 11)?,
            figures: figures(row)?,
            ..Phase::default()
        })
    })?;
    phase.kinds = kinds(c, id)?;
    phase.errors = errors(c, id)?;
    phase.findings = findings(c, id)?;
    phase.block_qos = block_qos(c, id)?;
    if detail == Detail::Whole {
        phase.intervals = intervals(c, id)?;
        phase.series = series(c, id)?;
    }
    Ok(phase)
}

/// From the row of a phase.
fn figures(row: &Row<'_>) -> Result<BTreeMap<Metric, Bounded>> {
    Ok(figures_from_text(&json(row, 12)?))
}

/// The ranks in the row of a phase; empty for a single process.
fn ranks(row: &Row<'_>) -> Result<Vec<RankPart>> {
    Ok(unless_null(row, 10, json)?.unwrap_or_default())
}

/// From the row of a phase.
fn start_lag(row: &Row<'_>) -> Result<Option<StartLag>> {
    let causes = latencies(row, 8)?.zip(latencies(row, 9)?);
    let causes = causes.map(|(no_client, woken_late)| LagCauses {
        no_client,
        woken_late,
    });
    Ok(latencies(row, 3)?.map(|all| StartLag { all, causes }))
}

fn kinds(c: &Connection, phase: i64) -> Result<BTreeMap<Kind, KindResult>> {
    let sql = "SELECT kind, count, not_found, errors, bytes, service, response, failed,
                      censored_service, censored_response, drained_bytes, failed_response
               FROM kind WHERE phase = ?";
    let mut summaries = summaries(c, phase)?;
    let kinds = rows(c, sql, [phase], |row| {
        let kind = word(row, 0)?;
        let ages = latencies(row, 8)?.zip(latencies(row, 9)?);
        let result = KindResult {
            count: count(row, 1)?,
            not_found: count(row, 2)?,
            errors: count(row, 3)?,
            bytes: count(row, 4)?,
            drained_bytes: count(row, 10)?,
            service: decoded(row, 5, decode)?,
            response: latencies(row, 6)?,
            failed: latencies(row, 7)?,
            failed_response: latencies(row, 11)?,
            censored: ages.map(|(service, response)| Box::new(Censored { service, response })),
            summary: summaries.remove(&(kind, SERVICE.to_owned())),
            response_summary: summaries.remove(&(kind, RESPONSE.to_owned())),
        };
        Ok((kind, result))
    })?;
    Ok(kinds.into_iter().collect())
}

/// Summaries by kind and time.
fn summaries(c: &Connection, phase: i64) -> Result<BTreeMap<(Kind, String), Summary>> {
    let mut summaries: BTreeMap<_, Summary> = BTreeMap::new();
    let sql = "SELECT kind, time, name, ns FROM summary WHERE phase = ?";
    let numbers = rows(c, sql, [phase], |row| {
        let column = (word(row, 0)?, name(row, 1)?);
        Ok((column, name(row, 2)?, amount(row, 3)?))
    })?;
    for (column, name, ns) in numbers {
        summaries.entry(column).or_default().set(name, ns);
    }
    Ok(summaries)
}

fn errors(c: &Connection, phase: i64) -> Result<Vec<ErrorCount>> {
    let sql = "SELECT kind, cause, count, example FROM error WHERE phase = ? ORDER BY rowid";
    rows(c, sql, [phase], |row| {
        Ok(ErrorCount {
            kind: word(row, 0)?,
            cause: name(row, 1)?,
            count: count(row, 2)?,
            example: text(row, 3)?,
        })
    })
}

fn findings(c: &Connection, phase: i64) -> Result<Vec<Finding>> {
    let sql = "SELECT code, text, evidence FROM finding WHERE phase = ? ORDER BY rowid";
    rows(c, sql, [phase], |row| {
        let evidence: Vec<_> = unless_null(row, 2, json)?.unwrap_or_default();
        observation::check(&evidence).map_err(|damaged_by| damaged(2, Type::Text, damaged_by))?;
        Ok(finding::known(Finding {
            code: name(row, 0)?,
            wording: text(row, 1)?,
            evidence,
        }))
    })
}

/// Quantiles over blocks.
fn block_qos(c: &Connection, phase: i64) -> Result<Vec<BlockQos>> {
    let sql = "SELECT kind, block_qos FROM kind WHERE phase = ? ORDER BY rowid";
    let of_kinds = rows(c, sql, [phase], |row| {
        let kind: Kind = word(row, 0)?;
        let kept: Vec<BlockQosRow> = unless_null(row, 1, json)?.unwrap_or_default();
        let known = kept.into_iter().map(|blocks| blocks.into_qos(kind));
        let known: Option<Vec<BlockQos>> = known.collect();
        known.ok_or_else(|| damaged(1, Type::Text, Damaged { what: "a quantile" }))
    })?;
    Ok(of_kinds.into_iter().flatten().collect())
}

fn intervals(c: &Connection, phase: i64) -> Result<Vec<Interval>> {
    let sql = "SELECT id, start_s, length_s, operations, failed FROM interval
               WHERE phase = ? ORDER BY id";
    let intervals = rows(c, sql, [phase], |row| {
        Ok(Interval {
            start_s: seconds(row, 1)?,
            length_s: seconds(row, 2)?,
            operations: count(row, 3)?,
            failed: count(row, 4)?,
            kinds: interval_kinds(c, row.get(0)?)?,
        })
    })?;
    // An import leaves out the seconds in which nothing was done.
    Ok(without_gaps(intervals))
}

fn interval_kinds(c: &Connection, interval: i64) -> Result<BTreeMap<Kind, IntervalKind>> {
    let sql = "SELECT kind, count, errors, service, response FROM interval_kind WHERE interval = ?";
    let kinds = rows(c, sql, [interval], |row| {
        let measured = IntervalKind {
            count: count(row, 1)?,
            errors: count(row, 2)?,
            service: decoded(row, 3, Packed::from_bytes)?,
            response: optional(row, 4, Packed::from_bytes)?,
        };
        Ok((word(row, 0)?, measured))
    })?;
    Ok(kinds.into_iter().collect())
}

fn series(c: &Connection, phase: i64) -> Result<Vec<Series>> {
    let ticks_sql = "SELECT id, at_s FROM tick WHERE phase = ?";
    let ticks: BTreeMap<i64, Vec<f64>> = rows(c, ticks_sql, [phase], |row| {
        Ok((row.get(0)?, decoded(row, 1, numbers::decode)?))
    })?
    .into_iter()
    .collect();
    let sql = "SELECT tick, probe, subject, name, kind, \"values\" FROM series WHERE phase = ?
               ORDER BY rowid";
    rows(c, sql, [phase], |row| {
        Ok(Series {
            at_s: ticks.get(&row.get(0)?).cloned().unwrap_or_default(),
            probe: name(row, 1)?,
            subject: name(row, 2)?,
            name: name(row, 3)?,
            kind: word::<SeriesKind>(row, 4)?,
            values: decoded(row, 5, numbers::decode)?,
        })
    })
}

pub fn rows<T>(
    c: &Connection,
    sql: &str,
    params: impl Params,
    row: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    c.prepare_cached(sql)?.query_map(params, row)?.collect()
}

fn latencies(row: &Row<'_>, column: usize) -> Result<Option<Latencies>> {
    optional(row, column, decode)
}

pub fn decoded<T>(
    row: &Row<'_>,
    column: usize,
    decode: impl FnOnce(&[u8]) -> std::result::Result<T, Damaged>,
) -> Result<T> {
    let bytes = row
        .get_ref(column)?
        .as_blob()
        .map_err(|e| damaged(column, Type::Blob, e))?;
    decode(bytes).map_err(|e| damaged(column, Type::Blob, e))
}

fn optional<T>(
    row: &Row<'_>,
    column: usize,
    decode: impl FnOnce(&[u8]) -> std::result::Result<T, Damaged>,
) -> Result<Option<T>> {
    unless_null(row, column, |row, column| decoded(row, column, decode))
}

fn unless_null<T>(
    row: &Row<'_>,
    column: usize,
    read: impl FnOnce(&Row<'_>, usize) -> Result<T>,
) -> Result<Option<T>> {
    match row.get_ref(column)?.data_type() {
        Type::Null => Ok(None),
        _ => read(row, column).map(Some),
    }
}

/// A map or a list, kept as JSON text.
fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    serde_json::from_str(at_most(row, column, TEXT_MAX)?)
        .map_err(|e| damaged(column, Type::Text, e))
}

/// A word of an enum; null if `None` is allowed.
fn word<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T> {
    serde_json::from_value(unless_null(row, column, name)?.into())
        .map_err(|e| damaged(column, Type::Text, e))
}

fn damaged(
    column: usize,
    kind: Type,
    source: impl std::error::Error + Send + Sync + 'static,
) -> Error {
    Error::FromSqlConversionFailure(column, kind, Box::new(source))
}
