//! Runs a list of benchmarks on one database.

use super::{
    benchmarks::{Action, Entry, Tool},
    flags::Flags,
    measure::{Measure, Needs},
    options, place,
    study::Sink,
    summary,
    tally::{Counting, Tally},
    text::{self, Outcome},
    tools,
    watch::Watch,
};
use crate::{exit::Exit, output};
use anyhow::{Context, ensure};
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tailmark_driver::{Clients, DataSet, Database, Driver, Params, Schema, Semantics, Settings};
use tailmark_host::probe::Target;
use tailmark_results::{Phase, PointKey};
use tailmark_runner::{
    Evidence, Stop, findings,
    phase::{self, Capture},
};
use tailmark_workload::{KeySpace, Workload};

/// One call of db_bench.
pub struct Session<'a> {
    flags: &'a Flags,
    driver: &'static Driver,
    params: Params,
    /// Holds the options file.
    _directory: tempfile::TempDir,
    database: Option<Box<dyn Database>>,
    seed: u64,
    /// Clients so far: each has a seed of its own.
    clients: u64,
    threads: u32,
    sink: Option<Sink>,
    stop: Stop,
    failed: bool,
}

/// What is measured once.
struct Task<'a> {
    entry: &'a Entry,
    measure: &'a Measure,
    workload: Arc<Workload>,
    threads: u32,
    /// Operations of each client.
    count: u64,
}

impl<'a> Session<'a> {
    /// Understands the flags; nothing is touched.
    ///
    /// # Errors
    /// Names what is wrong with them.
    pub fn new(flags: &'a Flags, out: Option<PathBuf>, stop: Stop) -> anyhow::Result<Self> {
        let driver = tailmark_driver::db::find("rocksdb")?;
        let directory = tempfile::tempdir()?;
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
        let settings = options::settings(flags, directory.path())?;
        let params = Params {
            place: place(flags)?,
            settings: Settings::check(driver, &settings, &data, 1.0)?,
            data,
            semantics: Semantics::Faithful,
            create: true,
        };
        let sink = out.map(|out| Sink::new(out, flags, &params)).transpose()?;
        Ok(Self {
            flags,
            driver,
            params,
            _directory: directory,
            database: None,
            seed: 0,
            clients: 0,
            threads,
            sink,
            stop,
            failed: false,
        })
    }

    /// Runs the list.
    ///
    /// # Errors
    /// Where a benchmark is not known, or the database refuses.
    pub fn run(mut self) -> anyhow::Result<Exit> {
        let entries = self.entries()?;
        self.seed = match self.flags.number("seed")? {
            0_i64 => {
                let seed = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default();
                let seed = seed.as_micros() as u64;
                output::say(&format!("Set seed to {seed} because --seed was 0"))?;
                seed
            }
            seed => seed.cast_unsigned(),
        };
        let exists = self.flags.flag("use_existing_db");
        if exists {
            self.params.create = false;
        } else {
            (self.driver.destroy)(&self.params)?;
        }
        self.open()?;
        let version = self
            .database()?
            .facts()
            .remove("version")
            .unwrap_or_default();
        output::warn(&text::environment(&version));
        output::say(&text::header(self.flags)?)?;
        for entry in &entries {
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
            output::say(&format!("STATISTICS:\n{statistics}"))?;
        }
        if let Some(sink) = &self.sink {
            output::warn(&sink.report()?.display().to_string());
        }
        Ok(if self.failed {
            Exit::Errors
        } else {
            Exit::Done
        })
    }

    /// The list of benchmarks, each of which can be made of the flags.
    fn entries(&self) -> anyhow::Result<Vec<Entry>> {
        let entries = Entry::list(self.flags.text("benchmarks"))?;
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

    fn open(&mut self) -> anyhow::Result<()> {
        self.database = Some((self.driver.open)(&self.params)?);
        Ok(())
    }

    fn database(&self) -> anyhow::Result<&dyn Database> {
        self.database.as_deref().context("the database is not open")
    }

    /// Makes the database anew, with synchronous writes where that is needed.
    fn reopen(&mut self, needs: Needs) -> anyhow::Result<()> {
        self.database = None;
        (self.driver.destroy)(&self.params)?;
        if needs == Needs::FreshSync {
            let mut given = options::settings(self.flags, self._directory.path())?;
            given.insert("sync".to_owned(), "true".to_owned());
            let settings = Settings::check(self.driver, &given, &self.params.data, 1.0)?;
            let params = Params {
                settings,
                ..self.params.clone()
            };
            self.database = Some((self.driver.open)(&params)?);
            return Ok(());
        }
        self.open()
    }

    fn use_tool(&mut self, tool: Tool) -> anyhow::Result<()> {
        let place = self.params.place.display().to_string();
        if tool == Tool::Compact {
            output::say(&format!("DB path: [{place}]"))?;
            // db_bench has every thread do it; a thread takes a number from those of the seeds.
            self.clients += u64::from(self.threads);
        }
        tools::use_tool(self.database()?, tool, &place, self.threads)
    }

    /// Measures a benchmark as often as its entry says.
    fn measure(&mut self, entry: &Entry, measure: &Measure) -> anyhow::Result<()> {
        if measure.needs.is_fresh() {
            if self.flags.flag("use_existing_db") {
                let name = entry.name;
                return output::say(&format!("{name:<12} : skipped (--use_existing_db is true)"));
            }
            self.reopen(measure.needs)?;
        }
        output::say(&format!("DB path: [{}]", self.params.place.display()))?;
        let (records, count) = measure.counts(self.flags)?;
        let mut data = self.params.data.clone();
        data.records = records;
        if measure.needs == Needs::FreshLarge {
            data.field_length = 100_000;
        }
        let workload = Arc::new(measure.workload(entry.name, self.flags)?);
        let one = measure.needs == Needs::OneClient || measure.row == "filluniquerandom";
        let threads = if one { 1 } else { self.threads };
        let task = Task {
            entry,
            measure,
            workload,
            threads,
            count,
        };
        if entry.warmups > 0 {
            output::say(&format!(
                "Warming up benchmark by running {} times",
                entry.warmups
            ))?;
        }
        for _ in 0..entry.warmups {
            self.once(&task, &data)?;
        }
        if entry.repeats > 1 {
            output::say(&format!("Running benchmark for {} times", entry.repeats))?;
        }
        let (mut outcomes, intervals) = (Vec::new(), self.flags.flag("confidence_interval_only"));
        for repeat in 1..=entry.repeats {
            let (mut phase, outcome) = self.once(&task, &data)?;
            outcomes.push(outcome);
            if let Some(line) = summary::so_far(entry.name, &outcomes, intervals) {
                output::say(&line)?;
            }
            if let (Some(sink), false) = (&mut self.sink, self.stop.requested()) {
                let key = key(&task, repeat, measure.rate(&task.workload, self.flags)?);
                let evidence = Evidence::new(self.driver, &self.params, &key, &phase);
                let mut found = findings(&evidence);
                phase.findings.append(&mut found);
                let facts = self.database.as_ref().map(|database| database.facts());
                sink.add(key, phase, facts.unwrap_or_default())?;
            }
            if self.stop.requested() {
                return Ok(());
            }
        }
        summary::at_the_end(entry.name, &outcomes).map_or(Ok(()), |summary| output::say(&summary))
    }

    /// Measures once and prints the result.
    fn once(&mut self, task: &Task<'_>, data: &DataSet) -> anyhow::Result<(Phase, Outcome)> {
        let (measure, workload) = (task.measure, &task.workload);
        let batch = measure.batch(workload);
        let duration = Duration::from_secs(self.flags.number("duration")?);
        let timed = measure.timed && !duration.is_zero();
        // Batches that fit, as db_bench counts.
        let operations = (!timed).then(|| task.count / batch * u64::from(task.threads));
        let rate = measure.rate(workload, self.flags)?;
        let ends = Stop::new();
        let tally = Arc::new(Tally::new(task.threads, ends.clone()));
        let database = self.database()?;
        let counting = Counting {
            database,
            tally: Arc::clone(&tally),
        };
        let needs_tally = matches!(
            measure.row,
            "multireadrandom" | "mixgraph" | "readseq" | "readreverse"
        );
        // A walk that came to its end stops the benchmark, and so does Ctrl-C.
        let watch = Watch::new(self.flags, database, batch, [&self.stop, &ends])?;
        let key = key(task, 1, rate);
        let spec = phase::Spec {
            database: if needs_tally { &counting } else { database },
            clients: Clients::Threads,
            system: super::study::SYSTEM,
            point: Some(&key),
            workload,
            data,
            keys: &Arc::new(KeySpace::new(data.records, data.records)),
            threads: task.threads,
            rate,
            operations,
            duration: timed.then_some(duration),
            warmup: Duration::ZERO,
            seed: self.seed.wrapping_add(self.clients),
            write_all_fields: true,
            compressibility: 1.0 - self.flags.number::<f64>("compression_ratio")?,
            ends_at_failure: false,
        };
        let target = Target {
            system: spec.system.to_owned(),
            place: self.params.place.clone(),
        };
        let phase = phase::run(&spec, Capture::open(&target), &watch, &ends)?;
        let beside = phase_clients(workload, task.threads) - u64::from(task.threads);
        self.clients += u64::from(task.threads) + beside;
        let outcome = Outcome::new(&phase, measure, workload, task.threads);
        let message = match measure.needs.is_small() {
            true => format!("({} ops)", data.records),
            false => text::message(&phase, workload, &tally, task.count),
        };
        output::say(&outcome.line(task.entry.name, &message))?;
        if self.flags.flag("histogram") {
            let blocks = text::histograms(&phase, workload);
            output::say(blocks.trim_end_matches('\n'))?;
            output::say("")?;
        }
        text::hidden(&phase, workload)
            .iter()
            .for_each(|line| output::warn(line));
        for error in &phase.errors {
            self.failed = true;
            let (kind, cause) = (error.kind.name(), &error.cause);
            output::warn(&format!(
                "{} of {kind} failed ({cause}): {}",
                error.count, error.example
            ));
        }
        Ok((phase, outcome))
    }
}

/// Clients of a phase, those beside the point included.
fn phase_clients(workload: &Workload, threads: u32) -> u64 {
    tailmark_workload::assign_groups(workload, threads).len() as u64
}

/// The point of a repeat. A rate that swings is not the fixed rate that a point's name tells.
fn key(task: &Task<'_>, repeat: u32, rate: Option<f64>) -> PointKey {
    let swings = task
        .workload
        .groups
        .iter()
        .any(|group| group.wave.is_some());
    let target_rate = rate.filter(|_| !swings);
    PointKey {
        system: super::study::SYSTEM.to_owned(),
        workload: task.entry.name.to_owned(),
        distribution: task.workload.distribution_name().to_owned(),
        threads: task.threads,
        repeat,
        target_rate,
    }
}
