//! A rank that follows: it carries out commands from rank 0, and has no study.

use super::{
    Job, Ranks,
    lead::SharedPhase,
    link::Link,
    message::{Answer, Command, Failure, Message, Order},
};
use crate::servers::Servers;
use crate::{
    Error, capture::Watched, dataset::Dataset, error::in_one_line, expect::Mismatches,
    places::places, point, preflight::refuse_missing_room, seeds::PointSeeds,
};
use std::{
    cell::RefCell,
    path::PathBuf,
    sync::{Arc, atomic::AtomicU64},
};
use tailmark_cluster::Cluster;
use tailmark_driver::{Database, Made, Settled};
use tailmark_engine::{Silent, Spec, Stop};
use tailmark_machine::MemoryLimit;
use tailmark_model::PointKey;
use tailmark_plan::{Plan, RawPlan, SystemPlan};

/// Carries out commands from rank 0 until it sends no more.
///
/// # Errors
/// None that rank 0 does not know: failures are answers.
pub fn follow(cluster: Arc<dyn Cluster>, stop: &Stop) -> Result<(), Error> {
    let host = cluster.host();
    let (link, thread) = Link::open(cluster, stop);
    let job = Job {
        link: Arc::clone(&link),
        thread: Some(thread),
        hosts: Vec::new(),
        names: Vec::new(),
        systems: Vec::new(),
        facts: Vec::new(),
        notices: Vec::new(),
        phases: AtomicU64::new(1),
    };
    let mut ranks = Ranks { job: Some(job) };
    let version = env!("CARGO_PKG_VERSION").to_owned();
    link.send(0, &Message::Hello { version, host });
    let (study, source, keys, hosts, consent) = loop {
        match next(&link) {
            Command::Plan {
                study,
                source,
                keys,
                hosts,
                consent,
            } => break (study, source, keys, hosts, consent),
            Command::Leave => return Ok(()),
            other => answer(&link, Err(Error::Unready(format!("{other:?}")))),
        }
    };
    let rank = link.cluster.rank();
    let plan = RawPlan::parse("the plan of rank 0", &source)
        .and_then(|raw| raw.check())
        .map_err(|error| Error::WrongPlan(in_one_line(&error)))
        .and_then(|plan| {
            let own = plan.header.plan_texts();
            if own == keys {
                Ok(plan)
            } else {
                Err(Error::WrongPlan(format!(
                    "its plan differs: {}",
                    crate::dataset::differences(&own, &keys)
                )))
            }
        });
    let plan = match plan {
        Ok(mut plan) => {
            plan.header.id = study;
            plan
        }
        Err(error) => {
            answer(&link, Err(error));
            while !matches!(next(&link), Command::Leave) {}
            return Ok(());
        }
    };
    if let Some(own) = &mut ranks.job {
        (own.hosts, own.systems) = (hosts.clone(), plan.systems.clone());
    }
    let plan = Plan { consent, ..plan }.at_rank(rank, &hosts[rank as usize]);
    let follower = Follower {
        plan: &plan,
        ranks: &ranks,
        link: &link,
        stop,
        rank,
        hosts: &hosts,
        made: RefCell::default(),
    };
    follower.carry_out();
    Ok(())
}

/// The next command.
fn next(link: &Link) -> Command {
    loop {
        if let (_, Message::Command(command)) = link.wait(|state| state.inbox.pop_front()) {
            return command;
        }
    }
}

fn answer(link: &Link, came: Result<Answer, Error>) {
    let came = came.map_err(|error| Failure::from_error(&error));
    link.send(0, &Message::Answer(came));
}

/// A rank with a plan.
struct Follower<'a> {
    plan: &'a Plan,
    ranks: &'a Ranks,
    link: &'a Link,
    stop: &'a Stop,
    rank: u32,
    hosts: &'a [String],
    /// Directories that were made for systems.
    made: RefCell<Vec<PathBuf>>,
}

/// An open database and its system.
type Open<'a> = (&'a SystemPlan, Box<dyn Database>);

impl<'a> Follower<'a> {
    fn carry_out(&self) {
        let limit = self.plan.machine.memory_limit.map(MemoryLimit::enter);
        // An earlier rank on the same machine reports the same.
        let facts = if self.is_first_of_host() {
            crate::facts::kept(self.plan, tailmark_machine::machine_facts())
        } else {
            Vec::new()
        };
        let unlimited = match &limit {
            Some(Err(why)) => Some(why.to_string()),
            _ => None,
        };
        answer(self.link, Ok(Answer::Machine { facts, unlimited }));
        let mut open: Option<Open<'a>> = None;
        loop {
            match next(self.link) {
                Command::Leave => return,
                Command::Measure(order) => self.measure(open.as_ref(), *order),
                Command::Close => {
                    open = None;
                    answer(self.link, Ok(Answer::Done));
                }
                Command::Open { system } => {
                    let opened = self.system(&system).and_then(|system| {
                        let database = Dataset::new(self.plan, system).open()?;
                        Ok((system, database))
                    });
                    let came = opened.map(|opened| open = Some(opened));
                    answer(self.link, came.map(|()| Answer::Done));
                }
                Command::Settle => answer(self.link, self.settle(open.as_ref())),
                command => answer(self.link, self.act(&command)),
            }
        }
    }

    fn system(&self, name: &str) -> Result<&'a SystemPlan, Error> {
        let mut systems = self.plan.systems.iter();
        let found = systems.find(|system| system.name == name);
        found.ok_or_else(|| Error::Unready(format!("its plan has no system `{name}`")))
    }

    /// The data set of a system. Its marker will list what was created for it.
    fn dataset(&self, system: &'a SystemPlan) -> Dataset<'a> {
        let dataset = Dataset::new(self.plan, system);
        let made = self.made.borrow();
        let own = made
            .iter()
            .filter(|made| system.location.path() == Some(made));
        own.for_each(|own| dataset.add_made(Made::Directory(own.clone())));
        dataset
    }

    /// What needs no open database.
    fn act(&self, command: &Command) -> Result<Answer, Error> {
        let dataset = |name: &str| Ok::<_, Error>(self.dataset(self.system(name)?));
        match command {
            Command::TryOpen { system } => {
                let system = self.system(system)?;
                let mismatches = Mismatches::from_systems(std::iter::once(system));
                mismatches.refuse(self.plan)?;
                let made = refuse_missing_room(self.plan, system, self.ranks, self.stop)?;
                self.made.borrow_mut().extend(made);
                Dataset::new(self.plan, system).try_open()?;
                let said = mismatches.notices().join("; ");
                Ok(if said.is_empty() {
                    Answer::Done
                } else {
                    Answer::But(said)
                })
            }
            Command::Look { system } => {
                let system = self.system(system)?;
                let data = Dataset::new(self.plan, system);
                data.adopt(self.plan, self.stop)?;
                let facts = tailmark_machine::place_facts(&system.name, &places(system));
                let facts = crate::facts::kept(self.plan, facts);
                let is_loaded = data.is_loaded()?;
                Ok(Answer::Loaded { is_loaded, facts })
            }
            Command::Remove { system } => dataset(system)?.remove().map(|()| Answer::Done),
            Command::StartEmpty { system } => dataset(system)?.start_empty().map(|()| Answer::Done),
            Command::Load { system, seed } => self.load(system, *seed),
            Command::Complete { system, started } => {
                let dataset = dataset(system)?;
                let database = dataset.open()?;
                dataset.complete(database.as_ref(), started)?;
                Ok(Answer::Done)
            }
            Command::DropCaches { system } => {
                if !self.is_first_of_host() {
                    return Ok(Answer::Done);
                }
                // Rank 0 alone connects to the hosts of servers.
                let servers = Servers::default();
                let (dataset, system) = (dataset(system)?, self.system(system)?);
                let kept = crate::caches::drop_caches(self.plan, &dataset, system, &servers)?;
                Ok(match kept {
                    None => Answer::Done,
                    Some(kept) => Answer::But(kept.describe().0),
                })
            }
            other => Err(Error::Unready(format!("it received {other:?}"))),
        }
    }

    fn load(&self, system: &str, seed: u64) -> Result<Answer, Error> {
        let system = self.system(system)?;
        let dataset = self.dataset(system);
        let seeds = PointSeeds::from_number(seed);
        let watched = self.watched(system);
        let on = (self.plan, self.ranks);
        let loaded = dataset.load(on, &seeds, &watched, &Silent, self.stop, None)?;
        Ok(Answer::Loaded {
            is_loaded: loaded.is_some(),
            facts: Vec::new(),
        })
    }

    fn settle(&self, open: Option<&Open<'a>>) -> Result<Answer, Error> {
        let Some((_, database)) = open else {
            return Ok(Answer::Done);
        };
        let stop = || self.stop.requested();
        Ok(match database.settle(self.plan.sweep.settle, &stop)? {
            Settled::No => Answer::But("background work is still running".to_owned()),
            Settled::NotStarted => {
                Answer::But("background work is left and not started".to_owned())
            }
            _ => Answer::Done,
        })
    }

    /// Whether no rank before this one is on its host.
    fn is_first_of_host(&self) -> bool {
        let own = &self.hosts[self.rank as usize];
        !self.hosts[..self.rank as usize].contains(own)
    }

    /// What this rank watches: its machine, if no rank before it does.
    fn watched(&self, system: &SystemPlan) -> Watched {
        let all = Watched {
            // Rank 0 runs it for all.
            power_command: None,
            ..Watched::of_ranks(self.plan, system, self.ranks)
        };
        if self.is_first_of_host() {
            all
        } else {
            all.of_database_alone(super::is_own(system))
        }
    }

    /// Carries out a part of a phase and reports failures.
    fn measure(&self, open: Option<&Open<'a>>, order: Order) {
        let phase = order.phase;
        let measured = self.measured(open, order);
        if let Err(error) = measured {
            let why = Failure::from_error(&error);
            self.link.send(0, &Message::Failed { phase, why });
        }
    }

    fn measured(&self, open: Option<&Open<'a>>, order: Order) -> Result<(), Error> {
        let Some((system, database)) = open.filter(|(system, _)| system.name == order.system)
        else {
            let why = format!("its system `{}` is not open", order.system);
            return Err(Error::Unready(why));
        };
        let workload = match &order.workload {
            None => Arc::new(crate::dataset::loader(self.plan)),
            Some(name) => self.workload(name, system)?,
        };
        let phase = order.phase;
        let keys = self.link.in_phase(phase, |phase| Arc::clone(&phase.keys));
        let keys = keys.ok_or_else(|| Error::Unready("the phase is over".to_owned()))?;
        let key: Option<PointKey> = order.point.clone();
        let spec = Spec {
            clients: system.driver.clients(&system.settings),
            system: &system.name,
            point: key.as_ref(),
            terms: order.terms,
            ..Spec::new(database.as_ref(), &workload, &system.data, &keys)
        };
        let watched = self.watched(system);
        let together = SharedPhase::ordered(self.ranks, order)
            .ok_or_else(|| Error::Unready("it has no other ranks".to_owned()))?;
        point::measure_together(together, &spec, &watched, &Silent, self.stop).map(drop)
    }

    fn workload(
        &self,
        name: &str,
        system: &SystemPlan,
    ) -> Result<Arc<tailmark_workload::Workload>, Error> {
        let mut workloads = self.plan.sweep.workloads.iter();
        let found = workloads.find(|workload| workload.name == name);
        let found = found.ok_or_else(|| Error::Unready(format!("its plan has no `{name}`")))?;
        let workload = found.as_ref().clone();
        Ok(Arc::new(workload.with_semantics(system.semantics)))
    }
}
