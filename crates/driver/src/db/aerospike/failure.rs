//! The causes under which failed requests are counted.

use crate::{Cause, Failure};
use aerospike::{Error, ErrorKind, ResultCode};

/// The failure for an error of the client crate.
#[cold]
pub(super) fn failure(error: &Error) -> Failure {
    Failure {
        cause: cause(error),
        message: one_line(error),
    }
}

/// The error in one line. The client crate uses a line for each attempt and cause.
pub(super) fn one_line(error: &Error) -> String {
    let text = error.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cause(error: &Error) -> Cause {
    // A request that is not retried always ends as a time-out. The cause shows why it failed.
    if let Some(found) = error.cause().map(cause)
        && found != Cause::Other
    {
        return found;
    }
    match error.kind() {
        ErrorKind::Server { rc, .. } => refusal(*rc),
        ErrorKind::Timeout => Cause::Timeout,
        ErrorKind::Connection
        | ErrorKind::ConnectionPoolEmpty
        | ErrorKind::InvalidNode
        | ErrorKind::Io(_)
        | ErrorKind::MaxErrorRate => Cause::Connection,
        ErrorKind::NoMoreConnections => Cause::Overloaded,
        ErrorKind::BadResponse => Cause::Corruption,
        _ => Cause::Other,
    }
}

/// The cause for an answer of the server.
fn refusal(code: ResultCode) -> Cause {
    match code {
        ResultCode::Timeout => Cause::Timeout,
        ResultCode::PartitionUnavailable => Cause::Unavailable,
        ResultCode::DeviceOverload | ResultCode::KeyBusy | ResultCode::ServerMemError => {
            Cause::Overloaded
        }
        _ => Cause::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_counted_by_what_the_server_said() {
        for (code, expected) in [
            (ResultCode::Timeout, Cause::Timeout),
            (ResultCode::PartitionUnavailable, Cause::Unavailable),
            (ResultCode::DeviceOverload, Cause::Overloaded),
            (ResultCode::ParameterError, Cause::Other),
        ] {
            assert_eq!(refusal(code), expected, "{code:?}");
        }
    }

    #[test]
    fn what_is_wrapped_is_counted_by_its_cause() {
        let lost = Error::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        assert_eq!(cause(&lost.chain_error("no luck")), Cause::Connection);
    }

    #[test]
    fn a_message_is_one_line() {
        let lost = Error::from(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
        let message = failure(&lost.chain_error("no luck")).message;
        assert!(
            message.contains("no luck") && message.contains("connection reset"),
            "{message}"
        );
        assert!(!message.contains(['\n', '{']), "{message}");
    }

    #[test]
    fn what_the_client_gave_up_itself_is_counted_as_other() {
        assert_eq!(cause(&Error::client_error("no")), Cause::Other);
    }
}
