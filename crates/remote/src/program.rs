//! The agent program to be copied: embedded in this program, a file installed with it for another
//! processor, or a file named in the plan.

use crate::Error;
use std::{
    borrow::Cow,
    fs, io,
    path::{Path, PathBuf},
};

/// The agent embedded when this program was built; empty if there was none.
static TAKEN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent"));

/// The name of its file. An agent for another processor has `-aarch64`, say, after it.
const NAME: &str = "tailmark-agent";

/// Where its files are, seen from the directory of this program: beside it, or where a package has
/// put them.
const PLACES: [&str; 2] = [".", "../lib/tailmark"];

/// The numbers that ELF has for processors, and the kernel's names of them.
const MACHINES: [(u16, &str); 2] = [(62, "x86_64"), (183, "aarch64")];

/// Bytes of the largest program that is read.
const PROGRAM_BYTES_MAX: u64 = 256 << 20;

/// The agent that is copied to a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AgentProgram {
    /// The agent of this program.
    #[default]
    Own,
    /// This file.
    File(PathBuf),
    /// None.
    None,
}

impl AgentProgram {
    /// Its bytes for a processor, named as in `uname -m`, or why there are none.
    ///
    /// # Errors
    /// If a named file cannot be read.
    pub(crate) fn for_machine(
        &self,
        machine: &str,
    ) -> Result<Result<Cow<'static, [u8]>, String>, Error> {
        let program = match (self, TAKEN) {
            (Self::None, _) => Err("the plan disables it".to_owned()),
            (Self::File(path), _) => Ok(Cow::Owned(read(path).map_err(|source| {
                let path = path.display().to_string();
                Error::NoAgentFile { path, source }
            })?)),
            (Self::Own, taken) if machine_of(taken) == Some(machine) => Ok(Cow::Borrowed(taken)),
            (Self::Own, taken) => installed(machine, taken.is_empty()).map(Cow::Owned),
        };
        Ok(program.and_then(|program| match machine_of(&program) {
            Some(is) if is == machine => Ok(program),
            Some(is) => Err(format!(
                "the agent is built for {is}, but the host is {machine}"
            )),
            None => Err("the agent is not a program".to_owned()),
        }))
    }
}

/// The bytes of a program that a plan names: of a pipe or a device they might never end.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() || found.len() > PROGRAM_BYTES_MAX {
        let most = PROGRAM_BYTES_MAX >> 20;
        let why = format!("it is not a regular file of at most {most} MiB");
        return Err(io::Error::other(why));
    }
    fs::read(path)
}

/// The file installed with this program for a processor, or why there is none.
fn installed(machine: &str, is_missing: bool) -> Result<Vec<u8>, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let directory = own.parent().unwrap_or(Path::new("."));
    let found = find(directory, machine);
    found.ok_or_else(|| {
        let built = if is_missing {
            "without an agent"
        } else {
            "with an agent for another processor"
        };
        let directory = directory.display();
        format!("this program was built {built}, and `{directory}` has no `{NAME}-{machine}`")
    })
}

/// The program for a processor in one of the places around a directory.
fn find(directory: &Path, machine: &str) -> Option<Vec<u8>> {
    let names = [format!("{NAME}-{machine}"), NAME.to_owned()];
    let places = PLACES.iter().map(|place| directory.join(place));
    let mut files = places.flat_map(|place| names.clone().map(|name| place.join(name)));
    files.find_map(|file| {
        read(&file)
            .ok()
            .filter(|bytes| machine_of(bytes) == Some(machine))
    })
}

/// The processor that a program is for.
fn machine_of(program: &[u8]) -> Option<&'static str> {
    let is_elf = program.starts_with(b"\x7fELF");
    let number = u16::from_le_bytes(program.get(18..20)?.try_into().ok()?);
    let row = MACHINES.iter().find(|(known, _)| *known == number)?;
    is_elf.then_some(row.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_for_this_processor_and_a_text_for_none() {
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(machine_of(&own), Some(std::env::consts::ARCH));
        assert_eq!(
            machine_of(b"#!/bin/sh\necho an agent that is a script\n"),
            None
        );
        assert_eq!(machine_of(b""), None);
    }

    #[test]
    fn a_host_gets_the_installed_agent_of_its_own_processor() {
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join("bin");
        let library = root.path().join("lib/tailmark");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&library).unwrap();
        let mut arm = fs::read("/proc/self/exe").unwrap();
        arm[18] = 183;
        fs::write(library.join("tailmark-agent-aarch64"), &arm).unwrap();
        // A file of that name for another processor is not taken.
        fs::write(bin.join("tailmark-agent-x86_64"), &arm).unwrap();
        assert_eq!(find(&bin, "aarch64"), Some(arm));
        assert_eq!(find(&bin, "x86_64"), None);
    }

    #[test]
    fn a_device_and_a_file_of_gigabytes_are_no_program() {
        let dir = tempfile::tempdir().unwrap();
        let large = dir.path().join("large");
        fs::File::create(&large).unwrap().set_len(8 << 30).unwrap();
        for path in [Path::new("/dev/zero"), &large] {
            let error = read(path).unwrap_err().to_string();
            assert!(
                error.contains("not a regular file of at most 256 MiB"),
                "{error}"
            );
        }
    }
}
