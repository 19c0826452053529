//! Questions to a server while its clients are at work. They run on the database's own runtime, and
//! the caller waits at most half a second.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};
use tokio::runtime::Handle;

/// How long the caller waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);

/// Asks at most one question at a time. A question that takes longer continues, because a
/// connection that is abandoned in mid-answer is useless. Until it ends nothing else is asked.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    is_asking: Arc<AtomicBool>,
}

impl Aside {
    /// The answer; `None` if it takes too long, or if the previous question is still unanswered.
    pub fn ask<T: Send + 'static>(
        &self,
        runtime: &Handle,
        question: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        if self.is_asking.swap(true, Ordering::Acquire) {
            return None;
        }
        let (answer, wait) = mpsc::channel();
        let is_asking = Arc::clone(&self.is_asking);
        runtime.spawn(async move {
            let told = question.await;
            is_asking.store(false, Ordering::Release);
            // The result came too late; no one waits for it.
            drop(answer.send(told));
        });
        wait.recv_timeout(PATIENCE).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{runtime::Builder, sync::oneshot};

    #[test]
    fn what_takes_too_long_is_a_gap_until_it_has_ended() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.unwrap();
        let aside = Aside::default();
        assert_eq!(aside.ask(runtime.handle(), async { 1 }), Some(1));
        let (end, ended) = oneshot::channel::<()>();
        let slow = async move { drop(ended.await) };
        assert_eq!(aside.ask(runtime.handle(), slow), None);
        assert_eq!(aside.ask(runtime.handle(), async { 2 }), None);
        end.send(()).unwrap();
        while aside.is_asking.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        assert_eq!(aside.ask(runtime.handle(), async { 3 }), Some(3));
    }
}
