//! The addresses of this machine.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};

/// Whether a host is this machine: all its addresses are. None where its name is not known.
pub fn is_this_machine(host: &str) -> Option<bool> {
    let addresses: Vec<SocketAddr> = match host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, 0)],
        // With a name that may be of a network device: `fe80::1%eth0`.
        Err(_) => (host, 0).to_socket_addrs().ok()?.collect(),
    };
    (!addresses.is_empty()).then(|| addresses.iter().all(is_own))
}

/// Whether an address belongs to this machine, because a socket can be bound only to those. Packets
/// to the unspecified address come back.
fn is_own(address: &SocketAddr) -> bool {
    !address.ip().is_multicast() && UdpSocket::bind(address).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_this_machine_and_an_address_of_documentation_is_not() {
        assert_eq!(is_this_machine("127.0.0.1"), Some(true));
        assert_eq!(is_this_machine("localhost"), Some(true));
        // RFC 5737 reserves it for documentation.
        assert_eq!(is_this_machine("192.0.2.1"), Some(false));
        assert_eq!(is_this_machine("0.0.0.0"), Some(true));
        assert_eq!(is_this_machine("no-such-host.invalid"), None);
    }
}
