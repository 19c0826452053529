//! The processes of a job under MPI (ranks). One thread owns MPI: it alone starts, calls and ends
//! it. So the clients of a run never call MPI, and the library needs no more than
//! `MPI_THREAD_FUNNELED`.
//!
//! The thread sends messages from one channel, and passes received messages to another. While
//! messages follow closely it polls all the time (and yields), so that their timing is precise.
//! While nothing arrives it sleeps, in growing steps. Waiting in MPI itself would use a whole core.

mod ending;
mod error;
mod idle;

pub use error::Error;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, bounded, unbounded};
use ending::Ending;
use idle::{Idle, Way};
use mpi::{
    Threading,
    datatype::Equivalence,
    environment::Universe,
    point_to_point::{Destination, Source},
    request,
    topology::{Communicator, SimpleCommunicator},
};
use std::{
    num::NonZeroU64,
    panic,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tailmark_cluster::{Cluster, Launched, Message, host_name, monotonic_ns};

/// The bytes at the end of each message that tell when it was sent.
const STAMP_BYTES: usize = 8;

/// The exit code after a panic, as in Rust.
const PANICKED: i32 = 101;

/// How long a finished rank waits for the others.
const LEAVE_MAX: Duration = Duration::from_secs(60);

/// How long the MPI thread polls without a pause until a message is sent.
const SEND_SPIN: Duration = Duration::from_millis(50);

/// Its pauses afterwards: a large message still progresses, and one to a lost host costs little.
const SEND_PAUSE: Duration = Duration::from_micros(200);

/// One of the ranks that `mpirun` or `srun` has started.
pub struct Mpi {
    rank: u32,
    size: u32,
    /// Until this is let go of.
    outgoing: Option<Sender<Outgoing>>,
    incoming: Receiver<Message>,
    /// For messages to this rank, which need no MPI.
    own: Sender<Message>,
    ending: Ending,
    thread: Option<JoinHandle<()>>,
    /// Closed when MPI has ended.
    left: Receiver<()>,
}

struct Outgoing {
    to: i32,
    body: Vec<u8>,
}

impl Mpi {
    /// Starts MPI in its own thread, and joins the job. From then on a panic of any thread ends the job.
    ///
    /// # Errors
    /// If MPI cannot be started, or has another number of processes than the launcher says.
    pub fn join(launched: Launched) -> Result<Self, Error> {
        let (outgoing, to_send) = unbounded();
        let (own, incoming) = unbounded();
        let (abort, aborted) = bounded(1);
        let (started, start) = bounded(1);
        let (leaving, left) = bounded(0);
        let deliver = own.clone();
        let thread = thread::Builder::new().name("mpi".into()).spawn(move || {
            let _leaving = leaving;
            let universe = initialize(launched);
            let wire = match &universe {
                Ok(universe) => Wire {
                    world: universe.world(),
                    outgoing: to_send,
                    incoming: deliver,
                    aborted,
                },
                Err(_) => {
                    let _ = started.send(universe.map(|_| (0, 0)));
                    return;
                }
            };
            let _ = started.send(Ok((number(wire.world.rank()), number(wire.world.size()))));
            wire.serve();
        });
        let thread = thread.map_err(|source| Error::Start { source })?;
        let (rank, size) = start.recv().map_err(|_| Error::Ended)??;
        let ending = Ending::new(format!("rank {rank} on {}", host_name()), abort);
        end_with_a_panic(ending.clone());
        Ok(Self {
            rank,
            size,
            outgoing: Some(outgoing),
            incoming,
            own,
            ending,
            thread: Some(thread),
            left,
        })
    }

    /// The thread of MPI has something to look at.
    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Cluster for Mpi {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn host(&self) -> String {
        host_name()
    }

    fn send(&self, to: u32, body: Vec<u8>) {
        assert!(to < self.size, "there are {} ranks and no {to}", self.size);
        let sent = if to == self.rank {
            let now = monotonic_ns();
            let message = Message {
                from: to,
                body,
                sent_ns: now,
                received_ns: now,
            };
            self.own.send(message).is_ok()
        } else {
            let to = i32::try_from(to).expect("MPI counts ranks in 32 bits with a sign");
            let outgoing = self.outgoing.as_ref();
            let sent =
                outgoing.is_some_and(|outgoing| outgoing.send(Outgoing { to, body }).is_ok());
            self.wake();
            sent
        };
        assert!(sent, "the thread of MPI lives as long as this");
    }

    fn receive(&self, timeout: Duration) -> Option<Message> {
        self.incoming.recv_timeout(timeout).ok()
    }

    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn warn(&self, what: &str) {
        self.ending.warn(what);
    }

    fn abort(&self, code: i32, why: &str) -> ! {
        self.ending.end(code, why)
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        self.outgoing = None;
        self.wake();
        if self.left.recv_timeout(LEAVE_MAX) == Err(RecvTimeoutError::Timeout) {
            let why = format!("the other ranks did not end within {LEAVE_MAX:?}");
            self.ending.end(1, &why);
        }
        // A panic of that thread has ended the job.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Starts MPI for the thread that calls this.
fn initialize(launched: Launched) -> Result<Universe, Error> {
    let started = mpi::initialize_with_threading(Threading::Funneled);
    let (universe, threading) = started.ok_or(Error::Ended)?;
    if threading < Threading::Funneled {
        return Err(Error::Threads);
    }
    let size = number(universe.world().size());
    if size != launched.size {
        return Err(Error::Split {
            launcher: launched.launcher,
            launched: launched.size,
            size,
        });
    }
    Ok(universe)
}

fn number(rank: i32) -> u32 {
    u32::try_from(rank).expect("MPI's ranks and sizes are not negative")
}

/// A rank that panics would leave MPI and wait for the others, who wait for it: its panic ends all.
fn end_with_a_panic(ending: Ending) {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| {
        tell(panicked);
        let thread = thread::current();
        let thread = thread.name().unwrap_or("without a name");
        ending.end(PANICKED, &format!("thread `{thread}` panicked"));
    }));
}

/// Sleeps until there is something to send, up to this long. Waiting on the channel would yield
/// several times before it sleeps, and interrupt clients each time.
fn sleep(pause: Duration) {
    if pause.is_zero() {
        thread::yield_now()
    } else {
        thread::park_timeout(pause)
    }
}

/// The state of the MPI thread.
struct Wire {
    world: SimpleCommunicator,
    outgoing: Receiver<Outgoing>,
    incoming: Sender<Message>,
    aborted: Receiver<i32>,
}

impl Wire {
    /// Sends and receives until there can be nothing more to send.
    fn serve(self) {
        // Naps are as short as they are meant to be; where that is refused they are longer.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut idle = Idle::new(Instant::now());
        loop {
            match self.outgoing.try_recv() {
                Ok(first) => self.send(first, &mut idle),
                Err(TryRecvError::Empty) => sleep(idle.pause(Instant::now())),
                Err(TryRecvError::Disconnected) => return,
            }
            self.end_if_aborted();
            while self.receive(&mut idle) {}
        }
    }

    /// Sends a message, and receives meanwhile, because the others may be sending too.
    fn send(&self, first: Outgoing, idle: &mut Idle) {
        let mut batch: Vec<_> = std::iter::once(first)
            .chain(self.outgoing.try_iter())
            .collect();
        for message in &mut batch {
            message.body.reserve_exact(STAMP_BYTES);
            message.body.extend(monotonic_ns().to_le_bytes());
            idle.traffic(Instant::now(), number(message.to), Way::Out);
        }
        request::scope(|scope| {
            let mut under_way = Vec::with_capacity(batch.len());
            for Outgoing { to, body } in &batch {
                let process = self.world.process_at_rank(*to);
                under_way.push(process.immediate_send(scope, &body[..]));
            }
            let start = Instant::now();
            loop {
                under_way = under_way
                    .into_iter()
                    .filter_map(|request| request.test().err())
                    .collect();
                if under_way.is_empty() {
                    break;
                }
                self.end_if_aborted();
                while self.receive(idle) {}
                if start.elapsed() < SEND_SPIN {
                    thread::yield_now();
                } else {
                    thread::sleep(SEND_PAUSE);
                }
            }
        });
    }

    /// Receives one message, if there is one.
    fn receive(&self, idle: &mut Idle) -> bool {
        let Some((arrived, probed)) = self.world.any_process().immediate_matched_probe() else {
            return false;
        };
        let received_ns = monotonic_ns();
        let count = probed.count(u8::equivalent_datatype());
        let mut body = vec![0; usize::try_from(count).expect("a message has a length")];
        let status = arrived.matched_receive_into(&mut body[..]);
        let (_, stamp) = body
            .split_last_chunk::<STAMP_BYTES>()
            .expect("every message ends with the instant of its sending");
        let sent_ns = u64::from_le_bytes(*stamp);
        body.truncate(body.len() - STAMP_BYTES);
        let from = number(status.source_rank());
        let message = Message {
            from,
            body,
            sent_ns,
            received_ns,
        };
        // A rank that has let go reads no more.
        let _ = self.incoming.send(message);
        idle.traffic(Instant::now(), from, Way::In);
        true
    }

    fn end_if_aborted(&self) {
        if let Ok(code) = self.aborted.try_recv() {
            self.world.abort(code);
        }
    }
}
