//! The flags of db_bench: tables by their effect here, and their parser.
//!
//! The syntax is that of gflags: one dash or two, `=` or the next word for the value, `--name` and
//! `--noname` for flags, `--undefok` for names that may be unknown, `--flagfile` for files of
//! flags, `--fromenv` and `--tryfromenv` for flags in the environment.

mod ignored;
mod options;
mod tracing;
mod used;

pub use options::{FORMAT_VERSION, OptionRow, ROWS as OPTIONS};

use anyhow::{Context, bail, ensure};
use std::{collections::BTreeMap, path::Path, str::FromStr};
use tailmark_driver::read_text_stream;

/// The value of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagKind {
    /// `true` or `false`, and the words that gflags takes for them.
    Flag,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Any text.
    Text,
}

/// The section of RocksDB's options format that an option is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionSection {
    /// `[DBOptions]`
    Database,
    /// `[CFOptions "default"]`
    Family,
    /// `[TableOptions/BlockBasedTable "default"]`
    Table,
}

/// The given flags, checked, over db_bench's defaults.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    given: BTreeMap<&'static str, String>,
    /// Flags without effect, with a warning each.
    pub warnings: Vec<String>,
    /// Whether `--help` or `--version` was asked for instead.
    pub requested: Option<InfoRequest>,
    /// The depth of nested flag files.
    depth: u32,
}

/// A flag file that names itself has no end.
const DEPTH_MAX: u32 = 10;

/// Requests other than a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InfoRequest {
    /// The flags.
    Help,
    /// The version.
    Version,
}

/// Every flag with an effect: name, kind and default.
pub fn effective() -> impl Iterator<Item = (&'static str, FlagKind, &'static str)> {
    let options = options::ROWS
        .iter()
        .map(|row| (row.name, row.kind, row.default));
    used::ROWS.iter().copied().chain(options)
}

/// Every flag: name, kind and whether it has an effect.
fn all() -> impl Iterator<Item = (&'static str, FlagKind, bool)> {
    let ignored = ignored::ROWS.iter().chain(tracing::ROWS);
    effective()
        .map(|(name, kind, _)| (name, kind, true))
        .chain(ignored.map(|&(name, kind)| (name, kind, false)))
}

fn find(name: &str) -> Option<(&'static str, FlagKind, bool)> {
    all().find(|(known, ..)| *known == name)
}

fn names() -> impl Iterator<Item = &'static str> {
    all().map(|(name, ..)| name)
}

impl Flags {
    /// Reads flags as gflags does; the last one of a name counts.
    ///
    /// # Errors
    /// Names a flag that db_bench does not have, with the nearest it has, and a value that its flag
    /// does not take.
    pub fn parse(words: &[String]) -> anyhow::Result<Self> {
        let mut flags = Self::default();
        let mut unknown = Vec::new();
        let mut allowed: Vec<String> = Vec::new();
        flags.read(words, &mut unknown, &mut allowed)?;
        if let Some(name) = unknown.iter().find(|name| !allowed.contains(name)) {
            let known: Vec<_> = names().map(|known| format!("--{known}")).collect();
            let given = format!("--{name}");
            let hint = tailmark_driver::did_you_mean(&given, known.iter().map(String::as_str));
            bail!("db_bench has no flag {given}{hint}");
        }
        Ok(flags)
    }

    fn read(
        &mut self,
        words: &[String],
        unknown: &mut Vec<String>,
        allowed: &mut Vec<String>,
    ) -> anyhow::Result<()> {
        ensure!(
            self.depth < DEPTH_MAX,
            "flag files may be nested at most {DEPTH_MAX} deep"
        );
        self.depth += 1;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(body) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
                bail!("`{word}` is not a flag; flags begin with a dash");
            };
            let (name, mut value) = match body.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (body, None),
            };
            let name = &name.replace('-', "_")[..];
            match name {
                "help" | "helpfull" | "helppackage" | "helpshort" | "helpxml" | "h" => {
                    self.requested = Some(InfoRequest::Help);
                }
                "helpmatch" | "helpon" => {
                    let _about = value.or_else(|| words.next().cloned());
                    self.requested = Some(InfoRequest::Help);
                }
                "version" => self.requested = Some(InfoRequest::Version),
                "undefok" => {
                    allowed.extend(value.iter().flat_map(|v| v.split(',').map(str::to_owned)))
                }
                "flagfile" => {
                    let path = value.or_else(|| words.next().cloned()).unwrap_or_default();
                    let text = read_text_stream(Path::new(&path))
                        .with_context(|| format!("failed to read --flagfile `{path}`"))?;
                    let lines = text.lines().map(str::trim);
                    let lines = lines
                        .filter(|line| line.starts_with('-'))
                        .map(str::to_owned);
                    self.read(&lines.collect::<Vec<_>>(), unknown, allowed)?;
                }
                "fromenv" | "tryfromenv" => {
                    let list = value.or_else(|| words.next().cloned()).unwrap_or_default();
                    let found = environment(&list, name == "fromenv")?;
                    self.read(&found, unknown, allowed)?;
                }
                _ => match find(name) {
                    Some((name, kind, effect)) => {
                        if kind == FlagKind::Flag {
                            value = value.or_else(|| Some("true".to_owned()));
                        } else if value.is_none() {
                            value = words.next().cloned();
                        }
                        let Some(value) = value else {
                            bail!("--{name} needs a value")
                        };
                        self.set(name, kind, effect, &value)?;
                    }
                    None => match name.strip_prefix("no").and_then(find) {
                        Some((name, FlagKind::Flag, effect)) => {
                            self.set(name, FlagKind::Flag, effect, "false")?;
                        }
                        _ => unknown.push(name.to_owned()),
                    },
                },
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn set(
        &mut self,
        name: &'static str,
        kind: FlagKind,
        effect: bool,
        value: &str,
    ) -> anyhow::Result<()> {
        let refuse = |accepted| format!("--{name} is `{value}`, but it must be {accepted}");
        let value = match kind {
            FlagKind::Flag => match value.to_ascii_lowercase().as_str() {
                "true" | "t" | "1" | "yes" | "y" => "true".to_owned(),
                "false" | "f" | "0" | "no" | "n" => "false".to_owned(),
                _ => bail!(refuse("true or false")),
            },
            FlagKind::Integer => whole(value)
                .with_context(|| refuse("a whole number"))?
                .to_string(),
            FlagKind::Number => {
                let number: f64 = value
                    .trim()
                    .parse()
                    .ok()
                    .with_context(|| refuse("a number"))?;
                number.to_string()
            }
            FlagKind::Text => value.to_owned(),
        };
        if effect {
            self.given.insert(name, value);
        } else {
            self.warnings.push(format!("--{name} has no effect here"));
        }
        Ok(())
    }

    /// The value that takes effect.
    pub fn text(&self, name: &str) -> &str {
        let default = || {
            effective()
                .find(|row| row.0 == name)
                .map_or("", |row| row.2)
        };
        self.given.get(name).map_or_else(default, String::as_str)
    }

    /// A number that takes effect.
    pub fn number<T: FromStr>(&self, name: &'static str) -> anyhow::Result<T> {
        let text = self.text(name);
        let parsed = text.parse().ok();
        parsed.with_context(|| format!("--{name} is `{text}`, which is out of range"))
    }

    /// A flag that takes effect.
    pub fn flag(&self, name: &str) -> bool {
        self.text(name) == "true"
    }

    /// The given flags, by name.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.given
            .iter()
            .map(|(&name, value)| (name, value.as_str()))
    }
}

/// The flags of this list as the environment has them: `FLAGS_num` is the value of `num`.
fn environment(list: &str, required: bool) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for name in list.split(',').filter(|name| !name.is_empty()) {
        let variable = format!("FLAGS_{name}");
        match std::env::var(&variable) {
            Ok(value) => found.push(format!("--{name}={value}")),
            Err(_) if required => bail!("--fromenv names {name}, but {variable} is not set"),
            Err(_) => {}
        }
    }
    Ok(found)
}

/// A whole number as gflags reads it: decimal or hexadecimal.
fn whole(text: &str) -> Option<i128> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> anyhow::Result<Flags> {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Flags::parse(&words)
    }

    #[test]
    fn names_are_unique_and_sorted() {
        assert!(used::ROWS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(options::ROWS.is_sorted_by(|a, b| a.name < b.name));
        assert!(ignored::ROWS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(tracing::ROWS.is_sorted_by(|a, b| a.0 < b.0));
        let mut all: Vec<_> = names().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn every_spelling_of_gflags_is_read() {
        let flags = parse("-num=7 --threads 3 --histogram --nosync --use_existing_db=1").unwrap();
        assert_eq!(flags.number::<u64>("num").unwrap(), 7);
        assert_eq!(flags.number::<u32>("threads").unwrap(), 3);
        assert!(flags.flag("histogram") && !flags.flag("sync") && flags.flag("use_existing_db"));
        assert_eq!(flags.text("value_size"), "100");
    }

    #[test]
    fn a_misspelt_flag_is_refused_with_the_nearest() {
        let error = parse("--value-siz=7").unwrap_err().to_string();
        assert!(error.contains("--value_size"), "{error}");
        assert!(parse("--undefok=blob_thing --blob_thing=7").is_ok());
    }

    #[test]
    fn flags_of_the_environment_are_read_where_they_are_set() {
        // The name is the test's own: no process sets it.
        assert!(parse("--tryfromenv=num_of_a_test").is_ok());
        let error = parse("--fromenv=num_of_a_test").unwrap_err().to_string();
        assert!(error.contains("FLAGS_num_of_a_test is not set"), "{error}");
        assert_eq!(environment("", true).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_value_that_its_flag_does_not_take_is_refused() {
        for line in [
            "--num=many",
            "--histogram=maybe",
            "--compression_ratio=half",
            "--num",
            "7",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn what_has_no_effect_warns() {
        let flags = parse("--simulate_hdd --blob_db_file_size=7").unwrap();
        assert_eq!(flags.warnings.len(), 2);
    }
}
