//! Why a request failed, as it is counted.

use crate::{Cause, Failure};
use aerospike::{Error, ErrorKind, ResultCode};

/// The failure that an error of the client crate is.
#[cold]
pub(super) fn failure(error: &Error) -> Failure {
    Failure {
        cause: cause(error),
        message: error.to_string(),
    }
}

fn cause(error: &Error) -> Cause {
    if error.is_client_timeout() {
        return Cause::Timeout;
    }
    match error.kind() {
        ErrorKind::Server { rc, .. } => refusal(*rc),
        ErrorKind::Timeout => Cause::Timeout,
        ErrorKind::Connection
        | ErrorKind::ConnectionPoolEmpty
        | ErrorKind::InvalidNode
        | ErrorKind::MaxErrorRate => Cause::Connection,
        ErrorKind::NoMoreConnections => Cause::Overloaded,
        ErrorKind::BadResponse => Cause::Corruption,
        // A wrapper around the one that matters.
        _ => error.cause().map_or(Cause::Other, cause),
    }
}

/// What the server said.
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
    fn what_the_client_gave_up_itself_is_counted_as_other() {
        assert_eq!(cause(&Error::client_error("no")), Cause::Other);
    }
}
