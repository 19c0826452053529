//! Connects to a cluster as the settings say.

use super::{DRIVER, settings::consistency};
use crate::{HostPort, Location, Settings, error::BoxError, net::login};
use scylla::errors::NewSessionError;
use scylla::{
    client::{
        PoolSize,
        execution_profile::{ExecutionProfile, ExecutionProfileBuilder},
        session::Session,
        session_builder::SessionBuilder,
    },
    frame::{Compression, types::Consistency},
    policies::{
        load_balancing::{DefaultPolicy, NodeIdentifier, SingleTargetLoadBalancingPolicy},
        retry::{
            DefaultRetryPolicy, DowngradingConsistencyRetryPolicy, FallthroughRetryPolicy,
            RetryPolicy,
        },
        speculative_execution::SimpleSpeculativeExecutionPolicy,
    },
};
use std::{num::NonZeroUsize, sync::Arc, time::Duration};

/// The time limit of unmeasured requests, such as TRUNCATE.
const UNMEASURED: Duration = Duration::from_secs(60);

/// Contact points in the form of the client crate.
fn contact_points(location: &Location) -> Vec<String> {
    let with_port = |point: &HostPort| point.address(DRIVER.port.unwrap_or_default());
    location.hosts().map(with_port).collect()
}

/// Connects to the cluster. Knows the metadata of `keyspace` only. Statements use `profile` unless
/// they say otherwise.
pub(super) async fn connect(
    location: &Location,
    settings: &Settings,
    keyspace: &str,
    profile: ExecutionProfile,
) -> Result<Session, BoxError> {
    let milliseconds = |name| Duration::from_millis(settings.integer(name).unwrap_or(1));
    let connections = settings.integer("connections").and_then(NonZeroUsize::new);
    let mut builder = SessionBuilder::new()
        .known_nodes(contact_points(location))
        .connection_timeout(milliseconds("connect_timeout_ms"))
        .pool_size(PoolSize::PerShard(connections.unwrap_or(NonZeroUsize::MIN)))
        .compression(match settings.text("wire_compression") {
            Some("lz4") => Some(Compression::Lz4),
            Some("snappy") => Some(Compression::Snappy),
            _ => None,
        })
        .keyspaces_to_fetch([keyspace])
        .default_execution_profile_handle(profile.into_handle());
    if let Some((user, password)) = login::credentials(settings)? {
        builder = builder.user(user, password);
    }
    if settings.flag("tls") {
        builder = builder.tls_context(Some(tls(settings)?));
    }
    let build = async { builder.build().await.map_err(|error| said(&error).into()) };
    login::in_time(location, settings, build).await
}

/// Sends all further statements to the node that answers now, and to no other. So a removal goes
/// where tailmark looked, even if the cluster names other nodes in the meantime.
pub(super) async fn stay(session: &Session) -> Result<(), BoxError> {
    let select = "SELECT host_id FROM system.local";
    let answer = session.query_unpaged(select, ()).await?;
    let node = NodeIdentifier::HostId(answer.request_coordinator().node().host_id);
    let policy = SingleTargetLoadBalancingPolicy::new(node, None);
    let mut handle = session.get_default_execution_profile_handle().clone();
    let profile = handle.pointee_to_builder().load_balancing_policy(policy);
    handle.map_to_another_profile(profile.build());
    Ok(())
}

/// The error without the client crate's context, which it repeats at every level.
fn said(error: &NewSessionError) -> String {
    if let NewSessionError::FailedToResolveAnyHostname(hosts) = error {
        return format!("no address is known for {}", hosts.join(", "));
    }
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let text = innermost.to_string();
    let why = text
        .rsplit_once(" failed with: ")
        .map_or(&*text, |(_, why)| why);
    if why.contains("Authentication is required") {
        "the server requires `user` and `password_file`".to_owned()
    } else {
        why.to_owned()
    }
}

fn tls(settings: &Settings) -> Result<openssl::ssl::SslConnectorBuilder, BoxError> {
    let mut builder = openssl::ssl::SslConnector::builder(openssl::ssl::SslMethod::tls())?;
    match settings.text("tls_ca") {
        Some(file) => builder.set_ca_file(file)?,
        // An OpenSSL that is part of the program does not know where the system has its own.
        None => {
            if let Some(file) = openssl_probe::probe().cert_file {
                builder.set_ca_file(file)?;
            }
        }
    }
    Ok(builder)
}

/// The profile of measured requests: no second attempt, unless requested.
pub(super) fn measured(settings: &Settings) -> ExecutionProfile {
    let timeout = settings.integer("request_timeout_ms").unwrap_or(1);
    let mut profile = balanced(settings)
        .request_timeout(Some(Duration::from_millis(timeout)))
        .consistency(consistency(settings, "read_consistency"))
        .retry_policy(if settings.flag("retries") {
            Arc::new(DefaultRetryPolicy::new())
        } else {
            Arc::new(FallthroughRetryPolicy::new())
        });
    let speculative = settings.integer("speculative_ms").unwrap_or(0);
    if speculative > 0 {
        let policy = SimpleSpeculativeExecutionPolicy {
            max_retry_count: 1,
            retry_interval: Duration::from_millis(speculative),
        };
        profile = profile.speculative_execution_policy(Some(Arc::new(policy)));
    }
    profile.build()
}

/// The profile of unmeasured requests. A plan whose consistency is below a quorum can continue
/// without some nodes, and so does this profile. But it asks for a quorum first, so that a marker
/// that was written is the one that is read. A plan above a quorum finds the cluster ready only
/// when it is. It gets the first refusal, because a second attempt would only say that there is no
/// other node.
pub(super) fn unmeasured(settings: &Settings) -> ExecutionProfile {
    let measured = consistency(settings, "read_consistency");
    let (consistency, retry): (_, Arc<dyn RetryPolicy>) = match measured {
        Consistency::One | Consistency::LocalOne | Consistency::Two => (
            match settings.text("datacenter") {
                Some(_) => Consistency::LocalQuorum,
                None => Consistency::Quorum,
            },
            Arc::new(DowngradingConsistencyRetryPolicy::new()),
        ),
        _ => (measured, Arc::new(FallthroughRetryPolicy::new())),
    };
    balanced(settings)
        .request_timeout(Some(UNMEASURED))
        .consistency(consistency)
        .retry_policy(retry)
        .build()
}

/// The choice of nodes.
fn balanced(settings: &Settings) -> ExecutionProfileBuilder {
    let mut balancing = DefaultPolicy::builder().token_aware(true);
    if let Some(datacenter) = settings.text("datacenter") {
        balancing = balancing.prefer_datacenter(datacenter.to_owned());
    }
    ExecutionProfile::builder().load_balancing_policy(balancing.build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_point_without_a_port_gets_that_of_cql() {
        let points = contact_points(&Location::of_hosts("10.0.0.1, db2:9142,::1,[::1]:9043,"));
        let expected = ["10.0.0.1:9042", "db2:9142", "[::1]:9042", "[::1]:9043"];
        assert_eq!(points, expected);
    }
}
