//! Uses a data set that another program loaded, after reading a sample of its records.
//!
//! Nothing is written to record this. The data stays foreign: it is never removed or loaded over,
//! and the next run samples it again.

use super::{Dataset, State, loader};
use crate::Error;
use std::{
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};
use tailmark_driver::{
    Access, Cause, Completion, Fields, Key, Operation, Params, Reply, Session, Special, Values,
};
use tailmark_engine::Stop;
use tailmark_plan::Plan;
use tailmark_workload::{Item, KeySpace, Stream, StreamConfig, db_bench::Sizes};

/// How many records are read, spread from the first to the last.
const SAMPLE: u64 = 1_000;
/// How often a stop is checked while waiting for a record.
const POLL: Duration = Duration::from_millis(50);

impl Dataset<'_> {
    /// Reads a sample of an adopted data set and reports the result; `None` if the data is not
    /// foreign.
    ///
    /// # Errors
    /// If a record of the sample is missing or does not match the plan, if the owner of the data is
    /// unknown, if it was replaced since this run adopted it, or if a stop is requested.
    pub fn adopt(&self, plan: &Plan, stop: &Stop) -> Result<Option<String>, Error> {
        if self.adopts {
            self.refuse_replaced()?;
            self.note_adopted()?;
        }
        if self.state()? != State::Adopted {
            return Ok(None);
        }
        // The data stays as it is, also after an error.
        let params = Params {
            access: Access::Read,
            ..self.params.clone()
        };
        let database = (self.system.driver.open)(&params)?;
        let mut session = database.session()?;
        let records = self.system.data.records;
        let sample = records.min(SAMPLE);
        // Keeps what the streams share, such as db_bench's pool of values, so that it is made once.
        let _shared = self.stream(plan, 0)?;
        for index in 0..u128::from(sample) {
            let place = index * u128::from(records - 1) / u128::from(sample - 1).max(1);
            self.compare(plan, place as u64, session.as_mut(), stop)?;
        }
        let written = match self.params.access {
            Access::Read => "",
            _ => " Updates and inserts of the points have changed it.",
        };
        Ok(Some(format!(
            "tailmark adopted the data set instead of loading it (dataset.adopt). It read {sample} \
             of the {records} records, spread from the first to the last: their keys and value \
             lengths match the plan. The other records, and how they were loaded, are \
             unknown.{written}"
        )))
    }

    /// The stream of a load from this record on.
    fn stream(&self, plan: &Plan, number: u64) -> Result<Stream, Error> {
        Ok(Stream::new(&StreamConfig {
            workload: Arc::new(loader(plan)),
            group: 0,
            data: self.system.data.clone(),
            keys: Arc::new(KeySpace::new(number, number)),
            seed: plan.sweep.seed,
            client: 0,
            operations: None,
            write_all_fields: true,
            compressibility: plan.dataset.compressibility,
        })?)
    }

    /// Reads the record with this number and compares it with what a load would have written.
    fn compare(
        &self,
        plan: &Plan,
        number: u64,
        session: &mut dyn Session,
        stop: &Stop,
    ) -> Result<(), Error> {
        let is_fixed = loader(plan)
            .record_layout()
            .is_none_or(|layout| matches!(layout.sizes, Sizes::Fixed));
        let mut stream = self.stream(plan, number)?;
        let (name, values) = written(&stream.next_item());
        let key = Key { number, name };
        let lengths = is_fixed.then_some(values.lengths);
        let fields = self.system.data.schema.fields.len();
        let found = difference(session, key, lengths, fields, stop);
        let system = self.system.name.clone();
        match found.map_err(|Stopped| Error::Stopped {
            doing: format!("tailmark read a sample of the records of system `{system}`"),
        })? {
            None => Ok(()),
            Some(why) => Err(Error::NotAdopted {
                system,
                place: self.params.location.clone(),
                number,
                key: String::from_utf8_lossy(name).into_owned(),
                why,
            }),
        }
    }
}

/// The key and the values that a load writes first.
fn written<'a>(item: &Item<'a>) -> (&'a [u8], Values<'a>) {
    match item {
        Item::One(Operation::Insert { key, values }) => (key.name, *values),
        Item::One(Operation::Special(Special::InsertMany { keys, values })) => {
            let lengths = &values.lengths[..1];
            let name = keys.iter().next().unwrap_or_default();
            (name, Values { lengths, ..*values })
        }
        other => unreachable!("a load inserts: {other:?}"),
    }
}

/// What is wrong with a record whose values should have these lengths, if anything.
fn difference(
    session: &mut dyn Session,
    key: Key<'_>,
    lengths: Option<&[u32]>,
    count: usize,
    stop: &Stop,
) -> Result<Option<String>, Stopped> {
    let mut found = vec![None; count];
    let mut visit = |field: u32, value: &[u8]| {
        if let Some(length) = found.get_mut(field as usize) {
            *length = Some(value.len() as u32);
        }
    };
    let fetched = answer(session.read_verified(key, &mut visit), stop)?;
    let is_fetched = !matches!(&fetched, Err(failure) if failure.cause == Cause::Unsupported);
    let read = if is_fetched {
        fetched
    } else {
        let fields = Fields::All;
        answer(session.execute(Operation::Read { key, fields }), stop)?
    };
    let outcome = match read {
        Ok(outcome) if outcome.records == 0 => return Ok(Some("it does not exist".to_owned())),
        Ok(outcome) => outcome,
        Err(failure) => return Ok(Some(failure.to_string())),
    };
    let Some(lengths) = lengths else {
        return Ok(None);
    };
    let wrong = (0..)
        .zip(&found)
        .zip(lengths)
        .find(|((_, found), length)| is_fetched && **found != Some(**length));
    if let Some(((field, stored), length)) = wrong {
        let stored = stored.map_or_else(|| "is missing".to_owned(), |n| format!("has {n} bytes"));
        return Ok(Some(format!(
            "its field {field} {stored}, but the plan says {length}"
        )));
    }
    let bytes: u64 = lengths.iter().copied().map(u64::from).sum();
    let stored = outcome.bytes.saturating_sub(key.name.len() as u64);
    let differs = || format!("it holds {stored} bytes, but records of the plan hold {bytes}");
    Ok((stored != bytes).then(differs))
}

/// A stop was requested.
struct Stopped;

/// The answer to a request, unless a stop is requested first.
fn answer(completion: Completion<'_>, stop: &Stop) -> Result<Reply, Stopped> {
    let mut future = match completion {
        Completion::Ready(_) if stop.requested() => return Err(Stopped),
        Completion::Ready(reply) => return Ok(reply),
        Completion::Pending(future) => future,
    };
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    while !stop.requested() {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(reply) => return Ok(reply),
            Poll::Pending => thread::park_timeout(POLL),
        }
    }
    Err(Stopped)
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
