//! How points get the data set as it was loaded if the plan does not say.

use super::plan;
use crate::Restore;

const AGED: &str = "[database]\ndriver = 'rocksdb'\n[dataset]\nrecords = '1M'\n[sweep]\n\
    workloads = 'ycsb-a'\nduration = '2m'\nwarmup = '10s'\nrepeats = 4\n\
    [[system]]\nname = 'a'\npath = '/x'\n";

fn restore(text: &str) -> Restore {
    let plan = plan(text);
    let restore = &plan.dataset.restore;
    assert_eq!(restore.is_default, !text.contains("restore"), "{text}");
    restore.for_system(&plan.systems[0])
}

#[test]
fn repeated_points_that_write_to_rocksdb_start_from_a_checkpoint_if_that_is_cheap() {
    assert_eq!(restore(AGED), Restore::Checkpoint);
    for (from, to) in [
        ("'ycsb-a'", "'ycsb-c'"),
        ("repeats = 4", "repeats = 1"),
        ("'2m'", "'10s'"),
        // How long a point takes is then not known.
        ("duration = '2m'", "operations = '100M'"),
        // Its tables take a minute to remove.
        ("'1M'", "'1000M'"),
        ("'rocksdb'", "'rocksdb'\nwal_dir = '/y'"),
        ("'rocksdb'", "'file'"),
        ("path = '/x'", "path = '/x/{rank}'"),
        ("'1M'", "'1M'\nadopt = 'overwrite'"),
        ("'1M'", "'1M'\nrestore = 'none'"),
    ] {
        let text = AGED.replace(from, to);
        assert_ne!(text, AGED);
        assert_eq!(restore(&text), Restore::None, "{to}");
    }
}

#[test]
fn a_ceiling_is_not_restored_beside_its_system() {
    let text = format!(
        "{AGED}[[system]]\nname = 'bare'\npath = '/y'\nceiling_for = 'a'\n\
         database = {{ driver = 'file' }}\n"
    );
    let plan = plan(&text);
    let how: Vec<_> = plan
        .systems
        .iter()
        .map(|one| plan.dataset.restore.for_system(one))
        .collect();
    assert_eq!(how, [Restore::Checkpoint, Restore::None]);
}
