//! Every workload draws what it has drawn before: a study goes on with the same operations, and is
//! compared with those of earlier versions.

use std::sync::Arc;
use tailmark_driver::{DataSet, Schema};
use tailmark_workload::{KeySpace, Stream, StreamConfig, WORKLOADS, Workload};

/// Of each workload, the hash of the operations of two clients.
const RECORDED: &[(&str, [u64; 2])] = &[
    (
        "deleterandom",
        [0xb116_9a14_89f2_d5dd, 0x290f_28a5_8b58_7fd9],
    ),
    ("deleteseq", [0x03bd_6a5a_2c2a_e0c7, 0x03bd_6a5a_2c2a_e0c7]),
    ("fillrandom", [0x08c1_9d87_b0b0_2e21, 0x3e08_7585_074f_c237]),
    ("fillseq", [0x31bb_5024_0bee_43db, 0x31bb_5024_0bee_43db]),
    (
        "filluniquerandom",
        [0xb7cf_d959_7d13_5ca5, 0xb7cf_d959_7d13_5ca5],
    ),
    ("mixgraph", [0xf4d8_2cec_1cf9_120b, 0x7d1c_29df_e5ba_0ceb]),
    (
        "multireadrandom",
        [0xb6f1_086c_4ee0_fefe, 0xf6bd_b8b6_0578_42af],
    ),
    ("overwrite", [0x08c1_9d87_b0b0_2e21, 0x3e08_7585_074f_c237]),
    (
        "readmissing",
        [0x5fab_2697_67ed_63c7, 0x243e_09fd_40b5_3c45],
    ),
    ("readrandom", [0xf4d8_2cec_1cf9_120b, 0x7d1c_29df_e5ba_0ceb]),
    (
        "readrandomwriterandom",
        [0x133c_51c2_da9f_69e9, 0x7a42_4507_a5a6_f87b],
    ),
    (
        "readreverse",
        [0xd78e_d5e5_222a_9085, 0xd78e_d5e5_222a_9085],
    ),
    ("readseq", [0xe33e_d77d_4682_e225, 0xe33e_d77d_4682_e225]),
    (
        "readwhilewriting",
        [0xf4d8_2cec_1cf9_120b, 0x7d1c_29df_e5ba_0ceb],
    ),
    ("seekrandom", [0x655e_329c_fb50_a8a0, 0xb35b_66c0_74e1_7ed3]),
    (
        "seekrandomwhilewriting",
        [0x655e_329c_fb50_a8a0, 0xb35b_66c0_74e1_7ed3],
    ),
    (
        "updaterandom",
        [0x0efc_94f0_88d0_3f75, 0xe976_e9e3_b076_d753],
    ),
    ("ycsb-a", [0x9226_e045_3bfc_1156, 0xfc20_edca_b6f5_f22c]),
    ("ycsb-b", [0x75f9_94df_decb_a3c0, 0xa9da_d023_f447_5794]),
    ("ycsb-c", [0x20cf_27df_a529_7a6a, 0x8556_1553_f6f2_0c3c]),
    ("ycsb-d", [0x66eb_34fe_9d36_83bf, 0x8722_d923_d7ec_8cd7]),
    (
        "ycsb-d-uniform",
        [0x44b7_d139_2599_7e15, 0xa7cf_046e_76cd_bef3],
    ),
    ("ycsb-e", [0xf2da_1491_865b_2888, 0x61e6_77f6_d05c_4fe2]),
    ("ycsb-f", [0xb1cb_0957_bce4_440c, 0xa85f_cdc6_c4fe_187e]),
];

/// FNV-1a over everything that a database would see of this many operations.
fn hash(workload: Workload, client: u32) -> u64 {
    let config = StreamConfig {
        workload: Arc::new(workload),
        group: 0,
        data: DataSet {
            schema: Schema {
                table: "usertable".into(),
                fields: vec!["field0".into(), "field1".into()],
            },
            records: 10_000,
            field_length: 60,
        },
        keys: Arc::new(KeySpace::new(10_000, 10_000)),
        seed: 7,
        client,
        operations: Some(100_000),
        write_all_fields: false,
        compressibility: 0.5,
    };
    let mut stream = Stream::new(&config).expect("a valid configuration");
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for _ in 0..2_000 {
        for byte in format!("{:?}", stream.next_item()).bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        stream.acknowledge();
    }
    hash
}

#[test]
fn operations_are_those_that_were_recorded() {
    let drawn: Vec<_> = WORKLOADS
        .iter()
        .map(|row| (row.name, [0, 3].map(|client| hash(row.workload(), client))))
        .collect();
    assert_eq!(drawn, RECORDED, "{drawn:#x?}");
}
