//! Settings that all servers share: the time limit of connecting, and credentials.

use crate::{
    Driver, Error, INPUT_BYTES_MAX, Location, Params, Settings, error::BoxError, read_file,
};
use rustix::process::geteuid;
use std::{fs::File, io::Read, os::unix::fs::MetadataExt, path::Path, time::Duration};

/// Awaits connecting to a cluster, with a time limit. `connect_timeout_ms` covers a single
/// connection. The client crates have no limit for some later steps, so a server that accepts
/// connections but never answers would block forever. They may try every contact point twice, and
/// as often every node of the cluster.
pub(crate) async fn in_time<T>(
    location: &Location,
    settings: &Settings,
    connecting: impl Future<Output = Result<T, BoxError>>,
) -> Result<T, BoxError> {
    let attempts = 2 * (location.hosts().count() as u64 + 1);
    let connect_ms = settings.integer("connect_timeout_ms").unwrap_or(1_u64);
    let limit = Duration::from_millis(attempts * connect_ms);
    let connected = tokio::time::timeout(limit, connecting).await;
    connected.unwrap_or_else(|_| {
        Err(format!(
            "the server did not answer within {}ms, {attempts} times `connect_timeout_ms`",
            limit.as_millis()
        )
        .into())
    })
}

/// The error that a database was not opened; `is_final` if the server would refuse every attempt.
pub(crate) fn not_opened(
    driver: &Driver,
    params: &Params,
    is_final: bool,
    source: BoxError,
) -> Error {
    let (driver, place) = (driver.name, params.location.to_string());
    if is_final {
        Error::Refused {
            driver,
            place,
            source,
        }
    } else {
        Error::Open {
            driver,
            place,
            source,
        }
    }
}

/// Bytes of the largest password file.
const PASSWORD_BYTES_MAX: u64 = 4096;

/// Checks that named files can be read, and that a user has a password.
pub(crate) fn check(settings: &Settings) -> Result<(), Error> {
    if let Some(path) = settings.text("tls_ca")
        && let Err(error) = read_file(Path::new(path), INPUT_BYTES_MAX)
    {
        let accepted = format!("a file that can be read ({error})");
        return Err(settings.refuse("tls_ca", &accepted));
    }
    if let Some(path) = settings.text("password_file")
        && let Err(accepted) = password(path)
    {
        return Err(settings.refuse("password_file", &accepted));
    }
    if settings.text("user").is_some() != settings.text("password_file").is_some() {
        return Err(settings.refuse("user", "given together with `password_file`"));
    }
    Ok(())
}

/// User and password, if the settings name them.
pub(crate) fn credentials(settings: &Settings) -> Result<Option<(&str, String)>, BoxError> {
    let (Some(user), Some(file)) = (settings.text("user"), settings.text("password_file")) else {
        return Ok(None);
    };
    let refused =
        |accepted| format!("database.password_file is `{file}`, but it must be {accepted}");
    Ok(Some((user, password(file).map_err(refused)?)))
}

/// The password in a file, or what is accepted if the file is unsuitable. A plan can come from a
/// stranger, and any server that asks gets the content. So the file must be private to its owner,
/// like ssh keys, and contain nothing else.
fn password(path: &str) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("a file that can be read ({error})");
    // Opening a FIFO would wait for its writer.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err("a regular file".to_owned());
    }
    let file = File::open(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err("a regular file".to_owned());
    }
    if found.uid() != geteuid().as_raw() {
        return Err("a file of the user who runs tailmark".to_owned());
    }
    if found.mode() & 0o077 != 0 {
        return Err(format!(
            "a file that others cannot read: chmod 600 '{path}'"
        ));
    }
    let one_line =
        || "a file that holds the password as its only line, of 4 KiB at most".to_owned();
    // Files that the kernel generates, such as the environment in /proc, have no length.
    if found.len() == 0 {
        return Err(one_line());
    }
    let mut text = String::new();
    let read = file.take(PASSWORD_BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|_| one_line())?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    let is_line = !line.is_empty() && !line.chars().any(char::is_control);
    if text.len() as u64 > PASSWORD_BYTES_MAX || !is_line {
        return Err(one_line());
    }
    Ok(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt};

    #[test]
    fn a_password_is_read_only_from_a_file_that_holds_nothing_else_and_is_kept_from_others() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("password");
        let read = |text: &str, mode: u32| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            password(path.to_str().unwrap())
        };
        for text in ["sesame", "sesame\n", "sesame\r\n"] {
            assert_eq!(read(text, 0o600).unwrap(), "sesame");
        }
        let long = "x".repeat(4097);
        for (text, mode, expected) in [
            ("sesame\n", 0o640, "chmod 600"),
            ("sesame\n", 0o604, "chmod 600"),
            ("root:*:20228\ndaemon:*:20228\n", 0o600, "only line"),
            ("", 0o600, "only line"),
            ("\n", 0o600, "only line"),
            ("HOME=/root\0TOKEN=hunter2\0", 0o600, "only line"),
            (&long, 0o600, "4 KiB"),
        ] {
            let refused = read(text, mode).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
        let refused = password(folder.path().to_str().unwrap()).unwrap_err();
        assert!(refused.contains("regular file"), "{refused}");
        assert!(password("/dev/null").unwrap_err().contains("regular file"));
        for made in [
            "/proc/self/environ",
            "/proc/self/cmdline",
            "/proc/self/comm",
        ] {
            assert!(password(made).is_err(), "{made}");
        }
        let shadow = password("/etc/shadow").unwrap_err();
        assert!(!shadow.contains("root:"), "{shadow}");
    }
}
