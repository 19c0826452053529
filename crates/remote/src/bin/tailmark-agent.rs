//! The agent: serves one connection over standard input and output, and ends with it.

use std::{
    io::{self, BufReader},
    process::ExitCode,
};

fn main() -> ExitCode {
    match std::env::args_os().nth(1) {
        None => {}
        Some(word) if word == "--version" => {
            let version = env!("CARGO_PKG_VERSION");
            let protocol = tailmark_remote::agent::PROTOCOL;
            write(&format!("tailmark-agent {version}, protocol {protocol}"));
            return ExitCode::SUCCESS;
        }
        Some(_) => {
            write("usage: tailmark-agent [--version]");
            return ExitCode::from(2);
        }
    }
    let gone = || std::process::exit(3);
    let clock = tailmark_remote::agent::now_ns;
    match tailmark_remote::agent::serve(BufReader::new(io::stdin()), io::stdout(), &clock, &gone) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Prints a line for a user who started it by hand.
fn write(text: &str) {
    let _ = io::Write::write_all(&mut io::stderr(), format!("{text}\n").as_bytes());
}
