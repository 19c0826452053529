//! Why a device was not touched, or a step failed.

use std::{io, path::PathBuf};

/// Why a device or a setting is left as it is, or what went wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The word in a plan does not lead to exactly one device.
    #[error("`{given}` names no device to prepare: {why}")]
    Target {
        /// As it was named.
        given: String,
        /// Why not.
        why: String,
    },
    /// The content of a device cannot be determined.
    #[error("failed to find out what is on `{device}`")]
    Signatures {
        /// The kernel's name of it.
        device: String,
        /// Why.
        source: io::Error,
    },
    /// Something speaks against it.
    #[error("{device} is left alone: {}", evidence_text(evidence))]
    Refused {
        /// The device.
        device: String,
        /// Everything that was found, by guard.
        evidence: Vec<Objection>,
    },
    /// It is not the device any more that was looked at.
    #[error("`{device}` is left alone: it was {was}, but is now {is}")]
    Renumbered {
        /// The kernel's name.
        device: String,
        /// The device that was examined.
        was: String,
        /// The device that is open.
        is: String,
    },
    /// It could not be opened exclusively.
    #[error("`{device}` is left alone: it could not be opened exclusively")]
    Exclusive {
        /// Its path.
        device: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A step failed.
    #[error("failed to {action} `{device}`")]
    Step {
        /// The action: `discard`, `format`, ...
        action: &'static str,
        /// The device or the setting.
        device: String,
        /// Why.
        source: io::Error,
    },
    /// Its file system cannot be mounted at the plan's mount point.
    #[error("{device} is left alone and not mounted on `{point}`: {why}")]
    Place {
        /// The directory.
        point: PathBuf,
        /// The device.
        device: String,
        /// Everything that speaks against it.
        why: String,
    },
    /// A step was stopped, as was asked for.
    #[error("stopped while `{device}` was {doing}; the next run prepares it from the first step")]
    Stopped {
        /// The device.
        device: String,
        /// The activity: `written`, ...
        doing: &'static str,
    },
    /// A setting that the kernel does not have, or not of that value.
    #[error("{key} = {value}: {why}")]
    Setting {
        /// Its key.
        key: String,
        /// The requested value.
        value: String,
        /// The problem.
        why: String,
    },
    /// The journal of settings, or its lock, could not be read or written.
    #[error("failed to {action} the journal `{path}`")]
    Journal {
        /// `read`, `write`, `lock`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The journal contains something else than was written to it.
    #[error(
        "the journal `{path}` is damaged, so tailmark cannot undo the changes of this machine that \
         it lists. Read it, undo by hand what is still changed (values, mounts, \
         /var/lib/tailmark/emulated), and remove it"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: io::Error,
    },
    /// Another process has settings in effect.
    #[error(
        "{holder} is using this machine's settings and holds `{path}`; wait until it ends, or stop \
         it"
    )]
    InUse {
        /// The lock.
        path: PathBuf,
        /// The process that holds it: `process 17 (tailmark run plan.toml)`.
        holder: String,
    },
}

/// A reason not to touch a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// The row that found it.
    pub guard: &'static str,
    /// The finding.
    pub text: String,
}

fn evidence_text(evidence: &[Objection]) -> String {
    let each = evidence
        .iter()
        .map(|objection| format!("{} ({})", objection.text, objection.guard));
    each.collect::<Vec<_>>().join("; ")
}
