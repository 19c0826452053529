//! What is private in texts, facts and plans, and what stays.

use super::*;
use std::collections::BTreeMap;
use tailmark_model::Scope;

fn fact(group: &str, name: &str, value: &str) -> Fact {
    Fact {
        system: None,
        group: group.to_owned(),
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

fn system(place: &str) -> System {
    System {
        name: "a".to_owned(),
        driver: "cassandra".to_owned(),
        place: place.to_owned(),
        semantics: "faithful".to_owned(),
        settings: BTreeMap::new(),
        ceiling_for: None,
    }
}

fn redaction() -> Redaction {
    let facts = [
        fact("machine", "hostname", "db1"),
        fact("device 2", "serial number", "S4XNA0"),
        fact("kernel", "command line", "root=/dev/sda1 quiet"),
    ];
    Redaction::new(
        &facts,
        &[system("node-7.example:9042, 10.0.0.1"), system("/mnt/a")],
    )
}

#[test]
fn private_facts_are_skipped_whatever_the_number_of_their_device() {
    let facts = vec![
        fact("device", "serial number", "S4XNA0"),
        fact("device 2", "serial number", "S4XNA1"),
        fact("device below 3", "serial number", "S4XNA2"),
        fact("device", "model", "M"),
        fact("kernel", "command line", "token=secret"),
        fact("kernel", "release", "6.1"),
    ];
    let kept = redaction().facts(facts);
    let names: Vec<_> = kept.iter().map(|fact| fact.name.as_str()).collect();
    assert_eq!(names, ["model", "release"]);
}

#[test]
fn what_is_private_is_taken_out_of_every_text_by_its_own_label() {
    let redaction = redaction();
    let said = redaction.text(
        "db1: no answer from node-7.example:9042 (10.0.0.1), drive S4XNA0; db12, S4XNA01 and \
         db1.local stay, quiet too. It was db1.",
    );
    assert_eq!(
        said,
        "[host 4]: no answer from [host 1]:9042 ([host 2]), drive [serial number 3]; db12, \
         S4XNA01 and [host 4].local stay, quiet too. It was [host 4]."
    );
    assert_eq!(redaction.system(system("/mnt/a")).place, "/mnt/a");
}

#[test]
fn addresses_that_nobody_named_are_taken_out_and_versions_are_not() {
    let text = |text: &str| Redaction::default().text(text);
    assert_eq!(text("to 192.168.1.9:3000 failed"), "to [address] failed");
    assert_eq!(text("peer [2001:db8::1]:9042."), "peer [address].");
    assert_eq!(
        text("from 10.1.2.3, 172.16.0.1:"),
        "from [address], [address]:"
    );
    for kept in [
        "Aerospike 6.1.0.1",
        "at 10:20:30",
        "127.0.0.1:9042",
        "[::1]:1",
        "0.5",
        "a: b.",
        "6.18.44",
        "[[system]]",
        "threads = [1, 4]",
        "cafe",
        "≥ 84.2 ms",
    ] {
        assert_eq!(text(kept), kept);
    }
}

#[test]
fn a_host_is_told_from_its_port() {
    for (point, name) in [
        ("a:1", "a"),
        (" 10.0.0.1:9042", "10.0.0.1"),
        ("[2001:db8::1]:9042", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("node", "node"),
    ] {
        assert_eq!(host(point), name);
    }
}

#[test]
fn parts_of_names_other_cases_and_lists_are_taken_out_too() {
    let facts = [
        fact("machine", "hostname", "storage-77"),
        fact("device", "serial number", "S4XNA0"),
    ];
    let redaction = Redaction::new(&facts, &[system("[fd00:aa::1]:9042,[fd00:aa::2]")]);
    for (text, redacted) in [
        (
            "/dev/disk/by-id/nvme-Model_S4XNA0-part1",
            "/dev/disk/by-id/nvme-Model_[serial number 4]-part1",
        ),
        ("STORAGE-77.corp is up", "[host 3].corp is up"),
        ("[fd00:aa::2]: refused", "[[host 2]]: refused"),
        (
            "peer:10.66.0.5 and tcp:10.66.0.2:9042",
            "peer:[address] and tcp:[address]",
        ),
        ("[10.66.0.3:9042, 10.66.0.4:9042]", "[[address], [address]]"),
        ("[10.66.0.6:9042]", "[[address]]"),
        (
            "storage-777 and version 8.1.1.1",
            "storage-777 and version 8.1.1.1",
        ),
    ] {
        assert_eq!(redaction.text(text), redacted);
    }
}

/// A plan whose systems are reached like this.
fn reaching(logins: &[&str]) -> Header {
    let hosts = Role::Private(Secret::Hosts);
    let plan = logins.iter().enumerate();
    let plan = plan.map(|(index, login)| (index.to_string(), PlanValue::new(*login, hosts)));
    Header {
        plan: plan.collect(),
        ..Header::without_plan("", String::new())
    }
}

#[test]
fn the_hosts_of_servers_are_known_from_the_plan_alone() {
    let plan = "root@db-berlin, ssh://me@10.1.1.1:2222/, ssh://[fe80::7]:2222, d1";
    let header = reaching(&[plan]);
    let redaction = Redaction::new(&[], &[]).with_plans([&header]);
    let text =
        redaction.text("machine on server db-berlin; 10.1.1.1; on server d1; on server [fe80::7]");
    for name in ["berlin", "10.1.1.1", "d1", "fe80", "::7"] {
        assert!(!text.contains(name), "{text}");
    }
    assert!(text.starts_with("machine on server [host "), "{text}");
    let logins = redaction.text(plan);
    for part in ["root", "me@", "2222", "ssh:"] {
        assert!(!logins.contains(part), "{part} in {logins}");
    }
}

#[test]
fn the_evidence_of_a_finding_is_redacted_and_fills_its_gaps() {
    let header = reaching(&["db-berlin"]);
    let redaction = Redaction::new(&[], &[]).with_plans([&header]);
    let sentence = tailmark_model::Sentence::new("The processors of {Server} were busy.");
    let busy =
        tailmark_model::finding::SERVER_SATURATED.finding(sentence.text("Server", "db-berlin"));
    let mut phase = Phase {
        findings: vec![busy],
        ..Phase::default()
    };
    redaction.phase(&mut phase);
    let text = phase.findings[0].text();
    assert!(text.starts_with("The processors of [host "), "{text}");
    assert!(!format!("{phase:?}").contains("berlin"));
}

#[test]
fn a_host_that_is_called_by_a_word_of_subjects_stays_a_host() {
    let header = reaching(&["server", "machine", "on", "db-berlin"]);
    let redaction = Redaction::new(&[], &[]).with_plans([&header]);
    let mut labels = std::collections::BTreeSet::new();
    for host in ["server", "machine", "on", "db-berlin"] {
        let series = Series {
            probe: "cpu".to_owned(),
            subject: subject_on_server("machine", host),
            name: "idle_s".to_owned(),
            kind: tailmark_model::SeriesKind::Counter,
            at_s: Vec::new(),
            values: Vec::new(),
        };
        let mut phase = Phase {
            series: vec![series],
            ..Phase::default()
        };
        redaction.phase(&mut phase);
        assert_eq!(phase.series[0].own_subject(), "machine");
        let label = phase.series[0].server().unwrap();
        assert!(label.starts_with("[host "), "{label}");
        labels.insert(label.to_owned());
    }
    assert_eq!(labels.len(), 4);
}

#[test]
fn commands_of_services_are_taken_out_whole() {
    let command = "cassandra -Dcluster=berlin --password=***";
    let secret = Role::Private(Secret::Command);
    let plan = [
        ("start", format!("sh -c {command}"), secret),
        ("stop", "sh -c down".to_owned(), secret),
        ("ready", String::new(), secret),
        ("order", "down".to_owned(), Role::Scope(Scope::Points)),
    ];
    let plan = plan.map(|(key, value, role)| (key.to_owned(), PlanValue::new(value, role)));
    let header = |source: &str| Header {
        plan: plan.clone().into(),
        ..Header::without_plan("", source.to_owned())
    };
    let text = format!("service = {{ start = '{command}', stop = 'down' }}");
    let redaction = Redaction::new(&[], &[]).with_plans([&header(&text)]);
    let redacted = redaction.header(header(&text));
    assert_eq!(
        redacted.source,
        "service = { start = '[command 1]', stop = 'down' }"
    );
    assert_eq!(redacted.plan["start"].value, "sh -c [command 1]");
    assert_eq!(redacted.plan["stop"].value, "[command]");
    assert_eq!(redacted.plan["order"].value, "down");
    let said = redaction.text(&format!("`{command}` failed"));
    assert_eq!(said, "`[command 1]` failed");
    // Written with escapes, it is not found.
    let escaped = redaction.header(header("start = \"cassandra \\u002dDcluster=berlin\""));
    assert_eq!(escaped.source, NO_SOURCE);
}
