//! Preparing the hosts of servers, by the agents there: the same steps, guards and journal as on this
//! machine.

use super::{
    GROUP, Prepared,
    log::Far,
    look::{DeviceThere, Elsewhere},
    request::{request_of, settings_of},
    tell,
};
use crate::{Error, error::in_one_line, servers::Servers};
use std::{path::Path, sync::Arc};
use tailmark_agent::protocol::Looked;
use tailmark_engine::{Observer, Stop};
use tailmark_host::prepare::{DeviceRequest, JobRequest, MachineRequest};
use tailmark_plan::{Plan, SystemPlan};
use tailmark_remote::Server;
use tailmark_results::Fact;

/// What is to be done on one host.
pub(super) struct OnHost<'a> {
    system: &'a SystemPlan,
    server: Arc<Server>,
    request: JobRequest,
}

/// What was found on all hosts.
pub(super) struct There<'a> {
    jobs: Vec<(OnHost<'a>, Looked)>,
    pub devices: Elsewhere,
}

impl<'a> There<'a> {
    /// Looks at each host of a plan.
    pub fn look(plan: &'a Plan, servers: &Servers, out: &Path) -> Result<Self, Error> {
        let machine = match plan.scale == 1.0 {
            true => settings_of(plan),
            false => MachineRequest::default(),
        };
        let (mut jobs, mut devices) = (Vec::new(), Elsewhere::default());
        for system in plan.systems.iter().filter(|system| !system.host.is_empty()) {
            let hosts = servers.of(system);
            let has_devices = !system.prepare.devices.is_empty();
            devices.is_part |= has_devices && hosts.len() < system.host.len();
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
                    .map_err(|error| failed(system, error))?;
                let each = looked.serials.iter().map(|serial| DeviceThere {
                    system: system.name.clone(),
                    login: server.login().to_owned(),
                    serial: serial.clone(),
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
    /// What is done on each host, none of which has anything against it, with whether steps are carried
    /// out that destroy what is on devices.
    pub(super) fn agree<'p>(
        &mut self,
        plan: &Plan,
        there: There<'p>,
        begun: &[String],
        observer: &dyn Observer,
    ) -> Result<Vec<(OnHost<'p>, bool)>, Error> {
        let has_hosts = plan.systems.iter().any(|system| !system.host.is_empty());
        if has_hosts && plan.scale != 1.0 && !plan.settings.is_empty() {
            self.leave_settings(plan, "they are of the plan at full scale", observer);
        }
        let (mut agreed, mut left) = (Vec::new(), Vec::new());
        for (on_host, looked) in there.jobs {
            let OnHost { system, server, .. } = &on_host;
            if let Some(why) = looked.misplaced {
                return Err(refused(system, server, why));
            }
            let is_new = !looked.destroys.is_empty() && !begun.contains(&system.name);
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
            let done = prepared.map_err(|source| match stop.requested() {
                true => Error::Stopped {
                    doing: format!("{whose} was prepared: {}", in_one_line(&source)),
                },
                false => failed(system, source),
            })?;
            let number = system.host.iter().position(|of| of == server.login());
            let group = Fact::group_of_server(GROUP, number.map_or(1, |at| at + 1));
            self.keep_done(Some(&system.name), &group, &whose, done);
        }
        Ok(())
    }
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
