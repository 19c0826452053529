//! Prepares devices and the machine like a run on this machine: with the same steps, guards and
//! journal. Whatever can be restored is restored when the connection ends.

use crate::agent::protocol::{Answer, Line, Looked, LookedAt};
use std::{
    cell::Cell,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};
use tailmark_model::in_one_line;
use tailmark_prepare::{
    Changes, CompletedStep, Error, JOURNAL_DIRECTORY, Job, JobRequest, Journal, Target, Watch,
};

/// How often progress is sent, at most.
const PROGRESS: Duration = Duration::from_millis(100);

/// The preparation over one connection.
pub struct Preparing<'a> {
    tell: &'a dyn Fn(&Line),
    log: &'a dyn Fn(&str),
    /// Any of them ends a step.
    stops: [&'a AtomicBool; 2],
    /// The changes to restore.
    journal: Option<Journal<'a>>,
}

impl<'a> Preparing<'a> {
    /// Nothing yet; progress goes to `tell`, lines to `log`, and any of `stops` ends a step.
    pub const fn new(
        tell: &'a dyn Fn(&Line),
        log: &'a dyn Fn(&str),
        stops: [&'a AtomicBool; 2],
    ) -> Self {
        Self {
            tell,
            log,
            stops,
            journal: None,
        }
    }

    /// What would be prepared, and all objections.
    pub fn look(&self, request: &JobRequest) -> Answer {
        let far = Far {
            tell: self.tell,
            stops: self.stops,
            told: Cell::new(None),
        };
        answer(look(request, &far).map(Answer::Looked))
    }

    /// Carries out a request.
    pub fn carry_out(&mut self, request: &JobRequest, whose: &str, destroys: bool) -> Answer {
        answer(self.try_to(request, whose, destroys).map(Answer::Prepared))
    }

    /// Restores the preparation's changes.
    pub fn put_back(&mut self) -> Answer {
        let journal = self.journal.take();
        answer(journal.map_or(Ok(0), Journal::end).map(Answer::Left))
    }

    fn try_to(
        &mut self,
        request: &JobRequest,
        whose: &str,
        destroys: bool,
    ) -> Result<Vec<CompletedStep>, Error> {
        let mut job = Job::find(own(request))?;
        let far = Far {
            tell: self.tell,
            stops: self.stops,
            told: Cell::new(None),
        };
        if destroys {
            job.refuse(&far)?;
        }
        job.refuse_place(destroys)?;
        let journal = match self.journal.take() {
            Some(journal) => journal,
            None => Journal::open(Path::new(JOURNAL_DIRECTORY), self.log)?,
        };
        let journal = self.journal.insert(journal);
        let which = |changes| changes != Changes::Data || destroys;
        job.carry_out(whose, which, journal, &far, self.log)
    }
}

fn look(request: &JobRequest, watch: &dyn Watch) -> Result<Looked, Error> {
    let job = Job::find(own(request))?;
    let requested = job.requested(|changes| changes == Changes::Data)?;
    let refusals = if job.targets.is_empty() || requested.is_empty() {
        Vec::new()
    } else {
        job.refusals(watch)?
    };
    let done = |(step, commands): &(&tailmark_prepare::PrepareStep, Vec<String>)| CompletedStep {
        step: step.name.to_owned(),
        command: commands.join("; "),
        found: Vec::new(),
    };
    let device = |target: &Target| LookedAt {
        number: target.identity.number,
        serial: target.identity.serial.clone(),
    };
    Ok(Looked {
        destroys: requested.iter().map(done).collect(),
        devices: job.targets.iter().map(device).collect(),
        is_agreed: job.is_agreed(),
        flags: job.flags(),
        refusals: refusals.iter().map(|o| o.text.clone()).collect(),
        misplaced: job
            .refuse_place(job.is_agreed())
            .err()
            .map(|error| in_one_line(&error)),
    })
}

/// The request with what must not be touched here.
fn own(request: &JobRequest) -> JobRequest {
    let mut own = request.clone();
    own.consent.kept.push(JOURNAL_DIRECTORY.into());
    own
}

fn answer(result: Result<Answer, Error>) -> Answer {
    result.unwrap_or_else(|error| Answer::Refused(in_one_line(&error)))
}

/// Sends the progress of a step to the other end.
struct Far<'a> {
    tell: &'a dyn Fn(&Line),
    stops: [&'a AtomicBool; 2],
    /// When progress was sent.
    told: Cell<Option<Instant>>,
}

impl Watch for Far<'_> {
    fn begins(&self, what: &str) {
        (self.tell)(&Line::Begins(what.to_owned()));
    }

    fn progress(&self, done: u64, total: u64) {
        let is_soon = |told: Instant| told.elapsed() < PROGRESS;
        if done < total && self.told.get().is_some_and(is_soon) {
            return;
        }
        self.told.set(Some(Instant::now()));
        (self.tell)(&Line::Progress { done, total });
    }

    fn is_stopped(&self) -> bool {
        self.stops.iter().any(|stop| stop.load(Ordering::Relaxed))
    }
}
