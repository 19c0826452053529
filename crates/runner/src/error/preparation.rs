//! Errors in what a plan or the command line says about preparing.

use std::path::PathBuf;

/// The preparation was not agreed to, or is impossible.
#[derive(Debug, thiserror::Error)]
pub enum PreparationError {
    /// The load of a system would overwrite foreign data without consent.
    #[error("system `{system}`: its load overwrites {what}")]
    Overwrites {
        /// The system's name.
        system: String,
        /// The device and its content.
        what: String,
        /// Everything that speaks against it, with the flags that agree.
        source: Box<tailmark_prepare::Error>,
    },
    /// Nothing is to be prepared of a system.
    #[error("system `{system}` cannot be prepared: {why}")]
    NothingToPrepare {
        /// As it was named.
        system: String,
        /// Why not.
        why: String,
    },
    /// A serial number is confirmed that nothing to be prepared has.
    #[error(
        "--erase {serial}: no device that the plan prepares has this serial number; give the full \
         number, as shown by `tailmark device list`"
    )]
    UnknownSerial {
        /// As given.
        serial: String,
    },
    /// A confirmed serial number belongs to several devices.
    #[error(
        "--erase {serial}: devices on {hosts} have this serial number: they are one device, or \
         cannot be told apart; prepare each with its own plan"
    )]
    SerialOnSeveralHosts {
        /// The serial number.
        serial: String,
        /// The machines.
        hosts: String,
    },
    /// A serial number is confirmed of a device that the plan erases nothing of.
    #[error(
        "--erase {serial}: this plan does not erase or overwrite the device of system `{system}`; \
         set `erase`, `namespaces`, `precondition` or `filesystem` in `prepare`"
    )]
    NothingToErase {
        /// As given.
        serial: String,
        /// The system with the device.
        system: String,
    },
    /// Two systems have their devices mounted on one directory, or one below the other's.
    #[error(
        "systems `{first}` and `{second}` are both mounted on `{}`, or one below the other (`{}`): \
         each needs its own directory (prepare.mount)",
        point.display(), first_point.display()
    )]
    OneMount {
        /// The first of them.
        first: String,
        /// Its directory.
        first_point: PathBuf,
        /// The other one.
        second: String,
        /// Its directory.
        point: PathBuf,
    },
    /// The results are in the directory that a device is mounted on.
    #[error(
        "-o: the results would be lost in `{}`, because the device of system `{system}` is mounted \
         there; give another directory",
        point.display()
    )]
    ResultsOnMount {
        /// The system with the device.
        system: String,
        /// The directory.
        point: PathBuf,
    },
    /// Two systems name one device to be prepared.
    #[error("systems `{first}` and `{second}` both prepare {device}")]
    PreparedTwice {
        /// The first of them.
        first: String,
        /// The other one.
        second: String,
        /// The device that they name.
        device: String,
    },
}
