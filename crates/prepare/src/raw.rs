//! A block device that a driver writes directly. It is overwritten from its first byte on.
//!
//! A device with our stamp or our mark, or one that this run created, needs no consent. Every other
//! device needs the same guards and consent as erasing.

use super::{
    Claim, Consent, Error, Identity, Objection, Reach, Signature, Target, Uses, Watch,
    claim::{self, on_all},
    erase, in_use,
    signature::signatures,
    tag,
};
use std::{collections::BTreeSet, fs::File, io, os::unix::fs::FileExt, path::Path};
use tailmark_model::in_one_line;

/// A device that a driver writes itself.
#[derive(Debug)]
pub struct RawDevice {
    target: Target,
    consent: Consent,
    is_ours: bool,
}

impl RawDevice {
    /// Examines a device.
    ///
    /// # Errors
    /// If it is not a block device, or cannot be read.
    pub fn find(device: &Path, consent: Consent) -> Result<Self, Error> {
        Self::of_target(Target::find(&device.display().to_string())?, consent)
    }

    /// Examines a found device.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of_target(target: Target, consent: Consent) -> Result<Self, Error> {
        let is_ours = consent.has_made(&target.identity) || {
            let file = claim::read_only(&target.path())?;
            claim::confirm(&target.identity, &file)?;
            carries_stamp_or_mark(&file, &target.identity)
        };
        Ok(Self {
            target,
            consent,
            is_ours,
        })
    }

    /// Whether nothing of anyone else is on it.
    #[must_use]
    pub const fn is_ours(&self) -> bool {
        self.is_ours
    }

    /// The device, and the content that would be lost: `/dev/loop4: ext4 "payroll" (UUID
    /// 5f0c-...)`.
    #[must_use]
    pub fn describe(&self) -> String {
        let name = self.target.path().display().to_string();
        match self.holds() {
            Ok(holds) => format!("{name}: {holds}"),
            Err(error) => format!("{name}: {}", in_one_line(&error)),
        }
    }

    fn holds(&self) -> Result<String, Error> {
        let file = claim::read_only(&self.target.path())?;
        let files = [(&self.target.identity, &file)];
        let found = on_all(&Uses::look_at_devices(), &files)?;
        let mut seen = BTreeSet::new();
        let say = |Signature { device, about, .. }: &Signature| {
            if *device == self.target.identity.name {
                about.clone()
            } else {
                format!("on {device} {about}")
            }
        };
        let mut said: Vec<_> = found.iter().map(say).collect();
        said.retain(|text| seen.insert(text.clone()));
        Ok(if said.is_empty() {
            "no known signature, and no stamp of tailmark".to_owned()
        } else {
            said.join("; ")
        })
    }

    /// All objections to overwriting it.
    ///
    /// # Errors
    /// If it cannot be examined, or is stopped.
    pub fn refusals(&self, watch: &dyn Watch) -> Result<Vec<Objection>, Error> {
        if self.consent.has_made(&self.target.identity) {
            return Ok(Vec::new());
        }
        if self.is_ours {
            return Ok(in_use::of_ours(&self.target, &self.consent));
        }
        Claim::refusals_watched(&self.target, Reach::Device, &self.consent, watch)
    }

    /// Refuses if anything speaks against it.
    ///
    /// # Errors
    /// Names all objections.
    pub fn refuse(&self, watch: &dyn Watch) -> Result<(), Error> {
        let evidence = self.refusals(watch)?;
        if evidence.is_empty() {
            Ok(())
        } else {
            Err(Error::Refused {
                device: self.target.identity.describe(),
                evidence,
            })
        }
    }

    /// Examines the device again and writes its stamp, while no other program can open it
    /// exclusively.
    ///
    /// # Errors
    /// Names all objections, or if it cannot be written.
    pub fn stamp(
        &self,
        watch: &dyn Watch,
        stamp: impl FnOnce(&File) -> io::Result<()>,
    ) -> Result<(), Error> {
        if self.is_ours {
            return self.stamp_ours(stamp);
        }
        let claim = Claim::take_watched(&self.target, Reach::Device, &self.consent, watch)?;
        claim.confirm()?;
        let failed = |source| claim.failed("stamp", source);
        let (file, bytes) = (claim.file(), claim.identity().bytes);
        // First the end, where RAID and partition tables have copies. Until the stamp is complete,
        // the beginning still shows what the device was.
        erase::zero_end(file, bytes).map_err(failed)?;
        stamp(file).map_err(failed)?;
        let rest = tag::RESERVED_BYTES
            .min(bytes)
            .saturating_sub(tag::PLACE.start);
        let zeros = vec![0; rest as usize];
        file.write_all_at(&zeros, tag::PLACE.start)
            .map_err(failed)?;
        file.sync_all().map_err(failed)
    }

    fn stamp_ours(&self, stamp: impl FnOnce(&File) -> io::Result<()>) -> Result<(), Error> {
        let Identity { name, .. } = &self.target.identity;
        let file = claim::alone(&self.target.path())?;
        claim::confirm(&self.target.identity, &file)?;
        let is_ours = self.consent.has_made(&self.target.identity)
            || carries_stamp_or_mark(&file, &self.target.identity);
        let stamped = if is_ours {
            stamp(&file)
        } else {
            Err(io::Error::other(
                "another program has written to it since tailmark examined it",
            ))
        };
        stamped.map_err(|source| Error::Step {
            action: "stamp",
            device: name.clone(),
            source,
        })
    }
}

/// Whether all that is on a device is a data set of ours, or our mark for this very device.
fn carries_stamp_or_mark(file: &File, identity: &Identity) -> bool {
    match signatures(file, identity) {
        Ok(found) => !found.is_empty() && found.iter().all(Signature::is_stamp_or_mark),
        // A device of ours needs no program that knows the signatures of others.
        Err(_) => tag::is_stamped(file).unwrap_or(false),
    }
}
