//! Numbers and words in Java's format, which readers of YCSB's output expect.

/// A double as `Double.toString` writes it: the shortest digits that give the same number, always
/// with a point, and with an exponent below 10^-3 and from 10^7 up.
pub fn double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let size = value.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{value:?}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if digits.contains('.') => format!("{digits}E{exponent}"),
        Some((digits, exponent)) => format!("{digits}.0E{exponent}"),
        None => text,
    }
}

/// A number in the pattern `#.##` of `DecimalFormat`: at most two decimals, half to even, no
/// trailing zeros. Anything that is not a number becomes 0, because readers of status lines expect
/// one.
pub fn decimal(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.2}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// The label of a percentile: whole numbers with their English ordinal, others as they are.
pub fn ordinal(percentile: f64) -> String {
    if percentile.fract() != 0.0 {
        return double(percentile);
    }
    let whole = percentile as u64;
    let ending = match (whole % 10, whole % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{whole}{ending}")
}

/// A text as `Boolean.parseBoolean` reads it: `true` in any case, everything else is false.
pub fn boolean(text: &str) -> bool {
    text.eq_ignore_ascii_case("true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_those_of_java() {
        for (value, text) in [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (33_590.86, "33590.86"),
            (29_770.0, "29770.0"),
            (1e7, "1.0E7"),
            (12_345_678.9, "1.23456789E7"),
            (9_999_999.0, "9999999.0"),
            (1e-3, "0.001"),
            (1e-4, "1.0E-4"),
            (2.5e-5, "2.5E-5"),
            (1.0 / 3.0, "0.3333333333333333"),
            (-1.5, "-1.5"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
        ] {
            assert_eq!(double(value), text);
        }
    }

    #[test]
    fn decimals_round_half_to_even_and_drop_zeros() {
        for (value, text) in [
            (1234.5, "1234.5"),
            (1234.0, "1234"),
            (0.125, "0.12"),
            (0.375, "0.38"),
            (2.125, "2.12"),
            (99.999, "100"),
            (0.0, "0"),
            (-0.001, "0"),
            (f64::NAN, "0"),
        ] {
            assert_eq!(decimal(value), text, "{value}");
        }
    }

    #[test]
    fn ordinals_are_english() {
        let labels: Vec<_> = [
            1.0, 2.0, 3.0, 4.0, 11.0, 12.0, 13.0, 21.0, 50.0, 95.0, 99.0, 99.9, 99.999,
        ]
        .map(ordinal)
        .into();
        assert_eq!(
            labels,
            [
                "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "50th", "95th", "99th",
                "99.9", "99.999"
            ]
        );
    }
}
