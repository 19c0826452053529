//! The workloads of a plan: by name, custom ones, and their distributions.

use super::{DefaultInputs, Error, hints::value_hint, reader::TableReader, units};
use std::sync::Arc;
use tailmark_driver::did_you_mean;
use tailmark_workload::{
    ClientGroup, Distribution, LengthChoice, Mix, MixedOperations, ScanLength, WORKLOADS, Workload,
};
use toml::Value;

/// The `[[workload]]` tables.
pub(super) struct Workloads {
    own: Vec<Workload>,
}

impl Workloads {
    /// Reads and checks every table, even if the sweep does not name it.
    pub fn read(top: &TableReader<'_>) -> Result<Self, Error> {
        let tables = top.tables("workload")?;
        let own = tables.iter().map(|(name, reader)| workload(name, reader));
        Ok(Self {
            own: own.collect::<Result<_, _>>()?,
        })
    }

    /// The workloads in `sweep.workloads`, in order.
    pub fn chosen(&self, sweep: &TableReader<'_>) -> Result<Vec<Arc<Workload>>, Error> {
        let names: Vec<String> = sweep.get("workloads")?;
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
                    hint: value_hint(name)
                        .unwrap_or_else(|| did_you_mean(name, known.iter().copied())),
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

    fn refuse(&self, sweep: &TableReader<'_>, required: &str, value: &str) -> Error {
        let known = self.known().collect::<Vec<_>>().join(", ");
        Error::BadValue {
            key: sweep.label("workloads"),
            value: value.to_owned(),
            accepted: format!("{required}, of {known}"),
        }
    }
}

/// One `[[workload]]` table.
fn workload(name: &str, reader: &TableReader<'_>) -> Result<Workload, Error> {
    let mix = Mix {
        read: reader.get("read")?,
        update: reader.get("update")?,
        insert: reader.get("insert")?,
        scan: reader.get("scan")?,
        read_modify_write: reader.get("read_modify_write")?,
    };
    let distribution = distribution(reader, "distribution")?;
    let choice: String = reader.get("scan_length")?;
    let scan = ScanLength {
        min: reader.get("scan_length_min")?,
        max: reader.get("scan_length_max")?,
        choice: match choice.as_str() {
            "zipfian" => LengthChoice::Zipfian,
            _ => LengthChoice::Uniform,
        },
    };
    let group = ClientGroup::mixed(MixedOperations {
        mix,
        distribution: distribution.expect("the key has a default"),
        scan,
        read_all_fields: reader.get("read_all_fields")?,
    });
    let inputs = DefaultInputs {
        names: vec![name],
        ..DefaultInputs::default()
    };
    let about: Option<String> = reader.computed("about", &inputs)?;
    let workload = Workload::new(name, about.unwrap_or_default(), group);
    let key = || reader.full("").trim_end_matches('.').to_owned();
    workload
        .validate()
        .map_err(|source| Error::Workload { key: key(), source })?;
    Ok(workload)
}

/// A distribution by its name, or as a table with its parameters.
fn distribution(
    reader: &TableReader<'_>,
    key: &'static str,
) -> Result<Option<Distribution>, Error> {
    let named = |name: &str| {
        let error = |source| match value_hint(name) {
            Some(hint) => Error::BadValue {
                key: reader.label(key),
                value: name.to_owned(),
                accepted: format!("the name of a distribution{hint}"),
            },
            None => Error::Workload {
                key: reader.label(key),
                source,
            },
        };
        Distribution::parse(name).map_err(error)
    };
    match reader.value(key).as_deref() {
        None => Ok(None),
        Some(Value::String(name)) => named(name).map(Some),
        Some(Value::Table(table)) => {
            let inline = reader.inline(key, table, "distribution")?;
            let Some(name) = inline.optional::<String>("name")? else {
                return Err(Error::Missing {
                    key: inline.full("name"),
                    accepted: "its name".to_owned(),
                });
            };
            let distribution = with_parameters(named(&name)?, &inline)?;
            refuse_foreign(&distribution, &inline)?;
            Ok(Some(distribution))
        }
        Some(other) => Err(reader.refuse(key, other)),
    }
}

fn with_parameters(
    distribution: Distribution,
    inline: &TableReader<'_>,
) -> Result<Distribution, Error> {
    Ok(match distribution {
        Distribution::TrueZipfian { .. } => Distribution::TrueZipfian {
            theta: inline.get("theta")?,
        },
        Distribution::Hotspot { .. } => Distribution::Hotspot {
            data_fraction: inline.get("data_fraction")?,
            operation_fraction: inline.get("operation_fraction")?,
        },
        Distribution::Exponential { .. } => Distribution::Exponential {
            percentile: inline.get("percentile")?,
            fraction: inline.get("fraction")?,
        },
        other => other,
    })
}

/// Refuses a parameter that the distribution does not have.
fn refuse_foreign(distribution: &Distribution, inline: &TableReader<'_>) -> Result<(), Error> {
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
