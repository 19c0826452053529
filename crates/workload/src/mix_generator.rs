//! One client's operations, drawn from a mix.

use crate::{
    ClientGroup, Item, KeySpace, MixedOperations, StreamConfig,
    distribution::{Draw, Lengths, Space},
    key::KeyName,
    mix::{Choice, Chooser},
    random::{Purpose, Random},
    value::ValueMaker,
};
use tailmark_driver::{Fields, Operation};

/// Draws one client's operations by their weights.
#[derive(Debug)]
pub(crate) struct MixGenerator {
    random: Random,
    chooser: Chooser,
    draw: Draw,
    lengths: Lengths,
    name: KeyName,
    values: ValueMaker,
    fields: u32,
    read_all_fields: bool,
    write_all_fields: bool,
    /// The insert drawn last, until it is acknowledged.
    pub inserting: Option<u64>,
}

impl MixGenerator {
    /// The operations of this client, from a checked configuration.
    pub fn new(mixed: &MixedOperations, config: &StreamConfig) -> Self {
        let StreamConfig { workload, data, .. } = config;
        let space = Space {
            records: data.records,
            inserts_expected: inserts_expected(config),
            range: workload.range,
        };
        let random = |purpose| Random::new(config.seed, config.client, purpose);
        let values = ValueMaker::new(
            data.schema.fields.len(),
            data.field_length,
            config.compressibility,
            random(Purpose::Values),
        )
        .with_format(&workload.format, &data.schema.fields);
        Self {
            random: random(Purpose::Operations),
            chooser: Chooser::new(&mixed.mix),
            draw: Draw::new(mixed.distribution, space),
            lengths: Lengths::new(mixed.scan),
            name: KeyName::with_format(&workload.format.keys),
            values,
            fields: data.schema.fields.len() as u32,
            read_all_fields: mixed.read_all_fields,
            write_all_fields: config.write_all_fields,
            inserting: None,
        }
    }

    /// The next item.
    #[inline]
    pub fn next_item(&mut self, keys: &KeySpace) -> Item<'_> {
        match self.chooser.draw(&mut self.random) {
            Choice::Read => {
                self.draw_key(keys);
                let fields = self.draw_read_fields();
                Item::One(Operation::Read {
                    key: self.name.key(),
                    fields,
                })
            }
            Choice::Update => {
                self.draw_key(keys);
                let (first, count) = self.draw_written();
                let (key, values) = (self.name.key(), self.values.values(first, count));
                Item::One(Operation::Update { key, values })
            }
            Choice::Insert => {
                let number = keys.next_insert();
                self.inserting = Some(number);
                self.name.set(number);
                let count = self.fields as usize;
                self.values.make_for(0, count, &self.name);
                let (key, values) = (self.name.key(), self.values.values(0, count));
                Item::One(Operation::Insert { key, values })
            }
            Choice::Scan => {
                self.draw_key(keys);
                let records = self.lengths.draw(&mut self.random);
                let fields = self.draw_read_fields();
                Item::One(Operation::Scan {
                    start: self.name.key(),
                    records,
                    fields,
                })
            }
            Choice::ReadModifyWrite => {
                self.draw_key(keys);
                let fields = self.draw_read_fields();
                let (first, count) = self.draw_written();
                let (key, values) = (self.name.key(), self.values.values(first, count));
                Item::ReadModifyWrite {
                    read: Operation::Read { key, fields },
                    update: Operation::Update { key, values },
                }
            }
        }
    }

    /// Draws the key of an existing record.
    #[inline]
    fn draw_key(&mut self, keys: &KeySpace) {
        self.inserting = None;
        self.name.set(self.draw.draw(&mut self.random, keys));
    }

    #[inline]
    fn draw_read_fields(&mut self) -> Fields {
        if self.read_all_fields {
            Fields::All
        } else {
            Fields::One(self.random.below(u64::from(self.fields)) as u32)
        }
    }

    /// Makes the values of an update. Returns the first field and the number of fields.
    #[inline]
    fn draw_written(&mut self) -> (u32, usize) {
        let (first, count) = if self.write_all_fields {
            (0, self.fields as usize)
        } else {
            (self.random.below(u64::from(self.fields)) as u32, 1)
        };
        self.values.make_for(first, count, &self.name);
        (first, count)
    }
}

/// The number of inserts that YCSB allows for: twice the expected ones. If groups differ, the
/// largest share counts.
fn inserts_expected(config: &StreamConfig) -> u64 {
    let shares = config
        .workload
        .groups
        .iter()
        .filter_map(ClientGroup::mix)
        .map(|mixed| mixed.mix.insert_share());
    let share = shares.fold(0.0, f64::max);
    (config.operations.unwrap_or(0) as f64 * share * 2.0) as u64
}
