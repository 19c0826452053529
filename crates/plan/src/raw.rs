//! A plan as written: TOML from a file or a shipped plan, with command-line flags merged into the
//! same table, so that one check serves every source.

mod flags;

use super::{
    Error, keys,
    lines::Lines,
    logins::showable,
    shipped::{self, PLANS},
    units,
};
use std::{collections::BTreeMap, fs, io, path::Path};
use tailmark_driver::{did_you_mean, read_text_stream};
use tailmark_model::secret::masked;
use toml::{Table, Value};

/// The keys that name a system's place.
const PLACES: &[&str] = &["path", "device", "contact_points"];

/// The flag that sets the number of fields and their length together.
const RECORD_SIZE: &str = "--record-size";

/// The largest plan in bytes. The study stores its text.
pub const PLAN_BYTES_MAX: usize = 4 << 20;

/// An unchecked plan.
#[derive(Debug, Clone, Default)]
pub struct RawPlan {
    /// The plan's name: its file's stem or its shipped name; `None` for flags alone.
    pub name: Option<String>,
    table: Table,
    /// The text that was read, as long as it is still equivalent.
    source: Option<String>,
    /// The flag that set each dotted key.
    flags: BTreeMap<String, String>,
    /// The bytes of a record, if a flag set them.
    record_size: Option<u64>,
    lines: Lines,
}

impl RawPlan {
    /// A shipped plan by name, or a plan file by path. A file with the name of a shipped plan is
    /// found only as `./NAME`, because another user may have put it into this directory.
    ///
    /// # Errors
    /// If there is neither, the file has more than [`PLAN_BYTES_MAX`] bytes, or it is not TOML.
    pub fn find(name: &str) -> Result<Self, Error> {
        if let Some(plan) = shipped::find(name) {
            return Self::parse(plan.name, plan.text);
        }
        let path = Path::new(name);
        // Also pipes: `<(...)` of a shell and `/dev/stdin`.
        if fs::metadata(path).is_ok_and(|found| !found.is_dir()) {
            let read = read_text_stream(path).and_then(|text| {
                if text.len() > PLAN_BYTES_MAX {
                    return Err(io::Error::other("it has more than 4 MiB"));
                }
                Ok(text)
            });
            let text = read.map_err(|source| Error::Read {
                path: path.to_owned(),
                source,
            })?;
            let mut raw = Self::parse(name, &text)?;
            raw.name = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned());
            return Ok(raw);
        }
        let known = || PLANS.iter().map(|plan| plan.name);
        Err(Error::UnknownPlan {
            name: name.to_owned(),
            hint: did_you_mean(name, known()),
            known: known().collect::<Vec<_>>().join(", "),
        })
    }

    /// A plan from its text.
    ///
    /// # Errors
    /// If it is not TOML. Names line and column.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let table = text.parse::<Table>().map_err(|error| {
            let before = &text[..error.span().map_or(0, |span| span.start.min(text.len()))];
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            Error::Syntax {
                at: format!("{name}, line {line}, column {column}"),
                message: error.message().replace('\n', ", "),
            }
        })?;
        Ok(Self {
            name: Some(name.to_owned()),
            table,
            source: Some(text.to_owned()),
            flags: BTreeMap::new(),
            record_size: None,
            lines: Lines::new(name, text),
        })
    }

    /// Sets the key at a dotted path. For `system` and `workload`, the second word is the name of
    /// an existing table.
    ///
    /// # Errors
    /// If the path leads through something that is not a table.
    pub fn set(&mut self, flag: &str, key: &str, value: Value) -> Result<(), Error> {
        let words = split(key).ok_or_else(|| Error::UnknownKey {
            key: key.to_owned(),
            hint: String::new(),
            known: keys::in_table("")
                .map(|row| row.name)
                .collect::<Vec<_>>()
                .join(", "),
        })?;
        self.source = None;
        let mut table = &mut self.table;
        let (last, tables) = words
            .split_last()
            .expect("a split key has at least one word");
        let mut at = 0;
        while at < tables.len() {
            let word = &tables[at];
            let path = || words[..=at].join(".");
            table = match (word.as_str(), tables.get(at + 1)) {
                ("system" | "workload", Some(name)) if at == 0 => {
                    at += 1;
                    named(
                        table,
                        if word == "system" {
                            "system"
                        } else {
                            "workload"
                        },
                        name,
                        key,
                    )?
                }
                _ => match table
                    .entry(word.clone())
                    .or_insert_with(|| Table::new().into())
                {
                    Value::Table(table) => table,
                    other => {
                        return Err(Error::BadValue {
                            key: path(),
                            value: units::text(&showable(word, other)),
                            accepted: "a table".to_owned(),
                        });
                    }
                },
            };
            at += 1;
        }
        table.insert(last.clone(), value);
        if words.len() == 3 && words[0] == "system" && PLACES.contains(&last.as_str()) {
            table.remove("placeholder");
        }
        let path = words.join(".");
        let sets_fields = path == "dataset.fields";
        self.flags.insert(path, flag.to_owned());
        match self.record_size {
            Some(size) if sets_fields && flag != RECORD_SIZE => self.split_record(size),
            _ => Ok(()),
        }
    }

    /// Removes names from `assumed` whose keys a flag has removed from the plan.
    fn forget_assumed(&mut self, is_gone: impl Fn(&str) -> bool) {
        if let Some(Value::Array(names)) = self.table.get_mut("assumed") {
            names.retain(|name| {
                let bare = name.as_str().map(|name| name.replace(['"', '\''], ""));
                !bare.is_some_and(|part| is_gone(&part))
            });
        }
    }

    /// Applies `KEY=VALUE`. A value that is not TOML is text.
    ///
    /// # Errors
    /// If it is not such an assignment.
    pub fn assign(&mut self, given: &str) -> Result<(), Error> {
        let parts = given
            .split_once('=')
            .filter(|(key, _)| !key.trim().is_empty());
        let Some((key, value)) = parts else {
            return Err(Error::BadAssignment {
                given: given.to_owned(),
            });
        };
        let value = value.trim();
        let parsed = format!("value = {value}").parse::<Table>().ok();
        let parsed = parsed
            .filter(|table| table.len() == 1)
            .and_then(|mut t| t.remove("value"));
        self.set(
            "--set",
            key.trim(),
            parsed.unwrap_or_else(|| Value::String(value.to_owned())),
        )
    }

    /// Replaces the systems of the plan by those given as `NAME=WHERE`. A system that the plan
    /// already names keeps its other keys, except the expectations about its place. Ceilings of the
    /// named systems stay.
    ///
    /// # Errors
    /// If one is not `NAME=WHERE`.
    pub fn set_systems(&mut self, given: &[String]) -> Result<(), Error> {
        if given.is_empty() {
            return Ok(());
        }
        let old = match self.table.remove("system") {
            Some(Value::Array(old)) => old,
            _ => Vec::new(),
        };
        let named = |table: &Value, key: &str| {
            table
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let mut systems = Vec::new();
        for text in given {
            let parts = text
                .split_once('=')
                .filter(|(n, w)| !n.is_empty() && !w.is_empty());
            let Some((name, place)) = parts else {
                return Err(Error::BadSystem {
                    given: text.clone(),
                });
            };
            let kept = old.iter().find(|system| named(system, "name") == name);
            let mut system = kept.and_then(Value::as_table).cloned().unwrap_or_default();
            // Expectations and preparation belong to the replaced place, and so does the host of an
            // example.
            let is_example = system.get("placeholder").and_then(Value::as_bool) == Some(true);
            let host: &[&str] = if is_example { &["ssh", "agent"] } else { &[] };
            let of_place = ["placeholder", "expect", "prepare"];
            for key in PLACES.iter().chain(&of_place).chain(host) {
                system.remove(*key);
            }
            system.insert("name".to_owned(), name.into());
            system.insert(self.place_key(&system).to_owned(), place.into());
            systems.push(Value::Table(system));
        }
        let is_new = |name: &str| systems.iter().all(|system| named(system, "name") != name);
        let stays = |system: &&Value| {
            is_new(&named(system, "name")) && !is_new(&named(system, "ceiling_for"))
        };
        let mut ceilings: Vec<_> = old.iter().filter(stays).cloned().collect();
        systems.append(&mut ceilings);
        self.source = None;
        let is_left = |name: &str| systems.iter().any(|system| named(system, "name") == name);
        let gone = old.iter().map(|system| named(system, "name"));
        let gone: Vec<_> = gone.filter(|name| !is_left(name)).collect();
        self.forget_assumed(|words| {
            gone.iter().any(|name| {
                let own = words.strip_prefix("system.").unwrap_or_default();
                own.strip_prefix(name.as_str())
                    .is_some_and(|rest| rest.starts_with('.'))
            })
        });
        self.forget_in_report(&gone);
        self.flags
            .insert("system".to_owned(), "--system".to_owned());
        self.table
            .insert("system".to_owned(), Value::Array(systems));
        Ok(())
    }

    /// Removes what `report` says about removed systems, unless a flag said it.
    fn forget_in_report(&mut self, gone: &[String]) {
        let Some(Value::Table(report)) = self.table.get_mut("report") else {
            return;
        };
        for key in ["subject", "baseline"] {
            let named = report.get(key).and_then(Value::as_str);
            let is_gone = named.is_some_and(|name| gone.iter().any(|gone| gone == name));
            if is_gone && !self.flags.contains_key(&format!("report.{key}")) {
                report.remove(key);
            }
        }
        for key in ["chart_systems", "colors"] {
            let is_gone = |text: &str| {
                let mut names = text.split(": ").next().unwrap_or_default().split(',');
                names.any(|name| gone.iter().any(|gone| gone == name.trim()))
            };
            if let Some(Value::Array(texts)) = report.get_mut(key) {
                texts.retain(|text| !text.as_str().is_some_and(is_gone));
            }
        }
    }

    /// The key for the place of a system, according to its driver.
    fn place_key(&self, system: &Table) -> &'static str {
        let driver = |table: &Table| {
            table
                .get("database")?
                .get("driver")?
                .as_str()
                .map(ToOwned::to_owned)
        };
        let name = driver(system).or_else(|| driver(&self.table));
        let found = name.and_then(|name| tailmark_driver::db::find(&name).ok());
        match found.map(|found| found.place) {
            Some(tailmark_driver::Place::Hosts) => "contact_points",
            _ => "path",
        }
    }

    /// The dotted keys that flags have set. `system` stands for the places of --system.
    pub(super) fn flags(&self) -> impl Iterator<Item = &str> {
        self.flags.keys().map(String::as_str)
    }

    /// An error about a key of the file, with its line.
    pub(super) fn locate(&self, error: Error) -> Error {
        self.lines.locate(error)
    }

    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// The name of a key in errors: `--threads (sweep.threads)` if a flag set it.
    pub(super) fn label(&self, key: &str) -> String {
        match self.flags.get(key) {
            Some(flag) => format!("{flag} ({key})"),
            None => key.to_owned(),
        }
    }

    /// TOML that is equivalent to the plan, without secrets in its commands: the text that was read
    /// if each command appears in it unchanged, otherwise a generated one.
    pub(super) fn source(&self) -> String {
        let mut table = self.table.clone();
        let mut text = self.source.clone();
        for command in commands_of(&mut table) {
            let shown = masked(command);
            if shown != *command {
                text = text
                    .filter(|text| text.contains(command.as_str()))
                    .map(|text| text.replace(command.as_str(), &shown));
                *command = shown;
            }
        }
        text.unwrap_or_else(|| {
            toml::to_string(&table).expect("a TOML table can be written as TOML")
        })
    }
}

/// The commands of the services of all systems.
fn commands_of(plan: &mut Table) -> impl Iterator<Item = &mut String> {
    let systems = plan.get_mut("system").and_then(Value::as_array_mut);
    let systems = systems.into_iter().flatten();
    let services = systems.filter_map(|system| system.get_mut("service")?.as_table_mut());
    services
        .flat_map(Table::iter_mut)
        .filter_map(|(key, value)| match value {
            Value::String(command) if ["start", "stop", "ready"].contains(&key.as_str()) => {
                Some(command)
            }
            _ => None,
        })
}

/// The words of a dotted key, which may be quoted: `system."Micron 7450".path`.
fn split(key: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut parsed = Value::Table(format!("{key} = 0").parse::<Table>().ok()?);
    while let Value::Table(table) = parsed {
        let (word, inner) = table.into_iter().next()?;
        words.push(word);
        parsed = inner;
    }
    Some(words)
}

/// The `[[kind]]` table of this name.
fn named<'a>(
    top: &'a mut Table,
    kind: &'static str,
    name: &str,
    key: &str,
) -> Result<&'a mut Table, Error> {
    let mut known = Vec::new();
    let tables = top.get_mut(kind).and_then(Value::as_array_mut);
    for table in tables.into_iter().flatten().filter_map(Value::as_table_mut) {
        let own = table
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if own == name {
            return Ok(table);
        }
        known.push(own);
    }
    Err(Error::NotThere {
        key: key.to_owned(),
        name: name.to_owned(),
        table: kind,
        hint: did_you_mean(name, known.iter().map(String::as_str)),
        known: known.join(", "),
    })
}
