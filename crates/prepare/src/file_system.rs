//! File systems: created on a held device, mounted, unmounted.
//!
//! Programs of the system create them and open the device exclusively themselves. For that moment
//! the exclusive hold is released, but the device stays open here, so that its number cannot pass
//! to another one. Signatures are removed first. So the program needs no force option, and refuses
//! anything that others have created in the meantime. Afterwards our label shows that it was this
//! device.

use super::{
    Claim, Error, LABEL, Target, Watch, claim,
    command::{line, run},
    erase,
    signature::signatures,
};
use std::{fs, io, os::unix::fs::DirBuilderExt, path::Path};
use tailmark_machine::mount;

/// A file system that can be made: a row.
#[derive(Debug, Clone, Copy)]
pub struct FileSystem {
    /// Its name in plans and tables of mounts.
    pub name: &'static str,
    /// What makes it.
    program: &'static str,
    /// Options before those of the plan.
    words: &'static [&'static str],
}

/// Every file system that can be made.
pub const FILE_SYSTEMS: &[FileSystem] = &[
    FileSystem {
        name: "ext4",
        program: "mkfs.ext4",
        words: &["-q", "-L", LABEL],
    },
    FileSystem {
        name: "xfs",
        program: "mkfs.xfs",
        words: &["-q", "-L", LABEL],
    },
];

impl FileSystem {
    /// By its name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<&'static Self> {
        FILE_SYSTEMS.iter().find(|row| row.name == name)
    }

    /// The command that makes it.
    #[must_use]
    pub fn command(&self, device: &str, options: &[String]) -> Vec<String> {
        let own = self.words.iter().map(|word| (*word).to_owned());
        std::iter::once(self.program.to_owned())
            .chain(own)
            .chain(options.iter().cloned())
            .chain([format!("/dev/{device}")])
            .collect()
    }

    /// Creates it on the held device.
    ///
    /// # Errors
    /// If it is no longer the same device, the program fails, or it is stopped.
    pub fn make(&self, claim: Claim, options: &[String], watch: &dyn Watch) -> Result<(), Error> {
        claim.confirm()?;
        let failed = |device: &str, source| Error::Step {
            action: "make a file system on",
            device: device.to_owned(),
            source,
        };
        let name = claim.identity().name.clone();
        let zeroed = erase::zero_ends(claim.file(), claim.identity().bytes);
        zeroed.map_err(|source| failed(&name, source))?;
        let (identity, file) = claim.share()?;
        run(&self.command(&name, options), watch).map_err(|source| {
            if watch.is_stopped() {
                Error::Stopped {
                    device: name.clone(),
                    doing: "given a file system",
                }
            } else {
                failed(&name, source)
            }
        })?;
        claim::confirm(&identity, &file)?;
        let found = signatures(&file, &identity)?;
        let is_it = |signature: &&super::Signature| {
            signature.is_ours && signature.name.split(':').next() == Some(self.name)
        };
        match found.iter().find(is_it) {
            Some(_) => Ok(()),
            None => Err(failed(
                &name,
                io::Error::other(format!("afterwards it holds {found:?}")),
            )),
        }
    }
}

/// The type of the file system on an unmounted device, from its signature.
///
/// # Errors
/// If it cannot be determined.
pub fn file_system_on(target: &Target) -> Result<Option<String>, Error> {
    let name = signature_on(target)?;
    let kind = name.as_ref().and_then(|name| name.split(':').next());
    let kind = kind.filter(|kind| FILE_SYSTEMS.iter().any(|row| row.name == *kind));
    Ok(kind.map(str::to_owned))
}

/// The name of the first signature on a device: `xfs:UUID`.
pub(super) fn signature_on(target: &Target) -> Result<Option<String>, Error> {
    let file = claim::read_only(&target.path())?;
    claim::confirm(&target.identity, &file)?;
    let found = signatures(&file, &target.identity)?.into_iter();
    Ok(found.map(|signature| signature.name).next())
}

/// The command that mounts a device on a directory.
#[must_use]
pub fn mount_command(kind: &str, options: &[String], device: &Path, point: &Path) -> Vec<String> {
    let mut words = vec!["mount".to_owned(), "-t".to_owned(), kind.to_owned()];
    if !options.is_empty() {
        words.extend(["-o".to_owned(), options.join(",")]);
    }
    words.extend([device, point].map(|path| path.display().to_string()));
    words
}

/// The command that creates the mount point; empty if it exists.
pub(super) fn directory_command(point: &Path) -> Vec<String> {
    let words = [
        "mkdir".to_owned(),
        "-p".to_owned(),
        point.display().to_string(),
    ];
    (!point.exists())
        .then(|| line(&words))
        .into_iter()
        .collect()
}

/// The command that undoes it.
#[must_use]
pub fn unmount_command(point: &Path) -> Vec<String> {
    vec!["umount".to_owned(), point.display().to_string()]
}

/// Mounts the device of a target. The directory is created if missing, and must be empty.
///
/// # Errors
/// If its name is not stable, the file system differs, the directory is not empty, or mounting
/// fails.
pub fn mount(
    target: &Target,
    kind: &str,
    options: &[String],
    point: &Path,
    watch: &dyn Watch,
) -> Result<(), Error> {
    let failed = |source| Error::Step {
        action: "mount",
        device: target.identity.name.clone(),
        source,
    };
    let other = |text: String| failed(io::Error::other(text));
    // Writing to the file system of another device would also damage its owner's data.
    if let Some(why) = &target.unstable {
        return Err(other(why.clone()));
    }
    // While it is open, no other device can take its name.
    let held = claim::read_only(&target.path())?;
    claim::confirm(&target.identity, &held)?;
    match file_system_on(target)? {
        Some(found) if found == kind => {}
        found => {
            let found = found.unwrap_or_else(|| "no known file system".to_owned());
            return Err(other(format!("it holds {found}, not {kind}")));
        }
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o755);
    builder.create(point).map_err(failed)?;
    if fs::read_dir(point).map_err(failed)?.next().is_some() {
        return Err(other(format!("`{}` is not empty", point.display())));
    }
    let mounted = run(&mount_command(kind, options, &target.path(), point), watch);
    drop(held);
    mounted.map(drop).map_err(failed)
}

/// Unmounts a directory.
///
/// # Errors
/// If that fails because it is in use.
pub fn unmount(point: &Path, watch: &dyn Watch) -> Result<(), Error> {
    run(&unmount_command(point), watch)
        .map(drop)
        .map_err(|source| Error::Step {
            action: "unmount",
            device: point.display().to_string(),
            source,
        })
}

/// Whether this device is mounted on a directory.
#[must_use]
pub fn is_mounted_on(target: &Target, point: &Path) -> bool {
    let (major, minor) = target.identity.number;
    let number = format!("{major}:{minor}");
    let point = point.canonicalize();
    let Ok(point) = point else { return false };
    mount::mounts()
        .iter()
        .rfind(|mount| mount.point == point)
        .is_some_and(|mount| mount.device == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_that_a_hand_would_type() {
        let xfs = FileSystem::of_name("xfs").unwrap();
        let make = xfs.command("nvme0n1", &["-K".to_owned()]).join(" ");
        assert_eq!(make, "mkfs.xfs -q -L tailmark -K /dev/nvme0n1");
        let options = ["noatime", "nodiratime"].map(str::to_owned);
        let mount = mount_command("xfs", &options, Path::new("/dev/x"), Path::new("/mnt/a"));
        let expected = "mount -t xfs -o noatime,nodiratime /dev/x /mnt/a";
        assert_eq!(mount.join(" "), expected);
        assert!(FileSystem::of_name("btrfs").is_none());
    }
}
