//! Reads from a database's manifest which log file it used last, as far as it says so.
//!
//! A manifest is a log of its own: blocks of 32 KiB with records. A record has a checksum of 4
//! bytes, a length of 2, a type, and data. An edit may span several records. It is a list of tags
//! with their fields (RocksDB's `version_edit.h` and `log_format.h`).

use std::{fs, path::Path};

/// Bytes of a block, and of a record's head, which in a reused log also has its number.
const BLOCK: usize = 32 << 10;
const HEAD: usize = 7;
const HEAD_WITH_NUMBER: usize = 11;
/// A tag with this bit has a length, so that programs that do not know it can skip it.
const SKIPPABLE: u64 = 1 << 13;

/// The highest log number in the manifest. RocksDB keeps that file, or one with a higher number.
/// `None` if there is none, or if the manifest has something unknown.
pub(super) fn newest_log(manifest: &Path) -> Option<u64> {
    newest_of(&edits(&fs::read(manifest).ok()?)?)
}

fn newest_of(edits: &[Vec<u8>]) -> Option<u64> {
    let mut newest = None;
    for edit in edits {
        newest = newest.max(Fields(edit).newest_log()?);
    }
    newest
}

/// The edits of a manifest. A truncated edit at its end was never completed.
fn edits(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut edits = Vec::new();
    let mut edit: Vec<u8> = Vec::new();
    for block in bytes.chunks(BLOCK) {
        let mut rest = block;
        while rest.len() >= HEAD {
            let length = usize::from(u16::from_le_bytes([rest[4], rest[5]]));
            let kind = rest[6];
            let (head, kind) = match kind {
                0 => break,
                1..=4 => (HEAD, kind),
                5..=8 => (HEAD_WITH_NUMBER, kind - 4),
                _ => return None,
            };
            let Some(data) = rest.get(head..head + length) else {
                break;
            };
            match kind {
                1 | 2 => edit = data.to_vec(),
                _ => edit.extend_from_slice(data),
            }
            if matches!(kind, 1 | 4) {
                edits.push(std::mem::take(&mut edit));
            }
            rest = &rest[head + length..];
        }
    }
    Some(edits)
}

/// The remaining fields of an edit.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    /// The log number of an edit, if it has one. `None` if a tag is unknown.
    fn newest_log(mut self) -> Option<Option<u64>> {
        let mut newest = None;
        while !self.0.is_empty() {
            match self.number()? {
                2 | 9 | 10 => newest = newest.max(Some(self.number()?)),
                1 | 201 => self.text()?,
                3 | 4 | 200 | 203 | 204 => drop(self.number()?),
                202 => {}
                5 => {
                    self.number()?;
                    self.text()?;
                }
                6 => self.numbers(2)?,
                7 => self.file(3, 0)?,
                100 => self.file(3, 2)?,
                102 => self.file(4, 2)?,
                103 => {
                    self.file(3, 2)?;
                    // Each has a length, up to the one that ends the list.
                    while self.number()? != 1 {
                        self.text()?;
                    }
                }
                tag if tag & SKIPPABLE != 0 => self.text()?,
                _ => return None,
            }
        }
        Some(newest)
    }

    /// A table: numbers, its first and last key, numbers.
    fn file(&mut self, before: usize, after: usize) -> Option<()> {
        self.numbers(before)?;
        self.text()?;
        self.text()?;
        self.numbers(after)
    }

    fn numbers(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.number().map(drop))
    }

    /// Seven bits a byte, the lowest first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<()> {
        let length = usize::try_from(self.number()?).ok()?;
        self.0 = self.0.get(length..)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rust_rocksdb::{DB, FlushOptions, Options};

    #[test]
    fn the_newest_log_of_a_database_is_the_one_that_its_manifest_names() {
        let place = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        for round in 0..4_u8 {
            let families = ["default", "usertable"];
            let database = DB::open_cf(&options, place.path(), families).unwrap();
            let family = database.cf_handle("usertable").unwrap();
            for number in 0..2_000_u16 {
                let key = [[round; 2], number.to_be_bytes()].concat();
                database.put_cf(family, &key, vec![7; 1_000]).unwrap();
            }
            let mut flush = FlushOptions::default();
            flush.set_wait(true);
            database.flush_cf_opt(family, &flush).unwrap();
            database.put("last", [round]).unwrap();
        }
        let current = fs::read_to_string(place.path().join("CURRENT")).unwrap();
        let newest = newest_log(&place.path().join(current.trim())).unwrap();
        let names = fs::read_dir(place.path()).unwrap().flatten();
        let logs = names.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            name.strip_suffix(".log")?.parse::<u64>().ok()
        });
        let highest = logs.max().unwrap();
        assert!(newest > 4 && newest <= highest, "{newest} {highest}");
    }

    #[test]
    fn what_is_no_manifest_names_no_log() {
        for bytes in [&b""[..], &[0; 100], b"000004.sst 000005.sst", &[0xff; 64]] {
            let edits = edits(bytes);
            assert_eq!(edits.and_then(|edits| newest_of(&edits)), None);
        }
    }
}
