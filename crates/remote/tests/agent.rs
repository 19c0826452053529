//! The agent as a program: it says who it is, answers, and ends with its connection.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};
use tailmark_remote::agent::{Answer, Ask, Line, PROTOCOL, Request};

const AGENT: &str = env!("CARGO_BIN_EXE_tailmark-agent");

fn start() -> Child {
    let mut command = Command::new(AGENT);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn it_says_who_it_is_answers_and_ends_when_nobody_asks_any_more() {
    let mut agent = start();
    let mut lines = BufReader::new(agent.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Line>(&lines.next().unwrap().unwrap()).unwrap();
    let Line::Hello(hello) = next() else {
        panic!("it does not say who it is");
    };
    assert_eq!(hello.protocol, PROTOCOL);
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
}

#[test]
fn what_is_no_request_ends_it() {
    let mut agent = start();
    writeln!(agent.stdin.take().unwrap(), "GET / HTTP/1.1").unwrap();
    assert_eq!(agent.wait().unwrap().code(), Some(1));
}

#[test]
fn wrong_words_are_told_how_it_is_used() {
    let output = Command::new(AGENT).arg("--serve").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: "));
}
