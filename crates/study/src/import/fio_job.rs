//! A job of fio's JSON, and the jobs of one section together, as a point.

use super::is_measured;
use serde::Deserialize;
use std::collections::BTreeMap;
use tailmark_model::{
    ErrorCount, Kind, KindResult, Latencies, Phase, Summary, finding::SUMMARY_ONLY, new_latencies,
};

/// Options of fio by name.
pub type Options = BTreeMap<String, String>;

/// Engines that have one request in flight, whatever the iodepth.
const SYNCHRONOUS: &[&str] = &["mmap", "psync", "pvsync", "pvsync2", "sync", "vsync"];

/// The default engine.
const ENGINE: &str = "psync";

/// One job, or several that fio reports together.
#[derive(Debug, Deserialize)]
pub struct Job {
    /// The section's name.
    #[serde(rename = "jobname")]
    pub name: String,
    /// Its group; jobs of different groups may follow each other.
    #[serde(rename = "groupid", default)]
    pub group: i64,
    /// Its options, as they were given.
    #[serde(rename = "job options", default)]
    pub options: Options,
    #[serde(default)]
    error: i64,
    #[serde(default)]
    total_err: u64,
    /// Milliseconds of all jobs that are reported together.
    #[serde(default)]
    job_runtime: u64,
    /// Milliseconds since 1970; earlier versions of fio 3 do not say.
    job_start: Option<u64>,
    #[serde(default)]
    read: Direction,
    #[serde(default)]
    write: Direction,
    #[serde(default)]
    trim: Direction,
}

/// The results of one direction.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Direction {
    total_ios: u64,
    io_bytes: u64,
    /// Milliseconds.
    runtime: u64,
    clat_ns: Times,
    lat_ns: Times,
}

/// Latencies in nanoseconds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Times {
    #[serde(rename = "N")]
    samples: u64,
    min: f64,
    max: f64,
    mean: f64,
    percentile: BTreeMap<String, f64>,
    bins: BTreeMap<String, u64>,
}

impl Job {
    /// Whether it has anything to report.
    pub fn did_anything(&self) -> bool {
        self.errors() > 0 || self.directions().iter().any(|(_, d)| d.total_ios > 0)
    }

    fn errors(&self) -> u64 {
        self.total_err.max(u64::from(self.error != 0))
    }

    /// Blocks are overwritten in their place, as fields of a record are.
    const fn directions(&self) -> [(Kind, &Direction); 3] {
        [
            (Kind::Read, &self.read),
            (Kind::Update, &self.write),
            (Kind::Delete, &self.trim),
        ]
    }

    fn runtime_ms(&self) -> u64 {
        let runtimes = self.directions().map(|(_, direction)| direction.runtime);
        runtimes.into_iter().max().unwrap_or(0)
    }

    /// The number of jobs reported together: total time divided by the time of one.
    fn together(&self) -> u64 {
        match self.runtime_ms() {
            0 => 1,
            ms => (self.job_runtime as f64 / ms as f64).round() as u64,
        }
    }

    /// The number of jobs of its section, `numjobs`.
    fn of_section(&self) -> u64 {
        self.number("numjobs").unwrap_or(1)
    }

    fn jobs(&self) -> u64 {
        self.of_section().max(self.together())
    }

    /// Sections that group_reporting combined have the options of one of them.
    ///
    /// # Errors
    /// If this job is several sections.
    pub fn check_one_section(&self) -> Result<(), String> {
        let (all, own) = (self.together(), self.of_section());
        if !self.options.contains_key("group_reporting") || all <= own {
            return Ok(());
        }
        Err(format!(
            "job `{}` has the results of {all} jobs, but its section has {own}: group_reporting \
             combined several sections, with the options of one. Run each section with fio's \
             --section, or without group_reporting",
            self.name
        ))
    }

    fn depth(&self) -> u64 {
        let engine = self.options.get("ioengine").map_or(ENGINE, String::as_str);
        if SYNCHRONOUS.contains(&engine) {
            1
        } else {
            self.number("iodepth").unwrap_or(1).max(1)
        }
    }

    fn number(&self, option: &str) -> Option<u64> {
        self.options.get(option)?.parse().ok()
    }
}

impl Direction {
    /// The latencies from submission to completion, if fio has as many details about them as about
    /// those from the creation of requests.
    fn times(&self) -> &Times {
        let has = |times: &Times| {
            let has_bins = !times.bins.is_empty();
            (has_bins, !times.percentile.is_empty(), times.samples > 0)
        };
        if has(&self.lat_ns) > has(&self.clat_ns) {
            &self.lat_ns
        } else {
            &self.clat_ns
        }
    }
}

/// The jobs of one section, which ran at the same time; one at least.
#[derive(Debug)]
pub struct Clones(pub Vec<Job>);

impl Clones {
    fn first(&self) -> &Job {
        self.0.first().expect("there is a job of each section")
    }

    /// The section's name.
    pub fn name(&self) -> &str {
        &self.first().name
    }

    /// The options of the section.
    pub fn options(&self) -> &Options {
        &self.first().options
    }

    fn jobs(&self) -> u64 {
        match self.0.as_slice() {
            [job] => job.jobs(),
            jobs => jobs.len() as u64,
        }
    }

    /// Requests that may be in flight: jobs times their depth.
    pub fn threads(&self) -> u32 {
        let threads = self.jobs().saturating_mul(self.first().depth());
        u32::try_from(threads).unwrap_or(u32::MAX).max(1)
    }

    /// The distribution of offsets.
    pub fn distribution(&self) -> String {
        let options = self.options();
        let pattern = options.get("rw").or_else(|| options.get("readwrite"));
        let drawn = options.get("random_distribution").map(String::as_str);
        match (pattern, drawn) {
            (None, _) => "unknown".to_owned(),
            (Some(pattern), _) if !pattern.starts_with("rand") => "sequential".to_owned(),
            (_, None | Some("random")) => "uniform".to_owned(),
            (_, Some(drawn)) => drawn.to_owned(),
        }
    }

    /// In words, which latencies they are.
    pub fn latency(&self) -> &'static str {
        let mut directions = self.0.iter().flat_map(Job::directions);
        let is_whole = directions.any(|(_, d)| std::ptr::eq(d.times(), &d.lat_ns));
        if is_whole {
            "from the creation of a request to its completion (lat)"
        } else {
            "from submission to completion (clat)"
        }
    }

    /// Operations per second that all jobs were held to, by `rate_iops` or by `rate`; `None` if reads
    /// or writes were not limited.
    ///
    /// # Errors
    /// Names a rate that is no number.
    pub fn target_rate(&self) -> Result<Option<f64>, String> {
        let (options, first) = (self.options(), self.first());
        let rates = options.get_key_value("rate_iops");
        let Some((option, text)) = rates.or_else(|| options.get_key_value("rate")) else {
            return Ok(None);
        };
        let parts: Vec<&str> = text.split(',').collect();
        let mut all = 0.0;
        for (at, (_, direction)) in first.directions().into_iter().enumerate() {
            let part = parts
                .get(at)
                .or_else(|| parts.last())
                .map_or("", |part| part.trim());
            if direction.total_ios == 0 {
                continue;
            }
            if part.is_empty() {
                return Ok(None);
            }
            let rate = scaled(part, options).ok_or_else(|| {
                format!(
                    "job `{}`: {option}={text} is not a number such as 1000 or 10k",
                    first.name
                )
            })?;
            // To fio, 0 is no limit.
            if rate <= 0.0 {
                return Ok(None);
            }
            let request_bytes = direction.io_bytes as f64 / direction.total_ios as f64;
            all += match option.as_str() {
                "rate" if request_bytes > 0.0 => rate / request_bytes,
                _ => rate,
            };
        }
        Ok(Some(all * self.jobs() as f64).filter(|rate| *rate > 0.0 && is_measured(*rate)))
    }

    /// What all jobs did together.
    ///
    /// # Errors
    /// Names a histogram that is damaged.
    pub fn phase(&self) -> Result<Phase, String> {
        let runtime_ms = self.0.iter().map(Job::runtime_ms).max().unwrap_or(0);
        let mut phase = Phase {
            started_ms: self.0.iter().filter_map(|job| job.job_start).min(),
            duration_s: runtime_ms as f64 / 1000.0,
            ..Phase::default()
        };
        for kind in [Kind::Read, Kind::Update, Kind::Delete] {
            let directions = self.0.iter().flat_map(Job::directions);
            let all: Vec<&Direction> = directions
                .filter(|(own, direction)| *own == kind && direction.total_ios > 0)
                .map(|(_, direction)| direction)
                .collect();
            if !all.is_empty() {
                let result = together(&all).ok_or_else(|| {
                    format!(
                        "job `{}`: a histogram of {} is damaged",
                        self.name(),
                        kind.name()
                    )
                })?;
                phase.operations = phase.operations.saturating_add(result.count);
                phase.kinds.insert(kind, result);
            }
        }
        let errors = self.0.iter().map(Job::errors).fold(0, u64::saturating_add);
        self.add_errors(&mut phase, errors);
        if phase.kinds.values().any(|kind| kind.service.is_empty()) {
            phase.findings.push(SUMMARY_ONLY.finding(
                "Only a summary of the latencies was imported, so other quantiles are unknown. \
                 fio's --output-format=json+ has histograms.",
            ));
        }
        Ok(phase)
    }

    /// fio does not say in which direction; the first one stands for them.
    fn add_errors(&self, phase: &mut Phase, count: u64) {
        if count == 0 {
            return;
        }
        let kind = phase.kinds.keys().next().copied().unwrap_or(Kind::Read);
        phase.kinds.entry(kind).or_default().errors = count;
        phase.operations = phase.operations.saturating_add(count);
        phase.failed = count;
        let number = self.0.iter().map(|job| job.error).find(|error| *error != 0);
        phase.errors.push(ErrorCount {
            kind,
            cause: "io".to_owned(),
            count,
            example: format!("fio says error {}", number.unwrap_or(0)),
        });
    }
}

/// A number with fio's suffixes. Where kb_base is not 1000, `k` is 1,024 and `Ki` is 1,000; where it
/// is, they are the other way round.
fn scaled(text: &str, options: &Options) -> Option<f64> {
    let is_decimal = options.get("kb_base").is_some_and(|base| base == "1000");
    let text = text.to_ascii_lowercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = &text[digits.len()..];
    let suffix = suffix.strip_suffix('b').unwrap_or(suffix);
    let (letter, has_i) = match suffix.strip_suffix('i') {
        Some(letter) => (letter, true),
        None => (suffix, false),
    };
    let power = ["", "k", "m", "g", "t", "p"];
    let power = power.iter().position(|known| *known == letter)?;
    let base: f64 = if is_decimal == has_i { 1024.0 } else { 1000.0 };
    Some(super::number(digits)? * base.powi(i32::try_from(power).ok()?))
}

/// The combined results of several jobs in one direction; `None` if a histogram is damaged.
fn together(all: &[&Direction]) -> Option<KindResult> {
    let sum =
        |field: fn(&Direction) -> u64| all.iter().map(|d| field(d)).fold(0, u64::saturating_add);
    let mut result = KindResult {
        count: sum(|direction| direction.total_ios),
        bytes: sum(|direction| direction.io_bytes),
        ..KindResult::default()
    };
    let times: Vec<&Times> = all.iter().map(|direction| direction.times()).collect();
    if times.iter().all(|times| !times.bins.is_empty()) {
        result.service = histogram(&times)?;
    } else {
        result.summary = summary(&times).if_any();
    }
    Some(result)
}

/// A bin counts at its value, which is the middle of its range.
fn histogram(all: &[&Times]) -> Option<Latencies> {
    let mut latencies = new_latencies();
    for (value, count) in all.iter().flat_map(|times| &times.bins) {
        latencies.record_n(value.parse().ok()?, *count).ok()?;
    }
    Some(latencies)
}

/// The numbers of one job. For several jobs, only those that can be combined, which excludes
/// quantiles.
fn summary(all: &[&Times]) -> Summary {
    let mut summary = Summary::default();
    let mut set = |name: &str, ns: f64| {
        if is_measured(ns) {
            summary.set(name, ns);
        }
    };
    let measured: Vec<&&Times> = all.iter().filter(|times| times.samples > 0).collect();
    let samples: f64 = measured.iter().map(|times| times.samples as f64).sum();
    let weighted: f64 = measured
        .iter()
        .map(|times| times.mean * times.samples as f64)
        .sum();
    if samples > 0.0 {
        set(Summary::MEAN, weighted / samples);
        set(
            Summary::MIN,
            measured
                .iter()
                .fold(f64::INFINITY, |min, times| min.min(times.min)),
        );
        set(
            Summary::MAX,
            measured.iter().fold(0.0, |max, times| times.max.max(max)),
        );
    }
    if let [times] = measured.as_slice() {
        for (percent, ns) in &times.percentile {
            if let Some(percent) = super::number(percent).filter(|_| is_measured(*ns)) {
                summary.set_percentile(percent, *ns);
            }
        }
    }
    summary
}
