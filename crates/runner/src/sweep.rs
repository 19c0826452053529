//! Carries out a plan: for each system the load, then each point, committed one by one.

use crate::service::{Services, wait_ready};
use crate::{
    Error, Observer, Stop,
    dataset::{self, Dataset},
    facts::{database_facts, describe, run_facts},
    findings::{Evidence, findings, remarks},
    phase::{self, Capture, unix_ms},
    plan::{Plan, Reload, SystemPlan},
    preflight::{Ready, preflight},
};
use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use tailmark_driver::{Database, Place, Settled};
use tailmark_host::{CacheDrop, MemoryLimit, probe::Target};
use tailmark_results::{Finding, Load, Phase, Point, PointKey, Study};
use tailmark_workload::{KeySpace, Workload};

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Points that were measured.
    pub points_measured: usize,
    /// Points that were in the study already.
    pub points_kept: usize,
    /// Whether it was stopped before the end; the same command goes on.
    pub interrupted: bool,
    /// Findings of the points measured.
    pub findings: usize,
    /// Requests that failed in the points measured.
    pub errors: u64,
}

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
    fs::create_dir_all(out).map_err(|source| Error::Io {
        action: "create",
        path: out.to_owned(),
        source,
    })?;
    let _lock = lock(out)?;
    if Study::exists(out) {
        refuse_changed_plan(plan, out)?;
    }
    let Ready { systems, left_out } = preflight(plan, out, observer)?;
    let study = match Study::exists(out) {
        true => Study::open(out)?,
        false => Study::create(out, &plan.header, &describe(plan))?,
    };
    let limit = plan.host.memory_limit.map(MemoryLimit::enter);
    let memory_unlimited = match &limit {
        Some(Err(why)) => Some(why.to_string()),
        _ => None,
    };
    if let Some(why) = &memory_unlimited {
        observer.notice(&format!("memory is not limited: {why}"));
    }
    let raised = plan.host.limit_notice();
    if let Some(why) = &raised {
        observer.notice(why);
    }
    for notice in left_out.iter().chain(&raised) {
        study.add_notice(notice)?;
    }
    study.set_facts(&run_facts(limit.as_ref().and_then(|l| l.as_ref().ok())))?;
    let points = systems.len() * plan.points().count();
    let kept = systems
        .iter()
        .flat_map(|s| plan.points().map(|p| p.key(plan, s)))
        .map(|key| study.has_point(&key))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .filter(|kept| *kept)
        .count();
    observer.sweep_started(points, kept);
    let mut sweep = Sweeper {
        plan,
        out,
        study,
        observer,
        stop,
        memory_unlimited,
        services: Services::new(plan, out),
        summary: Summary {
            points_kept: kept,
            ..Summary::default()
        },
    };
    for system in systems {
        sweep.measure(system)?;
        if stop.requested() {
            break;
        }
    }
    sweep.summary.interrupted = stop.requested() && sweep.summary.points_measured + kept < points;
    Ok(sweep.summary)
}

/// One run of a plan.
struct Sweeper<'a> {
    plan: &'a Plan,
    out: &'a Path,
    study: Study,
    observer: &'a dyn Observer,
    stop: &'a Stop,
    memory_unlimited: Option<String>,
    services: Services<'a>,
    summary: Summary,
}

/// One point of every system: a workload at a number of threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step<'a> {
    workload: &'a Arc<Workload>,
    threads: u32,
    repeat: u32,
}

impl Step<'_> {
    fn key(&self, plan: &Plan, system: &SystemPlan) -> PointKey {
        PointKey {
            system: system.name.clone(),
            workload: self.workload.name.clone(),
            distribution: self.workload.distribution_name().to_owned(),
            threads: self.threads,
            repeat: self.repeat,
            target_rate: plan.sweep.rate,
        }
    }
}

impl Plan {
    /// The points of one system in the order in which they are measured: workloads in the order of
    /// the plan, each over all thread counts, and all of that again for each repeat.
    pub(crate) fn points(&self) -> impl Iterator<Item = Step<'_>> {
        let sweep = &self.sweep;
        (1..=sweep.repeats).flat_map(move |repeat| {
            sweep.workloads.iter().flat_map(move |workload| {
                sweep.threads.iter().map(move |&threads| Step {
                    workload,
                    threads,
                    repeat,
                })
            })
        })
    }
}

impl Sweeper<'_> {
    /// Measures the points of a system that are not in the study yet.
    fn measure(&mut self, system: &SystemPlan) -> Result<(), Error> {
        let plan = self.plan;
        let mut pending = Vec::new();
        for step in plan.points() {
            if !self.study.has_point(&step.key(plan, system))? {
                pending.push(step);
            }
        }
        if pending.is_empty() {
            return Ok(());
        }
        self.study
            .set_facts(&tailmark_host::place_facts(&system.name, system.watched()))?;
        let dataset = Dataset::new(plan, system, self.out);
        if self.services.turn_to(system)? {
            self.start_service()?;
        }
        if !self.wait_ready(&dataset, system)? {
            return Ok(());
        }
        let mut is_loaded = dataset.is_loaded()?;
        for (index, step) in pending.iter().enumerate() {
            let starts_empty = step.workload.starts_empty();
            let was_filled = index > 0 && pending[index - 1].workload.starts_empty();
            let anew = if is_loaded {
                self.starts_anew(&pending, index)
            } else {
                was_filled
            };
            let is_changed = starts_empty || anew || !is_loaded;
            // The server may have gone away since the point before.
            if is_changed && index > 0 && !self.wait_ready(&dataset, system)? {
                return Ok(());
            }
            if starts_empty || anew {
                dataset.remove()?;
                dataset.prepare()?;
            }
            if !starts_empty && (anew || !is_loaded) && !self.load(&dataset, system)? {
                return Ok(());
            }
            if is_changed {
                is_loaded = dataset.is_loaded()?;
            }
            if !self.point(&dataset, system, *step)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether the data set is made anew before this point. A workload that was begun in an earlier
    /// run goes on with the data set as it is.
    fn starts_anew(&self, pending: &[Step<'_>], index: usize) -> bool {
        let step = &pending[index];
        match self.plan.sweep.reload {
            Reload::Never => false,
            Reload::Point => true,
            Reload::Workload => self.plan.sweep.threads.first() == Some(&step.threads),
        }
    }

    /// Loads the data set; false where that was stopped.
    fn load(&mut self, dataset: &Dataset<'_>, system: &SystemPlan) -> Result<bool, Error> {
        let Some(mut load) = self.load_to_its_end(dataset, system)? else {
            return Ok(false);
        };
        let database = dataset.open()?;
        self.observer.step("waiting for background work to settle");
        if database.settle(self.plan.sweep.settle)? == Settled::No {
            load.phase.findings.push(Finding {
                code: "not-settled".into(),
                text: "Background work was left over when the time to wait for it was up.".into(),
            });
        }
        load.phase.findings.extend(remarks(database.as_ref()));
        self.study.add_load(&load)?;
        self.observer.load_finished(&load);
        Ok(true)
    }

    /// Loads, from where it was ended as often as it got on; none where that was stopped. A server
    /// may be gone for a while.
    fn load_to_its_end(
        &mut self,
        dataset: &Dataset<'_>,
        system: &SystemPlan,
    ) -> Result<Option<Load>, Error> {
        let mut reached = 0;
        let mut failures = Vec::new();
        loop {
            match dataset.load(self.plan, self.capture(system), self.observer, self.stop) {
                Err(error @ Error::LoadFailed { loaded, .. })
                    if system.driver.place == Place::Hosts && loaded > reached =>
                {
                    reached = loaded;
                    self.observer.notice(&error.to_string());
                    failures.push(error);
                    if !self.wait_ready(dataset, system)? {
                        return Ok(None);
                    }
                }
                Ok(Some(mut load)) => {
                    if let Some(first) = failures.first() {
                        load.phase
                            .findings
                            .push(load_resumed(failures.len(), first));
                    }
                    return Ok(Some(load));
                }
                ended => return ended,
            }
        }
    }

    /// Measures one point and commits it; false where that was stopped.
    fn point(
        &mut self,
        dataset: &Dataset<'_>,
        system: &SystemPlan,
        step: Step<'_>,
    ) -> Result<bool, Error> {
        if self.stop.requested() {
            return Ok(false);
        }
        let plan = self.plan;
        self.stop_service()?;
        let caches_kept = self.drop_caches(dataset, system)?;
        self.start_service()?;
        if !self.wait_ready(dataset, system)? {
            return Ok(false);
        }
        self.observer.step("opening the database");
        let database = dataset.open()?;
        self.observer.step("waiting for background work to settle");
        let settled_before = database.settle(plan.sweep.settle)?;
        self.study
            .set_facts(&database_facts(&system.name, database.as_ref()))?;
        let key = step.key(plan, system);
        let clocks = (Instant::now(), unix_ms());
        let mut phase = self.run_phase(database.as_ref(), system, step, &key)?;
        let clock_step = Duration::from_millis(
            (unix_ms() - clocks.1).abs_diff(clocks.0.elapsed().as_millis() as u64),
        );
        if self.stop.requested() {
            return Ok(false);
        }
        // A server that is gone and stays away leaves the point to be measured again.
        if phase
            .findings
            .iter()
            .any(|finding| finding.code == phase::NO_ANSWER)
            && !self.wait_ready(dataset, system)?
        {
            return Ok(false);
        }
        self.observer.step("waiting for background work to settle");
        let settled_after = database.settle(plan.sweep.settle)?;
        let unlimited = self.memory_unlimited.as_deref();
        let evidence = Evidence {
            unscaled: plan.unscaled.as_ref().filter(|_| plan.scale < 1.0),
            memory: self.memory(),
            settle: plan.sweep.settle,
            settled_before,
            settled_after,
            caches_kept: caches_kept.as_deref(),
            memory_unlimited: plan.host.memory_limit.zip(unlimited),
            clock_step,
            ..Evidence::new(system.driver, &dataset.params, &key, &phase)
        };
        let found = findings(&evidence);
        phase.findings.extend(found);
        phase.findings.extend(remarks(database.as_ref()));
        let point = Point { key, phase };
        self.study.add_point(&point)?;
        self.summary.points_measured += 1;
        self.summary.findings += point.phase.findings.len();
        self.summary.errors += point.phase.errors();
        self.observer.point_finished(&point);
        Ok(true)
    }

    fn run_phase(
        &self,
        database: &dyn Database,
        system: &SystemPlan,
        step: Step<'_>,
        key: &PointKey,
    ) -> Result<Phase, Error> {
        let sweep = &self.plan.sweep;
        let records = system.data.records;
        let workload = step.workload.as_ref().clone();
        let spec = phase::Spec {
            database,
            clients: system.driver.clients,
            system: &system.name,
            point: Some(key),
            workload: &Arc::new(workload.with_semantics(system.semantics)),
            data: &system.data,
            keys: &Arc::new(KeySpace::new(records, records)),
            threads: step.threads,
            rate: sweep.rate,
            operations: sweep.operations,
            duration: sweep.duration,
            warmup: sweep.warmup,
            seed: sweep.seed.wrapping_add(u64::from(step.repeat - 1)),
            write_all_fields: sweep.write_all_fields,
            compressibility: sweep.compressibility,
            ends_at_failure: false,
        };
        phase::run(&spec, self.capture(system), self.observer, self.stop)
    }

    fn capture(&self, system: &SystemPlan) -> Capture {
        let target = Target {
            system: system.name.clone(),
            place: system.watched().clone(),
        };
        let capture = Capture::open(&target);
        capture
            .notices
            .iter()
            .for_each(|notice| self.observer.notice(notice));
        capture
    }

    fn stop_service(&mut self) -> Result<(), Error> {
        if self.services.running().is_some() {
            self.observer.step("stopping the service");
        }
        self.services.stop()
    }

    fn start_service(&mut self) -> Result<(), Error> {
        if self.services.running().is_some() {
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
            dataset.prepare()
        });
        Ok(ready?.is_some())
    }

    /// Drops the caches; says why where that was not done.
    fn drop_caches(
        &mut self,
        dataset: &Dataset<'_>,
        system: &SystemPlan,
    ) -> Result<Option<String>, Error> {
        if !self.plan.host.drop_caches {
            return Ok(Some("host.drop_caches is false".to_owned()));
        }
        self.observer.step("dropping caches");
        let files = match tailmark_host::can_drop_caches() {
            true => Vec::new(),
            // A server's files are its own, and it may not run.
            false if system.driver.place == Place::Hosts => Vec::new(),
            false => dataset.open()?.files(),
        };
        Ok(match tailmark_host::drop_caches(&files) {
            CacheDrop::Dropped | CacheDrop::Advised(_) => None,
            CacheDrop::Skipped(why) => Some(why),
        })
    }

    fn memory(&self) -> u64 {
        let total = tailmark_host::memory().total;
        match (self.plan.host.memory_limit, &self.memory_unlimited) {
            (Some(limit), None) => limit.min(total),
            _ => total,
        }
    }
}

/// What the user must know where a load went on after requests had failed.
fn load_resumed(times: usize, first: &Error) -> Finding {
    Finding {
        code: "load-resumed".into(),
        text: format!(
            "Requests failed while the data set was loaded, and the load went on from its marker {times} \
             times; its numbers are of the last part alone. First, {first}."
        ),
    }
}

/// Holds the run directory until it is dropped.
fn lock(out: &Path) -> Result<fs::File, Error> {
    let io = |source| Error::Io {
        action: "lock",
        path: out.to_owned(),
        source,
    };
    let directory = fs::File::open(out).map_err(io)?;
    match rustix::fs::flock(
        &directory,
        rustix::fs::FlockOperation::NonBlockingLockExclusive,
    ) {
        Ok(()) => Ok(directory),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::Busy {
            dir: out.to_owned(),
        }),
        Err(errno) => Err(io(errno.into())),
    }
}

fn refuse_changed_plan(plan: &Plan, out: &Path) -> Result<(), Error> {
    let was = Study::open_read_only(out)?.header()?.plan;
    let differences = dataset::differences(&plan.header.plan, &was);
    match differences.is_empty() {
        true => Ok(()),
        false => Err(Error::ChangedPlan {
            dir: out.to_owned(),
            differences,
        }),
    }
}
