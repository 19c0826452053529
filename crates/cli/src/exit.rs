//! The exit code for an error.

use tailmark_console::{Closed, Exit, Refused, closed};
use tailmark_plan as plan;
use tailmark_prepare as prepare;
use tailmark_report as report;
use tailmark_runner as runner;
use tailmark_study as study;

/// The exit code of an error.
pub fn of(error: &anyhow::Error) -> Exit {
    match closed(error) {
        Some(Closed::Pipe) => return Exit::Done,
        Some(Closed::Terminal) => return Exit::Interrupted,
        None => {}
    }
    let is_stopped = |cause: &runner::Error| {
        matches!(
            cause,
            runner::Error::Prepare(prepare::Error::Stopped { .. }) | runner::Error::Stopped { .. }
        )
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
                    report::Error::Refused(_)
                        | report::Error::UnknownSystem { .. }
                        | report::Error::UnknownLatency { .. }
                        | report::Error::UnknownSection { .. }
                        | report::Error::NothingInCommon { .. }
                        | report::Error::NoPointInCommon { .. }
                        | report::Error::UnknownFormat { .. }
                        | report::Error::NoStudies { .. }
                        | report::Error::Files(study::Error::ForeignFile { .. })
                )
            )
            || cause.downcast_ref().is_some_and(study::Error::is_usage)
            || cause.downcast_ref().is_some_and(runner::Error::is_usage)
    });
    if is_usage { Exit::Usage } else { Exit::Failed }
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
        let foreign = study::Error::ForeignFile {
            path: "index.html".into(),
            why: "was not written by tailmark",
        };
        for error in [
            report::Error::NoPointInCommon { known },
            report::Error::Files(foreign),
        ] {
            assert_eq!(of(&error.into()), Exit::Usage);
        }
    }

    #[test]
    fn what_is_wrong_before_anything_was_measured_is_told_from_what_is_wrong_later() {
        assert_eq!(of(&later_marker().into()), Exit::Usage);
        let unreadable = |kind: std::io::ErrorKind| runner::Error::Io {
            action: "read",
            path: "/mnt/a/rocksdb.dataset.json".into(),
            source: kind.into(),
        };
        let denied = unreadable(std::io::ErrorKind::PermissionDenied);
        assert_eq!(of(&denied.into()), Exit::Usage);
        let broken = unreadable(std::io::ErrorKind::InvalidData);
        assert_eq!(of(&broken.into()), Exit::Failed);
        let later = runner::Error::Midway(Box::new(later_marker()));
        assert_eq!(of(&later.into()), Exit::Failed);
    }
}
