//! Ctrl-C and its relatives: the first asks the run to stop, the second does not ask.

use crate::{exit::Exit, output};
use anyhow::Context;
use tailmark_runner::Stop;

/// Requests `stop` at the first SIGINT, SIGTERM or SIGHUP, and ends the program at the second.
pub fn listen(stop: &Stop) -> anyhow::Result<()> {
    let stop = stop.clone();
    let handle = move || {
        if stop.requested() {
            std::process::exit(Exit::Interrupted as i32);
        }
        stop.request();
        output::warn("stopping; Ctrl-C again ends at once");
    };
    ctrlc::set_handler(handle).context("failed to listen for Ctrl-C")
}
