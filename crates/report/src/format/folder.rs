//! A folder of files of one kind, such as the charts. What an earlier report left there and this one does not have
//! would be taken for a part of it, so it goes; what others put there stays: a list in the folder says which is which.

use super::write_file;
use crate::Error;
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

/// Writes files, each known by its name without the extension, and removes those of an earlier report.
///
/// # Errors
/// If a file of others is where one belongs, the bytes of one cannot be made or written, or a former file cannot be removed.
pub fn write<T>(
    folder: &Path,
    extension: &str,
    files: &[(String, T)],
    bytes: impl Fn(&T) -> Result<Vec<u8>, Error>,
) -> Result<(), Error> {
    let named = |(name, _): &(String, T)| format!("{name}.{extension}");
    let now: BTreeSet<String> = files.iter().map(named).collect();
    let former = former(folder, extension)?;
    if let Some(foreign) = now
        .difference(&former)
        .map(|name| folder.join(name))
        .find(|p| p.exists())
    {
        return Err(Error::ForeignPage { path: foreign });
    }
    // Whatever ends it before it is done, the list has all that may be there.
    write_list(folder, extension, former.union(&now))?;
    for file in files {
        let bytes = bytes(&file.1)?;
        write_file(&folder.join(named(file)), |out| out.write_all(&bytes))?;
    }
    for name in former.difference(&now) {
        remove(&folder.join(name))?;
    }
    write_list(folder, extension, now.iter())
}

/// Where a folder lists its files of a kind.
fn list(folder: &Path, extension: &str) -> PathBuf {
    folder.join(format!(".tailmark-{extension}"))
}

/// The files of the report before; none that is not directly in the folder, whatever its list says.
fn former(folder: &Path, extension: &str) -> Result<BTreeSet<String>, Error> {
    let path = list(folder, extension);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(source) => return Err(Error::Write { path, source }),
    };
    let suffix = format!(".{extension}");
    let is_own = |name: &&str| !name.contains(['/', '\\', '\0']) && name.ends_with(&suffix);
    Ok(text.lines().filter(is_own).map(str::to_owned).collect())
}

fn write_list<'n>(
    folder: &Path,
    extension: &str,
    names: impl Iterator<Item = &'n String>,
) -> Result<(), Error> {
    let lines: String = names.map(|name| format!("{name}\n")).collect();
    write_file(&list(folder, extension), |out| {
        out.write_all(lines.as_bytes())
    })
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Error::Write {
            path: path.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> BTreeSet<String> {
        let files = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name());
        let names = files.map(|name| name.into_string().unwrap());
        names.filter(|name| !name.starts_with('.')).collect()
    }

    fn written(folder: &Path, extension: &str, files: &[&str]) {
        let files: Vec<(String, ())> = files.iter().map(|name| ((*name).to_owned(), ())).collect();
        write(folder, extension, &files, |()| Ok(Vec::new())).unwrap();
    }

    #[test]
    fn what_an_earlier_report_left_goes_and_what_others_put_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("charts");
        written(&folder, "svg", &["peaks", "load"]);
        written(&folder, "png", &["peaks", "load"]);
        fs::write(folder.join("logo.svg"), "of others").unwrap();
        written(&folder, "svg", &["peaks", "ycsb-a"]);
        let expected = [
            "logo.svg",
            "load.png",
            "peaks.png",
            "peaks.svg",
            "ycsb-a.svg",
        ];
        assert_eq!(names(&folder), expected.map(String::from).into());
    }

    #[test]
    fn a_list_removes_nothing_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("charts");
        written(&folder, "svg", &["peaks"]);
        fs::write(dir.path().join("own.svg"), "of others").unwrap();
        fs::write(folder.join("notes.txt"), "of others").unwrap();
        fs::write(
            list(&folder, "svg"),
            "../own.svg\nnotes.txt\n..\ngone.svg\npeaks.svg\n",
        )
        .unwrap();
        written(&folder, "svg", &["peaks"]);
        assert!(dir.path().join("own.svg").exists() && folder.join("notes.txt").exists());
    }

    #[test]
    fn a_report_that_was_not_finished_leaves_nothing_that_is_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        let files = [("one".to_owned(), 1), ("two".to_owned(), 2)];
        let failed = write(dir.path(), "csv", &files, |n| match n {
            1 => Ok(Vec::new()),
            _ => Err(Error::Draw("made to fail".to_owned())),
        });
        assert!(failed.is_err() && dir.path().join("one.csv").exists());
        written(dir.path(), "csv", &["three"]);
        assert_eq!(names(dir.path()), ["three.csv".to_owned()].into());
    }
}
