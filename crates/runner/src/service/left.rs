//! Detects a server that answers before its service was started, perhaps left by an earlier run.
//! Without a `stop` command, it would be in the way of the server to be measured, or be measured in
//! its place.

use std::{
    net::{TcpStream, ToSocketAddrs},
    time::Duration,
};
use tailmark_plan::SystemPlan;

/// How long a contact point may take to answer.
const ANSWERS: Duration = Duration::from_secs(1);

/// The notice that a server answers although the service of a system is not started yet, and has no
/// `stop`.
pub(crate) fn left_running(system: &SystemPlan) -> Option<String> {
    let service = system.service.as_ref()?;
    if service.stop().is_some() {
        return None;
    }
    let points = system.location.hosts().map(ToString::to_string);
    let answering = points.into_iter().find(|point| answers(point))?;
    Some(format!(
        "system `{}`: a server answers at {answering} before tailmark starts its service, which \
         has no `stop`. The run may measure that server, which an earlier run may have left. Stop \
         it, or set service.stop",
        system.name
    ))
}

/// Whether a contact point accepts a connection; false if it names no port.
fn answers(point: &str) -> bool {
    let addresses = point.to_socket_addrs().into_iter().flatten();
    addresses
        .into_iter()
        .any(|address| TcpStream::connect_timeout(&address, ANSWERS).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use tailmark_plan::RawPlan;

    #[test]
    fn a_server_that_nothing_stops_is_told_where_it_answers_before_it_is_started() {
        let said = |address: &str, service: &str| {
            let text = format!(
                "[database]\ndriver = 'cassandra'\n[[system]]\nname = 'a'\ncontact_points = '{address}'\n\
                 service = {{ {service} }}"
            );
            let plan = RawPlan::parse("test", &text).and_then(|raw| raw.check());
            left_running(&plan.unwrap().systems[0])
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let left = said(&address, "start = 'exec db'").unwrap();
        assert!(
            left.contains(&address) && left.contains("service.stop"),
            "{left}"
        );
        assert_eq!(said(&address, "start = 'db start', stop = 'db stop'"), None);
        drop(listener);
        assert_eq!(said(&address, "start = 'exec db'"), None);
    }
}
