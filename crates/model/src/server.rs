//! Hosts of servers: how their facts and series are distinguished from those of the clients'
//! machine.

use crate::{Fact, Series};
use std::collections::BTreeSet;

/// The probe that compares the clocks of server hosts with that of the clients' machine.
pub const SERVER_CLOCK: &str = "server-clock";

/// The words between a subject and its host.
const ON: &str = " on server ";

/// The prefix of fact groups of a server host.
const GROUP: &str = "server ";

impl Fact {
    /// The group of facts about the connection to a server host, by its number from 1.
    pub fn server(number: usize) -> String {
        match number {
            1 => GROUP.trim_end().to_owned(),
            _ => format!("{GROUP}{number}"),
        }
    }

    /// The group that a fact of this group has on that host.
    pub fn group_of_server(group: &str, number: usize) -> String {
        format!("{} {group}", Self::server(number))
    }
}

/// A group, or a prefix of one, without the part for the server host: `device` of `server device`
/// and of `server 2 device`.
pub fn without_server(group: &str) -> &str {
    let Some(rest) = group.strip_prefix(GROUP) else {
        return group;
    };
    match rest.split_once(' ') {
        Some((number, own)) if is_number(number) => own,
        None if is_number(rest) => group,
        _ => rest,
    }
}

/// The group of a fact without the number of the device and without the server host: `device` of
/// `device 2`, of `device below 1` and of `server 2 device`.
pub fn plain(group: &str) -> &str {
    let group = without_server(group);
    match group.rsplit_once(' ') {
        Some((name, number)) if is_number(number) => name.strip_suffix(" below").unwrap_or(name),
        _ => group,
    }
}

/// Whether the text is the number of a device or of a server.
pub fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The subject of a series on a server host: `machine on server db1`.
pub fn subject_on_server(subject: &str, host: &str) -> String {
    format!("{subject}{ON}{host}")
}

impl Series {
    /// The server host on which it was sampled; `None` for the clients' machine.
    pub fn server(&self) -> Option<&str> {
        self.subject.rsplit_once(ON).map(|(_, host)| host)
    }

    /// The subject without its host.
    pub fn own_subject(&self) -> &str {
        let whole = self.subject.as_str();
        whole.rsplit_once(ON).map_or(whole, |(subject, _)| subject)
    }
}

/// Whether series that are combined cover all server hosts: if some come from server hosts, every
/// known host must be among them.
pub fn leave_out_no_host<'a>(
    together: impl IntoIterator<Item = &'a Series>,
    all: &'a [Series],
) -> bool {
    let together = together.into_iter();
    let hosts: BTreeSet<&str> = together.filter_map(Series::server).collect();
    let mut known = all.iter().filter_map(Series::server);
    hosts.is_empty() || known.all(|host| hosts.contains(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_the_same_without_its_server() {
        for number in [1, 2, 12] {
            for group in ["device", "device 2", "file system below 1"] {
                let of_server = Fact::group_of_server(group, number);
                assert_eq!(without_server(&of_server), group, "{of_server}");
            }
        }
        assert_eq!(without_server(&Fact::server(1)), "server");
        assert_eq!(without_server(&Fact::server(2)), "server 2");
    }
}
