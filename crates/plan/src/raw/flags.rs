//! The flags that stand for keys, put into a plan as written.

use super::{RECORD_SIZE, RawPlan};
use crate::{
    Accept, Error, PlanKey,
    keys::{self, SETTING_FLAGS},
    limits::DRIVER_DEFAULT,
    units,
};
use toml::{Table, Value};

impl RawPlan {
    /// Sets a key by its flag.
    ///
    /// # Errors
    /// If its table is something else.
    pub fn set_flag(&mut self, key: &PlanKey, value: &str) -> Result<(), Error> {
        let path = key.path();
        let flag = key.flag.map_or("", |flag| flag.name);
        if SETTING_FLAGS.iter().any(|own| own.path() == path) {
            return self.set_setting(key, value);
        }
        match (path.as_str(), key.accept) {
            ("database.driver", _) => {
                self.set_driver(value);
                Ok(())
            }
            (path, accept) if flag == RECORD_SIZE => {
                let value = Value::from(value);
                let Some(size) = units::size(&value) else {
                    return Err(Error::BadValue {
                        key: format!("{flag} ({path})"),
                        value: units::text(&value),
                        accepted: accept.to_string(),
                    });
                };
                self.record_size = Some(size);
                self.split_record(size)
            }
            (path, Accept::Flag) => self.set(flag, path, true.into()),
            (path, Accept::FlagOr(_)) if value == "true" => self.set(flag, path, true.into()),
            (path, _) => self.set(flag, path, value.into()),
        }
    }

    /// Splits a record of this size evenly over its fields. If the plan does not say how many and
    /// the usual number does not divide the size, the record gets one field.
    pub(super) fn split_record(&mut self, size: u64) -> Result<(), Error> {
        let row = keys::find("dataset", "fields").expect("it is a key");
        let given = self
            .table
            .get("dataset")
            .and_then(|data| data.get("fields"));
        let usual = || units::count(&row.fixed_default().into());
        let fields = given.map_or_else(usual, units::count);
        // A number of fields that is not accepted is refused later.
        let fields = fields.unwrap_or(1).max(1);
        if size.is_multiple_of(fields) {
            let length = i64::try_from(size / fields).unwrap_or(i64::MAX);
            return self.set(RECORD_SIZE, "dataset.field_length", length.into());
        }
        if given.is_none() {
            self.set(RECORD_SIZE, "dataset.fields", 1.into())?;
            return self.split_record(size);
        }
        Err(Error::BadValue {
            key: RECORD_SIZE.to_owned(),
            value: size.to_string(),
            accepted: format!(
                "a multiple of dataset.fields ({fields}), such as {}; or set dataset.fields=1",
                (size / fields).max(1) * fields
            ),
        })
    }

    /// Sets a setting of the plan's driver, and of each system that names its own driver.
    fn set_setting(&mut self, key: &PlanKey, value: &str) -> Result<(), Error> {
        let flag = key.flag.map_or("", |flag| flag.name);
        let value = match key.accept {
            Accept::Flag => Value::Boolean(true),
            _ => Value::from(value),
        };
        let parts = format!("{}_", key.name);
        let set = |database: &mut Table| {
            let driver = database.get("driver").and_then(Value::as_str);
            let driver = tailmark_driver::db::find(driver.unwrap_or(DRIVER_DEFAULT)).ok();
            let settings = driver.into_iter().flat_map(|driver| driver.settings);
            let named = settings.map(|setting| setting.name);
            let named = named.filter(|name| *name == key.name || name.starts_with(&parts));
            let named: Vec<_> = named.collect();
            for name in &named {
                database.insert((*name).to_owned(), value.clone());
            }
            named
        };
        let base = self.table.entry("database");
        let base = base.or_insert_with(|| Table::new().into()).as_table_mut();
        let mut names = base.map(set).unwrap_or_default();
        let systems = self.table.get_mut("system").and_then(Value::as_array_mut);
        let systems = systems.into_iter().flatten();
        let own = systems.filter_map(|system| system.get_mut("database")?.as_table_mut());
        let own = own.filter(|database| database.contains_key("driver"));
        names.extend(own.flat_map(set));
        if names.is_empty() {
            return Err(Error::BadValue {
                key: flag.to_owned(),
                value: units::text(&value),
                accepted: "absent, because no driver of the plan has such a setting (see \
                           `tailmark list drivers`)"
                    .to_owned(),
            });
        }
        self.source = None;
        for name in names {
            self.flags
                .insert(format!("database.{name}"), flag.to_owned());
        }
        Ok(())
    }

    /// Sets the driver of the plan. Settings of another driver are removed, because they would have
    /// no meaning.
    pub fn set_driver(&mut self, driver: &str) {
        let database = self
            .table
            .entry("database")
            .or_insert_with(|| Table::new().into());
        let Value::Table(database) = database else {
            return;
        };
        let is_same = database
            .get("driver")
            .map_or(driver == DRIVER_DEFAULT, |given| {
                given.as_str() == Some(driver)
            });
        if !is_same {
            database.retain(|key, _| key == "semantics");
        }
        database.insert("driver".to_owned(), driver.into());
        if !is_same {
            self.forget_assumed(|words| {
                words.starts_with("database.") && words != "database.semantics"
            });
        }
        self.source = None;
        self.flags
            .insert("database.driver".to_owned(), "--driver".to_owned());
    }
}
