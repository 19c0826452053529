//! Settings of drivers: declared as data, checked once, read by type.
//!
//! Values arrive as text (a plan's TOML value or the right side of `--set`), so that one check
//! serves every source. A size may be absolute (`64MiB`) or a share of the data set (`5%`).

use crate::{DataSet, Error};
use std::collections::{BTreeMap, BTreeSet};

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The key under `[database]`.
    pub name: &'static str,
    /// One line for `list`.
    pub about: &'static str,
    /// What is accepted.
    pub kind: SettingKind,
    /// The default; empty means the database's own default.
    pub default: &'static str,
}

impl Setting {
    /// A row of a driver's table.
    pub(crate) const fn new(
        name: &'static str,
        about: &'static str,
        kind: SettingKind,
        default: &'static str,
    ) -> Self {
        Self {
            name,
            about,
            kind,
            default,
        }
    }
}

/// What a setting accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingKind {
    /// `true` or `false`.
    Flag,
    /// A size, `64MiB` or `5%` of the data set. With `scales`, `--scale` multiplies it.
    Bytes {
        /// Whether it is a cache or buffer that shrinks with the data set.
        scales: bool,
    },
    /// A whole number in this range, inclusive.
    Integer {
        /// The minimum.
        min: i64,
        /// The maximum.
        max: i64,
    },
    /// A number in this range, inclusive.
    Number {
        /// The minimum.
        min: f64,
        /// The maximum.
        max: f64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A file whose content takes effect.
    File,
    /// A directory in which the database stores a part of its data.
    Directory,
    /// A path or any other text.
    Text,
}

impl SettingKind {
    /// A time-out in milliseconds, up to an hour.
    #[cfg(feature = "net")]
    pub(crate) const MILLISECONDS: Self = Self::Integer {
        min: 1,
        max: 3_600_000,
    };
}

/// A driver's checked settings: effective values as text, by name. A setting that was not given and
/// has no default is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<&'static str, String>,
    given: BTreeSet<&'static str>,
    /// What users must know of values that differ from what they wrote.
    notices: Vec<String>,
}

impl Settings {
    /// The effective values of these rows: sizes become bytes; shares of `data` and scaled sizes
    /// are resolved.
    pub(crate) fn effective(
        rows: &'static [Setting],
        given: &BTreeMap<String, String>,
        data: &DataSet,
        scale: f64,
    ) -> Result<Self, Error> {
        let mut settings = Self::default();
        for row in rows {
            let value = given.get(row.name).map_or(row.default, String::as_str);
            if !value.is_empty() {
                let value = row.effective(value, data, scale)?;
                settings.values.insert(row.name, value);
            }
            if given.contains_key(row.name) {
                settings.given.insert(row.name);
            }
        }
        Ok(settings)
    }

    /// The same with each path and text replaced by the result of `named`.
    #[must_use]
    pub fn renamed(&self, named: impl Fn(&str) -> String) -> Self {
        let values = self
            .values
            .iter()
            .map(|(name, value)| (*name, named(value)));
        Self {
            values: values.collect(),
            ..self.clone()
        }
    }

    /// The effective value as text, if there is one.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Whether it was given, rather than left at its default.
    #[must_use]
    pub fn given(&self, name: &str) -> bool {
        self.given.contains(name)
    }

    /// The same with another value for one setting, as if it had been given.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.values.insert(name, value.to_owned());
        self.given.insert(name);
        self
    }

    /// Sets the caller's own default for a setting that was not given.
    pub fn set_default(&mut self, name: &'static str, value: &str) {
        if !self.given(name) {
            self.values.insert(name, value.to_owned());
        }
    }

    /// Adds what users must know of a value that differs from what they wrote.
    #[cfg(feature = "rocksdb")]
    pub(crate) fn add_notice(&mut self, notice: String) {
        self.notices.push(notice);
    }

    /// What users must know of values that differ from what they wrote, for example that a fallback
    /// is used.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Leaves a setting that was not given to the database's own default.
    #[cfg(feature = "rocksdb")]
    pub(crate) fn remove_default(&mut self, name: &str) {
        if !self.given(name) {
            self.values.remove(name);
        }
    }

    /// A flag; false if it is absent.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    /// A whole number or a size in bytes, if there is one.
    #[must_use]
    pub fn integer<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }

    /// A number, if there is one.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok()
    }

    /// The error that a setting's value is not accepted.
    pub(crate) fn refuse(&self, name: &str, accepted: &str) -> Error {
        Error::BadSetting {
            name: name.to_owned(),
            value: self.text(name).unwrap_or_default().to_owned(),
            accepted: accepted.to_owned(),
        }
    }

    /// Every effective setting.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values
            .iter()
            .map(|(&name, value)| (name, value.as_str()))
    }
}

impl Setting {
    /// The effective value.
    fn effective(&self, value: &str, data: &DataSet, scale: f64) -> Result<String, Error> {
        let refuse = || Error::BadSetting {
            name: self.name.to_owned(),
            value: value.to_owned(),
            accepted: self.kind.accepted(),
        };
        let accepted = match self.kind {
            SettingKind::Flag => matches!(value, "true" | "false").then(|| value.to_owned()),
            SettingKind::Bytes { scales } => bytes(value, data, if scales { scale } else { 1.0 }),
            SettingKind::Integer { min, max } => value
                .parse::<i64>()
                .ok()
                .filter(|n| (min..=max).contains(n))
                .map(|n| n.to_string()),
            SettingKind::Number { min, max } => value
                .parse::<f64>()
                .ok()
                .filter(|n| (min..=max).contains(n))
                .map(|n| n.to_string()),
            SettingKind::Choice(words) => words.contains(&value).then(|| value.to_owned()),
            SettingKind::Directory => Some(directory(value)),
            SettingKind::File | SettingKind::Text => Some(value.to_owned()),
        };
        accepted.ok_or_else(refuse)
    }
}

impl SettingKind {
    /// What is accepted, for errors and `list`.
    #[must_use]
    pub fn accepted(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Bytes { .. } => {
                "a size up to 64TiB such as `64MiB`, or a share of the data such as `5%`".into()
            }
            Self::Integer { min, max: i64::MAX } => format!("a whole number from {min} on"),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Number { min, max } => format!("a number from {min} to {max}"),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::File => "the path of a file".to_owned(),
            Self::Directory => "the path of a directory".to_owned(),
            Self::Text => "text".to_owned(),
        }
    }

    /// The same in a list; nothing where the name says it.
    pub fn brief(&self) -> String {
        match self {
            Self::Flag | Self::File | Self::Directory | Self::Text => String::new(),
            Self::Bytes { .. } => "bytes or a share of the data".to_owned(),
            Self::Integer { min, max: i64::MAX } => format!("from {min} on"),
            Self::Integer { min, max } => format!("{min} to {max}"),
            Self::Number { min, max } => format!("{min} to {max}"),
            Self::Choice(words) => words.join(", "),
        }
    }
}

/// The directory as an absolute path, so that it stays the same if the program changes its own.
pub(crate) fn directory(path: &str) -> String {
    let absolute = std::path::absolute(path);
    absolute.map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

/// A size in bytes as text: absolute times `scale`, or a share of `data` (which is scaled already).
/// No cache or buffer is larger: allocators abort the process at sizes beyond the address space.
const BYTES_MAX: u64 = 64 << 40;

fn bytes(value: &str, data: &DataSet, scale: f64) -> Option<String> {
    if let Some(share) = value.strip_suffix('%') {
        let share: f64 = share
            .trim()
            .parse()
            .ok()
            .filter(|s| (0.0..=1000.0).contains(s))?;
        return Some(((data.bytes() as f64 * share / 100.0) as u64).to_string());
    }
    let size = value.parse::<bytesize::ByteSize>().ok()?.as_u64();
    (size <= BYTES_MAX).then(|| ((size as f64 * scale) as u64).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Driver, Schema};

    const fn setting(name: &'static str, kind: SettingKind, default: &'static str) -> Setting {
        Setting::new(name, "for these tests", kind, default)
    }

    const DRIVER: Driver = Driver {
        name: "settable",
        about: "for these tests",
        settings: &[
            setting(
                "bits",
                SettingKind::Number {
                    min: 0.0,
                    max: 10.0,
                },
                "1.5",
            ),
            setting("buffer", SettingKind::Bytes { scales: false }, "64KiB"),
            setting("cache", SettingKind::Bytes { scales: true }, "32MiB"),
            setting("codec", SettingKind::Choice(&["lz4", "none"]), ""),
            setting("direct", SettingKind::Flag, "false"),
            setting("file", SettingKind::Text, ""),
            setting("jobs", SettingKind::Integer { min: -1, max: 8 }, "-1"),
        ],
        check: |settings| match settings.text("file") {
            Some("missing") => Err(Error::BadSetting {
                name: "file".to_owned(),
                value: "missing".to_owned(),
                accepted: "a file".to_owned(),
            }),
            _ => Ok(()),
        },
        ..crate::db::null::DRIVER
    };

    fn check(given: &[(&str, &str)], scale: f64) -> Result<Settings, Error> {
        static DRIVER: Driver = self::DRIVER;
        let given = given.iter().map(|&(k, v)| (k.to_owned(), v.to_owned()));
        let fields = (0..4).map(|i| format!("field{i}")).collect();
        let schema = Schema {
            table: "usertable".to_owned(),
            fields,
        };
        let data = DataSet {
            schema,
            records: 1000,
            field_length: 1024,
        };
        Settings::check(&DRIVER, &given.collect(), &data, scale)
    }

    #[test]
    fn what_is_not_given_has_its_default_or_is_absent() {
        let settings = check(&[("direct", "true")], 1.0).unwrap();
        assert_eq!(settings.integer::<u64>("buffer"), Some(64 << 10));
        assert_eq!(settings.number("bits"), Some(1.5));
        assert_eq!(settings.integer::<i64>("jobs"), Some(-1));
        assert_eq!(settings.text("codec"), None);
        assert!(settings.flag("direct") && settings.given("direct"));
        assert!(!settings.given("buffer"));
    }

    #[test]
    fn only_what_scales_is_scaled() {
        let settings = check(&[("cache", "1GiB"), ("buffer", "1MiB")], 0.001).unwrap();
        assert_eq!(settings.integer::<u64>("cache"), Some(1_073_741));
        assert_eq!(settings.integer::<u64>("buffer"), Some(1 << 20));
    }

    #[test]
    fn a_share_is_of_the_data_which_is_scaled_already() {
        let settings = check(&[("cache", "5%")], 0.001).unwrap();
        assert_eq!(
            settings.integer::<u64>("cache"),
            Some((23 + 4096) * 1000 / 20)
        );
    }

    #[test]
    fn what_is_not_accepted_is_refused_with_what_is() {
        for (name, value, accepted) in [
            ("bits", "11", "a number from 0 to 10"),
            ("bits", "NaN", "a number from 0 to 10"),
            ("buffer", "64 parsecs", "a size up to 64TiB such as `64MiB`"),
            ("buffer", "65TiB", "a size up to 64TiB"),
            ("cache", "-5%", "a share of the data"),
            ("codec", "lz5", "one of lz4, none"),
            ("direct", "yes", "true or false"),
            ("file", "missing", "a file"),
            ("jobs", "9", "a whole number from -1 to 8"),
            ("jobs", "1.5", "a whole number from -1 to 8"),
        ] {
            let error = check(&[(name, value)], 1.0).unwrap_err().to_string();
            let begins = format!("database.{name} is `{value}`, but it must be ");
            assert!(error.starts_with(&begins), "{error}");
            assert!(error.contains(accepted), "{error}");
        }
    }

    #[test]
    fn an_unknown_setting_is_refused_with_the_nearest() {
        let refused = |setting| check(&[setting], 1.0).unwrap_err().to_string();
        let near = refused(("cahce", "1GiB"));
        assert!(
            near.contains("no setting `cahce`; did you mean `cache`?"),
            "{near}"
        );
        let far = refused(("quorum", "3"));
        assert!(!far.contains("did you mean"), "{far}");
    }

    #[test]
    fn every_default_of_every_driver_is_accepted() {
        for driver in crate::db::DRIVERS {
            let data = DataSet {
                schema: Schema {
                    table: "usertable".to_owned(),
                    fields: vec!["field0".to_owned()],
                },
                records: 1,
                field_length: 1,
            };
            let checked = Settings::check(driver, &BTreeMap::new(), &data, 1.0);
            assert!(checked.is_ok(), "{}: {checked:?}", driver.name);
        }
    }
}
