//! Checks whether a text can be the place of a driver's data. An address given to an embedded
//! database would become a directory of that name, and a path given to a server would be an unknown
//! host.

use crate::{Driver, HostPort, Place, db::DRIVERS};
use std::net::IpAddr;

impl Driver {
    /// What is accepted instead of `text`, if it cannot be the place of this driver's data: an
    /// address for an embedded database, or a path for a server. Suggests the driver that was
    /// probably meant.
    #[must_use]
    pub fn refuses_place(&self, text: &str) -> Option<String> {
        let name = self.name;
        match self.place {
            Place::Nowhere => None,
            Place::Hosts if is_path(text) => {
                let meant = meant(|driver| {
                    matches!(driver.place, Place::Directory | Place::DirectoryOrDevice)
                });
                let port = self.port.unwrap_or_default();
                Some(format!(
                    "contact points such as `10.0.0.1:{port}`: driver `{name}` connects to a \
                     server, and this is a path{meant}"
                ))
            }
            Place::Directory | Place::DirectoryOrDevice if is_address(text) => {
                let named = HostPort::parse(text.split(',').next().unwrap_or_default()).port();
                let is_server = |driver: &Driver| driver.place == Place::Hosts;
                let by_port = meant(|driver| is_server(driver) && driver.port == named);
                let meant = if by_port.is_empty() {
                    meant(is_server)
                } else {
                    by_port
                };
                Some(format!(
                    "a path: driver `{name}` is embedded, and this is the address of a \
                     server{meant}; a directory of that name is `./{text}`"
                ))
            }
            _ => None,
        }
    }
}

/// `; did you mean driver ...?`, or empty if this build has no such driver.
fn meant(is_meant: impl Fn(&Driver) -> bool) -> String {
    let named = DRIVERS.iter().filter(|driver| is_meant(driver));
    let named: Vec<_> = named.map(|driver| format!("`{}`", driver.name)).collect();
    match named.as_slice() {
        [] => String::new(),
        [only] => format!("; did you mean driver {only}?"),
        [head @ .., last] => format!("; did you mean driver {} or {last}?", head.join(", ")),
    }
}

/// Whether it is a path: no contact point contains a slash or begins like a path relative to this
/// or the home directory.
fn is_path(text: &str) -> bool {
    text.contains('/') || text.starts_with(['.', '~'])
}

/// Whether it is a list of contact points: each names a port, or is an address or the local host. A
/// plain word may be a directory.
fn is_address(text: &str) -> bool {
    let is_one = |point: &str| {
        let point = HostPort::parse(point);
        let host = point.host();
        let is_named = point.port().is_some() || host == "localhost";
        !host.is_empty() && (is_named || host.parse::<IpAddr>().is_ok())
    };
    !text.contains('/') && text.split(',').all(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_or_is_numeric_and_a_path_has_a_slash() {
        for address in [
            "127.0.0.1:9042",
            "db1:3000,db2:3000",
            "::1",
            "[::1]:9042",
            "localhost",
        ] {
            assert!(is_address(address) && !is_path(address), "{address}");
        }
        for path in ["./x:1", "/mnt/x:1", "../x", "~/x"] {
            assert!(is_path(path) && !is_address(path), "{path}");
        }
        for word in ["nvme0", "db1,db2", "x:y", ":1", ""] {
            assert!(!is_path(word) && !is_address(word), "{word}");
        }
    }
}
