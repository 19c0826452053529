//! What a report or an export leaves out where it is to be shown to others: serial numbers, host
//! names and addresses.
//!
//! Private facts ([`PRIVATE_FACTS`](tailmark_model::PRIVATE_FACTS)) are left out whole. What they say, the contact points of servers and whatever
//! looks like an address is taken out of every other text as well (errors quote addresses, a plan
//! names its servers): each such value has a label of its own, so that what differed still differs.

use std::net::{IpAddr, SocketAddr};
use tailmark_model::{
    Fact, Header, Load, Login, Observed, Phase, PlanValue, Point, Role, Secret, Series, System,
    subject_on_server,
};
use tailmark_stats::Conditions;

/// The shortest value that is looked for in other texts: shorter ones are words of their own.
const VALUE_MIN: usize = 3;

/// What stands before a command that the shell runs.
const SHELL: &str = "sh -c ";

/// What stands in place of a plan whose commands cannot be found in its text.
const NO_SOURCE: &str = "# left out, because it has commands\n";

/// What stands for an address that is not known from elsewhere.
const ADDRESS: &str = "[address]";

/// Takes what is private out of texts.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    /// Longest first, each with its label.
    values: Vec<(String, String)>,
}

impl Redaction {
    /// Of a study: what its facts and the places of its systems say.
    #[must_use]
    pub fn new(facts: &[Fact], systems: &[System]) -> Self {
        let mut values: Vec<(String, &str)> = Vec::new();
        for fact in facts.iter().filter(|fact| fact.is_private()) {
            let kind = match fact.name.as_str() {
                "hostname" | "name of the host" => "host",
                // Its words are those of every machine.
                "command line" => continue,
                name => name,
            };
            values.push((fact.value.clone(), kind));
        }
        let servers = systems.iter().map(|system| system.place.as_str());
        let sources = facts.iter().filter(|fact| fact.name == "source");
        let sources = sources.filter_map(|fact| fact.value.split_once(":/"));
        let hosts = servers
            .filter(|place| !is_path(place))
            .flat_map(|place| place.split(','));
        let hosts = hosts.chain(sources.map(|(host, _)| host));
        values.extend(hosts.map(|point| (host(point).to_owned(), "host")));
        values.retain(|(value, _)| value.len() >= VALUE_MIN && value != "localhost");
        values.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        values.dedup_by(|a, b| a.0 == b.0);
        let label = |(index, (value, kind)): (usize, (String, &str))| {
            (value, format!("[{kind} {}]", index + 1))
        };
        Self {
            values: values.into_iter().enumerate().map(label).collect(),
        }
    }

    /// The same with what plans say: whom `ssh` is to reach on the hosts of servers, and the commands of
    /// services.
    #[must_use]
    pub fn with_plans<'a>(mut self, headers: impl IntoIterator<Item = &'a Header>) -> Self {
        for header in headers {
            for command in commands(header) {
                let is_known = self.values.iter().any(|(known, _)| known == command);
                // One word may be a word of other texts.
                if !is_known && command.contains(' ') {
                    let label = format!("[command {}]", self.values.len() + 1);
                    self.values.push((command.to_owned(), label));
                }
            }
            let logins = private(header, Secret::Hosts);
            for login in logins.flat_map(|logins| logins.split(", ")) {
                let name = Login::from_text(login).host;
                let is_known = self.values.iter().any(|(known, _)| known == name);
                if !is_known && !name.is_empty() && name != "localhost" {
                    let label = format!("[host {}]", self.values.len() + 1);
                    self.values.push((name.to_owned(), label));
                }
            }
        }
        // The longest first, as one may be a part of another.
        self.values
            .sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        self
    }

    /// A text without what is private.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let known = self.values.iter();
        let known = known.fold(text.to_owned(), |text, (value, label)| {
            replaced(&text, value, label)
        });
        without_addresses(&known)
    }

    /// The facts that are not private, without what is private in them.
    #[must_use]
    pub fn facts(&self, facts: Vec<Fact>) -> Vec<Fact> {
        let kept = facts.into_iter().filter(|fact| !fact.is_private());
        let redacted = kept.map(|mut fact| {
            // A version may look like an address.
            if fact.name != "version" {
                fact.value = self.text(&fact.value);
            }
            fact
        });
        redacted.collect()
    }

    /// A system.
    #[must_use]
    pub fn system(&self, mut system: System) -> System {
        system.place = self.text(&system.place);
        system
            .settings
            .values_mut()
            .for_each(|value| *value = self.text(value));
        system
    }

    /// What a study is of.
    #[must_use]
    pub fn header(&self, mut header: Header) -> Header {
        let is_found = commands(&header).all(|command| header.source.contains(command));
        header.source = if is_found {
            self.text(&header.source)
        } else {
            NO_SOURCE.to_owned()
        };
        for PlanValue { value, role } in header.plan.values_mut() {
            *value = self.text(value);
            if *role == Role::Private(Secret::Command) && !value.contains("[command ") {
                "[command]".clone_into(value);
            }
        }
        for why in &mut header.settings.report.skipped {
            *why = self.text(why);
        }
        header
    }

    /// A phase: the messages of its failures, its findings, and what its series are of.
    pub fn phase(&self, phase: &mut Phase) {
        for series in &mut phase.series {
            series.subject = self.subject(series);
        }
        for rank in &mut phase.ranks {
            rank.host = self.text(&rank.host);
        }
        for error in &mut phase.errors {
            error.example = self.text(&error.example);
        }
        for finding in &mut phase.findings {
            finding.wording = self.text(&finding.wording);
            for seen in &mut finding.evidence {
                seen.name = self.text(&seen.name);
                if let Observed::Text(text) = &mut seen.value {
                    *text = self.text(text);
                }
            }
        }
    }

    /// What a series is of. Of the nodes of a cluster it is the address. Of a server's host nothing but
    /// its name is private: what stands before that is told by its words, which may be names of hosts.
    fn subject(&self, series: &Series) -> String {
        match series.server() {
            None => self.text(&series.subject),
            Some(host) => {
                subject_on_server(&without_addresses(series.own_subject()), &self.text(host))
            }
        }
    }

    /// A point.
    #[must_use]
    pub fn point(&self, mut point: Point) -> Point {
        self.phase(&mut point.phase);
        point
    }

    /// A load.
    #[must_use]
    pub fn load(&self, mut load: Load) -> Load {
        self.phase(&mut load.phase);
        load
    }

    /// Conditions.
    #[must_use]
    pub fn conditions(&self, conditions: Conditions) -> Conditions {
        conditions.with_values(|value| self.text(value))
    }
}

/// The values of a plan that are private for this reason.
fn private(header: &Header, secret: Secret) -> impl Iterator<Item = &str> {
    let given = header.plan.values();
    let private = given.filter(move |given| given.role == Role::Private(secret));
    private.map(|given| given.value.as_str())
}

/// The commands of a plan that the shell runs.
fn commands(header: &Header) -> impl Iterator<Item = &str> {
    let commands = private(header, Secret::Command);
    commands.filter_map(|command| command.strip_prefix(SHELL))
}

/// Whether a place is a directory or a device, not contact points.
fn is_path(place: &str) -> bool {
    place.is_empty() || place.starts_with(['/', '.'])
}

/// The name or address of `host[:port]`; of an IPv6 address without brackets all of it.
fn host(point: &str) -> &str {
    let point = point.trim();
    if let Some((host, _)) = point
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        return host;
    }
    match point.rsplit_once(':') {
        Some((host, _)) if !host.contains(':') => host,
        _ => point,
    }
}

/// A text in which a value that stands by itself is replaced.
fn replaced(text: &str, value: &str, label: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    // Names of hosts are the same in any case.
    let value_lower = value.to_ascii_lowercase();
    while let Some(at) = rest.to_ascii_lowercase().find(&value_lower) {
        let (head, tail) = rest.split_at(at);
        let after = &tail[value.len()..];
        let last = head.chars().next_back().or(before);
        out.push_str(head);
        let found = &tail[..value.len()];
        out.push_str(if is_end(last) && is_start(after) {
            label
        } else {
            found
        });
        before = found.chars().next_back();
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Whether a word can begin behind this character. Identities of devices and names of hosts have
/// parts: `nvme-MODEL_SERIAL`, `host.example.com`.
fn is_end(last: Option<char>) -> bool {
    last.is_none_or(|c| !c.is_alphanumeric())
}

/// Whether a word has ended before this text.
fn is_start(after: &str) -> bool {
    after.chars().next().is_none_or(|c| !c.is_alphanumeric())
}

/// A text without words that are addresses: with a port, or of version 6, or of version 4 in a range
/// that numbers of versions are not taken from.
fn without_addresses(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_hexdigit() || matches!(c, '.' | ':' | '[' | ']');
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    for c in text.chars().map(Some).chain([None]) {
        match c.filter(|c| is_part(*c)) {
            Some(c) => word.push(c),
            None => {
                let (head, bare, tail) = bare(&word);
                out.push_str(head);
                out.push_str(if is_address(bare) { ADDRESS } else { bare });
                out.push_str(tail);
                word.clear();
                out.extend(c);
            }
        }
    }
    out
}

/// A word without the marks before and behind it that belong to the sentence: `peer:`, `[a, b]`.
fn bare(word: &str) -> (&str, &str, &str) {
    let is_v6 = |text: &str| text.starts_with("::");
    let mut from = 0;
    while word[from..].starts_with([':', '.']) && !is_v6(&word[from..]) {
        from += 1;
    }
    // A bracket that is not closed, or not opened, is one of a list.
    let opens = word[from..].starts_with('[');
    let v4_in_brackets = opens && !word[from..].contains("]:") && word[from..].contains('.');
    if opens && (!word[from..].contains(']') || v4_in_brackets) {
        from += 1;
    }
    let mut bare = word[from..].trim_end_matches(['.', ':']);
    if bare.ends_with(']') && !bare.contains('[') {
        bare = &bare[..bare.len() - 1];
    }
    (&word[..from], bare, &word[from + bare.len()..])
}

fn is_address(word: &str) -> bool {
    let is_named = |address: &IpAddr| !address.is_loopback() && !address.is_unspecified();
    if let Ok(address) = word.parse::<SocketAddr>() {
        return is_named(&address.ip());
    }
    match word.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address @ IpAddr::V6(_)) => is_named(&address),
        Ok(IpAddr::V4(address)) => address.is_private() || address.octets()[0] > 99,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
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
        let of = Redaction::new(&facts, &[system("[fd00:aa::1]:9042,[fd00:aa::2]")]);
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
            assert_eq!(of.text(text), redacted);
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
        let text = redaction
            .text("machine on server db-berlin; 10.1.1.1; on server d1; on server [fe80::7]");
        for name in ["berlin", "10.1.1.1", "d1", "fe80", "::7"] {
            assert!(!text.contains(name), "{text}");
        }
        assert!(text.starts_with("machine on server [host "), "{text}");
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
}
