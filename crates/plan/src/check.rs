//! From a plan as written to the plan as it takes effect.

use super::{
    AbortLimit, Adopt, Consent, DefaultInputs, Error, MachinePlan, MachineSettings, Order, Plan,
    RawPlan, Reload, Sweep, SystemPlan, Unexpected, Warmup, assumed, db_bench, effective,
    limits::RECORDS_MAX,
    rate::{Rates, refuse_unknown_peak},
    reader::TableReader,
    report, slo,
    systems::Systems,
    threads::Threads,
    units::{self, timed},
    workloads::Workloads,
};
use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tailmark_driver::{DataSet, Schema};
use tailmark_model::{Header, StudySettings, new_study_id};
use tailmark_workload::Workload;

/// `--scale` makes no memory limit smaller than this that was larger: the program, its clients and
/// the write buffers of a database, which stay as they are, need about so much.
pub(super) const MEMORY_LIMIT_FLOOR: u64 = 512 << 20;

impl RawPlan {
    /// The plan as it takes effect.
    ///
    /// # Errors
    /// Names the first key that is wrong, its value and what is accepted.
    pub fn check(&self) -> Result<Plan, Error> {
        let top = TableReader::top(self)?;
        let scale = top.get("scale")?;
        let time_scale = top.get("time_scale")?;
        let dataset = top.table("dataset", &[])?;
        let unscaled = data_set(&dataset)?;
        let workloads = Workloads::read(&top)?;
        let keys = top.table("sweep", &[])?;
        let sweep = sweep(&keys, &dataset, &workloads, scale, time_scale)?;
        let sweep = db_bench::with_layout(sweep, &dataset, &keys)?;
        let clients = sweep.axis().map(|(threads, _)| threads).max().unwrap_or(1);
        let data = scaled(&unscaled, scale, clients.max(sweep.load_threads));
        let systems = Systems {
            top: &top,
            data: &data,
            scale,
        }
        .read()?;
        let names: Vec<_> = systems.iter().map(|system| system.name.as_str()).collect();
        refuse_unknown_peak(&keys, sweep.rates_of.as_deref(), &names)?;
        refuse_unsupported(&systems, &sweep.workloads)?;
        refuse_to_change_adopted(&dataset, &sweep, &systems)?;
        refuse_beside_ladder(&keys, &sweep)?;
        db_bench::refuse_other_layout(&systems, &sweep)?;
        let machine = machine(&top.table("machine", &[])?, scale)?;
        let report = report::read(&top.table("report", &[])?, &sweep.workloads, &systems)?;
        let slo = slo::read(&top.table("slo", &[])?, &sweep.workloads, |time| {
            timed(time, time_scale)
        })?;
        let abort = top.table("abort", &[])?;
        let abort = AbortLimit::read(&abort, &sweep.workloads, &systems)?;
        let header = self.header(&top, &systems)?;
        let unscaled = (unscaled != data).then_some(unscaled);
        let mut plan = Plan {
            header,
            systems,
            sweep,
            machine,
            report,
            slo,
            abort,
            same_device: top.get("same_device")?,
            unexpected: Unexpected::read(&top)?,
            scale,
            time_scale,
            unscaled,
            retry_failed: false,
            begun_on: BTreeSet::new(),
            settings: MachineSettings::read(&top)?,
            consent: Consent::default(),
        };
        plan.header.plan = effective::keys(&plan);
        plan.header.settings = effective::settings(&plan);
        plan.header.assumed = assumed::marked(self, &plan, &plan.header.assumed)?;
        Ok(plan)
    }

    fn header(&self, top: &TableReader<'_>, systems: &[SystemPlan]) -> Result<Header, Error> {
        let compared = systems.iter().filter(|system| system.ceiling_for.is_none());
        let inputs = DefaultInputs {
            names: compared.map(|system| system.name.as_str()).collect(),
            ..DefaultInputs::default()
        };
        let title: Option<String> = top.computed("title", &inputs)?;
        let assumed: Option<Vec<String>> = top.optional("assumed")?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Ok(Header {
            id: new_study_id(),
            title: title.unwrap_or_default(),
            tailmark: env!("CARGO_PKG_VERSION").to_owned(),
            created_ms: since.map_or(0, |since| since.as_millis() as u64),
            plan: std::collections::BTreeMap::new(),
            settings: StudySettings::default(),
            source: self.source(),
            assumed: assumed.unwrap_or_default(),
        })
    }
}

fn data_set(reader: &TableReader<'_>) -> Result<DataSet, Error> {
    let fields: u64 = reader.get("fields")?;
    Ok(DataSet {
        schema: Schema {
            table: "usertable".to_owned(),
            fields: (0..fields).map(|index| format!("field{index}")).collect(),
        },
        records: reader.get("records")?,
        field_length: reader.get("field_length")?,
    })
}

/// The data set times `scale`, but at least a record a client where there were as many.
fn scaled(data: &DataSet, scale: f64, clients: u32) -> DataSet {
    let min = u64::from(clients).min(data.records);
    let records = times(data.records, scale).clamp(min, RECORDS_MAX);
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

fn sweep(
    keys: &TableReader<'_>,
    dataset: &TableReader<'_>,
    workloads: &Workloads,
    scale: f64,
    time_scale: f64,
) -> Result<Sweep, Error> {
    let rates = Rates::read(keys)?;
    let threads = thread_points(keys, &rates)?;
    let operations: Option<u64> = keys.optional("operations")?;
    let clients = clients(&threads.counts, &rates);
    let operations = operations.map(|n| times(n, scale).max(n.min(u64::from(clients))));
    let mut inputs = DefaultInputs {
        operations,
        ..DefaultInputs::default()
    };
    let duration: Option<Duration> = keys.computed("duration", &inputs)?;
    inputs.duration = duration.map(|time| timed(time, time_scale));
    let warmup = Warmup::read(keys, &inputs, time_scale)?;
    inputs.repeats = keys.get("repeats")?;
    let order = keys.computed("order", &inputs)?;
    Ok(Sweep {
        workloads: workloads.chosen(keys)?,
        threads: threads.counts,
        ladder: threads.ladder,
        repeats: inputs.repeats,
        order: order.unwrap_or(Order::of_repeats(inputs.repeats)),
        rate: rates.rate,
        rates: rates.rates,
        rate_threads: rates.threads,
        rates_of: rates.of,
        arrivals: Some(rates.arrivals),
        operations,
        duration: inputs.duration,
        warmup,
        seed: keys.get("seed")?,
        reload: keys.get("reload")?,
        adopt: dataset.get("adopt")?,
        upgrade: dataset.get("upgrade")?,
        into_existing: dataset.get("into_existing")?,
        load_threads: keys.get("load_threads")?,
        load_rate: dataset.optional("load_rate")?,
        write_all_fields: dataset.get("write_all_fields")?,
        compressibility: dataset.get("compressibility")?,
        settle: keys.get("settle")?,
        ready_timeout: keys.get("ready_timeout")?,
        allow_errors: keys.get("allow_errors")?,
    })
}

/// The most clients of a point.
fn clients(threads: &[u32], rates: &Rates) -> u32 {
    let of_rates = (!rates.rates.is_empty()).then_some(rates.threads);
    threads.iter().copied().chain(of_rates).max().unwrap_or(1)
}

/// The client counts that are measured: none where there are rates that need no peak, and `threads`
/// was not given.
fn thread_points(keys: &TableReader<'_>, rates: &Rates) -> Result<Threads, Error> {
    let is_given = keys.given().contains_key("threads");
    let needs_peak = rates.rates.iter().any(|rate| rate.is_of_peak());
    if rates.rates.is_empty() || needs_peak || is_given {
        Threads::read(keys)
    } else {
        Ok(Threads::default())
    }
}

fn machine(reader: &TableReader<'_>, scale: f64) -> Result<MachinePlan, Error> {
    let given: Option<u64> = reader.optional("memory_limit")?;
    let scaled = given.map(|bytes| times(bytes, scale));
    let min = given.map(|bytes| bytes.min(MEMORY_LIMIT_FLOOR));
    Ok(MachinePlan {
        memory_limit: scaled.max(min),
        memory_limit_scaled: scaled.filter(|_| scaled < min),
        drop_caches: reader.get("drop_caches")?,
        probes: reader.optional("probes")?.unwrap_or_default(),
    })
}

/// At a rate ops/s do not rise with the clients, and where a rung has all its repeats before the next
/// is decided, none of them goes over the whole sweep.
fn refuse_beside_ladder(keys: &TableReader<'_>, sweep: &Sweep) -> Result<(), Error> {
    let refused = match sweep.ladder {
        None => return Ok(()),
        Some(_) if sweep.rate.is_some() => {
            let accepted = "left out where sweep.threads are climbed until there is no gain: at a \
                            rate there is none. sweep.rates are points of their own";
            ("rate", accepted)
        }
        Some(_) if sweep.reload == Reload::Repeat => {
            let accepted = "never, workload or point where sweep.threads are climbed until there is \
                            no gain: then all repeats of one client count come before the next";
            ("reload", accepted)
        }
        Some(_) => return Ok(()),
    };
    let (name, accepted) = refused;
    let value = keys.value(name).map(|value| units::text(&value));
    Err(Error::BadValue {
        key: keys.label(name),
        value: value.unwrap_or_default(),
        accepted: accepted.to_owned(),
    })
}

/// Adopted data is never created, loaded or removed, so a plan that needs one of these is refused,
/// and so is one that writes without saying so.
fn refuse_to_change_adopted(
    dataset: &TableReader<'_>,
    sweep: &Sweep,
    systems: &[SystemPlan],
) -> Result<(), Error> {
    if sweep.adopt == Adopt::No {
        return Ok(());
    }
    let empties = sweep.workloads.iter().find(|w| w.starts_empty());
    let writes = sweep.workloads.iter().find(|w| w.writes());
    let erased = systems.iter().find(|system| system.prepare.destroys());
    let accepted = if sweep.reload != Reload::Never {
        let reload = sweep.reload.name();
        format!("`false` where sweep.reload is `{reload}`: adopted data is never removed")
    } else if let Some(workload) = empties {
        let name = &workload.name;
        format!(
            "`false` with workload `{name}`, which begins with an empty database: adopted data is \
             never removed"
        )
    } else if let Some(system) = erased {
        let name = &system.name;
        format!("`false` where system `{name}` is prepared, which erases what is to be adopted")
    } else if sweep.into_existing {
        "`false` with dataset.into_existing: nothing is loaded where data is adopted".to_owned()
    } else if let Some(workload) = writes.filter(|_| sweep.adopt == Adopt::Read) {
        let name = &workload.name;
        format!(
            "`{}` (--adopt=overwrite) with workload `{name}`, which writes to the adopted data; or \
             choose workloads that only read, such as ycsb-c",
            Adopt::OVERWRITE
        )
    } else {
        return Ok(());
    };
    Err(Error::BadValue {
        key: dataset.label("adopt"),
        value: sweep.adopt.name().to_owned(),
        accepted,
    })
}

/// Every workload must be one that every system's driver can do.
fn refuse_unsupported(systems: &[SystemPlan], workloads: &[Arc<Workload>]) -> Result<(), Error> {
    for system in systems {
        for workload in workloads {
            let can = |kind: &tailmark_driver::OperationKind| system.driver.supports.contains(kind);
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
