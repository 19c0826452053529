//! What the settings of servers have in common: where a client connects to, how long that may take,
//! and how it shows who it is.

use crate::{Error, Settings, error::BoxError};
use std::{path::Path, time::Duration};

/// The hosts and ports of `host[:port][,host[:port]]`; `port` where none is named. An IPv6 address
/// has brackets where a port follows, and is given back without.
pub(super) fn contact_points(place: &Path, port: u16) -> Vec<(String, u16)> {
    let place = place.to_string_lossy();
    let points = place.split(',').map(str::trim).filter(|p| !p.is_empty());
    let one = |point: &str| {
        let (host, port) = match point.rsplit_once(':') {
            Some((host, named))
                if !is_bare_v6(point)
                    && let Ok(named) = named.parse() =>
            {
                (host, named)
            }
            _ => (point, port),
        };
        let in_brackets = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        (in_brackets.unwrap_or(host).to_owned(), port)
    };
    points.map(one).collect()
}

fn is_bare_v6(host: &str) -> bool {
    host.parse::<std::net::Ipv6Addr>().is_ok()
}

/// Awaits what is asked of a cluster to connect to it. `connect_timeout_ms` is that of one
/// connection, and the client crates have none for some of what follows it: a server that takes
/// connections and says nothing would be awaited for ever. They may try every contact point
/// twice, and as often what the cluster is made of.
pub(super) async fn in_time<T>(
    place: &Path,
    settings: &Settings,
    connecting: impl Future<Output = Result<T, BoxError>>,
) -> Result<T, BoxError> {
    let attempts = 2 * (contact_points(place, 0).len() as u64 + 1);
    let connect_ms = settings.integer("connect_timeout_ms").unwrap_or(1_u64);
    let limit = Duration::from_millis(attempts * connect_ms);
    let connected = tokio::time::timeout(limit, connecting).await;
    connected.unwrap_or_else(|_| {
        Err(format!(
            "the server did not answer within {limit:?}, {attempts} times `connect_timeout_ms`"
        )
        .into())
    })
}

/// Checks that files which are named can be read, and that a user has a password.
pub(super) fn check(settings: &Settings) -> Result<(), Error> {
    for file in ["password_file", "tls_ca"] {
        if let Some(path) = settings.text(file)
            && std::fs::File::open(path).is_err()
        {
            return Err(settings.refuse(file, "a file that can be read"));
        }
    }
    if settings.text("user").is_some() != settings.text("password_file").is_some() {
        return Err(settings.refuse("user", "given together with `password_file`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_point_without_a_port_gets_the_default() {
        let points = contact_points(Path::new("10.0.0.1, db2:9142,::1,[::1],[::1]:9043,"), 7);
        let expected = [
            ("10.0.0.1", 7),
            ("db2", 9142),
            ("::1", 7),
            ("::1", 7),
            ("::1", 9043),
        ];
        assert_eq!(points, expected.map(|(host, port)| (host.to_owned(), port)));
    }
}
