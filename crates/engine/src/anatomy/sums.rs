//! The sums of all parts by response time: four buckets an octave, each made when it is needed.

use super::taken::TakenApart;
use tailmark_driver::Part;

/// Buckets of all times of 64 bits.
const BUCKETS: usize = 252;

/// Requests of about the same response time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// How many.
    pub count: u64,
    /// The sum of each part, nanoseconds.
    pub ns: [u64; Part::COUNT],
}

/// All requests of one kind.
#[derive(Debug, Default)]
pub struct Sums {
    buckets: Vec<Option<Box<Bucket>>>,
}

/// The bucket of a time.
const fn index(ns: u64) -> usize {
    if ns < 4 {
        return ns as usize;
    }
    let octave = ns.ilog2() as usize;
    (octave - 1) * 4 + ((ns >> (octave - 2)) & 3) as usize
}

/// The shortest time of a bucket.
const fn start(index: usize) -> u64 {
    if index < 4 {
        return index as u64;
    }
    let octave = index / 4 + 1;
    (4 + index as u64 % 4) << (octave - 2)
}

impl Sums {
    fn bucket(&mut self, index: usize) -> &mut Bucket {
        if self.buckets.is_empty() {
            self.buckets.resize(BUCKETS, None);
        }
        let none = || {
            Box::new(Bucket {
                count: 0,
                ns: [0; Part::COUNT],
            })
        };
        self.buckets[index].get_or_insert_with(none)
    }

    /// Adds a request.
    pub fn add(&mut self, taken: &TakenApart) {
        let bucket = self.bucket(index(taken.response()));
        bucket.count += 1;
        for (sum, ns) in bucket.ns.iter_mut().zip(taken.parts.all()) {
            *sum += ns;
        }
    }

    /// Adds those of another thread, which then has none.
    pub fn take(&mut self, other: &mut Self) {
        for (index, theirs) in other.buckets.iter_mut().enumerate() {
            if let Some(theirs) = theirs.take() {
                let mine = self.bucket(index);
                mine.count += theirs.count;
                for (sum, ns) in mine.ns.iter_mut().zip(&theirs.ns) {
                    *sum += ns;
                }
            }
        }
    }

    /// The number of requests.
    pub fn count(&self) -> u64 {
        self.buckets.iter().flatten().map(|own| own.count).sum()
    }

    /// Each bucket with its shortest time and that of the next one, from fast to slow.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, &Bucket)> {
        let all = self.buckets.iter().enumerate();
        all.filter_map(|(index, bucket)| {
            let end = if index + 1 < BUCKETS {
                start(index + 1)
            } else {
                u64::MAX
            };
            Some((start(index), end, bucket.as_deref()?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_bucket_that_begins_at_or_before_it() {
        for ns in (0..4_096).chain([1_000_000, 123_456_789, u64::MAX]) {
            let own = index(ns);
            assert!(start(own) <= ns, "{ns}");
            assert!(own + 1 == BUCKETS || ns < start(own + 1), "{ns}");
        }
        assert_eq!(index(u64::MAX), BUCKETS - 1);
    }
}
