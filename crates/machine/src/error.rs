//! Errors of examining or changing the machine.

use bytesize::ByteSize;
use std::{io, path::PathBuf};

/// A probe could not be opened or sampled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the kernel could not be read or parsed.
    #[error("failed to read `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The device is no longer there.
    #[error("`{device}` is not in /proc/diskstats")]
    NoDevice {
        /// The kernel's name of it.
        device: String,
    },
    /// A drive did not answer a command, or not as its specification says.
    #[error("`{device}` {said}")]
    Drive {
        /// The kernel's name of it.
        device: String,
        /// The drive's response, for example `has no log C0h`.
        said: String,
        /// The reason, if the kernel gives one.
        source: Option<io::Error>,
    },
    /// Another program, which samples for us, could not be run.
    #[error("`{program}` {said}")]
    Program {
        /// Its name.
        program: &'static str,
        /// What it did, or did not do.
        said: String,
        /// Why it could not be started.
        source: Option<io::Error>,
    },
    /// Only root can see what is sampled.
    #[error("only root (CAP_SYS_ADMIN) can read {what}")]
    NeedsRoot {
        /// What cannot be read.
        what: String,
    },
    /// No process of this machine could be found that listens on a port.
    #[error(
        "found no process that listens on port {port}; only root can see processes of other users"
    )]
    NoProcess {
        /// The port.
        port: u16,
    },
    /// The kernel refused to say what this process used.
    #[error("failed to read the resource usage of this process")]
    Usage(#[source] io::Error),
}

/// Why the memory of this process could not be limited.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// The process would hardly fit, and be killed.
    #[error(
        "a memory limit of {} is too low: this process already uses {}, so the limit must be at \
         least {}",
        ByteSize(*requested),
        ByteSize(*used),
        ByteSize(*min)
    )]
    TooLow {
        /// The limit that was asked for, bytes.
        requested: u64,
        /// Memory that the process uses, bytes.
        used: u64,
        /// The lowest limit that is accepted, bytes.
        min: u64,
    },
    /// No hierarchy of control groups accounts memory.
    #[error(
        "a memory limit needs the memory controller of cgroup v1 or v2, but none is mounted \
         (cgroup v2: `mount -t cgroup2 none /sys/fs/cgroup`)"
    )]
    NoController,
    /// Control groups of version 2 hold either processes or groups that limit memory.
    #[error(
        "no control group above `{group}` delegates the memory controller; start tailmark in its \
         own group: `systemd-run --scope -p Delegate=yes tailmark ...`"
    )]
    NotDelegated {
        /// The group of this process.
        group: PathBuf,
    },
    /// A group around this process has a lower limit, which a new group beside it would evade.
    #[error("`{group}` already limits memory to {}, which is less than \
        {}", ByteSize(*limit), ByteSize(*requested))]
    LowerLimit {
        /// The group that limits.
        group: PathBuf,
        /// Its limit, bytes.
        limit: u64,
        /// The limit that was asked for, bytes.
        requested: u64,
    },
    /// A control group could not be made or changed.
    #[error(
        "failed to {action} `{path}`; a memory limit needs root, or a control group delegated to \
         this user (`systemd-run --user --scope -p Delegate=yes tailmark ...`)"
    )]
    Refused {
        /// `create` or `write`.
        action: &'static str,
        /// The group or its file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}
