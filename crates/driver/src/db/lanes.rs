//! One client of a client crate for every runtime that runs our clients, and one of our own.
//!
//! The sockets and the tasks of a network client belong to the runtime that made them. Clients that
//! are tasks of a few single-threaded runtimes are cheapest where all of it stays on their thread,
//! so each runtime gets a client crate's client of its own: a lane. What is asked outside of any
//! runtime (opening, the marker, tests) goes by a lane on a runtime that the database owns.

use crate::Reply;
use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::{Context, Poll},
    time::Duration,
};
use tokio::runtime::{self, Handle, Runtime};

/// The lanes of one open database; `C` is the client crate's client with what belongs to it.
pub(super) struct Lanes<C> {
    /// Taken when the database is dropped.
    own: Option<Runtime>,
    opened: Mutex<Vec<(runtime::Id, Weak<C>)>>,
}

impl<C> Lanes<C> {
    /// None yet, and the runtime of our own.
    pub fn new() -> std::io::Result<Self> {
        let own = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("database")
            .enable_all()
            .build()?;
        Ok(Self {
            own: Some(own),
            opened: Mutex::default(),
        })
    }

    /// The runtime of our own.
    pub fn own(&self) -> &Handle {
        let own = self.own.as_ref();
        own.expect("it is taken by the drop only").handle()
    }

    /// Waits for `future` on the runtime of our own. Never called from within a runtime.
    pub fn wait<F: Future>(&self, future: F) -> F::Output {
        self.own().block_on(future)
    }

    /// The lane of the runtime that awaits this, opened by `open` where it is the first time.
    pub async fn here<E>(&self, open: impl AsyncFnOnce() -> Result<C, E>) -> Result<Arc<C>, E> {
        let id = Handle::current().id();
        let lane = |opened: &[(runtime::Id, Weak<C>)]| {
            let lane = opened.iter().find(|(runtime, _)| *runtime == id);
            lane.and_then(|(_, lane)| lane.upgrade())
        };
        if let Some(lane) = lane(&self.lock()) {
            return Ok(lane);
        }
        let new = Arc::new(open().await?);
        let mut opened = self.lock();
        // Another task of this runtime may have been faster.
        if let Some(lane) = lane(&opened) {
            return Ok(lane);
        }
        opened.retain(|(_, lane)| lane.strong_count() > 0);
        opened.push((id, Arc::downgrade(&new)));
        Ok(new)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(runtime::Id, Weak<C>)>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> Drop for Lanes<C> {
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            own.shutdown_timeout(Duration::from_secs(1));
        }
    }
}

/// A request that is polled by whatever executor its client has, on a runtime's timers and sockets.
pub(super) struct Within<F> {
    /// The runtime.
    pub runtime: Handle,
    /// The request.
    pub request: Pin<Box<F>>,
}

impl<F: Future<Output = Reply>> Future for Within<F> {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reply> {
        let _inside = self.runtime.enter();
        self.request.as_mut().poll(context)
    }
}
