//! One client of a client crate for every runtime that runs our clients, and a runtime of our own.
//!
//! The sockets and tasks of a network client belong to the runtime that created them. Clients that
//! are tasks of a few single-threaded runtimes are cheapest if everything stays on their thread. So
//! each runtime gets its own client of the client crate, which its tasks share. Work outside of any
//! runtime (opening, the marker, tests) is done on a runtime that the database owns.

use crate::{Completion, Reply, Stopped};
use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::{Context, Poll},
    time::Duration,
};
use tokio::runtime::{self, Handle, Runtime};

/// How often a wait checks whether to end.
const LOOK: Duration = Duration::from_millis(100);

/// The clients of one open database, one per runtime. `C` is the client crate's client with
/// everything that belongs to it.
pub(crate) struct RuntimePool<C> {
    /// Taken when the database is dropped.
    own: Option<Runtime>,
    opened: Mutex<Vec<(runtime::Id, Weak<C>)>>,
}

impl<C> RuntimePool<C> {
    /// An empty pool with its own runtime.
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

    /// The pool's own runtime.
    pub fn own(&self) -> &Handle {
        let own = self.own.as_ref();
        own.expect("it is taken by the drop only").handle()
    }

    /// Waits for `future` on the pool's own runtime. Must not be called from within a runtime.
    pub fn wait<F: Future>(&self, future: F) -> F::Output {
        self.own().block_on(future)
    }

    /// As [`Self::wait`], but ends within a tenth of a second after `stop` says so, with `None`.
    pub fn wait_unless<F: Future>(&self, stop: Stopped<'_>, future: F) -> Option<F::Output> {
        self.wait(async {
            let mut future = std::pin::pin!(future);
            loop {
                match tokio::time::timeout(LOOK, &mut future).await {
                    Ok(output) => return Some(output),
                    Err(_) if stop() => return None,
                    Err(_) => {}
                }
            }
        })
    }

    /// The client of the awaiting runtime. The first call opens it with `open`.
    pub async fn here<E>(&self, open: impl AsyncFnOnce() -> Result<C, E>) -> Result<Arc<C>, E> {
        let id = Handle::current().id();
        let known = |opened: &[(runtime::Id, Weak<C>)]| {
            let found = opened.iter().find(|(runtime, _)| *runtime == id);
            found.and_then(|(_, client)| client.upgrade())
        };
        if let Some(client) = known(&self.lock()) {
            return Ok(client);
        }
        let new = Arc::new(open().await?);
        let mut opened = self.lock();
        // Another task of this runtime may have been faster.
        if let Some(client) = known(&opened) {
            return Ok(client);
        }
        opened.retain(|(_, client)| client.strong_count() > 0);
        opened.push((id, Arc::downgrade(&new)));
        Ok(new)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(runtime::Id, Weak<C>)>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> Drop for RuntimePool<C> {
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            own.shutdown_timeout(Duration::from_secs(1));
        }
    }
}

/// A request of a client. If the client is not a task of its runtime, `outside` is that runtime.
pub(crate) fn pending<'a>(
    request: impl Future<Output = Reply> + 'a,
    outside: Option<Handle>,
) -> Completion<'a> {
    let request = Box::pin(request);
    Completion::Pending(match outside {
        None => request,
        Some(runtime) => Box::pin(Within { runtime, request }),
    })
}

/// A request that any executor can poll, with a runtime's timers and sockets.
struct Within<F> {
    runtime: Handle,
    request: Pin<Box<F>>,
}

impl<F: Future<Output = Reply>> Future for Within<F> {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reply> {
        let _inside = self.runtime.enter();
        self.request.as_mut().poll(context)
    }
}
