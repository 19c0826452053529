//! Keys of plans that have another name now: plans and studies of earlier versions have the old
//! one.

use crate::Header;

/// By the old dotted key, the present one.
pub const RENAMED_KEYS: &[(&str, &str)] = &[("sweep.beside_rate", "sweep.background_rate")];

/// The present name of a dotted key.
#[must_use]
pub fn present_key(key: &str) -> &str {
    let renamed = RENAMED_KEYS.iter().find(|(old, _)| *old == key);
    renamed.map_or(key, |(_, present)| present)
}

impl Header {
    /// The same with the present names of all keys.
    #[must_use]
    pub(crate) fn with_present_keys(mut self) -> Self {
        for (old, present) in RENAMED_KEYS {
            if let Some(value) = self.plan.remove(*old) {
                self.plan.entry((*present).to_owned()).or_insert(value);
            }
        }
        for key in &mut self.assumed {
            *key = present_key(key).to_owned();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Study;

    #[test]
    fn a_study_with_an_old_key_is_read_with_the_present_one() {
        let directory = tempfile::tempdir().unwrap();
        let mut header = Header::without_plan("old", String::new());
        let (old, present) = ("sweep.beside_rate", "sweep.background_rate");
        header.plan.insert(old.to_owned(), "100".to_owned());
        header.assumed = vec![old.to_owned()];
        drop(Study::open_or_create(directory.path(), &header, &[]).unwrap());
        let read = Study::open_read_only(directory.path())
            .unwrap()
            .header()
            .unwrap();
        assert_eq!(read.plan[present], "100");
        assert!(!read.plan.contains_key(old));
        assert_eq!(read.assumed, [present]);
    }
}
