//! A simulated database at work. It computes when a request that arrives now ends. Requests are
//! served in order of arrival. Each draws its duration on arrival, so that the same arrivals get
//! the same answers from any clients.

use super::model::{Model, Service};
use crate::Cause;
use rand_distr::{Distribution, Exp1, StandardNormal, StandardUniform};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use std::{cmp::Reverse, collections::BinaryHeap};

/// How a request is served.
#[derive(Debug, Clone, Copy)]
pub(super) struct Served {
    /// When it ends, nanoseconds.
    pub(super) done: u64,
    /// Its failure, if any.
    pub(super) cause: Option<Cause>,
    /// How long it waits for a server, nanoseconds.
    pub(super) queued: u64,
    /// How long stalls hold it, nanoseconds.
    pub(super) stalled: u64,
    /// How long the device takes of the rest, nanoseconds.
    pub(super) device: u64,
}

/// One run of a model.
pub(super) struct Queue {
    model: Model,
    /// The duration of a request if the model sets none, nanoseconds.
    constant: u64,
    /// The shortest duration, nanoseconds.
    least: u64,
    random: Xoshiro256PlusPlus,
    /// When each server becomes free, if their number is limited.
    free: BinaryHeap<Reverse<u64>>,
    /// When each request in flight ends, if their number matters.
    under_way: BinaryHeap<Reverse<u64>>,
    /// Bytes that were written since the database was made.
    pub(super) written: u64,
    /// The factor of this run.
    of_run: f64,
    /// The logarithm of the varying factor, and when it was last computed.
    wandering: (f64, u64),
}

impl Queue {
    pub(super) fn new(model: Model, constant: u64, least: u64, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
        let (of_run, wandering) = (normal(), normal());
        let of_run = model.run_noise.map_or(1.0, |noise| {
            let sigma = noise.sigma;
            if !noise.is_skewed {
                return lognormal(of_run * sigma, sigma);
            }
            // The sum of two exponential deviates: a gamma distribution of variance 2.
            let mut deviate = || -> f64 { Exp1.sample(&mut random) };
            let part = sigma / std::f64::consts::SQRT_2;
            ((deviate() + deviate()) * part).exp() * (1.0 - part).powi(2)
        });
        let free = model.servers.map_or(0, |servers| servers);
        Self {
            of_run,
            wandering: (wandering * model.noise.map_or(0.0, |(sigma, _)| sigma), 0),
            free: std::iter::repeat_n(Reverse(0), free).collect(),
            under_way: BinaryHeap::new(),
            written: 0,
            model,
            constant,
            least,
            random,
        }
    }

    /// How a request is served that arrives at `now`. `takes` is its duration if the model does not
    /// set it, nanoseconds.
    pub(super) fn serve(&mut self, now: u64, takes: Option<u64>) -> Served {
        let drawn = self.draw();
        let free = match self.free.peek() {
            Some(Reverse(free)) => now.max(*free),
            None => now,
        };
        let begins = self.end_of_stall(free);
        let cause = self.fails(begins);
        let contention = self.contention(now);
        let takes = takes.unwrap_or_else(|| (drawn * contention * self.factor(begins)) as u64);
        let takes = takes.max(self.least);
        let done = self.served(begins, takes);
        if self.model.contention.is_some() {
            self.under_way.push(Reverse(done));
        }
        if self.free.pop().is_some() {
            self.free.push(Reverse(done));
        }
        Served {
            done,
            cause,
            queued: free - now,
            stalled: done - free - takes,
            device: (takes as f64 * self.model.device.unwrap_or_default()) as u64,
        }
    }

    /// The duration of a single request, nanoseconds.
    fn draw(&mut self) -> f64 {
        let mut service = self
            .model
            .service
            .unwrap_or(Service::Constant(self.constant as f64));
        if !self.model.modes.is_empty() {
            let mut left: f64 = StandardUniform.sample(&mut self.random);
            for (share, other) in &self.model.modes {
                if left < *share {
                    service = *other;
                    break;
                }
                left -= share;
            }
        }
        let random = &mut self.random;
        match service {
            Service::Constant(takes) => takes,
            Service::Uniform(from, to) => {
                let unit: f64 = StandardUniform.sample(random);
                from + (to - from) * unit
            }
            Service::Exponential(mean) => {
                let unit: f64 = Exp1.sample(random);
                mean * unit
            }
            Service::Lognormal(mean, sigma) => {
                let normal: f64 = StandardNormal.sample(random);
                mean * lognormal(sigma * normal, sigma)
            }
        }
    }

    /// The factor for a request that arrives now, because of requests in flight.
    fn contention(&mut self, now: u64) -> f64 {
        let Some((sigma, kappa)) = self.model.contention else {
            return 1.0;
        };
        while self.under_way.peek().is_some_and(|done| done.0 <= now) {
            self.under_way.pop();
        }
        let (others, with_it) = (
            self.under_way.len() as f64,
            self.under_way.len() as f64 + 1.0,
        );
        1.0 + others * (sigma + kappa * with_it)
    }

    /// The factor for requests that begin now.
    fn factor(&mut self, now: u64) -> f64 {
        let mut factor = self.of_run;
        let at = now as f64;
        if let Some((every, length, times)) = self.model.compaction
            && at >= every
            && at % every < length
        {
            factor *= times;
        }
        if let Some((share, each)) = self.model.age {
            factor *= 1.0 + share * self.written as f64 / each;
        }
        if let Some((share, each)) = self.model.drift {
            factor *= 1.0 + share * at / each;
        }
        if let Some((times, within)) = self.model.start {
            factor *= 1.0 + (times - 1.0) * (-at / within).exp();
        }
        if let Some((sigma, over)) = self.model.noise {
            factor *= lognormal(self.wander(now, sigma, over), sigma);
        }
        factor
    }

    /// The Ornstein-Uhlenbeck process of this standard deviation at this time; exact for any time
    /// step.
    fn wander(&mut self, now: u64, sigma: f64, over: f64) -> f64 {
        let (before, at) = self.wandering;
        if now > at {
            let kept = (-((now - at) as f64) / over).exp();
            let normal: f64 = StandardNormal.sample(&mut self.random);
            let drawn = sigma * (1.0 - kept * kept).sqrt() * normal;
            self.wandering = (before * kept + drawn, now);
        }
        self.wandering.0
    }

    fn fails(&mut self, now: u64) -> Option<Cause> {
        let (_, share, cause) = self.model.errors.iter().find(|(span, ..)| span.has(now))?;
        let unit: f64 = StandardUniform.sample(&mut self.random);
        (unit < *share).then_some(*cause)
    }

    /// The instant itself, or the end of the stalls that it falls into.
    fn end_of_stall(&self, now: u64) -> u64 {
        let stalls = self.model.stalls.iter();
        stalls.fold(
            now,
            |now, stall| if stall.has(now) { stall.end } else { now },
        )
    }

    /// When a request ends that begins at an instant and takes that long. Stalls are added.
    fn served(&self, begins: u64, takes: u64) -> u64 {
        let stalls = self
            .model
            .stalls
            .iter()
            .filter(|stall| stall.start >= begins);
        stalls.fold(begins + takes, |done, stall| {
            if stall.start < done {
                done + (stall.end - stall.start)
            } else {
                done
            }
        })
    }
}

/// e to the power of a normal deviate of this standard deviation, with mean 1.
fn lognormal(deviate: f64, sigma: f64) -> f64 {
    (deviate - sigma * sigma / 2.0).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn queue(model: &str, seed: u64) -> Queue {
        Queue::new(Model::parse(model).unwrap(), MS, 0, seed)
    }

    fn done(queue: &mut Queue, now_ms: u64) -> u64 {
        queue.serve(now_ms * MS, None).done / MS
    }

    #[test]
    fn so_many_are_served_at_a_time_and_the_others_wait() {
        let mut two = queue("constant 10ms; servers 2", 1);
        assert_eq!(
            [0, 0, 0, 1, 50].map(|now| done(&mut two, now)),
            [10, 10, 20, 20, 60]
        );
        let mut all = queue("constant 10ms", 1);
        assert_eq!([0, 0, 0].map(|now| done(&mut all, now)), [10, 10, 10]);
    }

    #[test]
    fn requests_take_longer_the_more_are_under_way() {
        let mut queue = queue("constant 100ms; contention 0.1 0.01", 1);
        let times = [0, 0, 0, 100, 113, 500].map(|now| done(&mut queue, now) - now);
        // Alone, with one other, and with two others; then the first and the second are done.
        assert_eq!(times, [100, 112, 126, 126, 126, 100]);
    }

    #[test]
    fn a_stall_adds_itself_to_what_is_under_way_and_holds_what_comes() {
        let mut queue = queue("constant 10ms; stall 100ms 50ms; stall 155ms 5ms", 1);
        let times = [80, 95, 100, 149, 150].map(|now| done(&mut queue, now));
        assert_eq!(times, [90, 155, 165, 165, 165]);
    }

    #[test]
    fn a_request_is_taken_apart_as_it_is_served() {
        let mut one = queue("constant 10ms; servers 1; device 70%; stall 25ms 50ms", 1);
        let parts = [0, 0, 0].map(|now| {
            let served = one.serve(now, None);
            [served.done, served.queued, served.stalled, served.device].map(|ns| ns / MS)
        });
        assert_eq!(parts, [[10, 0, 0, 7], [20, 10, 0, 7], [80, 20, 50, 7]]);
    }

    #[test]
    fn times_have_the_mean_that_was_asked_for() {
        for model in [
            "constant 2ms",
            "uniform 1ms 3ms",
            "exponential 2ms",
            "lognormal 2ms 1",
            "constant 1ms; mode 10% constant 11ms",
            "constant 2ms; noise 20% 1s",
        ] {
            let mut queue = queue(model, 3);
            let n = 400_000;
            let sum: f64 = (0..n)
                .map(|i| (queue.serve(i * 100 * MS, None).done - i * 100 * MS) as f64)
                .sum();
            let mean = sum / n as f64 / MS as f64;
            assert!((mean / 2.0 - 1.0).abs() < 0.01, "{model}: {mean}");
        }
    }

    #[test]
    fn what_changes_with_time_does_so_when_it_was_said() {
        let mut compacts = queue("constant 10ms; compaction 1s 100ms 3", 1);
        let times = [0, 999, 1_000, 1_099, 1_100, 2_050].map(|now| done(&mut compacts, now) - now);
        assert_eq!(times, [10, 10, 30, 30, 10, 30]);
        let mut drifts = queue("constant 10ms; drift 50% 1s", 1);
        assert_eq!(
            [0, 1_000, 4_000].map(|now| done(&mut drifts, now) - now),
            [10, 15, 30]
        );
        let mut starts = queue("constant 100ms; start 3 1s", 1);
        let left = (200.0 * f64::exp(-1.0)) as u64;
        assert_eq!(
            [0, 1_000].map(|now| done(&mut starts, now) - now),
            [300, 100 + left]
        );
    }

    #[test]
    fn errors_come_in_their_time_and_in_their_share() {
        let mut queue = queue("errors 1s 1s 25% timeout", 1);
        let mut failed = |from: u64| {
            let causes = (0..10_000).filter_map(|i| queue.serve(from * MS + i, None).cause);
            causes.filter(|cause| *cause == Cause::Timeout).count()
        };
        assert_eq!((failed(0), failed(2_000)), (0, 0));
        assert!(failed(1_000).abs_diff(2_500) < 200);
    }

    #[test]
    fn runs_differ_by_the_noise_that_was_asked_for_and_the_same_seed_is_the_same_run() {
        let run = |seed| {
            queue("constant 1s; run-noise 10%", seed)
                .serve(0, None)
                .done as f64
        };
        assert_eq!(run(1).to_bits(), run(1).to_bits());
        let logs: Vec<f64> = (0..4_000).map(|seed| (run(seed) / 1e9).ln()).collect();
        let mean = logs.iter().sum::<f64>() / 4_000.0;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 3_999.0;
        assert!((variance.sqrt() / 0.1 - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn skewed_runs_are_mostly_a_little_faster_and_now_and_then_much_slower() {
        let runs: Vec<f64> = (0..4_000)
            .map(|seed| {
                queue("constant 1s; run-noise 10% skewed", seed)
                    .serve(0, None)
                    .done
            })
            .map(|ns| ns as f64 / 1e9)
            .collect();
        let mean =
            |value: &dyn Fn(f64) -> f64| runs.iter().map(|&run| value(run)).sum::<f64>() / 4_000.0;
        assert!((mean(&|run| run) - 1.0).abs() < 0.01);
        let log = mean(&f64::ln);
        let deviation = mean(&|run| (run.ln() - log).powi(2)).sqrt();
        assert!((deviation / 0.1 - 1.0).abs() < 0.1, "{deviation}");
        let skewness = mean(&|run| ((run.ln() - log) / deviation).powi(3));
        assert!((1.1..1.8).contains(&skewness), "{skewness}");
    }

    #[test]
    fn noise_forgets_in_the_time_that_was_asked_for() {
        let mut queue = queue("constant 1s; noise 10% 10s", 5);
        let step = 1_000 * MS;
        let logs: Vec<f64> = (0..200_000)
            .map(|i| {
                let now = i * step;
                ((queue.serve(now, None).done - now) as f64 / 1e9).ln()
            })
            .collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let covariance = |lag: usize| {
            let pairs = logs.iter().zip(&logs[lag..]);
            pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / (logs.len() - lag) as f64
        };
        let deviation = covariance(0).sqrt();
        assert!((deviation / 0.1 - 1.0).abs() < 0.05, "{deviation}");
        for lag in [5_usize, 10, 20] {
            let (found, expected) = (
                covariance(lag) / covariance(0),
                f64::exp(-(lag as f64) / 10.0),
            );
            assert!((found - expected).abs() < 0.05, "{lag}: {found}");
        }
    }
}
