//! The hosts of the servers of a plan: connections to them for as long as a run needs them.

use crate::{Error, facts::kept};
use std::{sync::Arc, time::Duration};
use tailmark_engine::Stop;
use tailmark_plan::{Plan, ServiceControl, SystemPlan};
use tailmark_remote::{Options, Server};
use tailmark_results::Fact;

/// Connections to the hosts of a plan, one to each.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    all: Vec<Arc<Server>>,
    /// Those that could not be made, and why.
    refused: Vec<(String, String)>,
}

impl Servers {
    /// Makes those of all systems that have something to measure; what fails is told by
    /// [`Self::refuse`].
    pub fn connect(plan: &Plan, is_pending: impl Fn(&SystemPlan) -> bool) -> Self {
        let mut servers = Self::default();
        for system in plan.systems.iter().filter(|system| is_pending(system)) {
            for login in &system.host {
                if servers.all.iter().any(|server| server.login() == login) {
                    continue;
                }
                // All systems of one host share a connection.
                let of_host = plan.systems.iter().filter(|of| of.host.contains(login));
                let needs = of_host.clone().map(|of| needs_root(plan, of));
                let options = Options {
                    without_agent: of_host.clone().any(|of| !of.agent),
                    needs_root: needs.max_by_key(String::len).unwrap_or_default(),
                };
                match Server::connect(login, options) {
                    Ok(server) => servers.all.push(server),
                    Err(error) => servers.refused.push((login.clone(), error.to_string())),
                }
            }
        }
        servers
    }

    /// Refuses a system of which one could not be made.
    ///
    /// # Errors
    /// Why not.
    pub fn refuse(&self, system: &SystemPlan) -> Result<(), Error> {
        let mut refused = self.refused.iter();
        match refused.find(|(login, _)| system.host.contains(login)) {
            None => Ok(()),
            Some((_, why)) => Err(Error::NoServerHost {
                system: system.name.clone(),
                why: why.clone(),
            }),
        }
    }

    /// Refuses a plan of which a system that is not optional cannot be reached.
    ///
    /// # Errors
    /// As [`Self::refuse`].
    pub fn refuse_needed(&self, plan: &Plan) -> Result<(), Error> {
        let mut needed = plan.systems.iter().filter(|system| !system.optional);
        needed.try_for_each(|system| self.refuse(system))
    }

    /// Those of a system, in the order of the plan.
    pub fn of(&self, system: &SystemPlan) -> Vec<Arc<Server>> {
        let of = |login: &String| self.all.iter().find(|server| server.login() == login);
        system.host.iter().filter_map(of).cloned().collect()
    }

    /// Bytes of memory of all hosts of a system together; none where it has no host, or one does not
    /// say.
    pub fn memory(&self, system: &SystemPlan) -> Option<u64> {
        let each = self.of(system).into_iter().map(|server| server.memory());
        let sum: Option<u64> = each.sum();
        sum.filter(|_| !system.host.is_empty())
    }

    /// What is missing of those that have no agent.
    pub fn notices(&self) -> Vec<String> {
        self.all
            .iter()
            .filter_map(|server| server.without_agent())
            .collect()
    }

    /// What is known of the hosts of a system, as facts of that.
    ///
    /// # Errors
    /// Where a connection is lost.
    pub fn facts(&self, plan: &Plan, system: &SystemPlan) -> Result<Vec<Fact>, Error> {
        let mut all = Vec::new();
        for (number, server) in (1..).zip(self.of(system)) {
            let lost = |source| Error::Server {
                system: system.name.clone(),
                source,
            };
            let mut facts = server.facts().map_err(lost)?;
            facts.extend(
                server
                    .place_facts(&system.name, &system.watch)
                    .map_err(lost)?,
            );
            let (group, name) = match number {
                1 => (Fact::SERVER.to_owned(), "name of the host"),
                _ => (format!("{} {number}", Fact::SERVER), "name of the host"),
            };
            all.push(Fact {
                system: Some(system.name.clone()),
                group,
                name: name.to_owned(),
                value: server.name().to_owned(),
            });
            all.extend(facts.into_iter().map(|fact| Fact {
                system: Some(system.name.clone()),
                group: Fact::group_of_server(&fact.group, number),
                ..fact
            }));
        }
        Ok(kept(plan, all))
    }

    /// Waits until there is a connection, or the run is to stop.
    ///
    /// # Errors
    /// Where there is none within `timeout`.
    pub fn wait(
        system: &str,
        server: &Server,
        timeout: Duration,
        stop: &Stop,
    ) -> Result<(), Error> {
        let is_over = || stop.requested();
        match server.wait(timeout, &is_over) || stop.requested() {
            true => Ok(()),
            false => Err(Error::Server {
                system: system.to_owned(),
                source: tailmark_remote::Error::Lost {
                    login: server.login().to_owned(),
                    why: format!(
                        "it did not come back within {} (sweep.ready_timeout)",
                        humantime::format_duration(timeout)
                    ),
                },
            }),
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in self.all.drain(..) {
            server.end();
        }
    }
}

/// What of a plan needs root where the server of a system is; empty where nothing does.
fn needs_root(plan: &Plan, system: &SystemPlan) -> String {
    let is_unit = |control: &ServiceControl| matches!(control, ServiceControl::Systemd(_));
    let has_unit = system
        .service
        .as_ref()
        .is_some_and(|of| is_unit(&of.control));
    let prepares = !plan.settings.is_empty() || !system.prepare.devices.is_empty();
    let needs = [
        (plan.host.drop_caches, "dropping caches (host.drop_caches)"),
        (has_unit, "a unit of systemd (service.systemd)"),
        (prepares, "what [prepare] asks for"),
    ];
    let needed = needs.iter().filter(|(is_needed, _)| *is_needed);
    let needed: Vec<_> = needed.map(|(_, what)| *what).collect();
    needed.join(" and ")
}
