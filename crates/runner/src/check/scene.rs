//! The facts for the checks: everything known about the machine and the places of a plan, gathered
//! once.

use crate::{
    Error,
    dataset::Dataset,
    expect::Mismatches,
    findings::{Cached, cached},
    links::degraded_of,
    places::places,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    thread,
    time::Duration,
};
use tailmark_driver::Place;
use tailmark_machine::{
    BlockDevice, CpuQuota, Mount, Space,
    probe::{PROBES, Probe, Reading, Target},
};
use tailmark_plan::{ClientHost, Plan, SystemPlan};
use tailmark_prepare::LeftChanges;

/// What processors do when they work, among their times.
const WORKING: &[&str] = &[
    "user_s",
    "nice_s",
    "system_s",
    "irq_s",
    "softirq_s",
    "guest_s",
];

/// Everything known before anything is measured.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// Processors that this process may run on.
    pub cpus: usize,
    /// Processors by the governor of their frequency.
    pub governors: BTreeMap<String, usize>,
    /// What control groups leave of the processors.
    pub quota: Option<CpuQuota>,
    /// For how long a quota has held this process's group up while it was watched.
    pub throttled: Duration,
    /// How often processors throttled for their temperature while they were watched.
    pub thermal_throttles: Option<u64>,
    /// Limits of devices.
    pub io_limits: Vec<String>,
    /// The part of all processors that was busy while they were watched, 0 to 1.
    pub busy: Option<f64>,
    /// The part that a hypervisor gave to others, 0 to 1.
    pub steal: Option<f64>,
    /// Bytes that are swapped out; `None` without swap.
    pub swapped: Option<u64>,
    /// When memory is put into huge pages: `always`, `madvise`, `never`.
    pub huge_pages: Option<String>,
    /// Changes that a killed run left.
    pub left: Option<LeftChanges>,
    /// The systems of the plan whose places are known.
    pub systems: Vec<SystemScene>,
    /// The activity of the plan's disks while they were watched, by name.
    pub disks: BTreeMap<String, DiskActivity>,
    /// Devices whose link is slower than they can use.
    pub links: Vec<String>,
    /// Differences from the plan's expectations.
    pub mismatches: Mismatches,
    /// The plan's memory limit, if any, with the warning if it is too small.
    pub memory_limit: Option<Option<String>>,
}

/// Facts about one system.
#[derive(Debug, Clone)]
pub struct SystemScene {
    /// Its name.
    pub name: String,
    /// Its places on this machine.
    pub places: Vec<PlaceScene>,
    /// Whether its server is this machine; `None` if it has none, or if that is unknown.
    pub server_is_here: Option<bool>,
    /// Whether the plan says where its server is.
    pub expects_host: Option<ClientHost>,
    /// Bytes of its data set on its file system that are not there yet.
    pub needed: u64,
    /// What caches its whole data set, if anything does.
    pub cached: Option<Cached>,
    /// Whether anything of it expects something.
    pub has_expectations: bool,
}

/// Facts about one place.
#[derive(Debug, Clone)]
pub struct PlaceScene {
    /// Where.
    pub place: PathBuf,
    /// Its file system; `None` for a block device.
    pub mount: Option<Mount>,
    /// The room there.
    pub space: Option<Space>,
    /// Every device below.
    pub chain: Vec<BlockDevice>,
}

/// The activity of a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DiskActivity {
    /// Requests that were done, a second.
    pub requests_per_s: f64,
    /// Bytes read and written, a second.
    pub bytes_per_s: f64,
}

impl Scene {
    /// Gathers everything, watching the machine for a while.
    pub(super) fn gather(plan: Option<&Plan>, watched_for: Duration) -> Result<Self, Error> {
        let known = |system: &&SystemPlan| !system.placeholder;
        let systems: Vec<&SystemPlan> = plan
            .into_iter()
            .flat_map(|plan| &plan.systems)
            .filter(known)
            .collect();
        let all: Vec<PathBuf> = systems.iter().flat_map(|system| places(system)).collect();
        let target = Target {
            system: String::new(),
            hosts: Vec::new(),
            // A missing place will be on the disk of its parent directory.
            places: all
                .iter()
                .filter_map(|place| Some(tailmark_machine::space(place).ok()?.at))
                .collect(),
            background_threads: "",
            power_command: None,
        };
        let mut watch = Watch::open(&target)?;
        let before = watch.look()?;
        thread::sleep(watched_for);
        let after = watch.look()?;
        let memory = memory(plan);
        Ok(Self {
            cpus: tailmark_machine::processors(),
            governors: tailmark_machine::governors(),
            quota: after.quota,
            throttled: after.throttled().saturating_sub(before.throttled()),
            thermal_throttles: after
                .thermal
                .zip(before.thermal)
                .map(|(a, b)| a.saturating_sub(b)),
            io_limits: tailmark_machine::io_limits(),
            busy: share(&before.cpu, &after.cpu, WORKING),
            steal: share(&before.cpu, &after.cpu, &["steal_s"]),
            swapped: tailmark_machine::swapped(),
            left: LeftChanges::look(),
            huge_pages: tailmark_machine::huge_pages(),
            disks: activity(&before.disks, &after.disks, watched_for),
            links: degraded_of(&all),
            mismatches: Mismatches::from_systems(systems.iter().copied()),
            memory_limit: plan
                .filter(|plan| plan.machine.memory_limit.is_some())
                .map(|plan| plan.machine.too_little()),
            systems: plan.map_or_else(Vec::new, |plan| {
                let systems = systems.into_iter();
                systems
                    .map(|system| SystemScene::new(plan, system, memory))
                    .collect()
            }),
        })
    }
}

/// Bytes of memory that a run of the plan may use.
fn memory(plan: Option<&Plan>) -> u64 {
    let total = tailmark_machine::memory().total;
    let limit = plan.and_then(|plan| plan.machine.memory_limit);
    limit.map_or(total, |limit| limit.min(total))
}

impl SystemScene {
    fn new(plan: &Plan, system: &SystemPlan, memory: u64) -> Self {
        let hosts = system.location.hosts();
        let here: Vec<Option<bool>> = hosts
            .map(|h| tailmark_machine::is_this_machine(h.host()))
            .collect();
        let is_embedded = matches!(
            system.driver.place,
            Place::Directory | Place::DirectoryOrDevice
        );
        let present = || Dataset::new(plan, system).present();
        let needed = (system.driver.space)(&system.data, &system.settings);
        Self {
            name: system.name.clone(),
            places: places(system)
                .into_iter()
                .map(PlaceScene::from_place)
                .collect(),
            server_is_here: if here.is_empty() {
                None
            } else {
                Some(here.contains(&Some(true)))
            },
            expects_host: system.expect.client_host,
            needed: if is_embedded {
                needed.saturating_sub(present())
            } else {
                0
            },
            cached: cached(
                system.driver,
                &system.data,
                &system.settings,
                system.is_here().then_some(memory),
            ),
            has_expectations: !crate::expect::expected(system).is_empty(),
        }
    }
}

impl PlaceScene {
    fn from_place(place: PathBuf) -> Self {
        Self {
            mount: if tailmark_machine::is_device(&place) {
                None
            } else {
                tailmark_machine::mount_of(&place)
            },
            space: tailmark_machine::space(&place).ok(),
            chain: tailmark_machine::chain(&place),
            place,
        }
    }
}

/// The probes that are looked at twice.
struct Watch {
    cpu: Box<dyn Probe>,
    /// `None` if the places are on no disk.
    disks: Option<Box<dyn Probe>>,
}

/// The readings of one look.
struct Look {
    cpu: Vec<Reading>,
    disks: Vec<Reading>,
    quota: Option<CpuQuota>,
    thermal: Option<u64>,
}

impl Look {
    fn throttled(&self) -> Duration {
        self.quota.map_or(Duration::ZERO, |quota| quota.throttled)
    }
}

impl Watch {
    fn open(target: &Target) -> Result<Self, Error> {
        let open = |name: &str| {
            let row = PROBES.iter().find(|row| row.name == name);
            let row = row.expect("the table of probes has processors and disks");
            (row.open)(target)
        };
        Ok(Self {
            cpu: open("cpu")?.expect("every machine has processors"),
            disks: open("disk")?,
        })
    }

    fn look(&mut self) -> Result<Look, Error> {
        Ok(Look {
            cpu: self.cpu.sample()?,
            disks: match &mut self.disks {
                Some(disks) => disks.sample()?,
                None => Vec::new(),
            },
            quota: tailmark_machine::cpu_quota(),
            thermal: tailmark_machine::thermal_throttles(),
        })
    }
}

/// The combined increase of readings with these names.
fn rise(before: &[Reading], after: &[Reading], is_it: impl Fn(&Reading) -> bool) -> f64 {
    let sum = |readings: &[Reading]| -> f64 {
        readings.iter().filter(|r| is_it(r)).map(|r| r.value).sum()
    };
    (sum(after) - sum(before)).max(0.0)
}

/// The part of the processors' time that these readings are.
fn share(before: &[Reading], after: &[Reading], names: &[&str]) -> Option<f64> {
    // Values of the machine are shares of one total; each core has its own.
    let is_time = |r: &Reading| r.subject == "machine" && r.name.ends_with("_s");
    let all = rise(before, after, is_time);
    let part = rise(before, after, |reading| {
        is_time(reading) && names.contains(&reading.name.as_str())
    });
    (all > 0.0).then(|| part / all)
}

fn activity(
    before: &[Reading],
    after: &[Reading],
    time: Duration,
) -> BTreeMap<String, DiskActivity> {
    let names: BTreeSet<&String> = after.iter().map(|reading| &reading.subject).collect();
    let activity = |name: &String| {
        let per_s = |counters: &[&str]| {
            let is_it = |r: &Reading| r.subject == *name && counters.contains(&r.name.as_str());
            rise(before, after, is_it) / time.as_secs_f64().max(1e-9)
        };
        DiskActivity {
            requests_per_s: per_s(&["reads", "writes", "discards"]),
            bytes_per_s: per_s(&["read_bytes", "write_bytes"]),
        }
    };
    names
        .into_iter()
        .map(|name| (name.clone(), activity(name)))
        .collect()
}
