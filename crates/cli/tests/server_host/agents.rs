//! Agents that no program has: this test program, copied to a host with a word behind its end that says
//! which of them it is.

use std::{
    env, fs,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};
use tailmark_remote::agent::{Hello, Line, PROTOCOL, now_ns, serve};

/// One whose clock is a hundredth faster than that of its machine.
pub const DRIFTING: &str = "drifting";
/// One of a version to come.
pub const NEWER: &str = "of-later";

/// The program of one of them in this directory.
pub fn program(directory: &Path, which: &str) -> PathBuf {
    let path = directory.join(which);
    let own = fs::read(env::current_exe().unwrap()).unwrap();
    fs::write(&path, [&own, which.as_bytes()].concat()).unwrap();
    path
}

/// What this program does where it is one of them.
pub fn as_agent() -> Option<ExitCode> {
    let own = fs::read("/proc/self/exe").unwrap();
    let is = |which: &str| own.ends_with(which.as_bytes());
    let served = match env::args().nth(1) {
        _ if !is(DRIFTING) && !is(NEWER) => return None,
        Some(_) => Ok(()),
        None if is(DRIFTING) => {
            let clock = || now_ns() + now_ns() / 100;
            serve(BufReader::new(io::stdin()), io::stdout(), &clock, &|| {})
        }
        None => say_hello(),
    };
    Some(match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// Says the first line of an agent of a version to come, and waits for its end.
fn say_hello() -> io::Result<()> {
    let hello = Hello {
        protocol: PROTOCOL + 1,
        version: "9.9".to_owned(),
        hostname: String::new(),
        boot_id: String::new(),
        memory: 1,
    };
    serde_json::to_writer(io::stdout(), &Line::Hello(hello))?;
    io::Write::write_all(&mut io::stdout(), b"\n")?;
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}
