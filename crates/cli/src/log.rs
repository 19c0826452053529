//! Debug output about each step on standard error, off by default. The measured path logs nothing
//! (`tests/layering.rs`).

use anyhow::Context;
use std::io;
use tailmark_engine::{Observer, PhaseStart};
use tailmark_model::{Load, Point, SloSettings};
use tailmark_stats::slo::Slo;
use tracing::debug;
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// The variable that sets what is logged, as in `runner=debug,remote=trace`.
const VARIABLE: &str = "TAILMARK_LOG";

/// The parts of the program that log. The client library of Cassandra logs too, but each request: only the
/// variable asks for that.
const PARTS: &str = "runner=debug,prepare=debug,remote=debug";

/// Begins to log what [`VARIABLE`] says, or all of [`PARTS`] (`-v`).
///
/// # Errors
/// If the variable cannot be read.
pub fn start(is_verbose: bool) -> anyhow::Result<()> {
    let said = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
    let Some(text) = said.or_else(|| is_verbose.then(|| PARTS.to_owned())) else {
        return Ok(());
    };
    let targets: Targets = text.parse().with_context(|| {
        format!(
            "{VARIABLE} is `{text}`; give a level (error, warn, info, debug or trace), or levels of \
             parts of the program such as runner=debug,remote=trace"
        )
    })?;
    tracing_subscriber::registry()
        .with(fmt::layer().with_writer(io::stderr))
        .with(targets)
        .init();
    Ok(())
}

/// Logs the steps of a run.
pub struct RunLog;

impl Observer for RunLog {
    fn sweep_started(&self, points: usize, done: usize) {
        debug!(target: "runner", points, done, "sweep");
    }

    fn notice(&self, text: &str) {
        debug!(target: "runner", text, "notice");
    }

    fn step(&self, text: &str) {
        debug!(target: "runner", "{text}");
    }

    fn phase_started(&self, phase: &PhaseStart<'_>) {
        let (system, kind) = (phase.system, phase.kind);
        debug!(target: "runner", system, ?kind, point = ?phase.point, "phase");
    }

    fn load_finished(&self, load: &Load) {
        let (system, records) = (&load.system, load.records);
        debug!(target: "runner", system, records, seconds = load.phase.duration_s, "loaded");
    }

    fn trial_finished(&self, slo: &Slo, _: &SloSettings) {
        let trial = slo.trials.last();
        let rate = trial.map(|trial| trial.rate());
        debug!(target: "runner", system = slo.system, ?rate, verdict = ?trial.map(|t| t.verdict), "trial");
    }

    fn point_finished(&self, point: &Point) {
        let ops_per_sec = point.phase.ops_per_sec();
        debug!(target: "runner", point = ?point.key, ops_per_sec, "measured");
    }
}
