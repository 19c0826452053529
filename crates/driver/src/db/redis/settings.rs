//! The settings of the driver.

use crate::{Error, Setting, SettingKind, Settings, net::login};

/// Sorted by name.
#[rustfmt::skip]
pub(super) const SETTINGS: &[Setting] = &[
    Setting::new("cluster", "whether the servers are a cluster with slots, which has only database 0", SettingKind::Flag, "false"),
    Setting::new("connect_timeout_ms", "time limit for opening a connection", SettingKind::MILLISECONDS, "5000"),
    Setting::new("database", "number of the logical database; each data set needs its own", SettingKind::Integer { min: 0, max: 65_535 }, "0"),
    Setting::new("password_file", "file of mode 600 with the password as its only line", SettingKind::Text, ""),
    Setting::new("record", "how a record is stored: as a hash of its fields or, if it has one field, as a plain string", SettingKind::Choice(&["hash", "raw"]), "hash"),
    Setting::new("request_timeout_ms", "time after which a request counts as failed", SettingKind::MILLISECONDS, "10000"),
    Setting::new("tls", "encrypts the connections", SettingKind::Flag, "false"),
    Setting::new("tls_ca", "file of the certificates that verify the servers'; default: the system's", SettingKind::Text, ""),
    Setting::new("user", "user on the server, `default` if it only has a password; without it, no authentication", SettingKind::Text, ""),
];

/// Checks beyond the table of settings.
pub(super) fn check(settings: &mut Settings) -> Result<(), Error> {
    login::check(settings)?;
    if settings.text("tls_ca").is_some() && !settings.flag("tls") {
        return Err(settings.refuse("tls_ca", "given together with `tls = true`"));
    }
    if settings.flag("cluster") && database(settings) != 0 {
        return Err(settings.refuse("database", "0 in a cluster"));
    }
    Ok(())
}

/// The number of the logical database.
pub(super) fn database(settings: &Settings) -> i64 {
    settings.integer("database").unwrap_or(0)
}

/// Whether a record is a plain string.
pub(super) fn is_raw(settings: &Settings) -> bool {
    settings.text("record") == Some("raw")
}
