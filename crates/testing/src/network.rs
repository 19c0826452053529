//! Hosts as network namespaces. Each has a name, an address and its own link to a switch, which is
//! a namespace too, so that the machine's own network is not touched.

use crate::{not_here, system};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};
use tempfile::TempDir;

/// The network that the hosts are in; it exists only between them.
const NETWORK: &str = "10.77.0";

/// So that tests of one program do not meet.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Some hosts and their switch, while this lives.
#[derive(Debug)]
pub struct Hosts {
    prefix: String,
    count: u32,
    directory: TempDir,
}

impl Hosts {
    /// That many hosts, named from `node1` on.
    ///
    /// # Panics
    /// If a temporary directory cannot be created.
    pub fn new(count: u32) -> Self {
        Self::with_clocks(&vec![0; count as usize])
    }

    /// A host for each of these, whose monotonic clock is ahead by that many seconds. The first
    /// host's clock is the machine's.
    ///
    /// # Panics
    /// If a temporary directory cannot be created.
    pub fn with_clocks(ahead_s: &[i64]) -> Self {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let hosts = Self {
            prefix: format!("tm{}-{number}-", process::id()),
            count: u32::try_from(ahead_s.len()).expect("there are few"),
            directory: tempfile::tempdir().expect("a temporary directory can be made"),
        };
        if let Err(why) = hosts.wire() {
            not_here(why);
        }
        hosts.write_agent(ahead_s);
        hosts
    }

    fn wire(&self) -> Result<(), String> {
        let ip = |line: &str| system("ip", &line.split(' ').collect::<Vec<_>>()).map(drop);
        let switch = self.namespace(0);
        ip(&format!("netns add {switch}"))?;
        ip(&format!("-n {switch} link add bridge type bridge"))?;
        ip(&format!("-n {switch} link set bridge up"))?;
        for host in 1..=self.count {
            let name = self.namespace(host);
            ip(&format!("netns add {name}"))?;
            let peer = format!("peer name port{host} netns {switch}");
            ip(&format!("link add eth0 netns {name} type veth {peer}"))?;
            ip(&format!("-n {switch} link set port{host} master bridge up"))?;
            ip(&format!("-n {name} link set lo up"))?;
            ip(&format!("-n {name} link set eth0 up"))?;
            let address = self.address(host);
            ip(&format!("-n {name} addr add {address}/24 dev eth0"))?;
        }
        Ok(())
    }

    /// What takes the place of ssh: `agent ADDRESS COMMAND...` runs a command on a host.
    fn write_agent(&self, ahead_s: &[i64]) {
        let mut script = String::from("#!/bin/sh\nhost=${1##*.}\nshift\ncase $host in\n");
        for (host, own_ahead_s) in (1..).zip(ahead_s) {
            let clock = match own_ahead_s {
                0 => String::new(),
                s => format!("--time --monotonic {s}"),
            };
            script += &format!("{host}) clock='{clock}' ;;\n");
        }
        script += &format!(
            "esac\nexec ip netns exec {}$host unshare --uts $clock sh -c \"hostname node$host; $*\"\n",
            self.prefix
        );
        fs::write(self.agent(), script).expect("the directory is this one's own");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.agent(), mode).expect("the file is this one's own");
    }

    /// The number of hosts.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The name of a host's network namespace, from 1; of 0 the switch's.
    pub fn namespace(&self, host: u32) -> String {
        format!("{}{host}", self.prefix)
    }

    /// A host's address, from 1.
    pub fn address(&self, host: u32) -> String {
        format!("{NETWORK}.{host}")
    }

    /// The network of all of them.
    pub fn network(&self) -> String {
        format!("{NETWORK}.0/24")
    }

    /// The script that runs a command on a host, as `ssh` would: `agent ADDRESS COMMAND...`.
    pub fn agent(&self) -> PathBuf {
        self.directory.path().join("agent")
    }

    /// A directory that goes with the hosts.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Takes the link of a host down at the switch. Its packets are lost silently.
    ///
    /// # Panics
    /// If that is refused.
    pub fn link_down(&self, host: u32) {
        self.set_link(host, "down");
    }

    /// Takes it up again.
    ///
    /// # Panics
    /// If that is refused.
    pub fn link_up(&self, host: u32) {
        self.set_link(host, "up");
    }

    fn set_link(&self, host: u32, to: &str) {
        let (switch, port) = (self.namespace(0), format!("port{host}"));
        let set = system("ip", &["-n", &switch, "link", "set", &port, to]);
        set.expect("the link is this one's own");
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in 0..=self.count {
            // One that was not made is not there.
            let _ = system("ip", &["netns", "del", &self.namespace(host)]);
        }
    }
}
