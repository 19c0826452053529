//! The settings of the driver.

use crate::{Error, Semantics, Setting, SettingKind, Settings, net::login};

/// Sorted by name. Defaults of settings that YCSB's binding also has are YCSB's.
#[rustfmt::skip]
pub(super) const SETTINGS: &[Setting] = &[
    Setting::new("commit_level", "whether all replicas acknowledge a write, or only the master", SettingKind::Choice(&["all", "master"]), "all"),
    Setting::new("connect_timeout_ms", "time limit for opening a connection", SettingKind::MILLISECONDS, "5000"),
    Setting::new("insert", "whether an insert of an existing key replaces the record, or fails as in YCSB's binding", SettingKind::Choice(&["create", "replace"]), "replace"),
    Setting::new("namespace", "namespace on the server; it must exist", SettingKind::Text, "ycsb"),
    Setting::new("password_file", "file of mode 600 with the password as its only line", SettingKind::Text, ""),
    Setting::new("request_timeout_ms", "time after which a request counts as failed", SettingKind::MILLISECONDS, "10000"),
    Setting::new("retries", "how often the client library retries a failed request; failed attempts are counted", SettingKind::Integer { min: 0, max: 100 }, "0"),
    Setting::new("send_key", "whether the key itself is stored next to its digest", SettingKind::Flag, "false"),
    Setting::new("set", "set of the records; default `usertable`", SettingKind::Text, ""),
    Setting::new("tls_ca", "encrypts the connections; file of the certificates that verify the servers'", SettingKind::Text, ""),
    Setting::new("tls_name", "name in the servers' certificates", SettingKind::Text, ""),
    Setting::new("update", "whether an update keeps the bins that it does not write, or replaces the whole record as YCSB's binding does", SettingKind::Choice(&["merge", "replace"]), "merge"),
    Setting::new("user", "user on the server; without it, no authentication", SettingKind::Text, ""),
];

/// What [`is_name`] accepts.
pub(super) const NAME: &str = "1 to 63 letters, digits or any of - _ . $ @ +";

/// Whether a name of a namespace or a set may be sent to a server. In the info protocol, other
/// characters would end the name or begin another command.
pub(super) fn is_name(name: &str) -> bool {
    let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"-_.$@+".contains(&b);
    (1..=63).contains(&name.len()) && name.bytes().all(is_letter)
}

/// Whether updates replace the record.
pub(super) fn replaces(settings: &Settings) -> bool {
    settings.text("update") == Some("replace")
}

/// Whether inserting an existing key fails.
pub(super) fn creates(settings: &Settings) -> bool {
    settings.text("insert") == Some("create")
}

/// An update that replaces the record has YCSB's semantics. An update that keeps the other fields
/// has the correct ones.
pub(super) fn semantics(settings: &Settings) -> Option<Semantics> {
    Some(if replaces(settings) {
        Semantics::Faithful
    } else {
        Semantics::Correct
    })
}

/// Checks beyond the table of settings.
pub(super) fn check(settings: &mut Settings) -> Result<(), Error> {
    login::check(settings)?;
    for name in ["namespace", "set"] {
        if settings.text(name).is_some_and(|given| !is_name(given)) {
            return Err(settings.refuse(name, NAME));
        }
    }
    if settings.text("tls_ca").is_some() != settings.text("tls_name").is_some() {
        return Err(settings.refuse("tls_name", "given together with `tls_ca`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_would_end_a_question_to_the_server_is_none() {
        for name in ["usertable", "a-b_c.d$1", "x".repeat(63).as_str()] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "x\ntruncate-namespace:namespace=prod",
            "usertable;set=mine",
            "mine/",
            "a:b",
            "a b",
            "a=b",
            "a,b",
            "ü",
            "x".repeat(64).as_str(),
        ] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
