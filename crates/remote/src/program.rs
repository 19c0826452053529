//! The agent as a program that can be copied: part of this one, or a file beside it.

use std::{borrow::Cow, fs, path::Path};

/// The agent that was taken in when this program was built; empty where none was.
static TAKEN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent"));

/// The name of its file.
const NAME: &str = "tailmark-agent";

/// The numbers that ELF has for processors, and the kernel's names of them.
const MACHINES: [(u16, &str); 2] = [(62, "x86_64"), (183, "aarch64")];

/// The agent for a processor of this name, as `uname -m` has it; or why there is none.
pub fn agent_for(machine: &str) -> Result<Cow<'static, [u8]>, String> {
    let program: Cow<'static, [u8]> = match TAKEN {
        [] => Cow::Owned(beside()?),
        taken => Cow::Borrowed(taken),
    };
    match machine_of(&program) {
        Some(is) if is == machine => Ok(program),
        Some(is) => Err(format!("the agent is for {is}, and the host is {machine}")),
        None => Err("the agent is no program".to_owned()),
    }
}

/// The file beside this program.
fn beside() -> Result<Vec<u8>, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let path = own.parent().unwrap_or(Path::new(".")).join(NAME);
    fs::read(&path).map_err(|error| {
        format!(
            "this program was built without the agent, and `{}`: {error}",
            path.display()
        )
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
}
