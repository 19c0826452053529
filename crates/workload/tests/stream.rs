//! What a stream draws, seen from outside.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};
use tailmark_driver::{DataSet, Fields, Operation, Schema};
use tailmark_workload::{
    ClientGroup, DISTRIBUTIONS, Distribution, Item, KeySpace, Mix, Stream, StreamConfig, WORKLOADS,
    Workload, find, key,
};

fn config(workload: Workload, records: u64) -> StreamConfig {
    let fields = (0..4).map(|n| format!("field{n}")).collect();
    StreamConfig {
        workload: Arc::new(workload),
        group: 0,
        data: DataSet {
            schema: Schema {
                table: "usertable".into(),
                fields,
            },
            records,
            field_length: 100,
        },
        keys: Arc::new(KeySpace::new(records, records)),
        seed: 1,
        client: 0,
        operations: Some(1_000_000),
        write_all_fields: false,
        compressibility: 0.0,
    }
}

fn stream(workload: Workload, records: u64) -> Stream {
    Stream::new(&config(workload, records)).expect("a valid configuration")
}

fn own(mix: Mix) -> Workload {
    Workload::new("own", "", ClientGroup::new(mix, Distribution::Uniform))
}

/// Everything that a database would see of an item.
fn seen(item: Item<'_>) -> String {
    format!("{item:?}")
}

fn drawn(config: &StreamConfig, count: usize) -> Vec<String> {
    let mut stream = Stream::new(config).expect("a valid configuration");
    (0..count).map(|_| seen(stream.next_item())).collect()
}

/// The key of an item without its values.
fn number(item: Item<'_>) -> u64 {
    match item {
        Item::One(
            Operation::Read { key, .. }
            | Operation::Insert { key, .. }
            | Operation::Update { key, .. }
            | Operation::Scan { start: key, .. }
            | Operation::Delete { key },
        )
        | Item::ReadModifyWrite {
            read: Operation::Read { key, .. },
            ..
        } => key.number,
        Item::ReadModifyWrite { .. } => unreachable!("its first request is a read"),
        Item::One(Operation::Special(_)) => panic!("no workload of YCSB's sends these"),
    }
}

#[test]
fn the_same_seed_and_client_draw_the_same_operations() {
    for row in WORKLOADS {
        for distribution in DISTRIBUTIONS {
            let workload = row.workload().with_distribution(distribution.default);
            let once = || drawn(&config(workload.clone(), 10_000), 500);
            assert_eq!(once(), once(), "{} {}", row.name, distribution.name);
        }
    }
}

#[test]
fn another_seed_or_client_draws_other_operations() {
    let first = config(find("ycsb-a").expect("a row"), 10_000);
    let seed = StreamConfig {
        seed: 2,
        ..first.clone()
    };
    let client = StreamConfig {
        client: 1,
        ..first.clone()
    };
    let draws: BTreeSet<_> = [first, seed, client]
        .iter()
        .map(|c| drawn(c, 100))
        .collect();
    assert_eq!(draws.len(), 3);
}

/// Every value that this many items write.
fn written(config: &StreamConfig, count: usize) -> BTreeSet<Vec<u8>> {
    let mut stream = Stream::new(config).expect("a valid configuration");
    let mut written = BTreeSet::new();
    for _ in 0..count {
        let (Item::One(Operation::Insert { values, .. } | Operation::Update { values, .. })
        | Item::ReadModifyWrite {
            update: Operation::Update { values, .. },
            ..
        }) = stream.next_item()
        else {
            continue;
        };
        written.extend(values.iter().map(|(_, value)| value.to_vec()));
    }
    written
}

#[test]
fn no_value_of_another_seed_comes_again() {
    let names = ["ycsb-a", "ycsb-d", "ycsb-f", "overwrite", "updaterandom"];
    for name in names {
        for compressibility in [0.0, 0.5] {
            let values = |seed| {
                let mut config = config(find(name).expect("a row"), 1_000);
                (config.seed, config.compressibility) = (seed, compressibility);
                written(&config, 2_000)
            };
            let (one, other) = (values(1), values(2));
            assert!(one.len() > 50 && one.is_disjoint(&other), "{name}");
        }
    }
}

#[test]
fn a_stream_that_follows_draws_by_its_own_seed_and_keeps_the_place() {
    for name in ["ycsb-a", "ycsb-f", "readrandom", "overwrite"] {
        let first = config(find(name).expect("a row"), 1_000_000);
        let second = StreamConfig {
            seed: 2,
            ..first.clone()
        };
        let mut stream = Stream::new(&first).expect("a valid configuration");
        for _ in 0..10 {
            stream.next_item();
        }
        stream.follow(Stream::new(&second).expect("a valid configuration"));
        let follow: Vec<_> = (0..100).map(|_| seen(stream.next_item())).collect();
        assert_eq!(follow, drawn(&second, 100), "{name}");
    }
    let mut stream = stream(find("fillseq").expect("a row"), 1_000);
    let before = [0; 5].map(|_| number(stream.next_item()));
    let other = StreamConfig {
        seed: 2,
        ..config(find("fillseq").expect("a row"), 1_000)
    };
    stream.follow(Stream::new(&other).expect("a valid configuration"));
    let after = [0; 5].map(|_| number(stream.next_item()));
    assert_eq!((before, after), ([0, 1, 2, 3, 4], [5, 6, 7, 8, 9]));
}

#[test]
fn the_format_of_values_changes_no_key() {
    let keys = |config: &StreamConfig| -> Vec<u64> {
        let mut stream = Stream::new(config).expect("a valid configuration");
        (0..1_000).map(|_| number(stream.next_item())).collect()
    };
    let first = config(find("ycsb-a").expect("a row"), 10_000);
    let mut other = StreamConfig {
        compressibility: 0.5,
        ..first.clone()
    };
    other.data.field_length = 5_000;
    assert_eq!(keys(&first), keys(&other));
}

#[test]
fn ycsb_workloads_have_their_proportions() {
    const DRAWS: u32 = 200_000;
    // Read, update, insert, scan, read-modify-write.
    for (name, shares) in [
        ("ycsb-a", [0.5, 0.5, 0.0, 0.0, 0.0]),
        ("ycsb-b", [0.95, 0.05, 0.0, 0.0, 0.0]),
        ("ycsb-c", [1.0, 0.0, 0.0, 0.0, 0.0]),
        ("ycsb-d", [0.95, 0.0, 0.05, 0.0, 0.0]),
        ("ycsb-d-uniform", [0.95, 0.0, 0.05, 0.0, 0.0]),
        ("ycsb-e", [0.0, 0.0, 0.05, 0.95, 0.0]),
        ("ycsb-f", [0.5, 0.0, 0.0, 0.0, 0.5]),
    ] {
        let mut stream = stream(find(name).expect(name), 10_000);
        let mut counts = [0_u32; 5];
        for _ in 0..DRAWS {
            let index = match stream.next_item() {
                Item::One(Operation::Read { .. }) => 0,
                Item::One(Operation::Update { .. }) => 1,
                Item::One(Operation::Insert { .. }) => 2,
                Item::One(Operation::Scan { .. }) => 3,
                Item::ReadModifyWrite { .. } => 4,
                Item::One(Operation::Delete { .. } | Operation::Special(_)) => {
                    panic!("no workload of YCSB's sends these")
                }
            };
            counts[index] += 1;
            stream.acknowledge();
        }
        for (count, share) in counts.into_iter().zip(shares) {
            let expected = f64::from(DRAWS) * share;
            let bound = 5.0 * (expected * (1.0 - share)).sqrt();
            assert!(
                (f64::from(count) - expected).abs() <= bound,
                "{name}: {counts:?}"
            );
        }
    }
}

#[test]
fn a_load_inserts_every_number_once_whole_and_in_order() {
    let configuration = config(Workload::load(), 1_000);
    let keys = Arc::new(KeySpace::new(0, 0));
    let clients = |client| StreamConfig {
        client,
        keys: Arc::clone(&keys),
        ..configuration.clone()
    };
    let mut streams =
        [0, 1].map(|client| Stream::new(&clients(client)).expect("a valid configuration"));
    for expected in 0..1_000 {
        let stream = &mut streams[expected as usize % 2];
        let Item::One(Operation::Insert { key, values }) = stream.next_item() else {
            panic!("a load only inserts")
        };
        assert_eq!(key.number, expected);
        assert_eq!(key.name, format!("user{}", key::hash(expected)).as_bytes());
        let fields: Vec<_> = values
            .iter()
            .map(|(field, value)| (field, value.len()))
            .collect();
        assert_eq!(fields, [(0, 100), (1, 100), (2, 100), (3, 100)]);
        stream.acknowledge();
        assert_eq!(keys.acknowledged(), expected + 1);
    }
}

#[test]
fn an_insert_that_is_not_acknowledged_is_never_read() {
    let mix = Mix {
        read: 0.5,
        insert: 0.5,
        ..Mix::NONE
    };
    let latest = own(mix).with_distribution(Distribution::Latest);
    let mut stream = stream(latest, 100);
    let (mut inserts, mut reads_of_new) = (0, 0);
    for _ in 0..10_000 {
        match stream.next_item() {
            Item::One(Operation::Insert { key, .. }) => {
                inserts += 1;
                // Of the first 1,000 inserts, that of key 600 fails.
                if key.number != 600 {
                    stream.acknowledge();
                }
            }
            item => {
                assert!(number(item) < 600);
                reads_of_new += u32::from(number(item) >= 100);
            }
        }
    }
    assert!(inserts > 1_000 && reads_of_new > 1_000);
}

#[test]
fn an_acknowledgement_counts_once_and_only_for_an_insert() {
    let mut stream = stream(
        own(Mix {
            insert: 1.0,
            read: 1.0,
            ..Mix::NONE
        }),
        100,
    );
    let mut inserted = BTreeSet::new();
    for _ in 0..1_000 {
        let item = stream.next_item();
        let is_insert = matches!(item, Item::One(Operation::Insert { .. }));
        let number = number(item);
        assert!(is_insert == (number >= 100), "inserts start at the records");
        assert!(!is_insert || inserted.insert(number));
        stream.acknowledge();
        stream.acknowledge();
    }
    assert_eq!(
        inserted.len() as u64,
        inserted.last().expect("some inserts") - 99
    );
}

#[test]
fn an_update_writes_one_field_and_every_field_in_turn() {
    let mut stream = stream(
        own(Mix {
            update: 1.0,
            ..Mix::NONE
        }),
        100,
    );
    let mut counts = [0_u32; 4];
    for _ in 0..40_000 {
        let Item::One(Operation::Update { values, .. }) = stream.next_item() else {
            panic!("only updates are asked for")
        };
        assert_eq!((values.lengths, values.bytes.len()), (&[100][..], 100));
        counts[values.first as usize] += 1;
    }
    assert!(
        counts.iter().all(|c| c.abs_diff(10_000) < 500),
        "{counts:?}"
    );
}

#[test]
fn an_update_of_all_fields_writes_them_all() {
    let first = config(
        own(Mix {
            update: 1.0,
            ..Mix::NONE
        }),
        100,
    );
    let all = StreamConfig {
        write_all_fields: true,
        ..first
    };
    let mut stream = Stream::new(&all).expect("a valid configuration");
    let Item::One(Operation::Update { values, .. }) = stream.next_item() else {
        panic!("only updates are asked for")
    };
    assert_eq!(
        (values.first, values.lengths),
        (0, &[100, 100, 100, 100][..])
    );
}

#[test]
fn a_read_modify_write_reads_and_updates_the_same_record() {
    let mut stream = stream(
        own(Mix {
            read_modify_write: 1.0,
            ..Mix::NONE
        }),
        1_000,
    );
    for _ in 0..1_000 {
        let Item::ReadModifyWrite {
            read:
                Operation::Read {
                    key: read,
                    fields: Fields::All,
                },
            update:
                Operation::Update {
                    key: updated,
                    values,
                },
        } = stream.next_item()
        else {
            panic!("only read-modify-writes are asked for")
        };
        assert_eq!(read, updated);
        assert_eq!(values.lengths.len(), 1);
    }
}

#[test]
fn reads_of_one_field_take_every_field() {
    let mut workload = own(Mix {
        read: 1.0,
        ..Mix::NONE
    });
    workload.groups[0].mix_mut().expect("a mix").read_all_fields = false;
    let mut stream = stream(workload, 100);
    let fields: BTreeSet<_> = (0..1_000)
        .map(|_| match stream.next_item() {
            Item::One(Operation::Read {
                fields: Fields::One(field),
                ..
            }) => field,
            item => panic!("{item:?}"),
        })
        .collect();
    assert!(fields.into_iter().eq(0..4));
}

#[test]
fn scans_of_e_fetch_1_to_100_records() {
    let mut stream = stream(find("ycsb-e").expect("a row"), 1_000);
    let lengths: BTreeSet<_> = (0..20_000)
        .filter_map(|_| match stream.next_item() {
            Item::One(Operation::Scan { records, .. }) => Some(records),
            _ => None,
        })
        .collect();
    assert!(lengths.into_iter().eq(1..=100));
}

#[test]
fn groups_do_their_own_mix() {
    let mut workload = own(Mix {
        read: 1.0,
        ..Mix::NONE
    });
    workload.groups.push(ClientGroup::new(
        Mix {
            insert: 1.0,
            ..Mix::NONE
        },
        Distribution::Uniform,
    ));
    let first = config(workload, 100);
    let second = StreamConfig {
        group: 1,
        ..first.clone()
    };
    assert!(
        drawn(&first, 100)
            .iter()
            .all(|item| item.contains("Read {"))
    );
    assert!(
        drawn(&second, 100)
            .iter()
            .all(|item| item.contains("Insert {"))
    );
}

#[test]
fn ten_thousand_million_records_start_at_once() {
    for row in DISTRIBUTIONS {
        let workload = find("ycsb-a")
            .expect("a row")
            .with_distribution(row.default);
        let once = |_| {
            let start = Instant::now();
            let mut stream = stream(workload.clone(), 10_000_000_000);
            assert!(number(stream.next_item()) < 10_000_000_000);
            start.elapsed()
        };
        // The best of some: a busy machine may take a while over any of them.
        let took = (0..5).map(once).min().expect("five");
        assert!(took < Duration::from_millis(500), "{} {took:?}", row.name);
    }
}

#[test]
fn refuses_what_leaves_nothing_to_draw() {
    let good = config(find("ycsb-a").expect("a row"), 100);
    let no_records = config(find("ycsb-a").expect("a row"), 0);
    let mut no_fields = good.clone();
    no_fields.data.schema.fields.clear();
    let no_group = StreamConfig {
        group: 1,
        ..good.clone()
    };
    let compressibility = StreamConfig {
        compressibility: 1.5,
        ..good
    };
    for (bad, word) in [
        (no_records, "records"),
        (no_fields, "fields"),
        (no_group, "group 1"),
        (compressibility, "compressibility"),
    ] {
        let error = Stream::new(&bad).expect_err(word).to_string();
        assert!(error.contains(word), "{error}");
    }
    assert!(
        Stream::new(&config(Workload::load(), 0)).is_ok(),
        "a load needs no records"
    );
}
