//! One host of a server during a run: a connection that reconnects (`keep.rs`), requests to it, and
//! its clock.

mod keep;
mod prepare;

use crate::agent::{Answer, Ask, protocol::Watch};
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
/// How long caches may take: what is dirty is written first.
const CACHES: Duration = Duration::from_secs(600);
/// How long the last sample of a point is waited for.
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
    /// How often a connection was lost.
    losses: u64,
    /// What is known of its machine, also while there is no connection.
    about: About,
    /// What is watched, so that it is again when a connection has come back.
    watch: Option<Watch>,
    /// What was prepared, of which what does not last longer than a connection is done again.
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

/// What a connection says of its machine.
#[derive(Debug, Clone, Default)]
struct About {
    /// What tells one boot of one machine from others.
    boot_id: String,
    /// What it calls itself, where an agent says so.
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
    /// Makes a connection to `login`, what `ssh` takes, such as `root@db1`, and calls it by this name;
    /// unless `is_over` says meanwhile that nobody needs it any more.
    ///
    /// # Errors
    /// Where that fails, where root is needed there and not to be had, and where the agent that
    /// answers is another one.
    pub fn connect(
        login: &str,
        name: &str,
        options: Options,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Arc<Self>, Error> {
        let link = Link::connect(login, &options, is_over)?;
        let mut clock = ClockLine::default();
        if let Ok(channel) = &link.agent {
            clock.add(channel.clock()?);
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
    #[must_use]
    pub fn login(&self) -> &str {
        &self.login
    }

    /// Its name, which no other host of a run has.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What tells one boot of its machine from others; empty where that is not known.
    #[must_use]
    pub fn boot_id(&self) -> String {
        self.state().about.boot_id.clone()
    }

    /// Whether it is this machine; none where that is not known.
    #[must_use]
    pub fn is_this_machine(&self) -> Option<bool> {
        let own = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let boot_id = self.boot_id();
        (!boot_id.is_empty()).then(|| own.trim() == boot_id)
    }

    /// Whether another one is the same machine by another login, as far as that is known. Containers of
    /// one machine have names of their own.
    #[must_use]
    pub fn is_same_machine(&self, other: &Self) -> bool {
        let (one, other) = (self.state().about.clone(), other.state().about.clone());
        one.hostname.is_some() && (one.hostname, one.boot_id) == (other.hostname, other.boot_id)
    }

    /// Bytes of its memory, where an agent says so.
    #[must_use]
    pub fn memory(&self) -> Option<u64> {
        self.state().about.memory
    }

    /// Why there is no agent, and what is missing therefore: a sentence without its stop.
    #[must_use]
    pub fn without_agent(&self) -> Option<String> {
        let why = self.state().about.without_agent.clone()?;
        Some(format!(
            "no agent runs on `{}` ({why}): its services, caches and a few facts are served by plain \
             commands, and nothing is sampled there",
            self.login
        ))
    }

    /// How often the connection was lost so far. What was done in between may not have been.
    #[must_use]
    pub fn losses(&self) -> u64 {
        self.state().losses
    }

    /// What is known of its machine.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn facts(&self) -> Result<Vec<Fact>, Error> {
        let link = self.link()?;
        match &link.agent {
            Ok(channel) => self.facts_of(&link, channel.ask(Ask::Facts, LONG)),
            Err(_) => self.noticed(&link, plain::facts(&link.ssh)),
        }
    }

    /// What is known of the places of a system there. Without an agent, nothing.
    ///
    /// # Errors
    /// Where the connection is lost.
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
    /// Where that is refused, and where the connection is lost.
    pub fn drop_caches(&self) -> Result<(), Error> {
        let link = self.link()?;
        match &link.agent {
            Ok(channel) => self
                .noticed(&link, channel.ask(Ask::DropCaches, CACHES))
                .map(drop),
            Err(_) => self.noticed(&link, plain::drop_caches(&link.ssh, CACHES)),
        }
    }

    /// Has what is asked for sampled once a second from now on; what cannot be, and why: each a sentence
    /// without its stop.
    ///
    /// # Errors
    /// Where the connection is lost, and where there is no agent.
    pub fn watch(&self, watch: Watch) -> Result<Vec<String>, Error> {
        // What is left of what was watched before.
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

    /// Samples everything that is watched once more; waits for that for two seconds.
    ///
    /// # Errors
    /// Where nothing comes.
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

    /// What was sampled since this was asked last, on this machine's clock, and what could not be.
    #[must_use]
    pub fn take(&self) -> (Vec<Received>, Vec<String>) {
        let mut state = self.state();
        if let Ok(link) = state.link.clone() {
            state.receive(&link);
        }
        std::mem::take(&mut state.received)
    }

    /// What was measured of its clock since an instant of this machine's, and the last before.
    #[must_use]
    pub fn clocks_since(&self, since_ns: u64) -> Vec<Clock> {
        let state = self.state();
        let all = state.clock.measurements();
        let later = all.partition_point(|measurement| measurement.leader_ns < since_ns);
        let first = later.saturating_sub(1);
        all[first..].iter().map(clock_of).collect()
    }

    /// Whether there is a connection.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.state().link.is_ok()
    }

    /// Waits until there is a connection, or `is_over` says that nobody waits any more; why there is
    /// none.
    pub fn wait(&self, timeout: Duration, is_over: &dyn Fn() -> bool) -> Option<String> {
        let end = Instant::now() + timeout;
        let mut state = self.state();
        while state.link.is_err() && Instant::now() < end && !is_over() {
            let waited = self.changed.wait_timeout(state, Duration::from_millis(200));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.link.as_ref().err().cloned()
    }

    /// Ends the connection, and whoever makes one, and waits until what was prepared there is put back.
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
    /// Takes what has come over a connection.
    fn receive(&mut self, link: &Link) {
        if let Ok(channel) = &link.agent {
            let (taken, not_sampled) = channel.take();
            let (received, refused) = &mut self.received;
            received.extend(on_own_clock(taken, &self.clock));
            refused.extend(not_sampled);
        }
    }
}

/// The names of hosts by what `ssh` takes: each without who logs in and the port, or with these where
/// two would be called alike.
#[must_use]
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
