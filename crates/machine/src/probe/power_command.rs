//! Power of a whole server by a command of the plan: IPMI, Redfish, a meter on a power strip.
//!
//! A thread of its own runs the command, so a slow one delays no other probe, and the beginning of
//! a point by a second at most. The command has a time limit. It is ended with its process group,
//! and no point waits for that.

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
    thread,
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
/// How long a point waits for the first value.
const PATIENCE: Duration = Duration::from_secs(1);
/// The pause between the ends of two runs.
const PAUSE: Duration = Duration::from_secs(1);
/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// A value older than this is not reported again.
const OLD: Duration = Duration::from_secs(15);
/// The most that is read of its output.
const OUTPUT_MAX: usize = 4096;
/// The most reads at one look.
const READS_MAX: usize = 64;
/// More than any server draws.
const WATTS_MAX: f64 = 1e6;

/// What is known of the power.
enum Latest {
    /// No run has ended, and the first one began then.
    Running(Instant),
    /// What the last run printed, and when it ended.
    Known(f64, Instant),
    /// Why the last run gave no value.
    Failed(Error),
    /// The same, which was reported.
    Reported,
}

struct PowerCommand {
    latest: Arc<Mutex<Latest>>,
    /// Dropped to end the thread, which ends the command.
    _stop: mpsc::Sender<()>,
}

fn open(target: &Target) -> Result<Option<Box<dyn Probe>>, Error> {
    let Some(command) = target.power_command.clone() else {
        return Ok(None);
    };
    let system = target.system.clone();
    let (stop, stopped) = mpsc::channel();
    let latest = Arc::new(Mutex::new(Latest::Running(Instant::now())));
    let shared = Arc::clone(&latest);
    let (ended, first) = mpsc::channel();
    thread::spawn(move || {
        loop {
            let watts = run(&command, &system, LIMIT, &stopped);
            *locked(&shared) = match watts {
                Ok(watts) => Latest::Known(watts, Instant::now()),
                Err(error) => Latest::Failed(error),
            };
            let _ = ended.send(());
            if !is_going_on(stopped.recv_timeout(PAUSE)) {
                return;
            }
        }
    });
    let _ = first.recv_timeout(PATIENCE);
    let opened = PowerCommand {
        latest,
        _stop: stop,
    };
    // A command that cannot give a value is not sampled at all.
    if let Some(error) = take_failure(&mut locked(&opened.latest)) {
        return Err(error);
    }
    Ok(Some(Box::new(opened)))
}

fn is_going_on(waited: Result<(), mpsc::RecvTimeoutError>) -> bool {
    waited == Err(mpsc::RecvTimeoutError::Timeout)
}

fn locked(latest: &Mutex<Latest>) -> MutexGuard<'_, Latest> {
    latest.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why the last run failed, once; the next one may succeed.
fn take_failure(latest: &mut Latest) -> Option<Error> {
    match std::mem::replace(latest, Latest::Reported) {
        Latest::Failed(error) => Some(error),
        other => {
            *latest = other;
            None
        }
    }
}

impl Probe for PowerCommand {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let mut latest = locked(&self.latest);
        match &*latest {
            Latest::Known(watts, at) if at.elapsed() <= OLD => {
                Ok(readings("command", &[(SERVER_POWER, Gauge, *watts)]))
            }
            Latest::Known(..) | Latest::Failed(_) | Latest::Running(_) | Latest::Reported => {
                take_failure(&mut latest).map_or_else(|| Ok(Vec::new()), Err)
            }
        }
    }

    fn why_late(&self) -> Option<Error> {
        match *locked(&self.latest) {
            Latest::Running(since) => {
                let said = format!("did not end within {:.0} s", since.elapsed().as_secs_f64());
                Some(failed(&said, None))
            }
            _ => None,
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

/// Reads what there is, and keeps its beginning. A command that prints without end has its limit.
fn read_some(output: &mut ChildStdout, printed: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; OUTPUT_MAX];
    for _ in 0..READS_MAX {
        match output.read(&mut buffer) {
            Ok(0) => break,
            Ok(bytes) => {
                let room = OUTPUT_MAX - printed.len();
                printed.extend_from_slice(&buffer[..bytes.min(room)]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
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
            ("212 213", None),
            ("212\n213", None),
            ("\u{1b}[1m212\u{1b}[0m", None),
            ("1e9", None),
            ("0x20", None),
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
            ("kill -9 $$", "failed: signal: 9"),
            ("printf '25\\377'", "did not print one number of watts"),
            (
                "head -c 1000000 /dev/zero",
                "did not print one number of watts",
            ),
            ("exec /nowhere/ipmitool", "failed: exit status: 127"),
        ] {
            let (_stop, stopped) = mpsc::channel();
            let error = run(command, "", Duration::from_secs(1), &stopped).unwrap_err();
            assert!(error.to_string().contains(said), "{command}: {error}");
        }
    }

    #[test]
    fn a_command_that_hangs_holds_no_point_up_and_says_why_there_is_no_value() {
        let began = Instant::now();
        let mut opened = (PROBE.open)(&target("sleep 30")).unwrap().unwrap();
        assert!(opened.sample().unwrap().is_empty());
        let why = opened.why_late().unwrap().to_string();
        assert!(why.contains("did not end within"), "{why}");
        drop(opened);
        // Its time limit is 10 s: far longer than a busy machine takes for all of this.
        assert!(began.elapsed() < LIMIT / 2, "{:?}", began.elapsed());
    }

    #[test]
    fn a_slow_command_gives_its_value_later() {
        let mut opened = (PROBE.open)(&target("sleep 2; echo 25")).unwrap().unwrap();
        let until = Instant::now() + LIMIT;
        let watts = loop {
            let readings = opened.sample().unwrap();
            if let [reading] = &readings[..] {
                break reading.value;
            }
            assert!(Instant::now() < until, "it printed nothing");
            thread::sleep(LOOK);
        };
        assert_eq!(watts, 25.0);
        assert!(opened.why_late().is_none());
    }

    #[test]
    fn a_plan_without_a_command_has_no_probe() {
        assert!((PROBE.open)(&Target::default()).unwrap().is_none());
    }
}
