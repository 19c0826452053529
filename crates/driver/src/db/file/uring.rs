//! One client whose requests go through io_uring, so that many clients share one thread.
//!
//! Each client has a ring of its own with one request in flight. So a request is in the kernel's
//! hands as soon as it is sent, and no client waits for the batch of another. The runtime waits for
//! all rings of its thread at once.

use super::{Store, buffer::Buffer, failure, fresh::Fresh, unsupported, written};
use crate::{Completion, Failure, Fields, Key, Operation, Reply, Session, Values};
use io_uring::{IoUring, cqueue, opcode, types};
use std::{
    io,
    ops::Range,
    os::fd::{AsRawFd, RawFd},
    sync::Arc,
};
use tokio::io::{Interest, unix::AsyncFd};

/// Whether the kernel lets this process use io_uring.
pub(super) fn probe() -> io::Result<()> {
    IoUring::new(1).map(drop)
}

/// The ring of one client.
struct Ring(IoUring);

impl AsRawFd for Ring {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// The direction of a transfer.
#[derive(Clone, Copy)]
enum Transfer {
    Read,
    Write,
}

/// One client.
pub(super) struct UringSession {
    ring: AsyncFd<Ring>,
    store: Arc<Store>,
    /// Holds one slot, and grows to the longest scan. The kernel uses it while a request is in
    /// flight.
    buffer: Buffer,
    fresh: Fresh,
    /// Whether a request that was sent has not ended. It stays so if its future is dropped.
    in_flight: bool,
}

impl UringSession {
    /// A client of the current runtime.
    pub(super) fn new(store: &Arc<Store>) -> io::Result<Self> {
        let ring = Ring(IoUring::new(1)?);
        Ok(Self {
            ring: register(ring)?,
            buffer: Buffer::new(store.layout.slot_bytes),
            store: Arc::clone(store),
            fresh: Fresh::default(),
            in_flight: false,
        })
    }

    async fn read(&mut self, key: Key<'_>, fields: Fields) -> Reply {
        let (at, bytes) = self.store.slot(key);
        self.transfer(Transfer::Read, at, bytes).await?;
        self.store.found(self.buffer.first(bytes), key, fields)
    }

    async fn write(&mut self, key: Key<'_>, values: Values<'_>) -> Reply {
        self.wait_for_abandoned().await?;
        let (at, bytes) = self.store.slot(key);
        let (layout, slot) = (&self.store.layout, self.buffer.first(bytes));
        layout.fill(slot, key.number, &values, &mut self.fresh);
        self.transfer(Transfer::Write, at, bytes).await?;
        Ok(written(key, &values))
    }

    async fn scan(&mut self, start: Key<'_>, records: u32, fields: Fields) -> Reply {
        self.wait_for_abandoned().await?;
        let (at, bytes) = self.store.slots(start, records);
        self.transfer(Transfer::Read, at, bytes).await?;
        self.store
            .all_found(self.buffer.first(bytes), start, fields)
    }

    /// Moves that many bytes between the beginning of the buffer and an offset of the file.
    async fn transfer(&mut self, way: Transfer, at: u64, bytes: usize) -> Result<(), Failure> {
        self.wait_for_abandoned().await?;
        let mut done = 0;
        while done < bytes {
            self.send(way, at + done as u64, done..bytes)
                .map_err(failure)?;
            let moved = match self.ended().await.map_err(failure)? {
                0 => return Err(failure(io::ErrorKind::UnexpectedEof.into())),
                moved @ 1.. => moved.cast_unsigned() as usize,
                error if [-INTERRUPTED, -AGAIN].contains(&error) => 0,
                error => return Err(failure(io::Error::from_raw_os_error(-error))),
            };
            done += moved;
        }
        Ok(())
    }

    /// Gives the kernel one request for a part of the buffer.
    #[expect(unsafe_code, reason = "the kernel is given the address of the buffer")]
    fn send(&mut self, way: Transfer, at: u64, part: Range<usize>) -> io::Result<()> {
        let file = types::Fd(self.store.file.as_raw_fd());
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
        let memory = &mut self.buffer.first(part.end)[part];
        let entry = match way {
            Transfer::Read => opcode::Read::new(file, memory.as_mut_ptr(), length)
                .offset(at)
                .build(),
            Transfer::Write => opcode::Write::new(file, memory.as_ptr(), length)
                .offset(at)
                .build(),
        };
        let ring = &mut self.ring.get_mut().0;
        // SAFETY: the memory stays where it is until the request has ended: nothing else touches the
        // buffer while `in_flight`, and a session that is dropped meanwhile leaks it.
        unsafe { ring.submission().push(&entry) }
            .map_err(|_| io::Error::other("the kernel did not take the request before"))?;
        while let Err(error) = ring.submit() {
            // Signals, and moments without memory.
            if !matches!(error.raw_os_error(), Some(INTERRUPTED | AGAIN)) {
                return Err(error);
            }
        }
        self.in_flight = true;
        Ok(())
    }

    /// Waits for the end of the request in flight, and returns its result.
    async fn ended(&mut self) -> io::Result<i32> {
        loop {
            if let Some(result) = next(&mut self.ring.get_mut().0) {
                self.in_flight = false;
                return Ok(result);
            }
            let mut ready = self.ring.readable_mut().await?;
            // Looks again: what ended before the readiness is taken back would not show once more.
            match ready.try_io(|ring| next(&mut ring.get_mut().0).ok_or_else(none)) {
                Ok(result) => {
                    self.in_flight = false;
                    return result;
                }
                Err(_not_ended) => {}
            }
        }
    }

    /// Waits for a request whose future was dropped: the kernel still uses the buffer.
    async fn wait_for_abandoned(&mut self) -> Result<(), Failure> {
        if self.in_flight {
            self.ended().await.map_err(failure)?;
        }
        Ok(())
    }
}

const INTERRUPTED: i32 = rustix::io::Errno::INTR.raw_os_error();
const AGAIN: i32 = rustix::io::Errno::AGAIN.raw_os_error();

fn none() -> io::Error {
    io::ErrorKind::WouldBlock.into()
}

/// The result of a request that has ended.
fn next(ring: &mut IoUring) -> Option<i32> {
    ring.completion()
        .next()
        .map(|ended: cqueue::Entry| ended.result())
}

#[expect(
    unsafe_code,
    reason = "the descriptor must stay the same: it is owned, and never replaced"
)]
fn register(ring: Ring) -> io::Result<AsyncFd<Ring>> {
    // SAFETY: a ring always names the same open descriptor, and closes it after the `AsyncFd` that
    // owns it has deregistered it.
    Ok(unsafe { AsyncFd::register_with_interest(ring, Interest::READABLE)? })
}

impl Session for UringSession {
    fn execute<'a>(&'a mut self, operation: Operation<'a>) -> Completion<'a> {
        match operation {
            Operation::Read { key, fields } => {
                Completion::Pending(Box::pin(self.read(key, fields)))
            }
            Operation::Insert { key, values } | Operation::Update { key, values } => {
                Completion::Pending(Box::pin(self.write(key, values)))
            }
            Operation::Scan {
                start,
                records,
                fields,
            } => Completion::Pending(Box::pin(self.scan(start, records, fields))),
            Operation::Delete { .. } | Operation::Special(_) => {
                Completion::Ready(Err(unsupported(operation)))
            }
        }
    }
}

impl Drop for UringSession {
    /// A device that hangs must not hold the program. So the buffer of a request in flight is left
    /// to the kernel.
    fn drop(&mut self) {
        if self.in_flight {
            std::mem::forget(std::mem::take(&mut self.buffer));
        }
    }
}
