//! The name of a point in the terminal.

use tailmark_model::{Arrivals, PointKey, number};

/// `disk ycsb-a uniform, 16 threads`
pub fn name(key: &PointKey) -> String {
    let PointKey {
        system,
        workload,
        distribution,
        ..
    } = key;
    format!("{system} {workload} {distribution}, {}", threads(key))
}

/// `1 thread`, or `64 threads at 10,000 ops/s, repeat 2`
pub fn threads(key: &PointKey) -> String {
    let threads = number::threads(key.threads);
    let arrivals = match key.arrivals {
        None | Some(Arrivals::Even) => String::new(),
        Some(arrivals) => format!(" ({})", arrivals.name()),
    };
    let rate = key.target_rate.map_or_else(String::new, |rate| {
        format!(" at {}{arrivals}", number::ops(rate))
    });
    let repeat = match key.repeat {
        0 | 1 => String::new(),
        repeat => format!(", repeat {repeat}"),
    };
    format!("{threads}{rate}{repeat}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_at_a_rate_is_named_by_it() {
        let key = |rate, arrivals, repeat| PointKey {
            system: "disk".into(),
            workload: "ycsb-a".into(),
            distribution: "zipfian".into(),
            threads: 64,
            repeat,
            target_rate: rate,
            arrivals,
        };
        for (point, said) in [
            (key(None, None, 1), "64 threads"),
            (
                key(Some(2e4), Some(Arrivals::Even), 1),
                "64 threads at 20,000 ops/s",
            ),
            (
                key(Some(0.5), Some(Arrivals::Poisson), 2),
                "64 threads at 0.5 ops/s (poisson), repeat 2",
            ),
        ] {
            assert_eq!(name(&point), format!("disk ycsb-a zipfian, {said}"));
        }
    }
}
