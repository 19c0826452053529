//! One client's operations.

use crate::{
    ClientGroup, Error, GroupOperations, Item, KeySpace, StreamConfig, db_bench,
    mix_generator::MixGenerator,
};
use std::sync::Arc;

/// Draws one client's operations. The same configuration draws the same operations, except for the
/// keys of inserts, `sequential` and `latest`, which also depend on other clients.
#[derive(Debug)]
pub struct Stream {
    keys: Arc<KeySpace>,
    generator: Generator,
}

/// The source of a stream.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one a client, and the loop that measures goes through no pointer to it"
)]
enum Generator {
    Mix(MixGenerator),
    DbBench(Box<db_bench::Generator>),
}

impl Stream {
    /// A client's operations.
    ///
    /// # Errors
    /// If the workload or the data set leaves nothing to draw from.
    pub fn new(config: &StreamConfig) -> Result<Self, Error> {
        let group = group(config)?;
        let generator = match &group.operations {
            GroupOperations::Mix(mixed) => Generator::Mix(MixGenerator::new(mixed, config)),
            GroupOperations::DbBench(workload) => {
                Generator::DbBench(Box::new(db_bench::Generator::new(workload, config)))
            }
        };
        Ok(Self {
            keys: Arc::clone(&config.keys),
            generator,
        })
    }

    /// The next item.
    #[inline]
    pub fn next_item(&mut self) -> Item<'_> {
        match &mut self.generator {
            Generator::Mix(mix) => mix.next_item(&self.keys),
            Generator::DbBench(db_bench) => db_bench.next_item(&self.keys),
        }
    }

    /// Reports that the last drawn insert succeeded, so that its record may be read. Does nothing
    /// if the last drawn operation is not an insert.
    #[inline]
    pub fn acknowledge(&mut self) {
        let inserting = match &mut self.generator {
            Generator::Mix(mix) => &mut mix.inserting,
            Generator::DbBench(db_bench) => &mut db_bench.inserting,
        };
        if let Some(number) = inserting.take() {
            self.keys.acknowledge(number);
        }
    }

    /// Draws like `next` from now on: with another seed for another part of a phase. Orders that a
    /// client walks by itself continue where they are.
    pub fn follow(&mut self, mut next: Self) {
        if let (Generator::DbBench(before), Generator::DbBench(next)) =
            (&self.generator, &mut next.generator)
        {
            next.go_on_from(before);
        }
        *self = next;
    }
}

/// The client's group, checked against the data that it draws from.
fn group(config: &StreamConfig) -> Result<&ClientGroup, Error> {
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
    let draws_keys = match &group.operations {
        GroupOperations::Mix(mixed) => mixed.mix.draws_keys(),
        GroupOperations::DbBench(_) => true,
    };
    if data.records == 0 && draws_keys {
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
    Ok(group)
}
