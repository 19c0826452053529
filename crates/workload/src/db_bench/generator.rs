//! One client's requests, drawn as db_bench draws them.

use super::{
    DbBenchWorkload, Op, Order, RecordLayout,
    key::KeyNames,
    mix_graph::{Query, Social},
    permutation::Permutation,
    twister::Twister,
    value::ValuePool,
};
use crate::{Item, KeySpace, StreamConfig};
use tailmark_driver::{Direction, Fields, Key, Operation, Special};

/// Draws one client's requests.
#[derive(Debug)]
pub(crate) struct Generator {
    op: Op,
    layout: RecordLayout,
    records: u64,
    random: Twister,
    names: KeyNames,
    /// A key that is one byte longer than those of records.
    missing: Vec<u8>,
    values: ValuePool,
    unique: Permutation,
    social: Option<Box<Social>>,
    /// How many keys were drawn in sequence.
    sequence: u64,
    /// The client's position in its cycle of reads and writes, or in its stride.
    cycle: u32,
    /// The key of the stride.
    strided: u64,
    /// The insert drawn last, until it is acknowledged.
    pub inserting: Option<u64>,
}

impl Generator {
    /// The requests of this client. Its seed is the configuration's plus its number plus 1, because
    /// db_bench counts threads from 1.
    pub fn new(db_bench: &DbBenchWorkload, config: &StreamConfig) -> Self {
        let (op, mut layout) = (db_bench.op, db_bench.layout);
        if matches!(op, Op::Read | Op::ReadMissing) && layout.stride == 0 {
            layout.batch = 1;
        }
        let (seed, client) = (config.seed, config.client);
        let records = config.data.records;
        let count = layout.batch.max(2) as usize;
        let compressibility = config.compressibility;
        let values = ValuePool::new(
            &layout,
            config.data.field_length,
            compressibility,
            seed,
            client,
        );
        let social = match op {
            Op::MixGraph(graph) => Some(Box::new(Social::new(graph, records))),
            _ => None,
        };
        Self {
            op,
            layout,
            records,
            random: Twister::new(seed.wrapping_add(u64::from(client)).wrapping_add(1)),
            names: KeyNames::new(&layout, records, count),
            missing: Vec::with_capacity(layout.key_bytes as usize + 1),
            values,
            unique: Permutation::new(records, seed),
            social,
            sequence: 0,
            cycle: 0,
            strided: 0,
            inserting: None,
        }
    }

    /// Continues at the position of another generator of the same workload, with its own draws.
    pub fn go_on_from(&mut self, before: &Self) {
        (self.sequence, self.unique) = (before.sequence, before.unique);
        (self.cycle, self.strided) = (before.cycle, before.strided);
    }

    /// The next item.
    #[inline]
    pub fn next_item(&mut self, keys: &KeySpace) -> Item<'_> {
        Item::One(match self.op {
            Op::Read => {
                self.choose_database();
                let number = self.draw_read();
                self.read(number)
            }
            Op::Write(order) => self.write(order, keys),
            Op::ReadThenWrite { read_percent } => {
                let reads = self.cycle < u32::from(read_percent);
                self.cycle = (self.cycle + 1) % 100;
                self.choose_database();
                let number = self.random_record();
                if reads {
                    self.read(number)
                } else {
                    self.put(number)
                }
            }
            Op::Update => return self.update(),
            Op::Seek {
                nexts,
                direction,
                distance_max,
            } => self.seek(nexts, direction, distance_max),
            Op::ReadMany => self.read_many(),
            Op::ReadMissing => self.read_missing(),
            Op::Walk(direction) => Operation::Special(Special::Next { direction }),
            Op::Delete(order) => self.delete(order, keys),
            Op::MixGraph(_) => self.social(),
        })
    }

    /// Draws like db_bench, which chooses one of its databases before most requests. Here there is
    /// only one.
    #[inline]
    fn choose_database(&mut self) {
        self.random.next();
    }

    fn read(&mut self, number: u64) -> Operation<'_> {
        self.names.set(0, number);
        Operation::Read {
            key: self.names.key(),
            fields: Fields::All,
        }
    }

    fn put(&mut self, number: u64) -> Operation<'_> {
        self.names.set(0, number);
        Operation::Insert {
            key: self.names.key(),
            values: self.values.next(1),
        }
    }

    fn write(&mut self, order: Order, keys: &KeySpace) -> Operation<'_> {
        let count = self.draw_written(order, keys);
        match count {
            1 => Operation::Insert {
                key: self.names.key(),
                values: self.values.next(1),
            },
            _ => Operation::Special(Special::InsertMany {
                keys: self.names.keys(count),
                values: self.values.next(count),
            }),
        }
    }

    fn delete(&mut self, order: Order, keys: &KeySpace) -> Operation<'_> {
        match self.draw_written(order, keys) {
            1 => Operation::Delete {
                key: self.names.key(),
            },
            count => Operation::Special(Special::DeleteMany {
                keys: self.names.keys(count),
            }),
        }
    }

    fn update(&mut self) -> Item<'_> {
        self.choose_database();
        let number = self.random_record();
        self.names.set(0, number);
        let (key, values) = (self.names.key(), self.values.next(1));
        Item::ReadModifyWrite {
            read: Operation::Read {
                key,
                fields: Fields::All,
            },
            update: Operation::Update { key, values },
        }
    }

    fn read_missing(&mut self) -> Operation<'_> {
        self.choose_database();
        let number = self.draw_read();
        self.names.set(0, number);
        self.missing.clear();
        self.missing.extend_from_slice(self.names.name(0));
        self.missing.push(0);
        let key = Key {
            number,
            name: &self.missing,
        };
        Operation::Read {
            key,
            fields: Fields::All,
        }
    }

    fn read_many(&mut self) -> Operation<'_> {
        self.choose_database();
        let (batch, stride) = (self.layout.batch, self.layout.stride);
        let first = if stride > 0 {
            self.first_of_stride()
        } else {
            0
        };
        for index in 0..batch {
            let number = match stride {
                0 => self.draw_random(),
                _ => first + u64::from(index) * stride,
            };
            self.names.set(index as usize, number);
        }
        let keys = self.names.keys(batch as usize);
        Operation::Special(Special::ReadMany { keys })
    }

    fn seek(&mut self, nexts: u32, direction: Direction, distance_max: u64) -> Operation<'_> {
        let number = self.random_record();
        if distance_max > 0 {
            let end = match direction {
                Direction::Forward => (number + distance_max).min(self.records),
                Direction::Backward => number.saturating_sub(distance_max),
            };
            self.names.set(1, end);
        }
        self.names.set(0, number);
        Operation::Special(Special::Seek {
            start: self.names.key(),
            records: nexts,
            direction,
            bound: (distance_max > 0).then(|| self.names.name(1)),
        })
    }

    fn social(&mut self) -> Operation<'_> {
        self.choose_database();
        let drawn = self.draw_random();
        let social = self.social.as_mut().expect("a mixed graph has its model");
        let (number, query) = social.draw(drawn, &mut self.random);
        match query {
            Query::Get => self.read(number),
            Query::Put { bytes } => {
                self.names.set(0, number);
                Operation::Insert {
                    key: self.names.key(),
                    values: self.values.next_of(bytes),
                }
            }
            Query::Seek { nexts } => {
                self.names.set(0, number);
                Operation::Special(Special::Seek {
                    start: self.names.key(),
                    records: nexts,
                    direction: Direction::Forward,
                    bound: None,
                })
            }
        }
    }

    /// Names the keys of a write or a removal. Returns their number.
    fn draw_written(&mut self, order: Order, keys: &KeySpace) -> usize {
        let count = match order {
            // One a request, so that each is acknowledged.
            Order::Insert => 1,
            _ => self.layout.batch as usize,
        };
        if order == Order::Random {
            self.choose_database();
        }
        let range = match self.layout.writes_over {
            0 => self.records,
            over => over,
        };
        for index in 0..count {
            let number = match order {
                Order::Sequential => self.next_in_sequence(),
                Order::Unique => {
                    let place = self.next_in_sequence();
                    self.unique.at(place)
                }
                Order::Random => self.random.next() % range,
                Order::Insert => {
                    let number = keys.next_insert();
                    self.inserting = Some(number);
                    number
                }
            };
            self.names.set(index, number);
        }
        count
    }

    fn next_in_sequence(&mut self) -> u64 {
        let number = self.sequence;
        self.sequence = if number + 1 == self.records {
            0
        } else {
            number + 1
        };
        number
    }

    #[inline]
    fn random_record(&mut self) -> u64 {
        self.random.next() % self.records
    }

    /// The key of the next single read.
    #[inline]
    fn draw_read(&mut self) -> u64 {
        let RecordLayout { batch, stride, .. } = self.layout;
        if batch == 1 || stride == 0 {
            return self.draw_random();
        }
        self.cycle += 1;
        if self.cycle == batch {
            self.cycle = 0;
            self.strided = self.first_of_stride();
        } else {
            self.strided += stride;
        }
        self.strided
    }

    /// A random key from which the stride of a batch stays within the records.
    fn first_of_stride(&mut self) -> u64 {
        let (batch, stride) = (u64::from(self.layout.batch), self.layout.stride);
        let number = self.draw_random();
        if number + (batch - 1) * stride >= self.records {
            self.records.saturating_sub(batch * stride)
        } else {
            number
        }
    }

    /// A random record with the skew of the layout: db_bench's `GetRandomKey`.
    #[inline]
    fn draw_random(&mut self) -> u64 {
        let bits = self.random.next();
        if self.layout.exp_range == 0.0 {
            return bits % self.records;
        }
        let order = -((bits % (1 << 62)) as f64) / (1_u64 << 62) as f64 * self.layout.exp_range;
        let rank = (order.exp() * self.records as f64) as u64;
        rank.wrapping_mul(0x5bd1_e995) % self.records
    }
}

#[cfg(test)]
mod tests;
