//! The server of a system in a sweep: its service, its caches, and whether it answers.

use super::Sweeper;
use crate::{
    Error,
    caches::{CachesKept, drop_caches},
    dataset::Dataset,
    error::in_one_line,
    ranks::Command,
    service::wait_ready,
};
use std::{
    cell::Cell,
    time::{Duration, Instant},
};
use tailmark_driver::Place;
use tailmark_plan::SystemPlan;

/// How long to wait for a server before the reason is printed.
const SILENT_MAX: Duration = Duration::from_secs(1);

impl Sweeper<'_> {
    /// Stops the service of a system and drops its caches, or says why they are kept; `None` if it
    /// was stopped.
    pub(super) fn without_caches(
        &mut self,
        system: &SystemPlan,
        dataset: &Dataset<'_>,
    ) -> Result<Option<Option<CachesKept>>, Error> {
        let plan = self.plan;
        self.stop_service()?;
        if plan.drops_caches_of(system) && (system.is_here() || !system.ssh.is_empty()) {
            self.observer.step("dropping caches");
        }
        let drops = || drop_caches(plan, dataset, system, self.servers);
        let kept = self.awaited(system, drops)?;
        if matches!(kept, Some(None)) {
            self.ranks
                .each_of_own(system, |system| Command::DropCaches { system })?;
        }
        Ok(kept)
    }

    /// Does something on the hosts of a server, again after each lost connection; `None` if it was
    /// stopped.
    pub(super) fn awaited<T>(
        &self,
        system: &SystemPlan,
        does: impl FnMut() -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let timeout = self.plan.sweep.ready_timeout;
        let watch = (self.observer, self.stop);
        self.servers.awaited(system, timeout, watch, does)
    }

    pub(super) fn stop_service(&mut self) -> Result<(), Error> {
        if !self.services.running().is_empty() {
            self.observer.step("stopping the service");
        }
        self.services.stop()
    }

    pub(super) fn start_service(&mut self) -> Result<(), Error> {
        if !self.services.running().is_empty() {
            self.observer.step("starting the service");
        }
        self.services.start()
    }

    /// Waits until the server of a system answers; false if it was stopped. Embedded databases are
    /// always there.
    pub(super) fn wait_ready(
        &mut self,
        dataset: &Dataset<'_>,
        system: &SystemPlan,
    ) -> Result<bool, Error> {
        self.wait_until(system, || dataset.try_open())
    }

    /// The same before a load, which makes the tables of the server.
    pub(super) fn wait_until_made(
        &mut self,
        dataset: &Dataset<'_>,
        system: &SystemPlan,
    ) -> Result<bool, Error> {
        self.wait_until(system, || dataset.try_make())
    }

    fn wait_until(
        &mut self,
        system: &SystemPlan,
        is_ready: impl Fn() -> Result<(), Error>,
    ) -> Result<bool, Error> {
        if system.driver.place != Place::Hosts {
            return Ok(true);
        }
        self.observer.step("waiting for the server to answer");
        let timeout = self.plan.sweep.ready_timeout;
        let (started, is_said, observer) = (Instant::now(), Cell::new(false), self.observer);
        let is_ready = || {
            let ready = is_ready();
            if let Err(why) = &ready
                && started.elapsed() >= SILENT_MAX
                && !is_said.replace(true)
            {
                observer.notice(&format!(
                    "waiting for the server of system `{}`: {}",
                    system.name,
                    in_one_line(why)
                ));
            }
            ready
        };
        let running = self.services.running();
        let ready = wait_ready(system, running, timeout, self.stop, is_ready);
        Ok(ready?.is_some())
    }
}
