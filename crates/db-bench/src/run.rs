//! Runs a list of benchmarks on one database.

mod opening;

use super::{
    TailmarkFlags,
    benchmarks::{Action, ListedBenchmark, Tool},
    flags::{self, Flags},
    location,
    measure::{Measure, Needs},
    options, study, summary,
    tally::{Counting, Tally},
    text::{self, BenchmarkResult},
    tools,
    watch::{IntervalWriter, refuse_default_report},
};
use anyhow::{bail, ensure};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};
use tailmark_console::{Console, Exit};
use tailmark_driver::{
    Access, DataSet, Database, Driver, Params, Schema, Semantics, Settings, db::RocksDb,
};
use tailmark_engine::{Spec, Stop, Terms};
use tailmark_model::{Kind, Phase, PointKey, instant::since_1970};
use tailmark_report::write_studies;
use tailmark_runner::{
    PointContext,
    capture::Watched,
    point::{self, CallStudy, Measured},
};
use tailmark_workload::{KeySpace, Workload, assign_groups};

/// One call of db_bench.
pub struct BenchmarkRun<'a> {
    flags: &'a Flags,
    driver: &'static Driver,
    params: Params,
    /// Whether the version that wrote the database may be locked out of it.
    upgrade: bool,
    /// Holds the options file.
    _directory: tempfile::TempDir,
    database: Option<RocksDb>,
    /// The name that RocksDB gave it.
    id: Option<String>,
    seed: u64,
    /// Clients so far: each has a seed of its own.
    clients: u64,
    threads: u32,
    study: Option<CallStudy>,
    stop: Stop,
    console: Console,
    /// Warnings about databases that were printed.
    warned: BTreeSet<String>,
    failed: bool,
    /// Whether any read found a record, if there were reads.
    found: Option<bool>,
}

/// A single measurement.
struct Measurement<'a> {
    entry: &'a ListedBenchmark,
    measure: &'a Measure,
    workload: Arc<Workload>,
    threads: u32,
    /// Operations of each client.
    count: u64,
}

impl<'a> BenchmarkRun<'a> {
    /// Interprets the flags. Nothing is changed.
    ///
    /// # Errors
    /// Names what is wrong with them.
    pub fn new(
        flags: &'a Flags,
        own: TailmarkFlags,
        stop: Stop,
        console: Console,
    ) -> anyhow::Result<Self> {
        let driver = tailmark_driver::db::find("rocksdb")?;
        let directory = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .tempdir()?;
        let threads = flags.number("threads")?;
        ensure!(
            (1..=1024).contains(&threads),
            "--threads is {threads}, but it must be from 1 to 1024"
        );
        let ratio: f64 = flags.number("compression_ratio")?;
        ensure!(
            (0.0..=1.0).contains(&ratio),
            "--compression_ratio must be from 0 to 1"
        );
        let data = DataSet {
            schema: Schema {
                table: "default".to_owned(),
                fields: vec!["value".to_owned()],
            },
            records: flags.number("num")?,
            field_length: flags.number("value_size")?,
        };
        let location = location(flags, driver)?;
        let place = location.path().unwrap_or(Path::new(""));
        let settings = options::settings(flags, place, directory.path())?;
        let params = Params {
            location,
            settings: checked(driver, flags, &settings, &data)?,
            data,
            semantics: Semantics::Faithful,
            access: Access::Create,
            study: String::new(),
        };
        let study = own
            .out
            .map(|out| study::open(&out, flags, &params))
            .transpose()?;
        Ok(Self {
            flags,
            driver,
            params,
            upgrade: own.upgrade,
            _directory: directory,
            database: None,
            id: None,
            seed: 0,
            clients: 0,
            threads,
            study,
            stop,
            console,
            warned: BTreeSet::new(),
            failed: false,
            found: None,
        })
    }

    /// The list of benchmarks, with the database open.
    ///
    /// # Errors
    /// If a benchmark is unknown, or the database refuses.
    pub fn open(&mut self) -> anyhow::Result<Vec<ListedBenchmark>> {
        let entries = self.entries()?;
        refuse_default_report(self.flags)?;
        self.seed = match self.flags.number("seed")? {
            0_i64 => {
                let seed = since_1970().as_micros() as u64;
                self.console
                    .say(&format!("Set seed to {seed} because --seed was 0"))?;
                seed
            }
            seed => seed.cast_unsigned(),
        };
        let exists = self.flags.flag("use_existing_db");
        if exists {
            self.params.access = self.access(&entries)?;
        } else {
            if let Some(flag) = self.read_only_flag() {
                bail!("--{flag} needs an existing database: add --use_existing_db");
            }
            let place = self.place()?;
            self.refuse_foreign(place)?;
            let confirm = |held: &Path| {
                let refused = self.refuse_foreign(held);
                refused.map_err(|_| "another database has replaced it".to_owned())
            };
            (self.driver.destroy)(&self.params, &confirm)?;
            self.params.access = Access::CreateNew;
        }
        self.open_with(&self.params.clone())?;
        Ok(entries)
    }

    /// Runs the list.
    ///
    /// # Errors
    /// If the database refuses, or a file cannot be written.
    pub fn run(mut self, entries: &[ListedBenchmark]) -> anyhow::Result<Exit> {
        let version = self
            .database()?
            .facts()
            .remove("version")
            .unwrap_or_default();
        self.console.warn(&text::environment(&version));
        self.console.say(&text::header(self.flags)?)?;
        for entry in entries {
            match entry.action {
                Action::Tool(tool) => self.use_tool(tool)?,
                Action::Measure(measure) => self.measure(entry, &measure)?,
            }
            if self.stop.requested() {
                return Ok(Exit::Interrupted);
            }
        }
        if self.flags.flag("statistics")
            && let Some(statistics) = self.database()?.report("statistics")
        {
            self.console.say(&format!("STATISTICS:\n{statistics}"))?;
        }
        if let Some(study) = &self.study {
            let dir = study.dir();
            let page = write_studies(&[dir.to_owned()], &["html"], dir)?;
            self.console.warn(&page.path().display().to_string());
        }
        if self.found == Some(false) {
            self.console
                .warn("every read, or every scan, found nothing; was the data set filled?");
        }
        Ok(if self.failed || self.found == Some(false) {
            Exit::Errors
        } else {
            Exit::Done
        })
    }

    /// The list of benchmarks, each of which is possible with the flags.
    fn entries(&self) -> anyhow::Result<Vec<ListedBenchmark>> {
        let entries = ListedBenchmark::list(self.flags.text("benchmarks"))?;
        ensure!(
            !entries.is_empty(),
            "--benchmarks is empty: name at least one"
        );
        for entry in &entries {
            if let Action::Measure(measure) = entry.action {
                measure.counts(self.flags)?;
                measure.workload(entry.name, self.flags)?;
            }
        }
        Ok(entries)
    }

    fn use_tool(&mut self, tool: Tool) -> anyhow::Result<()> {
        let place = self.params.location.to_string();
        if tool == Tool::Compact {
            self.console.say(&format!("DB path: [{place}]"))?;
            // db_bench has every thread do it; a thread takes a number from those of the seeds.
            self.clients += u64::from(self.threads);
        }
        let stop = || self.stop.requested();
        let (database, threads) = (self.database()?, self.threads);
        tools::use_tool(database, tool, &place, threads, &stop, &self.console)
    }

    /// Measures a benchmark as often as its entry says.
    fn measure(&mut self, entry: &ListedBenchmark, measure: &Measure) -> anyhow::Result<()> {
        if measure.needs.is_fresh() {
            if self.flags.flag("use_existing_db") {
                let name = entry.name;
                return self
                    .console
                    .say(&format!("{name:<12} : skipped (--use_existing_db is true)"));
            }
            self.reopen(measure.needs)?;
        }
        self.console
            .say(&format!("DB path: [{}]", self.params.location))?;
        let (records, count) = measure.counts(self.flags)?;
        let mut data = self.params.data.clone();
        data.records = records;
        if measure.needs == Needs::FreshLarge {
            data.field_length = 100_000;
        }
        let workload = Arc::new(measure.workload(entry.name, self.flags)?);
        let one = measure.needs == Needs::OneClient || measure.row == "filluniquerandom";
        let threads = if one { 1 } else { self.threads };
        let measurement = Measurement {
            entry,
            measure,
            workload,
            threads,
            count,
        };
        if entry.warmups > 0 {
            self.console.say(&format!(
                "Warming up benchmark by running {} times",
                entry.warmups
            ))?;
        }
        for _ in 0..entry.warmups {
            self.once(&measurement, &data)?;
        }
        if entry.repeats > 1 {
            self.console
                .say(&format!("Running benchmark for {} times", entry.repeats))?;
        }
        let rate = measure.rate(&measurement.workload, self.flags)?;
        let (mut results, intervals) = (Vec::new(), self.flags.flag("confidence_interval_only"));
        for repeat in 1..=entry.repeats {
            let (measured, result) = self.once(&measurement, &data)?;
            results.push(result);
            if let Some(line) = summary::so_far(entry.name, &results, intervals) {
                self.console.say(&line)?;
            }
            if self.stop.requested() {
                return Ok(());
            }
            let Some(study) = &self.study else { continue };
            let (key, database) = (key(&measurement, repeat, rate), self.database()?);
            let mut context = PointContext::new(self.driver, &self.params, &key, &measured);
            if measurement.workload.starts_empty() {
                context.steady = None;
            }
            let found = point::all_findings(&context, database);
            let mut phase = measured.phase;
            phase.findings.extend(found);
            study.say_not_sampled(&measured.not_sampled)?;
            study.add_point(key, phase, database.facts())?;
        }
        summary::at_the_end(entry.name, &results)
            .map_or(Ok(()), |summary| self.console.say(&summary))
    }

    /// Measures once and prints the result.
    fn once(
        &mut self,
        measurement: &Measurement<'_>,
        data: &DataSet,
    ) -> anyhow::Result<(Measured, BenchmarkResult)> {
        let (measure, workload) = (measurement.measure, &measurement.workload);
        let batch = measure.batch(workload);
        let duration = Duration::from_secs(self.flags.number("duration")?);
        let timed = measure.timed && !duration.is_zero();
        // Batches that fit, as db_bench counts.
        let operations =
            (!timed).then(|| measurement.count / batch * u64::from(measurement.threads));
        let rate = measure.rate(workload, self.flags)?;
        // A walk that came to its end stops the benchmark, and so does Ctrl-C.
        let ends = self.stop.child();
        let tally = Arc::new(Tally::new(measurement.threads, ends.clone()));
        let database = self.database()?;
        let counting = Counting {
            database,
            tally: Arc::clone(&tally),
        };
        let needs_tally = matches!(
            measure.row,
            "multireadrandom" | "mixgraph" | "readseq" | "readreverse"
        );
        let watch = IntervalWriter::new(self.flags, database, batch, &self.console)?;
        let key = key(measurement, 1, rate);
        let keys = Arc::new(KeySpace::new(data.records, data.records));
        let counted: &dyn Database = if needs_tally { &counting } else { database };
        let spec = Spec {
            system: study::SYSTEM,
            point: Some(&key),
            terms: Terms {
                threads: measurement.threads,
                rate,
                operations,
                duration: timed.then_some(duration),
                is_background_scheduled: true,
                seed: self.seed.wrapping_add(self.clients),
                write_all_fields: true,
                compressibility: 1.0 - self.flags.number::<f64>("compression_ratio")?,
                ..Terms::default()
            },
            ..Spec::new(counted, workload, data, &keys)
        };
        let watched = Watched::of_location(&self.params.location, self.driver);
        let measured = point::measure(&spec, &watched, &watch, &ends)?;
        let phase = &measured.phase;
        watch.end(Duration::from_secs_f64(phase.elapsed_s()));
        self.clients += assign_groups(workload, measurement.threads).len() as u64;
        let result = BenchmarkResult::new(phase, measure, workload, measurement.threads);
        let message = if measure.needs.is_small() {
            format!("({} ops)", data.records)
        } else {
            let configured = measurement.count * u64::from(measurement.threads);
            text::message(phase, workload, &tally, configured)
        };
        self.console
            .say(&result.line(measurement.entry.name, &message))?;
        if self.flags.flag("histogram") {
            let blocks = text::histograms(phase, workload);
            self.console.say(blocks.trim_end_matches('\n'))?;
            self.console.say("")?;
        }
        text::hidden(phase, workload)
            .iter()
            .for_each(|line| self.console.warn(line));
        self.note_failures(phase, measure);
        Ok((measured, result))
    }

    /// Keeps in mind, and says, what failed and whether anything was found.
    fn note_failures(&mut self, phase: &Phase, measure: &Measure) {
        let looked = phase
            .kinds
            .keys()
            .any(|k| matches!(k, Kind::Read | Kind::Scan));
        if looked && measure.row != "readmissing" {
            self.found = Some(self.found == Some(true) || !phase.found_nothing());
        }
        for error in &phase.errors {
            self.failed = true;
            let (kind, cause) = (error.kind.name(), &error.cause);
            self.console.warn(&format!(
                "{} of {kind} failed ({cause}): {}",
                error.count, error.example
            ));
        }
    }
}

/// The driver's settings. If an options file sets no table format, that of the flag is used.
fn checked(
    driver: &'static Driver,
    flags: &Flags,
    given: &BTreeMap<String, String>,
    data: &DataSet,
) -> anyhow::Result<Settings> {
    let settings = Settings::check(driver, given, data, 1.0);
    let mut settings = settings.map_err(|error| options::in_flags(flags, error))?;
    // Another version has its own.
    if settings.text("library") == Some("embedded") {
        settings.set_default("format_version", flags::FORMAT_VERSION);
    }
    Ok(settings)
}

/// The point of a repeat. A sinusoidal rate is not the fixed rate in a point's name.
fn key(measurement: &Measurement<'_>, repeat: u32, rate: Option<f64>) -> PointKey {
    let sinusoidal = measurement
        .workload
        .groups
        .iter()
        .any(|group| group.sine.is_some());
    let target_rate = rate.filter(|_| !sinusoidal);
    PointKey {
        system: super::study::SYSTEM.to_owned(),
        workload: measurement.entry.name.to_owned(),
        distribution: measurement.workload.distribution_name().to_owned(),
        threads: measurement.threads,
        repeat,
        target_rate,
        arrivals: None,
    }
}
