//! Checks of the places of a plan.

use super::{PlaceScene, Problem, Scene, SystemScene};
use crate::links;
use bytesize::ByteSize;
use std::collections::BTreeSet;
use tailmark_machine::Mount;
use tailmark_model::number;

/// The requests per second, and the bytes, that a disk may do for other programs.
const REQUESTS_MAX: f64 = 20.0;
const BYTES_MAX: f64 = 1e6;
/// A file system is nearly full from this part of it on.
const FULL: f64 = 0.9;

/// The problems, if the check applies.
type CheckResult = Option<Vec<Problem>>;

/// The places of all systems, each once; `None` if there are none.
fn places(scene: &Scene) -> Option<Vec<(&SystemScene, &PlaceScene)>> {
    let mut seen = BTreeSet::new();
    let all = scene
        .systems
        .iter()
        .flat_map(|system| system.places.iter().map(move |place| (system, place)));
    let places: Vec<_> = all.filter(|(_, at)| seen.insert(&at.place)).collect();
    (!places.is_empty()).then_some(places)
}

/// The mounted file systems of all places, each once.
fn mounts(scene: &Scene) -> Option<Vec<&Mount>> {
    let mut seen = BTreeSet::new();
    let mounts = places(scene)?
        .into_iter()
        // A missing device is not mounted.
        .filter(|(_, at)| at.place.exists() || !at.place.starts_with("/dev"))
        .filter_map(|(_, at)| at.mount.as_ref());
    let mounts: Vec<_> = mounts.filter(|mount| seen.insert(&mount.point)).collect();
    (!mounts.is_empty()).then_some(mounts)
}

fn has(mount: &Mount, option: &str) -> bool {
    mount.options.iter().any(|own| own == option)
}

pub fn access_times(scene: &Scene) -> CheckResult {
    let mounts = mounts(scene)?.into_iter();
    let kept = mounts.filter(|mount| !has(mount, "noatime") && mount.kind != "tmpfs");
    let problem = |mount: &Mount| {
        let point = mount.point.display();
        Problem::new(
            format!(
                "`{point}` records when a file was read, because it is not mounted with \
                     noatime"
            ),
            format!("`mount -o remount,noatime {point}`"),
        )
    };
    Some(kept.map(problem).collect())
}

pub fn discard(scene: &Scene) -> CheckResult {
    let mounts = mounts(scene)?.into_iter();
    let discarding = mounts.filter(|mount| has(mount, "discard") || has(mount, "discard=async"));
    let problem = |mount: &Mount| {
        let point = mount.point.display();
        Problem::new(
            format!(
                "`{point}` is mounted with discard: each deletion of a file is work for the device"
            ),
            format!("`mount -o remount,nodiscard {point}`, and `fstrim` between runs"),
        )
    };
    Some(discarding.map(problem).collect())
}

pub fn client_host(scene: &Scene) -> CheckResult {
    let servers = scene
        .systems
        .iter()
        .filter(|system| system.server_is_here.is_some());
    let servers: Vec<_> = servers.collect();
    if servers.is_empty() {
        return None;
    }
    // The expectations of the plan are checked elsewhere.
    let shared = servers
        .into_iter()
        .filter(|system| system.server_is_here == Some(true) && system.expects_host.is_none());
    let problem = |system: &SystemScene| {
        Problem::new(
            format!(
                "the server of `{}` is on the machine of its clients, which take processor time \
                 from it",
                system.name
            ),
            "run the clients on a separate machine or, if this is intended, set expect = { \
             client_host = \"same\" }",
        )
    };
    Some(shared.map(problem).collect())
}

pub fn disk_load(scene: &Scene) -> CheckResult {
    if scene.disks.is_empty() {
        return None;
    }
    let busy = scene.disks.iter().filter(|(_, activity)| {
        activity.requests_per_s > REQUESTS_MAX || activity.bytes_per_s > BYTES_MAX
    });
    let problem = |(name, activity): (&String, &super::DiskActivity)| {
        Problem::new(
            format!(
                "other programs send {} requests/s to {name}, {}/s",
                number::rate(activity.requests_per_s),
                number::bytes(activity.bytes_per_s)
            ),
            "find them with `iotop` or `pidstat -d 1`, and stop them",
        )
    };
    Some(busy.map(problem).collect())
}

pub fn expectations(scene: &Scene) -> CheckResult {
    let has_any = scene.systems.iter().any(|system| system.has_expectations);
    if !has_any && scene.mismatches.unknown.is_empty() {
        return None;
    }
    let wrong = scene.mismatches.systems.iter();
    let wrong = wrong.flat_map(|(name, wrong)| wrong.iter().map(move |text| (name, text)));
    let problem = |(name, text): (&String, &String)| {
        let (evidence, remedy) = text.rsplit_once("; ").unwrap_or((text, ""));
        Problem::new(format!("`{name}`: {evidence}"), remedy)
    };
    let unknown = scene.mismatches.unknown.iter();
    let unknown = unknown.map(|text| {
        Problem::new(
            text.clone(),
            "give a place or an address that can be checked from here, or leave the expectation \
             out",
        )
    });
    Some(wrong.map(problem).chain(unknown).collect())
}

pub fn nearly_full(scene: &Scene) -> CheckResult {
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    let places = places(scene)?.into_iter();
    let spaces = places.filter_map(|(_, at)| at.space.as_ref().filter(|space| !space.is_device));
    for space in spaces.filter(|space| seen.insert(space.file_system.clone())) {
        let is_here = |at: &PlaceScene| {
            at.space
                .as_ref()
                .is_some_and(|own| own.file_system == space.file_system)
        };
        let systems = scene.systems.iter();
        let needed: u64 = systems
            .filter(|system| system.places.iter().any(is_here))
            .map(|system| system.needed)
            .sum();
        let taken = space
            .total
            .saturating_sub(space.available)
            .saturating_add(needed);
        let part = taken as f64 / space.total.max(1) as f64;
        if part > FULL {
            problems.push(Problem::new(
                format!(
                    "{} will be {} full when the data sets are loaded ({} of {} are free now, and \
                     {} are needed)",
                    space.file_system,
                    number::percent(part.min(1.0)),
                    ByteSize(space.available),
                    ByteSize(space.total),
                    ByteSize(needed)
                ),
                "free some space, or use fewer records: file systems and devices slow down when \
                 they are full",
            ));
        }
    }
    Some(problems)
}

pub fn fits_in_memory(scene: &Scene) -> CheckResult {
    if scene.systems.is_empty() {
        return None;
    }
    let problem = |system: &SystemScene| {
        let cached = system.cached.as_ref()?;
        Some(Problem::new(
            format!(
                "the data set of `{}` ({}) fits in {} ({})",
                system.name,
                ByteSize(cached.data),
                cached.by,
                ByteSize(cached.room)
            ),
            "use more records, a smaller cache, direct reads or machine.memory_limit",
        ))
    };
    Some(scene.systems.iter().filter_map(problem).collect())
}

pub fn link(scene: &Scene) -> CheckResult {
    places(scene)?;
    let degraded = scene.links.iter();
    Some(
        degraded
            .map(|link| Problem::new(link, links::REMEDY))
            .collect(),
    )
}

pub fn write_cache(scene: &Scene) -> CheckResult {
    let places = places(scene)?;
    let devices = places.iter().flat_map(|(_, at)| &at.chain);
    // Composite devices repeat what their members report.
    let disks = devices.filter(|device| device.members.is_empty() && device.backing_file.is_none());
    let volatile = disks.filter(|device| device.write_cache.as_deref() == Some("write back"));
    let names: BTreeSet<&str> = volatile.map(|device| device.disk.as_str()).collect();
    let problem = |name: &&str| {
        Problem::new(
            format!(
                "{name} has a volatile write cache: a synced write waits until the cache is empty"
            ),
            "leave it on if that is intended; SNIA's enterprise tests turn it off (`nvme \
             set-feature -f 6`, `hdparm -W 0`)",
        )
    };
    Some(names.iter().map(problem).collect())
}
