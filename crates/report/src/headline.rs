//! The first sentences of a report: how its subject, or each system against the baseline, compares
//! in which workloads and by how much, at the peaks and in the report's metric.

mod amounts;
mod fixed;
mod subject;
mod topic;

use crate::{
    axis::Step,
    block::Text,
    compare::{self, ComparedAt, Lead},
    data::Data,
    findings::Index,
    sweep::{SweepTable, WorkloadGrid},
};
use amounts::{amounts, firsts};
use std::collections::BTreeSet;
use tailmark_model::{Metric, Point};
use topic::WorkloadTopic;

/// The sentences; `None` if no systems are compared.
#[must_use]
pub fn headline(data: &Data, sweep: &SweepTable<'_>, index: &Index<'_>) -> Option<Text> {
    // What the author names comes first, and stands for the metric at a load of our choice.
    let fixed = Topic::fixed(data, sweep);
    let metric = Topic::metric(sweep).filter(|_| fixed.is_empty());
    let topics = fixed.into_iter().chain(Topic::peaks(sweep)).chain(metric);
    let texts: Vec<Text> = topics
        .map(|topic| {
            let badges = index.headline_badges(topic.points().into_iter());
            topic.text(sweep).and_badges(badges)
        })
        .collect();
    texts.into_iter().reduce(sentence).or_else(|| {
        let has_peaks = sweep.groups.iter().any(WorkloadGrid::has_peaks);
        let none = || match invalid_baseline(sweep) {
            Some(baseline) => Text::strong(baseline)
                .and(", the baseline, has no valid point, so nothing is compared."),
            None => Text::plain("No two systems have a valid point in common."),
        };
        (sweep.systems.len() > 1 && has_peaks).then(none)
    })
}

/// The baseline, if none of its points is valid.
fn invalid_baseline<'a>(sweep: &SweepTable<'a>) -> Option<&'a str> {
    let baseline = sweep.baseline()?;
    let mut groups = sweep.groups.iter();
    let is_valid = groups.any(|group| group.cells_of(baseline).any(|cell| cell.fault.is_none()));
    (!is_valid).then_some(baseline)
}

/// One thing that systems are compared in, over the workloads.
struct Topic<'s, 'a> {
    words: Words,
    /// In the order of the report; in each of them at least two systems are known.
    workloads: Vec<WorkloadTopic<'s, 'a>>,
    /// Whether these are the workloads of the report, each once.
    is_every: bool,
    /// A last sentence; empty: none.
    end: Text,
}

/// The wording of a topic.
struct Words {
    /// Behind the name of the best: ` has the highest peak ops/s in `.
    leads: String,
    /// Between the names of two: ` has higher peak ops/s than `.
    better: String,
    /// The same for the worse direction.
    worse: String,
    /// The same after a better result elsewhere: `a lower one`.
    also_worse: &'static str,
    /// After both names: ` at 64 threads`.
    place: String,
    /// The compared quantity: `at peak`, `in p99 read latency at 64 threads`.
    compared: String,
    is_of_peaks: bool,
    /// The figure that the report is about, unless it is a latency.
    figure: Option<Metric>,
}

impl Words {
    /// Of a metric that is not compared at peaks; `place` begins with a space.
    fn new(name: &str, metric: Metric, place: String) -> Self {
        let (lower, higher) = ("lower", "higher");
        let (best, better, worse, also_worse) = if metric.more_is_better() {
            ("highest", higher, lower, "fewer")
        } else {
            ("lowest", lower, higher, "a higher one")
        };
        // `delivers more ops/s than`, `has a lower p99 read latency than`.
        let (leads, better, worse) = if metric == Metric::OPS_PER_SEC {
            (
                format!(" delivers the most {name}{place} in "),
                format!(" delivers more {name} than "),
                format!(" delivers fewer {name} than "),
            )
        } else {
            (
                format!(" has the {best} {name}{place} in "),
                format!(" has a {better} {name} than "),
                format!(" has a {worse} {name} than "),
            )
        };
        Self {
            leads,
            better,
            worse,
            also_worse,
            compared: format!("in {name}{place}"),
            place,
            is_of_peaks: false,
            figure: None,
        }
    }
}

impl Words {
    /// `At peak`, `At 40,000 ops/s`: at the beginning of a sentence.
    fn at(&self) -> String {
        match self.place.trim_start().strip_prefix("at ") {
            _ if self.is_of_peaks => format!("At peak{}", self.place),
            Some(place) => format!("At {place}"),
            None => "On average over thread counts".to_owned(),
        }
    }

    /// ` in ops/s`, where the place says nothing of it.
    const fn in_ops(&self) -> &'static str {
        if self.is_of_peaks { "" } else { " in ops/s" }
    }
}

impl<'s, 'a> Topic<'s, 'a> {
    /// The highest operations per second, of closed loops.
    fn peaks(sweep: &'s SweepTable<'a>) -> Option<Self> {
        let groups = sweep.groups.iter().filter(|group| group.has_peaks());
        let metric = Metric::OPS_PER_SEC;
        let topic = |group| WorkloadTopic::new(group, sweep, ComparedAt::Peak, metric);
        let place = match compare::about_common(sweep) {
            Some(_) => format!(" {}", compare::OVER_COMMON),
            None => String::new(),
        };
        let words = Words {
            leads: format!(" has the highest peak ops/s{place} in "),
            better: " has higher peak ops/s than ".to_owned(),
            worse: " has lower peak ops/s than ".to_owned(),
            also_worse: "lower ones",
            compared: format!("at peak{place}"),
            place,
            is_of_peaks: true,
            figure: None,
        };
        Self::new(words, sweep, groups.filter_map(topic).collect())
    }

    /// The metric that the report is about, at the highest thread count or rate that systems have in
    /// common.
    fn metric(sweep: &'s SweepTable<'a>) -> Option<Self> {
        let at = |group: &'s WorkloadGrid<'a>| {
            let metric = sweep.metric(group)?;
            let spot = compare::where_stated(group, sweep, metric)?;
            Some((group, metric, spot))
        };
        let mut all: Vec<_> = sweep.all_groups().filter_map(at).collect();
        // A workload that lacks the figure has a latency instead, which is another matter.
        let mut figures = all.iter().map(|(_, metric, _)| *metric);
        let figure = figures.find(|metric| metric.latency().is_none());
        all.retain(|(_, metric, _)| figure.is_none_or(|figure| *metric == figure));
        let (_, metric, first_spot) = *all.first()?;
        let metrics: Vec<Metric> = all.iter().map(|(_, own, _)| *own).collect();
        let name = compare::common_noun(&metrics);
        let steps = all.iter().map(|(group, _, spot)| match spot {
            ComparedAt::Step(step) => Some((*step, group.steps.last() == Some(step))),
            ComparedAt::Peak | ComparedAt::Average(_) => None,
        });
        let steps: Option<Vec<(Step, bool)>> = steps.collect();
        let place = match steps.as_deref() {
            None if matches!(first_spot, ComparedAt::Average(_)) => {
                " on average over thread counts".to_owned()
            }
            Some([(first, _), rest @ ..]) if rest.iter().all(|(step, _)| step == first) => {
                format!(" at {}", first.place())
            }
            Some(steps) if steps.iter().all(|(step, _)| step.rate.is_none()) => {
                let of_all = if steps.iter().all(|(_, is_last)| *is_last) {
                    ""
                } else {
                    " in common"
                };
                format!(" at the highest thread count{of_all}")
            }
            _ => " at the highest load that is compared".to_owned(),
        };
        let words = Words {
            figure,
            ..Words::new(&name, metric, place)
        };
        let topics = all
            .into_iter()
            .filter_map(|(group, own, spot)| WorkloadTopic::new(group, sweep, spot, own));
        Self::new(words, sweep, topics.collect())
    }

    fn new(
        words: Words,
        sweep: &SweepTable<'a>,
        workloads: Vec<WorkloadTopic<'s, 'a>>,
    ) -> Option<Self> {
        (!workloads.is_empty()).then(|| Self::with_workloads(words, sweep, workloads))
    }

    fn with_workloads(
        words: Words,
        sweep: &SweepTable<'a>,
        workloads: Vec<WorkloadTopic<'s, 'a>>,
    ) -> Self {
        let all = sweep.all_groups().map(|group| group.workload.as_str());
        let all: BTreeSet<&str> = all.collect();
        let own = workloads.iter().map(|topic| topic.group.workload.as_str());
        let own: BTreeSet<&str> = own.collect();
        let is_every = own == all && own.len() == workloads.len();
        Self {
            words,
            workloads,
            is_every,
            end: Text::default(),
        }
    }

    /// The points behind the sentences.
    fn points(&self) -> Vec<&'a Point> {
        let points = |topic: &WorkloadTopic<'_, 'a>| {
            let pairs = topic.pairs.iter();
            let systems: BTreeSet<&str> = pairs.flat_map(|(a, b, _)| [*a, *b]).collect();
            let systems = systems.into_iter();
            let points = systems.flat_map(|name| match topic.spot {
                Some(spot) => compare::points(topic.group, spot, name),
                None => topic
                    .group
                    .cells_of(name)
                    .flat_map(|cell| cell.points.iter().copied())
                    .collect(),
            });
            points.collect::<Vec<_>>()
        };
        self.workloads.iter().flat_map(points).collect()
    }

    fn text(&self, sweep: &SweepTable<'a>) -> Text {
        let text = match (sweep.baseline(), compare::subject(sweep)) {
            (Some(baseline), _) => self.against(sweep, baseline),
            (None, Some(subject)) => self.about(sweep, subject),
            (None, None) => Text::default(),
        };
        sentence(text, self.end.clone())
    }

    /// The position of each system relative to the baseline.
    fn against(&self, sweep: &SweepTable<'a>, baseline: &str) -> Text {
        let systems = sweep.systems.iter().map(|system| system.name.as_str());
        let mut text = Text::default();
        for system in systems.filter(|name| *name != baseline) {
            let own = self.workloads.iter().filter_map(|topic| topic.only(system));
            let own: Vec<WorkloadTopic<'_, '_>> = own.collect();
            let all = |lead: Lead| -> Vec<&WorkloadTopic<'_, '_>> {
                own.iter()
                    .filter(|topic| topic.lead(sweep) == lead)
                    .collect()
            };
            let words = &self.words;
            let (better, worse) = (all(Lead::Better), all(Lead::Worse));
            let mut said = Text::default();
            for (led, verb) in [(&better, &words.better), (&worse, &words.worse)] {
                if led.is_empty() {
                    continue;
                }
                said = if said.0.is_empty() {
                    compare::between(system, verb, baseline).and(&words.place)
                } else {
                    said.and(format!("; {}", words.also_worse))
                };
                let which = format!(" in {}", self.which(led));
                said = amounts(said.and(which), led, sweep.comparisons, baseline);
            }
            if !said.0.is_empty() {
                text = sentence(text, said.and("."));
            }
            let compared = &words.compared;
            let same = all(Lead::Same);
            if !same.is_empty() {
                let which = self.which(&same);
                let why = compare::reasons(&subject::titled(&same), sweep.comparisons);
                let mut known = firsts(&same).into_iter();
                let how = if known.any(compare::is_not_significant) {
                    "show no significant difference".to_owned()
                } else if sweep.comparisons.has_verdicts() {
                    "show no difference".to_owned()
                } else {
                    format!("are {} of each other", compare::within(sweep.comparisons))
                };
                let both = format!("{system} and {baseline} {how} {compared} in {which}{why}.");
                text = sentence(text, Text::plain(both));
            }
            let equivalent = all(Lead::Equivalent);
            if !equivalent.is_empty() {
                let which = self.which(&equivalent);
                let both = format!("{system} and {baseline} are equivalent {compared} in {which}.");
                text = sentence(text, Text::plain(both));
            }
            text = sentence(text, self.unsaid(&own, sweep));
        }
        sentence(text, self.without_baseline(sweep, baseline))
    }

    /// Of which systems nothing can be said in which workloads, and why.
    fn unsaid(&self, workloads: &[WorkloadTopic<'_, 'a>], sweep: &SweepTable<'a>) -> Text {
        let mut text = Text::default();
        let is_money = self.words.figure.is_some_and(Metric::is_money);
        let why_open = if is_money {
            "currencies or the energy that is paid differ, or a value is 0 or only a bound"
        } else {
            "a value is 0 or only a bound"
        };
        for (lead, why) in [
            (
                Lead::Unlike,
                "points of one failed, or they have no thread count in common",
            ),
            (
                Lead::Untested,
                "there are too few runs for a verdict, or the runs are identical",
            ),
            (Lead::Open, why_open),
        ] {
            let mut of_pairs: Vec<((&str, &str), Vec<&WorkloadTopic<'_, '_>>)> = Vec::new();
            for workload in workloads.iter().filter(|topic| topic.lead(sweep) == lead) {
                let pairs = workload.pairs.iter();
                let open = pairs.filter(|(.., comparison)| {
                    Lead::new(comparison.as_ref(), sweep.comparisons) == lead
                });
                for (a, b, _) in open {
                    match of_pairs.iter_mut().find(|(pair, _)| *pair == (*a, *b)) {
                        Some((_, known)) => known.push(workload),
                        None => of_pairs.push(((a, b), vec![workload])),
                    }
                }
            }
            for ((a, b), open) in of_pairs {
                let (compared, which) = (&self.words.compared, self.which(&open));
                let said = if lead == Lead::Untested {
                    format!("There is no verdict on {a} and {b} {compared} in {which}: {why}.")
                } else {
                    format!("{a} and {b} are not compared {compared} in {which}: {why}.")
                };
                text = sentence(text, Text::plain(said));
            }
        }
        text
    }

    /// In which workloads of the topic the baseline has nothing that others could be compared with.
    fn without_baseline(&self, sweep: &SweepTable<'a>, baseline: &str) -> Text {
        let is_topic = |group: &&WorkloadGrid<'_>| {
            if self.words.is_of_peaks {
                group.has_peaks()
            } else {
                let own = sweep.metric(group);
                own.is_some() && (self.words.figure.is_none() || own == self.words.figure)
            }
        };
        // What is read off curves has its own section, with the reasons.
        if self.workloads.iter().all(|topic| topic.spot.is_none()) {
            return Text::default();
        }
        let all = sweep.all_groups().filter(is_topic);
        let is_said = |group: &&WorkloadGrid<'_>| {
            let mut known = self.workloads.iter();
            known.any(|topic| topic.group.anchor == group.anchor)
        };
        let missing = all.filter(|group| !is_said(group));
        let missing: Vec<String> = missing.map(WorkloadGrid::title_with_conditions).collect();
        let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
        if missing.is_empty() {
            Text::default()
        } else {
            Text::plain(format!(
                "No system is compared with {baseline} {} in {}.",
                self.words.compared,
                compare::titles(&missing)
            ))
        }
    }

    /// `all 5 workloads`, `YCSB A and F`.
    fn which(&self, topics: &[&WorkloadTopic<'_, '_>]) -> String {
        let titles = topics
            .iter()
            .map(|topic| topic.group.title_with_conditions());
        let titles: Vec<String> = titles.collect();
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        match topics.len() {
            2 if self.is_every && self.workloads.len() == 2 => "both workloads".to_owned(),
            n if self.is_every && n == self.workloads.len() && n > 2 => {
                format!("all {n} workloads")
            }
            _ => compare::titles(&titles),
        }
    }
}

/// One sentence after another; either may be empty.
fn sentence(text: Text, next: Text) -> Text {
    if text.0.is_empty() || next.0.is_empty() {
        text.and_all(next)
    } else {
        text.and(" ").and_all(next)
    }
}
