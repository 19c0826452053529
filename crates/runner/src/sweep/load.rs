//! The load of a system in a sweep: its entry in the study, and its findings.

use super::{Sweeper, turn::fact};
use crate::{
    Error,
    dataset::Dataset,
    error::in_one_line,
    expect::finding_of,
    findings::{not_started, of_load, remarks},
    ranks::{Answer, Command},
    seeds::PointSeeds,
};
use tailmark_driver::{Place, Settled};
use tailmark_model::{
    Finding, Load, Sentence,
    finding::{LOAD_RESUMED, NOT_SETTLED},
};
use tailmark_plan::{PlanPoint, SystemPlan};
use tailmark_study::Study;

/// How often the load of a server resumes after failed requests.
const ATTEMPTS: usize = 100;

impl Sweeper<'_> {
    /// Loads the data set; false if it was stopped.
    pub(super) fn load(
        &mut self,
        dataset: &Dataset<'_>,
        system: &SystemPlan,
        point: &PlanPoint<'_>,
    ) -> Result<bool, Error> {
        let Some((mut load, started)) = self.load_to_its_end(dataset, system, point)? else {
            return Ok(false);
        };
        let database = dataset.open()?;
        add(&mut load, remarks(database.as_ref()));
        let version = database.facts().remove("version");
        let unexpected = self.unexpected(system, version.as_deref());
        load.phase.findings.extend(finding_of(&unexpected));
        // The order matters: if the run ends in between, the rest is loaded again, and that
        // load replaces this one.
        self.study.replace_load(&load, &started)?;
        self.has_measured = true;
        self.keep_repeat(system, point)?;
        dataset.complete(database.as_ref(), &started)?;
        self.ranks.each_of_own(system, |system| Command::Complete {
            system,
            started: started.clone(),
        })?;
        let settled = self.settle(database.as_ref());
        let left_over = match &settled {
            Ok(Settled::No) => Some(NOT_SETTLED.finding(
                "Background work was still running when the time to wait for it \
                              (sweep.settle) was over.",
            )),
            Ok(Settled::NotStarted) => Some(NOT_SETTLED.finding(not_started("after the load"))),
            Err(error) => Some(never_settled(error)),
            Ok(_) => None,
        };
        load.phase.findings.extend(left_over);
        add(&mut load, remarks(database.as_ref()));
        self.study.replace_load(&load, &started)?;
        self.observer.load_finished(&load);
        settled.map(|_| true)
    }

    /// Loads, resuming as often as there is progress; `None` if it was stopped. A server may be
    /// gone for a while.
    fn load_to_its_end(
        &mut self,
        dataset: &Dataset<'_>,
        system: &SystemPlan,
        point: &PlanPoint<'_>,
    ) -> Result<Option<(Load, String)>, Error> {
        let mut failures = Vec::new();
        let seeds = PointSeeds::from_point(self.plan.sweep.seed, point);
        loop {
            let in_study = fact(&self.study, system, Study::LOAD_BEGAN)?;
            let in_study = in_study.as_deref();
            let watched = self.watched(system);
            // A host keeps what was prepared only while its connection lasts.
            let losses = self.awaited(system, || Ok(self.servers.losses(system)))?;
            let Some(losses) = losses else {
                return Ok(None);
            };
            self.ranks.begin_own(system, |system| Command::Load {
                system,
                seed: seeds.to_number(),
            });
            let on = (self.plan, self.ranks);
            let loaded = dataset.load(on, &seeds, &watched, self.observer, self.stop, in_study);
            let loaded = self.ranks.end_own(system, loaded);
            match loaded {
                // Requests that hang in the database fail when they are ended.
                Err(error @ Error::LoadFailed { .. }) if self.stop.requested() => {
                    self.observer.notice(&error.to_string());
                    return Ok(None);
                }
                Err(error @ Error::LoadFailed { from, loaded, .. })
                    if system.driver.place == Place::Hosts
                        && loaded > from
                        && failures.len() < ATTEMPTS =>
                {
                    self.observer.notice(&error.to_string());
                    failures.push(error);
                    if !self.wait_ready(dataset, system)? {
                        return Ok(None);
                    }
                }
                // A load that was stopped has records left.
                Ok((Some((mut load, started)), others)) if others.iter().all(has_loaded) => {
                    let records = system.data.records * self.ranks.sets_of(system);
                    let resumed = load_resumed(&load, records, &failures);
                    load.phase.findings.extend(resumed);
                    let put_back = self.servers.put_back_since(system, &losses);
                    let lost = of_load(&load.phase, &put_back);
                    load.phase.findings.extend(lost);
                    return Ok(Some((load, started)));
                }
                ended => return ended.map(|_| None),
            }
        }
    }
}

/// Whether a rank has all records of its own.
const fn has_loaded(answer: &Answer) -> bool {
    matches!(
        answer,
        Answer::Loaded {
            is_loaded: true,
            ..
        }
    )
}

/// Adds findings that are new, or say more now.
fn add(load: &mut Load, remarks: Vec<Finding>) {
    for remark in remarks {
        let findings = &mut load.phase.findings;
        findings.retain(|finding| finding.code != remark.code);
        findings.push(remark);
    }
}

/// The finding about a load that is incomplete by itself, or in which requests failed.
fn load_resumed(load: &Load, records: u64, failures: &[Error]) -> Option<Finding> {
    let failed = failures.first().map(|first| {
        let sentence = Sentence::new(
            "Requests failed {Times failed} times in this run; first: {First failure}.",
        );
        let sentence = sentence.count("Times failed", failures.len() as u64);
        sentence.text("First failure", first.to_string())
    });
    let resumed = (load.records < records).then(|| {
        Sentence::new(
            "The load was interrupted and resumed from its marker: its numbers cover only the last \
             {Records loaded} of {Records} records.",
        )
        .count("Records loaded", load.records)
        .count("Records", records)
    });
    let again = (resumed.is_none() && failed.is_some()).then(|| {
        Sentence::new(
            "The load was interrupted and restarted from the first record: its numbers cover only \
             the last attempt.",
        )
    });
    let all = [resumed, again, failed].into_iter().flatten();
    all.reduce(Sentence::and)
        .map(|sentence| LOAD_RESUMED.finding(sentence))
}

/// The finding that background work failed after the measured part, which ends the run.
pub(super) fn never_settled(error: &Error) -> Finding {
    let sentence = Sentence::new("Background work failed after this and ended the run: {Error}.");
    NOT_SETTLED.finding(sentence.text("Error", in_one_line(error)))
}
