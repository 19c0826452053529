//! The exit code that an error ends with.

use std::fmt;
use tailmark_console::{Closed, Exit, closed};
use tailmark_driver as driver;
use tailmark_host::prepare as host;
use tailmark_plan as plan;
use tailmark_report as report;
use tailmark_results as results;
use tailmark_runner as runner;

/// What was asked for is not there to be done: wrong usage that no crate below knows of. It says what
/// there is.
#[derive(Debug)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// The exit code of an error.
pub fn of(error: &anyhow::Error) -> Exit {
    match closed(error) {
        Some(Closed::Pipe) => return Exit::Done,
        Some(Closed::Terminal) => return Exit::Interrupted,
        None => {}
    }
    let is_stopped = |cause: &runner::Error| {
        matches!(cause, runner::Error::Prepare(host::Error::Stopped { .. }))
    };
    if error
        .chain()
        .any(|cause| cause.downcast_ref().is_some_and(is_stopped))
    {
        return Exit::Interrupted;
    }
    let is_usage = error.chain().any(|cause| {
        cause.is::<plan::Error>()
            || cause.is::<Refused>()
            || matches!(
                cause.downcast_ref(),
                Some(
                    report::Error::UnknownSystem { .. }
                        | report::Error::UnknownLatency { .. }
                        | report::Error::NothingInCommon { .. }
                        | report::Error::NoPointInCommon { .. }
                        | report::Error::NoStudies { .. }
                        | report::Error::ForeignPage { .. }
                )
            )
            || matches!(cause.downcast_ref(), Some(results::Error::Missing { .. }))
            || cause.downcast_ref().is_some_and(is_wrong_plan)
    });
    if is_usage { Exit::Usage } else { Exit::Failed }
}

/// Whether it is what was asked for that is wrong.
fn is_wrong_plan(error: &runner::Error) -> bool {
    use runner::Error as E;
    match error {
        E::Driver(error) => !matches!(error, driver::Error::Database { .. }),
        E::Busy { .. }
        | E::SharedPlace { .. }
        | E::ChangedPlan { .. }
        | E::MissingPlace { .. }
        | E::NoDevice { .. }
        | E::Placeholders { .. }
        | E::SameDevice { .. }
        | E::Unexpected { .. }
        | E::NoRoom { .. }
        | E::ForeignData { .. }
        | E::OtherData { .. }
        | E::UnknownData { .. }
        | E::NotAdopted { .. }
        | E::BadMarker { .. }
        | E::LaterMarker { .. }
        | E::NoSystem { .. }
        | E::NothingToPrepare { .. }
        | E::UnknownSerial { .. }
        | E::PreparedTwice { .. }
        | E::NothingToErase { .. }
        | E::OneMount { .. }
        | E::ResultsOnMount { .. }
        | E::UnknownProbe { .. } => true,
        E::Prepare(error) => !matches!(
            error,
            host::Error::Step { .. } | host::Error::Journal { .. } | host::Error::Damaged { .. }
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn later_marker() -> runner::Error {
        runner::Error::LaterMarker {
            marker: "m".to_owned(),
            version: 2,
            known: 1,
        }
    }

    #[test]
    fn what_a_report_cannot_be_made_of_is_wrong_usage() {
        let known = "a".to_owned();
        let path = "index.html".into();
        for error in [
            report::Error::NoPointInCommon { known },
            report::Error::ForeignPage { path },
        ] {
            assert_eq!(of(&error.into()), Exit::Usage);
        }
    }

    #[test]
    fn what_is_wrong_before_anything_was_measured_is_told_from_what_is_wrong_later() {
        assert_eq!(of(&later_marker().into()), Exit::Usage);
        let later = runner::Error::Midway(Box::new(later_marker()));
        assert_eq!(of(&later.into()), Exit::Failed);
    }
}
