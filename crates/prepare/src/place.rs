//! Reasons against mounting a device at the place in the plan. They are checked before the first
//! device is touched, because later is too late.

use super::{Error, Job, file_system_on, in_use, real_path, watch::Unwatched};
use std::{fs, io, path::Path};
use tailmark_machine::mount;

impl Job {
    /// Refuses a directory that the file system of the device cannot be mounted on, or must not.
    /// `makes` says whether that file system is made before.
    ///
    /// # Errors
    /// Names everything that speaks against it.
    pub fn refuse_place(&self, makes: bool) -> Result<(), Error> {
        let Some((row, target, point)) = self.mount() else {
            return Ok(());
        };
        if self.own_mount().is_none() && !makes {
            in_use::refuse_shared(target, &self.request.consent, &Unwatched)?;
        }
        let mut wrong: Vec<String> = target.unstable.iter().cloned().collect();
        let real_point = real_path(point);
        let kept = self.request.consent.kept.iter();
        let below = kept.filter(|kept| real_path(kept).starts_with(&real_point));
        wrong.extend(below.map(|place| format!("`{}` is in it", place.display())));
        if self.own_mount().is_none() {
            wrong.extend(occupied(&real_point));
            let found = if makes {
                Some(row.name.to_owned())
            } else {
                file_system_on(target)?
            };
            if found.as_deref() != Some(row.name) {
                let found = found.unwrap_or_else(|| "no known file system".to_owned());
                wrong.push(format!(
                    "the device holds {found}, not {}; give {} to have tailmark make it",
                    row.name,
                    self.flags()
                ));
            }
        }
        if wrong.is_empty() {
            Ok(())
        } else {
            Err(Error::Place {
                point: point.to_owned(),
                device: target.identity.describe(),
                why: wrong.join("; "),
            })
        }
    }
}

/// Why nothing can be mounted on a directory, which need not be there.
fn occupied(point: &Path) -> Option<String> {
    if let Some(mount) = mount::mounts().iter().rfind(|mount| mount.point == *point) {
        return Some(format!(
            "`{}` ({}) is mounted on it",
            mount.source, mount.kind
        ));
    }
    match fs::read_dir(point) {
        Ok(mut entries) => entries.next().map(|_| "it is not empty".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_something_in_it_or_on_it_is_occupied() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(occupied(&dir.path().join("not yet")), None);
        assert_eq!(occupied(dir.path()), None);
        fs::write(dir.path().join("file"), "").unwrap();
        assert_eq!(occupied(dir.path()).unwrap(), "it is not empty");
        assert!(occupied(&dir.path().join("file")).is_some());
        let said = occupied(Path::new("/proc")).unwrap();
        assert!(said.contains("proc"), "{said}");
    }
}
