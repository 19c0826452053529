//! The agent as a program: it ends with its connection, takes with it what was copied, and costs
//! next to nothing.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};
use tailmark_agent::{Answer, Ask, Line, PROTOCOL, Request};

const AGENT: &str = env!("CARGO_BIN_EXE_tailmark-agent");

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(AGENT);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn it_says_who_it_is_answers_and_ends_when_nobody_asks_any_more() {
    let directory = tempfile::tempdir().unwrap().keep();
    fs::write(directory.join("agent"), "the copy").unwrap();
    fs::write(directory.join("0.log"), "what a command printed").unwrap();
    let mut agent = start(&["--remove", directory.to_str().unwrap()]);
    let mut lines = BufReader::new(agent.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Line>(&lines.next().unwrap().unwrap()).unwrap();
    let Line::Hello(hello) = next() else {
        panic!("it does not say who it is");
    };
    assert_eq!(hello.protocol, PROTOCOL);
    assert_eq!(hello.is_root, tailmark_host::is_root());
    assert!(
        !directory.join("agent").exists(),
        "a program that runs needs no file"
    );
    let mut stdin = agent.stdin.take().unwrap();
    let request = Request {
        id: 3,
        ask: Ask::Facts,
    };
    writeln!(stdin, "{}", serde_json::to_string(&request).unwrap()).unwrap();
    let answer = next();
    assert!(
        matches!(&answer, Line::Answer { id: 3, answer: Answer::Facts(facts) } if facts.len() > 10),
        "{answer:?}"
    );
    drop(stdin);
    assert!(agent.wait().unwrap().success());
    assert!(!directory.exists(), "what it was copied into goes with it");
}

#[test]
fn what_is_no_request_ends_it() {
    let mut agent = start(&[]);
    writeln!(agent.stdin.take().unwrap(), "GET / HTTP/1.1").unwrap();
    assert_eq!(agent.wait().unwrap().code(), Some(1));
}

#[test]
fn wrong_words_are_told_how_it_is_used() {
    let output = Command::new(AGENT).arg("--serve").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: "));
}
