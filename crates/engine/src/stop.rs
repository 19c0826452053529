//! A request to stop, as by Ctrl-C. Every client sees it within a tenth of a second.

use std::sync::{
    Arc, Mutex, PoisonError, Weak,
    atomic::{AtomicBool, Ordering},
};

/// Shared by those who may stop a run and those who must obey.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    requested: AtomicBool,
    children: Mutex<Vec<Weak<Shared>>>,
}

impl Stop {
    /// A stop that is not requested.
    pub fn new() -> Self {
        Self::default()
    }

    /// A stop for a part of this one: requested together with it, or separately.
    pub fn child(&self) -> Self {
        let child = Self::new();
        let children = &self.0.children;
        let mut children = children.lock().unwrap_or_else(PoisonError::into_inner);
        children.retain(|known| known.strong_count() > 0);
        children.push(Arc::downgrade(&child.0));
        drop(children);
        if self.requested() {
            child.request();
        }
        child
    }

    /// Requests the stop. This is final.
    pub fn request(&self) {
        self.0.requested.store(true, Ordering::Relaxed);
        let children = &self.0.children;
        let children = children.lock().unwrap_or_else(PoisonError::into_inner);
        for child in children.iter().filter_map(Weak::upgrade) {
            Self(child).request();
        }
    }

    /// Whether it was requested.
    #[inline]
    pub fn requested(&self) -> bool {
        self.0.requested.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stops_with_the_whole_at_once_and_not_the_other_way_round() {
        let whole = Stop::new();
        let (ended, going_on) = (whole.child(), whole.child());
        ended.request();
        assert!(ended.requested() && !going_on.requested() && !whole.requested());
        let within = going_on.child();
        whole.request();
        assert!(going_on.requested() && within.requested());
        assert!(whole.child().requested(), "what begins later has ended");
    }
}
