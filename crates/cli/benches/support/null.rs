//! The null driver against hand-written loops: the least programs that draw the same keys, read the
//! clock twice and fill a histogram.

use super::{
    bare, compare,
    measured::{self, Budget},
    pair,
};
use std::{
    hint::black_box,
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tailmark_driver::{Clients, db};
use tailmark_workload::Distribution;

const RECORDS: u64 = 200_000;

/// Uniform keys.
pub fn uniform(pairs: usize, seconds: Duration) {
    let draw = |random| random % RECORDS;
    against("uniform", Distribution::Uniform, draw, pairs, seconds);
}

/// The keys of YCSB's zipfian: the rank by the formula of Gray et al. over 10^10 items, hashed.
pub fn zipfian(pairs: usize, seconds: Duration) {
    const ITEMS: f64 = 10_000_000_001.0;
    const SUM: f64 = 26.469_028_201_783_02;
    let second = 1.0 + 0.5_f64.powf(0.99);
    let eta = (1.0 - (2.0 / ITEMS).powf(0.01)) / (1.0 - second / SUM);
    let draw = move |random: u64| {
        let unit = (random >> 11) as f64 / (1_u64 << 53) as f64;
        let scaled = unit * SUM;
        let rank = if scaled < 1.0 {
            0
        } else if scaled < second {
            1
        } else {
            let x = eta * unit - eta + 1.0;
            let (x4, x32) = (x.powi(4), x.powi(32));
            (ITEMS * (x32 * x32 * x32 * x4)) as u64
        };
        fnv(rank) % RECORDS
    };
    against("zipfian", Distribution::Zipfian, draw, pairs, seconds);
}

fn against(
    name: &str,
    distribution: Distribution,
    draw: impl Fn(u64) -> u64 + Sync,
    pairs: usize,
    seconds: Duration,
) {
    let database = measured::open(db::find("null").unwrap(), Path::new("/"), &[], RECORDS);
    let workload = tailmark_workload::find("ycsb-c").unwrap();
    let workload = Arc::new(workload.with_distribution(distribution));
    let ours = || {
        let (kind, budget) = (Clients::Threads, Budget::Time(seconds));
        1e9 / measured::run(database.as_ref(), kind, &workload, RECORDS, 1, budget).ops_per_sec()
    };
    let by_hand = || {
        1e9 / bare(1, seconds, |_, stop| {
            let clock = quanta::Clock::new();
            let mut histogram = hdrhistogram::Histogram::<u32>::new(3).unwrap();
            let (mut random, mut digits, mut operations) = (1_u64, [0_u8; 23], 0);
            while !stop.load(Ordering::Relaxed) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let mut left = fnv(draw(random));
                let mut at = digits.len();
                while left > 0 {
                    at -= 1;
                    digits[at] = b'0' + (left % 10) as u8;
                    left /= 10;
                }
                let start = clock.raw();
                black_box(&digits[at..]);
                histogram
                    .record(clock.delta_as_nanos(start, clock.raw()))
                    .unwrap();
                operations += 1;
            }
            operations
        })
    };
    let title = format!("null, {name} reads, 1 client");
    compare(&title, "ns/op", pairs, pair(ours, by_hand));
}

fn fnv(number: u64) -> u64 {
    let hash = number
        .to_le_bytes()
        .iter()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(1_099_511_628_211)
        });
    (hash as i64).unsigned_abs()
}
