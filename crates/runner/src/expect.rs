//! Compares a plan's expectations of its systems with reality, before anything is measured.
//!
//! Each expectation is a row of [`EXPECTATIONS`]: its wording, the actual state, and the remedy.
//! What cannot be determined from here (the device of a server on another machine) is reported as
//! unknown.

#[cfg(test)]
mod tests;

use crate::{Error, places::places};
use bytesize::ByteSize;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tailmark_driver::Place;
use tailmark_machine::{BlockDevice, Mount};
use tailmark_model::{Finding, Sentence, finding::UNEXPECTED};
use tailmark_plan::{ClientHost, Expect, Plan, SystemPlan, Unexpected};

/// The largest deviation from an expected capacity.
const CAPACITY_PART: f64 = 0.01;

/// A possible expectation about a system: a row of [`EXPECTATIONS`].
#[derive(Debug, Clone, Copy)]
pub struct Expectation {
    /// Its key in the table `expect`.
    pub name: &'static str,
    /// The expectation in words; `None` if the plan has none.
    pub expected: fn(&Expect) -> Option<String>,
    /// The comparison with reality.
    pub check: Check,
    /// What to do about it.
    pub remedy: &'static str,
}

/// How an expectation is compared.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// With each place. Returns the actual state if it differs.
    OfPlace(fn(&Expect, &SeenPlace) -> Option<String>),
    /// With the server. It may be known whether its `ssh` is this machine. Returns the actual
    /// state, or `None` if it is as expected.
    OfServer(fn(&Expect, &SystemPlan, Option<bool>) -> Seen),
    /// With the database, when it is open; always a finding.
    OfDatabase,
}

/// The observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// It is as expected.
    AsExpected,
    /// This is there instead.
    Other(String),
    /// It cannot be determined from here, for this reason.
    Unknown(String),
}

/// Facts about one place of a system.
#[derive(Debug, Clone)]
pub struct SeenPlace {
    /// Where.
    pub place: PathBuf,
    /// Its file system; `None` for a block device.
    pub mount: Option<Mount>,
    /// The disks that it is on.
    pub disks: Vec<BlockDevice>,
}

/// Every expectation, in the order of the documentation.
pub const EXPECTATIONS: &[Expectation] = &[
    Expectation {
        name: "mount",
        expected: |expect| expect.mount.then(|| "a separate mount point".to_owned()),
        check: Check::OfPlace(not_mounted),
        remedy: "mount the device there",
    },
    Expectation {
        name: "filesystem",
        expected: |expect| Some(format!("the file system {}", expect.filesystem.as_ref()?)),
        check: Check::OfPlace(other_file_system),
        remedy: "mount the right file system",
    },
    Expectation {
        name: "mount_options",
        expected: |expect| {
            let options = expect.mount_options.join(",");
            (!options.is_empty()).then(|| format!("mounting with {options}"))
        },
        check: Check::OfPlace(missing_options),
        remedy: "mount it again with these options",
    },
    Expectation {
        name: "model",
        expected: |expect| Some(format!("a device of model {}", expect.model.as_ref()?)),
        check: Check::OfPlace(other_model),
        remedy: "give a place on the right device",
    },
    Expectation {
        name: "capacity",
        expected: |expect| Some(format!("a device of {}", decimal(expect.capacity?))),
        check: Check::OfPlace(other_capacity),
        remedy: "give a place on the right device",
    },
    Expectation {
        name: "transport",
        expected: |expect| Some(format!("a device on {}", expect.transport.as_ref()?)),
        check: Check::OfPlace(other_transport),
        remedy: "give a place on the right device",
    },
    Expectation {
        name: "client_host",
        expected: |expect| {
            Some(match expect.client_host? {
                ClientHost::Other => "a server on another machine than its clients".to_owned(),
                ClientHost::Same => "a server on the machine of its clients".to_owned(),
            })
        },
        check: Check::OfServer(other_host),
        remedy: "run the clients where the plan intends, or give the server's address",
    },
    Expectation {
        name: "version",
        expected: |expect| {
            Some(format!(
                "version {} of the database",
                expect.version.as_ref()?
            ))
        },
        check: Check::OfDatabase,
        remedy: "compare the systems with each other, not with numbers of that version",
    },
];

/// Differences from a plan's expectations, and what cannot be determined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mismatches {
    /// The differences by the name of the system, in the order of the plan.
    pub systems: Vec<(String, Vec<String>)>,
    /// What cannot be determined from here.
    pub unknown: Vec<String>,
}

impl Mismatches {
    /// Checks these systems. A missing place is reported elsewhere.
    pub fn from_systems<'a>(systems: impl Iterator<Item = &'a SystemPlan>) -> Self {
        Self::of_connected(systems, &|_| None)
    }

    /// The same, given whether the `ssh` of a system is this machine, if that is known.
    pub fn of_connected<'a>(
        systems: impl Iterator<Item = &'a SystemPlan>,
        is_this_machine: &dyn Fn(&SystemPlan) -> Option<bool>,
    ) -> Self {
        let mut mismatches = Self::default();
        for system in systems.filter(|system| !system.placeholder) {
            // As a dry run looks before a run. During a run, the place exists and is mounted.
            if crate::prepare::is_to_come(system) {
                continue;
            }
            if let Err(missing) = crate::claimed::refuse_bad_place(system) {
                mismatches.unknown.push(missing.to_string());
                continue;
            }
            let wrong = mismatches.of_system(system, is_this_machine(system));
            if !wrong.is_empty() {
                mismatches.systems.push((system.name.clone(), wrong));
            }
        }
        mismatches
    }

    /// The differences of a system.
    fn of_system(&mut self, system: &SystemPlan, is_this_machine: Option<bool>) -> Vec<String> {
        let seen: Vec<_> = places(system).iter().map(|place| see(place)).collect();
        // A database creates its place, or refuses it. The place of a server exists already.
        let is_gone = |at: &SeenPlace| system.driver.place == Place::Hosts && !at.place.exists();
        for gone in seen.iter().filter(|at| is_gone(at)) {
            let place = gone.place.display();
            self.unknown.push(format!(
                "system `{}`: `{place}` does not exist, so it is not watched",
                system.name
            ));
        }
        let mut wrong = Vec::new();
        for row in EXPECTATIONS {
            let Some(expected) = (row.expected)(&system.expect) else {
                continue;
            };
            let found: Vec<String> = match row.check {
                Check::OfDatabase => Vec::new(),
                Check::OfPlace(_) if seen.is_empty() => {
                    let why = if system.ssh.is_empty() {
                        NO_PLACE
                    } else {
                        PLACE_THERE
                    };
                    self.unknown.push(unknown(system, &expected, why));
                    Vec::new()
                }
                Check::OfPlace(check) => {
                    let found = seen.iter().filter_map(|at| {
                        if is_gone(at) {
                            Some(format!("`{}` does not exist", at.place.display()))
                        } else {
                            check(&system.expect, at)
                        }
                    });
                    found.collect()
                }
                Check::OfServer(check) => match check(&system.expect, system, is_this_machine) {
                    Seen::AsExpected => Vec::new(),
                    Seen::Other(found) => vec![found],
                    Seen::Unknown(why) => {
                        self.unknown.push(unknown(system, &expected, &why));
                        Vec::new()
                    }
                },
            };
            let name = row.name;
            let texts = found.into_iter();
            wrong.extend(texts.map(|text| {
                format!(
                    "{text}, but {expected} is expected ({name}); {}",
                    row.remedy
                )
            }));
        }
        wrong
    }

    /// The differences of the system with this name.
    pub fn about(&self, name: &str) -> &[String] {
        let mut systems = self.systems.iter();
        let found = systems.find(|(system, _)| system == name);
        found.map_or(&[], |(_, wrong)| wrong)
    }

    /// The error that lists all differences; `None` if the plan wants a finding instead.
    ///
    /// # Errors
    /// If there are differences.
    pub fn refuse(&self, plan: &Plan) -> Result<(), Error> {
        if self.systems.is_empty() || plan.general.unexpected == Unexpected::Finding {
            return Ok(());
        }
        Err(Error::Unexpected {
            mismatches: self.lines().collect::<Vec<_>>().join("; "),
        })
    }

    /// Notices about systems that are measured in spite of differences, and about unknowns.
    pub fn notices(&self) -> Vec<String> {
        let lines = self
            .lines()
            .map(|line| format!("not as the plan expects: {line}"));
        lines.chain(self.unknown.iter().cloned()).collect()
    }

    /// Each surprise with its system.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let systems = self.systems.iter();
        systems.flat_map(|(system, wrong)| {
            wrong
                .iter()
                .map(move |wrong| format!("system `{system}`: {wrong}"))
        })
    }
}

/// Why nothing can be said of the device of a system.
const NO_PLACE: &str = "no place of it on this machine is known (`path` or `device` names it)";

/// The same of a system whose places are on another machine.
const PLACE_THERE: &str = "its places are on another host (`ssh`), where tailmark does not check \
                           this; see the facts in the report";

fn unknown(system: &SystemPlan, expected: &str, why: &str) -> String {
    format!(
        "system `{}`: tailmark cannot check for {expected}: {why}",
        system.name
    )
}

/// Everything that is expected of a system, in words.
pub(crate) fn expected(system: &SystemPlan) -> Vec<String> {
    let rows = EXPECTATIONS.iter();
    rows.filter_map(|row| (row.expected)(&system.expect))
        .collect()
}

/// The text about a database of another version than expected.
pub(crate) fn other_version(expect: &Expect, own: Option<&str>) -> Option<String> {
    let (expected, own) = expect.version.as_deref().zip(own)?;
    (!is_version(expected, own))
        .then(|| format!("The database has version {own}, but {expected} is expected (version)."))
}

/// Whether a version begins with another, part by part. A server says its name first, which may be
/// left out: `5.0` and `Cassandra 5.0` are both of `Cassandra 5.0.9`.
pub(crate) fn is_version(expected: &str, own: &str) -> bool {
    let number = |text: &str| text.rsplit(' ').next().unwrap_or_default().to_owned();
    let own = if expected.contains(' ') {
        own.to_owned()
    } else {
        number(own)
    };
    let mut parts = own.split('.');
    let mut words = expected.trim_end_matches('.').split('.');
    words.all(|word| parts.next() == Some(word))
}

/// The finding next to the numbers of a system with these differences.
pub(crate) fn finding_of(unexpected: &[String]) -> Option<Finding> {
    said(unexpected).map(|sentence| UNEXPECTED.finding(sentence))
}

/// Lists the differences as sentences. `None` if all is as expected.
pub(crate) fn said(unexpected: &[String]) -> Option<Sentence> {
    (!unexpected.is_empty()).then(|| {
        Sentence::new("Not as the plan expects: {Unexpected}")
            .text("Unexpected", unexpected.join(" "))
    })
}

/// Facts about a place.
fn see(place: &Path) -> SeenPlace {
    let is_device = tailmark_machine::is_device(place);
    SeenPlace {
        place: place.to_owned(),
        mount: if is_device {
            None
        } else {
            tailmark_machine::mount_of(place)
        },
        disks: tailmark_machine::disks(place),
    }
}

/// The description of a place without a file system.
fn no_file_system(seen: &SeenPlace) -> String {
    format!(
        "`{}` is a block device without a file system in use",
        seen.place.display()
    )
}

fn not_mounted(_: &Expect, seen: &SeenPlace) -> Option<String> {
    let place = seen.place.display();
    match &seen.mount {
        None => Some(no_file_system(seen)),
        Some(mount) if mount.point == Path::new("/") || is_of_root(&seen.place) => Some(format!(
            "`{place}` is on the root file system ({})",
            mount.source
        )),
        Some(_) => None,
    }
}

/// Whether a place is on the file system of `/`, also through another mount of it.
fn is_of_root(place: &Path) -> bool {
    let device = |path: &Path| Some(std::fs::metadata(path).ok()?.dev());
    let above = place.ancestors().find_map(device);
    above.is_some() && above == device(Path::new("/"))
}

fn other_file_system(expect: &Expect, seen: &SeenPlace) -> Option<String> {
    let Some(mount) = &seen.mount else {
        return Some(no_file_system(seen));
    };
    let is_other = expect.filesystem.as_ref() != Some(&mount.kind);
    is_other.then(|| format!("`{}` is on {}", seen.place.display(), mount.kind))
}

fn missing_options(expect: &Expect, seen: &SeenPlace) -> Option<String> {
    let Some(mount) = &seen.mount else {
        return Some(no_file_system(seen));
    };
    let options = expect.mount_options.iter();
    let missing: Vec<_> = options
        .filter(|option| !has_option(mount, option))
        .collect();
    (!missing.is_empty()).then(|| {
        format!(
            "`{}` is mounted with {}",
            seen.place.display(),
            mount.options.join(",")
        )
    })
}

/// Whether a file system is mounted with an option. The kernel does not show negative options
/// (`norelatime`, `nodiscard`), and `noatime` implies no access times of directories.
fn has_option(mount: &Mount, option: &str) -> bool {
    let has = |name: &str| mount.options.iter().any(|own| own == name);
    match option {
        "norelatime" => !has("relatime"),
        "nodiscard" => !has("discard"),
        "nodiratime" => has("nodiratime") || has("noatime"),
        // Defaults are not shown either.
        "defaults" => true,
        "strictatime" => !has("relatime") && !has("noatime"),
        "async" => !has("sync"),
        "atime" | "exec" | "suid" | "dev" | "barrier" | "diratime" => !has(&format!("no{option}")),
        "data=ordered" => !mount.options.iter().any(|own| own.starts_with("data=")) || has(option),
        _ => has(option),
    }
}

fn other_model(expect: &Expect, seen: &SeenPlace) -> Option<String> {
    let model = expect.model.as_ref()?.to_lowercase();
    other_disk(seen, |disk| {
        let own = disk.model.as_deref().unwrap_or("a device of unknown model");
        let is_other = !own.to_lowercase().contains(&model);
        is_other.then(|| own.to_owned())
    })
}

fn other_capacity(expect: &Expect, seen: &SeenPlace) -> Option<String> {
    let expected = expect.capacity? as f64;
    let is_it = |bytes: u64| (bytes as f64 - expected).abs() <= expected * CAPACITY_PART;
    other_disk(seen, |disk| {
        let is_other = !is_it(disk.disk_bytes) && !disk.controller_bytes().is_some_and(is_it);
        is_other.then(|| decimal(disk.disk_bytes))
    })
}

fn other_transport(expect: &Expect, seen: &SeenPlace) -> Option<String> {
    other_disk(seen, |disk| {
        let is_other = expect.transport.as_deref() != disk.transport;
        is_other.then(|| disk.transport.unwrap_or("an unknown bus").to_owned())
    })
}

/// The first disk of a place for which `what` returns something.
fn other_disk(seen: &SeenPlace, what: impl Fn(&BlockDevice) -> Option<String>) -> Option<String> {
    let place = seen.place.display();
    if seen.disks.is_empty() {
        return Some(format!("`{place}` is not on a block device"));
    }
    let said = |disk: &BlockDevice| Some(format!("`{place}` is on {}: {}", disk.disk, what(disk)?));
    seen.disks.iter().find_map(said)
}

fn other_host(expect: &Expect, system: &SystemPlan, is_this_machine: Option<bool>) -> Seen {
    if system.driver.place != Place::Hosts {
        return Seen::AsExpected;
    }
    let wants_here = expect.client_host == Some(ClientHost::Same);
    // What its own host reports counts more than an address, which may belong to a proxy.
    if let Some(is_here) = is_this_machine {
        let machine = if is_here { "this" } else { "another" };
        let hosts = system.ssh.join("` and `");
        return if is_here == wants_here {
            Seen::AsExpected
        } else {
            Seen::Other(format!("`{hosts}` is {machine} machine"))
        };
    }
    let mut here = Vec::new();
    for point in system.location.hosts() {
        match tailmark_machine::is_this_machine(point.host()) {
            None => return Seen::Unknown(format!("`{point}` has no address")),
            Some(is_here) => here.push((point, is_here)),
        }
    }
    let other = here.iter().find(|(_, is_here)| *is_here != wants_here);
    match other {
        None => Seen::AsExpected,
        Some((point, true)) => Seen::Other(format!("`{point}` is this machine")),
        Some((point, false)) => Seen::Other(format!("`{point}` is another machine")),
    }
}

fn decimal(bytes: u64) -> String {
    ByteSize(bytes).display().si().to_string()
}
