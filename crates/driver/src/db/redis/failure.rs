//! The causes under which failed requests are counted.

use crate::{Cause, Failure, error::BoxError};
use redis::{ErrorKind, RedisError, ServerErrorKind};

/// The failure for an error of the client crate.
#[cold]
pub(super) fn failure(error: &RedisError) -> Failure {
    Failure {
        cause: cause(error),
        message: message(error),
    }
}

/// Whether the connection is useless, or leads to a server without the records: one that became a
/// replica, or gave slots away.
pub(super) fn is_lost(error: &RedisError) -> bool {
    use ServerErrorKind::{Ask, ClusterDown, Moved, ReadOnly};
    matches!(
        error.kind(),
        ErrorKind::Server(Ask | ClusterDown | Moved | ReadOnly)
    ) || (cause(error) == Cause::Connection)
}

/// An answer of the server that no second attempt would change.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Refusal(String);

impl Refusal {
    pub(super) const fn new(message: String) -> Self {
        Self(message)
    }
}

/// Why an unmeasured request failed. A refused login, a missing permission or a missing command is
/// final. The client crate calls every error answer to `AUTH` a refused login, even `max number of
/// clients reached`.
pub(super) fn unmeasured(error: &RedisError) -> BoxError {
    let message = message(error);
    match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed, _) | (_, Some("NOAUTH" | "NOPERM" | "WRONGPASS")) => {
            Refusal(message).into()
        }
        _ if unknown_command(error).is_some() => Refusal(message).into(),
        _ => message.into(),
    }
}

/// The command that the server does not know, in quotes, as after `rename-command` in its
/// configuration. Of a transaction, the error holds the errors of all its commands.
fn unknown_command(error: &RedisError) -> Option<String> {
    let said = error.to_string();
    let (_, named) = said.split_once("unknown command ")?;
    named.split([',', ' ']).next().map(str::to_owned)
}

fn cause(error: &RedisError) -> Cause {
    if error.is_timeout() {
        return Cause::Timeout;
    }
    match error.kind() {
        ErrorKind::Io => Cause::Connection,
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => Cause::Corruption,
        ErrorKind::Server(kind) => match kind {
            ServerErrorKind::BusyLoading
            | ServerErrorKind::MasterDown
            | ServerErrorKind::ClusterDown
            | ServerErrorKind::Moved
            | ServerErrorKind::Ask
            | ServerErrorKind::TryAgain
            | ServerErrorKind::ReadOnly => Cause::Unavailable,
            _ => Cause::Other,
        },
        _ => match error.code() {
            Some("OOM") => Cause::Overloaded,
            Some("MISCONF") => Cause::Io,
            Some("NOREPLICAS") => Cause::Unavailable,
            _ if error.is_connection_dropped() => Cause::Connection,
            _ => Cause::Other,
        },
    }
}

/// The error in one line, without any key.
pub(super) fn message(error: &RedisError) -> String {
    if let Some(command) = unknown_command(error) {
        return format!(
            "unknown command {command}: the server renamed it (`rename-command`), but tailmark \
             needs it"
        );
    }
    let said = match (error.kind(), error.code()) {
        (_, Some("OOM")) => {
            return "the server has no memory left (maxmemory) and refuses writes".to_owned();
        }
        (_, Some("MISCONF")) => {
            return "the server could not write its data to disk and refuses writes (MISCONF)"
                .to_owned();
        }
        (ErrorKind::Server(ServerErrorKind::Moved | ServerErrorKind::Ask), _) => {
            return "the cluster moved slots to another node".to_owned();
        }
        (ErrorKind::Server(ServerErrorKind::ReadOnly), _) => {
            return "the server has become a replica, or its master refuses writes".to_owned();
        }
        (_, Some("NOAUTH")) => {
            return "the server requires `user` and `password_file`".to_owned();
        }
        _ => error.to_string(),
    };
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis::{Value, parse_redis_value};

    fn error(line: &str) -> RedisError {
        let value = parse_redis_value(format!("-{line}\r\n").as_bytes());
        value.and_then(Value::extract_error).unwrap_err()
    }

    #[test]
    fn a_refusal_is_counted_by_what_the_server_said() {
        for (line, expected, lost) in [
            (
                "OOM command not allowed when used memory > 'maxmemory'.",
                Cause::Overloaded,
                false,
            ),
            (
                "LOADING Redis is loading the dataset in memory",
                Cause::Unavailable,
                false,
            ),
            ("MISCONF Redis is configured to save", Cause::Io, false),
            ("MOVED 3999 127.0.0.1:6381", Cause::Unavailable, true),
            ("CLUSTERDOWN The cluster is down", Cause::Unavailable, true),
            (
                "READONLY You can't write against a read only replica.",
                Cause::Unavailable,
                true,
            ),
            ("WRONGTYPE Operation against a key", Cause::Other, false),
        ] {
            let error = error(line);
            assert_eq!((cause(&error), is_lost(&error)), (expected, lost), "{line}");
        }
    }

    #[test]
    fn a_refused_login_or_a_missing_command_is_final() {
        for (line, expected) in [
            (
                "ERR unknown command 'INFO', with args beginning with: 'everything' ",
                true,
            ),
            ("ERR syntax error", false),
            ("WRONGPASS invalid username-password pair", true),
            ("NOAUTH Authentication required.", true),
            (
                "NOPERM this user has no permissions to run the 'info' command",
                true,
            ),
            ("LOADING Redis is loading the dataset in memory", false),
        ] {
            let refused = unmeasured(&error(line));
            assert_eq!(
                refused.downcast_ref::<Refusal>().is_some(),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn a_missing_command_is_named_without_its_arguments() {
        let unknown = "ERR unknown command 'HSET', with args beginning with: 'user1' 'field0' ";
        let said = message(&error(unknown));
        assert!(
            said.starts_with("unknown command 'HSET': the server renamed it"),
            "{said}"
        );
        assert!(!said.contains("user1"), "{said}");
    }

    #[test]
    fn a_lost_connection_is_counted_as_one() {
        let lost = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        let lost = RedisError::from(lost);
        assert_eq!((cause(&lost), is_lost(&lost)), (Cause::Connection, true));
    }

    #[test]
    fn full_memory_is_said_in_words() {
        let said = message(&error("OOM command not allowed"));
        assert!(said.contains("no memory left"), "{said}");
    }
}
