//! Latency histograms and how they are created.
//!
//! Totals of a phase keep three digits. The many histograms of intervals are kept as
//! [`crate::Packed`].

use hdrhistogram::Histogram;

/// Latencies in nanoseconds, three significant digits, growing as needed.
pub type Latencies = Histogram<u64>;

/// Significant digits of the histograms of whole phases: values are within 0.1 %.
pub const DIGITS: u8 = 3;

/// An empty histogram of nanoseconds from 1 ns up, growing as values need it.
pub fn new_latencies() -> Latencies {
    Histogram::new(DIGITS).expect("three digits are accepted")
}

/// Adds all values of another histogram to one that grows.
pub fn add(into: &mut Latencies, from: &Latencies) {
    into.add(from)
        .expect("a histogram that grows takes any other");
}

/// Records a value that many times in a histogram that grows, nanoseconds.
pub fn record(into: &mut Latencies, ns: u64, count: u64) {
    into.record_n(ns, count)
        .expect("a histogram that grows takes any value");
}
