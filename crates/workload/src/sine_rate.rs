//! A sinusoidal rate, like the load of a service over a day.
//!
//! It is constant within each step, so that the required rate of an interval is known.

use crate::Error;

/// Added to a rate: `amplitude * sin(speed * t + phase)`, where `t` is the start of the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SineRate {
    /// Operations per second over all clients. Rates below 0 count as 0.
    pub amplitude: f64,
    /// Radians per second.
    pub speed: f64,
    /// Radians at the start.
    pub phase: f64,
    /// Length of a step in seconds, above 0.
    pub step_s: f64,
}

/// The number of steps without operations after which none is expected any more.
const IDLE_STEPS: u32 = 1_000_000;

impl SineRate {
    /// Operations per second at this many seconds after the start, never below 0.
    pub fn rate(&self, mean: f64, seconds: f64) -> f64 {
        let start = self.step_of(seconds) * self.step_s;
        (mean + self.amplitude * (self.speed * start + self.phase).sin()).max(0.0)
    }

    /// When, in seconds after the start, this many more operations are due than at `seconds`;
    /// infinite if the rate stays at 0.
    pub fn after(&self, mean: f64, seconds: f64, operations: f64) -> f64 {
        let (mut at, mut left) = (seconds, operations);
        for _ in 0..IDLE_STEPS {
            let (rate, end) = (self.rate(mean, at), (self.step_of(at) + 1.0) * self.step_s);
            let fits = rate * (end - at);
            if fits >= left && rate > 0.0 {
                return at + left / rate;
            }
            left -= fits;
            at = end;
        }
        f64::INFINITY
    }

    /// The step of an instant. The end of a step is the start of the next, however its product was
    /// rounded.
    fn step_of(&self, seconds: f64) -> f64 {
        (seconds / self.step_s + 1e-9).floor()
    }

    pub(crate) fn validate(&self, workload: &str) -> Result<(), Error> {
        let numbers = [self.amplitude, self.speed, self.phase, self.step_s];
        if numbers.iter().all(|number| number.is_finite()) && self.step_s > 0.0 {
            return Ok(());
        }
        Err(Error::BadNumber {
            workload: workload.to_owned(),
            what: "step of a sinusoidal rate, in seconds",
            got: self.step_s,
            accepted: "above 0, with all other numbers finite",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 per second, plus and minus 50 with a period of 40 s, in steps of 10 s: 100, 150, 100,
    /// 50.
    const SINE: SineRate = SineRate {
        amplitude: 50.0,
        speed: std::f64::consts::TAU / 40.0,
        phase: 0.0,
        step_s: 10.0,
    };

    #[test]
    fn a_rate_is_held_for_its_step() {
        let rates = [0.0, 9.9, 10.0, 25.0, 39.9, 40.0].map(|at| SINE.rate(100.0, at).round());
        assert_eq!(rates, [100.0, 100.0, 150.0, 100.0, 50.0, 100.0]);
        assert!(SINE.rate(-60.0, 10.0).abs() < f64::EPSILON, "never below 0");
    }

    #[test]
    fn operations_of_a_period_are_those_of_its_steps() {
        let mut at = 0.0;
        let mut counts = [0; 4];
        while at < 39.999 {
            counts[(at / 10.0 + 1e-9) as usize] += 1;
            at = SINE.after(100.0, at, 1.0);
        }
        assert_eq!(counts, [1000, 1500, 1000, 500]);
    }

    #[test]
    fn a_step_without_operations_is_skipped() {
        // 0, 50, 0, -50: nothing before the second step.
        let due = SINE.after(0.0, 0.0, 5.0);
        assert!((due - 10.1).abs() < 1e-6, "{due}");
        assert!(SINE.after(-50.0, 0.0, 1.0).is_infinite());
    }

    #[test]
    fn a_step_of_no_length_is_refused() {
        let sine = SineRate {
            step_s: 0.0,
            ..SINE
        };
        assert!(sine.validate("x").is_err());
        assert!(SINE.validate("x").is_ok());
    }
}
