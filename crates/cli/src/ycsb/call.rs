//! One call: prepared from its properties, carried out, its results written.

use super::{
    binding::Binding,
    checked,
    core::Core,
    exporter::{Exporter, Line},
    layers::{Layered, Samples, Verify},
    measurement::{Form, Forms},
    options::{Action, Options},
    properties::Properties,
    study,
    tally::{Failed, Interval, Tally},
    watch::{Measured, Watch},
    workload_name,
};
use crate::{exit::Exit, interrupt, output};
use anyhow::{Context, bail, ensure};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::{Duration, Instant},
};
use tailmark_driver::{Database, Driver, Params, Semantics};
use tailmark_host::probe::Target;
use tailmark_results::{Phase, PointKey};
use tailmark_runner::{
    Evidence, Stop, findings,
    phase::{self, Capture},
    remarks,
};
use tailmark_workload::KeySpace;
use tempfile::NamedTempFile;

const COUNT: &str = "a whole number from 0 up";

/// A call whose properties are all understood.
pub struct Call {
    /// Opens the database.
    pub driver: &'static Driver,
    /// What is opened.
    pub params: Params,
    /// What is done.
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
    /// Whether YCSB itself is to read what is loaded.
    for_ycsb: bool,
    /// Kept until the database is closed.
    _password: Option<NamedTempFile>,
    watch: Watch,
    stop: Stop,
}

/// What RocksDB 6.2.2 knows, which YCSB 0.17 comes with.
fn make_readable_by_ycsb(
    driver: &Driver,
    settings: &mut std::collections::BTreeMap<String, String>,
) {
    for (name, value) in [("format_version", "4"), ("checksum", "crc32c")] {
        if driver.settings.iter().any(|setting| setting.name == name) {
            settings.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// How many clients, no more than there are operations.
fn threads(properties: &Properties, operations: Option<u64>) -> anyhow::Result<u32> {
    let mut threads = properties.number("threadcount", 1, COUNT)?;
    if let Some(operations) = operations.filter(|&n| n < u64::from(threads)) {
        output::say(
            "Warning: the threadcount is bigger than recordcount, the threadcount will be recordcount!",
        )?;
        threads = operations as u32;
    }
    ensure!(
        threads > 0,
        "{}",
        properties.refuse("threadcount", "a whole number from 1 up")
    );
    Ok(threads)
}

impl Call {
    /// Understands the properties.
    ///
    /// # Errors
    /// Names what is wrong; nothing was touched.
    pub fn prepare(binding: &Binding, options: &Options) -> anyhow::Result<Self> {
        let properties = &options.properties;
        let semantics = match properties.text_or("tailmark.semantics", "faithful") {
            "faithful" => Semantics::Faithful,
            "correct" => Semantics::Correct,
            _ => bail!(
                "{}",
                properties.refuse("tailmark.semantics", "faithful or correct")
            ),
        };
        let action = options.action();
        let mut core = Core::read(properties, action, semantics == Semantics::Faithful)?;
        if action == Action::Run {
            core.workload.name = workload_name(options);
        }
        let driver = binding.driver()?;
        let mut settings = binding.settings(driver, properties);
        let for_ycsb = properties.flag("tailmark.forycsb", false);
        if for_ycsb {
            make_readable_by_ycsb(driver, &mut settings);
        }
        let password = binding.password_file(properties)?;
        if let Some(file) = &password {
            let path = file.path().display().to_string();
            settings.insert("password_file".to_owned(), path);
        }
        let params = Params {
            place: binding.place(properties)?,
            settings: checked(driver, &settings, &core.data)?,
            data: core.data.clone(),
            semantics,
            create: action == Action::Load,
        };
        let threads = threads(properties, core.operations)?;
        let target = properties.number::<u64>("target", 0, COUNT)?;
        let stop = Stop::new();
        let (exporter, why) = Exporter::named(properties.text_or(
            "exporter",
            "site.ycsb.measurements.exporter.TextMeasurementsExporter",
        ));
        why.iter().for_each(|why| output::warn(why));
        let path = |name| {
            properties
                .text(name)
                .filter(|path| !path.is_empty())
                .map(PathBuf::from)
        };
        // Java's own; there is nothing of the kind here.
        let _ = (
            properties.flag("measurement.trackjvm", false),
            properties.flag("spin.sleep", false),
        );
        Ok(Self {
            watch: watch(options, &core, &stop)?,
            driver,
            params,
            threads,
            rate: (target > 0).then_some(target as f64),
            seed: properties.number("tailmark.seed", 1, COUNT)?,
            compressibility: properties.number("tailmark.compressibility", 0.0, "from 0 to 1")?,
            exporter,
            export_file: path("exportfile"),
            raw_file: path("measurement.raw.output_file"),
            for_ycsb,
            _password: password,
            core,
            stop,
        })
    }

    /// Carries the call out.
    ///
    /// # Errors
    /// Where the database or a file refuses.
    pub fn run(self, options: &Options) -> anyhow::Result<Exit> {
        interrupt::listen(&self.stop)?;
        if self.core.data_integrity {
            output::say("Data integrity is enabled.")?;
        }
        if self.watch.forms.wants(Form::Raw) {
            let place = self.raw_file.as_ref().map_or_else(
                || "stdout.".to_owned(),
                |path| format!("result file: {}", path.display()),
            );
            output::say(&format!("Raw data measurement: will output to {place}"))?;
        }
        let database = (self.driver.open)(&self.params)?;
        let (verify, samples) = (self.verify(), self.samples());
        let database = self.layered(database, &verify, &samples);
        let (point, system) = (self.point(options), self.system(options));
        output::warn("Starting test.");
        let (each, tracked) = (self.watch.failed.each, self.watch.failed.tracked.join(", "));
        output::warn(&format!(
            "DBWrapper: report latency for each error is {each} and specific error codes to track \
             for latency are: [{tracked}]"
        ));
        if let Some(duration) = self.core.duration {
            let seconds = duration.as_secs();
            output::warn(&format!(
                "Maximum execution time specified as: {seconds} secs"
            ));
        }
        let mut phase = self.measure(database.as_ref(), &system, point.as_ref())?;
        if self
            .core
            .duration
            .is_some_and(|limit| phase.duration_s >= limit.as_secs_f64() - 0.01)
        {
            output::warn("Maximum time elapsed. Requesting stop for the workload.");
            output::warn("Stop requested for workload. Now Joining!");
        }
        let kept = match self.core.action {
            Action::Load => self.keep(database.as_ref()),
            Action::Run => Ok(()),
        };
        let facts = database.facts();
        if let Some(key) = &point {
            let evidence = Evidence::new(self.driver, &self.params, key, &phase);
            phase.findings.extend(findings(&evidence));
        }
        phase.findings.extend(remarks(database.as_ref()));
        drop(database);
        self.finish(&phase, verify.as_deref(), samples.as_ref())?;
        let errors = phase.errors() + verify.map_or(0, |verify| verify.failures());
        if let Some(out) = &options.out {
            let entry = study::Entry {
                driver: self.driver,
                params: &self.params,
                threads: self.threads,
                system: &system,
                point,
                phase,
                facts,
            };
            let page = study::add(out, entry)?;
            output::warn(&format!("the report: {}", page.display()));
        }
        kept?; // what was measured is told even where it could not be kept
        Ok(match (errors, self.stop.requested()) {
            (0, true) => Exit::Interrupted,
            (0, false) => Exit::Done,
            _ => Exit::Errors,
        })
    }

    /// Has the database write down what was loaded. YCSB's binding of RocksDB opens the column
    /// families that a file of its own names.
    fn keep(&self, database: &dyn Database) -> anyhow::Result<()> {
        database.flush()?;
        if !self.for_ycsb || self.driver.name != "rocksdb" {
            return Ok(());
        }
        let path = self.params.place.join("CF_NAMES");
        let names = format!("default\n{}\n", self.params.data.schema.table);
        fs::write(&path, names).with_context(|| format!("failed to write `{}`", path.display()))
    }

    /// The clients' loop, with status lines beside it.
    fn measure(
        &self,
        database: &dyn Database,
        system: &str,
        point: Option<&PointKey>,
    ) -> anyhow::Result<Phase> {
        let (first, core) = (self.core.first_insert, &self.core);
        let spec = phase::Spec {
            database,
            clients: self.driver.clients,
            system,
            point,
            workload: &Arc::new(core.workload.clone()),
            data: &core.data,
            keys: &Arc::new(KeySpace::new(first, core.data.records)),
            threads: self.threads,
            rate: self.rate,
            operations: core.operations,
            duration: core.duration,
            warmup: Duration::ZERO,
            seed: self.seed,
            write_all_fields: core.write_all_fields,
            compressibility: self.compressibility,
            ends_at_failure: false,
        };
        let (system, place) = (system.to_owned(), self.params.place.clone());
        let capture = Capture::open(&Target { system, place });
        std::thread::scope(|scope| {
            let (done, wait) = mpsc::channel();
            let started = Instant::now();
            let teller = scope.spawn(move || self.watch.tell(started, &wait));
            let phase = phase::run(&spec, capture, &self.watch, &self.stop);
            drop(done);
            teller.join().expect("status lines do not panic");
            let phase = phase?;
            self.watch.closed(self.cleanup(database)?);
            self.watch.end(Duration::from_secs_f64(phase.duration_s));
            Ok(phase)
        })
    }

    fn layered(
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
        Box::new(Layered {
            database,
            clients: self.driver.clients,
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
        self.watch.forms.wants(Form::Raw).then(Samples::default)
    }

    /// Closes a session for each client, and times that: YCSB's group CLEANUP.
    fn cleanup(&self, database: &dyn Database) -> anyhow::Result<Tally> {
        let mut tally = Tally::default();
        for _ in 0..self.threads {
            let session = match self.driver.clients {
                tailmark_driver::Clients::Threads => database.session()?,
                tailmark_driver::Clients::Tasks => break,
            };
            let started = Instant::now();
            drop(session);
            let ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            tally.latencies.record(ns)?;
        }
        Ok(tally)
    }

    /// Writes the final block.
    fn finish(
        &self,
        phase: &Phase,
        verify: Option<&Verify>,
        samples: Option<&Samples>,
    ) -> anyhow::Result<()> {
        let mut measured = self.watch.measured();
        let Measured {
            all,
            series,
            log_error,
            ..
        } = &mut *measured;
        if let Some(error) = log_error.take() {
            bail!("failed to write a histogram log: {error}");
        }
        if let Some(verify) = verify {
            let tally = verify.tally.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert("VERIFY".to_owned(), tally.clone());
        }
        let mut lines = overall(phase);
        lines.extend(self.watch.forms.lines(all, series));
        let failed = |path: &PathBuf| format!("failed to write `{}`", path.display());
        if let Some(samples) = samples {
            match &self.raw_file {
                Some(path) => {
                    let file = File::options().create(true).append(true).open(path);
                    let mut file = BufWriter::new(file.with_context(|| failed(path))?);
                    self.write_samples(samples, &mut file)
                        .with_context(|| failed(path))?;
                }
                None => self.write_samples(samples, &mut io::stdout().lock())?,
            }
        }
        match &self.export_file {
            Some(path) => {
                let mut file = BufWriter::new(File::create(path).with_context(|| failed(path))?);
                self.exporter
                    .write(&lines, &mut file)
                    .with_context(|| failed(path))?;
            }
            None => self
                .exporter
                .write(&lines, &mut BufWriter::new(io::stdout().lock()))?,
        }
        Ok(())
    }

    fn write_samples(&self, samples: &Samples, out: &mut dyn Write) -> io::Result<()> {
        let mut samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.sort_by_key(|sample| (sample.group, sample.at_ms));
        let forms = &self.watch.forms.forms;
        let prefix = forms
            .iter()
            .find(|(_, form)| *form == Form::Raw)
            .map_or("", |(name, _)| name);
        let mut group = "";
        for sample in &*samples {
            if sample.group != group {
                group = sample.group;
                writeln!(
                    out,
                    "{prefix}{group} latency raw data: op, timestamp(ms), latency(us)"
                )?;
            }
            writeln!(out, "{prefix}{group},{},{}", sample.at_ms, sample.us)?;
        }
        out.flush()
    }

    /// The name of the system in a study.
    fn system(&self, options: &Options) -> String {
        let name = options.system.as_deref().or(options.database.as_deref());
        name.unwrap_or(self.driver.name).to_owned()
    }

    /// The name of the point in a study; none for a load.
    fn point(&self, options: &Options) -> Option<PointKey> {
        (self.core.action == Action::Run).then(|| PointKey {
            system: self.system(options),
            workload: self.core.workload.name.clone(),
            distribution: self.core.workload.distribution_name().to_owned(),
            threads: self.threads,
            repeat: 1,
            target_rate: self.rate,
        })
    }
}

fn watch(options: &Options, core: &Core, stop: &Stop) -> anyhow::Result<Watch> {
    let properties = &options.properties;
    let every = properties
        .number("status.interval", 10_u64, "whole seconds")?
        .max(1);
    let logs = properties.flag("hdrhistogram.fileoutput", false);
    let path = properties
        .text_or("hdrhistogram.output.path", "")
        .to_owned();
    let stops = core.action == Action::Load && !core.retry.keep_going;
    Ok(Watch {
        label: options.label_or(properties),
        every: properties
            .flag("status", false)
            .then(|| Duration::from_secs(every)),
        operations: core.operations,
        interval: Interval::named(properties.text_or("measurement.interval", "op")),
        failed: failed(properties),
        forms: Forms::read(properties)?,
        logs: logs.then_some(path),
        stop_at_failure: stops.then(|| stop.clone()),
        measured: Mutex::default(),
    })
}

fn failed(properties: &Properties) -> Failed {
    let tracked = properties.text_or("latencytrackederrors", "");
    let tracked = tracked
        .split(',')
        .map(str::trim)
        .filter(|status| !status.is_empty());
    Failed {
        each: properties.flag("reportlatencyforeacherror", false),
        tracked: tracked.map(str::to_owned).collect(),
    }
}

/// The lines before the groups. There is no collector of garbage, which is why it took no time.
fn overall(phase: &Phase) -> Vec<Line> {
    let ms = ((phase.duration_s * 1000.0) as u64).max(1);
    vec![
        Line::whole("OVERALL", "RunTime(ms)", ms),
        Line::double(
            "OVERALL",
            "Throughput(ops/sec)",
            phase.operations as f64 * 1000.0 / ms as f64,
        ),
        Line::whole("TOTAL_GCs", "Count", 0),
        Line::whole("TOTAL_GC_TIME", "Time(ms)", 0),
        Line::double("TOTAL_GC_TIME_%", "Time(%)", 0.0),
    ]
}
