//! The workloads known by name.

use crate::{
    ClientGroup, Distribution, Error, LengthChoice, Mix, MixedOperations, ScanLength, Workload,
    db_bench, workload::WorkloadRow,
};
use tailmark_driver::did_you_mean;

/// Every workload known by name, sorted: db_bench's, YCSB's six with their own distributions, and
/// the variant of D that published device studies use.
pub const WORKLOADS: &[WorkloadRow] = &all();

/// db_bench's rows, then YCSB's.
const fn all() -> [WorkloadRow; db_bench::ROWS.len() + YCSB.len()] {
    let mut rows = [YCSB[0]; db_bench::ROWS.len() + YCSB.len()];
    let mut i = 0;
    while i < rows.len() {
        let first = db_bench::ROWS.len();
        rows[i] = if i < first {
            db_bench::ROWS[i]
        } else {
            YCSB[i - first]
        };
        i += 1;
    }
    rows
}

const YCSB: &[WorkloadRow] = &[
    WorkloadRow {
        name: "ycsb-a",
        about: "update heavy: 50 % read, 50 % update",
        groups: &[ClientGroup::new(
            Mix {
                read: 0.5,
                update: 0.5,
                ..Mix::NONE
            },
            Distribution::Zipfian,
        )],
    },
    WorkloadRow {
        name: "ycsb-b",
        about: "read mostly: 95 % read, 5 % update",
        groups: &[ClientGroup::new(
            Mix {
                read: 0.95,
                update: 0.05,
                ..Mix::NONE
            },
            Distribution::Zipfian,
        )],
    },
    WorkloadRow {
        name: "ycsb-c",
        about: "read only",
        groups: &[ClientGroup::new(
            Mix {
                read: 1.0,
                ..Mix::NONE
            },
            Distribution::Zipfian,
        )],
    },
    WorkloadRow {
        name: "ycsb-d",
        about: "read latest: 95 % read of mostly the newest records, 5 % insert",
        groups: &[ClientGroup::new(
            Mix {
                read: 0.95,
                insert: 0.05,
                ..Mix::NONE
            },
            Distribution::Latest,
        )],
    },
    WorkloadRow {
        name: "ycsb-d-uniform",
        about: "status updates: 95 % read of all loaded records equally, 5 % insert",
        groups: &[ClientGroup::new(
            Mix {
                read: 0.95,
                insert: 0.05,
                ..Mix::NONE
            },
            Distribution::Uniform,
        )],
    },
    WorkloadRow {
        name: "ycsb-e",
        about: "short ranges: 95 % scan of 1 to 100 records, 5 % insert",
        groups: &[ClientGroup::mixed(MixedOperations {
            mix: Mix {
                scan: 0.95,
                insert: 0.05,
                ..Mix::NONE
            },
            distribution: Distribution::Zipfian,
            scan: ScanLength {
                min: 1,
                max: 100,
                choice: LengthChoice::Uniform,
            },
            read_all_fields: true,
        })],
    },
    WorkloadRow {
        name: "ycsb-f",
        about: "read-modify-write: 50 % read, 50 % read and update of the same record",
        groups: &[ClientGroup::new(
            Mix {
                read: 0.5,
                read_modify_write: 0.5,
                ..Mix::NONE
            },
            Distribution::Zipfian,
        )],
    },
];

/// What these workloads stand for, according to published device studies; E according to YCSB.
const USE_CASES: &[(&str, &str)] = &[
    ("ycsb-a", "recording user sessions"),
    ("ycsb-b", "adding metadata"),
    ("ycsb-c", "caching user profiles"),
    ("ycsb-d", "status updates"),
    ("ycsb-d-uniform", "status updates"),
    ("ycsb-e", "reading threaded conversations"),
    ("ycsb-f", "recording user activity"),
];

/// What a shipped workload stands for, if that is documented.
pub fn use_case(workload: &str) -> Option<&'static str> {
    let known = USE_CASES.iter().find(|(name, _)| *name == workload);
    known.map(|(_, use_case)| *use_case)
}

/// The name of the shipped workload that a text describes as tables do: `YCSB A`, or by its use
/// case, `Recording user sessions`.
pub fn named(text: &str) -> Option<&'static str> {
    let plain = text.trim().to_lowercase().replace([' ', '_'], "-");
    let row = WORKLOADS.iter().find(|row| row.name == plain);
    let stands_for = || {
        let is_it = |(_, use_case): &&(&str, &str)| use_case.replace(' ', "-") == plain;
        USE_CASES.iter().find(is_it).map(|(name, _)| *name)
    };
    row.map(|row| row.name).or_else(stands_for)
}

/// The workload with this name.
///
/// # Errors
/// Names the known workloads, and the nearest one.
pub fn find(name: &str) -> Result<Workload, Error> {
    let names = || WORKLOADS.iter().map(|row| row.name);
    WORKLOADS
        .iter()
        .find(|row| row.name == name)
        .map(WorkloadRow::workload)
        .ok_or_else(|| Error::UnknownWorkload {
            name: name.to_owned(),
            hint: did_you_mean(name, names()),
            known: names().collect::<Vec<_>>().join(", "),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_names_a_workload_in_its_own_way() {
        for (text, name) in [
            ("YCSB A", Some("ycsb-a")),
            ("ycsb_f", Some("ycsb-f")),
            ("Recording user sessions", Some("ycsb-a")),
            ("Status Updates", Some("ycsb-d")),
            ("readrandom", Some("readrandom")),
            ("my own", None),
        ] {
            assert_eq!(named(text), name, "{text}");
        }
    }

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(WORKLOADS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn every_row_is_valid_and_described_in_one_line() {
        for row in WORKLOADS {
            row.workload().validate().expect(row.name);
            assert!(!row.about.is_empty() && row.about.len() <= 80 && !row.about.contains('\n'));
            for mixed in row.groups.iter().filter_map(ClientGroup::mix) {
                assert!((mixed.mix.sum() - 1.0).abs() < 1e-12, "{}", row.name);
            }
        }
    }

    #[test]
    fn distributions_are_those_of_ycsb() {
        let names: Vec<_> = ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"]
            .map(|name| find(name).expect(name).distribution_name())
            .into();
        assert_eq!(
            names,
            [
                "zipfian", "zipfian", "zipfian", "latest", "zipfian", "zipfian"
            ]
        );
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let error = find("yscb-a").expect_err("misspelt").to_string();
        assert!(error.contains("did you mean `ycsb-a`?"), "{error}");
        assert!(error.contains("ycsb-d-uniform"), "{error}");
    }
}
