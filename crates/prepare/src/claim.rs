//! A device that may be overwritten, open and held. No destructive step can be called without one.
//!
//! The device is first opened exclusively, then examined, so that nobody can mount it or build on
//! it afterwards. Right before each step, the open file is identified again, because a name may
//! have moved to another device between the look and the opening.

use super::nvme;
use super::{
    Consent, Error, Identity, Objection, Reach, Signature, Target, Watch,
    guard::{self, GuardScene},
    signature::signatures,
    tag,
    uses::Uses,
    watch::{Unwatched, Waited, wait_until},
};
use rustix::fs::OFlags;
use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};
use tailmark_machine::{controller, sysfs};

/// How often a device is checked again if another program merely has it open: programs that watch
/// for new devices open each for a moment.
const LOOKS: u32 = 20;
/// The pause in between.
const PAUSE: Duration = Duration::from_millis(250);
/// The guards that such an opening fails.
const PASSING: &[&str] = &["open", "unseen", EXCLUSIVE];
/// The name of the evidence that a device could not be opened exclusively.
const EXCLUSIVE: &str = "exclusive";

/// A device held exclusively, with every other one that the action reaches.
#[derive(Debug)]
pub struct Claim {
    target: Target,
    /// The target first.
    held: Vec<(Identity, File)>,
    reach: Reach,
    signatures: Vec<Signature>,
}

impl Claim {
    /// Takes a device if nothing speaks against it.
    ///
    /// # Errors
    /// Names all objections.
    pub fn take(target: &Target, reach: Reach, consent: &Consent) -> Result<Self, Error> {
        Self::take_watched(target, reach, consent, &Unwatched)
    }

    /// The same, reporting what it waits for.
    ///
    /// # Errors
    /// As [`Self::take`], and if it is stopped meanwhile.
    pub fn take_watched(
        target: &Target,
        reach: Reach,
        consent: &Consent,
        watch: &dyn Watch,
    ) -> Result<Self, Error> {
        look_again(
            target,
            watch,
            || Self::take_now(target, reach, consent),
            |taken| match taken {
                Err(Error::Refused { evidence, .. }) => evidence,
                _ => &[],
            },
        )
    }

    fn take_now(target: &Target, reach: Reach, consent: &Consent) -> Result<Self, Error> {
        let identities = reached(target, reach)?;
        let mut held = Vec::new();
        let mut evidence = Vec::new();
        for identity in &identities {
            let path = Path::new("/dev").join(&identity.name);
            match open(&path, Access::Alone) {
                Ok(file) => held.push((identity.clone(), file)),
                Err(source) if is_busy(&source) => {
                    evidence.push(Objection {
                        guard: EXCLUSIVE,
                        text: format!("`{}` is in use ({source})", path.display()),
                    });
                    held.push((identity.clone(), read_only(&path)?));
                }
                Err(source) => {
                    return Err(Error::Exclusive {
                        device: path,
                        source,
                    });
                }
            }
        }
        let files = held.iter().map(|(identity, file)| (identity, file));
        let (found, signatures) = look(target, &files.collect::<Vec<_>>(), consent)?;
        evidence.extend(found);
        if !evidence.is_empty() {
            return Err(Error::Refused {
                device: target.identity.describe(),
                evidence,
            });
        }
        let claim = Self {
            target: target.clone(),
            held,
            reach,
            signatures,
        };
        claim.confirm()?;
        Ok(claim)
    }

    /// All objections to taking a device, without opening it for writing. Temporary ones are
    /// checked again, as in taking it.
    ///
    /// # Errors
    /// If it cannot be examined.
    pub fn refusals(
        target: &Target,
        reach: Reach,
        consent: &Consent,
    ) -> Result<Vec<Objection>, Error> {
        Self::refusals_watched(target, reach, consent, &Unwatched)
    }

    /// The same, reporting what it waits for.
    ///
    /// # Errors
    /// As [`Self::refusals`], and if it is stopped meanwhile.
    pub fn refusals_watched(
        target: &Target,
        reach: Reach,
        consent: &Consent,
        watch: &dyn Watch,
    ) -> Result<Vec<Objection>, Error> {
        look_again(
            target,
            watch,
            || Self::refusals_now(target, reach, consent),
            |found| found.as_deref().unwrap_or_default(),
        )
    }

    fn refusals_now(
        target: &Target,
        reach: Reach,
        consent: &Consent,
    ) -> Result<Vec<Objection>, Error> {
        let identities = reached(target, reach)?;
        let mut files = Vec::new();
        for identity in &identities {
            files.push(read_only(&Path::new("/dev").join(&identity.name))?);
        }
        let files: Vec<_> = identities.iter().zip(&files).collect();
        Ok(look(target, &files, consent)?.0)
    }

    /// Identifies the open files again.
    ///
    /// # Errors
    /// If one is not the device that was examined.
    pub fn confirm(&self) -> Result<(), Error> {
        for (was, file) in &self.held {
            confirm(was, file)?;
        }
        Ok(())
    }

    /// Refuses an action that reaches further than was looked at.
    pub(super) fn refuse_shorter(&self, reach: Reach) -> Result<(), Error> {
        if reach == Reach::Subsystem && self.reach == Reach::Device {
            Err(self.failed(
                "hold",
                io::Error::other("the action affects every namespace, and one is in use"),
            ))
        } else {
            Ok(())
        }
    }

    /// The device as it was found.
    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// The identity of the device.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.target.identity
    }

    /// The content of the device when it was taken.
    #[must_use]
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// Foreign data that can still be read after a step: a discard is only advice, and a drive may
    /// still show the old content. No other program has written it meanwhile.
    pub(super) fn left(&self) -> Result<Vec<String>, Error> {
        let found = signatures(self.file(), self.identity())?.into_iter();
        let others = found.filter(|signature| !signature.is_ours);
        Ok(others.map(|signature| signature.name).collect())
    }

    /// The device itself.
    pub(super) fn file(&self) -> &File {
        &self.held[0].1
    }

    /// Refuses an action on the whole drive that would affect namespaces which no controller of
    /// this machine shows, because they cannot be examined.
    pub(super) fn refuse_hidden(&self, allocated: &[u32]) -> io::Result<()> {
        let held = self.held.iter();
        let seen: Vec<u32> = held
            .filter_map(|(identity, _)| identity.namespace)
            .collect();
        let hidden: Vec<_> = allocated
            .iter()
            .filter(|number| !seen.contains(number))
            .collect();
        if hidden.is_empty() {
            Ok(())
        } else {
            Err(io::Error::other(format!(
                "namespaces {hidden:?} of the drive are not attached here, so tailmark cannot \
                 check their data"
            )))
        }
    }

    /// Marks the device as ours.
    pub(super) fn tag(&self) -> Result<(), Error> {
        let serial = self.identity().serial.as_deref().unwrap_or_default();
        tag::write(self.file(), serial).map_err(|source| self.failed("tag", source))
    }

    /// Gives the exclusive hold up for a program that takes one itself. The device stays open, so
    /// that its number cannot become another device's.
    pub(super) fn share(self) -> Result<(Identity, File), Error> {
        self.confirm()?;
        let shared = read_only(&Path::new("/dev").join(&self.identity().name))?;
        confirm(self.identity(), &shared)?;
        Ok((self.target.identity, shared))
    }

    /// The error that a step failed.
    pub(super) fn failed(&self, action: &'static str, source: io::Error) -> Error {
        Error::Step {
            action,
            device: self.identity().name.clone(),
            source,
        }
    }
}

/// Looks at a device until what speaks against it is nothing, or more than may pass in a moment, or
/// that has not passed.
pub(super) fn look_again<T>(
    target: &Target,
    watch: &dyn Watch,
    attempt: impl Fn() -> Result<T, Error>,
    evidence: impl Fn(&Result<T, Error>) -> &[Objection],
) -> Result<T, Error> {
    let device = &target.identity.name;
    for look in 1..LOOKS {
        let found = attempt();
        let against = evidence(&found);
        if against.is_empty() || !against.iter().all(|o| PASSING.contains(&o.guard)) {
            return found;
        }
        if look == 2 {
            let against: Vec<_> = against.iter().map(|o| o.text.as_str()).collect();
            watch.waits(&format!(
                "`{device}`: waiting up to {} s, because this may pass: {}",
                (PAUSE * (LOOKS - look)).as_secs(),
                against.join("; ")
            ));
        }
        if wait_until("", PAUSE, watch, || false) == Waited::Stopped {
            return Err(Error::Stopped {
                device: device.clone(),
                doing: "looked at",
            });
        }
    }
    attempt()
}

/// Confirms that an open file is still the device that was examined.
pub(super) fn confirm(was: &Identity, file: &File) -> Result<(), Error> {
    let is = Identity::of_file(file);
    match is {
        Ok(is) if is == *was => Ok(()),
        is => Err(Error::Renumbered {
            device: was.name.clone(),
            was: was.describe(),
            is: is.map_or_else(|error| error.to_string(), |is| told(was, &is)),
        }),
    }
}

/// The current description of a device, with differences that the description does not show.
fn told(was: &Identity, is: &Identity) -> String {
    match (was.file == is.file, was.wwid == is.wwid) {
        (false, _) => format!("{} over another file", is.describe()),
        (_, false) => format!("{} of another world wide name", is.describe()),
        _ => is.describe(),
    }
}

fn look(
    target: &Target,
    files: &[(&Identity, &File)],
    consent: &Consent,
) -> Result<(Vec<Objection>, Vec<Signature>), Error> {
    let is_own = consent.has_made(&target.identity);
    let uses = if is_own {
        Uses::look_at_devices()
    } else {
        Uses::look()
    };
    // This run knows the content of its own volume, which may be too slow to read.
    let found = if is_own {
        Ok(Vec::new())
    } else {
        on_all(&uses, files)
    };
    let identities: Vec<Identity> = files
        .iter()
        .map(|(identity, _)| (*identity).clone())
        .collect();
    let reserved = reserved(files).map_err(|error| error.to_string());
    let scene = GuardScene {
        target,
        reached: &identities,
        consent,
        uses: &uses,
        is_own,
        signatures: found
            .as_ref()
            .map(Clone::clone)
            .map_err(|error| match error {
                Error::Signatures { source, .. } => source.to_string(),
                other => other.to_string(),
            }),
        reserved,
    };
    Ok((guard::refusals(&scene), found.unwrap_or_default()))
}

/// The content of the devices and their partitions.
pub(super) fn on_all(uses: &Uses, files: &[(&Identity, &File)]) -> Result<Vec<Signature>, Error> {
    let mut all = Vec::new();
    for (identity, file) in files {
        all.extend(signatures(file, identity)?);
        let is_part =
            |d: &&tailmark_machine::BlockDevice| d.disk == identity.name && d.name != d.disk;
        for part in uses.devices.iter().filter(is_part) {
            let part_file = read_only(&Path::new("/dev").join(&part.name))?;
            let part_identity = Identity {
                name: part.name.clone(),
                bytes: part.size_bytes,
                // A tag is of a whole device.
                serial: None,
                ..(*identity).clone()
            };
            all.extend(signatures(&part_file, &part_identity)?);
        }
    }
    Ok(all)
}

/// The holder of a reservation on one of the devices, if they support reservations.
fn reserved(files: &[(&Identity, &File)]) -> io::Result<Option<String>> {
    for (identity, file) in files {
        let Some(namespace) = identity.namespace else {
            continue;
        };
        if nvme::identify_controller(file)?.has_reservations
            && let Some(who) = nvme::reservation(file, namespace)?
        {
            return Ok(Some(who));
        }
    }
    Ok(None)
}

/// The devices that an action on one reaches, it first.
fn reached(target: &Target, reach: Reach) -> Result<Vec<Identity>, Error> {
    let mut all = vec![target.identity.clone()];
    if reach == Reach::Device || target.identity.namespace.is_none() {
        return Ok(all);
    }
    let sys = Path::new(tailmark_machine::block::SYS);
    for name in subsystem(sys, &target.device.disk) {
        if name == target.identity.name {
            continue;
        }
        let other = Target::find(&format!("/dev/{name}"))?;
        all.push(other.identity);
    }
    Ok(all)
}

/// Every namespace of the NVMe subsystem of a disk, through whichever controller.
pub(super) fn subsystem(sys: &Path, disk: &str) -> BTreeSet<String> {
    let identity = |name: &str| {
        let directory = sys.join("class/nvme").join(name);
        (
            sysfs::text(&directory.join("subsysnqn")),
            sysfs::text(&directory.join("serial")),
        )
    };
    let own = controller::controllers_of(sys, disk);
    let own: Vec<_> = own.iter().map(|name| identity(name)).collect();
    let is_own = |name: &String| {
        let (nqn, serial) = identity(name);
        own.iter().any(|known| {
            (nqn.is_some() && known.0 == nqn) || (serial.is_some() && known.1 == serial)
        })
    };
    let all = sysfs::names(&sys.join("class/nvme")).into_iter();
    let mut names: BTreeSet<String> = all
        .filter(is_own)
        .flat_map(|name| controller::namespaces(sys, &name))
        .collect();
    names.insert(disk.to_owned());
    names
}

/// The mode of opening a device.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Alone,
    Read,
}

fn open(path: &Path, access: Access) -> io::Result<File> {
    let is_alone = access == Access::Alone;
    let mut flags = OFlags::CLOEXEC;
    flags.set(OFlags::EXCL, is_alone);
    OpenOptions::new()
        .read(true)
        .write(is_alone)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

/// Opens a device so that no other program can do the same.
pub(super) fn alone(path: &Path) -> Result<File, Error> {
    open(path, Access::Alone).map_err(|source| Error::Exclusive {
        device: PathBuf::from(path),
        source,
    })
}

pub(super) fn read_only(path: &Path) -> Result<File, Error> {
    open(path, Access::Read).map_err(|source| Error::Exclusive {
        device: PathBuf::from(path),
        source,
    })
}

fn is_busy(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error())
}
