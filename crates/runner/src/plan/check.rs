//! From a plan as written to the plan as it takes effect.

use super::{
    Error, HostPlan, Plan, Reload, Sweep, SystemPlan, db_bench, draft::Draft, effective, keys,
    section::Section, systems::Systems, units, workloads::Workloads,
};
use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};
use tailmark_driver::{DataSet, Schema};
use tailmark_results::Header;
use tailmark_workload::Workload;
use toml::Value;

/// `--time-scale` makes no time shorter than this that was longer.
const TIME_SCALE_FLOOR: Duration = Duration::from_secs(10);
/// `--scale` makes no memory limit less than this that was more: the program, its clients and the
/// write buffers of a database, which stay as they are, need about so much.
const MEMORY_LIMIT_FLOOR: u64 = 512 << 20;
/// What ends a point where the plan does not say.
const DURATION_DEFAULT: Duration = Duration::from_secs(60);
/// The most that is warmed up where the plan does not say.
const WARMUP_DEFAULT_MAX: Duration = Duration::from_secs(60);

impl Draft {
    /// The plan as it takes effect.
    ///
    /// # Errors
    /// Names the first key that is wrong, its value and what is accepted.
    pub fn check(&self) -> Result<Plan, Error> {
        let top = Section::top(self)?;
        let scale = top.number("scale")?.unwrap_or(1.0);
        let time_scale = top.number("time_scale")?.unwrap_or(1.0);
        let dataset = top.table("dataset", &[])?;
        let unscaled = data_set(&dataset)?;
        let workloads = Workloads::read(&top)?;
        let sweep = Sweep {
            write_all_fields: dataset.flag("write_all_fields")?,
            compressibility: dataset.number("compressibility")?.unwrap_or(0.0),
            ..sweep(&top.table("sweep", &[])?, &workloads, scale, time_scale)?
        };
        let sweep = db_bench::shaped(sweep, &dataset, &top.table("sweep", &[])?)?;
        let clients = sweep
            .threads
            .iter()
            .copied()
            .max()
            .unwrap_or(1)
            .max(sweep.load_threads);
        let data = scaled(&unscaled, scale, clients);
        let systems = Systems {
            top: &top,
            data: &data,
            scale,
        }
        .read()?;
        refuse_unsupported(&systems, &sweep.workloads)?;
        db_bench::refuse_other_layout(&systems, &sweep)?;
        let host = host(&top.table("host", &[])?, scale)?;
        let header = self.header(&top, &systems)?;
        let unscaled = (unscaled != data).then_some(unscaled);
        let mut plan = Plan {
            header,
            systems,
            sweep,
            host,
            scale,
            time_scale,
            unscaled,
        };
        plan.header.plan = effective::keys(&plan);
        Ok(plan)
    }

    fn header(&self, top: &Section<'_>, systems: &[SystemPlan]) -> Result<Header, Error> {
        let tested = || systems.iter().filter(|system| system.ceiling_for.is_none());
        let names = || {
            tested()
                .map(|system| system.name.as_str())
                .collect::<Vec<_>>()
        };
        let title = top
            .text("title")?
            .unwrap_or_else(|| names().join(" against "));
        let assumed = top.words("assumed")?.unwrap_or_default();
        if let Some(unknown) = assumed.iter().find(|key| !is_key(key)) {
            return Err(Error::BadValue {
                key: top.label("assumed"),
                value: unknown.clone(),
                accepted: "dotted keys of a plan, such as [\"sweep.warmup\"]".to_owned(),
            });
        }
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Ok(Header {
            title,
            tailmark: env!("CARGO_PKG_VERSION").to_owned(),
            created_ms: since.map_or(0, |since| since.as_millis() as u64),
            plan: std::collections::BTreeMap::new(),
            source: self.source(),
            assumed,
        })
    }
}

/// Whether a plan can have this dotted key. The settings of drivers are left to the drivers.
fn is_key(dotted: &str) -> bool {
    match dotted.split_once('.') {
        Some(("database", setting)) => !setting.is_empty(),
        Some((table, name)) => keys::of(table).any(|key| key.name == name),
        None => keys::of("").any(|key| key.name == dotted),
    }
}

fn data_set(section: &Section<'_>) -> Result<DataSet, Error> {
    let fields = section.count("fields")?.unwrap_or(1);
    Ok(DataSet {
        schema: Schema {
            table: "usertable".to_owned(),
            fields: (0..fields).map(|index| format!("field{index}")).collect(),
        },
        records: section.count("records")?.unwrap_or(1),
        field_length: section.size("field_length")?.unwrap_or(1) as u32,
    })
}

/// The data set times `scale`, but at least a record a client where there were as many.
fn scaled(data: &DataSet, scale: f64, clients: u32) -> DataSet {
    let least = u64::from(clients).min(data.records);
    let records = times(data.records, scale).clamp(least, keys::RECORDS_MAX);
    DataSet {
        records,
        ..data.clone()
    }
}

fn times(count: u64, scale: f64) -> u64 {
    if scale == 1.0 {
        count
    } else {
        (count as f64 * scale).round() as u64
    }
}

/// A time times `scale`; one that was 10 s or more stays so.
fn timed(time: Duration, scale: f64) -> Duration {
    time.mul_f64(scale).max(time.min(TIME_SCALE_FLOOR))
}

fn sweep(
    section: &Section<'_>,
    workloads: &Workloads,
    scale: f64,
    time_scale: f64,
) -> Result<Sweep, Error> {
    let threads = threads(section)?;
    let clients = threads.iter().copied().max().unwrap_or(1);
    let operations = section.count("operations")?;
    let operations = operations.map(|n| times(n, scale).max(n.min(u64::from(clients))));
    let duration = section.time("duration")?;
    let duration = match (duration, operations) {
        (None, None) => Some(DURATION_DEFAULT),
        (duration, _) => duration,
    };
    let duration = duration.map(|time| timed(time, time_scale));
    let warmup = match (section.time("warmup")?, duration) {
        (Some(given), _) => timed(given, time_scale),
        (None, Some(duration)) => (duration / 10).min(WARMUP_DEFAULT_MAX),
        (None, None) => Duration::ZERO,
    };
    let workloads = workloads.chosen(section)?;
    Ok(Sweep {
        workloads,
        threads,
        repeats: section.count("repeats")?.unwrap_or(1) as u32,
        rate: section.number("rate")?,
        operations,
        duration,
        warmup,
        seed: section.count("seed")?.unwrap_or(1),
        reload: match section.text("reload")?.as_deref() {
            Some("workload") => Reload::Workload,
            Some("point") => Reload::Point,
            _ => Reload::Never,
        },
        load_threads: section.count("load_threads")?.unwrap_or(1) as u32,
        write_all_fields: false,
        compressibility: 0.0,
        settle: section.time("settle")?.unwrap_or_default(),
        ready_timeout: section.time("ready_timeout")?.unwrap_or_default(),
    })
}

/// Client counts: a list, text with commas, or a table of their series.
fn threads(section: &Section<'_>) -> Result<Vec<u32>, Error> {
    let default = Value::String("1,4,16".to_owned());
    let value = section.given().get("threads").unwrap_or(&default);
    let refuse = || section.refuse("threads", value);
    let one = |item: &Value| {
        let count = units::count(item).filter(|n| (1..=keys::THREADS_MAX).contains(n));
        count.map(|n| n as u32).ok_or_else(refuse)
    };
    let threads: Vec<u32> = match value {
        Value::Array(items) => items.iter().map(one).collect::<Result<_, _>>()?,
        Value::String(text) => text
            .split(',')
            .map(|word| one(&word.into()))
            .collect::<Result<_, _>>()?,
        Value::Table(table) => {
            let series = section.inline("threads", table, "threads")?;
            let from = series.count("from")?.unwrap_or(1);
            let Some(to) = series.count("to")? else {
                let (key, accepted) = (series.full("to"), "the last client count".to_owned());
                return Err(Error::Missing { key, accepted });
            };
            let factor = series.number("factor")?.unwrap_or(2.0);
            let next = |n: &u64| Some(((*n as f64 * factor).round() as u64).max(n + 1));
            let counts = std::iter::successors(Some(from), next);
            counts.take_while(|n| *n <= to).map(|n| n as u32).collect()
        }
        single => vec![one(single)?],
    };
    let mut sorted = threads.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if threads.is_empty() || sorted.len() != threads.len() {
        return Err(refuse());
    }
    Ok(threads)
}

fn host(section: &Section<'_>, scale: f64) -> Result<HostPlan, Error> {
    let given = section.size("memory_limit")?;
    let scaled = given.map(|bytes| times(bytes, scale));
    let least = given.map(|bytes| bytes.min(MEMORY_LIMIT_FLOOR));
    Ok(HostPlan {
        memory_limit: scaled.max(least),
        memory_limit_scaled: scaled.filter(|_| scaled < least),
        drop_caches: section.flag("drop_caches")?,
    })
}

/// Every workload must be one that every system's driver can do.
fn refuse_unsupported(systems: &[SystemPlan], workloads: &[Arc<Workload>]) -> Result<(), Error> {
    for system in systems {
        for workload in workloads {
            let can = |kind: &tailmark_driver::Kind| system.driver.supports.contains(kind);
            if let Some(kind) = workload.kinds().into_iter().find(|kind| !can(kind)) {
                return Err(Error::Unsupported {
                    workload: workload.name.clone(),
                    kind: kind.name(),
                    driver: system.driver.name,
                    system: system.name.clone(),
                });
            }
        }
    }
    Ok(())
}
