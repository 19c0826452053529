//! Values of a plan that are marked as assumed: those that `assumed` names and that the user did
//! not set.
//!
//! `assumed` names keys as a plan writes them (`database.block_cache`, `system.a.database.sync`,
//! `workload.mine.read`). A study shows effective keys (`system.a.database.block_cache`,
//! `workload.mine.mix`). A name covers every effective key that its value becomes. The name of a
//! table covers everything in it.

use super::{
    Accept, Error, Plan, PlanKey, SystemPlan, keys,
    limits::{AUTO, DRIVER_DEFAULT},
    raw::RawPlan,
};
use tailmark_driver::{Driver, Place, SettingKind, db, did_you_mean};
use toml::{Table, Value};

/// The words of a key: `["system", "a", "database", "sync"]`.
type KeyPath = Vec<String>;

/// The names that are still assumed, and the effective keys that they cover, sorted.
///
/// # Errors
/// If a name matches no key of this plan. Suggests the nearest.
pub(super) fn marked(raw: &RawPlan, plan: &Plan, names: &[String]) -> Result<Vec<String>, Error> {
    let names_of = Names { raw, plan };
    let known = names_of.known();
    let find = |name: &str| {
        let bare = |text: &str| text.replace(['"', '\''], "");
        let name = bare(name);
        known.iter().find(|path| bare(&path.join(".")) == name)
    };
    let mut assumed = Vec::new();
    for name in names {
        assumed.push(find(name).ok_or_else(|| {
            let known: Vec<_> = known.iter().map(|path| path.join(".")).collect();
            let hint = did_you_mean(name, known.iter().map(String::as_str));
            Error::BadValue {
                key: raw.label("assumed"),
                value: name.clone(),
                accepted: format!("keys of this plan{hint}"),
            }
        })?);
    }
    // --system sets only places, which are handled below.
    let flags = raw.flags().filter(|flag| *flag != "system");
    let given: Vec<&KeyPath> = flags.filter_map(find).collect();
    let is_given = |key: &str, value: &str| {
        given.iter().any(|path| names_of.covers(path, key))
            || names_of.is_scaled_or_placed(key, value)
    };
    let mut marked = Vec::new();
    for (name, path) in names.iter().zip(assumed) {
        let keys = plan.header.plan.iter();
        let (gone, left): (Vec<_>, Vec<_>) = keys
            .filter(|(key, _)| names_of.covers(path, key))
            .partition(|(key, entry)| is_given(key, &entry.value));
        let is_named = gone.is_empty() && !given.iter().any(|given| path.starts_with(given));
        if is_named || !left.is_empty() {
            marked.push(name.clone());
        }
        marked.extend(left.into_iter().map(|(key, _)| key.clone()));
    }
    marked.sort();
    marked.dedup();
    Ok(marked)
}

/// The names of a plan's keys, as written and effective.
struct Names<'a> {
    raw: &'a RawPlan,
    plan: &'a Plan,
}

impl Names<'_> {
    /// Every key that this plan could have.
    fn known(&self) -> Vec<KeyPath> {
        let mut known = Vec::new();
        self.add(&mut known, &[], "", self.base());
        known
    }

    fn add(&self, known: &mut Vec<KeyPath>, path: &[String], table: &str, driver: Option<&Driver>) {
        let at = |name: &str| [path, &[name.to_owned()]].concat();
        for key in keys::in_table(table) {
            known.push(at(key.name));
            for name in self.named(key) {
                let inner = [at(key.name), vec![name.clone()]].concat();
                let system = self.plan.systems.iter().find(|s| s.name == name);
                known.push(inner.clone());
                self.add(known, &inner, key.name, system.map(|s| s.driver).or(driver));
            }
            match key.accept {
                Accept::Table => self.add(known, &at(key.name), key.name, driver),
                Accept::Distribution => self.add(known, &at(key.name), "distribution", driver),
                Accept::Threads => self.add(known, &at(key.name), "threads", driver),
                _ => {}
            }
        }
        if table == "database" {
            let settings = driver.map_or(&[][..], |driver| driver.settings);
            known.extend(settings.iter().map(|setting| at(setting.name)));
        }
    }

    /// The names of the tables `[[system]]` or `[[workload]]`.
    fn named(&self, key: &PlanKey) -> Vec<String> {
        let tables = match (key.accept, self.raw.table().get(key.name)) {
            (Accept::Tables, Some(Value::Array(tables))) => &tables[..],
            _ => &[],
        };
        let names = tables
            .iter()
            .filter_map(|table| table.get("name")?.as_str());
        names.map(ToOwned::to_owned).collect()
    }

    /// The driver of `[database]`.
    fn base(&self) -> Option<&'static Driver> {
        let database = self.raw.table().get("database");
        let name = database.and_then(|table| table.get("driver")?.as_str());
        db::find(name.unwrap_or(DRIVER_DEFAULT)).ok()
    }

    /// Whether an effective key results from the value of a key, at least in part.
    fn covers(&self, path: &KeyPath, key: &str) -> bool {
        let words: Vec<&str> = path.iter().map(String::as_str).collect();
        if let ["sweep", "distribution", ..] = words[..] {
            return key.starts_with("workload.") && key.ends_with(".distribution");
        }
        self.effective(&words).iter().any(|effective| {
            key.strip_prefix(effective.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// The effective keys of a key.
    fn effective(&self, words: &[&str]) -> Vec<String> {
        match words {
            ["database"] => self.all_of_database(|name| self.effective(&["database", name])),
            ["database", name] => {
                let systems = self.plan.systems.iter();
                let systems = systems.filter(|system| self.takes(system, name));
                systems
                    .map(|system| of_system(&system.name, name))
                    .collect()
            }
            ["system", system, "database"] => {
                self.all_of_database(|name| vec![of_system(system, name)])
            }
            ["system", system, "database", name] => vec![of_system(system, name)],
            [
                "system",
                system,
                name @ ("path" | "device" | "contact_points"),
            ] => {
                let is_server =
                    |s: &SystemPlan| s.name == *system && s.driver.place == Place::Hosts;
                let is_watched =
                    *name != "contact_points" && self.plan.systems.iter().any(is_server);
                let place = if is_watched { "watch" } else { "place" };
                vec![format!("system.{system}.{place}")]
            }
            ["system", system, "service", "systemd"] => ["start", "stop"]
                .map(|what| format!("system.{system}.service.{what}"))
                .into(),
            ["workload", workload, name, ..] => {
                vec![format!("workload.{workload}.{}", in_effect(name))]
            }
            ["sweep", "threads", ..] => vec!["sweep.threads".to_owned()],
            _ => vec![words.join(".")],
        }
    }

    /// The result of `effective` for every key and setting of a `database` table.
    fn all_of_database(&self, effective: impl Fn(&str) -> Vec<String>) -> Vec<String> {
        let keys = keys::in_table("database").map(|key| key.name);
        let drivers = self.plan.systems.iter().map(|system| system.driver);
        let settings = drivers
            .flat_map(|driver| driver.settings)
            .map(|setting| setting.name);
        keys.chain(settings).flat_map(effective).collect()
    }

    /// Whether a system takes this key from `[database]`.
    fn takes(&self, system: &SystemPlan, name: &str) -> bool {
        let systems = self.raw.table().get("system").and_then(Value::as_array);
        let is_own = |table: &Table| {
            table.get("name").and_then(Value::as_str) == Some(&system.name)
                && table
                    .get("database")
                    .is_some_and(|own| own.get(name).is_some())
        };
        let mut tables = systems.into_iter().flatten().filter_map(Value::as_table);
        let is_shared = keys::in_table("database").any(|key| key.name == name)
            || self
                .base()
                .is_some_and(|base| base.name == system.driver.name);
        is_shared && !tables.any(is_own)
    }

    /// Whether a flag changed a value without naming its key: a scale, or --system for a place.
    fn is_scaled_or_placed(&self, key: &str, value: &str) -> bool {
        let has = |name: &str| self.raw.flags().any(|flag| flag == name);
        let is_scaled = || {
            let is_cache = |system: &SystemPlan| {
                system.driver.settings.iter().any(|setting| {
                    matches!(setting.kind, SettingKind::Bytes { scales: true })
                        && key == of_system(&system.name, setting.name)
                })
            };
            matches!(
                key,
                "dataset.records" | "sweep.operations" | "machine.memory_limit"
            ) || self.plan.systems.iter().any(is_cache)
        };
        let times = [
            "sweep.duration",
            "sweep.warmup",
            "sweep.warmup_least",
            "sweep.warmup_most",
        ];
        let is_timed = times.contains(&key) && !["0s", AUTO].contains(&value);
        let is_place = key.starts_with("system.") && key.ends_with(".place");
        (has("scale") && self.plan.general.scale != 1.0 && is_scaled())
            || (has("time_scale") && self.plan.general.time_scale != 1.0 && is_timed)
            || (has("system") && is_place)
    }
}

/// The effective key for a setting or key of a system's database.
fn of_system(system: &str, name: &str) -> String {
    if keys::in_table("database").any(|key| key.name == name) {
        format!("system.{system}.{name}")
    } else {
        format!("system.{system}.database.{name}")
    }
}

/// The effective name for a key of a workload.
fn in_effect(name: &str) -> &str {
    match name {
        "read" | "update" | "insert" | "scan" | "read_modify_write" => "mix",
        "scan_length_min" | "scan_length_max" => "scan_length",
        other => other,
    }
}
