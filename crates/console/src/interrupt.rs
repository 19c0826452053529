//! Ctrl-C and similar signals: the first asks the run to stop, a second Ctrl-C ends it at once.

use crate::{Console, Exit};
use anyhow::Context;
use nix::sys::signal::{SigSet, Signal};
use std::{
    sync::{Mutex, OnceLock, PoisonError},
    thread,
};
use tailmark_engine::Stop;

/// What a signal stops, and where its message goes.
static LISTENER: OnceLock<(Stop, Console, Left)> = OnceLock::new();

/// What the program would leave changed if it ended at once, if anything.
type Left = fn() -> Option<String>;

/// Handles signals in a thread from now on: SIGINT, SIGTERM and SIGHUP end the program with
/// [`Exit::Interrupted`] until [`listen`] sets what they stop. If SIGHUP is ignored from the start,
/// as under `nohup`, it stays ignored.
///
/// Must be called before any thread is started, because existing threads are not protected.
pub fn take_signals() -> anyhow::Result<()> {
    static TAKEN: Mutex<bool> = Mutex::new(false);
    let mut is_taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_taken {
        return Ok(());
    }
    let failed = "failed to listen for Ctrl-C";
    let mut signals = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM]);
    if !is_ignored(Signal::SIGHUP) {
        signals.add(Signal::SIGHUP);
    }
    // A write beyond `ulimit -f` is to be an error with its cause, and not the end of the program.
    let mut blocked = signals;
    blocked.add(Signal::SIGXFSZ);
    // Every thread inherits it, and the one below takes them instead.
    blocked.thread_block().context(failed)?;
    let wait = move || {
        while let Ok(signal) = signals.wait() {
            let Some((stop, console, left)) = LISTENER.get() else {
                std::process::exit(Exit::Interrupted as i32);
            };
            match (stop.requested(), signal) {
                (true, Signal::SIGHUP) => {}
                (true, _) => {
                    if let Some(left) = left() {
                        console.warn(&left);
                    }
                    end_at_once()
                }
                (false, _) => {
                    stop.request();
                    console.warn("stopping; press Ctrl-C again to exit at once");
                }
            }
        }
    };
    let listener = thread::Builder::new().name("signals".to_owned());
    listener.spawn(wait).context(failed)?;
    *is_taken = true;
    Ok(())
}

/// Ends the program without its exit handlers: that of RocksDB waits for flushes, which may take minutes.
#[expect(unsafe_code, reason = "nothing safe goes past exit handlers")]
fn end_at_once() -> ! {
    // SAFETY: it takes a number and does not return.
    unsafe { nix::libc::_exit(Exit::Interrupted as i32) }
}

/// Requests `stop` at the first SIGINT, SIGTERM or SIGHUP. A further SIGINT or SIGTERM ends the
/// program. A closing terminal sends several SIGHUPs, so these only request. `left` says what the
/// program would leave changed if it ended at once.
///
/// Must be called once, like [`take_signals`] if that was not called.
pub fn listen(stop: &Stop, console: &Console, left: Left) -> anyhow::Result<()> {
    let _ = LISTENER.set((stop.clone(), console.clone(), left));
    take_signals()
}

/// Whether this process was started with a signal ignored, according to the kernel.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}
