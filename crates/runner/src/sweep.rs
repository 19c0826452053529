//! Carries out a plan: each point of each system in its turn, committed one by one.

mod asked;
pub(crate) mod begun;
pub(crate) mod ladder;
mod load;
mod lock;
mod passes;
mod pending;
pub(crate) mod rates;
pub(crate) mod search;
mod summary;
mod turn;
mod warmups;

use crate::service::{Services, wait_ready};
use crate::{
    Error,
    caches::drop_caches,
    capture::Watched,
    dataset::Dataset,
    expect::{Surprises, other_version},
    facts::{describe, run_facts},
    findings::Evidence,
    former, links, order,
    places::places,
    point::{self, Measured, all_findings},
    preflight::{Ready, preflight, refuse_as_written},
    prepare::{self, Prepared},
    ranks::{Command, Ranks},
    retry,
    samples::{Wanted, too_short},
    servers::Servers,
    warmup::{by_rule, warm_up},
};
use asked::{Asked, AskedWarmup, MeasuredPoint};
use begun::known;
use ladder::{Ladders, tell_points};
use lock::lock_prepared;
use pending::{all_pending, measured};
use std::{path::Path, sync::Arc};
pub use summary::Summary;
use tailmark_driver::{Database, Place, Settled};
use tailmark_engine::{Observer, Spec, Stop};
use tailmark_host::MemoryLimit;
use tailmark_plan::{Order, Plan, Step, SystemPlan};
use tailmark_results::{Fact, Point, PointKey, Study, Warmup, finding::NO_ANSWER};
use turn::SystemState;

/// Carries out `plan`, with its study in the directory `out`.
///
/// # Errors
/// Where something is wrong with the plan's places, databases or the study; what was measured until
/// then is in the study.
pub fn run(
    plan: &Plan,
    out: &Path,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Summary, Error> {
    run_on(&Ranks::alone(), plan, out, observer, stop)
}

/// The same with the clients spread over several processes, of which this is the first.
///
/// # Errors
/// As [`run`], and where another process could not do its part.
pub fn run_on(
    ranks: &Ranks,
    plan: &Plan,
    out: &Path,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Summary, Error> {
    refuse_as_written(plan)?;
    let plan = &*ranks.with_number(plan);
    let log = |text: &str| prepare::tell(observer, text);
    let mut locked = lock_prepared(plan, out, &log, observer, stop)?;
    let (plan, known) = known(plan, out, observer)?;
    let plan = &*plan;
    let measured = known.as_ref().map(|study| measured(plan, study));
    let measured = measured.transpose()?.unwrap_or_default();
    let is_pending = |system: &SystemPlan| !measured.contains(&system.name.as_str());
    let servers = Servers::connect(plan, is_pending);
    servers.refuse_needed(plan)?;
    let prepared = &mut locked.prepared;
    prepared.prepare_servers(plan, &servers, out, observer, stop)?;
    let Ready {
        mut systems,
        left_out,
        surprises,
    } = preflight(plan, is_pending, (ranks, &servers), observer)?;
    let (order, not_interleaved) = order::in_effect(plan, &systems);
    if order == Order::Systems {
        systems.sort_by_key(|system| !plan.is_first(system));
    }
    // Also one that is measured: a run that ended may have left its service running.
    let alone = systems.iter().filter(|_| order == Order::Interleaved);
    let alone = alone.map(|system| system.name.as_str()).collect();
    let create = || Study::create(out, &plan.header, &describe(plan));
    let study = known.map_or_else(create, Ok)?;
    let (limit, memory_unlimited) = limit_memory(plan, observer);
    let of_plan = plan.host.limit_notice().into_iter();
    let of_plan = of_plan.chain(locked.one_device.clone());
    let of_plan = of_plan.chain(not_interleaved).chain(surprises.notices());
    let of_others = servers
        .notices()
        .into_iter()
        .chain(ranks.notices().to_vec());
    let notices: Vec<String> = of_plan.chain(of_others).collect();
    tell_and_keep(&notices, &study, observer)?;
    locked.prepared.keep(plan, &study, &left_out)?;
    study.set_facts(&run_facts(plan, limit.as_ref(), ranks))?;
    let retried = retry::retried(plan, &study)?;
    let ladders = Ladders::of(plan, &systems, Some(&study), &retried)?;
    let points = ladders.points();
    let points_kept = points - all_pending(plan, &study, &retried, &ladders, &systems)?;
    if points_kept < points {
        say_too_short(plan, out, observer);
    }
    tell_points(&ladders, observer);
    observer.sweep_started(points, points_kept);
    let mut sweep = Sweeper {
        plan,
        ranks,
        study,
        observer,
        stop,
        memory_unlimited,
        surprises,
        services: Services::new(plan, out, &servers, alone, stop),
        servers: &servers,
        order,
        retried,
        ladders,
        left_out: Vec::new(),
        summary: Summary::going_on(points_kept),
        measured_at_left_out: 0,
        has_measured: false,
        evens: false,
    };
    // A run that ended may not have come to it.
    sweep.say_ends()?;
    sweep.measure_all(&systems)?;
    let summary = sweep.conclude(&systems)?;
    put_back(locked.prepared, summary)
}

/// Puts back what was prepared, when nothing of the sweep is open any more.
fn put_back(prepared: Prepared<'_>, summary: Summary) -> Result<Summary, Error> {
    Ok(Summary {
        left_changed: prepared.put_back()?,
        ..summary
    })
}

/// Tells notices to whoever watches, and puts them into the study.
fn tell_and_keep(notices: &[String], study: &Study, observer: &dyn Observer) -> Result<(), Error> {
    for notice in notices {
        observer.notice(notice);
    }
    for notice in notices {
        study.add_notice(notice)?;
    }
    Ok(())
}

/// Limits the memory of the run, as long as the limit is kept, or says why that is not possible.
fn limit_memory(plan: &Plan, observer: &dyn Observer) -> (Option<MemoryLimit>, Option<String>) {
    match plan.host.memory_limit.map(MemoryLimit::enter) {
        None => (None, None),
        Some(Ok(limit)) => (Some(limit), None),
        Some(Err(why)) => {
            observer.notice(&format!("memory is not limited: {why}"));
            (None, Some(why.to_string()))
        }
    }
}

/// One run of a plan.
struct Sweeper<'a> {
    plan: &'a Plan,
    ranks: &'a Ranks,
    study: Study,
    observer: &'a dyn Observer,
    stop: &'a Stop,
    memory_unlimited: Option<String>,
    surprises: Surprises,
    services: Services<'a>,
    servers: &'a Servers,
    order: Order,
    /// Points of the study that are measured again.
    retried: Vec<PointKey>,
    ladders: Ladders<'a>,
    /// What was said of points that are left out.
    left_out: Vec<String>,
    summary: Summary,
    /// Points that had been measured when one was left out for want of a peak, the first time.
    measured_at_left_out: usize,
    /// Whether a load or a point of this run is in the study.
    has_measured: bool,
    /// Whether points are measured again now whose warm-up was shorter than that of others.
    evens: bool,
}

impl<'a> Sweeper<'a> {
    /// Measures one point and commits it; false where that was stopped.
    fn point(
        &mut self,
        state: &SystemState<'_>,
        step: Step<'_>,
        key: PointKey,
    ) -> Result<bool, Error> {
        let mut asked = Asked::of_step(self.plan, step);
        if let Some(length) = self.warmup_length(&step, state.system, &key)? {
            asked.warmup = AskedWarmup::ByRule(length);
        }
        let Some(measured) = self.measured(state, &asked, key)? else {
            return Ok(false);
        };
        self.commit(&measured.point)?;
        measured.settled.map(|_| true)
    }

    /// What was measured, with its findings, and whether the database came to rest after it; none
    /// where that was stopped.
    fn measured(
        &mut self,
        state: &SystemState<'_>,
        asked: &Asked<'_>,
        key: PointKey,
    ) -> Result<Option<MeasuredPoint>, Error> {
        if self.stop.requested() {
            return Ok(None);
        }
        let (plan, system, dataset) = (self.plan, state.system, &state.dataset);
        self.stop_service()?;
        if plan.host.drop_caches && (system.is_here() || !system.host.is_empty()) {
            self.observer.step("dropping caches");
        }
        self.wait_hosts(system)?;
        let caches_kept = drop_caches(plan, dataset, system, self.servers)?;
        if caches_kept.is_none() {
            self.ranks
                .each_of_own(system, |system| Command::DropCaches { system })?;
        }
        self.start_service()?;
        if !self.wait_ready(dataset, system)? {
            return Ok(None);
        }
        self.observer.step("opening the database");
        let database = dataset.open()?;
        let _open = self.ranks.open(system)?;
        self.settle_others(system)?;
        let settled_before = self.settle(database.as_ref())?;
        if self.stop.requested() {
            return Ok(None);
        }
        self.study
            .set_facts(&Fact::of_database(&system.name, database.facts()))?;
        let measured = self.run_phase(database.as_ref(), system, asked, &key)?;
        self.say_not_sampled(system, &measured.not_sampled)?;
        if self.stop.requested() {
            return Ok(None);
        }
        // A server that is gone and stays away leaves the point to be measured again.
        let is_gone = NO_ANSWER.is_among(&measured.phase.findings);
        if is_gone && !self.wait_ready(dataset, system)? {
            return Ok(None);
        }
        // A stop ends the wait, but what was measured is kept.
        let settled = self.settle(database.as_ref());
        let settled_after = *settled.as_ref().unwrap_or(&Settled::Yes);
        let own_version = database.facts().remove("version");
        let version = system.version.as_deref();
        let unexpected = self.unexpected(system, own_version.as_deref());
        let links = links::degraded_of(&places(system));
        let server_memory = self.servers.memory(system);
        let evidence = Evidence {
            unscaled: plan.unscaled.as_ref().filter(|_| plan.scale < 1.0),
            memory: server_memory.unwrap_or_else(|| self.memory()),
            settle: plan.sweep.settle,
            settled_before,
            settled_after,
            caches_kept: caches_kept.as_ref(),
            version: version.zip(own_version.as_deref()),
            unexpected: &unexpected,
            links: &links,
            is_here: system.is_here() || server_memory.is_some(),
            memory_unlimited: plan.host.memory_limit.zip(self.memory_unlimited.as_deref()),
            adopted: state.adopted.as_deref(),
            steady: (!asked.workload.starts_empty()).then_some(asked.steady),
            ..Evidence::new(system.driver, &dataset.params, &key, &measured)
        };
        let found = all_findings(&evidence, database.as_ref());
        let mut phase = measured.phase;
        phase.findings.extend(found);
        phase
            .findings
            .extend(settled.as_ref().err().map(load::never_settled));
        let point = Point { key, phase };
        Ok(Some(MeasuredPoint { point, settled }))
    }

    /// What of a system is not as the plan expects; its database is of this version.
    fn unexpected(&self, system: &SystemPlan, version: Option<&str>) -> Vec<String> {
        let known = self.surprises.about(&system.name).iter();
        let known = known.map(|wrong| format!("{wrong}."));
        known
            .chain(other_version(&system.expect, version))
            .collect()
    }

    fn commit(&mut self, point: &Point) -> Result<(), Error> {
        self.study.add_point(point)?;
        self.has_measured = true;
        self.summary.points_measured += 1;
        self.summary.errors += point.phase.errors();
        self.retried.retain(|key| *key != point.key);
        if self.ladders.are_there() {
            self.ladders.add(point);
            tell_points(&self.ladders, self.observer);
        }
        self.observer.point_finished(point);
        self.say_ends()
    }

    /// Waits until background work has come to rest, the time is up or a stop was requested.
    fn settle(&self, database: &dyn Database) -> Result<Settled, Error> {
        self.observer.step("waiting for background work to settle");
        let stop = || self.stop.requested();
        Ok(database.settle(self.plan.sweep.settle, &stop)?)
    }

    /// Waits for the databases that other ranks have of their own.
    fn settle_others(&self, system: &SystemPlan) -> Result<(), Error> {
        self.ranks
            .each_of_own(system, |_| Command::Settle)
            .map(drop)
    }

    fn run_phase(
        &self,
        database: &dyn Database,
        system: &SystemPlan,
        asked: &Asked<'_>,
        key: &PointKey,
    ) -> Result<Measured, Error> {
        let sweep = &self.plan.sweep;
        let records = system.data.records;
        let workload = asked.workload.as_ref().clone();
        let workload = Arc::new(workload.with_semantics(system.semantics));
        let keys = Arc::new(self.ranks.keys(system, records, key.threads));
        let spec = Spec {
            clients: system.driver.clients,
            system: &system.name,
            point: Some(key),
            threads: key.threads,
            rate: key.target_rate,
            arrivals: key.arrivals,
            operations: asked.operations,
            duration: asked.duration,
            enough: asked.enough,
            seed: asked.seeds.measure(),
            warmup_seed: asked.seeds.warmup(),
            write_all_fields: sweep.write_all_fields,
            compressibility: sweep.compressibility,
            ..Spec::new(database, &workload, &system.data, &keys)
        };
        let watched = Watched::of_ranks(self.plan, system, self.ranks)
            .with_servers(self.servers.of(system), system);
        let measure = |spec: &Spec<'_>| {
            let together = self.ranks.begin(spec, system, self.stop)?;
            point::measure_together(together, spec, &watched, self.observer, self.stop)
        };
        let length = match asked.warmup {
            AskedWarmup::For(warmup) => return measure(&Spec { warmup, ..spec }),
            AskedWarmup::ByRule(length) => length,
        };
        let before = Spec {
            seed: asked.seeds.warmup(),
            enough: None,
            ..spec
        };
        let rule = asked.steady;
        let together = self
            .ranks
            .begin(&by_rule(&before, length), system, self.stop)?;
        let watch = (&watched, self.observer);
        let warmup = warm_up(together, &before, length, rule, watch, self.stop)?;
        let mut measured = measure(&Spec {
            goes_on: true,
            warmup: Warmup::EDGE,
            warmup_seed: asked.seeds.edge(),
            ..spec
        })?;
        measured.phase.warmup = Some(Box::new(warmup));
        Ok(measured)
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

    fn searches_are_done(&self, systems: &[&SystemPlan]) -> Result<bool, Error> {
        for system in systems {
            if search::is_pending(self.plan, &self.study, system)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits for the hosts of a server, where a connection is lost.
    fn wait_hosts(&self, system: &SystemPlan) -> Result<(), Error> {
        let timeout = self.plan.sweep.ready_timeout;
        for server in self.servers.of(system) {
            if !server.is_there() {
                let login = server.login();
                self.observer
                    .step(&format!("waiting for the connection to {login}"));
                Servers::wait(&system.name, &server, timeout, self.stop)?;
            }
        }
        Ok(())
    }

    fn stop_service(&mut self) -> Result<(), Error> {
        if !self.services.running().is_empty() {
            self.observer.step("stopping the service");
        }
        self.services.stop()
    }

    fn start_service(&mut self) -> Result<(), Error> {
        if !self.services.running().is_empty() {
            self.observer.step("starting the service");
        }
        self.services.start()
    }

    /// Waits until the server of a system answers; false where that was stopped. A database without
    /// a server is there.
    fn wait_ready(&mut self, dataset: &Dataset<'_>, system: &SystemPlan) -> Result<bool, Error> {
        if system.driver.place != Place::Hosts {
            return Ok(true);
        }
        self.observer.step("waiting until the server answers");
        let timeout = self.plan.sweep.ready_timeout;
        let ready = wait_ready(system, self.services.running(), timeout, self.stop, || {
            dataset.try_open()
        });
        Ok(ready?.is_some())
    }

    fn memory(&self) -> u64 {
        let total = tailmark_host::memory().total;
        match (self.plan.host.memory_limit, &self.memory_unlimited) {
            (Some(limit), None) => limit.min(total),
            _ => total,
        }
    }
}

/// Says of which points it is known that they are too short for what the report is about.
fn say_too_short(plan: &Plan, out: &Path, observer: &dyn Observer) {
    if Wanted::of(plan).is_some() {
        let notices = too_short(plan, &former::gather(plan, out));
        notices.iter().for_each(|notice| observer.notice(notice));
    }
}
