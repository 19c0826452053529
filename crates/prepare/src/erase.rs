//! Erases a device by discard, NVMe format or NVMe sanitize. Each takes a [`Claim`], checks again
//! right before what it holds, and afterwards marks the device as ours.

use super::nvme::{self, Drive, Sanitize, SanitizeState};
use super::{Claim, Error, Reach, Target, Watch, claim, ioctl, tag};
use serde::{Deserialize, Serialize};
use std::{fs::File, io, os::unix::fs::FileExt, path::Path, thread, time::Duration};

/// Bytes that are discarded at once, so that it can be stopped, and says how far it is.
const DISCARD_BYTES: u64 = 1 << 30;
/// Bytes at each end that are written with zeros: where signatures are.
const ENDS: u64 = 1 << 20;
/// How often a drive is asked for its progress.
const ASK_EVERY: Duration = Duration::from_secs(2);

/// The way to erase a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Erase {
    /// Every block is discarded, and both ends are written with zeros.
    Discard,
    /// An NVMe format with secure erase.
    Format,
    /// An NVMe sanitize operation: the whole subsystem.
    Sanitize,
}

impl Erase {
    /// The names in plans.
    pub const NAMES: &[&str] = &["discard", "format", "sanitize"];

    /// By its name in plans.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let rows = [Self::Discard, Self::Format, Self::Sanitize];
        rows.into_iter().find(|row| row.name() == name)
    }

    /// The word in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discard => "discard",
            Self::Format => "format",
            Self::Sanitize => "sanitize",
        }
    }

    /// Its effect on this device in a dry run, and its reach.
    ///
    /// # Errors
    /// If the device does not support it.
    pub fn plan(self, target: &Target) -> Result<(Reach, String), Error> {
        let name = &target.identity.name;
        let unable = |why: &str| Error::Step {
            action: self.name(),
            device: name.clone(),
            source: io::Error::other(why.to_owned()),
        };
        if self == Self::Discard {
            let bytes = target.identity.bytes;
            let said = format!(
                "BLKDISCARD of 0 to {bytes} on /dev/{name}, then zeros over the first and the \
                 last MiB, {}",
                tag::plan()
            );
            return Ok((Reach::Device, said));
        }
        let namespace = target.identity.namespace;
        let namespace = namespace.ok_or_else(|| unable("it is not an NVMe namespace"))?;
        let mut file = claim::read_only(&Path::new("/dev").join(name))?;
        let failed = |source| Error::Step {
            action: self.name(),
            device: name.clone(),
            source,
        };
        let says = nvme::identify_controller(&file).map_err(failed)?;
        if self == Self::Sanitize {
            let how = Sanitize::from_controller(&says)
                .ok_or_else(|| unable("the drive does not support sanitize"))?;
            let said = format!(
                "Sanitize ({how:?}) of the whole subsystem of /dev/{name}, then log 81h until it \
                 is done, {}",
                tag::plan()
            );
            return Ok((Reach::Subsystem, said));
        }
        if !says.can_format {
            return Err(unable("the drive does not support format"));
        }
        let format = nvme::identify_namespace(&mut file, namespace).map_err(failed)?;
        let (reach, what) = if says.formats_all || says.erases_all {
            (Reach::Subsystem, "every namespace of the drive (FNA)")
        } else {
            (Reach::Device, "this namespace")
        };
        let said = format!(
            "Format NVM of /dev/{name}, namespace {namespace}, format {} ({} bytes a block), \
             secure erase 1: {what}; {}",
            format.format,
            format.block_bytes,
            tag::plan()
        );
        Ok((reach, said))
    }

    /// Erases the held device, and marks it as ours.
    ///
    /// # Errors
    /// If it is no longer the same device, or erasing fails.
    pub fn carry_out(self, claim: &Claim, watch: &dyn Watch) -> Result<(), Error> {
        claim.confirm()?;
        // As far as it reaches, or the drive has changed since it was asked.
        claim.refuse_shorter(self.plan(claim.target())?.0)?;
        let mut file = claim.file();
        let failed = |source| claim.failed(self.name(), source);
        match self {
            Self::Discard => discard(claim, watch)?,
            Self::Format => {
                let namespace = claim.identity().namespace;
                let namespace = namespace
                    .ok_or_else(|| failed(io::Error::other("it is not an NVMe namespace")))?;
                let says = nvme::identify_controller(file).map_err(failed)?;
                if says.formats_all || says.erases_all {
                    refuse_hidden(claim, &says).map_err(failed)?;
                }
                let format = nvme::identify_namespace(&mut file, namespace).map_err(failed)?;
                nvme::format(&mut file, namespace, format.format).map_err(failed)?;
            }
            Self::Sanitize => {
                let says = nvme::identify_controller(file).map_err(failed)?;
                refuse_hidden(claim, &says).map_err(failed)?;
                sanitized(&mut file, &says, watch).map_err(failed)?;
            }
        }
        ioctl::flush_buffers(file).map_err(failed)?;
        claim.confirm()?;
        claim.tag()
    }
}

/// A drive that manages namespaces may have some that are not attached.
fn refuse_hidden(claim: &Claim, says: &nvme::Controller) -> io::Result<()> {
    if says.can_manage {
        claim.refuse_hidden(&nvme::allocated(&mut claim.file())?)
    } else {
        Ok(())
    }
}

fn discard(claim: &Claim, watch: &dyn Watch) -> Result<(), Error> {
    let (file, bytes) = (claim.file(), claim.identity().bytes);
    let failed = |source| claim.failed("discard", source);
    let mut done = 0;
    while done < bytes {
        if watch.is_stopped() {
            return Err(Error::Stopped {
                device: claim.identity().name.clone(),
                doing: "discarded",
            });
        }
        let piece = DISCARD_BYTES.min(bytes - done);
        ioctl::discard(file, done, piece).map_err(failed)?;
        done += piece;
        watch.progress(done, bytes);
    }
    // A discard is advice: what marks a file system must be gone all the same.
    zero_ends(file, bytes).map_err(failed)
}

/// Writes zeros over both ends.
pub(super) fn zero_ends(file: &File, bytes: u64) -> io::Result<()> {
    let zeros = vec![0; ENDS.min(bytes) as usize];
    file.write_all_at(&zeros, 0)?;
    zero_end(file, bytes)
}

/// Writes zeros over the end.
pub(super) fn zero_end(file: &File, bytes: u64) -> io::Result<()> {
    let length = ENDS.min(bytes);
    file.write_all_at(&vec![0; length as usize], bytes - length)?;
    file.sync_data()
}

/// Has a drive sanitized to the end.
fn sanitized(drive: &mut impl Drive, says: &nvme::Controller, watch: &dyn Watch) -> io::Result<()> {
    let how = Sanitize::from_controller(says)
        .ok_or_else(|| io::Error::other("the drive does not support sanitize"))?;
    nvme::sanitize(drive, how)?;
    loop {
        match nvme::sanitize_state(drive)? {
            // It cannot be stopped: the drive continues by itself, even after a restart.
            SanitizeState::Running(part) => watch.progress((part * 1000.0) as u64, 1000),
            SanitizeState::Done => return Ok(()),
            SanitizeState::Failed => {
                return Err(io::Error::other(
                    "the drive reports that it \
                                                                  failed",
                ));
            }
            SanitizeState::Never => {
                return Err(io::Error::other("the drive reports that it never started"));
            }
        }
        thread::sleep(ASK_EVERY);
    }
}
