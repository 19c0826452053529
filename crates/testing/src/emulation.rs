//! Requirements for emulating a device on a machine.

use crate::{not_here, not_installed};
use std::{
    path::Path,
    process::{Command, Stdio},
};

/// The programs that make a volume, and the packages of Debian that have them.
const PROGRAMS: &[(&str, &str)] = &[
    ("qemu-storage-daemon", "qemu-system-common"),
    ("nbdkit", "nbdkit"),
    ("nbdfuse", "libnbd-bin"),
];

/// Ignores a test that emulates a device if that is impossible here.
pub fn need_emulation() {
    for (program, package) in PROGRAMS {
        let mut command = Command::new(program);
        let silent = command.arg("--version").stdout(Stdio::null());
        if silent.status().is_err() {
            not_installed(format!("{program} is missing: {package}"));
        }
    }
    if !Path::new("/dev/fuse").exists() {
        not_here("there is no /dev/fuse");
    }
}
