//! Numbers of charts.

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

/// A rate: a whole number from 1,000 on, four digits below.
pub fn rate(value: f64) -> serde_json::Value {
    if value < 999.5 {
        quantised(value)
    } else {
        value.round().trunc_to_integer()
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
        for (value, text) in [(13.49, "13.49"), (0.5, "0.5"), (96_855.4, "96855")] {
            assert_eq!(rate(value).to_string(), text);
        }
    }
}
