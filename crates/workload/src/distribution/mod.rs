//! Distributions of keys: YCSB's by name, and their generators.

mod draw;
mod exponential;
mod hotspot;
mod latest;
mod lengths;
mod scrambled;
#[cfg(test)]
mod testing;
mod true_zipfian;
pub mod zeta;
mod zipfian;

pub(crate) use draw::{Draw, Space};
pub(crate) use lengths::Lengths;

use crate::Error;
use tailmark_driver::did_you_mean;

/// How a read, an update or a scan draws its key from existing ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Every loaded record with equal probability. Records inserted since are never drawn.
    Uniform,
    /// YCSB's zipfian, bit for bit: a rank among 10^10 + 1 of Zipf's law with exponent 0.99, hashed
    /// and folded onto the records. Milder than Zipf's law over the records themselves: whatever
    /// their number, the most frequent one gets 3.778 % of all draws.
    Zipfian,
    /// Zipf's law over the loaded records: record k is drawn in proportion to (k + 1)^-theta.
    TrueZipfian {
        /// The exponent, above 0 and at most 10.
        theta: f64,
    },
    /// Zipf's law with exponent 0.99, counted back from the newest record.
    Latest,
    /// A share of the draws from the lowest key numbers, the others from the rest.
    Hotspot {
        /// The share of the records that is hot, 0 to 1.
        data_fraction: f64,
        /// The share of the draws that go there, 0 to 1.
        operation_fraction: f64,
    },
    /// Exponentially rarer with the distance from the newest record.
    Exponential {
        /// This percentage of draws, above 0 and below 100, ...
        percentile: f64,
        /// ... lie within this share of the loaded records, above 0.
        fraction: f64,
    },
    /// One record after the other, over and over. All clients share one counter.
    Sequential,
}

/// One distribution: a row of [`DISTRIBUTIONS`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DistributionRow {
    /// The name in plans and reports.
    pub name: &'static str,
    /// One line for `list`.
    pub about: &'static str,
    /// The distribution with default parameters, which are YCSB's.
    pub default: Distribution,
}

/// Every distribution, sorted by name.
pub const DISTRIBUTIONS: &[DistributionRow] = &[
    DistributionRow {
        name: "exponential",
        about: "exponentially rarer with age: 95 % within the newest 6/7 of the records",
        default: Distribution::Exponential {
            percentile: 95.0,
            fraction: 0.857_142_857_1,
        },
    },
    DistributionRow {
        name: "hotspot",
        about: "80 % of the draws from 20 % of the records",
        default: Distribution::Hotspot {
            data_fraction: 0.2,
            operation_fraction: 0.8,
        },
    },
    DistributionRow {
        name: "latest",
        about: "Zipf's law counted back from the newest record",
        default: Distribution::Latest,
    },
    DistributionRow {
        name: "sequential",
        about: "one record after the other",
        default: Distribution::Sequential,
    },
    DistributionRow {
        name: "true-zipfian",
        about: "Zipf's law over the records, exponent 0.99",
        default: Distribution::TrueZipfian { theta: 0.99 },
    },
    DistributionRow {
        name: "uniform",
        about: "every loaded record equally often",
        default: Distribution::Uniform,
    },
    DistributionRow {
        name: "zipfian",
        about: "YCSB's scrambled zipfian; milder than Zipf's law over the records",
        default: Distribution::Zipfian,
    },
];

impl Distribution {
    /// The name in plans and reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipfian => "zipfian",
            Self::TrueZipfian { .. } => "true-zipfian",
            Self::Latest => "latest",
            Self::Hotspot { .. } => "hotspot",
            Self::Exponential { .. } => "exponential",
            Self::Sequential => "sequential",
        }
    }

    /// The distribution of this name, with YCSB's parameters.
    ///
    /// # Errors
    /// Names the known distributions, and the nearest one.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let names = || DISTRIBUTIONS.iter().map(|row| row.name);
        DISTRIBUTIONS
            .iter()
            .find(|row| row.name == name)
            .map(|row| row.default)
            .ok_or_else(|| Error::UnknownDistribution {
                name: name.to_owned(),
                hint: did_you_mean(name, names()),
                known: names().collect::<Vec<_>>().join(", "),
            })
    }

    pub(crate) fn validate(&self, workload: &str) -> Result<(), Error> {
        const SHARE: &str = "from 0 to 1";
        let check = |fits: bool, what, got, accepted| {
            if fits {
                Ok(())
            } else {
                Err(Error::BadNumber {
                    workload: workload.to_owned(),
                    what,
                    got,
                    accepted,
                })
            }
        };
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        match *self {
            Self::Uniform | Self::Zipfian | Self::Latest | Self::Sequential => Ok(()),
            Self::TrueZipfian { theta } => {
                let fits = theta > 0.0 && theta <= 10.0;
                check(fits, "theta", theta, "above 0 and at most 10")
            }
            Self::Hotspot {
                data_fraction: data,
                operation_fraction: operations,
            } => {
                check(is_share(data), "data fraction of the hotspot", data, SHARE)?;
                let fits = is_share(operations);
                check(fits, "operation fraction of the hotspot", operations, SHARE)
            }
            Self::Exponential {
                percentile,
                fraction,
            } => {
                let is_percentile = percentile > 0.0 && percentile < 100.0;
                let range = "above 0 and below 100";
                check(is_percentile, "exponential percentile", percentile, range)?;
                let fits = fraction > 0.0 && fraction.is_finite();
                check(fits, "exponential fraction", fraction, "above 0")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique_and_those_of_the_distributions() {
        assert!(
            DISTRIBUTIONS
                .windows(2)
                .all(|pair| pair[0].name < pair[1].name)
        );
        for row in DISTRIBUTIONS {
            assert_eq!(row.name, row.default.name());
            assert_eq!(Distribution::parse(row.name), Ok(row.default));
            assert!(!row.about.is_empty() && row.about.len() <= 80 && !row.about.contains('\n'));
            assert_eq!(row.default.validate("w"), Ok(()));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let error = Distribution::parse("zipfan")
            .expect_err("misspelt")
            .to_string();
        assert!(error.contains("did you mean `zipfian`?"), "{error}");
        assert!(error.contains("hotspot"), "{error}");
    }

    #[test]
    fn refuses_parameters_out_of_range() {
        for bad in [
            Distribution::TrueZipfian { theta: 0.0 },
            Distribution::TrueZipfian { theta: f64::NAN },
            Distribution::Hotspot {
                data_fraction: 1.1,
                operation_fraction: 0.5,
            },
            Distribution::Hotspot {
                data_fraction: 0.5,
                operation_fraction: -0.1,
            },
            Distribution::Exponential {
                percentile: 100.0,
                fraction: 0.5,
            },
            Distribution::Exponential {
                percentile: 95.0,
                fraction: f64::INFINITY,
            },
        ] {
            assert!(bad.validate("w").is_err(), "{bad:?}");
        }
    }
}
