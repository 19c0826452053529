//! Groups of clients with the same work.

use crate::{Distribution, Error, Mix, SineRate, db_bench::DbBenchWorkload};
use tailmark_driver::OperationKind;

/// Clients with the same work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClientGroup {
    /// The clients in it.
    pub clients: GroupClients,
    /// Their work.
    pub operations: GroupOperations,
    /// Operations per second over all clients of the group, replacing the point's rate.
    pub rate: Option<f64>,
    /// The sine added to the rate.
    pub sine: Option<SineRate>,
}

/// The source of a group's operations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GroupOperations {
    /// Weights, as in YCSB's workloads.
    Mix(MixedOperations),
    /// One of db_bench's benchmarks.
    DbBench(DbBenchWorkload),
}

/// Operations drawn by their weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MixedOperations {
    /// The weights.
    pub mix: Mix,
    /// The distribution of their records.
    pub distribution: Distribution,
    /// The number of records per scan.
    pub scan: ScanLength,
    /// Whether reads and scans fetch the whole record, or one uniformly chosen field.
    pub read_all_fields: bool,
}

/// The clients of a point in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupClients {
    /// Clients that no other group names. Several such groups share them evenly.
    Rest,
    /// This many.
    Exactly(u32),
    /// This many background clients, in addition to the point's. Their work is recorded by kind,
    /// but does not count as operations of the point. They end when the point's clients have ended.
    Background(u32),
}

/// The number of records per scan: `min..=max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanLength {
    /// The minimum, from 1.
    pub min: u32,
    /// The maximum.
    pub max: u32,
    /// How the length is drawn.
    pub choice: LengthChoice,
}

/// How a length is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthChoice {
    /// Every length equally often.
    Uniform,
    /// Zipfian with exponent 0.99; the minimum length is the most frequent.
    Zipfian,
}

impl ScanLength {
    /// YCSB's default: 1 to 1,000 records, uniform.
    pub const DEFAULT: Self = Self {
        min: 1,
        max: 1_000,
        choice: LengthChoice::Uniform,
    };
}

impl ClientGroup {
    /// Whether each client goes through the same keys in order, so that each has its own share of
    /// operations and none can do part of another's.
    pub fn is_done_by_each(&self) -> bool {
        use crate::db_bench::{Op, Order};
        matches!(
            self.db_bench().map(|workload| workload.op),
            Some(Op::Walk(_) | Op::Write(Order::Sequential) | Op::Delete(Order::Sequential))
        )
    }

    /// All clients, whole records, and YCSB's default scan lengths.
    pub const fn new(mix: Mix, distribution: Distribution) -> Self {
        Self::mixed(MixedOperations {
            mix,
            distribution,
            scan: ScanLength::DEFAULT,
            read_all_fields: true,
        })
    }

    /// All clients, with operations drawn by weights.
    pub const fn mixed(operations: MixedOperations) -> Self {
        Self::from_operations(GroupOperations::Mix(operations))
    }

    /// All clients, as fast as possible.
    pub(crate) const fn from_operations(operations: GroupOperations) -> Self {
        Self {
            clients: GroupClients::Rest,
            operations,
            rate: None,
            sine: None,
        }
    }

    /// The weighted operations, if there are any.
    pub const fn mix(&self) -> Option<&MixedOperations> {
        match &self.operations {
            GroupOperations::Mix(mixed) => Some(mixed),
            GroupOperations::DbBench(_) => None,
        }
    }

    /// The same, mutable.
    pub const fn mix_mut(&mut self) -> Option<&mut MixedOperations> {
        match &mut self.operations {
            GroupOperations::Mix(mixed) => Some(mixed),
            GroupOperations::DbBench(_) => None,
        }
    }

    /// The db_bench workload, if it has one.
    pub const fn db_bench(&self) -> Option<&DbBenchWorkload> {
        match &self.operations {
            GroupOperations::Mix(_) => None,
            GroupOperations::DbBench(workload) => Some(workload),
        }
    }

    /// The same, mutable.
    pub const fn db_bench_mut(&mut self) -> Option<&mut DbBenchWorkload> {
        match &mut self.operations {
            GroupOperations::Mix(_) => None,
            GroupOperations::DbBench(workload) => Some(workload),
        }
    }

    /// The distribution of its keys.
    pub const fn distribution(&self) -> Distribution {
        match &self.operations {
            GroupOperations::Mix(mixed) => mixed.distribution,
            GroupOperations::DbBench(workload) => workload.op.distribution(),
        }
    }

    /// Whether its clients are background clients.
    pub const fn is_background(&self) -> bool {
        matches!(self.clients, GroupClients::Background(_))
    }

    /// Whether requests of this kind are sent.
    pub fn sends(&self, kind: OperationKind) -> bool {
        match &self.operations {
            GroupOperations::Mix(mixed) => mixed.mix.sends(kind),
            GroupOperations::DbBench(workload) => workload.op.kinds().contains(&kind),
        }
    }

    pub(crate) fn validate(&self, workload: &str) -> Result<(), Error> {
        match &self.operations {
            GroupOperations::Mix(mixed) => mixed.validate(workload)?,
            GroupOperations::DbBench(db_bench) => db_bench.validate(workload)?,
        }
        if let Some(sine) = &self.sine {
            sine.validate(workload)?;
        }
        match self.clients {
            GroupClients::Exactly(0) | GroupClients::Background(0) => Err(Error::BadNumber {
                workload: workload.to_owned(),
                what: "number of clients of a group",
                got: 0.0,
                accepted: "1 or more",
            }),
            _ => Ok(()),
        }
    }
}

impl MixedOperations {
    fn validate(&self, workload: &str) -> Result<(), Error> {
        self.mix.validate(workload)?;
        self.distribution.validate(workload)?;
        let bad = |what, got: u32, accepted| {
            let (workload, got) = (workload.to_owned(), f64::from(got));
            Err(Error::BadNumber {
                workload,
                what,
                got,
                accepted,
            })
        };
        match self.scan {
            ScanLength { min: 0, .. } => bad("minimum length of a scan", 0, "1 or more"),
            ScanLength { min, max, .. } if max < min => {
                bad("maximum length of a scan", max, "at least the minimum")
            }
            _ => Ok(()),
        }
    }
}
