//! Turns a plan as written into the effective plan.

use super::{
    AbortLimit, Consent, DataSetPlan, DefaultInputs, Error, General, MachinePlan, MachineSettings,
    Plan, RawPlan, Sweep, SystemPlan, assumed, db_bench, effective,
    keys::{Systems, anatomy, data, refuse_undecidable, report, slo},
    notices,
    rate::refuse_unknown_peak,
    reader::TableReader,
    units::{self, timed},
    workloads::Workloads,
};
use std::{collections::BTreeSet, sync::Arc, time::SystemTime};
use tailmark_driver::OperationKind;
use tailmark_model::{Header, StudySettings, new_study_id};
use tailmark_workload::Workload;

impl RawPlan {
    /// The effective plan.
    ///
    /// # Errors
    /// Names each key that is wrong, its value, what is accepted, and the line in the file.
    pub fn check(&self) -> Result<Plan, Error> {
        let mut plan = self.checked().map_err(|error| self.with_others(error))?;
        plan.own_notices = notices::notices(self, &plan);
        Ok(plan)
    }

    /// The effective plan without its notices, or its first error.
    pub(super) fn checked(&self) -> Result<Plan, Error> {
        let top = TableReader::top(self)?;
        let general = General::read(&top)?;
        let scale = general.scale;
        let time_scale = general.time_scale;
        let dataset = top.table("dataset", &[])?;
        let unscaled = data::data_set(&dataset)?;
        let workloads = Workloads::read(&top)?;
        let keys = top.table("sweep", &[])?;
        let sweep = Sweep::read(&keys, &workloads, scale, time_scale)?;
        let sweep = db_bench::with_layout(sweep, &dataset, &keys)?;
        let clients = sweep.axis().map(|(threads, _)| threads).max().unwrap_or(1);
        let data = data::scaled(&unscaled, scale, clients.max(sweep.load_threads));
        let systems = Systems {
            top: &top,
            data: &data,
            scale,
        }
        .read()?;
        let names: Vec<_> = systems.iter().map(|system| system.name.as_str()).collect();
        refuse_unknown_peak(&keys, sweep.rates_of.as_deref(), &names)?;
        refuse_unsupported(&systems, &sweep.workloads)?;
        let own = DataSetPlan::read(&dataset, &sweep, &systems)?;
        own.refuse_to_change_adopted(&dataset, &sweep, &systems)?;
        refuse_rate_beside_ladder(&keys, &sweep)?;
        db_bench::refuse_other_layout(&systems, &sweep)?;
        let machine = MachinePlan::read(&top.table("machine", &[])?, scale)?;
        let report = report::read(&top.table("report", &[])?, &sweep.workloads, &systems)?;
        let slo = slo::read(&top.table("slo", &[])?, &sweep.workloads, |time| {
            timed(time, time_scale)
        })?;
        let anatomy = anatomy::read(&top.table("anatomy", &[])?)?;
        let abort = top.table("abort", &[])?;
        let abort = AbortLimit::read(&abort, &sweep.workloads, &systems)?;
        let header = self.header(&top, &systems)?;
        let unscaled = (unscaled != data).then_some(unscaled);
        let mut plan = Plan {
            header,
            general,
            systems,
            dataset: own,
            sweep,
            machine,
            report,
            slo,
            anatomy,
            abort,
            unscaled,
            retry_failed: false,
            begun_on: BTreeSet::new(),
            settings: MachineSettings::read(&top)?,
            consent: Consent::default(),
            own_notices: Vec::new(),
        };
        refuse_undecidable(&keys, &plan)?;
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

/// Refuses a fixed rate beside a ladder, because ops/s then do not rise with the clients.
fn refuse_rate_beside_ladder(keys: &TableReader<'_>, sweep: &Sweep) -> Result<(), Error> {
    if sweep.ladder.is_none() || sweep.rate.is_none() {
        return Ok(());
    }
    let value = keys.value("rate").map(|value| units::text(&value));
    Err(Error::BadValue {
        key: keys.label("rate"),
        value: value.unwrap_or_default(),
        accepted: "left out if sweep.threads climb until there is no gain, because ops/s do not \
                   rise at a fixed rate; sweep.rates adds separate points"
            .to_owned(),
    })
}

/// Every system's driver must support every workload.
fn refuse_unsupported(systems: &[SystemPlan], workloads: &[Arc<Workload>]) -> Result<(), Error> {
    for system in systems {
        for workload in workloads {
            let can = |kind: &OperationKind| system.driver.supports.contains(kind);
            let missing = workload.kinds().into_iter().find(|kind| !can(kind));
            let is_special = workload.sends_special() && !system.driver.supports_special;
            let special = is_special.then_some("db_bench's batches and iterators");
            if let Some(kind) = missing.map(OperationKind::name).or(special) {
                return Err(Error::Unsupported {
                    workload: workload.name.clone(),
                    kind,
                    driver: system.driver.name,
                    system: system.name.clone(),
                });
            }
        }
    }
    Ok(())
}
