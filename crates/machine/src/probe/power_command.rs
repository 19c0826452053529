//! Power of a whole server by a command of the plan: IPMI, Redfish, a meter on a power strip.
//!
//! A thread of its own runs the command, so a slow one delays no other probe. The command has a
//! time limit. It is ended with its process group.

use super::{Probe, ProbeRow, Reading, Target, child::die_with_us, row::readings};
use crate::Error;
use rustix::{
    fs::{OFlags, fcntl_setfl},
    io::Errno,
    process::{Pid, Signal, kill_process_group},
};
use std::{
    io::{self, Read},
    os::unix::process::CommandExt,
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tailmark_model::{POWER_COMMAND, SERVER_POWER, SeriesKind::Gauge};

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: POWER_COMMAND,
    about: "power of a whole server, by the command `power_command` of the plan",
    period_s: 1,
    is_default: true,
    open,
};

/// How long a command may run.
const LIMIT: Duration = Duration::from_secs(10);
/// The pause between the ends of two runs.
const PAUSE: Duration = Duration::from_secs(1);
/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// A value older than this is not reported again.
const OLD: Duration = Duration::from_secs(15);
/// The most that is read of its output.
const OUTPUT_MAX: usize = 4096;
/// More than any server draws.
const WATTS_MAX: f64 = 1e6;

/// What the last run of the command printed, and when it ended.
type Latest = Result<(f64, Instant), Error>;

struct PowerCommand {
    latest: Arc<Mutex<Latest>>,
    /// Dropped to end the thread.
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

fn open(target: &Target) -> Result<Option<Box<dyn Probe>>, Error> {
    let Some(command) = target.power_command.clone() else {
        return Ok(None);
    };
    let system = target.system.clone();
    let (stop, stopped) = mpsc::channel();
    let first = run(&command, &system, LIMIT, &stopped)?;
    let latest = Arc::new(Mutex::new(Ok((first, Instant::now()))));
    let shared = Arc::clone(&latest);
    let thread = thread::spawn(move || {
        while is_going_on(stopped.recv_timeout(PAUSE)) {
            let watts = run(&command, &system, LIMIT, &stopped);
            *locked(&shared) = watts.map(|watts| (watts, Instant::now()));
        }
    });
    Ok(Some(Box::new(PowerCommand {
        latest,
        stop: Some(stop),
        thread: Some(thread),
    })))
}

fn is_going_on(waited: Result<(), mpsc::RecvTimeoutError>) -> bool {
    waited == Err(mpsc::RecvTimeoutError::Timeout)
}

fn locked(latest: &Mutex<Latest>) -> MutexGuard<'_, Latest> {
    latest.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Probe for PowerCommand {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let mut latest = locked(&self.latest);
        let (watts, at) = match &*latest {
            Ok(known) => *known,
            // Reported once; the next run may succeed.
            Err(_) => {
                return std::mem::replace(&mut *latest, Ok((0.0, long_ago()))).map(|_| Vec::new());
            }
        };
        if at.elapsed() > OLD {
            return Ok(Vec::new());
        }
        Ok(readings("command", &[(SERVER_POWER, Gauge, watts)]))
    }
}

/// An instant whose value is old.
fn long_ago() -> Instant {
    let now = Instant::now();
    now.checked_sub(2 * OLD).unwrap_or(now)
}

impl Drop for PowerCommand {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs the command once; the system is in its environment.
fn run(
    command: &str,
    system: &str,
    limit: Duration,
    stopped: &mpsc::Receiver<()>,
) -> Result<f64, Error> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("TAILMARK_SYSTEM", system);
    shell
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    shell.process_group(0);
    die_with_us(&mut shell);
    let mut child = shell
        .spawn()
        .map_err(|source| failed("cannot be started", Some(source)))?;
    let done = wait(&mut child, Instant::now() + limit, stopped);
    if done.is_err() {
        end(&mut child);
    }
    let (status, printed) = done?;
    if !status.success() {
        return Err(failed(&format!("failed: {status}"), None));
    }
    let watts = watts(&printed);
    watts.ok_or_else(|| failed("did not print one number of watts", None))
}

fn failed(said: &str, source: Option<io::Error>) -> Error {
    Error::Program {
        program: "power_command",
        said: said.to_owned(),
        source,
    }
}

/// Waits for the command, and reads what it prints.
fn wait(
    child: &mut Child,
    until: Instant,
    stopped: &mpsc::Receiver<()>,
) -> Result<(ExitStatus, String), Error> {
    let unread = |source: io::Error| failed("cannot be read", Some(source));
    let mut printed = Vec::new();
    let mut output = child.stdout.take();
    if let Some(output) = &output {
        fcntl_setfl(output, OFlags::NONBLOCK).map_err(|errno: Errno| unread(errno.into()))?;
    }
    loop {
        let ended = child.try_wait().map_err(unread)?;
        if let Some(output) = &mut output {
            read_some(output, &mut printed).map_err(unread)?;
        }
        if let Some(status) = ended {
            return Ok((status, String::from_utf8_lossy(&printed).into_owned()));
        }
        if Instant::now() >= until {
            return Err(failed(
                &format!("did not end within {} s", LIMIT.as_secs()),
                None,
            ));
        }
        if !is_going_on(stopped.recv_timeout(LOOK)) {
            return Err(failed("was stopped", None));
        }
    }
}

/// Reads what there is, and keeps its beginning.
fn read_some(output: &mut ChildStdout, printed: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; OUTPUT_MAX];
    loop {
        match output.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(bytes) => {
                let room = OUTPUT_MAX - printed.len();
                printed.extend_from_slice(&buffer[..bytes.min(room)]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Ends the command and everything that it started.
fn end(child: &mut Child) {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

/// The number in an output such as `212`, `212.5 W` or `212 Watts`.
fn watts(printed: &str) -> Option<f64> {
    let text = printed.trim().to_ascii_lowercase();
    let units = ["watts", "watt", "w"];
    let number = units.iter().find_map(|unit| text.strip_suffix(unit));
    let watts: f64 = number.unwrap_or(&text).trim_end().parse().ok()?;
    (0.0..=WATTS_MAX).contains(&watts).then_some(watts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(command: &str) -> Target {
        Target {
            system: "drive A".to_owned(),
            power_command: Some(command.to_owned()),
            ..Target::default()
        }
    }

    fn first(command: &str) -> Result<f64, String> {
        let opened = (PROBE.open)(&target(command)).map_err(|error| error.to_string())?;
        let readings = opened.unwrap().sample().unwrap();
        assert_eq!(readings[0].name, SERVER_POWER);
        Ok(readings[0].value)
    }

    #[test]
    fn a_number_of_watts_is_read_with_or_without_its_unit() {
        for (printed, expected) in [
            ("25", Some(25.0)),
            (" 212.5 W\n", Some(212.5)),
            ("212 Watts", Some(212.0)),
            ("", None),
            ("power: 212", None),
            ("-3", None),
            ("nan", None),
            ("inf", None),
        ] {
            assert_eq!(watts(printed), expected, "{printed}");
        }
    }

    #[test]
    fn the_command_runs_before_the_first_sample_and_knows_its_system() {
        assert_eq!(first("echo 25"), Ok(25.0));
        let of_system = "if [ \"$TAILMARK_SYSTEM\" = 'drive A' ]; then echo 20 W; fi";
        assert_eq!(first(of_system), Ok(20.0));
        // What it leaves running holds nothing up.
        assert_eq!(first("sleep 30 & echo 7"), Ok(7.0));
    }

    #[test]
    fn a_command_that_fails_or_prints_no_number_is_an_error() {
        for (command, said) in [
            ("exit 3", "failed: exit status: 3"),
            ("echo much", "did not print one number of watts"),
            ("yes", "did not end within"),
        ] {
            let (_stop, stopped) = mpsc::channel();
            let error = run(command, "", Duration::from_secs(1), &stopped).unwrap_err();
            assert!(error.to_string().contains(said), "{command}: {error}");
        }
    }

    #[test]
    fn a_plan_without_a_command_has_no_probe() {
        assert!((PROBE.open)(&Target::default()).unwrap().is_none());
    }
}
