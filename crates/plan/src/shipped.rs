//! The plans that ship with tailmark, by name.

/// A plan that ships with tailmark.
#[derive(Debug)]
pub struct ShippedPlan {
    /// Its name for `tailmark run`.
    pub name: &'static str,
    /// One line for `list`.
    pub about: &'static str,
    /// The plan file.
    pub text: &'static str,
}

/// Every shipped plan, sorted by name.
pub const PLANS: &[ShippedPlan] = &[
    ShippedPlan {
        name: "cost-example",
        about: "two emulated drives with stated prices: which is cheapest to keep? (root)",
        text: include_str!("../plans/cost-example.toml"),
    },
    ShippedPlan {
        name: "micron-6500ion-cassandra",
        about: "Micron 6500 ION against Solidigm D5-P5316: Cassandra, YCSB A B C F, 8 to 128 \
            threads (2023)",
        text: include_str!("../plans/micron-6500ion-cassandra.toml"),
    },
    ShippedPlan {
        name: "micron-7400-rocksdb",
        about: "Micron 7400 against 7300: RocksDB, YCSB A B C D F, 4 to 256 threads (2021)",
        text: include_str!("../plans/micron-7400-rocksdb.toml"),
    },
    ShippedPlan {
        name: "micron-7450-dbbench",
        about: "Micron 7450 against Samsung PM9A3 and Solidigm D5-P5430: RocksDB, db_bench, 8 to \
            96 threads (2023)",
        text: include_str!("../plans/micron-7450-dbbench.toml"),
    },
    ShippedPlan {
        name: "micron-7450-rocksdb",
        about: "Micron 7450 against three others: RocksDB, YCSB A, 4 to 32 threads (2022)",
        text: include_str!("../plans/micron-7450-rocksdb.toml"),
    },
    ShippedPlan {
        name: "micron-9400-aerospike",
        about: "Micron 9400 against three others: Aerospike, YCSB C A B F, from 8 threads on \
            (2023)",
        text: include_str!("../plans/micron-9400-aerospike.toml"),
    },
    ShippedPlan {
        name: "quickstart",
        about: "the disk of this directory against /dev/shm: RocksDB, in less than five minutes",
        text: include_str!("../plans/quickstart.toml"),
    },
    ShippedPlan {
        name: "redis-persistence",
        about: "Redis on one disk: append-only file always or every second, snapshots, nothing",
        text: include_str!("../plans/redis-persistence.toml"),
    },
    ShippedPlan {
        name: "rehearsal",
        about: "two emulated volumes with known limits: what a comparison looks like (root)",
        text: include_str!("../plans/rehearsal.toml"),
    },
    ShippedPlan {
        name: "rocksdb-releases",
        about: "seven releases of RocksDB from 5.18 to 11.8 on one disk: YCSB A C, 1 and 8 threads",
        text: include_str!("../plans/rocksdb-releases.toml"),
    },
];

/// The shipped plan of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static ShippedPlan> {
    PLANS.iter().find(|plan| plan.name == name)
}
