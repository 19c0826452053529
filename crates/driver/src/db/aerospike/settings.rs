//! What can be set of the driver.

use crate::{Error, Setting, SettingKind, Settings};

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

/// Sorted by name; the defaults of what YCSB's binding has too are YCSB's.
#[rustfmt::skip]
pub(super) const SETTINGS: &[Setting] = &[
    setting("commit_level", "whether a write is acknowledged by all replicas or by the master alone", SettingKind::Choice(&["all", "master"]), "all"),
    setting("connect_timeout_ms", "how long a connection may take to be made", MILLISECONDS, "5000"),
    setting("namespace", "of the server; it must be there", SettingKind::Text, "ycsb"),
    setting("password_file", "a file whose first line is the password", SettingKind::Text, ""),
    setting("request_timeout_ms", "how long a request may take before it counts as failed", MILLISECONDS, "10000"),
    setting("retries", "how often the client library repeats a failed request; they are counted", SettingKind::Integer { min: 0, max: 100 }, "0"),
    setting("send_key", "whether the key itself is stored beside its digest", SettingKind::Flag, "false"),
    setting("set", "of the records; none given: `usertable`", SettingKind::Text, ""),
    setting("tls_ca", "encrypts the connections; the certificates that the servers' are checked against", SettingKind::Text, ""),
    setting("tls_name", "the name in the servers' certificates", SettingKind::Text, ""),
    setting("user", "of the server; none given: no authentication", SettingKind::Text, ""),
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
    if settings.text("tls_ca").is_some() != settings.text("tls_name").is_some() {
        return refuse("tls_name", "given together with `tls_ca`");
    }
    Ok(())
}
