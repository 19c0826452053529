//! The mix of a social graph: the keys, requests and sizes of db_bench's `mixgraph`.
//!
//! The models are from Cao, Dong, Vemuri, Du: Characterizing, modeling, and benchmarking RocksDB
//! key-value workloads at Facebook (FAST 2020). In db_bench the key, the request and the sizes all
//! follow from one random number, so a key is either always read or always written. Faithful
//! semantics keep that; correct semantics draw each separately.

use super::twister::Twister;
use crate::Error;
use tailmark_driver::Semantics;

/// The parameters, by db_bench's names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MixGraph {
    /// `mix_get_ratio`, `mix_put_ratio`, `mix_seek_ratio`: weights, at least 0.
    pub weights: [f64; 3],
    /// `key_dist_a`, `key_dist_b`; keys are uniform if one of them is 0.
    pub keys: Power,
    /// `keyrange_dist_a` to `_d`; no ranges if all are 0.
    pub ranges: Exponential,
    /// `keyrange_num`, at least 1.
    pub range_count: u32,
    /// `value_theta`, `value_k`, `value_sigma`.
    pub values: Pareto,
    /// `mix_max_value_size`: bytes, at least 1.
    pub value_max: u32,
    /// `iter_theta`, `iter_k`, `iter_sigma`.
    pub scans: Pareto,
    /// `mix_max_scan_len`: records, at least 1.
    pub scan_max: u32,
    /// Whether one random number decides everything, as in db_bench.
    pub semantics: Semantics,
}

/// A power law: the cumulative share `u` is reached at `(u / a)^(1 / b)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// The factor.
    pub a: f64,
    /// The exponent.
    pub b: f64,
}

/// The share of range `x` is `a e^(b x) + c e^(d x)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exponential {
    /// Factor of the first term.
    pub a: f64,
    /// Exponent of the first term.
    pub b: f64,
    /// Factor of the second term.
    pub c: f64,
    /// Exponent of the second term.
    pub d: f64,
}

/// The generalised Pareto distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pareto {
    /// Location.
    pub theta: f64,
    /// Shape.
    pub k: f64,
    /// Scale.
    pub sigma: f64,
}

impl MixGraph {
    /// db_bench's defaults: reads of uniform keys only.
    pub const DEFAULT: Self = Self {
        weights: [1.0, 0.0, 0.0],
        keys: Power { a: 0.0, b: 0.0 },
        ranges: Exponential {
            a: 0.0,
            b: 0.0,
            c: 0.0,
            d: 0.0,
        },
        range_count: 1,
        values: Pareto {
            theta: 0.0,
            k: 0.2615,
            sigma: 25.45,
        },
        value_max: 1024,
        scans: Pareto {
            theta: 0.0,
            k: 2.517,
            sigma: 14.236,
        },
        scan_max: 10_000,
        semantics: Semantics::Faithful,
    };

    pub(super) fn validate(&self, workload: &str) -> Result<(), Error> {
        let is_weight = |w: &f64| w.is_finite() && *w >= 0.0;
        let sum: f64 = self.weights.iter().sum();
        let min = self.range_count.min(self.value_max).min(self.scan_max);
        let (what, got, accepted) = match () {
            () if !self.weights.iter().all(is_weight) || sum <= 0.0 => (
                "weights of get, put and seek",
                sum,
                "0 or more, and together above 0",
            ),
            () if min == 0 => ("ranges, maximum value and scan", 0.0, "1 or more each"),
            () => return Ok(()),
        };
        Err(Error::BadNumber {
            workload: workload.to_owned(),
            what,
            got,
            accepted,
        })
    }
}

impl Power {
    /// db_bench's `PowerCdfInversion`.
    fn invert(&self, u: f64) -> i64 {
        (u / self.a).powf(1.0 / self.b).ceil() as i64
    }
}

impl Pareto {
    /// db_bench's `ParetoCdfInversion`.
    fn invert(&self, u: f64) -> i64 {
        let Self { theta, k, sigma } = *self;
        let value = if k == 0.0 {
            theta - sigma * u.ln()
        } else {
            theta + sigma * (u.powf(-k) - 1.0) / k
        };
        // Of a share of 0 the value is infinite, which db_bench's conversion turns into the
        // minimum.
        if value.is_finite() {
            value.ceil() as i64
        } else {
            i64::MIN
        }
    }
}

/// The kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Query {
    Get,
    Put { bytes: u32 },
    Seek { nexts: u32 },
}

/// One client's draws.
#[derive(Debug)]
pub(super) struct Social {
    graph: MixGraph,
    records: u64,
    /// The ends of the shares of get, put and seek, in thousandths.
    ends: [i64; 3],
    ranges: Option<Ranges>,
    seeded: Twister,
}

impl Social {
    /// Draws over this many records.
    pub fn new(graph: MixGraph, records: u64) -> Self {
        let sum: f64 = graph.weights.iter().sum();
        let mut end = 0;
        let ends = graph.weights.map(|weight| {
            end += (1000.0 * weight / sum).ceil() as i64;
            end
        });
        let Exponential { a, b, c, d } = graph.ranges;
        let has_ranges = [a, b, c, d].iter().any(|x| *x != 0.0);
        let ranges = has_ranges.then(|| Ranges::new(&graph, records));
        Self {
            graph,
            records,
            ends,
            ranges,
            seeded: Twister::new(0),
        }
    }

    /// A key and its request, from one random record number. Correct semantics draw the rest from
    /// `random`.
    pub fn draw(&mut self, drawn: u64, random: &mut Twister) -> (u64, Query) {
        let number = self.key(drawn);
        let mut fresh = || match self.graph.semantics {
            Semantics::Faithful => drawn,
            Semantics::Correct => random.next() % self.records,
        };
        let (choice, size) = (fresh(), fresh());
        let u = size as f64 / self.records as f64;
        let place = choice as i64 % self.ends[2];
        let query = match self.ends.iter().position(|end| place < *end) {
            Some(1) => Query::Put {
                bytes: self.value_bytes(u),
            },
            Some(2) => {
                let length = self.graph.scans.invert(u) % i64::from(self.graph.scan_max);
                Query::Seek {
                    nexts: u32::try_from(length).unwrap_or(0),
                }
            }
            _ => Query::Get,
        };
        (number, query)
    }

    fn value_bytes(&self, u: f64) -> u32 {
        let max = i64::from(self.graph.value_max);
        let bytes = match self.graph.values.invert(u) {
            bytes if bytes < 10 => 10,
            bytes if bytes > max => bytes % max,
            bytes => bytes,
        };
        bytes as u32
    }

    fn key(&mut self, drawn: u64) -> u64 {
        let Power { a, b } = self.graph.keys;
        if a == 0.0 || b == 0.0 {
            return drawn;
        }
        match &self.ranges {
            Some(ranges) => {
                let (range, size) = (ranges.find(drawn), ranges.size);
                let u = (drawn % size) as f64 / size as f64;
                let seed = self.graph.keys.invert(u) as u64;
                size * range + self.seeded.first_of(seed) % size
            }
            None => {
                let u = drawn as f64 / self.records as f64;
                let seed = self.graph.keys.invert(u) as u64;
                // As in db_bench: the remainder of a signed number, which may be below 0.
                (self.seeded.first_of(seed).cast_signed() % self.records.cast_signed())
                    .cast_unsigned()
            }
        }
    }
}

/// Ranges of keys, with hot and cold ones in an order that depends only on the parameters.
#[derive(Debug)]
struct Ranges {
    /// Keys in a range, at least 1.
    size: u64,
    /// Where the share of each range begins.
    starts: Vec<u64>,
    total: u64,
}

impl Ranges {
    fn new(graph: &MixGraph, records: u64) -> Self {
        let count = u64::from(graph.range_count);
        let Exponential { a, b, c, d } = graph.ranges;
        let mut amplify = 0.0;
        let mut weights: Vec<u64> = (1..=count)
            .rev()
            .map(|range| {
                let x = range as f64;
                let share = a * (b * x).exp() + c * (d * x).exp();
                if share < 1e-16 {
                    return 0;
                }
                if amplify == 0.0 {
                    amplify = (1.0 / share).floor() + 1.0;
                }
                (amplify * share).floor() as u64
            })
            .collect();
        let total = weights.iter().sum::<u64>();
        let mut random = Twister::new(total);
        for i in 0..weights.len() {
            let other = random.next() % count;
            weights.swap(i, other as usize);
        }
        let mut start = 0;
        let mut starts = Vec::with_capacity(weights.len());
        for weight in weights {
            starts.push(start);
            start += weight;
        }
        Self {
            size: (records / count).max(1),
            starts,
            total: total.max(1),
        }
    }

    /// The range that a random number falls into.
    fn find(&self, drawn: u64) -> u64 {
        let place = drawn % self.total;
        (self.starts.partition_point(|start| *start <= place) as u64).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parameters of the all-random and prefix models that RocksDB's documentation gives.
    const PREFIXES: MixGraph = MixGraph {
        weights: [0.83, 0.14, 0.03],
        keys: Power {
            a: 0.002_312,
            b: 0.3467,
        },
        ranges: Exponential {
            a: 14.18,
            b: -2.917,
            c: 0.0164,
            d: -0.08082,
        },
        range_count: 30,
        ..MixGraph::DEFAULT
    };

    fn draws(graph: MixGraph) -> Vec<(u64, Query)> {
        const RECORDS: u64 = 1_000_000;
        let (sum, mut random) = (graph.weights.iter().sum::<f64>(), Twister::new(1));
        assert!(sum > 0.0);
        let mut social = Social::new(graph, RECORDS);
        (0..100_000)
            .map(|_| {
                let drawn = random.next() % RECORDS;
                social.draw(drawn, &mut random)
            })
            .collect()
    }

    #[test]
    fn requests_are_shared_out_by_their_weights() {
        for semantics in [Semantics::Faithful, Semantics::Correct] {
            let drawn = draws(MixGraph {
                semantics,
                ..PREFIXES
            });
            let share = |is: fn(&Query) -> bool| {
                drawn.iter().filter(|(_, query)| is(query)).count() as f64 / 1e5
            };
            assert!((share(|q| matches!(q, Query::Get)) - 0.83).abs() < 0.005);
            assert!((share(|q| matches!(q, Query::Put { .. })) - 0.14).abs() < 0.005);
            assert!((share(|q| matches!(q, Query::Seek { .. })) - 0.03).abs() < 0.005);
        }
    }

    #[test]
    fn a_key_is_for_ever_read_or_written_only_in_faithful_semantics() {
        let mixed = |semantics| {
            let graph = MixGraph {
                weights: [0.5, 0.5, 0.0],
                semantics,
                ..MixGraph::DEFAULT
            };
            let drawn = draws(graph);
            let is_put = |query: &Query| matches!(query, Query::Put { .. });
            drawn
                .iter()
                .filter(|(key, query)| (key % 1000 >= 500) != is_put(query))
                .count()
        };
        assert_eq!(mixed(Semantics::Faithful), 0);
        assert!((45_000..55_000).contains(&mixed(Semantics::Correct)));
    }

    #[test]
    fn hot_ranges_take_their_share() {
        let drawn = draws(PREFIXES);
        let mut counts = [0_u32; 31];
        drawn
            .iter()
            .for_each(|(key, _)| counts[(key / 33_333).min(30) as usize] += 1);
        counts.sort_unstable();
        // The maximum share of the model: 14.18 e^-2.917 + 0.0164 e^-0.08082, of all of them.
        let share = |x: f64| 14.18 * (-2.917 * x).exp() + 0.0164 * (-0.080_82 * x).exp();
        let expected = share(1.0) / (1..=30).map(|x| share(f64::from(x))).sum::<f64>();
        let found = f64::from(counts[30]) / 1e5;
        assert!((found - expected).abs() < 0.02, "{found} for {expected}");
    }

    #[test]
    fn sizes_are_those_of_the_generalised_pareto_distribution() {
        let pareto = MixGraph::DEFAULT.values;
        // Its median: sigma (2^k - 1) / k.
        assert_eq!(
            pareto.invert(0.5),
            (25.45 * (2_f64.powf(0.2615) - 1.0) / 0.2615).ceil() as i64
        );
        let sizes: Vec<_> = draws(MixGraph {
            weights: [0.0, 1.0, 0.0],
            ..MixGraph::DEFAULT
        })
        .into_iter()
        .map(|(_, query)| match query {
            Query::Put { bytes } => f64::from(bytes),
            other => panic!("{other:?}"),
        })
        .collect();
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        assert!((34.0..38.0).contains(&mean), "{mean}");
    }
}
