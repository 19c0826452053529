//! Sums of i^-theta over any range of whole numbers, in constant time.
//!
//! The first terms are added one by one. From there on the Euler-Maclaurin formula gives the sum
//! (NIST Digital Library of Mathematical Functions, 2.10.1): the integral, half of both ends, and
//! the first and third derivatives at the ends. The error is below 1e-15 of the first term that is
//! not added separately.

/// Terms below this are added one by one.
const HEAD: u64 = 256;
/// So few terms are always added one by one.
const FEW: u64 = 6;

/// The sum of i^-theta for i from 1 to n.
pub fn zeta(n: u64, theta: f64) -> f64 {
    sum(1, n, theta)
}

/// The sum of i^-theta for i from `first` (at least 1) to `last`, inclusive; 0 for an empty range.
pub fn sum(first: u64, last: u64, theta: f64) -> f64 {
    let plain = |from: u64, to: u64| (from..=to).map(|i| (i as f64).powf(-theta)).sum();
    if last < first || last - first < FEW || last < HEAD {
        return plain(first, last);
    }
    let tail = first.max(HEAD);
    let head: f64 = plain(first, tail - 1);
    head + euler_maclaurin(tail as f64, last as f64, theta)
}

/// The sum over whole numbers from a to b, for a that is not small.
fn euler_maclaurin(a: f64, b: f64, theta: f64) -> f64 {
    let (at_a, at_b) = (a.powf(-theta), b.powf(-theta));
    // The derivatives of x^-theta are multiples of x^-theta divided by powers of x.
    let first = theta * (at_a / a - at_b / b);
    let third = theta * (theta + 1.0) * (theta + 2.0) * (at_a / a.powi(3) - at_b / b.powi(3));
    integral(a, b, theta) + (at_a + at_b) / 2.0 + first / 12.0 - third / 720.0
}

/// The integral of x^-theta from a to b, precise even if theta is close to 1 or a to b.
fn integral(a: f64, b: f64, theta: f64) -> f64 {
    let power = 1.0 - theta;
    let log = ((b - a) / a).ln_1p();
    if power == 0.0 {
        log
    } else {
        a.powf(power) * (power * log).exp_m1() / power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct(first: u64, last: u64, theta: f64) -> f64 {
        (first..=last).rev().map(|i| (i as f64).powf(-theta)).sum()
    }

    fn assert_close(got: f64, expected: f64) {
        assert!(
            (got - expected).abs() <= 1e-12 * expected.abs(),
            "{got}, not {expected}"
        );
    }

    #[test]
    fn sums_are_those_of_direct_summation() {
        for theta in [0.2, 0.5, 0.99, 1.0, 1.5, 3.0] {
            for last in [1, 2, 255, 256, 257, 10_000, 1_000_000] {
                assert_close(zeta(last, theta), direct(1, last, theta));
            }
            for (first, last) in [(2, 300), (1_000, 1_001), (1_000, 1_100), (5_000, 900_000)] {
                assert_close(sum(first, last, theta), direct(first, last, theta));
            }
        }
    }

    #[test]
    fn a_sum_of_ten_thousand_million_terms_is_the_one_that_ycsb_states() {
        // YCSB's constant carries the rounding of its 10^10 additions.
        let difference = zeta(10_000_000_000, 0.99) - 26.469_028_201_783_02;
        assert!(difference.abs() < 1e-7, "{difference}");
    }

    #[test]
    fn an_empty_sum_is_zero() {
        assert_eq!(zeta(0, 0.99), 0.0);
        assert_eq!(sum(5, 4, 0.99), 0.0);
    }
}
