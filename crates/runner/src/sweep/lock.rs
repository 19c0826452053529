//! The run directory, which one run at a time has.

use crate::Error;
use std::{fs, path::Path};
use tailmark_driver::LockedFile;

/// Makes the run directory, and holds it until it is dropped.
///
/// # Errors
/// Where it cannot be made, or another run holds it.
pub fn lock(out: &Path) -> Result<LockedFile, Error> {
    let failed = |action| {
        move |source| Error::Io {
            action,
            path: out.to_owned(),
            source,
        }
    };
    fs::create_dir_all(out).map_err(failed("create"))?;
    let io = failed("lock");
    let busy = || Error::Busy {
        dir: out.to_owned(),
    };
    let directory = fs::File::open(out).map_err(&io)?;
    LockedFile::new(directory).map_err(io)?.ok_or_else(busy)
}
