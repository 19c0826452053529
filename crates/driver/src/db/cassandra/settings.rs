//! The settings of the driver.

use crate::{Error, Setting, SettingKind, Settings, net::login};
use scylla::frame::types::Consistency;

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

/// Sorted by name. Defaults of settings that YCSB's binding also has are YCSB's.
#[rustfmt::skip]
pub(super) const SETTINGS: &[Setting] = &[
    Setting::new("compression", "how the table is compressed; none given: the server's default", SettingKind::Choice(&["deflate", "lz4", "none", "snappy", "zstd"]), ""),
    Setting::new("connect_timeout_ms", "how long a connection may take to be made", SettingKind::MILLISECONDS, "5000"),
    Setting::new("connections", "to each node (each shard of ScyllaDB), of each runtime thread", SettingKind::Integer { min: 1, max: 64 }, "1"),
    Setting::new("datacenter", "whose nodes alone are asked; none given: those of all", SettingKind::Text, ""),
    Setting::new("field_type", "varchar: as YCSB, 7 bits of each byte; blob: all 8", SettingKind::Choice(&["blob", "varchar"]), "varchar"),
    Setting::new("keyspace", "made by the load where it is missing", SettingKind::Text, "ycsb"),
    Setting::new("password_file", "a file of mode 600 whose only line is the password", SettingKind::Text, ""),
    Setting::new("read_consistency", "of reads and scans", CONSISTENCY, "quorum"),
    Setting::new("replication", "copies of each record in each datacenter, for a keyspace that is made", SettingKind::Integer { min: 1, max: 99 }, "1"),
    Setting::new("request_timeout_ms", "how long a request may take before it counts as failed", SettingKind::MILLISECONDS, "12000"),
    Setting::new("retries", "lets the client library repeat failed requests; they are counted", SettingKind::Flag, "false"),
    Setting::new("speculative_ms", "sends a request a second time after so long; 0: never; they are counted", SettingKind::Integer { min: 0, max: 3_600_000 }, "0"),
    Setting::new("tls", "encrypts the connections", SettingKind::Flag, "false"),
    Setting::new("tls_ca", "the certificates that the servers' are checked against; none given: the system's", SettingKind::Text, ""),
    Setting::new("user", "of the server; none given: no authentication", SettingKind::Text, ""),
    Setting::new("wire_compression", "of requests and answers", SettingKind::Choice(&["lz4", "none", "snappy"]), "none"),
    Setting::new("write_consistency", "of inserts, updates and deletes", CONSISTENCY, "quorum"),
];

/// Words that CQL does not accept as names without quotes.
const RESERVED: &str = "add allow alter and apply asc authorize batch begin by columnfamily create \
    default delete desc describe drop entries execute from full grant if in index infinity insert into \
    is keyspace limit materialized mbean mbeans modify nan norecursive not null of on or order primary \
    rename replace revoke schema select set table to token truncate unlogged unset update use using \
    view where with";

/// What [`is_name`] accepts.
pub(super) const NAME: &str =
    "1 to 48 lower-case letters, digits or `_`, a letter first, and no reserved word of CQL";

/// Whether a name means the same in CQL without quotes. A name with upper-case letters does not.
pub(super) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    (1..=48).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && !RESERVED.split_ascii_whitespace().any(|word| word == name)
}

/// Checks beyond the table of settings.
pub(super) fn check(settings: &mut Settings) -> Result<(), Error> {
    if !settings.text("keyspace").is_some_and(is_name) {
        return Err(settings.refuse("keyspace", NAME));
    }
    // A server refuses its other keyspaces itself, but does not answer a statement that creates these.
    let is_virtual = |name: &str| matches!(name, "system_views" | "system_virtual_schema");
    if settings.text("keyspace").is_some_and(is_virtual) {
        return Err(settings.refuse("keyspace", "no virtual keyspace of the server"));
    }
    login::check(settings)?;
    // Whoever names certificates does not want plain text.
    if settings.text("tls_ca").is_some() && !settings.flag("tls") {
        return Err(settings.refuse("tls_ca", "given together with `tls`"));
    }
    Ok(())
}

/// The consistency of a setting.
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
