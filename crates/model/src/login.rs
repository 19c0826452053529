//! The login that a plan gives for `ssh`: `db1`, `user@db1` or `ssh://user@db1:port`.

/// The parts of a login; missing parts are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login<'a> {
    /// The user, with a password after a colon if one was written.
    pub user: &'a str,
    /// The host: a name, or an address, which is in brackets if a port follows its colons.
    pub host: &'a str,
    /// The port.
    pub port: &'a str,
}

impl<'a> Login<'a> {
    /// Splits a login in a form that `ssh` accepts.
    pub fn from_text(text: &'a str) -> Self {
        let url = text.strip_prefix("ssh://");
        let rest = url.unwrap_or(text).trim_end_matches('/');
        let (user, host) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (host, port) = match host.rsplit_once(':') {
            // The colons of an address stand in brackets.
            Some((host, port)) if url.is_some() && !port.ends_with(']') => (host, port),
            _ => (host, ""),
        };
        Self { user, host, port }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_has_a_user_a_host_and_a_port() {
        for (login, user, host, port) in [
            ("db1", "", "db1", ""),
            ("root@db1", "root", "db1", ""),
            ("fe80::7", "", "fe80::7", ""),
            ("me@example.org@db1", "me@example.org", "db1", ""),
            ("ssh://db1", "", "db1", ""),
            ("ssh://me@db1/", "me", "db1", ""),
            ("ssh://me@10.1.1.1:2222/", "me", "10.1.1.1", "2222"),
            ("ssh://[fe80::7]", "", "[fe80::7]", ""),
            (
                "ssh://me:secret@[fe80::7]:2222",
                "me:secret",
                "[fe80::7]",
                "2222",
            ),
        ] {
            assert_eq!(
                Login::from_text(login),
                Login { user, host, port },
                "{login}"
            );
        }
    }
}
