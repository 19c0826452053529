//! Numbers as people read them: thousands separated, three digits of a latency, whole percent.

/// `42,012`; below 100 with one decimal.
pub fn rate(value: f64) -> String {
    if value < 99.95 {
        format!("{value:.1}")
    } else {
        count(value.round() as u64)
    }
}

/// `250,000,000`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A latency in nanoseconds with three digits and the unit that suits it: `843 ns`, `1.23 ms`.
pub fn latency(ns: f64) -> String {
    let (value, unit) = match ns {
        v if v < 999.5 => (v, "ns"),
        v if v < 999.5e3 => (v / 1e3, "µs"),
        v if v < 999.5e6 => (v / 1e6, "ms"),
        v => (v / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A size in bytes with a decimal unit: `1.02 TB`.
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut scaled = value;
    let mut unit = 0;
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1e3;
        unit += 1;
    }
    format!("{} {}", three_digits(scaled), UNITS[unit])
}

fn three_digits(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// A share of one as a signed whole percentage: `+60 %`, `−8 %`.
pub fn change(value: f64) -> String {
    let percent = (value * 100.0).round();
    let sign = match percent {
        p if p > 0.0 => "+",
        p if p < 0.0 => "\u{2212}",
        _ => "±",
    };
    format!("{sign}{} %", count(percent.abs() as u64))
}

/// A share of one as a percentage: `38 %`, below ten with one decimal, `0.0041 %`.
pub fn share(value: f64) -> String {
    let percent = value * 100.0;
    match percent {
        p if p >= 9.95 => format!("{p:.0} %"),
        p if p >= 0.095 || p <= 0.0 => format!("{p:.1} %"),
        p => format!("{p:.*} %", (1.0 - p.log10().floor()) as usize),
    }
}

/// A ratio of two rates or latencies: `1.8X`, `14X`.
pub fn ratio(value: f64) -> String {
    if value < 9.95 {
        format!("{value:.1}X")
    } else {
        format!("{}X", count(value.round() as u64))
    }
}

/// A duration in seconds: `3.0 s`, `20 min`, `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    if seconds < 120.0 {
        return format!("{seconds:.1} s");
    }
    let minutes = (seconds / 60.0).round() as u64;
    match (minutes / 60, minutes % 60) {
        (0, m) => format!("{m} min"),
        (h, 0) => format!("{h} h"),
        (h, m) => format!("{h} h {m} min"),
    }
}

/// An instant in milliseconds since 1970 UTC: `2026-11-21 10:00 UTC`.
pub fn instant(ms: u64) -> String {
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_millis(ms);
    let text = humantime::format_rfc3339_seconds(at).to_string();
    format!("{} UTC", text[..16].replace('T', " "))
}

/// `1 thread`, `16 threads`.
pub fn threads(n: u32) -> String {
    plural(u64::from(n), "thread")
}

/// `1 point`, `1,200 points`.
pub fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

/// A number of four significant digits, for charts: more would be bytes without information.
pub fn quantised(value: f64) -> serde_json::Value {
    if !value.is_finite() {
        return serde_json::Value::Null;
    }
    if value == 0.0 {
        return 0.into();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = 3 - magnitude;
    if decimals <= 0 {
        let step = 10f64.powi(-decimals);
        return ((value / step).round() * step).round().trunc_to_integer();
    }
    let step = 10f64.powi(decimals);
    let rounded = (value * step).round() / step;
    if rounded.fract() == 0.0 {
        rounded.trunc_to_integer()
    } else {
        rounded.into()
    }
}

/// Writes `5` where serde would write `5.0`.
trait ToInteger {
    fn trunc_to_integer(self) -> serde_json::Value;
}

impl ToInteger for f64 {
    fn trunc_to_integer(self) -> serde_json::Value {
        if self.abs() < 9e15 {
            (self as i64).into()
        } else {
            self.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_separated_by_thousands() {
        for (value, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(value), text);
        }
    }

    #[test]
    fn latencies_keep_three_digits() {
        for (ns, text) in [
            (843.0, "843 ns"),
            (1_234.0, "1.23 µs"),
            (999_600.0, "1.00 ms"),
            (12_345_678.0, "12.3 ms"),
            (2e9, "2.00 s"),
        ] {
            assert_eq!(latency(ns), text);
        }
    }

    #[test]
    fn changes_and_ratios_are_written_as_the_studies_do() {
        assert_eq!(change(0.596), "+60 %");
        assert_eq!(change(-0.081), "\u{2212}8 %");
        assert_eq!(change(0.001), "±0 %");
        assert_eq!(change(13.3), "+1,330 %");
        assert_eq!(ratio(1.83), "1.8X");
        assert_eq!(ratio(14.3), "14X");
    }

    #[test]
    fn small_shares_are_not_rounded_to_nothing() {
        for (value, text) in [
            (0.384, "38 %"),
            (0.038, "3.8 %"),
            (0.000_041, "0.0041 %"),
            (0.0, "0.0 %"),
        ] {
            assert_eq!(share(value), text);
        }
    }

    #[test]
    fn chart_numbers_keep_four_digits() {
        for (value, text) in [
            (123_456.0, "123500"),
            (1.234_56, "1.235"),
            (0.000_123_456, "0.0001235"),
            (5.0, "5"),
            (99_999.0, "100000"),
        ] {
            assert_eq!(quantised(value).to_string(), text);
        }
        assert!(quantised(f64::NAN).is_null());
    }

    #[test]
    fn instants_are_in_utc() {
        assert_eq!(instant(0), "1970-01-01 00:00 UTC");
    }
}
