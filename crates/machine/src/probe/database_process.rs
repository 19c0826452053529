//! The processes of a server on this machine: those that listen on its contact points.
//!
//! A server is found by its port (`/proc/net/tcp` names the socket, `/proc/PID/fd` its owner),
//! whoever started it, and however. The wildcard address (`0.0.0.0`) stands for anything that
//! listens on its port. A server's host is examined in this way, because its contact points may be
//! unknown there: clients may learn of it from another node, or reach it by an address that it does
//! not know. Context switches of other processes are kept per thread. Reading hundreds of files a
//! second would cost more than all other probes together, so they are not sampled.

use super::{Probe, ProbeRow, Reading, Target, readings};
use crate::Error;
use procfs::{ProcResult, net::TcpState, process::Process};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket},
};
use tailmark_model::SeriesKind::{Counter, Gauge};

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "database-process",
    about: "processes of a server on this machine: CPU time, memory, bytes read and written, faults",
    period_s: 1,
    is_default: true,
    open,
};

/// After this many samples without it, a server that is gone is looked for again.
const LOOK_EVERY: u32 = 10;

struct Servers {
    addresses: Vec<SocketAddr>,
    /// Each with the subject of its readings.
    found: Vec<(String, Process)>,
    /// Samples since it was last looked for.
    since: u32,
}

fn open(target: &Target) -> Result<Option<Box<dyn Probe>>, Error> {
    let resolved = target
        .hosts
        .iter()
        .filter_map(|host| host.to_socket_addrs().ok());
    let here = resolved.flatten().filter(|address| is_here(address.ip()));
    let addresses: Vec<SocketAddr> = here.collect();
    let Some(first) = addresses.first() else {
        return Ok(None);
    };
    let found = listeners(&addresses);
    if found.is_empty() {
        return Err(Error::NoProcess { port: first.port() });
    }
    Ok(Some(Box::new(Servers {
        addresses,
        found,
        since: 0,
    })))
}

/// Whether an address is one of this machine: only such can be bound.
fn is_here(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified() || UdpSocket::bind((address, 0)).is_ok()
}

/// The processes that listen on these addresses, by name.
fn listeners(addresses: &[SocketAddr]) -> Vec<(String, Process)> {
    let sockets = listening(addresses);
    let mut by_name: BTreeMap<String, Vec<Process>> = BTreeMap::new();
    let all = procfs::process::all_processes().into_iter().flatten();
    for process in all.flatten().filter(|process| has_open(process, &sockets)) {
        if let Ok(stat) = process.stat() {
            by_name.entry(stat.comm).or_default().push(process);
        }
    }
    let subjects = |(name, processes): (String, Vec<Process>)| {
        let is_alone = processes.len() == 1;
        processes.into_iter().map(move |process| {
            if is_alone {
                (name.clone(), process)
            } else {
                (format!("{name} {}", process.pid), process)
            }
        })
    };
    by_name.into_iter().flat_map(subjects).collect()
}

/// The sockets that listen on these addresses, or on their ports for all addresses. A wildcard
/// address matches all sockets on its port.
fn listening(addresses: &[SocketAddr]) -> BTreeSet<u64> {
    let entries = [procfs::net::tcp(), procfs::net::tcp6()]
        .into_iter()
        .flatten();
    let listens = |local: &SocketAddr| {
        let is_of = |wanted: &SocketAddr| {
            local.port() == wanted.port()
                && (local.ip().is_unspecified()
                    || wanted.ip().is_unspecified()
                    || local.ip().to_canonical() == wanted.ip().to_canonical())
        };
        addresses.iter().any(is_of)
    };
    let open = entries.flatten();
    let open = open.filter(|e| e.state == TcpState::Listen && listens(&e.local_address));
    open.map(|entry| entry.inode).collect()
}

/// Whether a process has one of these sockets open. Processes that we may not see have none.
fn has_open(process: &Process, sockets: &BTreeSet<u64>) -> bool {
    use procfs::process::FDTarget::Socket;
    let files = process.fd().into_iter().flatten().flatten();
    let mut sockets_open = files.filter_map(|file| match file.target {
        Socket(inode) => Some(inode),
        _ => None,
    });
    sockets_open.any(|inode| sockets.contains(&inode))
}

impl Probe for Servers {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        self.found.retain(|(_, process)| process.is_alive());
        self.since = if self.found.is_empty() {
            self.since + 1
        } else {
            0
        };
        if self.since == LOOK_EVERY {
            (self.found, self.since) = (listeners(&self.addresses), 0);
        }
        // One that ends while it is read leaves a gap.
        let read = self
            .found
            .iter()
            .filter_map(|(name, process)| read(name, process).ok());
        Ok(read.flatten().collect())
    }
}

fn read(subject: &str, process: &Process) -> ProcResult<Vec<Reading>> {
    let stat = process.stat()?;
    let seconds = |ticks: u64| ticks as f64 / procfs::ticks_per_second() as f64;
    let mut read = readings(
        subject,
        &[
            ("user_s", Counter, seconds(stat.utime)),
            ("system_s", Counter, seconds(stat.stime)),
            ("rss_bytes", Gauge, (stat.rss * procfs::page_size()) as f64),
            ("major_faults", Counter, stat.majflt as f64),
            ("threads", Gauge, stat.num_threads as f64),
        ],
    );
    // Of a process of another user they can be read by root alone.
    if let Ok(io) = process.io() {
        let values = [
            ("read_bytes", Counter, io.read_bytes as f64),
            ("write_bytes", Counter, io.write_bytes as f64),
        ];
        read.extend(readings(subject, &values));
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn target(host: &str) -> Target {
        Target {
            hosts: vec![host.to_owned()],
            ..Target::default()
        }
    }

    #[test]
    fn the_process_that_listens_is_found_by_its_port() {
        for address in ["127.0.0.1:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let port = listener.local_addr().unwrap().port();
            let mut probe = open(&target(&format!("localhost:{port}")))
                .unwrap()
                .unwrap();
            let read = probe.sample().unwrap();
            let value = |name: &str| read.iter().find(|r| r.name == name).unwrap().value;
            assert!(value("rss_bytes") > f64::from(1 << 20) && value("threads") >= 1.0);
            let own = Process::myself().unwrap().stat().unwrap();
            assert!(read.iter().all(|reading| reading.subject == own.comm));
            assert!(read.iter().any(|reading| reading.name == "write_bytes"));
        }
    }

    #[test]
    fn on_a_servers_host_it_is_found_whatever_its_address() {
        let listener = TcpListener::bind("127.0.0.9:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(matches!(
            open(&target(&format!("127.0.0.1:{port}"))),
            Err(Error::NoProcess { .. })
        ));
        let probe = open(&target(&format!("0.0.0.0:{port}"))).unwrap();
        assert!(!probe.unwrap().sample().unwrap().is_empty());
    }

    #[test]
    fn a_server_of_another_machine_has_no_process_here() {
        // TEST-NET-1 (RFC 5737) is no machine's address.
        assert!(open(&target("192.0.2.1:9042")).unwrap().is_none());
        assert!(open(&Target::default()).unwrap().is_none());
    }

    #[test]
    fn a_port_that_nobody_listens_on_is_an_error() {
        let free = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let refused = open(&target(&free.to_string()));
        assert!(matches!(refused, Err(Error::NoProcess { .. })));
    }
}
