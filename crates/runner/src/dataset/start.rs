//! The start: files of a data set as it was loaded, kept beside it, from which later points begin.
//!
//! Its directory has a mark before it has files, and the mark says when they are whole. So a killed
//! run leaves a whole start or one that the next run removes, and a directory of another program
//! under that name is told from both.

use super::{
    Dataset, State,
    copying::{self, Final},
    holds_something, identity,
    marker::{self, Marker, failed, read_file_itself},
    trial::{DATA, MARK, is_empty, is_real},
    wal,
};
use crate::{Error, claimed::KEPT_START};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};
use tailmark_driver::{DataSet, Driver, Location, Params};
use tailmark_engine::Stop;
use tailmark_plan::Restore;
use tailmark_study::{create_dir_with, left_drafts};

/// The content of the mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    /// The marker of the data set when it was kept.
    start_of: Marker,
    /// Whether all its files are there.
    is_whole: bool,
    /// The bytes of each, by its path.
    files: BTreeMap<PathBuf, u64>,
}

/// A kept start, or what is left of one.
#[derive(Debug)]
pub(super) struct Start {
    directory: PathBuf,
    /// `None` if a run was killed before it wrote one.
    mark: Option<Mark>,
    /// For opening or removing its files.
    params: Params,
}

/// The directory of the start of the data at `data`.
pub(super) fn directory(data: &Path) -> PathBuf {
    data.with_extension(KEPT_START)
}

/// The most bytes that a start needs: all of the data set, once nothing is shared any more.
pub(crate) fn kept_bytes(data: &DataSet) -> u64 {
    data.bytes().saturating_add(data.bytes() / 10)
}

/// The start of this data that a study kept; `None` if there is none of it.
pub(super) fn of_study(params: &Params, study: &str) -> Option<Start> {
    let start = Start::look(params).ok()??;
    let is_own = start
        .mark
        .as_ref()
        .is_none_or(|mark| mark.start_of.study == study);
    is_own.then_some(start)
}

impl Start {
    /// What is in the directory beside this data; `None` if there is nothing.
    ///
    /// # Errors
    /// Why it is not a start that tailmark kept.
    fn look(params: &Params) -> Result<Option<Self>, String> {
        let data = params.location.path().unwrap_or(Path::new(""));
        let directory = directory(data);
        let start = |mark| Self {
            params: Params {
                location: Location::Directory(directory.join(DATA)),
                ..params.clone()
            },
            directory: directory.clone(),
            mark,
        };
        if fs::symlink_metadata(&directory).is_err() {
            return Ok(None);
        }
        let name = directory.display();
        if !is_real(&directory) {
            return Err(format!("`{name}` is a symbolic link or a file"));
        }
        if is_empty(&directory) {
            return Ok(Some(start(None)));
        }
        let text = read_file_itself(&directory.join(MARK));
        let mark = text.and_then(|text| serde_json::from_str(&text).ok());
        let Some(mark) = mark else {
            return Err(format!("`{name}` has no `{MARK}` of one"));
        };
        let mut entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let is_own = |entry: &OsStr| {
            let drafts = left_drafts(&directory);
            entry == MARK || entry == DATA || drafts.contains(&directory.join(entry))
        };
        if let Some(other) = entries.find(|entry| !is_own(&entry.file_name())) {
            return Err(format!("`{}` in it is foreign", other.path().display()));
        }
        if fs::symlink_metadata(directory.join(DATA)).is_ok_and(|found| found.is_symlink()) {
            return Err(format!("`{DATA}` in `{name}` is a symbolic link"));
        }
        Ok(Some(start(Some(mark))))
    }

    fn data(&self) -> PathBuf {
        self.directory.join(DATA)
    }

    /// In words, for a list.
    pub(super) fn line(&self) -> String {
        let bytes = bytesize::ByteSize(super::bytes_below(&self.directory));
        format!("`{}` (the kept start, {bytes})", self.directory.display())
    }

    /// Checks that nothing except its files would block its removal.
    pub(super) fn check_removal(&self, driver: &Driver) -> Result<(), Error> {
        Ok((driver.check_destroy)(&self.params)?)
    }

    /// Removes its files, and then its mark. The mark says first that they are not whole.
    pub(super) fn remove(&self, driver: &Driver) -> Result<(), Error> {
        let is_gone = |removed: io::Result<()>| match removed {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        };
        if let Some(mark) = &self.mark {
            self.check_removal(driver)?;
            let text = text(&Mark {
                is_whole: false,
                ..mark.clone()
            });
            marker::write_over(&self.directory.join(MARK), &text)?;
            let confirm = |held: &Path| identity::confirm_copy(driver, held, &mark.start_of);
            (driver.destroy)(&self.params, &confirm)?;
            let data = self.data();
            is_gone(fs::remove_dir(&data)).map_err(failed("remove", &data))?;
        }
        let drafts = left_drafts(&self.directory);
        for left in drafts.into_iter().chain([self.directory.join(MARK)]) {
            is_gone(fs::remove_file(&left)).map_err(failed("remove", &left))?;
        }
        is_gone(fs::remove_dir(&self.directory)).map_err(failed("remove", &self.directory))
    }
}

/// The bytes of each file below a directory, by its path in it.
fn files_below(directory: &Path) -> io::Result<BTreeMap<PathBuf, u64>> {
    let mut files = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                left.push(entry.path());
            } else if let Ok(path) = entry.path().strip_prefix(directory) {
                files.insert(path.to_owned(), metadata.len());
            }
        }
    }
    Ok(files)
}

fn text(mark: &Mark) -> String {
    serde_json::to_string_pretty(mark).expect("a mark is plain data")
}

impl Dataset<'_> {
    /// The kept start of this data set, or what is left of one.
    fn start(&self) -> Result<Option<Start>, Error> {
        let params = Params {
            settings: wal::inside(self.system, &directory(self.path()).join(DATA)),
            ..self.params.clone()
        };
        Start::look(&params).map_err(|why| self.refuse_start(&why))
    }

    /// The error that the start of the data set cannot be kept or used.
    fn refuse_start(&self, why: &str) -> Error {
        self.refuse_restore(format!(
            "the start of the data set is kept in `{}`, and {why}: it is left alone; rename it, or \
             give another path",
            directory(self.path()).display()
        ))
    }

    /// The start if it is whole, and of the data set that is there or was last.
    fn whole_start(&self) -> Result<Option<(Start, Marker)>, Error> {
        let Some(start) = self.start()? else {
            return Ok(None);
        };
        let mark = start.mark.as_ref().filter(|mark| mark.is_whole);
        let Some(kept) = mark.map(|mark| mark.start_of.clone()) else {
            return Ok(None);
        };
        let now = self.read()?.0.filter(|marker| marker.complete);
        let is_other = now.is_some_and(|now| !now.is_same_load(&kept));
        if is_other || !kept.differences(&self.data).is_empty() {
            return Ok(None);
        }
        let found = (self.system.driver.identity)(&start.data());
        match found.map_err(failed("read", &start.data()))? {
            None => Ok(None),
            Some(found) if found.id == kept.identity && found.is_confirmed => {
                self.refuse_damaged(&start)?;
                Ok(Some((start, kept)))
            }
            Some(_) => Err(self.refuse_start("the data there has another identity")),
        }
    }

    /// Refuses a start that has not all its files, before the data set is removed for it.
    fn refuse_damaged(&self, start: &Start) -> Result<(), Error> {
        let files = files_below(&start.data()).map_err(failed("read", &start.data()))?;
        let mut expected = start.mark.iter().flat_map(|mark| &mark.files);
        match expected.find(|(path, bytes)| files.get(*path) != Some(bytes)) {
            None => Ok(()),
            Some((changed, _)) => Err(self.refuse_start(&format!(
                "`{}` there is missing or has another size",
                changed.display()
            ))),
        }
    }

    /// Whether the start is kept in files.
    pub(super) fn has_start_files(&self) -> Result<bool, Error> {
        Ok(self.whole_start()?.is_some())
    }

    /// Checks, without changing anything, that the start of the data set can be kept.
    pub(super) fn check_start(&self) -> Result<(), Error> {
        if !self.restore().keeps_files() {
            return Ok(());
        }
        self.whole_start()?;
        let device = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
        let (data, place) = (self.path(), self.path().parent());
        let apart = device(data).zip(place.and_then(device));
        let is_apart = apart.is_some_and(|(own, around)| own != around);
        if is_apart && self.restore() == Restore::Checkpoint {
            return Err(self.refuse_restore(format!(
                "`{}` is a file system of its own, and links do not lead from one to another; use \
                 \"copy\"",
                data.display()
            )));
        }
        Ok(())
    }

    /// Keeps the start of the data set, which is complete, unchanged and closed; false if it was
    /// stopped.
    ///
    /// # Errors
    /// If something cannot be linked or written, or foreign data is in the way.
    pub(super) fn keep_files(&self, stop: &Stop) -> Result<bool, Error> {
        self.refuse_replaced()?;
        let (marker, state) = self.read()?;
        let is_start = |own: &Marker| state == State::Loaded && !own.changed;
        let Some(marker) = marker.filter(is_start) else {
            return Err(self.refuse_start("the data set is not as it was loaded"));
        };
        self.remove_start()?;
        let mut mark = Mark {
            start_of: marker,
            is_whole: false,
            files: BTreeMap::new(),
        };
        let place = directory(self.path());
        create_dir_with(&place, MARK, text(&mark).as_bytes()).map_err(failed("make", &place))?;
        let files = (&self.system.driver.files, self.how_final());
        if !copying::copy(self.path(), &place.join(DATA), files, stop)? {
            return Ok(false);
        }
        self.refuse_replaced()?;
        let data = place.join(DATA);
        mark.files = files_below(&data).map_err(failed("read", &data))?;
        mark.is_whole = true;
        marker::write_file(&place.join(MARK), &text(&mark)).map(|()| true)
    }

    /// Puts the kept files in place of the data set; false if it was stopped. `note` is called while
    /// the marker promises nothing.
    ///
    /// # Errors
    /// If there is no whole start, or something cannot be removed, linked or written.
    pub(super) fn put_back_files(
        &self,
        note: &dyn Fn() -> Result<(), Error>,
        stop: &Stop,
    ) -> Result<bool, Error> {
        let Some((start, kept)) = self.whole_start()? else {
            return Err(self.refuse_start("it is not whole"));
        };
        if holds_something(self.path()) {
            self.empty()?;
        }
        // What a killed restore leaves has this identity, and is removed.
        self.put_marker(&kept.emptied())?;
        note()?;
        let files = (&self.system.driver.files, self.how_final());
        if !copying::copy(&start.data(), self.path(), files, stop)? {
            return Ok(false);
        }
        self.put_marker(&kept.restored(kept.loaded))?;
        Ok(true)
    }

    const fn how_final(&self) -> Final {
        match self.restore() {
            Restore::Checkpoint => Final::Linked,
            _ => Final::Copied,
        }
    }

    /// Removes a start that tailmark kept.
    ///
    /// # Errors
    /// If it cannot be removed, or if the plan keeps one and foreign data is in the way.
    pub fn remove_start(&self) -> Result<(), Error> {
        let start = match self.start() {
            // A directory of another program does not matter if none is kept.
            Err(_) if !self.restore().keeps_files() => None,
            found => found?,
        };
        start.map_or(Ok(()), |start| start.remove(self.system.driver))
    }
}
