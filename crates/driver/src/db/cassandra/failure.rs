//! The causes under which failed requests are counted.

use crate::{Cause, Failure};
use scylla::errors::{DbError, ExecutionError, RequestAttemptError};

/// The failure for an error of the client crate.
#[cold]
pub(super) fn failure(error: &ExecutionError) -> Failure {
    Failure {
        cause: cause(error),
        message: error.to_string(),
    }
}

fn cause(error: &ExecutionError) -> Cause {
    match error {
        ExecutionError::RequestTimeout(_) => Cause::Timeout,
        // No node could take the request.
        ExecutionError::ConnectionPoolError(_) | ExecutionError::EmptyPlan => Cause::Connection,
        ExecutionError::LastAttemptError(attempt) => match attempt {
            RequestAttemptError::BrokenConnectionError(_) => Cause::Connection,
            RequestAttemptError::UnableToAllocStreamId => Cause::Overloaded,
            RequestAttemptError::DbError(refused, _) => refusal(refused),
            _ => Cause::Other,
        },
        _ => Cause::Other,
    }
}

/// The cause for an answer of the server.
fn refusal(refused: &DbError) -> Cause {
    match refused {
        DbError::ReadTimeout { .. } | DbError::WriteTimeout { .. } => Cause::Timeout,
        DbError::Unavailable { .. } | DbError::IsBootstrapping => Cause::Unavailable,
        DbError::Overloaded | DbError::RateLimitReached { .. } => Cause::Overloaded,
        // A replica could not read or write its own files.
        DbError::ReadFailure { .. } | DbError::WriteFailure { .. } => Cause::Io,
        _ => Cause::Other,
    }
}

/// A table of another program stands where tailmark would have its own.
#[derive(Debug, thiserror::Error)]
#[error("{0}; give another `keyspace`")]
pub(super) struct ForeignTable(pub(super) String);

/// Whether an error is an answer of the server that no second attempt changes. An invalid statement is
/// none: a node that does not know a new table yet says that too.
pub(super) fn is_final(error: &(dyn std::error::Error + 'static)) -> bool {
    if error.is::<ForeignTable>() {
        return true;
    }
    matches!(
        error.downcast_ref(),
        Some(ExecutionError::LastAttemptError(
            RequestAttemptError::DbError(
                DbError::SyntaxError | DbError::Unauthorized | DbError::ConfigError,
                _,
            )
        ))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use scylla::frame::types::Consistency;
    use std::time::Duration;

    fn db(refused: DbError) -> ExecutionError {
        RequestAttemptError::DbError(refused, "says why".to_owned()).into()
    }

    #[test]
    fn a_refusal_is_counted_by_what_the_server_said() {
        let consistency = Consistency::Quorum;
        let unavailable = DbError::Unavailable {
            consistency,
            required: 2,
            alive: 1,
        };
        let timeout = DbError::ReadTimeout {
            consistency,
            received: 1,
            required: 2,
            data_present: false,
        };
        for (error, expected) in [
            (db(unavailable), Cause::Unavailable),
            (db(timeout), Cause::Timeout),
            (db(DbError::Overloaded), Cause::Overloaded),
            (db(DbError::Invalid), Cause::Other),
            (
                ExecutionError::RequestTimeout(Duration::from_secs(1)),
                Cause::Timeout,
            ),
            (ExecutionError::EmptyPlan, Cause::Connection),
        ] {
            assert_eq!(cause(&error), expected, "{error}");
        }
    }

    #[test]
    fn the_message_says_what_the_server_said() {
        let said = failure(&db(DbError::Overloaded)).message;
        assert!(
            said.contains("overloaded") && said.contains("says why"),
            "{said}"
        );
    }
}
