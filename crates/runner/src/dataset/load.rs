//! The load of a data set: from nothing, or from where an earlier load ended.
//!
//! Records are written in the order of their numbers. Every few seconds the written data is made
//! durable, and the marker gets the number below which every record was acknowledged. A killed load
//! resumes from there.

use super::{Dataset, State};
use crate::{
    Error,
    abort::AbortWatch,
    capture::Watched,
    point::{self, Measured},
    ranks::{Ranks, is_own},
    seeds::PointSeeds,
};
use std::{
    sync::{Arc, mpsc},
    time::Duration,
};
use tailmark_driver::Database;
use tailmark_engine::{Observer, Spec, Stop, Terms};
use tailmark_model::{Arrivals, Load, Phase};
use tailmark_plan::Plan;
use tailmark_workload::Workload;

/// How often an unfinished load is made durable and marked.
const CHECKPOINT: Duration = Duration::from_secs(10);

impl Dataset<'_> {
    /// Loads missing records and flushes. [`Self::complete`] then marks the data set as complete.
    /// Returns when the load began, possibly in an earlier run; `None` if it was stopped and will
    /// resume the next time. `in_study` is the start of the last load in the study.
    ///
    /// # Errors
    /// If the database refuses, or if records could not be written.
    pub fn load(
        &self,
        (plan, ranks): (&Plan, &Ranks),
        seeds: &PointSeeds,
        watched: &Watched,
        observer: &dyn Observer,
        stop: &Stop,
        in_study: Option<&str>,
    ) -> Result<Option<(Load, String)>, Error> {
        let records = self.system.data.records;
        let from = self.go_on_from()?;
        let started = match self.started()? {
            // This load replaces the one in the study.
            marked if from > 0 || in_study == Some(marked.as_str()) => marked,
            _ => super::now(),
        };
        let database = self.make()?;
        self.write(Some(database.as_ref()), &started, from, false)?;
        // All ranks load this server. With separate data sets, each rank opens its own.
        let _open = if is_own(self.system) {
            None
        } else {
            Some(ranks.open(self.system)?)
        };
        let workload = Arc::new(loader(plan));
        let system = self.system;
        let threads = system
            .driver
            .client_count(&system.settings, plan.sweep.load_threads)
            .min(u32::try_from(records - from).unwrap_or(u32::MAX))
            .max(1);
        let keys = Arc::new(ranks.keys(self.system, from, threads));
        let target = (self.system.name.as_str(), database.as_ref());
        let abort = AbortWatch::new(ranks.limits(plan), target, None, stop);
        let spec = Spec {
            clients: self.system.driver.clients(&self.system.settings),
            system: &self.system.name,
            enough: abort.enough(),
            terms: Terms {
                threads,
                rate: plan.dataset.load_rate,
                arrivals: plan.dataset.load_rate.map(|_| Arrivals::Even),
                operations: Some(records - from),
                // A resumed load draws different values.
                seed: seeds.load(from),
                write_all_fields: true,
                compressibility: plan.dataset.compressibility,
                ends_at_failure: true,
                ..Terms::default()
            },
            ..Spec::new(database.as_ref(), &workload, &self.system.data, &keys)
        };
        let ending = abort.stop();
        let together = ranks.begin(&spec, self.system, ending)?;
        let Measured { phase, .. } = std::thread::scope(|scope| {
            let (done, wait) = mpsc::channel::<()>();
            let mark = || self.mark(database.as_ref(), &started, keys.acknowledged());
            scope.spawn(move || checkpoint(mark, &wait, observer));
            let measured = point::measure_together(together, &spec, watched, observer, ending);
            drop(done);
            measured
        })?;
        let loaded = keys.acknowledged();
        let aborted = abort.ended(&phase, "loading");
        if aborted.is_err() || !phase.errors.is_empty() {
            // A failure does not matter: the marker then claims fewer records.
            let _ = self.mark(database.as_ref(), &started, loaded);
            self.refuse_replaced_table(database.as_ref(), "loaded")?;
            aborted?;
            return Err(self.load_failed(&phase, from, loaded));
        }
        observer.step("flushing the loaded data");
        let is_stopped = || ending.requested();
        if loaded < records || !database.flush(&is_stopped)? {
            self.mark(database.as_ref(), &started, loaded)?;
            return Ok(None);
        }
        if ranks.sets_of(self.system) > 1 {
            // Another rank may have been stopped before its last record. This one resumes from
            // here.
            self.write(Some(database.as_ref()), &started, loaded, false)?;
        }
        Ok(Some((self.loaded(phase, records - from, threads), started)))
    }

    /// The row of a load in the study.
    fn loaded(&self, phase: Phase, records: u64, threads: u32) -> Load {
        Load {
            system: self.system.name.clone(),
            // With separate data sets, the records of all ranks.
            records: if phase.ranks.len() > 1 && is_own(self.system) {
                phase.succeeded()
            } else {
                records
            },
            threads,
            phase,
        }
    }

    fn load_failed(&self, phase: &Phase, from: u64, loaded: u64) -> Error {
        let first = phase.errors.first();
        let example = first.map(|first| format!("{}: {}", first.cause, first.example));
        Error::LoadFailed {
            system: self.system.name.clone(),
            failed: phase.errors(),
            records: self.system.data.records,
            from,
            loaded,
            example: example.unwrap_or_default(),
        }
    }

    /// The first record that is not loaded yet. If none is loaded, existing data is removed.
    fn go_on_from(&self) -> Result<u64, Error> {
        match self.state()? {
            // At least one record is written, so that the load has a rate.
            State::Begun(loaded) => Ok(loaded.min(self.system.data.records - 1)),
            // Every record is written, also over those of a killed load.
            State::Empty if self.kept_records()?.is_some() => Ok(0),
            _ => self.remove().map(|()| 0),
        }
    }

    /// Marks the whole data set as loaded. Called when its load is in the study: a run that ends
    /// earlier loads the rest again.
    ///
    /// # Errors
    /// If the marker cannot be written.
    pub fn complete(&self, database: &dyn Database, started: &str) -> Result<(), Error> {
        self.write(Some(database), started, self.system.data.records, true)
    }

    /// Marks that this many records are loaded, once they are durable.
    fn mark(&self, database: &dyn Database, started: &str, loaded: u64) -> Result<(), Error> {
        database.sync()?;
        self.write(Some(database), started, loaded, false)
    }
}

/// Marks the progress every few seconds until `wait` is closed. A failed mark is made up for by the
/// next, but the last mark, after the load, must succeed.
fn checkpoint(
    mark: impl Fn() -> Result<(), Error>,
    wait: &mpsc::Receiver<()>,
    observer: &dyn Observer,
) {
    while let Err(mpsc::RecvTimeoutError::Timeout) = wait.recv_timeout(CHECKPOINT) {
        if let Err(error) = mark() {
            observer.notice(&format!(
                "the marker of the loaded data could not be updated: \
                                      {error}"
            ));
        }
    }
}

/// What loads the plan's data set.
pub(crate) fn loader(plan: &Plan) -> Workload {
    plan.sweep
        .workloads
        .first()
        .map_or_else(Workload::load, |workload| workload.loader())
}
