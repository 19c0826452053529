//! A loop device of a test's own, and how it is looked at.

use std::{
    fs::OpenOptions,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};
use tailmark_prepare::{Claim, Consent, Error, Objection, Reach, Target, Uses};
use tailmark_testing::LoopDevice;
use tempfile::TempDir;

/// Bytes of such a device.
pub const BYTES: u64 = 32 << 20;

/// A loop device of a test's own, with its file.
pub struct Disk {
    pub device: LoopDevice,
    pub image: PathBuf,
    pub dir: TempDir,
}

impl Disk {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let dir_path = dir.path().canonicalize().unwrap();
        let image = dir_path.join("image");
        let device = LoopDevice::new(&image, BYTES);
        Self { device, image, dir }
    }

    /// Its path.
    pub fn path(&self) -> &str {
        self.device.path().to_str().unwrap()
    }

    pub fn target(&self) -> Target {
        Target::find(self.path()).unwrap()
    }

    /// Agrees that this device is erased.
    pub fn consent(&self) -> Consent {
        Consent {
            serials: vec![self.image.display().to_string()],
            ..unseen()
        }
    }

    pub fn refusals(&self, consent: &Consent) -> Vec<Objection> {
        Claim::refusals(&self.target(), Reach::Device, consent).unwrap()
    }

    pub fn evidence(&self) -> Vec<Objection> {
        self.refusals(&self.consent())
    }

    /// The guards that refuse the device to who has agreed, when it is to be taken.
    pub fn refused(&self, consent: &Consent) -> Vec<&'static str> {
        match Claim::take(&self.target(), Reach::Device, consent) {
            // Another's process may have come meanwhile that cannot be looked at here.
            Err(Error::Refused { evidence, .. }) => evidence
                .iter()
                .map(|objection| objection.guard)
                .filter(|guard| *guard != "unseen")
                .collect(),
            Err(error) => panic!("{error}"),
            Ok(_) => Vec::new(),
        }
    }
}

/// Where this runs in a container or a sandbox, its first process is nobody's to look at.
pub fn unseen() -> Consent {
    Consent {
        unseen: Uses::look()
            .unseen()
            .iter()
            .map(|program| program.name.clone())
            .collect(),
        ..Consent::default()
    }
}

/// What a guard has found.
pub fn text(evidence: &[Objection], guard: &str) -> String {
    let own = evidence.iter().filter(|objection| objection.guard == guard);
    let texts: Vec<_> = own.map(|objection| objection.text.as_str()).collect();
    texts.join("; ")
}

/// What most tools do: open it so that no other program can.
pub fn opens_exclusively(path: &Path) -> bool {
    let flags = rustix::fs::OFlags::EXCL.bits().cast_signed();
    let mut options = OpenOptions::new();
    let opened = options
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(path);
    opened.is_ok()
}
