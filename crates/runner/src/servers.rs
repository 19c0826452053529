//! The hosts of a plan's servers: connections for as long as a run needs them.

use crate::{Error, error::in_one_line, facts::kept, prepare::log::tell};
use std::{
    panic::resume_unwind,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tailmark_engine::{Observer, Stop};
use tailmark_model::Fact;
use tailmark_plan::{Agent, Plan, ServiceControl, SystemPlan};
use tailmark_remote::{AgentProgram, Options, RunStop, Server, names_of};

/// How long to wait for a connection at the end.
const PUT_BACK: Duration = Duration::from_secs(60);

/// Connections to the hosts of a plan, one to each.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    all: Vec<Arc<Server>>,
    /// Hosts without a connection, and why.
    refused: Vec<(String, String)>,
}

impl Servers {
    /// Connects the hosts of all systems that have something to measure, and of those whose service
    /// could be in the way. Failures of optional systems are reported by [`Self::refuse`].
    ///
    /// # Errors
    /// If a host of a system that is not optional cannot be connected, or if a stop was requested.
    pub fn connect(
        plan: &Plan,
        is_pending: impl Fn(&SystemPlan) -> bool,
        (observer, stop): (&dyn Observer, &Stop),
    ) -> Result<Self, Error> {
        // The name of a host is the same in every run of a study.
        let mut logins: Vec<&str> = Vec::new();
        for login in plan.systems.iter().flat_map(|system| &system.ssh) {
            if !logins.contains(&login.as_str()) {
                logins.push(login);
            }
        }
        let mut calls = Vec::new();
        let is_any = plan.systems.iter().any(&is_pending);
        let is_needed = |system: &&SystemPlan| is_pending(system) || system.service.is_some();
        for (login, name) in logins.iter().zip(names_of(&logins)) {
            // All systems of one host share a connection.
            let of_host: Vec<_> = plan
                .systems
                .iter()
                .filter(|server| server.ssh.iter().any(|host| host == login))
                .collect();
            if !is_any || !of_host.iter().any(is_needed) {
                continue;
            }
            let needs = of_host.iter().map(|system| needs_root(plan, system));
            let options = Options {
                needs_root: needs.max_by_key(String::len).unwrap_or_default(),
                agent: agent(&of_host),
                stop: run_stop(stop),
            };
            calls.push(Call {
                login,
                name,
                options,
            });
        }
        let mut servers = Self::default();
        for (call, connected) in calls.iter().zip(call_all(&calls, (observer, stop))) {
            servers.add(call.login, connected);
        }
        // The connections made so far end here.
        if stop.requested() && !calls.is_empty() {
            return Err(Error::Stopped {
                doing: "tailmark connected to the hosts of servers".to_owned(),
            });
        }
        let mut needed = plan.systems.iter().filter(|system| !system.optional);
        needed.try_for_each(|system| servers.refuse(system))?;
        Ok(servers)
    }

    /// Adds a connection, or why there is none.
    fn add(&mut self, login: &str, connected: Result<Arc<Server>, tailmark_remote::Error>) {
        let why = match connected {
            Ok(server) => match self.all.iter().find(|known| known.is_same_machine(&server)) {
                None => {
                    self.all.push(server);
                    return;
                }
                Some(same) => {
                    server.end();
                    format!(
                        "`{login}` is the same machine as `{}`: use one name for it everywhere, \
                         and only once per system",
                        same.login()
                    )
                }
            },
            Err(error) => in_one_line(&error),
        };
        self.refused.push((login.to_owned(), why));
    }

    /// Refuses a system with an unconnected host.
    ///
    /// # Errors
    /// The reason.
    pub fn refuse(&self, system: &SystemPlan) -> Result<(), Error> {
        let mut refused = self.refused.iter();
        match refused.find(|(login, _)| system.ssh.contains(login)) {
            None => Ok(()),
            Some((_, why)) => Err(Error::NoServerHost {
                system: system.name.clone(),
                why: why.clone(),
            }),
        }
    }

    /// The servers of a system, in the order of the plan.
    pub fn of(&self, system: &SystemPlan) -> Vec<Arc<Server>> {
        let server = |login: &String| self.all.iter().find(|server| server.login() == login);
        system.ssh.iter().filter_map(server).cloned().collect()
    }

    /// Total memory of all hosts of a system in bytes, each at most this limit; `None` without a
    /// host, or if one does not report it.
    pub fn memory(&self, system: &SystemPlan, limit: u64) -> Option<u64> {
        let each = self.of(system).into_iter().map(|server| server.memory());
        let sum: Option<u64> = each.map(|memory| Some(memory?.min(limit))).sum();
        sum.filter(|_| !system.ssh.is_empty())
    }

    /// Notices about what is missing on hosts without an agent.
    pub fn notices(&self) -> Vec<String> {
        self.all
            .iter()
            .filter_map(|server| server.without_agent())
            .collect()
    }

    /// Facts about the hosts of a system.
    ///
    /// # Errors
    /// If a connection is lost.
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
            all.push(Fact {
                system: Some(system.name.clone()),
                group: Fact::server(number),
                name: "name of the host".to_owned(),
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

    /// Does something on the hosts of a system once all are connected. Repeats it if a connection
    /// was lost meanwhile and came back, because it may not have been done. `None` if the run is to
    /// stop.
    ///
    /// # Errors
    /// If a connection does not come back within `timeout`, and errors of the action.
    pub fn awaited<T>(
        &self,
        system: &SystemPlan,
        timeout: Duration,
        (observer, stop): (&dyn Observer, &Stop),
        mut does: impl FnMut() -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let hosts = self.of(system);
        let end = Instant::now() + timeout;
        loop {
            let before = losses(&hosts);
            for server in hosts.iter().filter(|server| !server.is_there()) {
                observer.step(&format!("waiting for the connection to {}", server.login()));
                let left = end.saturating_duration_since(Instant::now());
                wait(system, server, (left, timeout), stop)?;
            }
            // Only a stop ends the wait early.
            if !hosts.iter().all(|server| server.is_there()) {
                return Ok(None);
            }
            let done = does();
            if done.is_ok() || losses(&hosts) == before || Instant::now() >= end {
                return done.map(Some);
            }
        }
    }

    /// How often the connection to each host of a system has been lost so far.
    pub fn losses(&self, system: &SystemPlan) -> Vec<u64> {
        losses(&self.of(system))
    }

    /// The hosts of a system that have lost their connection since, which undid their preparation.
    pub fn put_back_since(&self, system: &SystemPlan, before: &[u64]) -> Vec<String> {
        let hosts = self.of(system);
        let each = hosts.iter().zip(before);
        let is_put_back = |(server, count): &(&Arc<Server>, &u64)| {
            server.is_changed() && server.losses() > **count
        };
        let lost = each.filter(is_put_back);
        lost.map(|(server, _)| server.name().to_owned()).collect()
    }

    /// Whether all hosts of a system are this machine, or all are others; `None` if unknown or
    /// mixed.
    pub fn are_this_machine(&self, system: &SystemPlan) -> Option<bool> {
        let hosts = self.of(system);
        let each: Vec<_> = hosts.iter().map(|host| host.is_this_machine()).collect();
        all_alike(&each).filter(|_| each.len() == system.ssh.len())
    }

    /// Undoes the preparation on all hosts. Returns the hosts with the number of changes that could
    /// not be undone, if known. Waits a while for a lost connection.
    pub fn put_back(&self, observer: &dyn Observer) -> Vec<(String, Option<usize>)> {
        let log = |text: &str| tell(observer, text);
        let mut left = Vec::new();
        for server in self.all.iter().filter(|server| server.is_changed()) {
            let end = Instant::now() + PUT_BACK;
            let result = again_where_lost(&|| server.losses(), end, || {
                if !server.is_there() {
                    observer.step(&format!("waiting for the connection to {}", server.login()));
                    // The caller then asks why it is missing.
                    let _ = server.wait(end.saturating_duration_since(Instant::now()), &|| false);
                }
                server.put_back(&log)
            });
            let changes = match result {
                Ok(0) => continue,
                Ok(changes) => Some(changes),
                Err(error) => {
                    tell(
                        observer,
                        &format!("`{}`: {}", server.name(), in_one_line(&error)),
                    );
                    None
                }
            };
            left.push((server.name().to_owned(), changes));
        }
        left
    }
}

/// Does something, and repeats it if the connection was lost meanwhile, until `end`. A refused
/// action is not repeated: a host that was asked to restore has nothing left to restore then.
fn again_where_lost<T, E>(
    losses: &dyn Fn() -> u64,
    end: Instant,
    mut does: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    loop {
        let before = losses();
        let done = does();
        if done.is_ok() || losses() == before || Instant::now() >= end {
            return done;
        }
    }
}

fn run_stop(stop: &Stop) -> RunStop {
    let stop = stop.clone();
    RunStop::new(move || stop.requested())
}

/// A connection to be made.
struct Call<'a> {
    login: &'a str,
    name: String,
    options: Options,
}

/// Connects all hosts at the same time, so that a slow one delays no other.
fn call_all(
    calls: &[Call<'_>],
    (observer, stop): (&dyn Observer, &Stop),
) -> Vec<Result<Arc<Server>, tailmark_remote::Error>> {
    let logins: Vec<&str> = calls.iter().map(|call| call.login).collect();
    if !logins.is_empty() {
        observer.step(&format!("connecting to {}", logins.join(", ")));
    }
    let connect = |call: &Call<'_>| {
        let options = call.options.clone();
        Server::connect(call.login, &call.name, options, &|| stop.requested())
    };
    let connect = &connect;
    thread::scope(|scope| {
        let started: Vec<_> = calls
            .iter()
            .map(|call| scope.spawn(move || connect(call)))
            .collect();
        let each = started.into_iter();
        each.map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

/// The common value, if all are the same.
fn all_alike(each: &[Option<bool>]) -> Option<bool> {
    let first = *each.first()?;
    first.filter(|_| each.iter().all(|host| *host == first))
}

fn losses(hosts: &[Arc<Server>]) -> Vec<u64> {
    hosts.iter().map(|server| server.losses()).collect()
}

/// Waits until there is a connection, or the run is to stop.
fn wait(
    system: &SystemPlan,
    server: &Server,
    (left, whole): (Duration, Duration),
    stop: &Stop,
) -> Result<(), Error> {
    match server.wait(left, &|| stop.requested()) {
        None => Ok(()),
        Some(_) if stop.requested() => Ok(()),
        Some(why) => Err(Error::Server {
            system: system.name.clone(),
            source: tailmark_remote::Error::Lost {
                login: server.login().to_owned(),
                why: format!(
                    "it did not come back within {} (sweep.ready_timeout): {why}",
                    humantime::format_duration(whole)
                ),
            },
        }),
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in self.all.drain(..) {
            server.end();
        }
    }
}

/// The agent for a host that these systems share: none if one of them wants none.
fn agent(of_host: &[&SystemPlan]) -> AgentProgram {
    let agents = of_host.iter().map(|system| &system.agent);
    let mut files = agents.clone().filter_map(|agent| match agent {
        Agent::File(path) => Some(path.clone()),
        _ => None,
    });
    match files.next() {
        _ if agents.clone().any(|agent| *agent == Agent::None) => AgentProgram::None,
        Some(path) => AgentProgram::File(path),
        None => AgentProgram::Own,
    }
}

/// What in a plan requires root on the server of a system; empty if nothing does.
fn needs_root(plan: &Plan, system: &SystemPlan) -> String {
    let is_unit = |control: &ServiceControl| matches!(control, ServiceControl::Systemd(_));
    let has_unit = system
        .service
        .as_ref()
        .is_some_and(|state| is_unit(&state.control));
    // A scaled plan sets nothing.
    let sets = !plan.settings.is_empty() && plan.general.scale == 1.0;
    let prepares = sets || !system.prepare.devices.is_empty();
    let needs = [
        (
            plan.drops_caches_of(system),
            "dropping caches (machine.drop_caches)",
        ),
        (has_unit, "a systemd unit (service.systemd)"),
        (prepares, "preparing the machine ([prepare])"),
    ];
    let needed = needs.iter().filter(|(is_needed, _)| *is_needed);
    let needed: Vec<_> = needed.map(|(_, what)| *what).collect();
    needed.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn hosts_are_this_machine_where_all_are_known_to_be() {
        let (here, there, unknown) = (Some(true), Some(false), None);
        assert_eq!(all_alike(&[here, here]), Some(true));
        assert_eq!(all_alike(&[there]), Some(false));
        for mixed in [
            &[here, there][..],
            &[here, unknown],
            &[unknown, here],
            &[unknown],
            &[],
        ] {
            assert_eq!(all_alike(mixed), None, "{mixed:?}");
        }
    }

    #[test]
    fn settings_that_a_scaled_plan_does_not_set_need_no_root() {
        let needs = |scale: &str, prepare: &str| {
            let text = format!(
                "scale = {scale}\n[database]\ndriver = 'null'\n[machine]\ndrop_caches = false\n\
                 [prepare]\n{prepare}\n[[system]]\nname = 'a'\n"
            );
            let plan = tailmark_plan::RawPlan::parse("test", &text).and_then(|raw| raw.check());
            let plan = plan.unwrap();
            needs_root(&plan, &plan.systems[0])
        };
        for settings in [
            "sysctls = ['vm.swappiness=1']",
            "memory_limit = '1GiB'\nmemory_group = '/db'",
        ] {
            assert_eq!(needs("1", settings), "preparing the machine ([prepare])");
            assert_eq!(needs("0.5", settings), "", "{settings}");
        }
    }

    #[test]
    fn what_is_refused_is_not_asked_again_and_what_is_lost_is() {
        let asked = |loses: u64, timeout: Duration| {
            let (lost, asked) = (Cell::new(0), Cell::new(0));
            let done = again_where_lost(&|| lost.get(), Instant::now() + timeout, || {
                asked.set(asked.get() + 1);
                let is_lost = lost.get() < loses;
                lost.set(lost.get() + u64::from(is_lost));
                Err::<(), _>(if is_lost { "lost" } else { "refused" })
            });
            (asked.get(), done)
        };
        let minute = Duration::from_secs(60);
        assert_eq!(asked(0, minute), (1, Err("refused")));
        assert_eq!(asked(2, minute), (3, Err("refused")));
        assert_eq!(asked(2, Duration::ZERO), (1, Err("lost")));
    }
}
