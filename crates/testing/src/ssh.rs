//! Hosts reached over SSH: network namespaces with their own names and process numbers, each with a
//! real sshd, and a client's host whose `~/.ssh` belongs to the test.

use crate::{Hosts, not_installed, system};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Names that a client knows the hosts by: `db2` is host 2. Over host 3: `far2`.
const DIRECT: &str = "db";
const OVER_3: &str = "far";

/// The host whose clock has another boot than the others, ahead by that many seconds.
pub const AHEAD: (u32, u32) = (3, 3600);

/// The user beside root that every host has, who may not use sudo.
pub const USER: &str = "measurer";

/// The user who may use sudo without a password.
pub const SUDOER: &str = "operator";

/// The port that the configuration forwards of hosts over host 3.
pub const FORWARDED: u16 = 15999;

/// The user who may log in, and run nothing.
pub const LOCKED: &str = "locked";

/// A root whose shell prints something whenever it is started.
pub const GREETED: &str = "greeted";
/// A user of the hosts whose login shell never runs a command.
pub const SILENT: &str = "silent";

/// Several hosts. The first is the client's.
#[derive(Debug)]
pub struct SshHosts {
    hosts: Hosts,
    daemons: Vec<Child>,
}

impl SshHosts {
    /// That many hosts besides the client's, named from `db2` on.
    ///
    /// # Panics
    /// If they cannot be created.
    pub fn new(servers: u32) -> Self {
        let sshd = sshd();
        let hosts = Hosts::new(servers + 1);
        let mut all = Self {
            hosts,
            daemons: Vec::new(),
        };
        all.write_keys();
        fs::create_dir(all.tmp(1)).expect("the directory is this one's own");
        for host in 2..=servers + 1 {
            all.start(&sshd, host);
        }
        for host in 2..=servers + 1 {
            all.wait(host);
        }
        all
    }

    /// The network that they are in.
    pub const fn network(&self) -> &Hosts {
        &self.hosts
    }

    /// A directory that goes with them, the same on all.
    pub fn directory(&self) -> &Path {
        self.hosts.directory()
    }

    /// The directory of a host's temporary files.
    pub fn tmp(&self, host: u32) -> PathBuf {
        self.directory().join(format!("tmp{host}"))
    }

    /// A command on the client's host, to be started.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let script = "hostname client; mkdir -p \"$HOME/.ssh\" && mount --bind \"$0\" \"$HOME/.ssh\" && exec \"$@\"";
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.hosts.namespace(1)])
            .args(["unshare", "--uts", "--mount", "sh", "-c", script])
            .arg(self.directory().join("client"))
            .arg(program)
            .args(arguments)
            .env("TMPDIR", self.tmp(1))
            .stdin(Stdio::null());
        command
    }

    /// The output of a shell on a host.
    ///
    /// # Panics
    /// If it fails.
    pub fn on(&self, host: u32, script: &str) -> String {
        let init = self.init(host);
        let all = ["-t", &init, "--all", "sh", "-c", script];
        system("nsenter", &all).unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// A command on another host, to be started.
    pub fn command_on(&self, host: u32, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["-t", &self.init(host), "--all", program])
            .args(arguments)
            .env("TMPDIR", self.tmp(host))
            .stdin(Stdio::null());
        command
    }

    /// The first process of a host, by its number here.
    fn init(&self, host: u32) -> String {
        let parent = self.daemons[host as usize - 2].id();
        // What was started became unshare, whose child is the first.
        let children = format!("/proc/{parent}/task/{parent}/children");
        let children = fs::read_to_string(children).unwrap_or_default();
        children
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    fn write_keys(&self) {
        let directory = self.directory();
        let client = directory.join("client");
        fs::create_dir(&client).expect("the directory is this one's own");
        for (place, name) in [
            (directory, "host_key"),
            (&client, "id_ed25519"),
            (&client, "other_key"),
        ] {
            let path = place.join(name).to_string_lossy().into_owned();
            let make = ["-q", "-t", "ed25519", "-N", "", "-f", &path];
            system("ssh-keygen", &make).expect("ssh-keygen makes keys");
        }
        let text = |path: PathBuf| fs::read_to_string(path).expect("the key was made");
        fs::write(
            directory.join("authorized"),
            text(client.join("id_ed25519.pub")),
        )
        .expect("the directory is this one's own");
        let host_key = text(directory.join("host_key.pub"));
        let host_key = host_key.rsplit_once(' ').map_or(&*host_key, |(key, _)| key);
        let (mut known, mut config) = (String::new(), String::new());
        let jump = self.hosts.address(3);
        for host in 2..=self.hosts.count() {
            let address = self.hosts.address(host);
            known += &format!("{address} {host_key}\n");
            config += &format!("Host {DIRECT}{host}\n  HostName {address}\n  User root\n");
            config += &format!(
                "Host stranger{host}\n  HostName {address}\n  User root\n  UserKnownHostsFile /dev/null\n"
            );
            config += &format!(
                "Host wrong-key{host}\n  HostName {address}\n  User root\n  IdentityFile ~/.ssh/other_key\n  IdentitiesOnly yes\n"
            );
            if host != 3 {
                config += &format!(
                    "Host {OVER_3}{host}\n  HostName {address}\n  User root\n  ProxyJump root@{jump}\n"
                );
                // What people have for themselves, and no program wants.
                config += &format!(
                    "  LocalForward {FORWARDED} 127.0.0.1:1\n  RemoteForward {FORWARDED} 127.0.0.1:1\n  \
                     RemoteCommand echo no\n  StdinNull yes\n  ForkAfterAuthentication yes\n"
                );
            }
        }
        fs::write(client.join("known_hosts"), known).expect("the directory is this one's own");
        fs::write(client.join("config"), config).expect("the directory is this one's own");
        self.write_users();
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755))
            .expect("the directory is this one's own");
        let path = directory.display();
        let session = Path::new("/usr/lib/openssh/sshd-session");
        let unpacked = cache().join("usr/lib/openssh/sshd-session");
        let session = if !session.exists() && unpacked.exists() {
            format!("SshdSessionPath {}\n", unpacked.display())
        } else {
            String::new()
        };
        let sshd_config = format!(
            "HostKey {path}/host_key\nAuthorizedKeysFile {path}/authorized\nPidFile none\nUsePAM no\n\
             StrictModes no\nPermitRootLogin yes\nUseDNS no\n{session}"
        );
        fs::write(directory.join("sshd_config"), sshd_config)
            .expect("the directory is this one's own");
    }

    /// Who may log in on each host, and who may use sudo there.
    fn write_users(&self) {
        let directory = self.directory();
        let old = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let others = old.lines().filter(|line| !line.starts_with("sshd:"));
        let mut passwd: String = others.map(|line| format!("{line}\n")).collect();
        passwd += "sshd:x:9922:65534::/run/sshd:/usr/sbin/nologin\n";
        passwd += &format!("{USER}:x:9923:65534::/tmp:/bin/sh\n");
        passwd += &format!("{SUDOER}:x:9925:65534::/tmp:/bin/sh\n");
        passwd += &format!("{LOCKED}:x:9924:65534::/tmp:/usr/sbin/nologin\n");
        let greeted = directory.join(GREETED);
        passwd += &format!("{GREETED}:x:0:0::{}:/bin/bash\n", greeted.display());
        fs::create_dir(&greeted).expect("the directory is this one's own");
        fs::write(greeted.join(".bashrc"), "echo Welcome!\necho\n")
            .expect("the directory is this one's own");
        let silent = directory.join(SILENT);
        passwd += &format!("{SILENT}:x:0:0::{}:/bin/bash\n", silent.display());
        fs::create_dir(&silent).expect("the directory is this one's own");
        fs::write(silent.join(".bashrc"), "sleep 600\n").expect("the directory is this one's own");
        fs::write(directory.join("passwd"), passwd).expect("the directory is this one's own");
        // What sudo asks PAM for, and what it asks itself.
        let shadow = fs::read_to_string("/etc/shadow").unwrap_or_default();
        let shadow = format!("{shadow}{SUDOER}:*:19000:0:99999:7:::\n");
        fs::write(directory.join("shadow"), shadow).expect("the directory is this one's own");
        let sudoers = format!("root ALL=(ALL) ALL\n{SUDOER} ALL=(ALL) NOPASSWD: ALL\n");
        fs::write(directory.join("sudoers"), sudoers).expect("the directory is this one's own");
        let readable = fs::Permissions::from_mode(0o440);
        fs::set_permissions(directory.join("sudoers"), readable)
            .expect("the directory is this one's own");
    }

    /// Starts the sshd of a host, which is its first process: all others end with it.
    fn start(&mut self, sshd: &Path, host: u32) {
        let tmp = self.tmp(host);
        fs::create_dir(&tmp).expect("the directory is this one's own");
        let everybody = fs::Permissions::from_mode(0o1777);
        fs::set_permissions(tmp, everybody).expect("the directory is this one's own");
        let script = format!(
            "hostname node{host}; for file in passwd shadow sudoers; do \
             mount --bind {directory}/$file /etc/$file || exit; done; mkdir -p {tmp}.state /var/lib/tailmark && mount --bind {tmp}.state /var/lib/tailmark && \
             mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec {sshd} -D -f {directory}/sshd_config \
             -o ListenAddress={address} -o SetEnv=TMPDIR={tmp} -E {directory}/sshd{host}.log",
            tmp = self.tmp(host).display(),
            directory = self.directory().display(),
            sshd = sshd.display(),
            address = self.hosts.address(host),
        );
        let ahead_s = if host == AHEAD.0 { AHEAD.1 } else { 0 };
        let daemon = Command::new("ip")
            .args(["netns", "exec", &self.hosts.namespace(host)])
            .args(["setpriv", "--pdeathsig", "KILL"])
            .args([
                "unshare",
                "--time",
                "--monotonic",
                &ahead_s.to_string(),
                "--uts",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
            ])
            .args(["sh", "-c", &script])
            .stdin(Stdio::null())
            .spawn();
        self.daemons.push(daemon.expect("ip is there"));
    }

    fn wait(&self, host: u32) {
        let end = Instant::now() + Duration::from_secs(120);
        loop {
            let mut ssh = self.command(
                "ssh",
                &["-o", "BatchMode=yes", &format!("{DIRECT}{host}"), "true"],
            );
            if ssh.output().is_ok_and(|output| output.status.success()) {
                return;
            }
            let log = self.directory().join(format!("sshd{host}.log"));
            let log = || fs::read_to_string(&log).unwrap_or_default();
            assert!(Instant::now() < end, "sshd of host {host}: {}", log());
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for SshHosts {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Where `./dev` unpacks what it does not install.
fn cache() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    cache.unwrap_or_else(home).join("tailmark/sshd")
}

/// The sshd of this machine, or the one that `./dev` unpacked.
fn sshd() -> PathBuf {
    let unpacked = cache().join("usr/sbin/sshd");
    let places = [PathBuf::from("/usr/sbin/sshd"), unpacked];
    let found = places.into_iter().find(|path| path.exists());
    found.unwrap_or_else(|| not_installed("sshd (package openssh-server)"))
}
