//! Copies of one study in a folder, as backups are: each would count as one more run of what was measured
//! once, and make a change of it.

use super::Entry;
use std::path::{Path, PathBuf};
use tailmark_model::{Load, Point, printable};
use tailmark_study::Study;

/// A study that is in the folder twice.
pub struct Copied {
    /// The one that is left out.
    pub dir: PathBuf,
    /// The one that counts.
    pub of: PathBuf,
}

impl Copied {
    /// Which is which, in words.
    pub fn words(&self) -> String {
        let words = format!("{} is a copy of {}", self.dir.display(), self.of.display());
        printable(&words).into_owned()
    }
}

/// The studies without copies of them, and these; the first of equals counts.
pub fn apart(all: Vec<Entry>) -> (Vec<Entry>, Vec<Copied>) {
    let mut own: Vec<Entry> = Vec::new();
    let mut copies = Vec::new();
    for entry in all {
        // Read again only where headers are equal, so that one study at a time is in memory otherwise.
        let is_same = |other: &&Entry| {
            other.header == entry.header
                && measured(&entry.dir).is_some_and(|of| measured(&other.dir) == Some(of))
        };
        match own.iter().find(is_same).map(|other| other.dir.clone()) {
            Some(of) => copies.push(Copied { dir: entry.dir, of }),
            None => own.push(entry),
        }
    }
    (own, copies)
}

fn measured(dir: &Path) -> Option<(Vec<Point>, Vec<Load>)> {
    let study = Study::look_at(dir).ok()?;
    Some((study.points().ok()?, study.loads().ok()?))
}
