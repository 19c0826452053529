//! The agent: serves one connection over standard input and output, and ends with it.

use std::{
    fs,
    io::{self, BufReader},
    path::PathBuf,
    process::ExitCode,
};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let directory = match (arguments.next(), arguments.next()) {
        (Some(word), None) if word == "--version" => {
            let version = env!("CARGO_PKG_VERSION");
            let protocol = tailmark_agent::PROTOCOL;
            write(&format!("tailmark-agent {version}, protocol {protocol}"));
            return ExitCode::SUCCESS;
        }
        (Some(word), Some(directory)) if word == "--remove" => Some(PathBuf::from(directory)),
        (None, None) => None,
        _ => {
            write("usage: tailmark-agent [--version | --remove DIRECTORY]");
            return ExitCode::from(2);
        }
    };
    // What was copied here for this connection: a program that runs needs no file.
    if let Some(directory) = &directory {
        let _ = fs::remove_file(directory.join("agent"));
    }
    let end = || {
        if let Some(directory) = &directory {
            let _ = fs::remove_dir_all(directory);
        }
    };
    let gone = || {
        end();
        std::process::exit(3)
    };
    let clock = tailmark_agent::now_ns;
    let served = tailmark_agent::serve(BufReader::new(io::stdin()), io::stdout(), &clock, &gone);
    end();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// A line for whoever started it by hand.
fn write(text: &str) {
    let _ = io::Write::write_all(&mut io::stderr(), format!("{text}\n").as_bytes());
}
