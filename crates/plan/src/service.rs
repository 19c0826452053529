//! The service that a system's database is, and the commands that start and stop it.

use std::path::PathBuf;
use tailmark_model::secret::{masked, masked_words};

/// The service that a system's database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// What starts and stops it.
    pub control: ServiceControl,
    /// A command that succeeds when it is ready; none: the database is asked.
    pub ready: Option<Vec<String>>,
    /// Its log, whose end errors show.
    pub log: Option<PathBuf>,
}

/// What starts and stops a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceControl {
    /// A unit of systemd.
    Systemd(String),
    /// Commands for the shell.
    Commands {
        /// Starts it; ends when it has, or is the server itself.
        start: String,
        /// Stops it; none: what `start` is still running is terminated.
        stop: Option<String>,
    },
}

impl Service {
    /// The words of the command that starts it.
    #[must_use]
    pub fn start(&self) -> Vec<String> {
        match &self.control {
            ServiceControl::Systemd(unit) => words(&["systemctl", "start", unit]),
            ServiceControl::Commands { start, .. } => words(&["sh", "-c", start]),
        }
    }

    /// The words of the command that stops it.
    #[must_use]
    pub fn stop(&self) -> Option<Vec<String>> {
        match &self.control {
            ServiceControl::Systemd(unit) => Some(words(&["systemctl", "stop", unit])),
            ServiceControl::Commands { stop, .. } => {
                stop.as_ref().map(|stop| words(&["sh", "-c", stop]))
            }
        }
    }
}

/// A command as a person reads it, without the secrets in it.
#[must_use]
pub fn shown(words: &[String]) -> String {
    match words {
        // The text of a shell has quotes of its own.
        [sh, option, text] if sh == "sh" && option == "-c" => masked(&format!("sh -c {text}")),
        words => masked_words(words),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
