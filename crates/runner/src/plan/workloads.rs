//! The workloads of a plan: by name, of one's own, and with which distribution.

use super::{Error, error::hint, section::Section, units};
use std::sync::Arc;
use tailmark_workload::{Distribution, Group, LengthChoice, Mix, ScanLength, WORKLOADS, Workload};
use toml::Value;

/// The `[[workload]]` tables.
pub(super) struct Workloads {
    own: Vec<Workload>,
}

impl Workloads {
    /// Reads and checks every table, also one that the sweep does not name.
    pub fn read(top: &Section<'_>) -> Result<Self, Error> {
        let tables = top.tables("workload")?;
        let own = tables.iter().map(|(name, section)| workload(name, section));
        Ok(Self {
            own: own.collect::<Result<_, _>>()?,
        })
    }

    /// Those that `sweep.workloads` names, in its order.
    pub fn chosen(&self, sweep: &Section<'_>) -> Result<Vec<Arc<Workload>>, Error> {
        let names = sweep.words("workloads")?.unwrap_or_default();
        let distribution = distribution(sweep, "distribution")?;
        let mut chosen: Vec<Arc<Workload>> = Vec::new();
        for name in &names {
            if chosen.iter().any(|workload| workload.name == *name) {
                return Err(self.refuse(sweep, "names that differ", name));
            }
            let own = self
                .own
                .iter()
                .find(|workload| workload.name == *name)
                .cloned();
            let Some(workload) = own.or_else(|| tailmark_workload::find(name).ok()) else {
                let known: Vec<_> = self.known().collect();
                return Err(Error::NotThere {
                    key: sweep.label("workloads"),
                    name: name.clone(),
                    table: "workload",
                    hint: hint(name, known.iter().copied()),
                    known: known.join(", "),
                });
            };
            chosen.push(Arc::new(match distribution {
                Some(distribution) => workload.with_distribution(distribution),
                None => workload,
            }));
        }
        if chosen.is_empty() {
            return Err(self.refuse(sweep, "at least one name", "[]"));
        }
        Ok(chosen)
    }

    fn known(&self) -> impl Iterator<Item = &str> {
        let shipped = WORKLOADS.iter().map(|workload| workload.name);
        self.own
            .iter()
            .map(|workload| workload.name.as_str())
            .chain(shipped)
    }

    fn refuse(&self, sweep: &Section<'_>, wanted: &str, value: &str) -> Error {
        let known = self.known().collect::<Vec<_>>().join(", ");
        Error::BadValue {
            key: sweep.label("workloads"),
            value: value.to_owned(),
            accepted: format!("{wanted}, of {known}"),
        }
    }
}

/// One `[[workload]]` table.
fn workload(name: &str, section: &Section<'_>) -> Result<Workload, Error> {
    let weight = |key| Ok::<_, Error>(section.number(key)?.unwrap_or(0.0));
    let mix = Mix {
        read: weight("read")?,
        update: weight("update")?,
        insert: weight("insert")?,
        scan: weight("scan")?,
        read_modify_write: weight("read_modify_write")?,
    };
    let distribution = distribution(section, "distribution")?.unwrap_or(Distribution::Uniform);
    let scan = ScanLength {
        min: section.count("scan_length_min")?.unwrap_or(1) as u32,
        max: section.count("scan_length_max")?.unwrap_or(1) as u32,
        choice: match section.text("scan_length")?.as_deref() {
            Some("zipfian") => LengthChoice::Zipfian,
            _ => LengthChoice::Uniform,
        },
    };
    let read_all_fields = section.flag("read_all_fields")?;
    let group = Group {
        scan,
        read_all_fields,
        ..Group::new(mix, distribution)
    };
    let about = section.text("about")?.unwrap_or_else(|| name.to_owned());
    let workload = Workload::new(name, about, group);
    let key = || section.full("").trim_end_matches('.').to_owned();
    workload
        .validate()
        .map_err(|source| Error::Workload { key: key(), source })?;
    Ok(workload)
}

/// A distribution by its name, or as a table with its parameters.
fn distribution(section: &Section<'_>, key: &'static str) -> Result<Option<Distribution>, Error> {
    let named = |name: &str| {
        let error = |source| Error::Workload {
            key: section.label(key),
            source,
        };
        Distribution::parse(name).map_err(error)
    };
    match section.given().get(key) {
        None => Ok(None),
        Some(Value::String(name)) => named(name).map(Some),
        Some(Value::Table(table)) => {
            let inline = section.inline(key, table, "distribution")?;
            let Some(name) = inline.text("name")? else {
                let (key, accepted) = (inline.full("name"), "its name".to_owned());
                return Err(Error::Missing { key, accepted });
            };
            let distribution = with_parameters(named(&name)?, &inline)?;
            refuse_foreign(&distribution, &inline)?;
            Ok(Some(distribution))
        }
        Some(other) => Err(section.refuse(key, other)),
    }
}

fn with_parameters(
    distribution: Distribution,
    inline: &Section<'_>,
) -> Result<Distribution, Error> {
    let number = |key| Ok::<_, Error>(inline.number(key)?.unwrap_or(0.0));
    Ok(match distribution {
        Distribution::TrueZipfian { .. } => Distribution::TrueZipfian {
            theta: number("theta")?,
        },
        Distribution::Hotspot { .. } => Distribution::Hotspot {
            data_fraction: number("data_fraction")?,
            operation_fraction: number("operation_fraction")?,
        },
        Distribution::Exponential { .. } => Distribution::Exponential {
            percentile: number("percentile")?,
            fraction: number("fraction")?,
        },
        other => other,
    })
}

/// Refuses a parameter that the distribution does not have.
fn refuse_foreign(distribution: &Distribution, inline: &Section<'_>) -> Result<(), Error> {
    let own: &[&str] = match distribution {
        Distribution::TrueZipfian { .. } => &["name", "theta"],
        Distribution::Hotspot { .. } => &["name", "data_fraction", "operation_fraction"],
        Distribution::Exponential { .. } => &["name", "percentile", "fraction"],
        _ => &["name"],
    };
    match inline
        .given()
        .iter()
        .find(|(key, _)| !own.contains(&key.as_str()))
    {
        Some((key, value)) => Err(Error::BadValue {
            key: inline.label(key),
            value: units::text(value),
            accepted: format!(
                "absent: {} distributions have no such parameter",
                distribution.name()
            ),
        }),
        None => Ok(()),
    }
}
