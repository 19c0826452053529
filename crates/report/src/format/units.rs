//! Numbers stay with their units at the ends of lines.

/// The units that follow a number after a space.
const UNITS: &[&str] = &[
    "%", "ns", "us", "ms", "s", "min", "h", "ops/s", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB",
    "TiB", "kB/s", "MB/s", "GB/s", "W", "thread", "threads",
];

/// The text with no-break spaces between numbers and their units.
#[must_use]
pub fn unbroken(text: &str) -> String {
    let mut said = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(' ') {
        said.push_str(before);
        let is_end = |c: char| c == ' ' || c == '\u{a0}' || c == '\n' || ",.;:)".contains(c);
        let unit = after.split(is_end).next().unwrap_or_default();
        let is_number = before.ends_with(|c: char| c.is_ascii_digit());
        let joins = is_number && UNITS.contains(&unit);
        said.push(if joins { '\u{a0}' } else { ' ' });
        rest = after;
    }
    said.push_str(rest);
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_and_its_unit_stay_together() {
        let text = "At 40,000 ops/s, A is 19 % lower (12.7 ms against 5.2 s; 4 runs at 8 threads).";
        assert_eq!(
            unbroken(text).replace('\u{a0}', "_"),
            "At 40,000_ops/s, A is 19_% lower (12.7_ms against 5.2_s; 4 runs at 8_threads)."
        );
        assert_eq!(unbroken("Drive 7 so"), "Drive 7 so");
        assert_eq!(unbroken("  "), "  ");
    }
}
