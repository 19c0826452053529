//! A run that several processes carry out together, started by MPI: rank 0 has the study and leads
//! the sweep, and the others do their parts of its phases.
//!
//! The clients of a phase are spread over the ranks. All start at one instant of rank 0's clock,
//! and their measurements are added to one phase. All ranks share a server and take turns with the
//! keys that they insert. Each rank has its own embedded database, with its own data set in its own
//! place.

mod current;
mod follow;
mod lead;
mod link;
mod live;
mod message;
mod part;

pub use follow::follow;
pub(crate) use lead::SharedPhase;

use crate::{Error, dataset::shared::RealPlace};
use link::Link;
pub(crate) use message::{Answer, Command};
use message::{Failure, Message};
use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};
use tailmark_cluster::Cluster;
use tailmark_driver::{Location, Place};
use tailmark_engine::Stop;
use tailmark_model::{Fact, PlanValue, Role, Subject};
use tailmark_plan::{AbortLimit, Plan, SystemPlan};
use tailmark_workload::{KeySpace, Turns};

/// How long the ranks of a job may take to start.
const JOIN: Duration = Duration::from_secs(60);

/// The processes of a run, as one of them sees them.
pub struct Ranks {
    /// None: there is one process.
    job: Option<Job>,
}

/// One of several.
struct Job {
    link: Arc<Link>,
    thread: Option<JoinHandle<()>>,
    /// By rank.
    hosts: Vec<String>,
    /// Their names in a study, which do not reveal hosts if it is redacted.
    names: Vec<String>,
    /// As it is written, for all ranks.
    systems: Vec<SystemPlan>,
    /// Facts about the machines of other ranks.
    facts: Vec<Fact>,
    /// Notices about them.
    notices: Vec<String>,
    phases: AtomicU64,
}

impl Drop for Job {
    fn drop(&mut self) {
        if self.link.is_leader() {
            self.link
                .send_each(self.link.cluster.size(), &Message::Command(Command::Leave));
        }
        self.link.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Ranks {
    /// One process.
    #[must_use]
    pub const fn alone() -> Self {
        Self { job: None }
    }

    /// The ranks of a job, of which this is the first. Waits until all are there, and gives them
    /// the plan.
    ///
    /// # Errors
    /// If a rank is not there in time, has another version, or does not understand the plan.
    pub fn lead(cluster: Arc<dyn Cluster>, plan: &Plan, stop: &Stop) -> Result<Self, Error> {
        if cluster.size() <= 1 {
            return Ok(Self::alone());
        }
        let (link, thread) = Link::open(cluster, stop);
        let mut job = Job {
            link,
            thread: Some(thread),
            hosts: Vec::new(),
            names: Vec::new(),
            systems: plan.systems.clone(),
            facts: Vec::new(),
            notices: Vec::new(),
            phases: AtomicU64::new(1),
        };
        job.hosts = job.gather()?;
        job.names = if plan.report.redact {
            numbered(&job.hosts)
        } else {
            job.hosts.clone()
        };
        let mut ranks = Self { job: Some(job) };
        refuse_shared_places(plan, ranks.hosts())?;
        let answers = ranks.each(|_| Command::Plan {
            study: plan.header.id.clone(),
            source: plan.header.source.clone(),
            keys: plan.header.plan_texts(),
            hosts: ranks.hosts().to_vec(),
            consent: plan.consent.clone(),
        })?;
        if let Some(known) = &mut ranks.job {
            for (answer, rank) in answers.into_iter().zip(1..) {
                known.learn(rank, answer);
            }
        }
        Ok(ranks)
    }

    /// The number of ranks.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.job.as_ref().map_or(1, |job| job.link.cluster.size())
    }

    /// The host of each; empty for a single process.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        self.job.as_ref().map_or(&[], |job| &job.hosts)
    }

    /// The variants of a system on other ranks of this rank's host.
    pub(crate) fn beside<'a>(
        &'a self,
        system: &'a SystemPlan,
    ) -> impl Iterator<Item = SystemPlan> + 'a {
        let systems = self.job.as_ref().map_or(&[][..], |job| &job.systems);
        let written = systems.iter().find(|written| written.name == system.name);
        let own = self.rank();
        let host = self.hosts().get(own as usize);
        let ranks = (0_u32..).zip(self.hosts());
        let beside = ranks.filter(move |(rank, other)| *rank != own && Some(*other) == host);
        beside.filter_map(move |(rank, other)| Some(written?.at_rank(rank, other)))
    }

    fn rank(&self) -> u32 {
        self.job.as_ref().map_or(0, |job| job.link.cluster.rank())
    }

    /// How many ranks have clients in a phase with that many.
    fn taking_part(&self, threads: u32) -> u32 {
        self.size().min(threads.max(1))
    }

    /// The keys of a phase with that many clients that starts after that many records.
    #[must_use]
    pub fn keys(&self, system: &SystemPlan, records: u64, threads: u32) -> KeySpace {
        let turns = if is_own(system) {
            Turns::ALONE
        } else {
            Turns {
                own: self.rank().into(),
                processes: self.taking_part(threads).into(),
            }
        };
        KeySpace::taking_turns(records, turns)
    }

    /// The number of data sets of a system.
    pub(crate) fn sets_of(&self, system: &SystemPlan) -> u64 {
        if is_own(system) {
            self.size().into()
        } else {
            1
        }
    }

    /// The plan, which says among how many ranks its clients are spread: with another number of them
    /// a study does not go on.
    pub(crate) fn with_number<'a>(&self, plan: &'a Plan) -> Cow<'a, Plan> {
        let mut plan = Cow::Borrowed(plan);
        if self.size() > 1 {
            let keys = &mut plan.to_mut().header.plan;
            let number = PlanValue::new(self.size().to_string(), Role::Condition(Subject::Run));
            keys.insert("ranks".to_owned(), number);
        }
        plan
    }

    /// The limits that this process watches: the first one, over all.
    pub(crate) fn limits<'a>(&self, plan: &'a Plan) -> &'a [AbortLimit] {
        if self.rank() == 0 { &plan.abort } else { &[] }
    }

    /// Facts for the study.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let fact = |(rank, host): (usize, &String)| Fact {
            system: None,
            group: format!("rank {rank}"),
            name: Fact::HOSTNAME.to_owned(),
            value: host.clone(),
        };
        let hosts = self.hosts().iter().enumerate().map(fact);
        let machines = self.job.iter().flat_map(|job| job.facts.iter().cloned());
        hosts.chain(machines).collect()
    }

    /// Notices for the run.
    pub(crate) fn notices(&self) -> &[String] {
        self.job.as_ref().map_or(&[], |job| &job.notices)
    }

    /// Has every other rank carry out a command, and waits for all of them.
    ///
    /// # Errors
    /// Names the first rank that failed.
    pub(crate) fn each(&self, command: impl Fn(u32) -> Command) -> Result<Vec<Answer>, Error> {
        self.begin_each(command);
        self.answers()
    }

    /// The same where each rank has one of its own of a system.
    pub(crate) fn each_of_own(
        &self,
        system: &SystemPlan,
        command: impl Fn(String) -> Command,
    ) -> Result<Vec<Answer>, Error> {
        if is_own(system) {
            self.each(|_| command(system.name.clone()))
        } else {
            Ok(Vec::new())
        }
    }

    /// Has every other rank begin a command.
    pub(crate) fn begin_each(&self, command: impl Fn(u32) -> Command) {
        let Some(job) = &self.job else { return };
        for rank in 1..self.size() {
            job.link.send(rank, &Message::Command(command(rank)));
        }
    }

    /// Makes every other rank start a command, if each has its own database of a system.
    pub(crate) fn begin_own(&self, system: &SystemPlan, command: impl Fn(String) -> Command) {
        if is_own(system) {
            self.begin_each(|_| command(system.name.clone()));
        }
    }

    /// The result of this rank, and the answers of the others.
    ///
    /// # Errors
    /// Those of this rank, or the first rank that failed.
    pub(crate) fn end_own<T>(
        &self,
        system: &SystemPlan,
        own: Result<T, Error>,
    ) -> Result<(T, Vec<Answer>), Error> {
        if !is_own(system) || self.job.is_none() {
            return own.map(|own| (own, Vec::new()));
        }
        match own {
            // The other ranks have ended, or wait for a part of a phase that never comes.
            Err(error) => {
                self.begin_each(|_| Command::Close);
                Err(error)
            }
            Ok(own) => self.answers().map(|answers| (own, answers)),
        }
    }

    /// The answers to the command that every other rank started.
    ///
    /// # Errors
    /// Names the first rank that failed.
    pub(crate) fn answers(&self) -> Result<Vec<Answer>, Error> {
        let Some(job) = &self.job else {
            return Ok(Vec::new());
        };
        let mut answers: Vec<Option<Result<Answer, Failure>>> = vec![None; self.size() as usize];
        answers[0] = Some(Ok(Answer::Done));
        while answers.iter().any(Option::is_none) {
            let (from, message) = job.link.wait(|state| state.inbox.pop_front());
            if let Message::Answer(answer) = message {
                answers[from as usize] = Some(answer);
            }
        }
        let each = answers.into_iter().flatten().enumerate().skip(1);
        each.map(|(rank, answer)| answer.map_err(|failure| job.failed(rank as u32, failure)))
            .collect()
    }
}

impl Job {
    /// Waits until every rank has reported its host.
    fn gather(&self) -> Result<Vec<String>, Error> {
        let until = Instant::now() + JOIN;
        let own = self.link.cluster.host();
        let found = self.link.wait(|state| {
            let hello = |rank: u32| {
                let other = &state.others[rank as usize];
                other.version.clone().zip(other.host.clone())
            };
            let hellos = (1..self.link.cluster.size()).map(|rank| hello(rank).ok_or(rank));
            match hellos.collect::<Result<Vec<_>, u32>>() {
                Ok(hellos) => Some(Ok(hellos)),
                Err(rank) => (Instant::now() > until).then_some(Err(rank)),
            }
        });
        let failure = |why: String, is_usage| Failure { why, is_usage };
        let hellos = found
            .map_err(|rank| self.failed(rank, failure("it has not started".to_owned(), false)))?;
        let mut hosts = vec![own];
        for ((version, host), rank) in hellos.into_iter().zip(1..) {
            if version != env!("CARGO_PKG_VERSION") {
                let why = format!("it runs version {version}");
                return Err(self.failed(rank, failure(why, true)));
            }
            hosts.push(host);
        }
        Ok(hosts)
    }

    /// Keeps the facts that a rank reported about its machine.
    fn learn(&mut self, rank: u32, answer: Answer) {
        let Answer::Machine { facts, unlimited } = answer else {
            return;
        };
        let of_rank = facts.into_iter().map(|fact| Fact {
            group: format!("{} of rank {rank}", fact.group),
            ..fact
        });
        self.facts.extend(of_rank);
        let host = &self.names[rank as usize];
        let notice = |why| format!("rank {rank} on {host}: memory is not limited: {why}");
        self.notices.extend(unlimited.map(notice));
    }

    fn failed(&self, rank: u32, failure: Failure) -> Error {
        let host = self.hosts.get(rank as usize).cloned();
        Error::Rank {
            rank,
            host: host.unwrap_or_else(|| "an unknown host".to_owned()),
            why: failure.why,
            is_usage: failure.is_usage,
        }
    }

    /// The number of the next phase.
    fn next_phase(&self) -> u64 {
        self.phases.fetch_add(1, Ordering::Relaxed)
    }
}

/// A system that is open on every rank, until this is dropped.
pub(crate) struct OpenElsewhere<'a>(&'a Ranks);

impl Drop for OpenElsewhere<'_> {
    fn drop(&mut self) {
        // If a rank cannot close it, nothing can be done about it here.
        let _ = self.0.each(|_| Command::Close);
    }
}

impl Ranks {
    /// Opens a system on every other rank.
    ///
    /// # Errors
    /// Names the first rank that cannot.
    pub(crate) fn open(&self, system: &SystemPlan) -> Result<OpenElsewhere<'_>, Error> {
        let open = OpenElsewhere(self);
        self.each(|_| Command::Open {
            system: system.name.clone(),
        })?;
        Ok(open)
    }
}

/// Whether each rank has a system of its own: an embedded database, in a place of its own.
pub(crate) fn is_own(system: &SystemPlan) -> bool {
    matches!(
        system.driver.place,
        Place::Directory | Place::DirectoryOrDevice
    )
}

/// Sends the other ranks of a job home, before anything was begun.
pub fn dismiss(cluster: &dyn Cluster) {
    let leave = Message::Command(Command::Leave).to_bytes();
    (1..cluster.size()).for_each(|rank| cluster.send(rank, leave.clone()));
}

/// Hosts by their number in the order in which they come.
fn numbered(hosts: &[String]) -> Vec<String> {
    let mut known: Vec<&String> = Vec::new();
    let number = |host| {
        let at = known.iter().position(|other| *other == host);
        let at = at.unwrap_or_else(|| {
            known.push(host);
            known.len() - 1
        });
        format!("host {}", at + 1)
    };
    hosts.iter().map(number).collect()
}

/// Refuses a plan in which two ranks would open one directory.
fn refuse_shared_places(plan: &Plan, hosts: &[String]) -> Result<(), Error> {
    for system in plan.systems.iter().filter(|system| is_own(system)) {
        let place = |rank: u32| system.at_rank(rank, &hosts[rank as usize]).location;
        let ranks = || 0..hosts.len() as u32;
        for (one, other) in
            ranks().flat_map(|one| (one + 1..hosts.len() as u32).map(move |o| (one, o)))
        {
            let is_here = hosts[one as usize] == hosts[0];
            if hosts[one as usize] == hosts[other as usize]
                && are_one(&place(one), &place(other), is_here)
            {
                return Err(Error::SharedPlace {
                    system: system.name.clone(),
                    place: place(one),
                    ranks: (one, other),
                    host: hosts[one as usize].clone(),
                });
            }
        }
    }
    Ok(())
}

/// Whether two places are one; on this machine also under two names.
fn are_one(one: &Location, other: &Location, is_here: bool) -> bool {
    let real = |place: &Location| place.path().map(RealPlace::new);
    one == other || (is_here && real(one) == real(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_plan::RawPlan;

    fn refused(place: &str, hosts: &[&str]) -> Option<(u32, u32)> {
        let text = format!("[database]\ndriver = 'file'\n[[system]]\nname = 'a'\npath = '{place}'");
        let plan = RawPlan::parse("test", &text).unwrap().check().unwrap();
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        match refuse_shared_places(&plan, &hosts) {
            Err(Error::SharedPlace { ranks, .. }) => Some(ranks),
            _ => None,
        }
    }

    #[test]
    fn two_ranks_of_one_host_have_two_places() {
        assert_eq!(refused("/data", &["a", "b", "a"]), Some((0, 2)));
        assert_eq!(refused("/data", &["a", "b"]), None);
        assert_eq!(refused("/data/{host}", &["a", "a"]), Some((0, 1)));
        assert_eq!(refused("/data/{rank}", &["a", "a", "b"]), None);
    }

    #[test]
    fn hosts_without_names_are_told_apart() {
        let hosts = ["x", "y", "x"].map(str::to_owned);
        assert_eq!(numbered(&hosts), ["host 1", "host 2", "host 1"]);
    }
}
