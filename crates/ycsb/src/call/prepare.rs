//! Interprets a call from its properties.

use super::{Call, output};
use crate::{
    binding::Binding,
    checked,
    core::Core,
    exporter::Exporter,
    measurement::OutputFormats,
    options::{Action, Options},
    properties::Properties,
    seed, study,
    tally::{Failed, MeasurementInterval},
    watch::{OWN_LOG, Watch},
    workload_name,
};
use anyhow::{Context, bail, ensure};
use std::{fs, io::Read, path::PathBuf, sync::Mutex, time::Duration};
use tailmark_console::Console;
use tailmark_driver::{Access, Driver, Location, Params, Semantics};
use tailmark_engine::Stop;

/// Bytes of a log that show whose it is.
const LOG_HEAD: u64 = 256;

const COUNT: &str = "a whole number from 0 up";

/// The newest that RocksDB 6.0 reads, and the 6.2.2 of YCSB's development version. The 5.11.3 of
/// YCSB 0.17.0 reads nothing that this program's RocksDB has written.
const READABLE: [(&str, &str); 2] = [("checksum", "crc32c"), ("format_version", "4")];

/// The requests that the driver supports.
fn readable(driver: &Driver) -> impl Iterator<Item = (&'static str, &'static str)> {
    let knows = |name: &str| driver.settings.iter().any(|setting| setting.name == name);
    READABLE.into_iter().filter(move |(name, _)| knows(name))
}

/// The number of clients, at most the number of operations.
fn threads(
    properties: &Properties,
    operations: Option<u64>,
    console: &Console,
) -> anyhow::Result<u32> {
    let mut threads = properties.number("threadcount", 1, COUNT)?;
    if let Some(operations) = operations.filter(|&n| n < u64::from(threads)) {
        console.say(
            "Warning: the threadcount is bigger than recordcount, the threadcount will be \
             recordcount!",
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

/// The permitted access to the database.
fn access(location: &Location, options: &Options, core: &Core) -> Access {
    let is_there = location
        .path()
        .is_some_and(|place| place.join("CURRENT").exists());
    match core.action {
        Action::Run if !core.workload.writes() => Access::ReadCompatible,
        Action::Run if options.upgrade && is_there => Access::Upgrade,
        Action::Run => Access::Write,
        Action::Load if options.upgrade && is_there => Access::Extend,
        Action::Load => Access::Create,
    }
}

fn semantics(properties: &Properties) -> anyhow::Result<Semantics> {
    match properties.text_or("tailmark.semantics", "faithful") {
        "faithful" => Ok(Semantics::Faithful),
        "correct" => Ok(Semantics::Correct),
        _ => bail!(
            "{}",
            properties.refuse("tailmark.semantics", "faithful or correct")
        ),
    }
}

/// The file that a property names, if any. One that cannot be written is refused before the run.
fn writable(properties: &Properties, name: &str) -> anyhow::Result<Option<PathBuf>> {
    let file = properties.text(name).filter(|path| !path.is_empty());
    let file = file.map(PathBuf::from);
    if let Some(file) = &file {
        let failed = || format!("failed to write the file of the property `{name}`");
        output::try_write(file).with_context(failed)?;
    }
    Ok(file)
}

impl Call {
    /// Interprets the properties.
    ///
    /// # Errors
    /// Names what is wrong. Nothing was changed.
    pub fn prepare(
        binding: &Binding,
        options: &Options,
        console: &Console,
    ) -> anyhow::Result<Self> {
        let properties = &options.properties;
        if let Some(out) = &options.out {
            study::check(out)?;
        }
        let semantics = semantics(properties)?;
        let action = options.action();
        let mut core = Core::read(properties, action, semantics == Semantics::Faithful)?;
        if action == Action::Run {
            core.workload.name = workload_name(options);
        }
        let driver = binding.driver()?;
        let mut settings = binding.settings(driver, properties);
        if properties.flag("tailmark.forycsb", false) {
            let readable =
                readable(driver).map(|(name, value)| (name.to_owned(), value.to_owned()));
            settings.extend(readable);
        }
        let password = binding.password(properties)?;
        if let Some(password) = &password {
            settings.insert("password_file".to_owned(), password.path());
            // A binding without a property of users has but one.
            let user = settings.entry("user".to_owned());
            user.or_insert_with(|| "default".to_owned());
        }
        let mut settings = checked(driver, &settings, &core.data)?;
        for notice in settings.notices() {
            console.warn(&format!("warning: {notice}"));
        }
        for (name, value) in readable(driver) {
            // Another library than the embedded one has its own, and no default here.
            if settings.text(name).is_some() {
                settings.set_default(name, value);
            }
        }
        let location = binding.location(properties)?;
        let params = Params {
            access: access(&location, options, &core),
            location,
            semantics: (driver.semantics)(&settings).unwrap_or(semantics),
            settings,
            data: core.data.clone(),
            study: String::new(),
        };
        let threads = threads(properties, core.operations, console)?;
        let target = properties.number::<u64>("target", 0, COUNT)?;
        let stop = Stop::new();
        let (exporter, why) = Exporter::named(properties.text_or(
            "exporter",
            "site.ycsb.measurements.exporter.TextMeasurementsExporter",
        ));
        why.iter().for_each(|why| console.warn(why));
        // Java's own; there is nothing of the kind here.
        let _ = (
            properties.flag("measurement.trackjvm", false),
            properties.flag("spin.sleep", false),
        );
        let export_file = writable(properties, "exportfile")?;
        let raw_file = writable(properties, "measurement.raw.output_file")?;
        Ok(Self {
            watch: watch(options, &core, &stop, console)?,
            driver,
            params,
            threads,
            rate: (target > 0).then_some(target as f64),
            seed: properties.number("tailmark.seed", seed::of_now(), COUNT)?,
            compressibility: properties.number("tailmark.compressibility", 0.0, "from 0 to 1")?,
            exporter,
            export_file,
            raw_file,
            _password: password,
            core,
            stop,
        })
    }
}

fn watch(options: &Options, core: &Core, stop: &Stop, console: &Console) -> anyhow::Result<Watch> {
    let properties = &options.properties;
    let every = properties
        .number("status.interval", 10_u64, "whole seconds")?
        .max(1);
    let logs = properties.flag("hdrhistogram.fileoutput", false);
    let path = properties
        .text_or("hdrhistogram.output.path", "")
        .to_owned();
    if logs && path.is_empty() {
        refuse_other_logs()?;
    }
    let stops = core.action == Action::Load && !core.retry.keep_going;
    Ok(Watch {
        console: console.clone(),
        label: options.label_or(properties),
        every: properties
            .flag("status", false)
            .then(|| Duration::from_secs(every)),
        operations: core.operations,
        interval: MeasurementInterval::named(properties.text_or("measurement.interval", "op")),
        failed: failed(properties),
        formats: OutputFormats::read(properties)?,
        logs: logs.then_some(path),
        stop_at_failure: stops.then(|| stop.clone()),
        measured: Mutex::default(),
    })
}

/// Refuses to write histogram logs over those of another program, under names that the call does not
/// give.
fn refuse_other_logs() -> anyhow::Result<()> {
    let entries = fs::read_dir(".").context("failed to read the current directory")?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    let is_log = |path: &PathBuf| path.extension().is_some_and(|end| end == "hdr");
    let is_own = |path: &PathBuf| {
        // To open a pipe is to wait for its writer.
        if !fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
            return false;
        }
        let mut head = Vec::new();
        let file = fs::File::open(path).map(|file| file.take(LOG_HEAD).read_to_end(&mut head));
        let head = String::from_utf8_lossy(&head);
        file.is_ok() && head.lines().any(|line| line == OWN_LOG)
    };
    match paths.find(|path| is_log(path) && !is_own(path)) {
        Some(log) => bail!(
            "`{}` is a log of another program; give the logs another place with \
             hdrhistogram.output.path, such as `logs/run1-`",
            log.display()
        ),
        None => Ok(()),
    }
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
