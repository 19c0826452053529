//! The settings of the driver.

use crate::{Error, Setting, SettingKind, Settings, net::login};

/// Sorted by name.
#[rustfmt::skip]
pub(super) const SETTINGS: &[Setting] = &[
    Setting::new("cluster", "whether the servers are a cluster with slots, which has database 0 alone", SettingKind::Flag, "false"),
    Setting::new("connect_timeout_ms", "how long a connection may take to be made", SettingKind::MILLISECONDS, "5000"),
    Setting::new("database", "the number of the logical database; a data set needs one of its own", SettingKind::Integer { min: 0, max: 65_535 }, "0"),
    Setting::new("password_file", "a file of mode 600 whose only line is the password", SettingKind::Text, ""),
    Setting::new("record", "how a record is kept: as a hash of its fields, or, if it has one field, as a plain string", SettingKind::Choice(&["hash", "raw"]), "hash"),
    Setting::new("request_timeout_ms", "how long a request may take before it counts as failed", SettingKind::MILLISECONDS, "10000"),
    Setting::new("tls", "encrypts the connections", SettingKind::Flag, "false"),
    Setting::new("tls_ca", "the certificates that the servers' are checked against; none given: the system's", SettingKind::Text, ""),
    Setting::new("user", "of the server, `default` if it has passwords alone; none given: no authentication", SettingKind::Text, ""),
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
