//! Answers requests until the connection ends.
//!
//! The reading thread answers clock requests itself, so that slower requests cannot delay it. A
//! second thread does everything else, and samples. A third writes, so that a stalled connection
//! delays nothing else. A fourth ends the program if the other end has been silent for [`SILENCE`],
//! because a broken link does not report itself.

use crate::agent::{
    prepare::Preparing,
    protocol::{Answer, Ask, Hello, Line, PROTOCOL, Request},
    watch::WatchedProbes,
};
use std::{
    io::{self, BufRead, Write},
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};
use tailmark_cluster::monotonic_ns as now_ns;
use tailmark_machine::CacheDrop;
use tailmark_prepare::append_to_log;

/// The other end sends something at least every few seconds. After this long without a message it
/// is gone.
pub const SILENCE: Duration = Duration::from_secs(60);

/// How often the end is checked.
const LOOK: Duration = Duration::from_millis(200);
/// How long restoring may take.
const PUT_BACK: Duration = Duration::from_secs(60);

/// How often watched items are sampled.
const TICK: Duration = Duration::from_secs(1);

/// Serves a connection until its end. `clock` gives the time. `gone` is called after [`SILENCE`]
/// without a message, once changes are restored.
///
/// # Errors
/// If the connection breaks.
pub fn serve(
    input: impl BufRead,
    output: impl Write + Send,
    clock: &(dyn Fn() -> u64 + Sync),
    gone: &(dyn Fn() + Sync),
) -> io::Result<()> {
    let (lines, to_write) = mpsc::channel();
    let heard_ns = AtomicU64::new(now_ns());
    let is_over = AtomicBool::new(false);
    let is_stopped = AtomicBool::new(false);
    let (heard, over, stopped) = (&heard_ns, &is_over, &is_stopped);
    std::thread::scope(|scope| {
        scope.spawn(move || write(output, &to_write));
        let tell = move |line: &Line| {
            let text = serde_json::to_string(line).map_err(io::Error::other)?;
            let sent = lines.send(text);
            sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
        };
        tell(&Line::Hello(hello()))?;
        let (asks, requested) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let telling = tell.clone();
        scope.spawn(move || {
            work(&requested, clock, (stopped, over), &telling);
            // Signals the watchdog that nothing is left to restore.
            drop(end);
        });
        let last = asks.clone();
        scope.spawn(move || {
            if is_silent(heard, over) {
                over.store(true, Ordering::Relaxed);
                let _ = last.send(None);
                drop(last);
                let _ = ended.recv_timeout(PUT_BACK);
                gone();
            }
        });
        let served = read(input, heard, clock, &tell, &asks, stopped);
        over.store(true, Ordering::Relaxed);
        let _ = asks.send(None);
        served
    })
}

/// Reads requests to the end of the connection; answers some, and hands the others on.
fn read(
    input: impl BufRead,
    heard_ns: &AtomicU64,
    clock: &dyn Fn() -> u64,
    tell: &dyn Fn(&Line) -> io::Result<()>,
    asks: &mpsc::Sender<Option<Request>>,
    is_stopped: &AtomicBool,
) -> io::Result<()> {
    for line in input.lines() {
        let line = line?;
        let received_ns = clock();
        heard_ns.store(now_ns(), Ordering::Relaxed);
        let request: Request = serde_json::from_str(&line).map_err(io::Error::other)?;
        let at_once = match &request.ask {
            Ask::Time => Answer::Time {
                received_ns,
                sent_ns: clock(),
            },
            Ask::Stop => {
                is_stopped.store(true, Ordering::Relaxed);
                Answer::Done
            }
            other => {
                // A stop ends work that is running or waiting when it arrives.
                if matches!(other, Ask::Prepare { .. }) {
                    is_stopped.store(false, Ordering::Relaxed);
                }
                if asks.send(Some(request)).is_err() {
                    break;
                }
                continue;
            }
        };
        let id = request.id;
        tell(&Line::Answer {
            id,
            answer: at_once,
        })?;
    }
    Ok(())
}

/// Carries out requests, and samples watched items once a second, until the end. Then it restores
/// the preparation's changes.
fn work(
    requested: &Receiver<Option<Request>>,
    clock: &dyn Fn() -> u64,
    (is_stopped, is_over): (&AtomicBool, &AtomicBool),
    tell: &dyn Fn(&Line) -> io::Result<()>,
) {
    // A connection that broke ends the thread that reads, and by that this one.
    let told = |line: &Line| drop(tell(line));
    let log = |text: &str| {
        append_to_log(text);
        told(&Line::Log(text.to_owned()));
    };
    let mut preparing = Preparing::new(&told, &log, [is_stopped, is_over]);
    let mut watched = WatchedProbes::default();
    let mut next = Instant::now();
    loop {
        let request = if watched.is_any() {
            requested.recv_timeout(next.saturating_duration_since(Instant::now()))
        } else {
            requested.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match request {
            Ok(Some(Request { id, ask })) => {
                let begins = matches!(ask, Ask::Watch(_));
                let answer = answer(&ask, &mut watched, &mut preparing, clock, &told);
                told(&Line::Answer { id, answer });
                if begins {
                    next = Instant::now();
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                watched.sample(clock, false, &told);
                // A machine that was held up does not catch up on what it missed.
                let now = Instant::now();
                while next <= now {
                    next += TICK;
                }
            }
            Ok(None) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn answer(
    ask: &Ask,
    watched: &mut WatchedProbes,
    preparing: &mut Preparing<'_>,
    clock: &dyn Fn() -> u64,
    tell: &dyn Fn(&Line),
) -> Answer {
    match ask {
        Ask::Time | Ask::Stop => Answer::Done,
        Ask::Look(request) => preparing.look(request),
        Ask::Prepare {
            request,
            whose,
            destroys,
        } => preparing.carry_out(request, whose, *destroys),
        Ask::PutBack => preparing.put_back(),
        Ask::Facts => Answer::Facts(tailmark_machine::machine_facts()),
        Ask::PlaceFacts { system, places } => {
            let all = places.iter().flat_map(|p| tailmark_machine::places_of(p));
            let all: Vec<_> = all.collect();
            Answer::Facts(tailmark_machine::place_facts(system, &all))
        }
        Ask::DropCaches => match tailmark_machine::drop_caches(&[]) {
            CacheDrop::Dropped | CacheDrop::Advised(_) => Answer::Done,
            CacheDrop::Skipped(why) => Answer::Refused(why),
        },
        Ask::Watch(requested) => {
            let (opened, not_sampled) = WatchedProbes::open(requested);
            *watched = opened;
            Answer::Watching { not_sampled }
        }
        Ask::Sample => {
            watched.sample(clock, true, tell);
            Answer::Done
        }
        Ask::Rest => {
            *watched = WatchedProbes::default();
            Answer::Done
        }
    }
}

/// Whether the other end was not heard of for [`SILENCE`]; waits for that, or for the end.
fn is_silent(heard_ns: &AtomicU64, is_over: &AtomicBool) -> bool {
    loop {
        let heard = heard_ns.load(Ordering::Relaxed);
        if Duration::from_nanos(now_ns().saturating_sub(heard)) >= SILENCE {
            return true;
        }
        if is_over.load(Ordering::Relaxed) {
            return false;
        }
        std::thread::sleep(LOOK);
    }
}

fn hello() -> Hello {
    Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        hostname: tailmark_machine::hostname(),
        boot_id: tailmark_machine::boot_id().unwrap_or_default(),
        memory: tailmark_machine::memory().total,
    }
}

/// Writes lines, each at once, until there are no more or the other end takes none.
fn write(mut output: impl Write, lines: &Receiver<String>) {
    for mut line in lines {
        line.push('\n');
        let written = output.write_all(line.as_bytes());
        if written.and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::protocol::WatchRequest;
    use std::{
        io::BufReader,
        os::unix::net::UnixStream,
        sync::{Condvar, Mutex},
    };

    /// A stream whose reader takes nothing until it is closed.
    #[derive(Default)]
    struct Blocked(Mutex<bool>, Condvar);

    impl Write for &Blocked {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            let closed = self.0.lock().unwrap();
            let closed = self.1.wait_while(closed, |closed| !*closed);
            drop(closed.unwrap());
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_nobody_takes_holds_up_nothing_else() {
        let (mut own, other) = UnixStream::pair().unwrap();
        let blocked = Blocked::default();
        let told = AtomicU64::new(0);
        // It is asked for at each request and at each sample.
        let clock = || told.fetch_add(1, Ordering::Relaxed);
        std::thread::scope(|scope| {
            let served = scope.spawn(|| serve(BufReader::new(other), &blocked, &clock, &|| {}));
            let watch = WatchRequest {
                probes: vec!["cpu".to_owned()],
                ..WatchRequest::default()
            };
            let ask = Ask::Watch(watch);
            let request = serde_json::to_string(&Request { id: 1, ask }).unwrap();
            writeln!(own, "{request}").unwrap();
            while told.load(Ordering::Relaxed) < 4 {
                assert!(!served.is_finished());
                std::thread::sleep(LOOK);
            }
            drop(own);
            *blocked.0.lock().unwrap() = true;
            blocked.1.notify_all();
            served.join().unwrap().unwrap();
        });
    }
}
