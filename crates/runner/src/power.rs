//! Power that is measured beside a phase: of the idle system, and by a wall meter that writes a log.

use crate::capture::{Capture, Watched};
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    thread,
    time::{Duration, Instant},
};
use tailmark_driver::Database;
use tailmark_engine::{Sampler, Stop};
use tailmark_model::{POWER_LOG, Phase, SERVER_POWER, Series, SeriesKind};

/// How often idle power is sampled.
const TICK: Duration = Duration::from_secs(1);
/// How often a stop is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// The most that is read of a log, from its end: about two days of one row a second.
const LOG_MAX: u64 = 4 << 20;
/// From this number on, a time is in milliseconds since 1970.
const MILLISECONDS_FROM: f64 = 1e11;

/// Idle power: what the sensors read while the database is open and no client runs.
pub fn idle(
    watched: Watched,
    system: &str,
    database: &dyn Database,
    time: Duration,
    stop: &Stop,
) -> Vec<Series> {
    let mut capture = Capture::open(&watched.of_power_alone(), system, database);
    let began = Instant::now();
    let now_s = || began.elapsed().as_secs_f64();
    let mut next = Duration::ZERO;
    while began.elapsed() < time && !stop.requested() {
        if began.elapsed() >= next {
            capture.sample(&now_s, false);
            next += TICK;
        }
        thread::sleep(LOOK.min(time.saturating_sub(began.elapsed())));
    }
    capture.sample(&now_s, true);
    let idle = Phase {
        duration_s: now_s(),
        series: capture.into_series(),
        ..Phase::default()
    };
    idle.idle_series()
}

/// The rows of a meter's log during a phase. Without any, the reason.
pub fn of_log(log: &Path, phase: &Phase) -> Result<Series, String> {
    let failed = |why: String| format!("power log `{}`: {why}", log.display());
    let text = tail(log).map_err(|error| failed(error.to_string()))?;
    let start_s = phase.started_ms.unwrap_or_default() as f64 / 1e3;
    let rows = text.lines().filter_map(row);
    let rows = rows.map(|(at_s, watts)| (at_s - start_s, watts));
    let within = rows.filter(|(at_s, _)| (0.0..=phase.duration_s).contains(at_s));
    let (at_s, values): (Vec<f64>, Vec<f64>) = within.unzip();
    if values.is_empty() {
        return Err(failed("it has no row from the time of a point".to_owned()));
    }
    Ok(Series {
        probe: POWER_LOG.to_owned(),
        subject: "meter".to_owned(),
        name: SERVER_POWER.to_owned(),
        kind: SeriesKind::Gauge,
        at_s,
        values,
    })
}

/// The end of a file, from the beginning of a line on.
fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let skipped = file.metadata()?.len().saturating_sub(LOG_MAX);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(LOG_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if skipped == 0 {
        return Ok(text);
    }
    let whole = text.split_once('\n').map(|(_, whole)| whole.to_owned());
    Ok(whole.unwrap_or_default())
}

/// A row: seconds since 1970, and watts. `None` for a heading and a row that is not complete.
fn row(line: &str) -> Option<(f64, f64)> {
    let mut cells = line
        .split([',', ';'])
        .map(|cell| cell.trim().trim_matches('"'));
    let (time, watts) = (cells.next()?, cells.next()?);
    let watts: f64 = watts.parse().ok()?;
    let is_power = watts.is_finite() && watts >= 0.0;
    is_power.then_some((seconds(time)?, watts))
}

/// A time as seconds since 1970: seconds, milliseconds, or RFC 3339 in UTC.
fn seconds(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        let seconds = if number >= MILLISECONDS_FROM {
            number / 1e3
        } else {
            number
        };
        return Some(seconds).filter(|seconds| seconds.is_finite());
    }
    let time = humantime::parse_rfc3339_weak(text).ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn joined(log: &str) -> Result<Series, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("meter.csv");
        fs::write(&path, log).unwrap();
        let phase = Phase {
            started_ms: Some(1_764_000_000_000),
            duration_s: 10.0,
            ..Phase::default()
        };
        of_log(&path, &phase)
    }

    #[test]
    fn rows_of_a_meter_are_joined_by_time() {
        let log = "time,watts,volts\n1763999999,900,230\n1764000000.5,210,230\n\
                   2025-11-24T16:00:04Z,\"220\"\n1764000009000;230\n1764000011,900\n17640000";
        let series = joined(log).unwrap();
        assert_eq!(series.at_s, [0.5, 4.0, 9.0]);
        assert_eq!(series.values, [210.0, 220.0, 230.0]);
        let phase = Phase {
            duration_s: 10.0,
            series: vec![series],
            ..Phase::default()
        };
        assert_eq!(phase.watts(tailmark_model::PowerOf::Server), Some(220.0));
    }

    #[test]
    fn a_log_without_rows_of_the_point_says_so() {
        let why = joined("time,watts\n1763999999,900\n").unwrap_err();
        assert!(
            why.ends_with("it has no row from the time of a point"),
            "{why}"
        );
        let missing = of_log(Path::new("/nowhere/meter.csv"), &Phase::default());
        assert!(missing.unwrap_err().contains("No such file"));
    }

    #[test]
    fn of_a_long_log_the_end_is_read() {
        let old = "1700000000,1\n".repeat(LOG_MAX as usize / 13 + 1000);
        let series = joined(&format!("{old}1764000001,42\n")).unwrap();
        assert_eq!(series.values, [42.0]);
    }
}
