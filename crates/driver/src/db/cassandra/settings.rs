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
    Setting::new("compression", "how the table is compressed; default: the server's", SettingKind::Choice(&["deflate", "lz4", "none", "snappy", "zstd"]), ""),
    Setting::new("connect_timeout_ms", "time limit for opening a connection", SettingKind::MILLISECONDS, "5000"),
    Setting::new("connections", "connections of each runtime thread to each node (ScyllaDB: each shard)", SettingKind::Integer { min: 1, max: 64 }, "1"),
    Setting::new("datacenter", "only nodes of this datacenter get requests; default: all", SettingKind::Text, ""),
    Setting::new("field_type", "varchar: 7 bits of each byte, as YCSB; blob: all 8", SettingKind::Choice(&["blob", "varchar"]), "varchar"),
    Setting::new("keyspace", "the load creates it if it is missing", SettingKind::Text, "ycsb"),
    Setting::new("nodetool", "the command on each node that makes and imports snapshots", SettingKind::Text, "nodetool"),
    Setting::new("password_file", "file of mode 600 with the password as its only line", SettingKind::Text, ""),
    Setting::new("read_consistency", "consistency of reads and scans", CONSISTENCY, "quorum"),
    Setting::new("replication", "copies of each record in each datacenter, if tailmark creates the keyspace", SettingKind::Integer { min: 1, max: 99 }, "1"),
    Setting::new("request_timeout_ms", "time after which a request counts as failed", SettingKind::MILLISECONDS, "12000"),
    Setting::new("retries", "lets the client library retry failed requests; retries are counted", SettingKind::Flag, "false"),
    Setting::new("speculative_ms", "sends a request again if it takes longer than this; 0: never; repeats are counted", SettingKind::Integer { min: 0, max: 3_600_000 }, "0"),
    Setting::new("tls", "encrypts the connections", SettingKind::Flag, "false"),
    Setting::new("tls_ca", "file of the certificates that verify the servers'; default: the system's", SettingKind::Text, ""),
    Setting::new("user", "user on the server; without it, no authentication", SettingKind::Text, ""),
    Setting::new("wire_compression", "compression of requests and answers", SettingKind::Choice(&["lz4", "none", "snappy"]), "none"),
    Setting::new("write_consistency", "consistency of inserts, updates and deletes", CONSISTENCY, "quorum"),
];

/// Words that CQL does not accept as names without quotes.
const RESERVED: &str = "add allow alter and apply asc authorize batch begin by columnfamily create \
    default delete desc describe drop entries execute from full grant if in index infinity insert into \
    is keyspace limit materialized mbean mbeans modify nan norecursive not null of on or order primary \
    rename replace revoke schema select set table to token truncate unlogged unset update use using \
    view where with";

/// What [`is_name`] accepts.
pub(super) const NAME: &str = "1 to 48 lower-case letters, digits or `_`, beginning with a letter, \
                               and not a reserved word of CQL";

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
    // A server refuses its other keyspaces, but never answers a statement that creates these.
    let is_virtual = |name: &str| matches!(name, "system_views" | "system_virtual_schema");
    if settings.text("keyspace").is_some_and(is_virtual) {
        return Err(settings.refuse("keyspace", "not a virtual keyspace of the server"));
    }
    login::check(settings)?;
    // A user who names certificates does not want plain text.
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
