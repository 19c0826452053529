//! The service of a system's database, and the commands that start and stop it.

use super::{
    place::absolute,
    roles::{COMMAND, RUN},
};
use crate::{Accept::Text, Error, PlanKey, reader::TableReader};
use std::path::PathBuf;
use tailmark_driver::{Driver, Place};
use tailmark_model::secret::{masked, masked_words};

/// The keys of `service`.
pub(super) const SERVICE_KEYS: &[PlanKey] = &[
    PlanKey::new("service", "systemd", COMMAND, Text).about("unit for systemctl"),
    PlanKey::new("service", "start", COMMAND, Text)
        .about("command that starts the server, or is the server")
        .sets_in_system(|system| Some(shown(&system.service.as_ref()?.start()))),
    PlanKey::new("service", "stop", COMMAND, Text)
        .about("command that stops it; without it, `start` is terminated")
        .sets_in_system(|system| {
            let stop = system.service.as_ref()?.stop();
            Some(shown(&stop.unwrap_or_default()))
        }),
    PlanKey::new("service", "ready", COMMAND, Text)
        .about("command that succeeds when the server is ready")
        .sets_in_system(|system| Some(shown(system.service.as_ref()?.ready.as_ref()?))),
    PlanKey::new("service", "log", RUN, Text).about("log to quote if the server does not start"),
];

/// The service of a system's database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// How it is started and stopped.
    pub control: ServiceControl,
    /// A command that succeeds when it is ready; `None`: tailmark asks the database.
    pub ready: Option<Vec<String>>,
    /// Its log. Errors show the end of it.
    pub log: Option<PathBuf>,
}

/// How a service is started and stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceControl {
    /// A unit of systemd.
    Systemd(String),
    /// Commands for the shell.
    Commands {
        /// Starts it. Ends once it has started, or is the server itself.
        start: String,
        /// Stops it; `None`: the process that `start` still runs is terminated.
        stop: Option<String>,
    },
}

impl Service {
    /// The words of the start command.
    #[must_use]
    pub fn start(&self) -> Vec<String> {
        match &self.control {
            ServiceControl::Systemd(unit) => words(&["systemctl", "start", unit]),
            ServiceControl::Commands { start, .. } => words(&["sh", "-c", start]),
        }
    }

    /// The words of the stop command.
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

/// A command for display, without secrets.
#[must_use]
pub fn shown(words: &[String]) -> String {
    match words {
        // A shell command already has its own quotes.
        [sh, option, text] if sh == "sh" && option == "-c" => masked(&format!("sh -c {text}")),
        words => masked_words(words),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The service of a system, if it has one.
pub(super) fn service(
    reader: &TableReader<'_>,
    driver: &'static Driver,
) -> Result<Option<Service>, Error> {
    if !reader.given().contains_key("service") {
        return Ok(None);
    }
    let table = reader.table("service", &[])?;
    let control = match (
        table.optional::<String>("systemd")?,
        table.optional("start")?,
    ) {
        (Some(unit), None) if is_unit(&unit) => ServiceControl::Systemd(unit),
        (Some(unit), None) => {
            return Err(Error::BadValue {
                key: table.label("systemd"),
                value: unit,
                accepted: "the name of one unit: letters, digits, and : - _ . \\ @".to_owned(),
            });
        }
        (None, Some(start)) => ServiceControl::Commands {
            start,
            stop: table.optional("stop")?,
        },
        _ => {
            let (key, accepted) = (
                table.full("start"),
                "give either `start` or `systemd`, not \
                                                         both",
            );
            return Err(Error::Missing {
                key,
                accepted: accepted.to_owned(),
            });
        }
    };
    if driver.place != Place::Hosts {
        return Err(Error::BadValue {
            key: reader.label("service"),
            value: "a table".to_owned(),
            accepted: format!("absent: driver `{}` has no server", driver.name),
        });
    }
    let (ready, log): (Option<String>, Option<String>) =
        (table.optional("ready")?, table.optional("log")?);
    Ok(Some(Service {
        control,
        ready: ready.map(|ready| vec!["sh".to_owned(), "-c".to_owned(), ready]),
        log: log.map(|log| absolute(&table, "log", &log)).transpose()?,
    }))
}

/// Whether it names a single unit. A pattern would stop units of others, and an option could do
/// anything.
fn is_unit(name: &str) -> bool {
    let is_accepted = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(is_accepted)
}

#[cfg(test)]
mod tests {
    use super::is_unit;

    #[test]
    fn a_unit_is_one_and_no_pattern_or_option() {
        for name in ["redis", "redis@6400.service", "a-b_c:d", "x\\x2d"] {
            assert!(is_unit(name), "{name}");
        }
        for name in ["", "redis*", "*", "--all", "-x", "a b", "[ab]", "a;b"] {
            assert!(!is_unit(name), "{name}");
        }
    }
}
