//! One client's operations.

use crate::{
    Error, KeySpace, Mix, Workload,
    db_bench::Script,
    distribution::{Draw, Lengths, Space},
    key::KeyName,
    mix::{Choice, Chooser},
    random::{Purpose, Random},
    value::ValueMaker,
};
use std::sync::Arc;
use tailmark_driver::{DataSet, Fields, Operation};

/// What a stream is made of.
#[derive(Debug, Clone)]
pub struct StreamConfig {
    /// What is done.
    pub workload: Arc<Workload>,
    /// Which group of the workload the client is in, from 0.
    pub group: usize,
    /// The data set that it is done to.
    pub data: DataSet,
    /// The keys, shared with the other clients.
    pub keys: Arc<KeySpace>,
    /// Of every random draw, with `client`.
    pub seed: u64,
    /// The number of the client, from 0.
    pub client: u32,
    /// Operations expected of all clients together. Only `zipfian` uses it, as YCSB does: it draws
    /// from as many keys as there will be, twice the expected inserts included, and redraws those
    /// that are not there yet. With none (a point that ends by time) no inserts are expected, as in
    /// YCSB with an operation count of 0: the loaded records are drawn from, not the new ones.
    pub operations: Option<u64>,
    /// Whether an update writes all fields, or one uniformly chosen.
    pub write_all_fields: bool,
    /// The share of each value that a compressor can remove, from 0 to 1.
    pub compressibility: f64,
}

/// What a client does next; counts as one operation.
#[derive(Debug, Clone, Copy)]
pub enum Item<'a> {
    /// One request.
    One(Operation<'a>),
    /// Two requests for the same record, one after the other. As in YCSB, the second does not
    /// depend on the first, and is sent even where that failed.
    ReadModifyWrite {
        /// Sent first.
        read: Operation<'a>,
        /// Sent when the read is answered.
        update: Operation<'a>,
    },
}

/// Draws one client's operations. The same configuration draws the same ones, but for the keys of
/// inserts, `sequential` and `latest`, which depend on the other clients too.
#[derive(Debug)]
pub struct Stream {
    random: Random,
    chooser: Chooser,
    draw: Draw,
    lengths: Lengths,
    keys: Arc<KeySpace>,
    name: KeyName,
    values: ValueMaker,
    fields: u32,
    read_all_fields: bool,
    write_all_fields: bool,
    /// The insert drawn last, until it is acknowledged.
    inserting: Option<u64>,
    /// Draws everything, where the group does one of db_bench's benchmarks.
    script: Option<Box<Script>>,
}

impl Stream {
    /// A client's operations.
    ///
    /// # Errors
    /// Where the workload or the data set leaves nothing to draw from.
    pub fn new(config: &StreamConfig) -> Result<Self, Error> {
        let StreamConfig { workload, data, .. } = config;
        workload.validate()?;
        let name = || workload.name.clone();
        let group = workload
            .groups
            .get(config.group)
            .ok_or_else(|| Error::NoSuchGroup {
                workload: name(),
                groups: workload.groups.len(),
                group: config.group,
            })?;
        if data.schema.fields.is_empty() {
            return Err(Error::EmptyData {
                workload: name(),
                what: "fields",
            });
        }
        if data.records == 0 && (group.mix.draws_keys() || group.task.is_some()) {
            return Err(Error::EmptyData {
                workload: name(),
                what: "records",
            });
        }
        if !(0.0..=1.0).contains(&config.compressibility) {
            return Err(Error::BadNumber {
                workload: name(),
                what: "compressibility of the values",
                got: config.compressibility,
                accepted: "from 0 to 1",
            });
        }
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
        .formed(&workload.form, &data.schema.fields);
        let script = group
            .task
            .as_ref()
            .map(|task| Box::new(Script::new(task, config)));
        let mix = match script {
            Some(_) => Mix {
                read: 1.0,
                ..Mix::NONE
            }, // never drawn from
            None => group.mix,
        };
        Ok(Self {
            random: random(Purpose::Operations),
            chooser: Chooser::new(&mix),
            draw: Draw::new(group.distribution, space),
            lengths: Lengths::new(group.scan),
            keys: Arc::clone(&config.keys),
            name: KeyName::named(&workload.form.naming),
            values,
            fields: data.schema.fields.len() as u32,
            read_all_fields: group.read_all_fields,
            write_all_fields: config.write_all_fields,
            inserting: None,
            script,
        })
    }

    /// What to do next.
    #[inline]
    #[expect(
        clippy::unnecessary_unwrap,
        reason = "a borrow that is returned in one branch only must not be taken in the others"
    )]
    pub fn next_item(&mut self) -> Item<'_> {
        if self.script.is_some() {
            let script = self.script.as_mut().expect("it is some");
            return script.next_item(&self.keys);
        }
        match self.chooser.draw(&mut self.random) {
            Choice::Read => {
                self.draw_key();
                let fields = self.draw_read_fields();
                Item::One(Operation::Read {
                    key: self.name.key(),
                    fields,
                })
            }
            Choice::Update => {
                self.draw_key();
                let (first, count) = self.draw_written();
                let (key, values) = (self.name.key(), self.values.values(first, count));
                Item::One(Operation::Update { key, values })
            }
            Choice::Insert => {
                let number = self.keys.next_insert();
                self.inserting = Some(number);
                self.name.set(number);
                let count = self.fields as usize;
                self.values.make_for(0, count, &self.name);
                let (key, values) = (self.name.key(), self.values.values(0, count));
                Item::One(Operation::Insert { key, values })
            }
            Choice::Scan => {
                self.draw_key();
                let records = self.lengths.draw(&mut self.random);
                let fields = self.draw_read_fields();
                Item::One(Operation::Scan {
                    start: self.name.key(),
                    records,
                    fields,
                })
            }
            Choice::ReadModifyWrite => {
                self.draw_key();
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

    /// Says that the insert drawn last succeeded: its record may be read from now on. Does nothing
    /// where the operation drawn last is no insert.
    #[inline]
    pub fn acknowledge(&mut self) {
        let inserting = match &mut self.script {
            Some(script) => &mut script.inserting,
            None => &mut self.inserting,
        };
        if let Some(number) = inserting.take() {
            self.keys.acknowledge(number);
        }
    }

    /// Draws the key of a record that exists.
    #[inline]
    fn draw_key(&mut self) {
        self.inserting = None;
        self.name.set(self.draw.draw(&mut self.random, &self.keys));
    }

    #[inline]
    fn draw_read_fields(&mut self) -> Fields {
        if self.read_all_fields {
            Fields::All
        } else {
            Fields::One(self.random.below(u64::from(self.fields)) as u32)
        }
    }

    /// Makes the values of an update: the first of its fields, and how many.
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

/// How many inserts YCSB provides for: twice the expected ones. Where groups differ, the largest
/// share counts.
fn inserts_expected(config: &StreamConfig) -> u64 {
    let shares = config
        .workload
        .groups
        .iter()
        .map(|group| group.mix.insert_share());
    let share = shares.fold(0.0, f64::max);
    (config.operations.unwrap_or(0) as f64 * share * 2.0) as u64
}
