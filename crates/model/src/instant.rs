//! Instants since 1970, and those that can be printed: dates have four digits for the year.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The last millisecond of the year 9999, the last that RFC 3339 can express.
pub const INSTANT_MAX_MS: u64 = 253_402_300_799_999;

/// The time since 1970 UTC; none on a machine whose clock is earlier.
pub fn since_1970() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default()
}

/// Milliseconds since 1970 UTC.
pub fn unix_ms() -> u64 {
    u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
}

/// The instant that many milliseconds after 1970 UTC, at most [`INSTANT_MAX_MS`].
pub fn at_ms(ms: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(ms.min(INSTANT_MAX_MS))
}

/// The nearest instant that has a date. A machine without a battery may start before 1970.
pub fn dated(time: SystemTime) -> SystemTime {
    time.clamp(UNIX_EPOCH, at_ms(INSTANT_MAX_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instant_has_a_date() {
        let year = Duration::from_secs(365 * 86_400);
        let text = |time| humantime::format_rfc3339_seconds(dated(time)).to_string();
        assert_eq!(text(UNIX_EPOCH - year), "1970-01-01T00:00:00Z");
        assert_eq!(text(UNIX_EPOCH + year), "1971-01-01T00:00:00Z");
        assert_eq!(text(UNIX_EPOCH + 9_000 * year), "9999-12-31T23:59:59Z");
    }
}
