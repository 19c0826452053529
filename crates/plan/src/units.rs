//! Values with units: counts (`2.5M`), sizes (`2GiB`), times (`90s`), read and written.

use bytesize::ByteSize;
use std::time::Duration;
use toml::Value;

/// The decimal multiples of a count.
const MULTIPLES: &[(char, f64)] = &[
    ('k', 1e3),
    ('K', 1e3),
    ('M', 1e6),
    ('G', 1e9),
    ('B', 1e9),
    ('T', 1e12),
];

/// A whole number, or text such as `100k`, `2.5M`, `10G`.
pub fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        Value::String(text) => {
            let text = text.trim().replace('_', "");
            if let Ok(number) = text.parse() {
                return Some(number);
            }
            let (digits, multiple) = MULTIPLES
                .iter()
                .find_map(|(unit, by)| Some((text.strip_suffix(*unit)?, by)))?;
            let product = decimal(digits)? * multiple;
            let whole = product.round();
            ((product - whole).abs() < 1e-6 && whole < u64::MAX as f64).then_some(whole as u64)
        }
        _ => None,
    }
}

/// A number, or text that is one.
pub fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number).filter(|n| n.is_finite()),
        Value::String(text) => {
            text.trim()
                .parse()
                .ok()
                .filter(|n: &f64| n.is_finite())
                .or_else(|| {
                    // People write rates as `20k`.
                    count(value).map(|n| n as f64)
                })
        }
        _ => None,
    }
}

/// Bytes, or text such as `64MiB`.
pub fn size(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        Value::String(text) => text
            .trim()
            .parse::<ByteSize>()
            .ok()
            .map(|size| size.as_u64()),
        _ => None,
    }
}

/// Text such as `90s`, `20m`, `1h 30m`. Months and years are refused: `5M` was meant as minutes.
pub fn time(value: &Value) -> Option<Duration> {
    let text = value.as_str()?.trim();
    if text.contains('M') || text.contains("mon") || text.contains("year") {
        return None;
    }
    humantime::parse_duration(text).ok()
}

/// Text such as `0.1%`. A number without the sign is refused: it may be meant as a part of one.
pub fn percent(value: &Value) -> Option<f64> {
    decimal(value.as_str()?.trim().strip_suffix('%')?.trim_end())
}

/// A fraction as a percentage, as exact as it was given: `0.1%`.
pub fn percent_text(part: f64) -> String {
    format!("{}%", (part * 1e12).round() / 1e10)
}

/// `true` or `false`, also as text.
pub fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Boolean(flag) => Some(*flag),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A list of words, or text with commas between them.
pub fn words(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(text.split(',').map(|word| word.trim().to_owned()).collect()),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map(ToOwned::to_owned))
            .collect(),
        _ => None,
    }
}

/// The items of a list, or of text with commas between them; one value is a list of one.
pub fn items(value: &Value) -> Option<Vec<Value>> {
    Some(match value {
        Value::String(text) => text.split(',').map(|word| word.trim().into()).collect(),
        Value::Array(items) => items.clone(),
        Value::Table(_) | Value::Boolean(_) | Value::Datetime(_) => return None,
        number => vec![number.clone()],
    })
}

/// A TOML value as a person would write it.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Digits with at most one point; neither sign nor exponent.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    plain.then(|| text.parse().ok()).flatten()
}

/// `--time-scale` makes no time shorter than this that was longer.
const TIME_SCALE_FLOOR: Duration = Duration::from_secs(10);

/// A count times `scale`.
pub(super) fn times(count: u64, scale: f64) -> u64 {
    if scale == 1.0 {
        count
    } else {
        (count as f64 * scale).round() as u64
    }
}

/// A time times `scale`; one that was 10 s or more stays so.
pub(super) fn timed(time: Duration, scale: f64) -> Duration {
    time.mul_f64(scale).max(time.min(TIME_SCALE_FLOOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> Value {
        Value::String(text.to_owned())
    }

    #[test]
    fn counts_have_decimal_multiples() {
        let cases = [
            ("7", 7),
            ("100k", 100_000),
            ("2.5M", 2_500_000),
            ("10G", 10_000_000_000),
            ("0.1k", 100),
            ("250_000_000", 250_000_000),
        ];
        for (text, expected) in cases {
            assert_eq!(count(&given(text)), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_whole_count_is_refused() {
        for text in [
            "",
            "k",
            "-1",
            "1.5",
            "1.0005k",
            "1e6k",
            "10Q",
            "1,000",
            "99999999999T",
        ] {
            assert_eq!(count(&given(text)), None, "{text}");
        }
        assert_eq!(count(&Value::Integer(-1)), None);
        assert_eq!(count(&Value::Float(1.0)), None);
    }

    #[test]
    fn a_time_needs_its_unit_and_no_month() {
        assert_eq!(time(&given("90s")), Some(Duration::from_secs(90)));
        assert_eq!(time(&given("1h 30m")), Some(Duration::from_secs(5400)));
        for text in ["90", "5M", "1y 2months", "fast", ""] {
            assert_eq!(time(&given(text)), None, "{text}");
        }
        assert_eq!(time(&Value::Integer(20)), None);
    }

    #[test]
    fn a_percentage_needs_its_sign() {
        for (text, expected) in [("0.1%", 0.1), ("5 %", 5.0), ("0%", 0.0), (" 100% ", 100.0)] {
            assert_eq!(percent(&given(text)), Some(expected), "{text}");
        }
        for text in ["0.1", "%", "-1%", "1e1%", "a%", "1%%", "NaN%"] {
            assert_eq!(percent(&given(text)), None, "{text}");
        }
        assert_eq!(percent(&Value::Float(0.001)), None);
    }
}
