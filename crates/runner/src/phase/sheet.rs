//! What is counted and timed in one interval, by kind of request.

use hdrhistogram::Histogram;
use tailmark_driver::Cause;
use tailmark_results::Kind;

/// A histogram of one interval: three digits, 32-bit counts, as large as its largest value needs.
pub type Counts = Histogram<u32>;

/// An empty histogram.
#[must_use]
pub fn counts() -> Counts {
    Histogram::new(3).expect("three digits are accepted")
}

/// Failures of one cause.
#[derive(Debug, Clone)]
pub struct Failures {
    /// Why.
    pub cause: Cause,
    /// How often.
    pub count: u64,
    /// The first message.
    pub example: String,
}

/// What was recorded of one kind in one interval.
#[derive(Debug)]
pub struct KindSheet {
    /// Requests that did not fail.
    pub count: u64,
    /// Of those, the ones that found nothing.
    pub not_found: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Service time of those that did not fail, nanoseconds.
    pub service: Counts,
    /// Response time of those; empty in a closed loop.
    pub response: Counts,
    /// Service time of those that failed.
    pub failed: Counts,
    /// Of the requests that found nothing, which are part of the above, their latencies once more.
    pub missed: Option<Box<Missed>>,
    /// Failures by cause.
    pub failures: Vec<Failures>,
}

/// Latencies of requests that found nothing.
#[derive(Debug)]
pub struct Missed {
    /// Service time, nanoseconds.
    pub service: Counts,
    /// Response time; empty in a closed loop.
    pub response: Counts,
}

impl KindSheet {
    /// One with nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self {
            count: 0,
            not_found: 0,
            bytes: 0,
            service: counts(),
            response: counts(),
            failed: counts(),
            missed: None,
            failures: Vec::new(),
        }
    }

    /// Requests that failed.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.failures.iter().map(|f| f.count).sum()
    }

    /// Adds what another sheet has.
    pub fn add(&mut self, other: &Self) {
        const GROWS: &str = "a histogram that grows takes any other";
        self.count += other.count;
        self.not_found += other.not_found;
        self.bytes += other.bytes;
        self.service.add(&other.service).expect(GROWS);
        self.response.add(&other.response).expect(GROWS);
        self.failed.add(&other.failed).expect(GROWS);
        if let Some(theirs) = &other.missed {
            let mine = self.missed.get_or_insert_default();
            mine.service.add(&theirs.service).expect(GROWS);
            mine.response.add(&theirs.response).expect(GROWS);
        }
        for failures in &other.failures {
            self.count_failures(failures.cause, failures.count, &failures.example);
        }
    }

    pub(super) fn count_failures(&mut self, cause: Cause, count: u64, example: &str) {
        match self.failures.iter_mut().find(|f| f.cause == cause) {
            Some(failures) => failures.count += count,
            None => self.failures.push(Failures {
                cause,
                count,
                example: example.to_owned(),
            }),
        }
    }

    fn clear(&mut self) {
        (self.count, self.not_found, self.bytes) = (0, 0, 0);
        self.service.reset();
        self.response.reset();
        self.failed.reset();
        self.missed = None;
        self.failures.clear();
    }
}

impl Default for Missed {
    fn default() -> Self {
        Self {
            service: counts(),
            response: counts(),
        }
    }
}

impl Default for KindSheet {
    fn default() -> Self {
        Self::new()
    }
}

/// What was recorded in one interval.
#[derive(Debug, Default)]
pub struct Sheet {
    /// Operations completed: a read-modify-write is one.
    pub operations: u64,
    /// By [`Kind`]; none where a kind was never asked for.
    pub kinds: [Option<Box<KindSheet>>; Kind::ALL.len()],
    /// How much later than due operations were sent, nanoseconds; at a fixed rate only.
    pub lag: Option<Counts>,
}

impl Sheet {
    /// Adds what another sheet has.
    pub fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().add(theirs);
            }
        }
        if let Some(lag) = &other.lag {
            let mine = self.lag.get_or_insert_with(counts);
            mine.add(lag)
                .expect("a histogram that grows takes any other");
        }
    }

    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.operations = 0;
        self.kinds
            .iter_mut()
            .flatten()
            .for_each(|kind| kind.clear());
        self.lag.iter_mut().for_each(Histogram::reset);
    }
}
