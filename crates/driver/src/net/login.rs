//! What the settings of servers have in common: how long it may take to connect, and how a client
//! shows who it is.

use crate::{Error, Location, Settings, error::BoxError};
use std::time::Duration;

/// Awaits what is asked of a cluster to connect to it. `connect_timeout_ms` is that of one
/// connection, and the client crates have none for some of what follows it: a server that takes
/// connections and says nothing would be awaited for ever. They may try every contact point
/// twice, and as often what the cluster is made of.
pub(crate) async fn in_time<T>(
    location: &Location,
    settings: &Settings,
    connecting: impl Future<Output = Result<T, BoxError>>,
) -> Result<T, BoxError> {
    let attempts = 2 * (location.hosts().count() as u64 + 1);
    let connect_ms = settings.integer("connect_timeout_ms").unwrap_or(1_u64);
    let limit = Duration::from_millis(attempts * connect_ms);
    let connected = tokio::time::timeout(limit, connecting).await;
    connected.unwrap_or_else(|_| {
        Err(format!(
            "the server did not answer within {}ms, {attempts} times `connect_timeout_ms`",
            limit.as_millis()
        )
        .into())
    })
}

/// Checks that files which are named can be read, and that a user has a password.
pub(crate) fn check(settings: &Settings) -> Result<(), Error> {
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
