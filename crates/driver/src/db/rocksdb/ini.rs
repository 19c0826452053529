//! RocksDB's options format, as far as needed to change single lines.
//!
//! It has sections with a header in brackets and lines `key=value`; `#` begins a comment. Unchanged
//! lines stay as they were written, without comments. RocksDB's own parser interprets them.

/// The kind of section of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionsSection {
    /// `[DBOptions]`
    Database,
    /// `[CFOptions "table"]`
    Family,
    /// `[TableOptions/BlockBasedTable "table"]`
    Table,
}

impl OptionsSection {
    fn header(self, table: &str) -> String {
        let table = escaped(table);
        match self {
            Self::Database => "[DBOptions]".to_owned(),
            Self::Family => format!("[CFOptions \"{table}\"]"),
            Self::Table => format!("[TableOptions/BlockBasedTable \"{table}\"]"),
        }
    }
}

/// A name as RocksDB escapes it in a header (`EscapeOptionString`).
fn escaped(name: &str) -> String {
    let mut escaped = String::new();
    for letter in name.chars() {
        match letter {
            '\\' | '#' | ':' => escaped.extend(['\\', letter]),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// The name in a header.
fn unescaped(escaped: &str) -> String {
    let mut name = String::new();
    let mut letters = escaped.chars();
    while let Some(letter) = letters.next() {
        name.push(match letter {
            '\\' => match letters.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            letter => letter,
        });
    }
    name
}

/// An options file.
#[derive(Clone)]
pub(super) struct Ini {
    /// The header and lines of each section. Lines before the first section have an empty header.
    sections: Vec<(String, Vec<String>)>,
}

impl Ini {
    /// Splits a text into sections. This works for any text.
    pub(super) fn parse(text: &str) -> Self {
        let mut sections = vec![(String::new(), Vec::new())];
        for line in text.lines().map(without_comment) {
            if line.starts_with('[') {
                sections.push((plain_header(line), Vec::new()));
            } else if !line.is_empty()
                && let Some((_, lines)) = sections.last_mut()
            {
                lines.push(line.to_owned());
            }
        }
        Self { sections }
    }

    /// Gives `table` the options of the default column family, unless it has its own.
    pub(super) fn add_family(&mut self, table: &str) {
        if self.find(&OptionsSection::Family.header(table)).is_some() {
            return;
        }
        for section in [OptionsSection::Family, OptionsSection::Table] {
            if let Some(default) = self.find(&section.header("default")) {
                let lines = self.sections[default].1.clone();
                self.sections.push((section.header(table), lines));
            }
        }
    }

    /// Adds a column family without options, which then are RocksDB's defaults, unless it exists.
    pub(super) fn add_empty_family(&mut self, table: &str) {
        let header = OptionsSection::Family.header(table);
        if self.find(&header).is_none() {
            self.sections.push((header, Vec::new()));
        }
    }

    /// Sets one option, `key=value`, replacing an earlier line.
    pub(super) fn set(&mut self, section: OptionsSection, table: &str, line: &str) {
        let header = section.header(table);
        let at = self.find(&header).unwrap_or_else(|| {
            let behind = match section {
                OptionsSection::Table => self
                    .find(&OptionsSection::Family.header(table))
                    .map(|i| i + 1),
                OptionsSection::Database | OptionsSection::Family => None,
            };
            let at = behind.unwrap_or(self.sections.len());
            self.sections.insert(at, (header, Vec::new()));
            at
        });
        let lines = &mut self.sections[at].1;
        lines.retain(|old| key(old) != key(line));
        lines.push(line.to_owned());
    }

    /// Removes an option, so that RocksDB's default applies.
    pub(super) fn remove(&mut self, section: OptionsSection, table: &str, name: &str) {
        if let Some(at) = self.find(&section.header(table)) {
            self.sections[at].1.retain(|line| key(line) != name);
        }
    }

    /// The names of the column families.
    pub(super) fn families(&self) -> Vec<String> {
        let headers = self.sections.iter().map(|(header, _)| header);
        let names = headers.filter_map(|header| {
            header
                .strip_prefix("[CFOptions \"")?
                .strip_suffix("\"]")
                .map(unescaped)
        });
        names.collect()
    }

    /// The lines of one section.
    pub(super) fn lines(&self, section: OptionsSection, table: &str) -> &[String] {
        let at = self.find(&section.header(table));
        at.map_or(&[], |at| &self.sections[at].1)
    }

    /// The lines of all sections of this kind and family.
    pub(super) fn all_lines(
        &self,
        section: OptionsSection,
        table: &str,
    ) -> impl Iterator<Item = &String> {
        let header = section.header(table);
        let sections = self.sections.iter().filter(move |(own, _)| *own == header);
        sections.flat_map(|(_, lines)| lines)
    }

    /// Keeps only some lines of the sections that settings write to.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(OptionsSection, &str) -> bool) {
        for (header, lines) in &mut self.sections {
            let section = match header.split([' ', ']']).next() {
                Some("[DBOptions") => OptionsSection::Database,
                Some("[CFOptions") => OptionsSection::Family,
                Some("[TableOptions/BlockBasedTable") => OptionsSection::Table,
                _ => continue,
            };
            lines.retain(|line| is_kept(section, line));
        }
    }

    /// Whether any section has this line.
    pub(super) fn has_line(&self, line: &str) -> bool {
        let mut lines = self.sections.iter().flat_map(|(_, lines)| lines);
        lines.any(|found| found == line)
    }

    /// Whether a column family has options.
    pub(super) fn has_family(&self, table: &str) -> bool {
        self.find(&OptionsSection::Family.header(table)).is_some()
    }

    /// The value of one option, if it is set.
    pub(super) fn value(&self, section: OptionsSection, table: &str, name: &str) -> Option<&str> {
        let lines = &self.sections[self.find(&section.header(table))?].1;
        let line = lines.iter().find(|line| key(line) == name)?;
        line.split_once('=').map(|(_, value)| value.trim())
    }

    /// The key and value of the first line that sets one of these options, in any section.
    pub(super) fn named(&self, keys: &[&str]) -> Option<(&str, &str)> {
        let lines = self.sections.iter().flat_map(|(_, lines)| lines);
        let pairs = lines.filter_map(|line| line.split_once('='));
        let mut pairs = pairs.map(|(key, value)| (key.trim(), value.trim()));
        pairs.find(|(key, value)| keys.contains(key) && !value.is_empty())
    }

    /// Whether a section gives an option this value.
    pub(super) fn says(&self, name: &str, value: &str) -> bool {
        let mut lines = self.sections.iter().flat_map(|(_, lines)| lines);
        lines.any(|line| {
            let pair = line.split_once('=');
            pair.is_some_and(|(key, given)| (key.trim(), given.trim()) == (name, value))
        })
    }

    /// The version of RocksDB that wrote the file, if it says so.
    pub(super) fn version(&self) -> Option<&str> {
        let lines = &self.sections[self.find("[Version]")?].1;
        let line = lines.iter().find(|line| key(line) == "rocksdb_version")?;
        line.split_once('=').map(|(_, value)| value.trim())
    }

    fn find(&self, header: &str) -> Option<usize> {
        self.sections.iter().position(|(h, _)| h == header)
    }
}

impl std::fmt::Display for Ini {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (header, lines) in self
            .sections
            .iter()
            .filter(|(h, l)| !h.is_empty() || !l.is_empty())
        {
            writeln!(f, "{header}")?;
            for line in lines {
                writeln!(f, "  {line}")?;
            }
        }
        Ok(())
    }
}

/// A line without its comment, which RocksDB lets a `#` begin that has no `\\` before it.
fn without_comment(line: &str) -> &str {
    let mut signs = line.match_indices('#');
    let comment = signs.find(|(at, _)| !line[..*at].ends_with('\\'));
    line[..comment.map_or(line.len(), |(at, _)| at)].trim()
}

/// A header of options as RocksDB writes it. RocksDB looks only at how it begins, and at what is in
/// quotation marks.
fn plain_header(line: &str) -> String {
    let sections = [OptionsSection::Table, OptionsSection::Family];
    let known = sections.into_iter().find_map(|section| {
        let empty = section.header("");
        line.strip_prefix(empty.split(' ').next()?)?;
        let (start, end) = (line.find('"')?, line.rfind('"')?);
        Some(section.header(&unescaped(line.get(start + 1..end)?)))
    });
    known.unwrap_or_else(|| line.to_owned())
}

/// The name of the option that a line sets.
pub(super) fn key(line: &str) -> &str {
    line.split_once('=').map_or(line, |(key, _)| key).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# written by hand
[Version]
  rocksdb_version=9.1.0
[DBOptions]
  max_open_files = 100
[CFOptions \"default\"]
  write_buffer_size=1024
[TableOptions/BlockBasedTable \"default\"]
  checksum=kCRC32c
";

    #[test]
    fn a_table_takes_the_options_of_the_default_family() {
        let mut ini = Ini::parse(TEXT);
        ini.add_family("usertable");
        let buffer = ini.value(OptionsSection::Family, "usertable", "write_buffer_size");
        assert_eq!(buffer, Some("1024"));
        assert_eq!(
            ini.value(OptionsSection::Table, "usertable", "checksum"),
            Some("kCRC32c")
        );
    }

    #[test]
    fn a_table_of_its_own_keeps_its_options() {
        let own = format!("{TEXT}[CFOptions \"usertable\"]\nwrite_buffer_size=7\n");
        let mut ini = Ini::parse(&own);
        ini.add_family("usertable");
        let buffer = ini.value(OptionsSection::Family, "usertable", "write_buffer_size");
        assert_eq!(buffer, Some("7"));
    }

    #[test]
    fn setting_an_option_replaces_it_once() {
        let mut ini = Ini::parse(TEXT);
        ini.set(OptionsSection::Database, "", "max_open_files=-1");
        let text = ini.to_string();
        assert_eq!(text.matches("max_open_files").count(), 1);
        assert_eq!(
            ini.value(OptionsSection::Database, "", "max_open_files"),
            Some("-1")
        );
    }

    #[test]
    fn every_text_is_taken_and_an_option_is_set_in_it() {
        let trial = tailmark_testing::Trial {
            name: "options file",
            samples: &[TEXT.as_bytes().to_vec()],
            words: &[
                "[CFOptions \"usertable\"]",
                "[Version]",
                "[",
                "checksum=",
                "=",
                "#",
            ],
            inputs: 3_000,
        };
        trial.run(|input| {
            let mut ini = Ini::parse(&String::from_utf8_lossy(input));
            ini.add_family("usertable");
            for section in [
                OptionsSection::Database,
                OptionsSection::Family,
                OptionsSection::Table,
            ] {
                ini.set(section, "usertable", "checksum=kNoChecksum");
                let value = ini.value(section, "usertable", "checksum");
                assert_eq!(value, Some("kNoChecksum"));
            }
            let again = Ini::parse(&ini.to_string());
            assert_eq!(again.to_string(), ini.to_string());
            let _ = again.version();
        });
    }

    #[test]
    fn the_rest_of_the_file_stays() {
        let ini = Ini::parse(TEXT);
        assert_eq!(ini.version(), Some("9.1.0"));
        assert_eq!(
            ini.to_string()
                .replace("max_open_files = 100", "max_open_files=100"),
            TEXT.replace("# written by hand\n", "").replace(" = ", "=")
        );
    }
}
