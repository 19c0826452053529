//! How effective values are written.

use std::time::Duration;

/// Items separated by commas; `None` if there are none.
pub(super) fn joined(items: &[impl ToString]) -> Option<String> {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    (!items.is_empty()).then(|| items.join(", "))
}

/// A time: `1m 30s`.
pub(super) fn time(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}
