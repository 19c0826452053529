//! Agents that no program has: this test program, copied to a host with a word behind its end that says
//! which of them it is.

use std::{
    env, fs,
    io::{self, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
};
use tailmark_remote::agent::{Hello, Line, PROTOCOL, now_ns, serve};

/// One whose clock is a hundredth faster than that of its machine.
pub const DRIFTING: &str = "drifting";
/// One of a version to come.
pub const NEWER: &str = "of-later";
/// One that says what its clock says, and answers nothing else.
pub const MUTE: &str = "of-few-words";

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
        _ if ![DRIFTING, NEWER, MUTE].into_iter().any(is) => return None,
        Some(_) => Ok(()),
        None if is(DRIFTING) => {
            let clock = || now_ns() + now_ns() / 100;
            serve(BufReader::new(io::stdin()), io::stdout(), &clock, &|| {})
        }
        None if is(MUTE) => answer_the_clock_alone(),
        None => say_hello(),
    };
    Some(match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// Passes on nothing but questions for the clock.
fn answer_the_clock_alone() -> io::Result<()> {
    let (input, mut questions) = io::pipe()?;
    thread::spawn(move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            if line.contains("\"time\"") {
                writeln!(questions, "{line}").unwrap();
            }
        }
    });
    serve(BufReader::new(input), io::stdout(), &now_ns, &|| {})
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
    io::stdout().write_all(b"\n")?;
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}
