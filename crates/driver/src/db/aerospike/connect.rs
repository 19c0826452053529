//! Connects to a cluster as the settings say.

use super::{DRIVER, failure::one_line};
use crate::{
    Location, Settings,
    error::BoxError,
    net::{aside::PATIENCE, login},
};
use aerospike::{
    AdminPolicy, AuthMode, Client, ClientPolicy, Host, ReadPolicy, TlsPolicy, WritePolicy,
    metrics::MetricsPolicy,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::sync::Arc;

/// Connections of one runtime to a node: as many as it can have clients.
const CONNECTIONS: usize = 1024;
/// The time limit of unmeasured requests.
const UNMEASURED_MS: u32 = 60_000;

/// Contact points in the form of the client crate.
fn hosts(location: &Location, tls_name: &str) -> Vec<Host> {
    let default = DRIVER.port.unwrap_or_default();
    let points = location.hosts();
    points
        .map(|point| Host::new_tls(point.host(), tls_name, point.port_or(default)))
        .collect()
}

/// Connects to the cluster.
pub(super) async fn connect(location: &Location, settings: &Settings) -> Result<Client, BoxError> {
    let mut policy = ClientPolicy {
        connect_timeout: milliseconds(settings, "connect_timeout_ms"),
        max_conns_per_node: CONNECTIONS,
        // tailmark counts failures itself; the client library would hide them.
        max_error_rate: 0,
        ..ClientPolicy::default()
    };
    if let Some((user, password)) = login::credentials(settings)? {
        policy.auth_mode = AuthMode::Internal(user.to_owned(), password);
    }
    if let Some(file) = settings.text("tls_ca") {
        policy.tls_policy = Some(TlsPolicy {
            config: Arc::new(tls(file)?),
            for_login_only: false,
        });
    }
    let hosts = hosts(location, settings.text("tls_name").unwrap_or_default());
    let new = async {
        Client::new(&policy, &hosts)
            .await
            .map_err(|error| one_line(&error).into())
    };
    let client = login::in_time(location, settings, new).await?;
    if settings.integer("retries") != Some(0_usize) {
        client.enable_metrics(MetricsPolicy::default().with_operational(true));
    }
    Ok(client)
}

/// The value of a setting in milliseconds.
pub(super) fn milliseconds(settings: &Settings, name: &str) -> u32 {
    settings.integer(name).unwrap_or(1)
}

fn tls(file: &str) -> Result<ClientConfig, BoxError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file)? {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// The policy for info requests.
pub(super) fn asking() -> AdminPolicy {
    AdminPolicy {
        timeout: UNMEASURED_MS,
    }
}

/// The policy for info requests while clients are at work: no longer than the caller waits.
pub(super) fn asking_aside() -> AdminPolicy {
    AdminPolicy {
        timeout: PATIENCE.as_millis() as u32,
    }
}

/// The policy for unmeasured reads.
pub(super) fn reading() -> ReadPolicy {
    let mut policy = ReadPolicy::default();
    policy.base_policy.total_timeout = UNMEASURED_MS;
    policy
}

/// The policy for unmeasured writes.
pub(super) fn writing() -> WritePolicy {
    let mut policy = WritePolicy::default();
    policy.base_policy.total_timeout = UNMEASURED_MS;
    policy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_point_without_a_port_gets_that_of_the_server() {
        let hosts = hosts(
            &Location::of_hosts("10.0.0.1, db2:3100,::1,[::1]:3100,"),
            "",
        );
        let found: Vec<_> = hosts.iter().map(|h| (h.name.as_str(), h.port)).collect();
        let expected = [
            ("10.0.0.1", 3000),
            ("db2", 3100),
            ("::1", 3000),
            ("::1", 3100),
        ];
        assert_eq!(found, expected);
        assert!(hosts.iter().all(|host| host.tls_name.is_none()));
    }
}
