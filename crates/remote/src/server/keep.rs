//! Checks a connection every two seconds and reconnects if it is lost.

use super::{About, LONG, Server, State};
use crate::agent::{Answer, Ask};
use crate::{
    Error,
    channel::Channel,
    link::Link,
    scripts::END_ALL,
    ssh::{SHORT, summary},
};
use std::{
    sync::{Arc, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tailmark_cluster::{ClockLine, Measurement};

/// How often a connection is checked, or retried if it is lost.
const LOOK: Duration = Duration::from_secs(2);
/// How often its clock is measured.
const CLOCK: Duration = Duration::from_secs(60);

/// Looks after a host until it is not needed any more.
pub(super) fn spawn(server: &Arc<Server>) -> JoinHandle<()> {
    let server = Arc::clone(server);
    thread::spawn(move || {
        while !server.is_over_within(LOOK) {
            server.look();
        }
    })
}

impl Server {
    /// Notes a lost connection if an answer shows it.
    pub(super) fn noticed<T>(
        &self,
        link: &Arc<Link>,
        result: Result<T, Error>,
    ) -> Result<T, Error> {
        if let Err(Error::Lost { why, .. }) = &result {
            let mut state = self.state();
            // Another one may have come meanwhile.
            if state.link.as_ref().is_ok_and(|now| Arc::ptr_eq(now, link)) {
                link.set_lost();
                state.receive(link);
                state.losses += 1;
                state.link = Err(why.clone());
            }
            drop(state);
            self.changed.notify_all();
        }
        result
    }

    /// Measures its clock. If that fails, the connection is lost.
    pub(super) fn measure_clock(&self) {
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

    /// Whether it is not needed any more; waits up to that time.
    fn is_over_within(&self, time: Duration) -> bool {
        let continues = |state: &mut State| !state.is_over;
        let waited = self
            .changed
            .wait_timeout_while(self.state(), time, continues);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_over
    }

    /// Checks the connection, and reconnects if it is lost.
    fn look(&self) {
        let Ok(link) = self.link() else {
            let is_over = || self.state().is_over;
            let called = Link::connect(&self.login, &self.options, &is_over);
            if let Err(error) = called.and_then(|link| self.back(link)) {
                // Waiting callers get the last reason.
                self.state().link = Err(summary(&error.to_string()));
            }
            return;
        };
        let there = match &link.agent {
            Ok(channel) => channel.exchange().map(drop),
            Err(_) => link.ssh.script("true", &[], SHORT).map(drop),
        };
        let is_due = self.state().measured.elapsed() >= CLOCK;
        if self.noticed(&link, there).is_ok() && is_due {
            self.measure_clock();
        }
    }

    /// After a reconnect, prepares and watches again. A reconnect without the agent does not count
    /// as recovered, because it can do neither.
    fn back(&self, link: Link) -> Result<(), Error> {
        let about = About::from_link(&link);
        if self.without_agent().is_none() {
            self.agent_of(&link)?;
        }
        self.end_unsure(&link)?;
        let clock = link.agent.as_ref().map(Channel::clock);
        let clock = clock.ok().transpose()?;
        if let Ok(channel) = &link.agent {
            self.prepare_again(channel)?;
        }
        let mut watched = None;
        loop {
            let mut state = self.state();
            let watch = state.watch.clone();
            match &link.agent {
                _ if state.is_over => return Ok(()),
                // It may have changed since it was asked for.
                Ok(channel) if watch != watched => {
                    drop(state);
                    let ask = watch.clone().map_or(Ask::Rest, Ask::Watch);
                    if let Answer::Watching { not_sampled } = channel.ask(ask, LONG)? {
                        self.state().received.1.extend(not_sampled);
                    }
                    watched = watch;
                }
                _ => {
                    state.renew(about, clock);
                    state.link = Ok(Arc::new(link));
                    self.changed.notify_all();
                    return Ok(());
                }
            }
        }
    }

    /// Ends commands that may or may not have been started, because their callers will ask again.
    fn end_unsure(&self, link: &Link) -> Result<(), Error> {
        let unsure = self.state().unsure.clone();
        if !unsure.is_empty() {
            let kept: Vec<&str> = unsure.iter().map(String::as_str).collect();
            link.ssh.script(END_ALL, &kept, LONG)?;
            self.state().unsure.retain(|agent| !unsure.contains(agent));
        }
        Ok(())
    }
}

impl State {
    /// Takes the description of the machine from a new connection.
    fn renew(&mut self, about: About, clock: Option<Measurement>) {
        // After a boot its clock has begun again.
        if about.boot_id != self.about.boot_id {
            self.clock = ClockLine::default();
        }
        clock.into_iter().for_each(|clock| self.clock.add(clock));
        self.about = about;
    }
}
