//! What was sampled on the hosts of servers: how its series are told from those of the clients'
//! machine.

use crate::Series;

/// The probe of the clocks of servers' hosts against that of the clients' machine.
pub const SERVER_CLOCK: &str = "server-clock";

/// What stands between a subject and the host that it is on.
const ON: &str = " on server ";

/// The subject of a series of a server's host: `machine on server db1`.
#[must_use]
pub fn subject_on_server(subject: &str, host: &str) -> String {
    format!("{subject}{ON}{host}")
}

impl Series {
    /// The host of a server that it was sampled on; none of the clients' machine.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        self.subject.rsplit_once(ON).map(|(_, host)| host)
    }

    /// What was sampled, without the host that it is on.
    #[must_use]
    pub fn own_subject(&self) -> &str {
        let whole = self.subject.as_str();
        whole.rsplit_once(ON).map_or(whole, |(subject, _)| subject)
    }
}
