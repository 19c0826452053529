//! One host of a server during a run: a connection that reconnects (`keep.rs`), requests to it, and
//! its clock.

mod keep;
mod prepare;

use crate::agent::{Answer, Ask, protocol::WatchRequest};
use crate::{
    Error,
    link::{Link, Options},
    plain,
    samples::{Clock, Received, clock_of, on_own_clock},
    ssh::{Output, SHORT},
};
use std::{
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tailmark_cluster::ClockLine;
use tailmark_model::{Fact, Login};
use tailmark_prepare::JobRequest;

/// How long facts, and opening probes, may take.
const LONG: Duration = Duration::from_secs(180);
/// How long dropping caches may take, because dirty pages are written first.
const CACHES: Duration = Duration::from_secs(600);
/// How long to wait for the last sample of a point.
const LAST: Duration = Duration::from_secs(2);

/// The host of a server.
#[derive(Debug)]
pub struct Server {
    login: String,
    name: String,
    options: Options,
    state: Mutex<State>,
    changed: Condvar,
    /// The thread that looks after it.
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct State {
    /// The connection, or why there is none.
    link: Result<Arc<Link>, String>,
    /// How often the connection was lost.
    losses: u64,
    /// The description of its machine, kept while there is no connection.
    about: About,
    /// The watched items, so that they are watched again after a reconnect.
    watch: Option<WatchRequest>,
    /// The preparation. Changes that end with a connection are made again.
    prepared: Vec<(JobRequest, String)>,
    /// Where commands are kept whose start was not answered: whether they go on is not known.
    unsure: Vec<String>,
    clock: ClockLine,
    measured: Instant,
    /// What had come over a connection that is lost.
    received: (Vec<Received>, Vec<String>),
    /// Set when it is not needed any more.
    is_over: bool,
}

/// A connection's description of its machine.
#[derive(Debug, Clone, Default)]
struct About {
    /// The boot identifier.
    boot_id: String,
    /// Its own name, if an agent reports it.
    hostname: Option<String>,
    /// Bytes of its memory.
    memory: Option<u64>,
    /// Why there is no agent.
    without_agent: Option<String>,
}

impl About {
    fn from_link(link: &Link) -> Self {
        let agent = link.agent.as_ref();
        Self {
            boot_id: link.boot_id(),
            hostname: agent.ok().map(|channel| channel.hello().hostname.clone()),
            memory: agent.ok().map(|channel| channel.hello().memory),
            without_agent: agent.err().cloned(),
        }
    }
}

impl Server {
    /// Connects to `login`, in a form that `ssh` accepts, such as `root@db1`, under this name,
    /// unless `is_over` says meanwhile that it is no longer needed.
    ///
    /// # Errors
    /// If that fails, if root is needed there but unavailable, or if a different agent answers.
    pub fn connect(
        login: &str,
        name: &str,
        options: Options,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Arc<Self>, Error> {
        let link = Link::connect(login, &options, is_over)?;
        let mut clock = ClockLine::default();
        if let Ok(channel) = &link.agent {
            // One that answers nothing has changed nothing yet.
            clock.add(channel.clock().inspect_err(|_| link.set_lost())?);
        }
        let server = Arc::new(Self {
            login: login.to_owned(),
            name: name.to_owned(),
            options,
            state: Mutex::new(State {
                about: About::from_link(&link),
                link: Ok(Arc::new(link)),
                losses: 0,
                watch: None,
                prepared: Vec::new(),
                unsure: Vec::new(),
                clock,
                measured: Instant::now(),
                received: (Vec::new(), Vec::new()),
                is_over: false,
            }),
            changed: Condvar::new(),
            thread: Mutex::new(None),
        });
        let thread = keep::spawn(&server);
        *locked(&server.thread) = Some(thread);
        Ok(server)
    }

    /// What `ssh` takes to reach it.
    pub fn login(&self) -> &str {
        &self.login
    }

    /// Its name, which no other host of a run has.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The boot identifier of its machine; empty if unknown.
    pub fn boot_id(&self) -> String {
        self.state().about.boot_id.clone()
    }

    /// Whether it is this machine; `None` if unknown.
    pub fn is_this_machine(&self) -> Option<bool> {
        let own = tailmark_machine::boot_id()?;
        let boot_id = self.boot_id();
        (!boot_id.is_empty()).then(|| own == boot_id)
    }

    /// Whether another server is the same machine under another login, as far as known. Containers
    /// of one machine have separate names.
    pub fn is_same_machine(&self, other: &Self) -> bool {
        let (one, other) = (self.state().about.clone(), other.state().about.clone());
        one.hostname.is_some() && (one.hostname, one.boot_id) == (other.hostname, other.boot_id)
    }

    /// Bytes of its memory, if an agent reports them.
    pub fn memory(&self) -> Option<u64> {
        self.state().about.memory
    }

    /// Why there is no agent, and what is missing therefore: a sentence without a full stop.
    pub fn without_agent(&self) -> Option<String> {
        let why = self.state().about.without_agent.clone()?;
        Some(format!(
            "no agent runs on `{}` ({why}): tailmark handles its services, caches and a few facts \
             by plain commands, and samples nothing there",
            self.login
        ))
    }

    /// How often the connection has been lost so far. Work in between may not have been done.
    pub fn losses(&self) -> u64 {
        self.state().losses
    }

    /// Facts about its machine.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn facts(&self) -> Result<Vec<Fact>, Error> {
        let link = self.link()?;
        match &link.agent {
            Ok(channel) => self.facts_of(&link, channel.ask(Ask::Facts, LONG)),
            Err(_) => self.noticed(&link, plain::facts(&link.ssh)),
        }
    }

    /// Facts about the places of a system there; empty without an agent.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn place_facts(&self, system: &str, places: &[PathBuf]) -> Result<Vec<Fact>, Error> {
        let link = self.link()?;
        let Ok(channel) = &link.agent else {
            return Ok(Vec::new());
        };
        let (system, places) = (system.to_owned(), places.to_vec());
        self.facts_of(&link, channel.ask(Ask::PlaceFacts { system, places }, LONG))
    }

    /// Drops its caches.
    ///
    /// # Errors
    /// If that is refused, or the connection is lost.
    pub fn drop_caches(&self) -> Result<(), Error> {
        let link = self.link()?;
        match &link.agent {
            Ok(channel) => self
                .noticed(&link, channel.ask(Ask::DropCaches, CACHES))
                .map(drop),
            Err(_) => self.noticed(&link, plain::drop_caches(&link.ssh, CACHES)),
        }
    }

    /// Starts sampling the requested items once a second. Returns what cannot be sampled and why,
    /// each as a sentence without a full stop.
    ///
    /// # Errors
    /// If the connection is lost, or there is no agent.
    pub fn watch(&self, watch: WatchRequest) -> Result<Vec<String>, Error> {
        // Discards samples of items watched before.
        drop(self.take());
        // Also where there is no connection at the moment: it may come back.
        self.state().watch = Some(watch.clone());
        let link = self.link()?;
        let channel = self.agent_of(&link)?;
        self.measure_clock();
        match self.noticed(&link, channel.ask(Ask::Watch(watch), LONG))? {
            Answer::Watching { not_sampled } => Ok(not_sampled),
            _ => Ok(Vec::new()),
        }
    }

    /// Samples everything watched once more, and waits two seconds for that.
    ///
    /// # Errors
    /// If nothing arrives.
    pub fn sample(&self) -> Result<(), Error> {
        let link = self.link()?;
        match &link.agent {
            Ok(channel) => channel.ask(Ask::Sample, LAST).map(drop),
            Err(_) => Ok(()),
        }
    }

    /// Samples no more.
    pub fn rest(&self) {
        self.state().watch = None;
        self.measure_clock();
        if let Ok(link) = self.link()
            && let Ok(channel) = &link.agent
        {
            let _ = self.noticed(&link, channel.ask(Ask::Rest, SHORT));
        }
    }

    /// The samples since the last call, on this machine's clock, and what could not be sampled.
    pub fn take(&self) -> (Vec<Received>, Vec<String>) {
        let mut state = self.state();
        if let Ok(link) = state.link.clone() {
            state.receive(&link);
        }
        std::mem::take(&mut state.received)
    }

    /// Measurements of its clock since an instant of this machine's clock, and the last one before.
    pub fn clocks_since(&self, since_ns: u64) -> Vec<Clock> {
        let state = self.state();
        let all = state.clock.measurements();
        let later = all.partition_point(|measurement| measurement.leader_ns < since_ns);
        let first = later.saturating_sub(1);
        all[first..].iter().map(clock_of).collect()
    }

    /// Whether there is a connection.
    pub fn is_there(&self) -> bool {
        self.state().link.is_ok()
    }

    /// Waits for a connection, or until `is_over` says that it is no longer needed. Returns why
    /// there is none.
    pub fn wait(&self, timeout: Duration, is_over: &dyn Fn() -> bool) -> Option<String> {
        let end = Instant::now() + timeout;
        let mut state = self.state();
        while state.link.is_err() && Instant::now() < end && !is_over() {
            let waited = self.changed.wait_timeout(state, Duration::from_millis(200));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.link.as_ref().err().cloned()
    }

    /// Ends the connection and any attempt to reconnect, and waits until changes there are
    /// restored.
    pub fn end(&self) {
        let ended = {
            let mut state = self.state();
            state.is_over = true;
            std::mem::replace(&mut state.link, Err("the run has ended".to_owned()))
        };
        self.changed.notify_all();
        if let Some(thread) = locked(&self.thread).take() {
            // One that has panicked has nothing any more.
            let _ = thread.join();
        }
        // Whoever asks at the moment has it too, for a moment more.
        let end = Instant::now() + SHORT;
        while let Ok(link) = &ended
            && Arc::strong_count(link) > 1
            && Instant::now() < end
        {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Runs a script of `sh` there with these arguments.
    pub(crate) fn script(
        &self,
        script: &str,
        arguments: &[&str],
        timeout: Duration,
    ) -> Result<Output, Error> {
        let link = self.link()?;
        self.noticed(&link, link.ssh.script(script, arguments, timeout))
    }

    /// Has a command ended when the connection is back: whether it was started is not known.
    pub(crate) fn leave_unsure(&self, kept: &str) {
        self.state().unsure.push(kept.to_owned());
    }

    /// Where commands have their logs there.
    pub(crate) fn directory(&self) -> Result<String, Error> {
        Ok(self.link()?.directory.clone())
    }

    fn facts_of(
        &self,
        link: &Arc<Link>,
        answer: Result<Answer, Error>,
    ) -> Result<Vec<Fact>, Error> {
        match self.noticed(link, answer)? {
            Answer::Facts(facts) => Ok(facts),
            _ => Ok(Vec::new()),
        }
    }

    fn link(&self) -> Result<Arc<Link>, Error> {
        self.state().link.clone().map_err(|why| Error::Lost {
            login: self.login.clone(),
            why,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Takes the messages of a connection.
    fn receive(&mut self, link: &Link) {
        if let Ok(channel) = &link.agent {
            let (taken, not_sampled) = channel.take();
            let (received, refused) = &mut self.received;
            received.extend(on_own_clock(taken, &self.clock));
            refused.extend(not_sampled);
        }
    }
}

/// Short names of hosts, given their logins: without user and port, unless two names would be
/// equal.
pub fn names_of(logins: &[&str]) -> Vec<String> {
    let with_port = |login: &Login<'_>| match login.port {
        "" => login.host.to_owned(),
        port => format!("{}:{port}", login.host),
    };
    let forms: [&dyn Fn(&Login<'_>) -> String; 3] =
        [&|login| login.host.to_owned(), &with_port, &|login| {
            format!("{}@{}", login.user, with_port(login))
        }];
    let logins: Vec<_> = logins.iter().map(|login| Login::from_text(login)).collect();
    let name = |login: &Login<'_>| {
        let is_own = |form: &&&dyn Fn(&Login<'_>) -> String| {
            let same = logins.iter().filter(|other| form(other) == form(login));
            same.count() == 1
        };
        forms.iter().find(is_own).unwrap_or(&forms[2])(login)
    };
    logins.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_name_that_no_other_one_has() {
        let plain = ["root@db1", "db2", "ssh://me@db3:2222/"];
        assert_eq!(names_of(&plain), ["db1", "db2", "db3"]);
        let ports = ["ssh://root@vm:2201", "ssh://root@vm:2202", "db1"];
        assert_eq!(names_of(&ports), ["vm:2201", "vm:2202", "db1"]);
        assert_eq!(names_of(&["root@db1", "me@db1"]), ["root@db1", "me@db1"]);
        let addresses = ["ssh://root@[fe80::1]:22", "ssh://[fe80::2]", "fe80::3"];
        assert_eq!(names_of(&addresses), ["[fe80::1]", "[fe80::2]", "fe80::3"]);
    }
}
