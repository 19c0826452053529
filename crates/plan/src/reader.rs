//! One table of a plan while it is read. It knows its path and what its keys accept.

use super::{
    DefaultInputs, DefaultValue, Error, PlanKey, RawPlan, accept::Accepted, hints::hint, keys,
    logins::showable, units,
};
use std::{borrow::Cow, sync::LazyLock};
use tailmark_driver::did_you_mean;
use toml::{Table, Value};

/// A table of the plan.
pub(super) struct TableReader<'a> {
    raw: &'a RawPlan,
    table: &'a Table,
    /// Its name in the table of keys.
    name: &'static str,
    /// Its dotted path, for errors.
    path: String,
}

/// The content of an absent table.
static NOTHING: LazyLock<Table> = LazyLock::new(Table::new);

impl<'a> TableReader<'a> {
    /// The top of the plan.
    pub fn top(raw: &'a RawPlan) -> Result<Self, Error> {
        Self::open(raw, raw.table(), "", String::new(), &[])
    }

    /// A table whose keys are those of `name` and `more`.
    pub fn open(
        raw: &'a RawPlan,
        table: &'a Table,
        name: &'static str,
        path: String,
        more: &[&str],
    ) -> Result<Self, Error> {
        let reader = Self {
            raw,
            table,
            name,
            path,
        };
        let known = || {
            keys::in_table(name)
                .map(|key| key.name)
                .chain(more.iter().copied())
        };
        match table.keys().find(|given| known().all(|key| key != *given)) {
            Some(given) => Err(Error::UnknownKey {
                key: reader.full(given),
                hint: hint(given).unwrap_or_else(|| did_you_mean(given, known())),
                known: known().collect::<Vec<_>>().join(", "),
            }),
            None => Ok(reader),
        }
    }

    /// The table `name`, empty if it is absent. `database` may have `more` keys.
    pub fn table(&self, name: &'static str, more: &[&str]) -> Result<TableReader<'a>, Error> {
        let table = match self.table.get(name) {
            None => &NOTHING,
            Some(Value::Table(table)) => table,
            Some(other) => return Err(self.refuse(name, other)),
        };
        TableReader::open(self.raw, table, name, self.full(name), more)
    }

    /// The `[[name]]` tables, each with its unique name.
    pub fn tables(&self, name: &'static str) -> Result<Vec<(String, TableReader<'a>)>, Error> {
        let items = match self.table.get(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(self.refuse(name, other)),
        };
        let mut readers: Vec<(String, TableReader<'a>)> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let Value::Table(table) = item else {
                return Err(self.refuse(name, item));
            };
            let nameless = format!("{name}[{index}]");
            let nameless = TableReader {
                raw: self.raw,
                table,
                name,
                path: nameless,
            };
            let own = nameless.own_name()?;
            if readers.iter().any(|(other, _)| *other == own) {
                return Err(Error::Duplicate {
                    table: name,
                    name: own,
                });
            }
            let path = format!("{name}.{own}");
            let reader = TableReader::open(self.raw, table, name, path, &[])?;
            readers.push((own, reader));
        }
        Ok(readers)
    }

    /// The name of a `[[system]]` or `[[workload]]`. Files are named after it.
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

    /// The name of a `[[system]]` or `[[workload]]`.
    pub fn name(&self) -> Result<String, Error> {
        self.own_name()
    }

    /// The given values of this table.
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

    /// The name of a key in errors, with the flag that set it.
    pub fn label(&self, name: &str) -> String {
        self.raw.label(&self.full(name))
    }

    /// The error that a value is not accepted by its key.
    pub fn refuse(&self, name: &str, value: &Value) -> Error {
        Error::BadValue {
            key: self.label(name),
            value: units::text(&showable(name, value)),
            accepted: self.key(name).accept.to_string(),
        }
    }

    /// The error that the given value, or the default, is not accepted here.
    pub fn refuse_given(&self, name: &str, accepted: String) -> Error {
        let value = self.value(name);
        Error::BadValue {
            key: self.label(name),
            value: value.map_or_else(String::new, |value| units::text(&value)),
            accepted,
        }
    }

    fn key(&self, name: &str) -> &'static PlanKey {
        keys::find(self.name, name).expect("only keys of the table of keys are read")
    }

    /// The given value, or the fixed default.
    pub fn value(&self, name: &str) -> Option<Cow<'a, Value>> {
        let default = match self.key(name).default {
            DefaultValue::Fixed(default) => Some(Cow::Owned(default.into())),
            DefaultValue::None | DefaultValue::Computed(_) => None,
        };
        self.table.get(name).map(Cow::Borrowed).or(default)
    }

    /// The value of a key, given or by default.
    pub fn get<T: Accepted>(&self, name: &str) -> Result<T, Error> {
        let read = self.optional(name)?;
        Ok(read.expect("a key that is read so has a default"))
    }

    /// The value of a key; `None` if it is not given and has no default.
    pub fn optional<T: Accepted>(&self, name: &str) -> Result<Option<T>, Error> {
        let value = self.value(name);
        value.map(|value| self.accepted(name, &value)).transpose()
    }

    /// The value of a key, given or computed by its row.
    pub fn computed<T: Accepted>(
        &self,
        name: &str,
        inputs: &DefaultInputs<'_>,
    ) -> Result<Option<T>, Error> {
        let computed = match (self.table.get(name), self.key(name).default) {
            (None, DefaultValue::Computed(default)) => default(inputs),
            _ => return self.optional(name),
        };
        let value = computed.map(Value::String);
        value.map(|value| self.accepted(name, &value)).transpose()
    }

    fn accepted<T: Accepted>(&self, name: &str, value: &Value) -> Result<T, Error> {
        T::read(value, self.key(name).accept).ok_or_else(|| self.refuse(name, value))
    }

    /// A value as a table with the keys of `name`.
    pub fn inline<'b>(
        &self,
        key: &str,
        table: &'b Table,
        name: &'static str,
    ) -> Result<TableReader<'b>, Error>
    where
        'a: 'b,
    {
        TableReader::open(self.raw, table, name, self.full(key), &[])
    }
}
