//! Agents of this program and hostile ends, over sockets of this machine.

use super::*;
use crate::agent::protocol::WatchRequest;
use std::{collections::BTreeSet, os::unix::net::UnixStream};
use tailmark_cluster::ClockLine;

/// An agent of this program, in a thread, whose clock is this.
fn agent(clock: impl Fn() -> u64 + Send + Sync + 'static) -> Channel {
    let (own, other) = UnixStream::pair().unwrap();
    thread::spawn(move || {
        let input = BufReader::new(other.try_clone().unwrap());
        crate::agent::serve(input, other, &clock, &|| {})
    });
    Channel::open("db1", own.try_clone().unwrap(), own, &|| false).unwrap()
}

/// Samples of two probes over some seconds.
fn sampled(channel: &Channel, seconds: u64) -> Vec<AgentSample> {
    let probes = ["cpu", "memory"].map(str::to_owned).to_vec();
    let watch = WatchRequest {
        probes,
        ..WatchRequest::default()
    };
    channel.ask(Ask::Watch(watch), HELLO).unwrap();
    thread::sleep(Duration::from_secs(seconds));
    channel.ask(Ask::Sample, HELLO).unwrap();
    channel.take().0
}

#[test]
fn samples_come_by_themselves_each_with_what_its_values_are_of() {
    let channel = agent(now_ns);
    let taken = sampled(&channel, 2);
    let probes: BTreeSet<&str> = taken.iter().map(|sample| &*sample.probe).collect();
    assert_eq!(probes, BTreeSet::from(["cpu", "memory"]));
    // One each second, and the last.
    assert!(taken.len() >= 6, "{}", taken.len());
    for sample in &taken {
        let mut values = sample.values.iter();
        let has_machine = values.any(|(sampled, _)| sampled.subject == "machine");
        assert!(has_machine, "{sample:?}");
    }
    channel.ask(Ask::Rest, HELLO).unwrap();
    channel.take();
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(channel.take().0, []);
}

#[test]
fn a_clock_that_drifts_from_another_boot_is_put_on_our_own() {
    const AHEAD_NS: u64 = 3_600_000_000_000;
    let began = now_ns();
    // A thousandth faster, and an hour ahead.
    let clock = move || {
        let since = now_ns() - began;
        began + AHEAD_NS + since + since / 1000
    };
    let channel = agent(clock);
    let mut line = ClockLine::default();
    line.add(channel.clock().unwrap());
    let first = now_ns();
    let taken = sampled(&channel, 4);
    line.add(channel.clock().unwrap());
    let last = now_ns();
    let mut instants: Vec<u64> = Vec::new();
    for sample in &taken {
        let at = line.leader_at(sample.at_ns).unwrap();
        assert!((first..=last).contains(&at.ns), "{first} {at:?} {last}");
        // What the sample says of its instant, by the drift that is known here.
        let since = (sample.at_ns - began - AHEAD_NS) as f64 / 1.001;
        let error = (at.ns as f64 - (began as f64 + since)).abs();
        assert!(error <= at.bound_ns as f64 + 1000.0, "{error} {at:?}");
        instants.push(at.ns);
    }
    assert!(instants.is_sorted());
}

#[test]
fn what_the_clock_says_does_not_wait_for_what_takes_longer() {
    let channel = Arc::new(agent(now_ns));
    let other = Arc::clone(&channel);
    let facts = thread::spawn(move || other.ask(Ask::Facts, HELLO).unwrap());
    let exchange = channel.exchange().unwrap();
    assert!(exchange.request_received_ns >= exchange.request_sent_ns);
    assert!(exchange.answer_sent_ns <= exchange.answer_received_ns);
    let Answer::Facts(facts) = facts.join().unwrap() else {
        panic!("something else was answered");
    };
    let [found, expected] = [facts, tailmark_machine::machine_facts()].map(|facts| {
        let names = facts.into_iter().map(|fact| (fact.group, fact.name));
        names.collect::<Vec<_>>()
    });
    assert_eq!(found, expected);
}

/// The first line of an agent that speaks this.
fn hello(protocol: u32) -> String {
    let hello = Hello {
        protocol,
        version: "9.9".to_owned(),
        hostname: "node2".to_owned(),
        boot_id: String::new(),
        memory: 1,
    };
    serde_json::to_string(&Line::Hello(hello)).unwrap()
}

#[test]
fn an_agent_of_another_version_is_refused() {
    let (own, mut other) = UnixStream::pair().unwrap();
    writeln!(other, "{}", hello(PROTOCOL + 1)).unwrap();
    let refused = Channel::open("db1", own.try_clone().unwrap(), own, &|| false).unwrap_err();
    let (version, speaks) = ("version 9.9", format!("protocol {}", PROTOCOL + 1));
    let text = refused.to_string();
    assert!(text.contains(version) && text.contains(&speaks), "{text}");
}

#[test]
fn whoever_waits_when_the_other_end_goes_is_told_at_once() {
    let (own, mut other) = UnixStream::pair().unwrap();
    writeln!(other, "{}", hello(PROTOCOL)).unwrap();
    let channel = Channel::open("db1", own.try_clone().unwrap(), own, &|| false).unwrap();
    let ends = thread::spawn(move || {
        let mut line = String::new();
        BufReader::new(other.try_clone().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(line.contains("facts"), "{line}");
        other.shutdown(std::net::Shutdown::Both).unwrap();
    });
    let began = Instant::now();
    let lost = channel
        .ask(Ask::Facts, Duration::from_secs(300))
        .unwrap_err();
    assert!(matches!(lost, Error::Lost { .. }), "{lost}");
    assert!(began.elapsed() < Duration::from_secs(250));
    ends.join().unwrap();
    assert!(channel.ask(Ask::Facts, HELLO).is_err());
}

#[test]
fn an_agent_that_answers_nothing_is_awaited_for_seconds_once_the_run_is_to_stop() {
    let (own, mut other) = UnixStream::pair().unwrap();
    writeln!(other, "{}", hello(PROTOCOL)).unwrap();
    let channel = Channel::open("db1", own.try_clone().unwrap(), own, &|| false).unwrap();
    let began = Instant::now();
    let stop = RunStop::new(move || began.elapsed() > Duration::from_secs(1));
    let lost = channel
        .until(stop)
        .ask(Ask::Facts, Duration::from_secs(300));
    assert!(matches!(lost, Err(Error::Lost { .. })), "{lost:?}");
    let took = began.elapsed();
    assert!(
        took > STOPPED && took < Duration::from_secs(250),
        "{took:?}"
    );
}

/// What waiting for an answer ends with when an agent sends this after its greeting.
fn lost_by(send: impl FnOnce(&mut UnixStream) -> std::io::Result<()> + Send + 'static) -> String {
    let (own, mut other) = UnixStream::pair().unwrap();
    writeln!(other, "{}", hello(PROTOCOL)).unwrap();
    let channel = Channel::open("db1", own.try_clone().unwrap(), own, &|| false).unwrap();
    let sends = thread::spawn(move || send(&mut other));
    let lost = channel
        .ask(Ask::Facts, Duration::from_secs(300))
        .unwrap_err();
    assert!(matches!(lost, Error::Lost { .. }), "{lost}");
    drop(channel);
    // Nobody reads what it still sends.
    let _ = sends.join().unwrap();
    lost.to_string()
}

/// The memory of this process that only ever grew, bytes.
fn memory_max() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() * 1024
}

#[test]
fn an_agent_that_sends_an_endless_line_is_left_before_it_takes_memory() {
    let before = memory_max();
    let lost = lost_by(|other| {
        let some = vec![b'x'; 1 << 20];
        // Ends when the other end does not read any more.
        (0..2048).try_for_each(|_| other.write_all(&some))
    });
    assert!(
        lost.contains("`db1`") && lost.contains("1048576 bytes"),
        "{lost}"
    );
    let more = memory_max() - before;
    assert!(more < 256 << 20, "{more} bytes");
}

#[test]
fn an_agent_that_floods_is_left() {
    let flood = "{\"log\":\"\"}\n".repeat(10_000);
    let lost =
        lost_by(move |other| (0..10_000).try_for_each(|_| other.write_all(flood.as_bytes())));
    assert!(lost.contains("1000 lines per second"), "{lost}");
}

#[test]
fn messages_that_nobody_takes_are_bounded() {
    let mut inbox = Inbox::default();
    for number in 0..10_000 {
        inbox.say(PrepareMessage::Log(number.to_string()));
    }
    assert_eq!(inbox.prepared.len(), MESSAGES_MAX);
    inbox.prepared.clear();
    for done in 0..10_000 {
        inbox.say(PrepareMessage::Progress(done, 10_000));
    }
    assert_eq!(inbox.prepared, [PrepareMessage::Progress(9_999, 10_000)]);
}

#[test]
fn samples_with_long_names_take_bounded_memory_until_they_are_taken() {
    let mut inbox = Inbox::default();
    let mut names = Names::default();
    for number in 0..10_000 {
        let long = |_| SampleId {
            subject: "s".repeat(10_000),
            name: "n".repeat(10_000),
            kind: tailmark_model::SeriesKind::Gauge,
        };
        let sample = Sample {
            probe: "cpu".to_owned(),
            at_ns: number,
            names: Some((0..10).map(long).collect()),
            values: vec![1.0; 10],
        };
        inbox.keep(names.taken(sample).unwrap().unwrap());
    }
    assert!(
        inbox.samples.len() > 100 && inbox.samples.len() < 1000,
        "{}",
        inbox.samples.len()
    );
    let more = (0..100).find_map(|number| {
        let long = SampleId {
            subject: "s".repeat(100_000),
            name: String::new(),
            kind: tailmark_model::SeriesKind::Gauge,
        };
        let sample = Sample {
            probe: format!("p{number}"),
            at_ns: 0,
            names: Some(vec![long]),
            values: vec![1.0],
        };
        names.taken(sample).err()
    });
    assert!(more.unwrap().contains("names"));
}

#[test]
fn an_agent_that_samples_something_new_without_end_is_left() {
    let mut names = Names::default();
    let mut sent = 0..;
    let mut next = || {
        let name = |number: u32| SampleId {
            subject: number.to_string(),
            name: "busy_s".to_owned(),
            kind: tailmark_model::SeriesKind::Counter,
        };
        let new: Vec<_> = sent.by_ref().take(500).map(name).collect();
        let sample = Sample {
            probe: "cpu".to_owned(),
            at_ns: 0,
            values: vec![1.0; new.len()],
            names: Some(new),
        };
        names.taken(sample).err()
    };
    let samples = SERIES_MAX / 500;
    assert!((0..samples).all(|_| next().is_none()));
    assert!(next().unwrap().contains("different values"));
}

#[test]
fn what_an_agent_says_has_no_control_characters_and_errors_repeat_little_of_it() {
    let lost = lost_by(|other| writeln!(other, "\u{1b}[2J{}", "x".repeat(100_000)));
    assert!(!lost.contains('\u{1b}') && lost.len() < 1000, "{lost}");
    let (own, mut other) = UnixStream::pair().unwrap();
    writeln!(other, "{}", hello(PROTOCOL)).unwrap();
    let channel = Channel::open("db1", own.try_clone().unwrap(), own, &|| false).unwrap();
    let answers = thread::spawn(move || {
        let mut line = String::new();
        BufReader::new(other.try_clone().unwrap())
            .read_line(&mut line)
            .unwrap();
        let fact = serde_json::json!({
            "system": null, "group": "machine", "name": "model", "value": "evil\u{1b}]0;x\u{7}\u{202e}\nline",
        });
        let request: Request = serde_json::from_str(&line).unwrap();
        let answer = serde_json::json!({"answer": {"id": request.id, "answer": {"facts": [fact]}}});
        writeln!(other, "{answer}").unwrap();
    });
    let Answer::Facts(facts) = channel.ask(Ask::Facts, HELLO).unwrap() else {
        panic!("something else was answered");
    };
    assert_eq!(facts[0].value, "evil]0;x line");
    answers.join().unwrap();
}
