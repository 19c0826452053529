//! One client whose requests go through io_uring, so that many clients share one thread.

use super::{
    Store,
    buffer::Buffer,
    failure,
    fresh::Fresh,
    ring::{Seat, is_passing},
    unsupported, written,
};
use crate::{Completion, Failure, Fields, Key, Operation, Reply, Session, Values};
use io_uring::{IoUring, opcode, types};
use std::{io, ops::Range, os::fd::AsRawFd, sync::Arc};

/// Whether the kernel lets this process use io_uring.
pub(super) fn probe() -> io::Result<()> {
    IoUring::new(1).map(drop)
}

/// The direction of a transfer.
#[derive(Clone, Copy)]
enum Transfer {
    Read,
    Write,
}

/// One client.
pub(super) struct UringSession {
    seat: Seat,
    store: Arc<Store>,
    /// Holds one slot, and grows to the longest scan. The kernel uses it while a request is in
    /// flight.
    buffer: Buffer,
    fresh: Fresh,
}

impl UringSession {
    /// A client of the current runtime.
    pub(super) fn new(store: &Arc<Store>) -> io::Result<Self> {
        Ok(Self {
            seat: Seat::take()?,
            buffer: Buffer::new(store.layout.slot_bytes),
            store: Arc::clone(store),
            fresh: Fresh::default(),
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
            self.queue(way, at + done as u64, done..bytes)
                .map_err(failure)?;
            let moved = match self.seat.result().await.map_err(failure)? {
                0 => return Err(failure(io::ErrorKind::UnexpectedEof.into())),
                moved @ 1.. => moved.cast_unsigned() as usize,
                error if is_passing(-error) => 0,
                error => return Err(failure(io::Error::from_raw_os_error(-error))),
            };
            done += moved;
        }
        Ok(())
    }

    /// Queues one request for a part of the buffer.
    #[expect(unsafe_code, reason = "the kernel is given the address of the buffer")]
    fn queue(&mut self, way: Transfer, at: u64, part: Range<usize>) -> io::Result<()> {
        let file = types::Fd(self.store.file.as_raw_fd());
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
        let memory = &mut self.buffer.first(part.end)[part];
        let request = match way {
            Transfer::Read => opcode::Read::new(file, memory.as_mut_ptr(), length)
                .offset(at)
                .build(),
            Transfer::Write => opcode::Write::new(file, memory.as_ptr(), length)
                .offset(at)
                .build(),
        };
        // SAFETY: the memory stays where it is until the request has ended: nothing else touches the
        // buffer while it is in flight, and a session that is dropped meanwhile leaks it.
        unsafe { self.seat.queue(request) }
    }

    /// Waits for a request whose future was dropped: the kernel still uses the buffer.
    async fn wait_for_abandoned(&mut self) -> Result<(), Failure> {
        if self.seat.in_flight() {
            self.seat.result().await.map_err(failure)?;
        }
        Ok(())
    }
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
        if self.seat.in_flight() {
            std::mem::forget(std::mem::take(&mut self.buffer));
        }
    }
}
