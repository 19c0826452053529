//! Instants that can be printed: dates have four digits for the year and begin in 1970.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The last second of the year 9999.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// The nearest instant that has a date. A machine without a battery may start before 1970.
pub fn dated(time: SystemTime) -> SystemTime {
    time.clamp(UNIX_EPOCH, UNIX_EPOCH + LAST)
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
