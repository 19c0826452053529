//! What the settings of servers have in common: how a client shows who it is.

use crate::{Error, Settings};

/// Checks that files which are named can be read, and that a user has a password.
pub(super) fn check(settings: &Settings) -> Result<(), Error> {
    for file in ["password_file", "tls_ca"] {
        if let Some(path) = settings.text(file)
            && std::fs::File::open(path).is_err()
        {
            return Err(settings.refuse(file, "a file that can be read"));
        }
    }
    if settings.text("user").is_some() != settings.text("password_file").is_some() {
        return Err(settings.refuse("user", "given together with `password_file`"));
    }
    Ok(())
}
