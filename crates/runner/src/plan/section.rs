//! One table of a plan while it is read: knows where it stands and what its keys accept.

use super::{
    Error,
    draft::Draft,
    error::hint,
    keys::{self, Accept, Key},
    units,
};
use std::{sync::LazyLock, time::Duration};
use toml::{Table, Value};

/// A table of the plan.
pub(super) struct Section<'a> {
    draft: &'a Draft,
    table: &'a Table,
    /// Its name in the table of keys.
    name: &'static str,
    /// Its dotted path, as errors name it.
    path: String,
}

/// What an absent table holds.
static NOTHING: LazyLock<Table> = LazyLock::new(Table::new);

impl<'a> Section<'a> {
    /// The top of the plan.
    pub fn top(draft: &'a Draft) -> Result<Self, Error> {
        Self::open(draft, draft.table(), "", String::new(), &[])
    }

    /// A table whose keys are those of `name` and `more`.
    pub fn open(
        draft: &'a Draft,
        table: &'a Table,
        name: &'static str,
        path: String,
        more: &[&str],
    ) -> Result<Self, Error> {
        let section = Self {
            draft,
            table,
            name,
            path,
        };
        let known = || {
            keys::of(name)
                .map(|key| key.name)
                .chain(more.iter().copied())
        };
        match table.keys().find(|given| known().all(|key| key != *given)) {
            Some(given) => Err(Error::UnknownKey {
                key: section.full(given),
                hint: hint(given, known()),
                known: known().collect::<Vec<_>>().join(", "),
            }),
            None => Ok(section),
        }
    }

    /// The table under `name`, empty where there is none; `database` may hold `more` keys.
    pub fn table(&self, name: &'static str, more: &[&str]) -> Result<Section<'a>, Error> {
        let table = match self.table.get(name) {
            None => &NOTHING,
            Some(Value::Table(table)) => table,
            Some(other) => return Err(self.refuse(name, other)),
        };
        Section::open(self.draft, table, name, self.full(name), more)
    }

    /// The `[[name]]` tables, each with its unique name.
    pub fn tables(&self, name: &'static str) -> Result<Vec<(String, Section<'a>)>, Error> {
        let items = match self.table.get(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(self.refuse(name, other)),
        };
        let mut sections: Vec<(String, Section<'a>)> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let Value::Table(table) = item else {
                return Err(self.refuse(name, item));
            };
            let nameless = format!("{name}[{index}]");
            let nameless = Section {
                draft: self.draft,
                table,
                name,
                path: nameless,
            };
            let own = nameless.own_name()?;
            if sections.iter().any(|(other, _)| *other == own) {
                return Err(Error::Duplicate {
                    table: name,
                    name: own,
                });
            }
            let path = format!("{name}.{own}");
            let section = Section::open(self.draft, table, name, path, &[])?;
            sections.push((own, section));
        }
        Ok(sections)
    }

    /// The name of a `[[system]]` or `[[workload]]`; files are named after it.
    fn own_name(&self) -> Result<String, Error> {
        let accepted = || "a name of 1 to 64 characters without `/`, `=` or `,`".to_owned();
        let Some(value) = self.table.get("name") else {
            return Err(Error::Missing {
                key: self.full("name"),
                accepted: accepted(),
            });
        };
        let name = value.as_str().filter(|name| {
            (1..=64).contains(&name.chars().count())
                && name.trim() == *name
                && !name.starts_with('.')
                && !name.contains(|c: char| c.is_control() || matches!(c, '/' | '=' | ','))
        });
        name.map(ToOwned::to_owned).ok_or_else(|| Error::BadValue {
            key: self.label("name"),
            value: units::text(value),
            accepted: accepted(),
        })
    }

    /// What is given in this table.
    pub fn given(&self) -> &'a Table {
        self.table
    }

    /// The dotted path of a key.
    pub fn full(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }

    /// How errors name a key: by its flag too, where one set it.
    pub fn label(&self, name: &str) -> String {
        self.draft.label(&self.full(name))
    }

    /// That a value is not what its key accepts.
    pub fn refuse(&self, name: &str, value: &Value) -> Error {
        Error::BadValue {
            key: self.label(name),
            value: units::text(value),
            accepted: self.key(name).accept.to_string(),
        }
    }

    fn key(&self, name: &str) -> &'static Key {
        keys::of(self.name)
            .find(|key| key.name == name)
            .expect("only keys of the table of keys are read")
    }

    /// The value or the default of a key, read by `parse`.
    fn read<T>(
        &self,
        name: &str,
        parse: impl Fn(&Value, Accept) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let key = self.key(name);
        let default = || Value::String(key.default.to_owned());
        let value = match self.table.get(name) {
            Some(value) => value.clone(),
            None if key.default.is_empty() => return Ok(None),
            None => default(),
        };
        match parse(&value, key.accept) {
            Some(parsed) => Ok(Some(parsed)),
            None => Err(self.refuse(name, &value)),
        }
    }

    /// Text, of the accepted words where the key lists them.
    pub fn text(&self, name: &str) -> Result<Option<String>, Error> {
        self.read(name, |value, accept| {
            let text = value.as_str()?;
            match accept {
                Accept::Choice(words) => words.contains(&text).then(|| text.to_owned()),
                _ => (!text.trim().is_empty()).then(|| text.to_owned()),
            }
        })
    }

    /// A list of words, none of them empty.
    pub fn words(&self, name: &str) -> Result<Option<Vec<String>>, Error> {
        self.read(name, |value, _| {
            units::words(value).filter(|words| words.iter().all(|word| !word.is_empty()))
        })
    }

    /// A whole number in the range of the key.
    pub fn count(&self, name: &str) -> Result<Option<u64>, Error> {
        self.read(name, |value, accept| {
            let Accept::Count(min, max) = accept else {
                return None;
            };
            units::count(value).filter(|count| (min..=max).contains(count))
        })
    }

    /// Bytes in the range of the key.
    pub fn size(&self, name: &str) -> Result<Option<u64>, Error> {
        self.read(name, |value, accept| {
            let Accept::Size(min, max) = accept else {
                return None;
            };
            units::size(value).filter(|size| (min..=max).contains(size))
        })
    }

    /// A number in the range of the key.
    pub fn number(&self, name: &str) -> Result<Option<f64>, Error> {
        self.read(name, |value, accept| {
            let Accept::Number(min, max) = accept else {
                return None;
            };
            units::number(value).filter(|number| (min..=max).contains(number))
        })
    }

    /// A time in the range of the key.
    pub fn time(&self, name: &str) -> Result<Option<Duration>, Error> {
        self.read(name, |value, accept| {
            let Accept::Time(min, max) = accept else {
                return None;
            };
            units::time(value).filter(|time| (min..=max).contains(&time.as_secs_f64()))
        })
    }

    /// A flag; false where it is absent.
    pub fn flag(&self, name: &str) -> Result<bool, Error> {
        Ok(self
            .read(name, |value, _| units::flag(value))?
            .unwrap_or(false))
    }

    /// The table that a value is, of the keys of `name`.
    pub fn inline(
        &self,
        key: &str,
        table: &'a Table,
        name: &'static str,
    ) -> Result<Section<'a>, Error> {
        Section::open(self.draft, table, name, self.full(key), &[])
    }
}
