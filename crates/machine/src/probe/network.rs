//! The network: bytes, packets, drops and errors of each active interface, including loopback, over
//! which a server on this machine is reached.

use super::{Probe, ProbeRow, Reading, readings, unread};
use crate::{Error, sysfs};
use procfs::net::{DeviceStatus, dev_status};
use std::path::Path;
use tailmark_model::SeriesKind::Counter;

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "network",
    about: "each network interface that is up: bytes, packets, drops and errors both ways",
    period_s: 1,
    is_default: true,
    open,
};

/// The most interfaces that are kept, those with the most traffic so far. A machine with containers
/// has hundreds.
const INTERFACES_MAX: usize = 8;

struct Network {
    /// Their names, in order.
    interfaces: Vec<String>,
}

fn open(_: &super::Target) -> Result<Option<Box<dyn Probe>>, Error> {
    let all = dev_status().map_err(unread("/proc/net/dev"))?;
    let all = all.into_values().filter(|device| is_up(&device.name));
    let interfaces = busiest(all.collect());
    Ok((!interfaces.is_empty()).then(|| Box::new(Network { interfaces }) as Box<dyn Probe>))
}

/// Whether an interface is up: the lowest of its flags (`IFF_UP`, netdevice(7)).
fn is_up(name: &str) -> bool {
    let flags = sysfs::text(&Path::new("/sys/class/net").join(name).join("flags"));
    let flags = flags.and_then(|text| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok());
    flags.is_some_and(|flags| flags & 1 == 1)
}

/// The names of the interfaces with the most traffic, in order.
fn busiest(mut all: Vec<DeviceStatus>) -> Vec<String> {
    all.sort_by_key(|device| std::cmp::Reverse(device.recv_bytes + device.sent_bytes));
    all.truncate(INTERFACES_MAX);
    let mut names: Vec<String> = all.into_iter().map(|device| device.name).collect();
    names.sort();
    names
}

impl Probe for Network {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let all = dev_status().map_err(unread("/proc/net/dev"))?;
        let there = self.interfaces.iter().filter_map(|name| all.get(name));
        Ok(there.flat_map(read).collect())
    }
}

fn read(device: &DeviceStatus) -> Vec<Reading> {
    let values = [
        ("received_bytes", device.recv_bytes),
        ("received_packets", device.recv_packets),
        ("received_dropped", device.recv_drop),
        ("received_errors", device.recv_errs),
        ("sent_bytes", device.sent_bytes),
        ("sent_packets", device.sent_packets),
        ("sent_dropped", device.sent_drop),
        ("sent_errors", device.sent_errs),
    ];
    let value = |(name, value): (&'static str, u64)| (name, Counter, value as f64);
    readings(&device.name, &values.map(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{io::Write, net::TcpListener, net::TcpStream};

    #[test]
    fn what_goes_over_the_loopback_is_counted_both_ways() {
        let mut probe = Network {
            interfaces: vec!["lo".to_owned()],
        };
        let value = |readings: &[Reading], name: &str| {
            readings.iter().find(|r| r.name == name).unwrap().value
        };
        let before = probe.sample().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let reader = std::thread::spawn(move || std::io::copy(&mut server, &mut std::io::sink()));
        client.write_all(&vec![1; 1 << 20]).unwrap();
        drop(client);
        assert_eq!(reader.join().unwrap().unwrap(), 1 << 20);
        let after = probe.sample().unwrap();
        for name in ["received_bytes", "sent_bytes"] {
            let rise = value(&after, name) - value(&before, name);
            assert!(rise >= f64::from(1 << 20), "{name}: {rise}");
        }
    }

    #[test]
    fn an_interface_that_is_gone_leaves_a_gap() {
        let mut probe = Network {
            interfaces: vec!["gone0".to_owned()],
        };
        assert_eq!(probe.sample().unwrap(), []);
    }
}
