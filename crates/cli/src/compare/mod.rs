//! `tailmark compare`: verdicts on two systems or two studies, and gates on them.

mod condition;
mod gate;
mod json;
mod page;
mod points;
mod sides;
mod text;

pub use condition::{Condition, band, latency, metric};

use crate::args::CompareArgs;
use clap::ValueEnum;
use gate::{Gate, Outcome};
use points::Points;
use sides::{Pair, Sides};
use std::collections::BTreeSet;
use tailmark_console::{Console, Exit};
use tailmark_results::{
    Comparison, Inequality, Metric, Run, Statistic,
    comparison::{Place, comparisons},
    json_text,
};

/// How a comparison is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// For a terminal.
    Text,
    /// Markdown with tables as GitHub has them.
    Md,
    /// One document for programs.
    Json,
}

/// Everything that is compared, and how it compares.
struct Compared {
    pairs: Vec<Pair>,
    /// Their systems are the labels of the pairs.
    runs: Vec<Run>,
    /// When the first run and the last one began, milliseconds since 1970.
    began: Option<sides::Times>,
    /// Those that are shown, in the order of reports.
    metrics: BTreeSet<Metric>,
    comparisons: Vec<Comparison>,
    /// Pairs over which p is adjusted: of one study those of all its systems.
    pairs_of_family: usize,
    unequal: Vec<(usize, Inequality)>,
    /// The band of practical equivalence, as a fraction.
    band: f64,
}

/// Compares, and judges the conditions.
pub fn compare(args: &CompareArgs, console: &Console) -> anyhow::Result<Exit> {
    let compared = Compared::from_args(args)?;
    let points = Points::from_runs(&compared.runs);
    let judge = |condition| gate::judge(condition, &compared, &points);
    let gates: Vec<Gate<'_>> = args.fail_if.iter().map(judge).collect();
    let said = match args.format {
        CompareFormat::Text => text::text(&page::blocks(&compared, &points, &gates)),
        CompareFormat::Md => text::markdown(&page::blocks(&compared, &points, &gates)),
        CompareFormat::Json => json_text(&json::text(&compared, &points, &gates)?).into_owned(),
    };
    console.say(said.trim_end())?;
    Ok(match gates.iter().map(|gate| gate.outcome).max() {
        None | Some(Outcome::NotShown) => Exit::Done,
        Some(Outcome::CannotTell) if args.allow_cannot_tell => Exit::Done,
        Some(Outcome::CannotTell) => Exit::CannotTell,
        Some(Outcome::Shown) => Exit::Shown,
    })
}

impl Compared {
    fn from_args(args: &CompareArgs) -> anyhow::Result<Self> {
        let sides = Sides::open(args)?;
        let mut measured = sides.read()?;
        let unequal_of = |(index, pair)| {
            let unequal = sides.unequal(pair, &measured).into_iter();
            unequal.map(move |inequality| (index, inequality))
        };
        let unequal = sides
            .pairs
            .iter()
            .enumerate()
            .flat_map(unequal_of)
            .collect();
        let times = measured.times.values();
        let began = times.copied().reduce(|(a, b), (c, d)| (a.min(c), b.max(d)));
        let metrics = metrics(args, &measured.runs);
        keep(&mut measured.runs, &metrics);
        let family = sides.family();
        let band = args.equivalence.unwrap_or_else(|| sides.equivalence());
        let all = comparisons(&measured.runs, &family, band);
        Ok(Self {
            comparisons: all
                .iter()
                .filter_map(|c| asked_for(&sides.pairs, c))
                .collect(),
            pairs_of_family: family.len(),
            pairs: sides.pairs,
            runs: measured.runs,
            began,
            metrics,
            unequal,
            band,
        })
    }

    /// The comparisons of a metric at points, or at peaks, in the order of tables.
    fn of_metric(&self, metric: Metric, is_peak: bool) -> Vec<&Comparison> {
        let is_asked_for = |c: &&Comparison| {
            c.metric == metric && matches!(c.place, Place::Peak { .. }) == is_peak
        };
        self.comparisons.iter().filter(is_asked_for).collect()
    }
}

/// A comparison as it is asked for, one way round or the other; none where it is not.
fn asked_for(pairs: &[Pair], comparison: &Comparison) -> Option<Comparison> {
    let (a, b) = (&comparison.a, &comparison.b);
    let is = |one: &String, other: &String| {
        pairs
            .iter()
            .any(|pair| (&pair.a.label, &pair.b.label) == (one, other))
    };
    match (is(a, b), is(b, a)) {
        (true, _) => Some(comparison.clone()),
        (_, true) => Some(comparison.reversed()),
        _ => None,
    }
}

/// What is shown: what was asked for, or what is looked at first; and what gates are about.
fn metrics(args: &CompareArgs, runs: &[Run]) -> BTreeSet<Metric> {
    let of_gates = args.fail_if.iter().map(|condition| condition.metric);
    let mut metrics: BTreeSet<_> = of_gates.chain(args.metrics.iter().copied()).collect();
    if args.metrics.is_empty() {
        let known = runs.iter().flat_map(|run| run.values.keys());
        let usual = [Statistic::MEAN, Statistic::P99, Statistic::P999];
        metrics.extend(known.filter(|metric| match metric {
            Metric::OpsPerSec => true,
            Metric::Latency { statistic, .. } => usual.contains(statistic),
        }));
    }
    metrics
}

/// Forgets all other numbers, which nobody would see compared; of each kind of request one stays,
/// which tells that it was asked for.
fn keep(runs: &mut [Run], metrics: &BTreeSet<Metric>) {
    for run in runs {
        let mut kinds = BTreeSet::new();
        run.values.retain(|metric, _| match metric {
            Metric::OpsPerSec => true,
            Metric::Latency { kind, .. } => kinds.insert(*kind) || metrics.contains(metric),
        });
    }
}
