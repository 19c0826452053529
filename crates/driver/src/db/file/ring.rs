//! The io_uring of one runtime thread, shared by the clients that run on it.
//!
//! Clients only queue their requests. A task of the thread, the pump, runs after all clients that
//! are ready, hands the queue to the kernel and takes every result that has arrived, in one system
//! call. While each client of the thread waits for a request, nothing else can happen there, so the
//! same call also waits for the next result. Otherwise some client waits for the time of its next
//! operation, and the pump lets the runtime wait for that and for the ring at once.

use io_uring::{IoUring, cqueue, squeue};
use std::{
    cell::{RefCell, RefMut},
    io,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll, Waker},
};
use tokio::io::{Interest, unix::AsyncFd};

/// Requests that wait for the pump. Before more are queued, these are handed over: the first must
/// not wait until many other clients have looked at their results.
const QUEUE: u32 = 8;

/// Results that fit into the ring. The kernel keeps any others until there is room.
const RESULTS: u32 = 4096;

/// The same where that needs more locked memory than is permitted.
const RESULTS_LOCKED: u32 = 512;

const INTERRUPTED: i32 = rustix::io::Errno::INTR.raw_os_error();
const AGAIN: i32 = rustix::io::Errno::AGAIN.raw_os_error();
const BUSY: i32 = rustix::io::Errno::BUSY.raw_os_error();
const CANCELED: i32 = rustix::io::Errno::CANCELED.raw_os_error();

/// Whether a request that failed so can be repeated: signals, and moments without memory.
pub(super) const fn is_passing(code: i32) -> bool {
    matches!(code, INTERRUPTED | AGAIN)
}

thread_local! {
    static RING: RefCell<Weak<Ring>> = const { RefCell::new(Weak::new()) };
}

/// The identity of the calling thread among those that live.
fn this_thread() -> usize {
    RING.with(|ring| std::ptr::from_ref(ring).addr())
}

/// A ring, and the thread that alone may use it.
struct Ring {
    thread: usize,
    state: RefCell<State>,
}

// SAFETY: the state is reached only through `state`, on the thread of the ring. It may be dropped
// on any thread, because it is `Send`.
#[expect(
    unsafe_code,
    reason = "clients must be `Send`, although they stay in their thread"
)]
unsafe impl Sync for Ring {}

impl Ring {
    /// A ring of this thread, and its pump.
    fn start() -> io::Result<Arc<Self>> {
        let ring = Arc::new(Self {
            thread: this_thread(),
            state: RefCell::new(State::new()?),
        });
        tokio::task::spawn_local(Pump(Arc::downgrade(&ring)));
        Ok(ring)
    }

    fn state(&self) -> io::Result<RefMut<'_, State>> {
        if self.thread == this_thread() {
            Ok(self.state.borrow_mut())
        } else {
            let error = "a client of io_uring must stay in the thread that connected it";
            Err(io::Error::other(error))
        }
    }
}

/// The state of a ring.
struct State {
    uring: AsyncFd<IoUring>,
    seats: Vec<SeatState>,
    /// Seats that no client has and no request uses.
    free: Vec<usize>,
    /// Clients.
    clients: usize,
    /// Clients that wait for a result.
    waiting: usize,
    /// The pump, while it sleeps.
    pump: Option<Waker>,
    /// The error after which the ring is not used any more.
    failed: Option<i32>,
}

/// What a client's seat is for at the moment.
#[derive(Default)]
struct SeatState {
    result: Option<i32>,
    is_waiting: bool,
    /// Of the client that waits, or waited last.
    waker: Option<Waker>,
    /// Whether the client has left a request in flight, whose result must not reach another.
    is_abandoned: bool,
}

impl State {
    fn new() -> io::Result<Self> {
        // Results are processed when the thread enters the kernel anyway (Linux 6.0).
        let uring = IoUring::builder()
            .setup_cqsize(RESULTS)
            .setup_single_issuer()
            .setup_coop_taskrun()
            .setup_taskrun_flag()
            .build(QUEUE)
            .or_else(|_| {
                let mut plain = IoUring::builder();
                plain.setup_cqsize(RESULTS_LOCKED).build(QUEUE)
            })?;
        Ok(Self {
            uring: register(uring)?,
            seats: Vec::new(),
            free: Vec::new(),
            clients: 0,
            waiting: 0,
            pump: None,
            failed: None,
        })
    }

    /// Hands over what is queued and takes what has ended. Waits for a result if all clients do.
    /// Returns how many requests have ended.
    fn exchange(&mut self) -> io::Result<usize> {
        let all_wait = self.waiting > 0 && self.waiting == self.clients;
        let mut ended = self.take_results();
        loop {
            let uring = self.uring.get_mut();
            let queue = uring.submission();
            let has_work = !queue.is_empty() || queue.taskrun() || queue.cq_overflow();
            drop(queue);
            let want = usize::from(all_wait && ended == 0);
            if !has_work && want == 0 {
                return Ok(ended);
            }
            let entered = uring.submit_and_wait(want);
            ended += self.take_results();
            // Busy: there is no room for more results until some are taken.
            let is_passing = |code| code == BUSY || is_passing(code);
            if let Err(error) = entered
                && !error.raw_os_error().is_some_and(is_passing)
            {
                return Err(error);
            }
        }
    }

    /// Gives each result that has arrived to its client.
    fn take_results(&mut self) -> usize {
        let mut ended = 0;
        for entry in self.uring.get_mut().completion() {
            let entry: cqueue::Entry = entry;
            let index = entry.user_data() as usize;
            let seat = &mut self.seats[index];
            ended += 1;
            if seat.is_abandoned {
                *seat = SeatState::default();
                self.free.push(index);
                continue;
            }
            seat.result = Some(entry.result());
            if std::mem::take(&mut seat.is_waiting) {
                self.waiting -= 1;
                if let Some(waker) = &seat.waker {
                    waker.wake_by_ref();
                }
            }
        }
        ended
    }

    /// Ends the use of the ring.
    fn fail(&mut self, error: &io::Error) {
        self.failed = Some(error.raw_os_error().unwrap_or(CANCELED));
        self.waiting = 0;
        for seat in &mut self.seats {
            seat.is_waiting = false;
            if let Some(waker) = &seat.waker {
                waker.wake_by_ref();
            }
        }
    }
}

/// The task that enters the kernel for all clients of its thread. It ends with the last of them.
struct Pump(Weak<Ring>);

impl Future for Pump {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(ring) = self.0.upgrade() else {
            return Poll::Ready(());
        };
        let Ok(mut state) = ring.state() else {
            return Poll::Ready(());
        };
        loop {
            match state.exchange() {
                Ok(0) => {}
                Ok(_) => {
                    // After the clients that were woken.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Err(error) => {
                    state.fail(&error);
                    return Poll::Ready(());
                }
            }
            match state.uring.poll_read_ready(context) {
                // Looks again: what arrived before the readiness is taken back does not show again.
                Poll::Ready(Ok(mut ready)) => ready.clear_ready(),
                Poll::Ready(Err(error)) => {
                    state.fail(&error);
                    return Poll::Ready(());
                }
                Poll::Pending => {
                    state.pump = Some(context.waker().clone());
                    return Poll::Pending;
                }
            }
        }
    }
}

impl Drop for Pump {
    /// Without it no request would end.
    fn drop(&mut self) {
        if let Some(ring) = self.0.upgrade()
            && let Ok(mut state) = ring.state()
            && state.failed.is_none()
        {
            state.fail(&io::Error::from_raw_os_error(CANCELED));
        }
    }
}

/// The place of one client at the ring of its thread, with at most one request in flight.
pub(super) struct Seat {
    ring: Arc<Ring>,
    index: usize,
    /// Whether a request that was queued has not ended. It stays so if its wait is dropped.
    in_flight: bool,
}

impl Seat {
    /// A place at the ring of this thread.
    pub(super) fn take() -> io::Result<Self> {
        let running = RING.with_borrow(Weak::upgrade);
        let is_usable = |ring: &Arc<Ring>| ring.state().is_ok_and(|state| state.failed.is_none());
        let ring = match running.filter(is_usable) {
            Some(ring) => ring,
            None => {
                let ring = Ring::start()?;
                RING.set(Arc::downgrade(&ring));
                ring
            }
        };
        let mut state = ring.state()?;
        state.clients += 1;
        let index = state.free.pop().unwrap_or_else(|| {
            state.seats.push(SeatState::default());
            state.seats.len() - 1
        });
        drop(state);
        Ok(Self {
            ring,
            index,
            in_flight: false,
        })
    }

    /// Whether the kernel may still use the memory of the last request.
    pub(super) const fn in_flight(&self) -> bool {
        self.in_flight
    }

    /// Queues a request.
    ///
    /// # Safety
    /// Its memory stays where it is, and nothing else uses it, while [`Self::in_flight`].
    #[expect(unsafe_code, reason = "the kernel is given the address of a buffer")]
    pub(super) unsafe fn queue(&mut self, request: squeue::Entry) -> io::Result<()> {
        let entry = request.user_data(self.index as u64);
        let mut state = self.ring.state()?;
        if let Some(code) = state.failed {
            return Err(io::Error::from_raw_os_error(code));
        }
        // SAFETY: as promised to this function.
        while unsafe { state.uring.get_mut().submission().push(&entry) }.is_err() {
            state.exchange()?;
        }
        self.in_flight = true;
        let pump = state.pump.take();
        drop(state);
        if let Some(pump) = pump {
            pump.wake();
        }
        Ok(())
    }

    /// The result of the request in flight.
    pub(super) fn result(&mut self) -> RequestResult<'_> {
        RequestResult(self)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Ok(mut state) = self.ring.state() else {
            return;
        };
        state.clients -= 1;
        let seat = std::mem::take(&mut state.seats[self.index]);
        if self.in_flight && seat.result.is_none() {
            state.seats[self.index].is_abandoned = true;
        } else {
            state.free.push(self.index);
        }
        // The rest of the clients may all wait now.
        let pump = state.pump.take();
        drop(state);
        // A waker can be all that is left of a task.
        drop(seat);
        if let Some(pump) = pump {
            pump.wake();
        }
    }
}

/// Waits for the result of a request.
pub(super) struct RequestResult<'a>(&'a mut Seat);

impl Future for RequestResult<'_> {
    type Output = io::Result<i32>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let seat = &mut *self.0;
        let mut state = seat.ring.state()?;
        let failed = state.failed;
        let own = &mut state.seats[seat.index];
        if let Some(result) = own.result.take() {
            seat.in_flight = false;
            return Poll::Ready(Ok(result));
        }
        if let Some(code) = failed {
            return Poll::Ready(Err(io::Error::from_raw_os_error(code)));
        }
        let waker = context.waker();
        let before = match &own.waker {
            Some(known) if known.will_wake(waker) => None,
            _ => own.waker.replace(waker.clone()),
        };
        if !std::mem::replace(&mut own.is_waiting, true) {
            state.waiting += 1;
        }
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl Drop for RequestResult<'_> {
    fn drop(&mut self) {
        if let Ok(mut state) = self.0.ring.state() {
            let own = &mut state.seats[self.0.index];
            if std::mem::take(&mut own.is_waiting) {
                state.waiting -= 1;
            }
        }
    }
}

#[expect(
    unsafe_code,
    reason = "the descriptor must stay the same: it is owned, and never replaced"
)]
fn register(uring: IoUring) -> io::Result<AsyncFd<IoUring>> {
    // SAFETY: a ring always names the same open descriptor, and closes it after the `AsyncFd` that
    // owns it has deregistered it.
    Ok(unsafe { AsyncFd::register_with_interest(uring, Interest::READABLE)? })
}
