//! What the generator of db_bench's operations draws.

use super::*;
use crate::Workload;
use std::sync::Arc;
use tailmark_driver::{DataSet, Schema};

/// The configuration of client 0 over this many records of one field of 100 bytes.
fn config(records: u64) -> StreamConfig {
    let (table, fields) = ("default".to_owned(), vec!["value".to_owned()]);
    StreamConfig {
        workload: Arc::new(Workload::load()),
        group: 0,
        data: DataSet {
            schema: Schema { table, fields },
            records,
            field_length: 100,
        },
        keys: Arc::new(KeySpace::new(records, records)),
        seed: 0,
        client: 0,
        operations: None,
        write_all_fields: false,
        compressibility: 0.5,
    }
}

fn generator(op: Op, layout: RecordLayout, records: u64) -> Generator {
    let starts_empty = false;
    Generator::new(
        &DbBenchWorkload {
            op,
            layout,
            starts_empty,
        },
        &config(records),
    )
}

fn numbers(generator: &mut Generator, count: usize) -> Vec<u64> {
    let keys = KeySpace::new(0, 0);
    let number = |item: Item<'_>| match item {
        Item::One(
            Operation::Read { key, .. }
            | Operation::Insert { key, .. }
            | Operation::Delete { key }
            | Operation::Special(Special::Seek { start: key, .. }),
        ) => key.number,
        other => panic!("{other:?}"),
    };
    (0..count)
        .map(|_| number(generator.next_item(&keys)))
        .collect()
}

#[test]
fn keys_are_those_of_db_bench_with_the_same_seed() {
    // Its first thread is seeded with the seed and 1. Of every two numbers the first chooses
    // the database, but for a seek.
    let mut random = Twister::new(1);
    let drawn: Vec<_> = (0..200).map(|_| random.next() % 1000).collect();
    let expected: Vec<_> = drawn.iter().copied().skip(1).step_by(2).collect();
    assert_eq!(
        numbers(&mut generator(Op::Read, RecordLayout::DEFAULT, 1000), 100),
        expected
    );
    let write = Op::Write(Order::Random);
    assert_eq!(
        numbers(&mut generator(write, RecordLayout::DEFAULT, 1000), 100),
        expected
    );
    let seek = Op::Seek {
        nexts: 0,
        direction: Direction::Forward,
        distance_max: 0,
    };
    assert_eq!(
        numbers(&mut generator(seek, RecordLayout::DEFAULT, 1000), 200),
        drawn
    );
}

#[test]
fn a_fill_in_order_writes_every_key_and_begins_again() {
    let write = Op::Write(Order::Sequential);
    assert_eq!(
        numbers(&mut generator(write, RecordLayout::DEFAULT, 3), 5),
        [0, 1, 2, 0, 1]
    );
    let mut unique = numbers(
        &mut generator(Op::Write(Order::Unique), RecordLayout::DEFAULT, 500),
        500,
    );
    unique.sort_unstable();
    assert!(unique.into_iter().eq(0..500));
}

#[test]
fn reads_come_before_writes_in_every_hundred() {
    let op = Op::ReadThenWrite { read_percent: 90 };
    let (mut generator, keys) = (
        generator(op, RecordLayout::DEFAULT, 1000),
        KeySpace::new(0, 0),
    );
    let writes: Vec<_> = (0..300)
        .filter(|_| {
            matches!(
                generator.next_item(&keys),
                Item::One(Operation::Insert { .. })
            )
        })
        .collect();
    let expected: Vec<_> = (0..300).filter(|i| i % 100 >= 90).collect();
    assert_eq!(writes, expected);
}

#[test]
fn a_stride_stays_within_the_records() {
    let layout = RecordLayout {
        batch: 10,
        stride: 7,
        ..RecordLayout::DEFAULT
    };
    let (mut generator, keys) = (generator(Op::ReadMany, layout, 100), KeySpace::new(0, 0));
    for _ in 0..1000 {
        let Item::One(Operation::Special(Special::ReadMany { keys })) = generator.next_item(&keys)
        else {
            panic!("no batch of reads");
        };
        let numbers: Vec<_> = keys
            .iter()
            .map(|name| u64::from_be_bytes(name[..8].try_into().unwrap()))
            .collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 7) && numbers[9] < 100);
    }
}

#[test]
fn skewed_reads_prefer_few_keys() {
    let layout = RecordLayout {
        exp_range: 25.0,
        ..RecordLayout::DEFAULT
    };
    let drawn = numbers(&mut generator(Op::Read, layout, 1_000_000), 10_000);
    let mut distinct = drawn.clone();
    distinct.sort_unstable();
    distinct.dedup();
    // The share of draws above rank n e^-x is x / 25: 44 % of them share rank 0.
    let zeros = drawn.iter().filter(|number| **number == 0).count();
    assert!((4000..5000).contains(&zeros), "{zeros}");
    assert!(distinct.len() < 6000, "{}", distinct.len());
}
