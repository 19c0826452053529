//! One host of a server, for as long as a run needs it: a connection that comes back, and what its
//! clock says.

use crate::{
    Error,
    channel::{Channel, Said},
    link::Link,
    plain,
    samples::{Clock, Received, clock_of, on_own_clock},
    ssh::Output,
};
use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::{Duration, Instant},
};
use tailmark_agent::{
    Answer, Ask,
    protocol::{Looked, Watch},
};
use tailmark_cluster::{ClockLine, Measurement};
use tailmark_host::prepare::{Done, JobRequest, Watch as Progress};
use tailmark_results::Fact;

/// How often it is asked whether it is there, or called again where it is not.
const LOOK: Duration = Duration::from_secs(2);
/// How often its clock is measured.
const CLOCK: Duration = Duration::from_secs(60);
/// How long a short command may take: longer than a machine whose disk is busy takes for any.
pub const SHORT: Duration = Duration::from_secs(120);
/// How long facts, and opening probes, may take.
const LONG: Duration = Duration::from_secs(180);
/// How long caches may take: what is dirty is written first.
const CACHES: Duration = Duration::from_secs(600);
/// How long the last sample of a point is waited for.
const LAST: Duration = Duration::from_secs(2);

/// What is needed of a host.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// That no agent is copied there.
    pub without_agent: bool,
    /// What needs root there; nothing does, where empty.
    pub needs_root: String,
}

/// The host of a server.
#[derive(Debug)]
pub struct Server {
    login: String,
    options: Options,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// The connection, or why there is none.
    link: Result<Arc<Link>, String>,
    /// What is watched, so that it is again when a connection has come back.
    watch: Option<Watch>,
    /// What was prepared, of which what does not last longer than a connection is done again.
    prepared: Vec<(JobRequest, String)>,
    clock: ClockLine,
    measured: Instant,
    /// What tells one boot of one machine from others.
    boot_id: String,
    /// Set when nobody needs it any more.
    is_over: bool,
}

/// What was opened to be sampled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opened {
    /// The probes.
    pub probes: Vec<String>,
    /// What cannot be sampled, and why.
    pub not_sampled: Vec<String>,
}

impl Server {
    /// Makes a connection to `login`: what `ssh` takes, such as `root@db1`.
    ///
    /// # Errors
    /// Where that fails, where root is needed there and not to be had, and where the agent that
    /// answers is another one.
    pub fn connect(login: &str, options: Options) -> Result<Arc<Self>, Error> {
        let link = Link::connect(login, &options)?;
        let boot_id = link.boot_id();
        let clock = match &link.agent {
            Ok(channel) => Some(channel.clock()?),
            Err(_) => None,
        };
        let server = Arc::new(Self {
            login: login.to_owned(),
            options,
            state: Mutex::new(State {
                link: Ok(Arc::new(link)),
                watch: None,
                prepared: Vec::new(),
                clock: line_of(clock),
                measured: Instant::now(),
                boot_id,
                is_over: false,
            }),
            changed: Condvar::new(),
        });
        let weak = Arc::downgrade(&server);
        thread::spawn(move || keep(&weak));
        Ok(server)
    }

    /// What `ssh` takes to reach it.
    #[must_use]
    pub fn login(&self) -> &str {
        &self.login
    }

    /// Its name: that of `login` without who logs in and the port.
    #[must_use]
    pub fn name(&self) -> &str {
        name_of(&self.login)
    }

    /// Whether it is this machine.
    #[must_use]
    pub fn is_this_machine(&self) -> bool {
        let own = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let boot_id = &self.state().boot_id;
        !boot_id.is_empty() && own.trim() == boot_id
    }

    /// Bytes of its memory, where an agent says so.
    #[must_use]
    pub fn memory(&self) -> Option<u64> {
        let link = self.link().ok()?;
        let channel = link.agent.as_ref().ok()?;
        Some(channel.hello().memory)
    }

    /// Why there is no agent, and what is missing therefore: a sentence without its stop.
    #[must_use]
    pub fn without_agent(&self) -> Option<String> {
        let link = self.link().ok()?;
        let why = link.agent.as_ref().err()?;
        Some(format!(
            "no agent runs on `{}` ({why}): its services, caches and a few facts are served by plain \
             commands, and nothing is sampled there",
            self.login
        ))
    }

    /// What is known of its machine.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn facts(&self) -> Result<Vec<Fact>, Error> {
        let link = self.link()?;
        match &link.agent {
            Ok(channel) => self.facts_of(&link, channel.ask(Ask::Facts, LONG)),
            Err(_) => plain::facts(&link.ssh),
        }
    }

    /// What is known of the places of a system there. Without an agent, nothing.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn place_facts(
        &self,
        system: &str,
        places: &[std::path::PathBuf],
    ) -> Result<Vec<Fact>, Error> {
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
            Err(_) => plain::drop_caches(&link.ssh, CACHES),
        }
    }

    /// What would be prepared there, and what speaks against it.
    ///
    /// # Errors
    /// Where a device is not there, where there is no agent, and where the connection is lost.
    pub fn look_at(&self, request: &JobRequest) -> Result<Looked, Error> {
        let link = self.link()?;
        let channel = self.agent_of(&link)?;
        match self.noticed(&link, channel.ask(Ask::Look(request.clone()), LONG))? {
            Answer::Looked(looked) => Ok(looked),
            _ => Ok(Looked::default()),
        }
    }

    /// Prepares devices and the machine there; what does not destroy is done again where the
    /// connection has come back, since it is put back when one ends.
    ///
    /// # Errors
    /// Where a step fails or is stopped, where there is no agent, and where the connection is lost.
    pub fn prepare(
        &self,
        request: &JobRequest,
        whose: &str,
        destroys: bool,
        progress: &dyn Progress,
        log: &dyn Fn(&str),
    ) -> Result<Vec<Done>, Error> {
        let link = self.link()?;
        let channel = self.agent_of(&link)?;
        let ask = Ask::Prepare {
            request: request.clone(),
            whose: whose.to_owned(),
            destroys,
        };
        let mut hear = |said: Said| match said {
            Said::Log(text) => log(&text),
            Said::Begins(what) => progress.begins(&what),
            Said::Progress(done, of) => progress.progress(done, of),
        };
        let answer = channel.prepare(ask, &mut hear, &|| progress.is_stopped());
        match self.noticed(&link, answer)? {
            Answer::Prepared(done) => {
                let again = (request.clone(), whose.to_owned());
                self.state().prepared.push(again);
                Ok(done)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn agent_of<'a>(&self, link: &'a Link) -> Result<&'a Channel, Error> {
        link.agent.as_ref().map_err(|why| Error::NoAgent {
            login: self.login.clone(),
            why: why.clone(),
        })
    }

    /// Has what is asked for sampled once a second from now on.
    ///
    /// # Errors
    /// Where the connection is lost, and where there is no agent.
    pub fn watch(&self, watch: Watch) -> Result<Opened, Error> {
        // Also where there is no connection at the moment: it may come back.
        self.state().watch = Some(watch.clone());
        let link = self.link()?;
        let channel = self.agent_of(&link)?;
        channel.take();
        self.measure_clock();
        match self.noticed(&link, channel.ask(Ask::Watch(watch), LONG))? {
            Answer::Watching {
                probes,
                not_sampled,
            } => Ok(Opened {
                probes,
                not_sampled,
            }),
            _ => Ok(Opened::default()),
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
        let state = self.state();
        let Ok(link) = &state.link else {
            return (Vec::new(), Vec::new());
        };
        let Ok(channel) = &link.agent else {
            return (Vec::new(), Vec::new());
        };
        let (taken, not_sampled) = channel.take();
        (on_own_clock(taken, &state.clock), not_sampled)
    }

    /// What was measured of its clock since an instant of this machine's, and the last before.
    #[must_use]
    pub fn clocks_since(&self, since_ns: u64) -> Vec<Clock> {
        let state = self.state();
        let all = state.clock.measurements();
        let first = all
            .partition_point(|of| of.leader_ns < since_ns)
            .saturating_sub(1);
        all[first..].iter().map(clock_of).collect()
    }

    /// Whether there is a connection.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.state().link.is_ok()
    }

    /// Waits until there is a connection, or `is_over` says that nobody waits any more; whether
    /// there is one.
    pub fn wait(&self, timeout: Duration, is_over: &dyn Fn() -> bool) -> bool {
        let end = Instant::now() + timeout;
        let mut state = self.state();
        while state.link.is_err() && Instant::now() < end && !is_over() {
            let waited = self.changed.wait_timeout(state, Duration::from_millis(200));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.link.is_ok()
    }

    /// Ends the connection, and waits until what was prepared there is put back.
    pub fn end(&self) {
        let ended = {
            let mut state = self.state();
            state.is_over = true;
            std::mem::replace(&mut state.link, Err("the run has ended".to_owned()))
        };
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

    /// Measures its clock; where that fails, the connection is lost.
    fn measure_clock(&self) {
        let Ok(link) = self.link() else {
            return;
        };
        if let Ok(channel) = &link.agent
            && let Ok(measured) = self.noticed(&link, channel.clock())
        {
            let mut state = self.state();
            state.clock.add(measured);
            state.measured = Instant::now();
        }
    }

    fn link(&self) -> Result<Arc<Link>, Error> {
        self.state().link.clone().map_err(|why| Error::Lost {
            login: self.login.clone(),
            why,
        })
    }

    /// Where an answer shows that the connection is lost, that is known from now on.
    fn noticed<T>(&self, link: &Arc<Link>, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::Lost { why, .. }) = &result {
            let mut state = self.state();
            // Another one may have come meanwhile.
            if state.link.as_ref().is_ok_and(|now| Arc::ptr_eq(now, link)) {
                let lost = std::mem::replace(&mut state.link, Err(why.clone()));
                // To end what does not answer takes its time.
                thread::spawn(move || drop(lost));
            }
            drop(state);
            self.changed.notify_all();
        }
        result
    }

    /// Looks whether it is there, and calls it again where it is not.
    fn look(&self) {
        match self.link() {
            Ok(link) => {
                let there = match &link.agent {
                    Ok(channel) => channel.exchange().map(drop),
                    Err(_) => link.ssh.script("true", &[], SHORT).map(drop),
                };
                let is_due = self.state().measured.elapsed() >= CLOCK;
                if self.noticed(&link, there).is_ok() && is_due {
                    self.measure_clock();
                }
            }
            Err(_) => {
                if let Ok(link) = Link::connect(&self.login, &self.options) {
                    self.back(link);
                }
            }
        }
    }

    /// A connection has come back: what was watched is watched again.
    fn back(&self, link: Link) {
        let boot_id = link.boot_id();
        let clock = link.agent.as_ref().ok().and_then(|of| of.clock().ok());
        let (watch, prepared) = {
            let state = self.state();
            (state.watch.clone(), state.prepared.clone())
        };
        for (request, whose) in prepared {
            let again = Ask::Prepare {
                request,
                whose,
                destroys: false,
            };
            let channel = link.agent.as_ref();
            if channel.is_ok_and(|channel| channel.ask(again, LONG).is_err()) {
                return;
            }
        }
        if let (Ok(channel), Some(watch)) = (&link.agent, watch)
            && channel.ask(Ask::Watch(watch), LONG).is_err()
        {
            return;
        }
        let mut state = self.state();
        if state.is_over {
            return;
        }
        // After a boot its clock has begun again.
        if boot_id != state.boot_id {
            state.clock = ClockLine::default();
            state.boot_id = boot_id;
        }
        clock.into_iter().for_each(|clock| state.clock.add(clock));
        state.link = Ok(Arc::new(link));
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }
}

/// Looks after a host until nobody needs it.
fn keep(server: &Weak<Server>) {
    loop {
        thread::sleep(LOOK);
        match server.upgrade() {
            Some(server) if !server.state().is_over => server.look(),
            _ => return,
        }
    }
}

/// What is left of `user@host`, or of `ssh://user@host:port`.
pub fn name_of(login: &str) -> &str {
    let (url, rest) = match login.strip_prefix("ssh://") {
        Some(rest) => (true, rest),
        None => (false, login),
    };
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let host = host.trim_end_matches('/');
    match host.rsplit_once(':') {
        Some((name, _)) if url => name,
        _ => host,
    }
}

fn line_of(clock: Option<Measurement>) -> ClockLine {
    let mut line = ClockLine::default();
    clock.into_iter().for_each(|clock| line.add(clock));
    line
}
