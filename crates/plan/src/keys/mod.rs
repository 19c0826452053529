//! The table of all plan keys. The reader of plans, the effective plan, the flags of `tailmark
//! run`, the errors, `list keys` and the tests of the documentation use it. Each part has a file,
//! in which a row stands next to what its key sets.

mod abort;
pub(super) mod anatomy;
mod cost;
pub(super) mod data;
mod emulate;
mod expect;
mod machine;
mod place;
mod prepare;
pub(super) mod report;
mod restore;
mod roles;
mod service;
pub(super) mod slo;
mod steady;
mod sweep;
mod system;
mod texts;
mod threads;
mod top;
mod until;
mod workload;

pub use abort::{AbortLimit, Broken};
pub use anatomy::AnatomyPlan;
pub use data::{DataSetPlan, SETTING_FLAGS};
pub use emulate::Emulate;
pub use expect::{ClientHost, Expect, Unexpected};
pub use machine::MachinePlan;
pub use prepare::{Consent, ERASES, FILE_SYSTEMS, MachineSettings, Prepare};
pub use report::report_settings;
pub use restore::RestorePlan;
pub use service::{Service, ServiceControl, shown};
pub use slo::is_searched;
pub use steady::Steady;
pub use sweep::Sweep;
pub(super) use system::Systems;
pub use system::{SystemPlan, named_at_rank};
pub use threads::Ladder;
pub use top::General;
pub(super) use until::refuse_undecidable;

use super::PlanKey;
use tailmark_model::Role;

/// The parts of the table, in the order of the documentation.
const PARTS: &[&[PlanKey]] = &[
    top::TOP_KEYS,
    data::DATABASE_KEYS,
    data::DATASET_KEYS,
    restore::RESTORE_KEYS,
    sweep::SWEEP_KEYS,
    machine::MACHINE_KEYS,
    report::REPORT_KEYS,
    cost::COST_KEYS,
    prepare::PREPARE_KEYS,
    slo::SLO_KEYS,
    anatomy::ANATOMY_KEYS,
    abort::ABORT_KEYS,
    system::SYSTEM_KEYS,
    emulate::DEVICE_KEYS,
    steady::STEADY_KEYS,
    expect::EXPECT_KEYS,
    service::SERVICE_KEYS,
    workload::WORKLOAD_KEYS,
    workload::DISTRIBUTION_KEYS,
    threads::THREADS_KEYS,
];

/// Every key, in the order of the documentation. Settings of drivers, which `database` and
/// `system.database` also take, are in the table of drivers.
pub const KEYS: &[PlanKey] = &concatenated();

/// The number of keys.
const COUNT: usize = {
    let (mut part, mut count) = (0, 0);
    while part < PARTS.len() {
        count += PARTS[part].len();
        part += 1;
    }
    count
};

/// The parts as one.
const fn concatenated() -> [PlanKey; COUNT] {
    let mut all = [PARTS[0][0]; COUNT];
    let (mut part, mut at) = (0, 0);
    while part < PARTS.len() {
        let mut row = 0;
        while row < PARTS[part].len() {
            all[at] = PARTS[part][row];
            (row, at) = (row + 1, at + 1);
        }
        part += 1;
    }
    all
}

/// The keys of a table.
pub fn in_table(table: &str) -> impl Iterator<Item = &'static PlanKey> {
    KEYS.iter().filter(move |key| key.table == table)
}

/// The role of the key with this name in a table. It must exist.
pub fn role(table: &str, name: &str) -> Role {
    let key = find(table, name);
    key.unwrap_or_else(|| panic!("there is no key {table}.{name}"))
        .role
}

/// The key of this name in a table.
pub fn find(table: &str, name: &str) -> Option<&'static PlanKey> {
    in_table(table).find(|key| key.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_unique_and_its_about_is_one_line() {
        let paths: std::collections::BTreeSet<_> = KEYS.iter().map(PlanKey::path).collect();
        assert_eq!(paths.len(), KEYS.len());
        for key in KEYS {
            assert!(
                !key.about.is_empty() && !key.about.contains('\n'),
                "{}",
                key.path()
            );
        }
    }

    #[test]
    fn every_flag_is_documented_with_its_key_and_has_a_place_of_its_own() {
        let document = include_str!("../../../../docs/CLI.md");
        let flags = || {
            let keys = KEYS.iter().chain(SETTING_FLAGS);
            keys.filter_map(|key| Some((key, key.flag?)))
        };
        for (key, flag) in flags() {
            let row = format!("| `{}` | `{}` |", flag.name, key.path());
            assert!(document.contains(&row), "docs/CLI.md lacks {row}");
        }
        let places: std::collections::BTreeSet<_> = flags().map(|(_, flag)| flag.place).collect();
        assert_eq!(places.len(), flags().count());
    }
}
