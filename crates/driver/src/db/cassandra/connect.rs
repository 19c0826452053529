//! Connects to a cluster as the settings say.

use super::settings::consistency;
use crate::{Settings, error::BoxError};
use scylla::{
    client::{
        PoolSize, execution_profile::ExecutionProfile, session::Session,
        session_builder::SessionBuilder,
    },
    frame::Compression,
    policies::{
        load_balancing::DefaultPolicy,
        retry::{DefaultRetryPolicy, FallthroughRetryPolicy},
        speculative_execution::SimpleSpeculativeExecutionPolicy,
    },
};
use std::{fs, num::NonZeroUsize, path::Path, time::Duration};

/// The port of CQL where a contact point names none.
const PORT: u16 = 9042;

/// `host[:port][,host[:port]]` as the client crate takes them.
pub(super) fn contact_points(hosts: &Path) -> Vec<String> {
    let with_port = |host: &str| match host.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() && !is_bare_v6(host) => host.to_owned(),
        _ if is_bare_v6(host) => format!("[{host}]:{PORT}"),
        _ => format!("{host}:{PORT}"),
    };
    let hosts = hosts.to_string_lossy();
    let hosts = hosts.split(',').map(str::trim).filter(|h| !h.is_empty());
    hosts.map(with_port).collect()
}

fn is_bare_v6(host: &str) -> bool {
    host.parse::<std::net::Ipv6Addr>().is_ok()
}

/// Connects to the cluster; knows the metadata of `keyspace` only.
pub(super) async fn connect(
    hosts: &Path,
    settings: &Settings,
    keyspace: &str,
) -> Result<Session, BoxError> {
    let milliseconds = |name| Duration::from_millis(settings.integer(name).unwrap_or(1));
    let connections = settings.integer("connections").and_then(NonZeroUsize::new);
    let mut builder = SessionBuilder::new()
        .known_nodes(contact_points(hosts))
        .connection_timeout(milliseconds("connect_timeout_ms"))
        .pool_size(PoolSize::PerShard(connections.unwrap_or(NonZeroUsize::MIN)))
        .compression(match settings.text("wire_compression") {
            Some("lz4") => Some(Compression::Lz4),
            Some("snappy") => Some(Compression::Snappy),
            _ => None,
        })
        .keyspaces_to_fetch([keyspace])
        .default_execution_profile_handle(profile(settings).into_handle());
    if let (Some(user), Some(file)) = (settings.text("user"), settings.text("password_file")) {
        let password = fs::read_to_string(file)?;
        builder = builder.user(user, password.lines().next().unwrap_or_default());
    }
    if settings.flag("tls") {
        builder = builder.tls_context(Some(tls(settings)?));
    }
    builder.build().await.map_err(|error| said(&error).into())
}

/// What went wrong, without what the client crate was about when it did: it says so at every level.
fn said(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    let why = text
        .rsplit_once(" failed with: ")
        .map_or(&*text, |(_, why)| why);
    match why.contains("Authentication is required") {
        true => "the server wants a `user` and a `password_file`".to_owned(),
        false => why.to_owned(),
    }
}

fn tls(settings: &Settings) -> Result<openssl::ssl::SslConnectorBuilder, BoxError> {
    let mut builder = openssl::ssl::SslConnector::builder(openssl::ssl::SslMethod::tls())?;
    if let Some(file) = settings.text("tls_ca") {
        builder.set_ca_file(file)?;
    }
    Ok(builder)
}

/// What holds for every request: no second attempt, unless asked for.
fn profile(settings: &Settings) -> ExecutionProfile {
    let timeout = settings.integer("request_timeout_ms").unwrap_or(1);
    let mut balancing = DefaultPolicy::builder().token_aware(true);
    if let Some(datacenter) = settings.text("datacenter") {
        balancing = balancing.prefer_datacenter(datacenter.to_owned());
    }
    let mut profile = ExecutionProfile::builder()
        .request_timeout(Some(Duration::from_millis(timeout)))
        .consistency(consistency(settings, "read_consistency"))
        .load_balancing_policy(balancing.build());
    profile = match settings.flag("retries") {
        true => profile.retry_policy(std::sync::Arc::new(DefaultRetryPolicy::new())),
        false => profile.retry_policy(std::sync::Arc::new(FallthroughRetryPolicy::new())),
    };
    let speculative = settings.integer("speculative_ms").unwrap_or(0);
    if speculative > 0 {
        let policy = SimpleSpeculativeExecutionPolicy {
            max_retry_count: 1,
            retry_interval: Duration::from_millis(speculative),
        };
        profile = profile.speculative_execution_policy(Some(std::sync::Arc::new(policy)));
    }
    profile.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_point_without_a_port_gets_that_of_cql() {
        let points = contact_points(Path::new("10.0.0.1, db2:9142,::1,[::1]:9043,"));
        let expected = ["10.0.0.1:9042", "db2:9142", "[::1]:9042", "[::1]:9043"];
        assert_eq!(points, expected);
    }
}
