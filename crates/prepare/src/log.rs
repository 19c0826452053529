//! The machine's own log of what was done to which device. It remains even if the study is gone.

use super::{JOURNAL_DIRECTORY, state};
use rustix::fs::OFlags;
use std::{fs::OpenOptions, io::Write, os::unix::fs::OpenOptionsExt, path::Path, time::SystemTime};
use tailmark_model::instant::dated;

/// Appends a line with the time to `prepare.log` beside the journal. Failures are ignored, because
/// the observer has the line.
pub fn append_to_log(text: &str) {
    let now = humantime::format_rfc3339_seconds(dated(SystemTime::now()));
    let directory = Path::new(JOURNAL_DIRECTORY);
    let file = state::make_directory(directory).and_then(|()| {
        let mut options = OpenOptions::new();
        options
            .create(true)
            .append(true)
            .mode(state::PUBLIC_MODE)
            // A pipe in its place would wait for a reader.
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
            .open(directory.join("prepare.log"))
    });
    let _ = file.and_then(|mut file| writeln!(file, "{now} {text}"));
}
