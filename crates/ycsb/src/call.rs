//! Carries out one call.

mod output;
mod prepare;

use super::{
    binding::Password,
    core::Core,
    decorators::{Decorated, Samples, Verify},
    exporter::Exporter,
    measurement::OutputFormat,
    options::{Action, Options},
    seed, study,
    watch::Watch,
};
use anyhow::{Context, bail};
use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};
use tailmark_console::{Exit, Refused, listen};
use tailmark_driver::{Access, Database, Driver, INPUT_BYTES_MAX, Params, read_text};
use tailmark_engine::{Spec, Stop, Terms};
use tailmark_model::{Phase, PointKey, finding::NOTHING_FOUND};
use tailmark_runner::{PointContext, capture::Watched, point};
use tailmark_study::NewFile;
use tailmark_workload::KeySpace;

/// A call whose properties are all understood.
pub struct Call {
    /// Opens the database.
    pub driver: &'static Driver,
    /// The parameters of the database.
    pub params: Params,
    /// The work.
    pub core: Core,
    /// Clients.
    pub threads: u32,
    /// Operations per second over all clients.
    pub rate: Option<f64>,
    seed: u64,
    compressibility: f64,
    exporter: Exporter,
    export_file: Option<PathBuf>,
    raw_file: Option<PathBuf>,
    /// Kept until the database is closed.
    _password: Option<Password>,
    watch: Watch,
    stop: Stop,
}

impl Call {
    /// A table of a server is loaded as it is, and nothing is created next to it. One that is
    /// missing is created, but not in a keyspace of another program.
    fn load_into_existing(&mut self) -> anyhow::Result<()> {
        let is_load = self.params.access == Access::Create;
        let Some(look) = self.driver.look.filter(|_| is_load) else {
            return Ok(());
        };
        let found = (look.at)(&self.params)?;
        match found.foreign {
            _ if found.exists => self.params.access = Access::Write,
            Some(place) if place == found.name => {
                bail!("{place} holds data of another program but no records: give another one")
            }
            Some(place) => bail!(
                "tailmark did not create {place}, which has no {}: create the table as in the \
                 binding's instructions, or give another keyspace",
                found.name
            ),
            None => {}
        }
        Ok(())
    }

    /// Carries out the call.
    ///
    /// # Errors
    /// If the database or a file refuses.
    pub fn run(mut self, options: &Options) -> anyhow::Result<Exit> {
        listen(&self.stop, &self.watch.console, || None)?;
        self.announce()?;
        let (database, families) = self.open().map_err(Refused::because)?;
        if let Some(path) = families {
            self.name_families(&path)?;
        }
        let (verify, samples) = (self.verify(), self.samples());
        let database = self.decorated(database, &verify, &samples);
        let (point, system) = (self.point(options), self.system(options));
        self.watch.console.warn("Starting test.");
        let (each, tracked) = (self.watch.failed.each, self.watch.failed.tracked.join(", "));
        self.watch.console.warn(&format!(
            "DBWrapper: report latency for each error is {each} and specific error codes to track \
             for latency are: [{tracked}]"
        ));
        if let Some(duration) = self.core.duration {
            let seconds = duration.as_secs();
            self.watch.console.warn(&format!(
                "Maximum execution time specified as: {seconds} secs"
            ));
        }
        let measured = self.measure(database.as_ref(), &system, point.as_ref())?;
        let kept = match self.core.action {
            Action::Load => database.flush(&|| self.stop.requested()),
            Action::Run => Ok(true),
        };
        let facts = database.facts();
        let found = match &point {
            Some(key) => {
                let context = PointContext::new(self.driver, &self.params, key, &measured);
                point::all_findings(&context, database.as_ref())
            }
            None => point::remarks(database.as_ref()),
        };
        let mut phase = measured.phase;
        phase.findings.extend(found);
        drop(database);
        output::unless_closed(self.finish(&phase, verify.as_deref(), samples.as_ref()))?;
        let errors = failures(&phase) + verify.map_or(0, |verify| verify.failures());
        if let Some(out) = &options.out {
            let entry = study::CallRecord {
                driver: self.driver,
                params: &self.params,
                threads: self.threads,
                system: &system,
                point,
                phase,
                not_sampled: measured.not_sampled,
                facts,
            };
            let page = study::add(out, entry)?;
            self.watch
                .console
                .warn(&format!("the report: {}", page.display()));
        }
        kept?; // what was measured is written even where it could not be kept
        Ok(match (errors, self.stop.requested()) {
            (0, true) => Exit::Interrupted,
            (0, false) => Exit::Done,
            _ => Exit::Errors,
        })
    }

    /// The database, and the file that must list its column families.
    fn open(&mut self) -> anyhow::Result<(Box<dyn Database>, Option<PathBuf>)> {
        self.load_into_existing()?;
        let families = self.families_file()?;
        Ok(((self.driver.open)(&self.params)?, families))
    }

    /// What YCSB says before it opens the database.
    fn announce(&self) -> anyhow::Result<()> {
        if self.core.data_integrity {
            self.watch.console.say("Data integrity is enabled.")?;
        }
        if self.watch.formats.includes(OutputFormat::Raw) {
            let place = self.raw_file.as_ref().map_or_else(
                || "stdout.".to_owned(),
                |path| format!("result file: {}", path.display()),
            );
            self.watch
                .console
                .say(&format!("Raw data measurement: will output to {place}"))?;
        }
        Ok(())
    }

    /// The file that lists existing column families for YCSB's binding, if a load must write it. A
    /// link there could lead to another program's file.
    fn families_file(&self) -> anyhow::Result<Option<PathBuf>> {
        let is_written = self.core.action == Action::Load && self.driver.name == "rocksdb";
        let Some(place) = self.params.location.path().filter(|_| is_written) else {
            return Ok(None);
        };
        let path = place.join("CF_NAMES");
        if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            bail!(
                "`{}` is a link, a pipe or a directory instead of the file of YCSB's binding: use \
                 another directory",
                path.display()
            );
        }
        if path.exists() && !place.join("CURRENT").exists() {
            bail!(
                "`{}` names the column families of a database that is missing: use another \
                 directory",
                path.display()
            );
        }
        Ok(Some(path))
    }

    /// Names the table's column family in that file; without it the binding cannot open the database.
    fn name_families(&self, path: &Path) -> anyhow::Result<()> {
        let mut names = read_text(path, INPUT_BYTES_MAX).unwrap_or_default();
        for name in ["default", &self.params.data.schema.table] {
            if !names.lines().any(|known| known == name) {
                names.push_str(name);
                names.push('\n');
            }
        }
        let write = || {
            let mut file = NewFile::create(path)?;
            file.write_all(names.as_bytes())?;
            file.finish()
        };
        write().with_context(|| format!("failed to write `{}`", path.display()))
    }

    /// The clients' loop, with status lines beside it.
    fn measure(
        &self,
        database: &dyn Database,
        system: &str,
        point: Option<&PointKey>,
    ) -> anyhow::Result<point::Measured> {
        let (first, core) = (self.core.first_insert, &self.core);
        let workload = Arc::new(core.workload.clone());
        let keys = Arc::new(KeySpace::new(first, core.data.records));
        let spec = Spec {
            clients: self.driver.clients(&self.params.settings),
            system,
            point,
            terms: Terms {
                threads: self.threads,
                rate: self.rate,
                operations: core.operations,
                duration: core.duration,
                seed: seed::of_phase(self.seed, point, first),
                write_all_fields: core.write_all_fields,
                compressibility: self.compressibility,
                ..Terms::default()
            },
            ..Spec::new(database, &workload, &core.data, &keys)
        };
        std::thread::scope(|scope| {
            let (done, wait) = mpsc::channel();
            let started = Instant::now();
            let reporter = scope.spawn(move || self.watch.report(started, &wait));
            let watched = Watched::of_location(&self.params.location, self.driver);
            let measured = point::measure(&spec, &watched, &self.watch, &self.stop);
            drop(done);
            reporter.join().expect("status lines do not panic");
            let measured = measured?;
            let elapsed = Duration::from_secs_f64(measured.phase.elapsed_s());
            if core.duration.is_some_and(|limit| elapsed >= limit) {
                self.watch
                    .console
                    .warn("Maximum time elapsed. Requesting stop for the workload.");
                self.watch
                    .console
                    .warn("Stop requested for workload. Now Joining!");
            }
            self.watch.end(elapsed);
            Ok(measured)
        })
    }

    fn decorated(
        &self,
        database: Box<dyn Database>,
        verify: &Option<Arc<Verify>>,
        samples: &Option<Samples>,
    ) -> Box<dyn Database> {
        let retries = self.core.action == Action::Load && self.core.retry.limit > 0;
        let retry = retries.then_some(self.core.retry);
        if retry.is_none() && verify.is_none() && samples.is_none() {
            return database;
        }
        let (verify, samples) = (verify.clone(), samples.clone());
        Box::new(Decorated {
            database,
            clients: self.driver.clients(&self.params.settings),
            retry,
            verify,
            samples,
        })
    }

    fn verify(&self) -> Option<Arc<Verify>> {
        let reads = self.core.data_integrity && self.core.action == Action::Run;
        reads.then(|| {
            let fields = self.core.data.schema.fields.clone();
            let (field_length, tally) = (self.core.data.field_length, Mutex::default());
            Arc::new(Verify {
                fields,
                field_length,
                tally,
            })
        })
    }

    fn samples(&self) -> Option<Samples> {
        self.watch
            .formats
            .includes(OutputFormat::Raw)
            .then(Samples::default)
    }

    /// The name of the system in a study.
    fn system(&self, options: &Options) -> String {
        let name = options.system.as_deref().or(options.database.as_deref());
        name.unwrap_or(self.driver.name).to_owned()
    }

    /// The name of the point in a study; `None` for a load.
    fn point(&self, options: &Options) -> Option<PointKey> {
        (self.core.action == Action::Run).then(|| PointKey {
            system: self.system(options),
            workload: self.core.workload.name.clone(),
            distribution: self.core.workload.distribution_name().to_owned(),
            threads: self.threads,
            repeat: 1,
            target_rate: self.rate,
            arrivals: None,
        })
    }
}

/// The failures behind the exit code: failed requests, or that nothing at all was found.
fn failures(phase: &Phase) -> u64 {
    let nothing_found = NOTHING_FOUND.is_among(&phase.findings);
    phase.errors() + u64::from(nothing_found)
}
