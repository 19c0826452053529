//! What can be set of the driver.

use crate::{Error, Setting, SettingKind, Settings};
use scylla::frame::types::Consistency;

const fn setting(
    name: &'static str,
    about: &'static str,
    kind: SettingKind,
    default: &'static str,
) -> Setting {
    Setting {
        name,
        about,
        kind,
        default,
    }
}

const MILLISECONDS: SettingKind = SettingKind::Integer {
    min: 1,
    max: 3_600_000,
};

const CONSISTENCY: SettingKind = SettingKind::Choice(&[
    "all",
    "each_quorum",
    "local_one",
    "local_quorum",
    "one",
    "quorum",
    "three",
    "two",
]);

/// Sorted by name; the defaults of what YCSB's binding has too are YCSB's.
#[rustfmt::skip]
pub(super) const SETTINGS: &[Setting] = &[
    setting("compression", "how the table is compressed; none given: the server's default", SettingKind::Choice(&["deflate", "lz4", "none", "snappy", "zstd"]), ""),
    setting("connect_timeout_ms", "how long a connection may take to be made", MILLISECONDS, "5000"),
    setting("connections", "to each node (each shard of ScyllaDB), of each runtime thread", SettingKind::Integer { min: 1, max: 64 }, "1"),
    setting("datacenter", "whose nodes are preferred; none given: all nodes alike", SettingKind::Text, ""),
    setting("field_type", "varchar: as YCSB, 7 bits of each byte; blob: all 8", SettingKind::Choice(&["blob", "varchar"]), "varchar"),
    setting("keyspace", "made by the load where it is missing", SettingKind::Text, "ycsb"),
    setting("password_file", "a file whose first line is the password", SettingKind::Text, ""),
    setting("read_consistency", "of reads and scans", CONSISTENCY, "quorum"),
    setting("replication", "copies of each record in each datacenter, for a keyspace that is made", SettingKind::Integer { min: 1, max: 99 }, "1"),
    setting("request_timeout_ms", "how long a request may take before it counts as failed", MILLISECONDS, "12000"),
    setting("retries", "lets the client library repeat failed requests; they are counted", SettingKind::Flag, "false"),
    setting("speculative_ms", "sends a request a second time after so long; 0: never; they are counted", SettingKind::Integer { min: 0, max: 3_600_000 }, "0"),
    setting("tls", "encrypts the connections", SettingKind::Flag, "false"),
    setting("tls_ca", "the certificates that the servers' are checked against; none given: the system's", SettingKind::Text, ""),
    setting("user", "of the server; none given: no authentication", SettingKind::Text, ""),
    setting("wire_compression", "of requests and answers", SettingKind::Choice(&["lz4", "none", "snappy"]), "none"),
    setting("write_consistency", "of inserts, updates and deletes", CONSISTENCY, "quorum"),
];

/// Checks what the table cannot.
pub(super) fn check(settings: &Settings) -> Result<(), Error> {
    let refuse = |name: &str, accepted: &str| {
        Err(Error::BadSetting {
            name: name.to_owned(),
            value: settings.text(name).unwrap_or_default().to_owned(),
            accepted: accepted.to_owned(),
        })
    };
    let is_name = |name: &str| {
        (1..=48).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    if !settings.text("keyspace").is_some_and(is_name) {
        return refuse("keyspace", "1 to 48 lower-case letters, digits or `_`");
    }
    for file in ["password_file", "tls_ca"] {
        if let Some(path) = settings.text(file)
            && std::fs::File::open(path).is_err()
        {
            return refuse(file, "a file that can be read");
        }
    }
    if settings.text("user").is_some() != settings.text("password_file").is_some() {
        return refuse("user", "given together with `password_file`");
    }
    Ok(())
}

/// The consistency that a setting names.
pub(super) fn consistency(settings: &Settings, name: &str) -> Consistency {
    match settings.text(name) {
        Some("all") => Consistency::All,
        Some("each_quorum") => Consistency::EachQuorum,
        Some("local_one") => Consistency::LocalOne,
        Some("local_quorum") => Consistency::LocalQuorum,
        Some("one") => Consistency::One,
        Some("three") => Consistency::Three,
        Some("two") => Consistency::Two,
        _ => Consistency::Quorum,
    }
}
