//! Contact points of servers: host and port, with their only parser.

use std::{borrow::Cow, fmt, net::IpAddr};

/// A contact point as written, and its meaning: `host`, `host:port`, or an IPv6 address (in
/// brackets if a port follows).
///
/// Every text is valid: anything else is taken as a host name, and fails when it is looked up.
/// Displayed as written, because studies store and compare that text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    text: String,
    host: String,
    port: Option<u16>,
}

impl HostPort {
    /// Parses a contact point. Surrounding spaces are ignored.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let point = text.trim();
        let (host, port) = match point.rsplit_once(':') {
            Some((host, port)) if !is_ipv6(point) => match port.parse() {
                Ok(port) => (host, Some(port)),
                Err(_) => (point, None),
            },
            _ => (point, None),
        };
        let in_brackets = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        Self {
            text: text.to_owned(),
            host: in_brackets.unwrap_or(host).to_owned(),
            port,
        }
    }

    /// The name or address, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, or the driver's default.
    pub(crate) fn port_or(&self, default: u16) -> u16 {
        self.port.unwrap_or(default)
    }

    /// The port that it names.
    pub(crate) const fn port(&self) -> Option<u16> {
        self.port
    }

    /// Host and port in one text, with the driver's default port; an IPv6 address is in brackets.
    pub(crate) fn address(&self, default: u16) -> String {
        self.beside(self.port_or(default))
    }

    /// The same contact point with this port, unless it names one.
    #[must_use]
    pub fn with_port(self, port: &str) -> Self {
        match self.port {
            Some(_) => self,
            None => Self::parse(&self.beside(port)),
        }
    }

    fn beside(&self, port: impl fmt::Display) -> String {
        if self.host.contains(':') {
            format!("[{}]:{port}", self.host)
        } else {
            format!("{}:{port}", self.host)
        }
    }

    /// Whether it is a loopback address.
    pub(crate) fn is_loopback(&self) -> bool {
        let address = self.host.parse::<IpAddr>();
        self.host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// Whether two are the same endpoint. A contact point without a port matches any port of that
    /// host.
    #[must_use]
    pub fn same_endpoint(&self, other: &Self) -> bool {
        let is_one_port = self.port == other.port || self.port.is_none() || other.port.is_none();
        self.host_address() == other.host_address() && is_one_port
    }

    /// The host, with a single name for all forms of the loopback.
    fn host_address(&self) -> Cow<'_, str> {
        if self.host.contains("localhost") {
            self.host.replace("localhost", "127.0.0.1").into()
        } else {
            (&*self.host).into()
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn is_ipv6(host: &str) -> bool {
    host.parse::<std::net::Ipv6Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_point_without_a_port_gets_the_default() {
        for (text, host, port, address) in [
            ("10.0.0.1", "10.0.0.1", 7, "10.0.0.1:7"),
            (" db2:9142 ", "db2", 9142, "db2:9142"),
            ("::1", "::1", 7, "[::1]:7"),
            ("[::1]", "::1", 7, "[::1]:7"),
            ("[::1]:9043", "::1", 9043, "[::1]:9043"),
            ("db2:cql", "db2:cql", 7, "[db2:cql]:7"),
        ] {
            let point = HostPort::parse(text);
            assert_eq!((point.host(), point.port_or(7)), (host, port), "{text}");
            assert_eq!(point.to_string(), text, "as it was written");
            assert_eq!(point.address(7), address, "{text}");
            assert_eq!(point.with_port("7").host(), host, "{text}");
        }
    }

    #[test]
    fn contact_points_of_the_loopback_are_known() {
        for host in [
            "localhost:9042",
            "127.0.0.1",
            "127.1.2.3:1",
            "::1",
            "[::1]:3000",
        ] {
            assert!(HostPort::parse(host).is_loopback(), "{host}");
        }
        for host in [
            "db1",
            "10.0.0.1:9042",
            "[fe80::1]:3000",
            "localhost.example",
        ] {
            assert!(!HostPort::parse(host).is_loopback(), "{host}");
        }
    }

    #[test]
    fn an_endpoint_is_the_same_in_any_notation() {
        let same = |a, b| HostPort::parse(a).same_endpoint(&HostPort::parse(b));
        assert!(same("a:1", " a:1") && same("a", "a:1") && same("a:1", "a"));
        assert!(same("localhost:1", "127.0.0.1:1") && same("::1", "[::1]:1"));
        assert!(!same("a:1", "a:2") && !same("a:1", "b:1"));
    }
}
