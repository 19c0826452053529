//! Preparation on a host, carried out by its agent.

use super::{LONG, Server};
use crate::agent::{Answer, Ask, protocol::Looked};
use crate::{
    Error,
    channel::{Channel, PrepareMessage},
    link::Link,
};
use tailmark_prepare::{CompletedStep, JobRequest, MachineRequest, Watch as Progress};

impl Server {
    /// What would be prepared there, and all objections.
    ///
    /// # Errors
    /// If a device or the agent is missing, or the connection is lost.
    pub fn look_at(&self, request: &JobRequest) -> Result<Looked, Error> {
        let link = self.link()?;
        let channel = self.agent_of(&link)?;
        match self.noticed(&link, channel.ask(Ask::Look(request.clone()), LONG))? {
            Answer::Looked(looked) => Ok(looked),
            _ => Ok(Looked::default()),
        }
    }

    /// Prepares devices and the machine there. Steps that are not destructive are repeated after a
    /// reconnect, because they are undone when a connection ends.
    ///
    /// # Errors
    /// If a step fails or is stopped, if there is no agent, or if the connection is lost.
    pub fn prepare(
        &self,
        request: &JobRequest,
        whose: &str,
        destroys: bool,
        progress: &dyn Progress,
        log: &dyn Fn(&str),
    ) -> Result<Vec<CompletedStep>, Error> {
        let link = self.link()?;
        let channel = self.agent_of(&link)?;
        let ask = Ask::Prepare {
            request: request.clone(),
            whose: whose.to_owned(),
            destroys,
        };
        let mut hear = |said: PrepareMessage| match said {
            PrepareMessage::Log(text) => log(&text),
            PrepareMessage::Begins(what) => progress.begins(&what),
            PrepareMessage::Progress(done, total) => progress.progress(done, total),
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

    /// Whether anything was prepared there that is put back when a connection ends.
    pub fn is_changed(&self) -> bool {
        let is_change = |(request, _): &(JobRequest, String)| {
            request.machine != MachineRequest::default() || request.devices.mount.is_some()
        };
        self.state().prepared.iter().any(is_change)
    }

    /// Restores changes there. Returns how many could not be restored.
    ///
    /// # Errors
    /// If the connection is lost. The agent then restores what it can.
    pub fn put_back(&self, log: &dyn Fn(&str)) -> Result<usize, Error> {
        if !self.is_changed() {
            return Ok(0);
        }
        let link = self.link()?;
        let channel = self.agent_of(&link)?;
        let mut hear = |said: PrepareMessage| {
            if let PrepareMessage::Log(text) = said {
                log(&text);
            }
        };
        let answer = channel.prepare(Ask::PutBack, &mut hear, &|| false);
        match self.noticed(&link, answer)? {
            Answer::Left(changes) => {
                self.state().prepared.clear();
                Ok(changes)
            }
            _ => Ok(0),
        }
    }

    /// Prepares again what does not last longer than a connection.
    pub(super) fn prepare_again(&self, channel: &Channel) -> Result<(), Error> {
        let prepared = self.state().prepared.clone();
        for (request, whose) in prepared {
            let again = Ask::Prepare {
                request,
                whose,
                destroys: false,
            };
            channel.prepare(again, &mut drop, &|| self.state().is_over)?;
        }
        Ok(())
    }

    pub(super) fn agent_of<'a>(&self, link: &'a Link) -> Result<&'a Channel, Error> {
        link.agent.as_ref().map_err(|why| Error::NoAgent {
            login: self.login.clone(),
            why: why.clone(),
        })
    }
}
