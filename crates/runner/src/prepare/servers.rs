//! Prepares the hosts of servers through their agents, with the same steps, guards and journal as
//! on this machine.

use super::{
    ELSEWHERE, GROUP, Prepared,
    log::Far,
    look::{DeviceThere, Elsewhere},
    not_set,
    request::{request_of, settings_of},
    tell,
};
use crate::{Error, error::in_one_line, servers::Servers};
use std::{path::Path, sync::Arc};
use tailmark_engine::{Observer, Stop};
use tailmark_model::Fact;
use tailmark_plan::{Plan, SystemPlan};
use tailmark_prepare::{DeviceRequest, JobRequest, MachineRequest};
use tailmark_remote::Server;
use tailmark_remote::agent::protocol::Looked;

/// The work on one host.
pub(super) struct OnHost<'a> {
    system: &'a SystemPlan,
    server: Arc<Server>,
    request: JobRequest,
}

/// The results of checking all hosts.
pub(super) struct There<'a> {
    jobs: Vec<(OnHost<'a>, Looked)>,
    pub devices: Elsewhere,
}

impl<'a> There<'a> {
    /// Looks at each host of a plan.
    pub fn look(plan: &'a Plan, servers: &Servers, out: &Path, stop: &Stop) -> Result<Self, Error> {
        let machine = if plan.general.scale == 1.0 {
            settings_of(plan)
        } else {
            MachineRequest::default()
        };
        let (mut jobs, mut devices) = (Vec::new(), Elsewhere::default());
        for system in plan.systems.iter().filter(|system| !system.ssh.is_empty()) {
            let hosts = servers.of(system);
            let has_devices = !system.prepare.devices.is_empty();
            // A system with a missing host is left out, or already measured.
            if hosts.len() < system.ssh.len() {
                devices.is_part |= has_devices;
                continue;
            }
            for server in hosts {
                let mut request = request_of(plan, system, out);
                request.machine = machine.clone();
                if !has_devices {
                    request.devices = DeviceRequest::default();
                }
                if !has_devices && request.machine == MachineRequest::default() {
                    continue;
                }
                let looked = server
                    .look_at(&request)
                    .map_err(|error| match stop.requested() {
                        true => stopped(&format!("`{}` was looked at", server.name()), &error),
                        false => failed(system, error),
                    })?;
                let each = looked.devices.iter().map(|device| DeviceThere {
                    system: system.name.clone(),
                    login: server.login().to_owned(),
                    number: device.number,
                    serial: device.serial.clone(),
                    is_idle: looked.destroys.is_empty(),
                });
                devices.devices.extend(each);
                let on_host = OnHost {
                    system,
                    server,
                    request,
                };
                jobs.push((on_host, looked));
            }
        }
        devices.refuse_twice()?;
        Ok(Self { jobs, devices })
    }
}

impl Prepared<'_> {
    /// The work on each host, without objections, with whether its destructive steps are carried
    /// out.
    pub(super) fn agree<'p>(
        &mut self,
        plan: &Plan,
        there: There<'p>,
        started: &[String],
        observer: &dyn Observer,
    ) -> Result<Vec<(OnHost<'p>, bool)>, Error> {
        let has_hosts = plan.systems.iter().any(|system| !system.ssh.is_empty());
        let is_said = not_set(plan) != Some(ELSEWHERE);
        if has_hosts && plan.general.scale != 1.0 && !plan.settings.is_empty() && !is_said {
            self.leave_settings(plan, "they apply to the plan at full scale", observer);
        }
        refuse_in_part(&there.jobs, started)?;
        let (mut agreed, mut left) = (Vec::new(), Vec::new());
        for (on_host, looked) in there.jobs {
            let OnHost { system, server, .. } = &on_host;
            if let Some(why) = looked.misplaced {
                return Err(refused(system, server, why));
            }
            let is_new = !looked.destroys.is_empty() && !started.contains(&system.name);
            let destroys = is_new && looked.is_agreed;
            if destroys && !looked.refusals.is_empty() {
                return Err(refused(system, server, looked.refusals.join("; ")));
            }
            if is_new && !looked.is_agreed {
                left.push((*system, looked.flags));
            }
            agreed.push((on_host, destroys));
        }
        for (system, flags) in left {
            self.left_as_it_is(system, &flags, observer);
        }
        Ok(agreed)
    }

    /// Prepares the hosts of servers.
    pub(super) fn prepare_there(
        &mut self,
        all: Vec<(OnHost<'_>, bool)>,
        (observer, stop): (&dyn Observer, &Stop),
    ) -> Result<(), Error> {
        for (on_host, destroys) in all {
            let OnHost {
                system,
                server,
                request,
            } = on_host;
            let whose = format!("system `{}` on {}", system.name, server.name());
            let far = Far::new(observer, stop);
            let log = |text: &str| tell(observer, text);
            let prepared = server.prepare(&request, &whose, destroys, &far, &log);
            let done = prepared.map_err(|source| {
                if stop.requested() {
                    stopped(&format!("{whose} was prepared"), &source)
                } else {
                    failed(system, source)
                }
            })?;
            let number = system.ssh.iter().position(|login| login == server.login());
            let group = Fact::group_of_server(GROUP, number.map_or(1, |at| at + 1));
            self.keep_done(Some(&system.name), &group, &whose, done);
        }
        Ok(())
    }
}

/// The error of work on a host that failed once the run was to stop.
fn stopped(doing: &str, source: &tailmark_remote::Error) -> Error {
    Error::Stopped {
        doing: format!("{doing}: {}", in_one_line(source)),
    }
}

/// Whether the content of a host's devices may be destroyed.
struct Consented<'a> {
    system: &'a str,
    is_agreed: bool,
}

/// Refuses to destroy devices on some hosts of a system but not on its others, which would be
/// measured together.
fn refuse_in_part(jobs: &[(OnHost<'_>, Looked)], started: &[String]) -> Result<(), Error> {
    let destroyed: Vec<_> = jobs
        .iter()
        .filter(|(_, looked)| !looked.destroys.is_empty())
        .collect();
    let consents = destroyed.iter().map(|(on_host, looked)| Consented {
        system: &on_host.system.name,
        is_agreed: looked.is_agreed,
    });
    match missing_consent(&consents.collect::<Vec<_>>(), started) {
        None => Ok(()),
        Some(index) => {
            let (on_host, looked) = destroyed[index];
            let why = format!(
                "devices on its other hosts may be erased, but not the devices there: add {}",
                looked.flags
            );
            Err(refused(on_host.system, &on_host.server, why))
        }
    }
}

/// A host with devices that may not be erased while those of another host of its system may.
/// Systems that have begun are ignored, because nothing of them is erased any more.
fn missing_consent(all: &[Consented<'_>], started: &[String]) -> Option<usize> {
    let is_new = |c: &Consented<'_>| !started.iter().any(|system| system == c.system);
    let may = |system: &str| all.iter().any(|c| c.system == system && c.is_agreed);
    all.iter()
        .position(|c| is_new(c) && !c.is_agreed && may(c.system))
}

fn refused(system: &SystemPlan, server: &Server, why: String) -> Error {
    Error::ServerRefuses {
        system: system.name.clone(),
        host: server.name().to_owned(),
        why,
    }
}

fn failed(system: &SystemPlan, source: tailmark_remote::Error) -> Error {
    Error::Server {
        system: system.name.clone(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_one_system_are_erased_on_all_of_its_hosts_or_on_none() {
        let missing = |all: &[(&str, bool)], started: &[String]| {
            let each = all
                .iter()
                .map(|&(system, is_agreed)| Consented { system, is_agreed });
            missing_consent(&each.collect::<Vec<_>>(), started)
        };
        let part = [("a", true), ("a", false)];
        assert_eq!(missing(&part, &[]), Some(1));
        assert_eq!(missing(&part, &["a".to_owned()]), None);
        // Each system is prepared on its own.
        assert_eq!(missing(&[("a", true), ("b", false)], &[]), None);
        assert_eq!(missing(&[("a", false), ("a", false)], &[]), None);
        assert_eq!(missing(&[("a", true), ("a", true)], &[]), None);
    }
}
