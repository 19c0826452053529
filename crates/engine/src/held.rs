//! Clients that still wait for the database after a stop was requested. RocksDB delays writes until
//! its compactions catch up, which never happens on a full disk.

use crate::Stop;
use std::time::{Duration, Instant};
use tailmark_driver::Database;

/// How long clients have to end by themselves.
const GRACE: Duration = Duration::from_secs(5);

/// Watches the clients of one phase.
pub struct Held<'a> {
    database: &'a dyn Database,
    stop: &'a Stop,
    /// When the stop was first seen.
    seen: Option<Instant>,
    is_ended: bool,
}

impl<'a> Held<'a> {
    /// The clients of a database, and the stop that ends them.
    pub fn new(database: &'a dyn Database, stop: &'a Stop) -> Self {
        Self {
            database,
            stop,
            seen: None,
            is_ended: false,
        }
    }

    /// Ends held requests, once. Called while clients run.
    pub fn look(&mut self) {
        if self.is_ended || !self.stop.requested() {
            return;
        }
        if self.seen.get_or_insert_with(Instant::now).elapsed() >= GRACE {
            self.database.end_held_requests();
            self.is_ended = true;
        }
    }
}
