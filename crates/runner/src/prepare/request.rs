//! The requests of a plan in the form that a host accepts.

use crate::Error;
use std::path::{Path, PathBuf};
use tailmark_plan::{Emulate, Plan, Steady, SystemPlan};
use tailmark_prepare::{
    DeviceRequest, Erase, JOURNAL_DIRECTORY, Job, JobRequest, MachineRequest, Mix, Over,
};

/// The job for the devices of a system, with its devices found.
pub(super) fn job(plan: &Plan, system: &SystemPlan, out: &Path) -> Result<Job, Error> {
    Ok(Job::find(request_of(plan, system, out))?)
}

/// The request for the devices of a system.
pub(super) fn request_of(plan: &Plan, system: &SystemPlan, out: &Path) -> JobRequest {
    let prepare = &system.prepare;
    JobRequest {
        devices: DeviceRequest {
            names: prepare.devices.clone(),
            erase: prepare.erase.as_deref().and_then(Erase::of_name),
            namespaces: prepare.namespaces,
            precondition: prepare.precondition,
            steady: prepare.steady.as_ref().map(mix),
            filesystem: prepare.filesystem.clone(),
            mkfs_options: prepare.mkfs_options.clone(),
            mount: prepare.mount.clone(),
            mount_options: prepare.mount_options.clone(),
        },
        machine: MachineRequest::default(),
        consent: consent_of(plan, system, out),
    }
}

/// The consent for the devices of a system, for a run into `out`.
pub(super) fn consent_of(
    plan: &Plan,
    system: &SystemPlan,
    out: &Path,
) -> tailmark_prepare::Consent {
    let mut serials = plan.consent.serials.clone();
    // A device that was just created for this run holds no foreign data: this very file.
    let made = system.emulate.as_ref();
    let made: Vec<_> = made
        .map(|volume| tailmark_prepare::emulated_file(&volume.directory))
        .into_iter()
        .collect();
    serials.extend(made.iter().map(|file| file.display().to_string()));
    let own = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let kept = if system.ssh.is_empty() {
        vec![out.to_owned(), JOURNAL_DIRECTORY.into(), own]
    } else {
        Vec::new()
    };
    tailmark_prepare::Consent {
        serials,
        destroys: plan.consent.destroys.clone(),
        unseen: plan.consent.unseen.clone(),
        model: system.expect.model.clone(),
        bytes: system.expect.capacity,
        kept,
        own_mount: None,
        made,
    }
}

/// A mix as the host takes it.
fn mix(steady: &Steady) -> Mix {
    Mix {
        read_percent: steady.read,
        block_bytes: steady.block,
        depth: steady.depth,
        round: steady.round,
        over: steady.fill.map_or(Over::Device, Over::FileSystem),
    }
}

/// The job for the machine.
pub(super) fn machine(plan: &Plan) -> Result<Job, Error> {
    Ok(Job::find(JobRequest {
        machine: settings_of(plan),
        ..JobRequest::default()
    })?)
}

/// The request for the settings of a machine.
pub(super) fn settings_of(plan: &Plan) -> MachineRequest {
    let settings = &plan.settings;
    MachineRequest {
        sysctls: settings.sysctls.clone(),
        governor: settings.governor.clone(),
        huge_pages: settings.huge_pages.clone(),
        memory: settings.memory.clone(),
    }
}

/// A volume as the host takes it.
pub(super) fn volume(emulate: &Emulate) -> tailmark_prepare::Volume {
    tailmark_prepare::Volume {
        bytes: emulate.bytes,
        iops: emulate.iops,
        bandwidth: emulate.bandwidth,
        burst_iops: emulate.burst,
        burst_seconds: emulate.burst_time.map(|time| time.as_secs()),
        delay_ms: emulate.delay_ms(),
    }
}
