//! Ends a job from one of its ranks. MPI is asked to end all ranks, and this process ends within 2
//! s in any case, because MPI's library waits for hosts that are gone.

use crossbeam_channel::Sender;
use rustix::process::{Signal, getpid, kill_process};
use std::{
    io::{self, Write},
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// How long MPI has to end the job. Then the process ends by itself, with its code.
const ABORT_MAX: Duration = Duration::from_millis(1_000);

/// How long that may take. Then the kernel ends it.
const EXIT_MAX: Duration = Duration::from_millis(700);

/// Ends the job.
#[derive(Clone)]
pub(super) struct Ending {
    /// The rank and its host.
    who: Arc<str>,
    /// Whether an end is under way: it has one reason.
    is_ending: Arc<AtomicBool>,
    /// The codes for MPI's own thread.
    abort: Sender<i32>,
}

impl Ending {
    /// The ending for this rank, whose MPI thread takes codes from `abort`.
    pub(super) fn new(who: String, abort: Sender<i32>) -> Self {
        Self {
            who: who.into(),
            is_ending: Arc::default(),
            abort,
        }
    }

    /// Prints something without blocking: if nothing reads the output, only the printing thread
    /// waits.
    pub(super) fn warn(&self, what: &str) {
        let said = format!("{}: {what}", self.who);
        let _ = thread::Builder::new().spawn(move || {
            let _ = writeln!(io::stderr(), "{said}");
        });
    }

    /// Ends the job for this reason.
    pub(super) fn end(&self, code: i32, why: &str) -> ! {
        if !self.is_ending.swap(true, Ordering::SeqCst) {
            // Before anything that may hang, which standard error may too.
            let deadline = thread::Builder::new().spawn(move || deadline(code));
            let _ = writeln!(io::stderr(), "error: {}: {why}", self.who);
            let _ = self.abort.try_send(code);
            if deadline.is_err() {
                kill_after(ABORT_MAX);
            }
        }
        loop {
            thread::park();
        }
    }
}

/// Ends this process, if MPI does not.
fn deadline(code: i32) {
    thread::sleep(ABORT_MAX);
    // Exit handlers may hang as well.
    let _ = thread::Builder::new().spawn(move || process::exit(code));
    kill_after(EXIT_MAX);
}

fn kill_after(time: Duration) {
    thread::sleep(time);
    let _ = kill_process(getpid(), Signal::KILL);
}
