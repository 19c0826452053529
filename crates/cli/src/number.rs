//! Numbers as people read them: `12,345 ops/s`, `1.23 ms`.

use tailmark_runner::plan::units::grouped;

/// Operations per second: whole ones, with commas.
pub fn rate(ops_per_sec: f64) -> String {
    format!("{} ops/s", grouped(ops_per_sec.round().max(0.0) as u64))
}

/// A latency in nanoseconds with three digits and its unit.
pub fn latency(ns: u64) -> String {
    const UNITS: &[(f64, &str)] = &[(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")];
    let ns = ns as f64;
    // 999.6 us has three digits as 1.00 ms, not as 1000 us.
    let fits = |(unit, _): &&(f64, &str)| ns / unit < 999.5;
    let (unit, name) = UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
    let value = ns / unit;
    match value {
        _ if *unit == 1.0 || value >= 99.95 => format!("{value:.0} {name}"),
        9.995.. => format!("{value:.1} {name}"),
        _ => format!("{value:.2} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_have_three_digits_and_a_unit() {
        let cases = [
            (0, "0 ns"),
            (870, "870 ns"),
            (1_234, "1.23 us"),
            (12_340, "12.3 us"),
            (123_400, "123 us"),
            (999_600, "1.00 ms"),
            (1_234_567, "1.23 ms"),
            (9_996_000, "10.0 ms"),
            (2_500_000_000, "2.50 s"),
            (4_000_000_000_000, "4000 s"),
        ];
        for (ns, expected) in cases {
            assert_eq!(latency(ns), expected);
        }
    }

    #[test]
    fn rates_have_commas() {
        assert_eq!(rate(12_345.4), "12,345 ops/s");
    }
}
