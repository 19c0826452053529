//! Programs of the system, run to their end.

use std::{
    io,
    process::{Command, Stdio},
};

/// Runs a program to its end; its standard output.
pub(super) fn run(words: &[String]) -> io::Result<String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let said = output(&words, Stdio::null())?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// The same with this standard input; its output as it is.
pub(super) fn output(words: &[&str], input: Stdio) -> io::Result<Vec<u8>> {
    let (program, words) = words.split_first().expect("a command has a program");
    let output = Command::new(program)
        .args(words)
        .env("LC_ALL", "C")
        .env("PATH", search_path())
        .stdin(input)
        .output()
        .map_err(|error| io::Error::other(format!("`{program}`: {error}")))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.trim().replace('\n', "; ");
            Err(io::Error::other(format!("`{program}` failed: {said}")))
        }
    }
}

/// A command as a shell takes it.
pub(super) fn line(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// A word as a shell takes it.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Where programs of the system are, `/usr/sbin` included, which not every user has.
fn search_path() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/sbin:/sbin:/usr/bin:/bin")
}
