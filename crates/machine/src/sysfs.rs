//! Attributes of `/sys` and `/proc/sys`: one-line files, missing where they do not apply.

use std::{fs, path::Path, str::FromStr};

/// The trimmed text of an attribute; `None` if it is missing, unreadable or empty.
pub fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number in an attribute.
pub fn number<T: FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

/// An attribute that is 0 or 1.
pub fn flag(path: &Path) -> Option<bool> {
    number::<u8>(path).map(|value| value != 0)
}

/// The bracketed word of `always [madvise] never`; the whole text without brackets.
pub fn chosen(text: &str) -> &str {
    text.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(text, |(chosen, _)| chosen)
}

/// The sorted names in a directory; empty if it is missing.
pub fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_what_stands_in_brackets() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("[none] mq-deadline"), "none");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn an_absent_or_empty_attribute_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model");
        assert_eq!(text(&path), None);
        fs::write(&path, "  \n").unwrap();
        assert_eq!(text(&path), None);
        fs::write(&path, "Drive 9 \0\n").unwrap();
        assert_eq!(text(&path).as_deref(), Some("Drive 9"));
    }
}
