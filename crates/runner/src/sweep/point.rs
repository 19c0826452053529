//! One point in a sweep, from starting its service to its findings.

use super::{
    Sweeper, load,
    requested::{MeasuredPoint, PointRequest, UntilFiguresKnown, WarmupRequest},
    turn::SystemState,
};
use crate::{
    Error,
    abort::AbortWatch,
    capture::Watched,
    error::in_one_line,
    expect::other_version,
    findings::{PointContext, SweepContext, all_findings},
    links,
    places::places,
    point::{self, Measured},
    power, prepare,
    ranks::Command,
    service::may_pass,
    warmup::{WarmupLength, by_rule, warm_up},
};
use std::{
    cell::Cell,
    sync::Arc,
    time::{Duration, Instant},
};
use tailmark_driver::{Database, Place, Settled, Statistic};
use tailmark_engine::{Enough, Spec, Terms};
use tailmark_model::{
    AVAILABLE, Fact, Finding, Phase, Point, PointKey, Sentence, Series, Warmup,
    finding::{NO_ANSWER, RECORDS_RESHAPED},
    number,
};
use tailmark_plan::{PlanPoint, SystemPlan};

/// How often a point is started if its server disappears before a client is at work.
const BEGINNINGS: u32 = 3;
/// How long a wait for background work is silent.
const SILENT: Duration = Duration::from_secs(10);

impl Sweeper<'_> {
    /// Measures a point; `None` if it was stopped.
    pub(super) fn point(
        &mut self,
        state: &SystemState<'_>,
        point: PlanPoint<'_>,
        key: PointKey,
        warmup: Option<WarmupLength>,
    ) -> Result<Option<MeasuredPoint>, Error> {
        let mut asked = PointRequest::from_point(self.plan, point);
        let until_known = UntilFiguresKnown::from_plan(self.plan);
        asked.enough = until_known.as_ref().map(|rule| rule as &dyn Enough);
        if let Some(length) = warmup {
            asked.warmup = WarmupRequest::ByRule(length);
        }
        self.measured(state, &asked, key)
    }

    /// The measurements with their findings, and whether the database settled afterwards; `None` if
    /// it was stopped.
    pub(super) fn measured(
        &mut self,
        state: &SystemState<'_>,
        asked: &PointRequest<'_>,
        key: PointKey,
    ) -> Result<Option<MeasuredPoint>, Error> {
        if self.stop.requested() {
            return Ok(None);
        }
        let (plan, system, dataset) = (self.plan, state.system, &state.dataset);
        let Some(caches_kept) = self.without_caches(system, dataset)? else {
            return Ok(None);
        };
        let losses = self.servers.losses(system);
        self.start_service()?;
        if !self.wait_ready(dataset, system)? {
            return Ok(None);
        }
        self.observer.step("opening the database");
        let database = dataset.open()?;
        let _open = self.ranks.open(system)?;
        let all_fields = plan.dataset.write_all_fields;
        let was_reshaped = dataset.note_changes(database.as_ref(), asked.workload, all_fields)?;
        let started = self.run_awaited(database.as_ref(), state, asked, &key)?;
        let Some((settled_before, measured)) = started else {
            return Ok(None);
        };
        let put_back = self.servers.put_back_since(system, &losses);
        self.say_not_sampled(system, &measured.not_sampled)?;
        if self.stop.requested() {
            return Ok(None);
        }
        // If the server does not come back, the point is measured again later.
        let is_gone = NO_ANSWER.is_among(&measured.phase.findings);
        if is_gone && !self.wait_ready(dataset, system)? {
            return Ok(None);
        }
        // A stop ends the wait, but the measurement is kept.
        let settled = self.settle(database.as_ref());
        dataset.refuse_replaced_table(database.as_ref(), "measured")?;
        let version = database.facts().remove("version");
        let context = PointContext {
            steady: (!asked.workload.starts_empty()).then_some(asked.steady),
            memory: self.memory(system),
            sweep: Some(SweepContext {
                plan,
                system,
                adopted: state.adopted.as_deref(),
                memory_unlimited: self.memory_unlimited.as_deref(),
                caches_kept,
                settled_before,
                settled_after: *settled.as_ref().unwrap_or(&Settled::Yes),
                unexpected: self.unexpected(system, version.as_deref()),
                version,
                links: links::degraded_of(&places(system)),
                starts: &self.starts,
                put_back,
            }),
            ..PointContext::new(system.driver, &dataset.params, &key, &measured)
        };
        let found = all_findings(&context, database.as_ref());
        let mut phase = measured.phase;
        phase.findings.extend(found);
        phase
            .findings
            .extend(settled.as_ref().err().map(load::never_settled));
        let reshaped = was_reshaped.then(|| reshaped(&phase));
        phase.findings.extend(reshaped);
        let point = Point { key, phase };
        Ok(Some(MeasuredPoint { point, settled }))
    }

    /// Differences of a system from the plan's expectations, given the version of its database.
    pub(super) fn unexpected(&self, system: &SystemPlan, version: Option<&str>) -> Vec<String> {
        let known = self.mismatches.about(&system.name).iter();
        let known = known.map(|wrong| format!("{wrong}."));
        known
            .chain(other_version(&system.expect, version))
            .collect()
    }

    /// Waits until background work has settled, the time is up or a stop was requested. After some
    /// seconds it says what it waits for.
    pub(super) fn settle(&self, database: &dyn Database) -> Result<Settled, Error> {
        self.observer.step("waiting for background work to settle");
        let (limit, began, is_told) = (self.plan.sweep.settle, Instant::now(), Cell::new(false));
        let stop = || {
            if began.elapsed() >= SILENT && !is_told.replace(true) {
                let statistics = database.statistics().unwrap_or_default();
                self.observer.notice(&unsettled(&statistics, limit));
            }
            self.stop.requested()
        };
        Ok(database.settle(limit, &stop)?)
    }

    /// Waits for the databases that other ranks have of their own.
    fn settle_others(&self, system: &SystemPlan) -> Result<(), Error> {
        self.ranks
            .each_of_own(system, |_| Command::Settle)
            .map(drop)
    }

    /// How the database settled, and the measurements that followed; `None` if it was stopped. If a
    /// server disappears before a client is at work, tailmark waits for it.
    fn run_awaited(
        &mut self,
        database: &dyn Database,
        state: &SystemState<'_>,
        asked: &PointRequest<'_>,
        key: &PointKey,
    ) -> Result<Option<(Settled, Measured)>, Error> {
        let system = state.system;
        let may_come_back = system.driver.place == Place::Hosts && self.ranks.size() == 1;
        let mut left = if may_come_back { BEGINNINGS } else { 1 };
        loop {
            left -= 1;
            match self.run_settled(database, system, asked, key) {
                Err(error) if left > 0 && may_pass(&error) => {
                    self.observer.notice(&in_one_line(&error));
                    if !self.wait_ready(&state.dataset, system)? {
                        return Ok(None);
                    }
                }
                ended => return ended,
            }
        }
    }

    /// The same of a server that is there all the while.
    fn run_settled(
        &mut self,
        database: &dyn Database,
        system: &SystemPlan,
        asked: &PointRequest<'_>,
        key: &PointKey,
    ) -> Result<Option<(Settled, Measured)>, Error> {
        self.settle_others(system)?;
        let settled = self.settle(database)?;
        if self.stop.requested() {
            return Ok(None);
        }
        let facts = Fact::of_database(&system.name, database.facts());
        self.study.set_facts(&facts)?;
        let idle = self.idle(database, system);
        let start = start_of(database, system);
        let mut measured = self.run_phase(database, system, asked, key)?;
        measured.phase.add_start(start);
        measured.phase.series.extend(idle);
        if let Some(log) = &self.plan.machine.power_log {
            match power::of_log(log, &measured.phase) {
                Ok(meter) => measured.phase.series.push(meter),
                Err(why) => measured.not_sampled.push(why),
            }
        }
        Ok(Some((settled, measured)))
    }

    /// The idle power of a system, measured before its first point in this run.
    fn idle(&mut self, database: &dyn Database, system: &SystemPlan) -> Vec<Series> {
        let Some(time) = self.plan.machine.idle else {
            return Vec::new();
        };
        if let Some(known) = self.idle.get(&system.name) {
            return known.clone();
        }
        self.observer.step("measuring idle power");
        let watched = self.watched(system);
        let idle = power::idle(watched, &system.name, database, time, self.stop);
        self.idle.insert(system.name.clone(), idle.clone());
        idle
    }

    fn run_phase(
        &self,
        database: &dyn Database,
        system: &SystemPlan,
        asked: &PointRequest<'_>,
        key: &PointKey,
    ) -> Result<Measured, Error> {
        let (dataset, records) = (&self.plan.dataset, system.data.records);
        let workload = asked.workload.as_ref().clone();
        let workload = Arc::new(workload.with_semantics(system.semantics));
        let clients = system.driver.client_count(&system.settings, key.threads);
        let keys = Arc::new(self.ranks.keys(system, records, clients));
        let spec = Spec {
            clients: system.driver.clients(&system.settings),
            system: &system.name,
            point: Some(key),
            enough: asked.enough,
            anatomy: asked.anatomy,
            terms: Terms {
                threads: clients,
                rate: key.target_rate,
                arrivals: key.arrivals,
                operations: asked.operations,
                duration: asked.duration,
                seed: asked.seeds.measure(),
                warmup_seed: asked.seeds.warmup(),
                write_all_fields: dataset.write_all_fields,
                compressibility: dataset.compressibility,
                ..Terms::default()
            },
            ..Spec::new(database, &workload, &system.data, &keys)
        };
        let watched = self.watched(system);
        let what = format!("{} ran with {} threads", key.workload, key.threads);
        let limits = self.ranks.limits(self.plan);
        let measure = |part: &Spec<'_>| self.run_watched(part, system, &watched, &what);
        let length = match asked.warmup {
            // A discarded warm-up is not watched. With limits it is a separate phase.
            WarmupRequest::For(warmup) if limits.is_empty() || warmup <= Warmup::EDGE => {
                let terms = Terms {
                    warmup,
                    ..spec.terms
                };
                return measure(&Spec { terms, ..spec });
            }
            WarmupRequest::For(warmup) => WarmupLength::fixed(warmup),
            WarmupRequest::ByRule(length) => length,
        };
        let before = Spec {
            enough: None,
            terms: Terms {
                seed: asked.seeds.warmup(),
                ..spec.terms
            },
            ..spec
        };
        let rule = asked.steady;
        let target = (system.name.as_str(), database);
        let abort = AbortWatch::new(limits, target, None, self.stop);
        let together = self
            .ranks
            .begin(&by_rule(&before, length), system, abort.stop())?;
        let watch = (&watched, self.observer);
        let warmup = warm_up(together, &before, length, rule, watch, &abort)?;
        abort.ended(&warmup.phase, &format!("{what} to warm up"))?;
        let mut measured = measure(&Spec {
            terms: Terms {
                continues: true,
                warmup: Warmup::EDGE,
                warmup_seed: asked.seeds.edge(),
                ..spec.terms
            },
            ..spec
        })?;
        if let WarmupRequest::ByRule(_) = asked.warmup {
            measured.phase.warmup = Some(Box::new(warmup));
        }
        Ok(measured)
    }

    /// Measures a phase within the limits of the plan; `what` describes it.
    fn run_watched(
        &self,
        spec: &Spec<'_>,
        system: &SystemPlan,
        watched: &Watched,
        what: &str,
    ) -> Result<Measured, Error> {
        let (limits, target) = (self.ranks.limits(self.plan), (spec.system, spec.database));
        let abort = AbortWatch::new(limits, target, spec.enough, self.stop);
        let enough = abort.enough();
        let (spec, stop) = (&Spec { enough, ..*spec }, abort.stop());
        let together = self.ranks.begin(spec, system, stop)?;
        let measured = point::measure_together(together, spec, watched, self.observer, stop)?;
        abort.ended(&measured.phase, what)?;
        Ok(measured)
    }

    /// What is watched while a system is loaded or measured.
    pub(super) fn watched(&self, system: &SystemPlan) -> Watched {
        Watched::of_ranks(self.plan, system, self.ranks)
            .with_servers(self.servers.of(system), system)
    }

    /// Says what cannot be sampled of a system, once in a study.
    fn say_not_sampled(&self, system: &SystemPlan, not_sampled: &[String]) -> Result<(), Error> {
        if not_sampled.is_empty() {
            return Ok(());
        }
        let said = self.study.notices()?;
        for why in not_sampled {
            let notice = point::without(&system.name, why);
            if !said.contains(&notice) {
                self.observer.notice(&notice);
                self.study.add_notice(&notice)?;
            }
        }
        Ok(())
    }

    /// Bytes of memory that can cache the files of a system's database: the limit of this run, or that of
    /// its server on all hosts together. `None` if it is not known.
    fn memory(&self, system: &SystemPlan) -> Option<u64> {
        let server_limit = prepare::server_limit(self.plan, system).unwrap_or(u64::MAX);
        if !system.is_here() {
            return self.servers.memory(system, server_limit);
        }
        let limit = match (system.driver.place, &self.memory_unlimited) {
            (Place::Hosts, _) => server_limit,
            (_, None) => self.plan.machine.memory_limit.unwrap_or(u64::MAX),
            (_, Some(_)) => u64::MAX,
        };
        Some(limit.min(tailmark_machine::memory().total))
    }
}

/// The state of a system before a point: of its database and of its file system.
fn start_of(database: &dyn Database, system: &SystemPlan) -> Vec<Series> {
    let shape = database.shape().into_iter();
    let shape = shape.map(|one| (one.name, one.value));
    let place = system.location.path().filter(|_| system.is_here());
    let space = place.and_then(|place| tailmark_machine::space(place).ok());
    let space = space.filter(|space| !space.is_device);
    let space = space.map(|space| (AVAILABLE.to_owned(), space.available as f64));
    let all = shape.chain(space);
    all.map(|(name, value)| Series::at_start((&system.name, &name), 0.0, value))
        .collect()
}

/// What to say of a point that was measured on records which updates before it have cut down.
fn reshaped(phase: &Phase) -> Finding {
    let read = phase.read_bytes();
    let found = read.map_or("", |_| ", and its reads found {Bytes of a read} bytes each");
    let sentence = Sentence::new(format!(
        "Updates before this point replaced whole records with the fields that they wrote (update \
         = \"replace\"){found}. Load the data set again (dataset.restore = \"reload\"), or let updates merge."
    ));
    RECORDS_RESHAPED.finding(match read {
        Some(bytes) => sentence.count("Bytes of a read", bytes.round() as u64),
        None => sentence,
    })
}

/// What a database that does not settle is still doing, by its statistics.
fn unsettled(statistics: &[Statistic], limit: Duration) -> String {
    let is_work = |one: &&Statistic| {
        let is_named = ["running_", "pending_"]
            .iter()
            .any(|word| one.name.starts_with(word));
        is_named && one.value > 0.0
    };
    let mut text = format!(
        "waiting for the database's background work, for up to {} (sweep.settle)",
        number::rounded(limit)
    );
    for (index, one) in statistics.iter().filter(is_work).enumerate() {
        text.push_str(if index == 0 { ": " } else { ", " });
        text.push_str(&format!("{} {}", one.name, number::count(one.value as u64)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_background_work_says_how_long_it_may_take_and_what_is_done() {
        let minute = Duration::from_secs(60);
        let statistics = [
            Statistic::gauge("pending_compaction_bytes", 1_234_567.0),
            Statistic::gauge("running_compactions", 2.0),
            Statistic::gauge("running_flushes", 0.0),
            Statistic::gauge("sst_bytes", 5.0),
        ];
        let said = "waiting for the database's background work, for up to 1m (sweep.settle)";
        assert_eq!(unsettled(&[], minute), said);
        assert_eq!(
            unsettled(&statistics, minute),
            format!("{said}: pending_compaction_bytes 1,234,567, running_compactions 2")
        );
    }
}
