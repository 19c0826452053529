//! Power that is measured beside a phase: of the idle system, and by a wall meter that writes a log.

use crate::capture::{Capture, Watched};
use std::{
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    thread,
    time::{Duration, Instant},
};
use tailmark_driver::Database;
use tailmark_engine::{Sampler, Stop};
use tailmark_model::{POWER_LOG, Phase, SERVER_POWER, Series, SeriesKind, number};

/// How often idle power is sampled.
const TICK: Duration = Duration::from_secs(1);
/// How often a stop is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// The most that is read of a log, from its end: about two days of one row a second.
const LOG_MAX: u64 = 4 << 20;
/// More than any server draws.
const WATTS_MAX: f64 = 1e6;
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
    let mut rows: Vec<(f64, f64)> = text.lines().filter_map(row).collect();
    // A meter whose clock was set writes earlier times after later ones.
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [first, last] = match rows[..] {
        [first, .., last] => [first.0, last.0],
        [only] => [only.0; 2],
        [] => {
            let why = "no row has a time (seconds, or RFC 3339 with its zone) and watts";
            return Err(failed(why.to_owned()));
        }
    };
    let rows = rows
        .into_iter()
        .map(|(at_s, watts)| (at_s - start_s, watts));
    let within = rows.filter(|(at_s, _)| (0.0..=phase.duration_s).contains(at_s));
    let (at_s, values): (Vec<f64>, Vec<f64>) = within.unzip();
    if values.is_empty() {
        let [first, last] = [first, last].map(|s| number::instant((s * 1e3).max(0.0) as u64));
        return Err(failed(format!(
            "it has no row from the time of a point; its rows are from {first} to {last}"
        )));
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
    let mut file = tailmark_driver::open_file(path)?;
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

/// A row: seconds since 1970, and watts. `None` for a heading and a row that is not complete. If
/// semicolons or tabs separate its cells, a comma is a decimal point.
fn row(line: &str) -> Option<(f64, f64)> {
    let line = line.trim_start_matches('\u{feff}');
    let separators: &[char] = if line.contains([';', '\t']) {
        &[';', '\t']
    } else {
        &[',']
    };
    let cells = line.split(separators);
    let mut cells = cells.map(|cell| cell.trim().trim_matches('"'));
    let (time, watts) = (cells.next()?, cells.next()?);
    let watts: f64 = watts.replace(',', ".").parse().ok()?;
    let is_power = (0.0..=WATTS_MAX).contains(&watts);
    is_power.then_some((seconds(time)?, watts))
}

/// A time as seconds since 1970: seconds, milliseconds, or RFC 3339. A time without its zone is
/// none: it could be any of 24 hours.
fn seconds(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        let seconds = if number >= MILLISECONDS_FROM {
            number / 1e3
        } else {
            number
        };
        return Some(seconds).filter(|seconds| seconds.is_finite());
    }
    let (time, ahead_s) = match text.strip_suffix(['Z', 'z']) {
        Some(time) => (time, 0.0),
        None => {
            let (time, zone) = text.split_at_checked(text.len().checked_sub(6)?)?;
            (time, zone_s(zone)?)
        }
    };
    let time = humantime::parse_rfc3339_weak(time).ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(since.as_secs_f64() - ahead_s)
}

/// Seconds by which a zone such as `+02:00` is ahead of UTC.
fn zone_s(zone: &str) -> Option<f64> {
    let (sign, time) = match zone.strip_prefix('+') {
        Some(time) => (1.0, time),
        None => (-1.0, zone.strip_prefix('-')?),
    };
    let (hours, minutes) = time.split_once(':')?;
    let number = |text: &str| {
        let is_whole = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u8>().ok().filter(|_| is_whole)
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let is_zone = hours < 24 && minutes < 60;
    is_zone.then(|| sign * (f64::from(hours) * 3_600.0 + f64::from(minutes) * 60.0))
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
        // Linear between them: 0.5 s of 210 W, 3.5 s of 215, 5 s of 225 and 1 s of 230 on average.
        assert_eq!(phase.watts(tailmark_model::PowerOf::Server), Some(221.25));
    }

    #[test]
    fn a_log_without_rows_of_the_point_says_so() {
        let why = joined("time,watts\n1763999999,900\n").unwrap_err();
        let expected = "it has no row from the time of a point; its rows are from \
                        2025-11-24 15:59 UTC to 2025-11-24 15:59 UTC";
        assert!(why.ends_with(expected), "{why}");
        let missing = of_log(Path::new("/nowhere/meter.csv"), &Phase::default());
        assert!(missing.unwrap_err().contains("No such file"));
    }

    #[test]
    fn times_are_joined_whatever_their_zone_and_without_one_not_at_all() {
        // The hour that a clock in Berlin shows twice is two hours by its zones.
        let log = "time;watts\n2025-11-24T17:00:01+01:00;210,5\n2025-11-24 10:30:02-05:30;220\n\
                   2025-11-24T16:00:03.5Z;230\n2025-11-24T16:00:04;900\n\
                   2025-11-24T18:00:05+02:00\t240\n";
        let series = joined(log).unwrap();
        assert_eq!(series.at_s, [1.0, 2.0, 3.5, 5.0]);
        assert_eq!(series.values, [210.5, 220.0, 230.0, 240.0]);
        let twice = ["2025-10-26T02:30:00+02:00", "2025-10-26T02:30:00+01:00"].map(seconds);
        assert_eq!(twice[1].unwrap() - twice[0].unwrap(), 3_600.0);
        let why = joined("2025-11-24T16:00:04,900\n").unwrap_err();
        assert!(why.contains("RFC 3339 with its zone"), "{why}");
    }

    #[test]
    fn a_hostile_log_gives_no_power_and_a_reason() {
        let utf_16: String = "1764000001,20\n".chars().flat_map(|c| [c, '\0']).collect();
        let long_line = "9".repeat(LOG_MAX as usize + 10);
        for log in [
            "",
            "time,watts\n",
            "1764000001,nan\n1764000002,inf\n1764000003,-5\n1764000004,1e300\n",
            "nan,20\ninf,20\n2025-11-24T16:00:04+99:99,20\n+02:00,20\n€€,20\n",
            &utf_16,
            &long_line,
        ] {
            let why = joined(log).unwrap_err();
            assert!(why.contains("no row has a time"), "{why}");
        }
        // Rows in any order are joined in the order of time.
        let turned = joined("1764000009,30\n1764000001,10\n1764000005,20\n").unwrap();
        assert_eq!(
            (turned.at_s, turned.values),
            (vec![1.0, 5.0, 9.0], vec![10.0, 20.0, 30.0])
        );
    }

    #[test]
    fn a_pipe_is_no_log_and_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("meter");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        let other = "it is a pipe or a device, and not a regular file";
        for (path, expected) in [
            (pipe.as_path(), other),
            (dir.path(), "is a directory"),
            (Path::new("/dev/zero"), other),
        ] {
            let why = of_log(path, &Phase::default()).unwrap_err();
            assert!(why.ends_with(expected), "{why}");
        }
    }

    #[test]
    fn of_a_long_log_the_end_is_read() {
        let old = "1700000000,1\n".repeat(LOG_MAX as usize / 13 + 1000);
        let series = joined(&format!("{old}1764000001,42\n")).unwrap();
        assert_eq!(series.values, [42.0]);
    }
}
