//! Logins of `ssh` in errors. No password gets from there into an error or a study.

use std::net::Ipv6Addr;
use toml::Value;

/// The key that has logins.
pub(super) const KEY: &str = "ssh";

/// A host for an error, without anything that may be a password: everything from the first colon
/// (or from what `ssh` may take for one, or for parameters) to the last `@`, or to the end.
pub(super) fn shown(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let address = rest.parse::<Ipv6Addr>();
    let parts = rest.split_once([':', ';', '%', '?']);
    match parts.filter(|_| address.is_err()) {
        None => text.to_owned(),
        Some((user, hidden)) => {
            let host = hidden.rsplit_once('@');
            let host = host.map_or(String::new(), |(_, host)| format!("@{host}"));
            format!("{scheme}{user}...{host}")
        }
    }
}

/// The value of a key for an error. Of `ssh` in it, only what may be shown.
pub(super) fn showable(key: &str, value: &Value) -> Value {
    let is_host = key == KEY;
    match value {
        Value::String(text) if is_host => shown(text).into(),
        Value::Table(_) if is_host => "a table".into(),
        Value::Array(items) => {
            let each = items.iter().map(|item| showable(key, item));
            Value::Array(each.collect())
        }
        Value::Table(table) => {
            let each = table.iter();
            let each = each.map(|(name, inner)| (name.clone(), showable(name, inner)));
            Value::Table(each.collect())
        }
        other => other.clone(),
    }
}
