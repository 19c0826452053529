//! Removes serial numbers, host names and addresses from a report or an export for others.
//!
//! Private facts ([`PRIVATE_FACTS`](tailmark_model::PRIVATE_FACTS)) are removed entirely. Their
//! values, the contact points of servers and anything that looks like an address are also removed
//! from all other texts, because errors quote addresses and a plan names its servers. Each such
//! value gets a label, so that different values stay different.

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
const NO_SOURCE: &str = "# left out, because it contains commands\n";

/// What stands for an address that is not known from elsewhere.
const ADDRESS: &str = "[address]";

/// Removes private data from texts.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    /// Longest first, each with its label.
    values: Vec<(String, String)>,
}

impl Redaction {
    /// Of a study: what its facts and the places of its systems say.
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
                if name.is_empty() || name == "localhost" {
                    continue;
                }
                let mut labels = self.values.iter();
                let label =
                    labels.find_map(|(known, label)| (known == name).then(|| label.clone()));
                let label = label.unwrap_or_else(|| format!("[host {}]", self.values.len() + 1));
                // The user and the port go with the name.
                for value in [login, name] {
                    if !self.values.iter().any(|(known, _)| known == value) {
                        self.values.push((value.to_owned(), label.clone()));
                    }
                }
            }
        }
        // The longest first, as one may be a part of another.
        self.values
            .sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        self
    }

    /// A text without private data.
    pub fn text(&self, text: &str) -> String {
        let known = self.values.iter();
        let known = known.fold(text.to_owned(), |text, (value, label)| {
            replaced(&text, value, label)
        });
        without_addresses(&known)
    }

    /// The facts that are not private, with private data removed from them.
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
    pub fn system(&self, mut system: System) -> System {
        system.place = self.text(&system.place);
        system
            .settings
            .values_mut()
            .for_each(|value| *value = self.text(value));
        system
    }

    /// The subject of a study.
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

    /// Redacts a phase: the messages of its failures, its findings, and the subjects of its series.
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

    /// Redacts the subject of a series. For nodes of a cluster it is the address. For a server's
    /// host only its name is private. The words before it are recognised, because they could also
    /// be host names.
    fn subject(&self, series: &Series) -> String {
        match series.server() {
            None => self.text(&series.subject),
            Some(host) => {
                subject_on_server(&without_addresses(series.own_subject()), &self.text(host))
            }
        }
    }

    /// A point.
    pub fn point(&self, mut point: Point) -> Point {
        self.phase(&mut point.phase);
        point
    }

    /// A load.
    pub fn load(&self, mut load: Load) -> Load {
        self.phase(&mut load.phase);
        load
    }

    /// Conditions.
    pub fn conditions(&self, conditions: Conditions) -> Conditions {
        conditions.with_values(|value| self.text(value))
    }
}

/// The values of a plan that are private for this reason.
fn private(header: &Header, secret: Secret) -> impl Iterator<Item = &str> {
    let values = header.plan.values();
    let private = values.filter(move |given| given.role == Role::Private(secret));
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

/// The name or address in `host[:port]`; all of an IPv6 address without brackets.
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

/// Whether a word can begin after this character. Identities of devices and names of hosts have
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

/// A word without the marks before and after it that belong to the sentence: `peer:`, `[a, b]`.
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
mod tests;
