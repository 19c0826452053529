//! Preparing the hosts of servers, by the agents there: the same steps, guards and journal as on this
//! machine. All hosts are looked at before the first one is touched.

use super::{GROUP, Prepared, begun, log::Far, request_of, settings_of, tell};
use crate::{Error, servers::Servers};
use std::{path::Path, sync::Arc};
use tailmark_engine::{Observer, Stop};
use tailmark_host::prepare::{DeviceRequest, JobRequest, MachineRequest};
use tailmark_plan::{Plan, SystemPlan};
use tailmark_remote::Server;
use tailmark_results::Fact;

/// What is to be done on one host.
struct OnHost<'a> {
    system: &'a SystemPlan,
    server: Arc<Server>,
    request: JobRequest,
    /// Whether steps are carried out that destroy what is on devices.
    destroys: bool,
}

impl Prepared<'_> {
    /// Prepares the hosts of servers for a run into `out`.
    ///
    /// # Errors
    /// Where something is not there, something speaks against it, or a step fails.
    pub(crate) fn prepare_servers(
        &mut self,
        plan: &Plan,
        servers: &Servers,
        out: &Path,
        observer: &dyn Observer,
        stop: &Stop,
    ) -> Result<(), Error> {
        let mut jobs = self.look_at_all(plan, servers, out, observer)?;
        for job in &mut jobs {
            let whose = format!("system `{}` on {}", job.system.name, job.server.name());
            let far = Far::new(observer, stop);
            let log = |text: &str| tell(observer, text);
            let done = job
                .server
                .prepare(&job.request, &whose, job.destroys, &far, &log)
                .map_err(|source| failed(job.system, source))?;
            let number = job
                .system
                .host
                .iter()
                .position(|of| of == job.server.login());
            let group = Fact::group_of_server(GROUP, number.map_or(1, |at| at + 1));
            self.keep_done(Some(&job.system.name), &group, &whose, done);
        }
        Ok(())
    }

    /// What is to be done on each host, none of which has anything against it.
    fn look_at_all<'p>(
        &mut self,
        plan: &'p Plan,
        servers: &Servers,
        out: &Path,
        observer: &dyn Observer,
    ) -> Result<Vec<OnHost<'p>>, Error> {
        let begun = begun(out)?;
        let machine = match plan.scale == 1.0 {
            true => settings_of(plan),
            false => MachineRequest::default(),
        };
        let has_hosts = plan.systems.iter().any(|system| !system.host.is_empty());
        if has_hosts && plan.scale != 1.0 && !plan.settings.is_empty() {
            self.leave_settings(plan, "they are of the plan at full scale", observer);
        }
        let mut jobs = Vec::new();
        let mut known: Vec<String> = Vec::new();
        let (mut any, mut left) = (false, Vec::new());
        for system in plan.systems.iter().filter(|system| !system.host.is_empty()) {
            for server in servers.of(system) {
                let mut request = request_of(plan, system, out);
                request.machine = machine.clone();
                let has_devices = !request.devices.names.is_empty();
                if !has_devices {
                    request.devices = DeviceRequest::default();
                }
                if !has_devices && request.machine == MachineRequest::default() {
                    continue;
                }
                any |= has_devices;
                let looked = server
                    .look_at(&request)
                    .map_err(|error| failed(system, error))?;
                known.extend(looked.serials);
                if let Some(why) = looked.misplaced {
                    return Err(refused(system, &server, why));
                }
                let is_begun = begun.contains(&system.name);
                let destroys = !looked.destroys.is_empty() && looked.is_agreed && !is_begun;
                if destroys && !looked.refusals.is_empty() {
                    return Err(refused(system, &server, looked.refusals.join("; ")));
                }
                if !looked.destroys.is_empty() && !looked.is_agreed && !is_begun {
                    left.push((system, looked.flags));
                }
                jobs.push(OnHost {
                    system,
                    server,
                    request,
                    destroys,
                });
            }
        }
        let mut unknown = plan.consent.serials.iter();
        let is_unknown = |serial: &&String| !known.contains(serial);
        let is_alone = plan
            .systems
            .iter()
            .all(|of| of.prepare.devices.is_empty() || !of.host.is_empty());
        if let Some(serial) = unknown.find(is_unknown).filter(|_| any && is_alone) {
            return Err(Error::UnknownSerial {
                serial: serial.clone(),
            });
        }
        for (system, flags) in left {
            self.left_as_it_is(system, &flags, observer);
        }
        Ok(jobs)
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
