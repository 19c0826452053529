//! One point, for sweeps and for drop-ins: a phase measured with probes, its findings, and its
//! entry in a study.

pub use crate::findings::{all_findings, remarks};

use crate::{
    Error,
    capture::{Capture, Watched},
    findings::settings_left,
    ranks::SharedPhase,
};
use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
    time::Instant,
};
use tailmark_driver::LockedFile;
use tailmark_engine::{Observer, Spec, Stop, clock_step_ms};
use tailmark_model::{Fact, Header, Load, Phase, PointKey, System, instant::unix_ms};
use tailmark_prepare::LeftChanges;
use tailmark_study::Study;

/// A phase as it was measured.
#[derive(Debug)]
pub struct Measured {
    /// The measurements.
    pub phase: Phase,
    /// How far the wall clock was set forward against the monotonic clock meanwhile, milliseconds;
    /// negative if it was set back.
    pub clock_step_ms: i64,
    /// What could not be sampled, and why.
    pub not_sampled: Vec<String>,
}

/// Measures a phase while the probes watch.
///
/// # Errors
/// As [`tailmark_engine::run`].
pub fn measure(
    spec: &Spec<'_>,
    watched: &Watched,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Measured, Error> {
    measure_together(SharedPhase::alone(), spec, watched, observer, stop)
}

/// The same for a phase of one or several processes.
///
/// # Errors
/// As [`measure`], and if another process could not do its part.
pub(crate) fn measure_together(
    together: SharedPhase<'_>,
    spec: &Spec<'_>,
    watched: &Watched,
    observer: &dyn Observer,
    stop: &Stop,
) -> Result<Measured, Error> {
    let mut capture = Capture::open(watched, spec.system, spec.database);
    let (started, started_ms) = (Instant::now(), unix_ms());
    let mut phase = together.run(spec, &mut capture, observer, stop)?;
    if spec.database.virtual_clock().is_some() {
        capture.sample_command();
    }
    let not_sampled = std::mem::take(&mut capture.not_sampled);
    phase.series = capture.into_series();
    if let Some(left) = LeftChanges::look().filter(|_| !watched.without_machine) {
        phase.findings.extend(settings_left(&left.settings));
    }
    let (phase, not_sampled) = together.finish(phase, not_sampled)?;
    let clock_step_ms = clock_step_ms(started_ms, unix_ms(), started.elapsed());
    Ok(Measured {
        phase,
        clock_step_ms,
        not_sampled,
    })
}

/// The notice that a system is measured without a probe.
pub(crate) fn without(system: &str, why: &str) -> String {
    format!("system `{system}` is measured without the {why}")
}

/// The study that the calls of a program that stands in for another add to.
pub struct CallStudy {
    dir: PathBuf,
    study: Study,
    /// The name of the system in it.
    system: String,
    /// Keeps runs and `clean` out, but not other calls; `None` if the file system has no locks.
    _lock: Option<LockedFile>,
}

/// Holds a run directory together with other calls. Creates it if it does not exist.
fn shared_lock(dir: &Path) -> Result<Option<LockedFile>, Error> {
    let failed = |source| {
        Error::Unwritable(Box::new(Error::Io {
            action: "use",
            path: dir.to_owned(),
            source,
        }))
    };
    tailmark_study::owner::create_dir_all(dir).map_err(failed)?;
    let directory = File::open(dir).map_err(failed)?;
    match LockedFile::shared(directory) {
        Ok(None) => Err(Error::Busy {
            dir: dir.to_owned(),
        }),
        // Not every file system has locks.
        Err(_) => Ok(None),
        Ok(lock) => Ok(lock),
    }
}

impl CallStudy {
    /// The study in `dir`, created if it does not exist. A system of the same name that differs in
    /// its driver, its place or a setting that `counts` becomes another system.
    ///
    /// # Errors
    /// If the study cannot be created, opened or written, or a run uses it.
    pub fn open(
        dir: &Path,
        header: &Header,
        system: &System,
        counts: impl Fn(&str) -> bool,
    ) -> Result<Self, Error> {
        let lock = shared_lock(dir)?;
        let study = Study::open_or_create(dir, header, std::slice::from_ref(system))?;
        let name = study.add_system_apart(system, counts)?;
        let mut facts = tailmark_machine::machine_facts();
        facts.extend(tailmark_machine::place_facts(
            &name,
            &[PathBuf::from(&system.place)],
        ));
        study.set_facts(&facts)?;
        Ok(Self {
            dir: dir.to_owned(),
            study,
            system: name,
            _lock: lock,
        })
    }

    /// The place.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Adds a point. An existing one gets another repeat. `facts` are the database's own.
    ///
    /// # Errors
    /// If the study cannot be written.
    pub fn add_point(
        &self,
        key: PointKey,
        phase: Phase,
        facts: BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let system = self.system.clone();
        self.study.set_facts(&Fact::of_database(&system, facts))?;
        Ok(self.study.append_point(PointKey { system, ..key }, phase)?)
    }

    /// Notes once in the study what could not be sampled.
    ///
    /// # Errors
    /// As [`Self::add_point`].
    pub fn say_not_sampled(&self, not_sampled: &[String]) -> Result<(), Error> {
        for why in not_sampled {
            self.study.add_notice(&without(&self.system, why))?;
        }
        Ok(())
    }

    /// Adds a load.
    ///
    /// # Errors
    /// As [`Self::add_point`].
    pub fn add_load(
        &self,
        threads: u32,
        phase: Phase,
        facts: BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let system = self.system.clone();
        self.study.set_facts(&Fact::of_database(&system, facts))?;
        Ok(self.study.add_load(&Load {
            system,
            records: phase.succeeded(),
            threads,
            phase,
        })?)
    }
}
