//! Where the server of a system runs: as `ssh` takes it, without a password.

use super::{
    Error,
    logins::{KEY, shown},
    reader::TableReader,
};
use std::net::Ipv6Addr;
use tailmark_driver::{Driver, Place};
use tailmark_model::Login;

/// The hosts of a system's server, in the form that `ssh` accepts.
pub(super) fn hosts(reader: &TableReader<'_>, driver: &Driver) -> Result<Vec<String>, Error> {
    let hosts: Vec<String> = reader.optional(KEY)?.unwrap_or_default();
    let refuse = |host: &str, accepted: &str| Error::BadValue {
        key: reader.label(KEY),
        value: shown(host),
        accepted: accepted.to_owned(),
    };
    for (index, host) in hosts.iter().enumerate() {
        // First, so that no other rule must repeat it. `ssh` reads %3A in a URL as a colon, and
        // text after a semicolon as options.
        if Login::from_text(host).user.contains([':', ';', '%']) {
            let accepted =
                "a host without a password: `ssh` uses the keys of its own configuration";
            return Err(refuse(host, accepted));
        }
        let (is_other, name) = (['/', '?', '\\', ';'], Login::from_text(host).host);
        let is_word = !host.is_empty() && !host.contains(char::is_whitespace);
        if !is_word || host.starts_with('-') || name.contains(is_other) {
            let accepted = "a host for `ssh`, such as \"db1\" or \"root@db1\"";
            return Err(refuse(host, accepted));
        }
        if !has_no_other_colon(host) {
            let accepted = "a host for `ssh`; with a port, write \"ssh://root@db1:2222\"";
            return Err(refuse(host, accepted));
        }
        if hosts[..index].contains(host) {
            return Err(refuse(host, "each host once"));
        }
    }
    if let (Some(host), true) = (hosts.first(), driver.place != Place::Hosts) {
        let accepted = format!("absent: driver `{}` has no server", driver.name);
        return Err(refuse(host, &accepted));
    }
    Ok(hosts)
}

/// Whether a login has colons only where `ssh` accepts them: in an address, and before a port. Any
/// other colon may precede the first part of a password that contains a comma, if the hosts are one
/// text.
fn has_no_other_colon(login: &str) -> bool {
    let Login { host, port, .. } = Login::from_text(login);
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address = address
        .split_once('%')
        .map_or(address, |(address, _)| address);
    let is_host = !host.contains(':') || address.parse::<Ipv6Addr>().is_ok();
    is_host && (port.is_empty() || port.parse::<u16>().is_ok())
}
