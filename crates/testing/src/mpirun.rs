//! An MPI job on one host or on several that are namespaces. It ends with the test. Gives its
//! output, its processes by rank, and whether any is left.

use crate::{Hosts, not_installed, system};
use std::{
    ffi::OsString,
    fs::{self, File},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The variable by which all processes of a job are known.
const JOB: &str = "TEST_JOB";

/// The variable that Open MPI sets for each rank.
const RANK: &str = "OMPI_COMM_WORLD_RANK=";

/// Distinguishes jobs of one program.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// What docs/SCALE-OUT.md says of Open MPI's settings: waits let others run, and a host that is gone
/// is noticed within seconds.
const SETTINGS: &[(&str, &str)] = &[
    ("mpi_yield_when_idle", "1"),
    ("oob_tcp_keepalive_time", "5"),
    ("oob_tcp_keepalive_intvl", "2"),
    ("oob_tcp_keepalive_probes", "3"),
    ("pml", "ob1"),
];

/// How often the state of a job is checked.
const LOOK: Duration = Duration::from_millis(20);

/// A job that is about to be started.
#[derive(Debug)]
pub struct Mpirun<'a> {
    ranks: u32,
    hosts: Option<&'a Hosts>,
    directory: PathBuf,
    program: PathBuf,
    arguments: Vec<OsString>,
    variables: Vec<(String, String)>,
}

impl<'a> Mpirun<'a> {
    /// So many ranks of a program, on this machine, in a directory.
    pub fn new(ranks: u32, program: &Path, directory: &Path) -> Self {
        Self {
            ranks,
            hosts: None,
            directory: directory.to_owned(),
            program: program.to_owned(),
            arguments: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// One rank on each of these hosts, in their order.
    pub fn on(hosts: &'a Hosts, program: &Path, directory: &Path) -> Self {
        Self {
            hosts: Some(hosts),
            ..Self::new(hosts.count(), program, directory)
        }
    }

    /// With these arguments.
    #[must_use]
    pub fn args<T: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// With a variable in the environment of every rank.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts it. Without `mpirun` the test is ignored.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(self) -> Job {
        if system("mpirun", &["--version"]).is_err() {
            not_installed("mpirun is not installed");
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        let scratch = tempfile::tempdir().expect("a temporary directory can be made");
        let file = |stream| File::create(scratch.path().join(stream)).expect("it is empty");
        let child = self
            .command(scratch.path())
            .env(JOB, &name)
            .envs(self.variables.iter().map(|(key, value)| (key, value)))
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("err"))
            .spawn();
        Job {
            child: child.expect("a job can be started"),
            name,
            scratch,
        }
    }

    /// Runs it to its end, which must come within this time.
    ///
    /// # Panics
    /// If it does not, with all of its output.
    pub fn run(self, within: Duration) -> Ended {
        self.start().end(within)
    }

    /// The command of `mpirun`, which dies with the test.
    fn command(&self, scratch: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if let Some(hosts) = self.hosts {
            let named = "hostname node1; exec \"$0\" \"$@\"";
            command
                .args(["ip", "netns", "exec", &hosts.namespace(1)])
                .args(["unshare", "--uts", "sh", "-c", named]);
        }
        command
            .arg("mpirun")
            .args(["--oversubscribe", "--bind-to", "none"])
            .args(["-n", &self.ranks.to_string(), "-x", JOB]);
        for (name, _) in &self.variables {
            command.args(["-x", name]);
        }
        for (name, value) in SETTINGS {
            command.args(["--mca", name, value]);
        }
        command.args(["--mca", "orte_tmpdir_base"]).arg(scratch);
        if let Some(hosts) = self.hosts {
            let network = hosts.network();
            let addresses: Vec<_> = (1..=hosts.count()).map(|n| hosts.address(n)).collect();
            command
                .args(["-H", &addresses.join(",")])
                .args(["--mca", "oob_tcp_if_include", &network])
                .args(["--mca", "btl", "tcp,self"])
                .args(["--mca", "btl_tcp_if_include", &network])
                .args(["--mca", "plm_rsh_agent"])
                .arg(hosts.agent());
        } else {
            command.args(["--mca", "oob_tcp_if_include", "lo"]).args([
                "--mca",
                "btl",
                "vader,self",
            ]);
        }
        command.arg(&self.program).args(&self.arguments);
        command
    }
}

/// A job that runs; its processes are killed with it, on every host.
#[derive(Debug)]
pub struct Job {
    child: Child,
    name: String,
    scratch: TempDir,
}

/// The end of a job.
#[derive(Debug)]
pub struct Ended {
    /// The exit code of `mpirun`, if no signal has ended it.
    pub code: Option<i32>,
    /// What all ranks have written to standard output.
    pub out: String,
    /// The standard error of all ranks and `mpirun`.
    pub err: String,
}

impl Job {
    /// The process of `mpirun`.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All that lives of it: `mpirun`, its helpers on other hosts and the ranks.
    pub fn processes(&self) -> Vec<u32> {
        let mark = format!("{JOB}={}", self.name);
        pids_with(&[&mark])
    }

    /// The process of a rank, once it exists.
    ///
    /// # Panics
    /// If it does not appear within this time.
    pub fn rank(&mut self, rank: u32, within: Duration) -> u32 {
        let job = format!("{JOB}={}", self.name);
        let rank = format!("{RANK}{rank}");
        self.until(&rank, within, |_| pids_with(&[&job, &rank]).pop())
    }

    /// Waits until it has printed something.
    ///
    /// # Panics
    /// If it does not within this time.
    pub fn until_said(&mut self, what: &str, within: Duration) {
        self.until(what, within, |job| {
            (job.said("out").contains(what) || job.said("err").contains(what)).then_some(())
        });
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If that does not come within this time.
    pub fn end(mut self, within: Duration) -> Ended {
        let status = self.until("an end", within, |job| job.status());
        Ended {
            code: status.code().or_else(|| status.signal().map(|n| -n)),
            out: self.said("out"),
            err: self.said("err"),
        }
    }

    /// Waits until none of its ranks lives, even on unreachable hosts, where a helper of `mpirun`
    /// may stay for a while.
    ///
    /// # Panics
    /// If one still lives after this time.
    pub fn until_no_rank_lives(&mut self, within: Duration) {
        self.until("end of all ranks", within, |job| {
            job.ranks().is_empty().then_some(())
        });
    }

    /// The processes of ranks that live.
    pub fn ranks(&self) -> Vec<u32> {
        let ranks = self.processes().into_iter();
        ranks.filter(|pid| is_rank(*pid)).collect()
    }

    /// Sends a signal (`INT`, `KILL`, …) to one of its processes.
    ///
    /// # Panics
    /// If there is no such process.
    pub fn signal(&self, pid: u32, name: &str) {
        assert!(self.processes().contains(&pid), "{pid} is not of this job");
        let sent = system("kill", &["-s", name, &pid.to_string()]);
        sent.expect("the process is this one's own");
    }

    fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("it is this one's child")
    }

    fn said(&self, stream: &str) -> String {
        let said = fs::read(self.scratch.path().join(stream));
        String::from_utf8_lossy(&said.expect("it was made at the start")).into_owned()
    }

    fn until<T>(
        &mut self,
        what: &str,
        within: Duration,
        mut found: impl FnMut(&mut Self) -> Option<T>,
    ) -> T {
        let start = Instant::now();
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            if start.elapsed() >= within {
                let lives = self.processes();
                let (out, err) = (self.said("out"), self.said("err"));
                panic!("no {what} within {within:?}; {lives:?} live\n{out}\n{err}");
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        for pid in self.processes() {
            // It may have ended by itself.
            let _ = system("kill", &["-s", "KILL", &pid.to_string()]);
        }
        let _ = self.child.wait();
    }
}

/// Whether a process is a rank, and not a helper.
fn is_rank(pid: u32) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|variable| variable.starts_with(RANK.as_bytes()))
}

/// The processes that live with all of these in their environment; one that has ended has none.
fn pids_with(marks: &[&str]) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("there is /proc");
    let pids = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let variables: Vec<_> = environment.split(|byte| *byte == 0).collect();
        marks
            .iter()
            .all(|mark| variables.contains(&mark.as_bytes()))
    })
    .collect()
}
