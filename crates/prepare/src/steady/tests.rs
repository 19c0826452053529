use super::*;
use crate::nvme::recorded::{Script, structure};
use std::cell::Cell;

const MIX: Mix = Mix {
    read_percent: 50,
    block_bytes: 4096,
    depth: 4,
    round: Duration::from_millis(20),
    over: Over::Device,
};

/// Stops after this many looks.
struct Looks(Cell<u32>);

impl Watch for Looks {
    fn progress(&self, _: u64, _: u64) {}

    fn is_stopped(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left == 0
    }
}

/// A spare area of this many bytes, of a drive without logs.
fn no_drive(spare: u64) -> (u64, MediaBytes) {
    (spare, MediaBytes::none())
}

#[test]
fn the_spare_area_is_what_no_namespace_has_and_a_quarter_where_that_is_unknown() {
    const TB: u64 = 1_000_000_000_000;
    let spare = |capacity: u64| {
        // One namespace of 800 GB in blocks of 4 KiB.
        let blocks = (800_000_000_000_u64 / 4096).to_le_bytes();
        let controller = structure(&[(280, &u128::from(capacity).to_le_bytes())]);
        let namespaces = structure(&[(0, &1_u32.to_le_bytes())]);
        let namespace = structure(&[(0, &blocks), (26, &[0]), (130, &[12])]);
        let answers = vec![controller, namespaces, namespace];
        spare_of(&mut Script::new(answers), 800_000_000_000)
    };
    assert_eq!(spare(TB), 200 * TB / 1000);
    assert_eq!(
        spare(800_001_000_000),
        200 * TB / 1000,
        "a quarter of the device"
    );
    assert_eq!(spare(1_200_000_000_000), 400 * TB / 1000);
    let refused = spare_of(&mut &tempfile::tempfile().unwrap(), 4 * TB);
    assert_eq!(refused, TB);
}

#[test]
fn a_small_device_writes_its_quarter_and_a_large_one_is_told_as_not_steady() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    let part = 0..1 << 20;
    let looks = || Looks(Cell::new(u32::MAX));
    let small = spare_of(&mut &file, 1 << 20);
    assert_eq!(small, 1 << 18);
    let rounds = |mix: &Mix, spare| {
        let rounds = run(&file, &part, mix, no_drive(spare), &looks()).unwrap();
        rounds.unwrap()
    };
    assert_eq!(rounds(&MIX, small).spare_left(), None);
    let large = rounds(&MIX, 1 << 60);
    assert!(!large.is_steady() && large.values().len() == ROUNDS_MAX);
    let verdict = large.verdict();
    assert!(verdict.contains("of 1153 PB spare written"), "{verdict}");
    // Reads alone write nothing, and are not asked to.
    let reads = Mix {
        read_percent: 100,
        ..MIX
    };
    assert_eq!(rounds(&reads, 1 << 60).spare_left(), None);
}

#[test]
fn every_request_is_within_the_part_and_each_write_has_data_of_its_own() {
    let file = tempfile::tempfile().unwrap();
    let part = 1 << 20..2 << 20;
    file.set_len(3 << 20).unwrap();
    let rounds = run(&file, &part, &MIX, no_drive(0), &Looks(Cell::new(u32::MAX))).unwrap();
    let rounds = rounds.unwrap();
    assert!(
        rounds.is_over() && rounds.values().iter().any(|value| *value > 0.0),
        "{rounds:?}"
    );
    let mut bytes = vec![0; 3 << 20];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let is_blank = |range: Range<usize>| bytes[range].iter().all(|byte| *byte == 0);
    assert!(is_blank(0..1 << 20) && is_blank(2 << 20..3 << 20));
    let sectors: Vec<_> = bytes[1 << 20..2 << 20].chunks(4096).collect();
    let mut written: Vec<_> = sectors
        .iter()
        .filter(|sector| super::super::data::is_ours(sector))
        .collect();
    let count = written.len();
    written.sort_unstable();
    written.dedup();
    assert!(count > 0 && written.len() == count, "{count}");
}

#[test]
fn it_stops_where_that_is_asked_for_and_fails_where_a_request_does() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    let mix = Mix {
        round: Duration::from_secs(3600),
        ..MIX
    };
    let stopped = run(
        &file,
        &(0..1 << 20),
        &mix,
        no_drive(0),
        &Looks(Cell::new(3)),
    )
    .unwrap();
    assert_eq!(stopped, None);
    // Reads after the end of the file.
    let part = 1 << 20..2 << 20;
    let reads = Mix {
        read_percent: 100,
        ..mix
    };
    assert!(
        run(
            &file,
            &part,
            &reads,
            no_drive(0),
            &Looks(Cell::new(u32::MAX))
        )
        .is_err()
    );
}

#[test]
fn a_file_fills_its_part_of_the_room_and_is_gone_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let own = file_in(dir.path());
    fs::write(&own, "of an earlier attempt").unwrap();
    // No room of this machine is less than a request of a petabyte.
    let large = Mix {
        block_bytes: 1 << 50,
        ..MIX
    };
    let error = steady_file(dir.path(), 1, &large, &Looks(Cell::new(0))).unwrap_err();
    assert!(
        tailmark_model::in_one_line(&error).contains("1 % of"),
        "{error}"
    );
    let removed = Removed::new(&own).unwrap();
    assert_eq!(removed.0.metadata().unwrap().len(), 0);
    drop(removed);
    assert!(!own.exists());
}
