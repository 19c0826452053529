//! How the subject of a report compares: where it leads, which systems are ahead of it, and which
//! cannot be distinguished from it.

use super::{
    Topic, WorkloadTopic,
    amounts::{NEAREST, amount_range, amounts, firsts},
    sentence,
};
use crate::{
    block::Text,
    compare::{self, ComparedAt, Lead, Outcome},
    compared::Comparisons,
    section::ComparedPair,
    statement::{NAMED, also_more, amount, more, range},
    sweep::SweepTable,
};
use std::collections::BTreeSet;
use tailmark_model::{Metric, number};
use tailmark_stats::Comparison;

impl<'s, 'a> Topic<'s, 'a> {
    /// Where the subject leads, which systems are ahead of it elsewhere, and which cannot be
    /// distinguished from it.
    pub(super) fn about(&self, sweep: &SweepTable<'a>, subject: &'a str) -> Text {
        let all = self.workloads.iter();
        let (led, others): (Vec<_>, Vec<_>) =
            all.partition(|topic| topic.lead(sweep) == Lead::Better);
        let mut text = Text::default();
        if !led.is_empty() {
            let (words, which) = (&self.words, self.which(&led));
            let seconds: BTreeSet<&str> = led.iter().map(|topic| topic.pairs[0].1).collect();
            text = match seconds.first() {
                Some(second) if seconds.len() == 1 && sweep.systems.len() == 2 => {
                    let better = compare::between(subject, &words.better, second);
                    let better = better.and(format!("{} in {which}", words.place));
                    amounts(better, &led, sweep.comparisons, second)
                }
                _ => {
                    let leads = Text::strong(subject).and(format!("{}{which}", words.leads));
                    amounts(leads, &led, sweep.comparisons, NEAREST)
                }
            };
            text = text.and(".");
        }
        text = sentence(text, self.ahead_of(sweep, subject, &others));
        text = sentence(text, self.alike(sweep, subject, &others));
        sentence(text, self.unsaid(&self.workloads, sweep))
    }

    /// The systems that are ahead of the subject, and in which workloads: `B has higher peak ops/s than A in
    /// YCSB C, by 12 %; so has D, by 5 %`. In the same workloads, with a figure each, `B and D have higher peak
    /// ops/s than A in YCSB C, by 12 % and 5 %`.
    fn ahead_of(
        &self,
        sweep: &SweepTable<'a>,
        subject: &'a str,
        workloads: &[&WorkloadTopic<'s, 'a>],
    ) -> Text {
        let mut ahead: Vec<(&str, Vec<WorkloadTopic<'s, 'a>>)> = Vec::new();
        let all = workloads.iter().flat_map(|topic| {
            let worse = topic.with(sweep, &[Lead::Worse]).into_iter();
            worse.map(move |pair| (topic, pair))
        });
        for (topic, (_, first, comparison)) in all {
            let known = comparison.as_ref();
            let pair = (*first, subject);
            let reversed =
                known.map(|one| compare::turned(topic.group, sweep, topic.spot, one, pair));
            let turned = WorkloadTopic {
                pairs: vec![(*first, subject, reversed)],
                ..**topic
            };
            match ahead.iter_mut().find(|(name, _)| name == first) {
                Some((_, own)) => own.push(turned),
                None => ahead.push((first, vec![turned])),
            }
        }
        let (named, more) = ahead.split_at(ahead.len().min(NAMED));
        let (verb, verbs) = if self.words.better.starts_with(" has ") {
            ("has", "have")
        } else {
            ("does", "do")
        };
        let topics = named.iter().flat_map(|(_, own)| own);
        let comparisons = sweep
            .comparisons
            .beside(&firsts(&topics.collect::<Vec<_>>()));
        let mut text = Text::default();
        let mut where_last = String::new();
        if let ([_, _, ..], 0, Some(list)) =
            (named, more.len(), self.listed(named, &comparisons, subject))
        {
            return list;
        }
        for (first, own) in named {
            let own: Vec<&WorkloadTopic<'_, '_>> = own.iter().collect();
            let is_first = text.0.is_empty();
            let which = self.which(&own);
            text = if text.0.is_empty() {
                compare::between(first, &self.words.better, subject).and(&*self.words.place)
            } else {
                text.and(format!("; so {verb} ")).and_strong(*first)
            };
            if which != where_last {
                text = text.and(format!(" in {which}"));
                where_last = which;
            }
            text = amounts(
                text,
                &own,
                &comparisons,
                if is_first { subject } else { "" },
            );
        }
        match (named.is_empty(), more.len()) {
            (true, _) => text,
            (_, 0) => text.and("."),
            (_, count) => text.and(format!("; so {verbs} {count} more.")),
        }
    }

    /// The systems in one list, if they are ahead in the same workloads and by a figure each.
    fn listed(
        &self,
        named: &[(&str, Vec<WorkloadTopic<'s, 'a>>)],
        comparisons: &Comparisons,
        subject: &str,
    ) -> Option<Text> {
        let all = named.iter().map(|(name, own)| {
            let own: Vec<&WorkloadTopic<'_, '_>> = own.iter().collect();
            let said = amount_range(&own, comparisons);
            let metric = firsts(&own).first()?.metric;
            (!said.contains(" to ")).then_some((*name, self.which(&own), said, metric))
        });
        let all: Vec<(&str, String, String, Metric)> = all.collect::<Option<_>>()?;
        let (_, which, _, metric) = all.first()?;
        if all.iter().any(|(_, other, ..)| other != which) {
            return None;
        }
        let names: Vec<&str> = all.iter().map(|(name, ..)| *name).collect();
        let said: Vec<&str> = all.iter().map(|(_, _, said, _)| said.as_str()).collect();
        let is_ratio = said.iter().any(|own| own.contains('X'));
        let said = if said.iter().all(|own| *own == said[0]) {
            said[0].to_owned()
        } else {
            number::list(&said)
        };
        let verb = self.words.better.replacen(" has ", " have ", 1);
        let verb = verb.replacen(" delivers ", " deliver ", 1);
        let text = Text::strong(number::list(&names))
            .and(verb)
            .and_strong(subject);
        let text = text.and(format!("{} in {which}", self.words.place));
        Some(match (is_ratio, metric.more_is_better()) {
            (false, _) => text.and(", ").and_strong(format!("by {said}")).and("."),
            (true, false) => text.and(": ").and_strong(format!("{said} lower")).and("."),
            (true, true) => {
                let those = if *metric == Metric::OPS_PER_SEC {
                    "those"
                } else {
                    "that"
                };
                let text = text.and(": ").and_strong(said);
                text.and(format!(" {those} of {subject}."))
            }
        })
    }

    /// Which systems the subject is ahead of where it does not lead, and which are not told apart from
    /// it there: one sentence for the workloads that are alike in both.
    fn alike(
        &self,
        sweep: &SweepTable<'a>,
        subject: &'a str,
        workloads: &[&WorkloadTopic<'s, 'a>],
    ) -> Text {
        let mut same: Vec<Alike<'_, 's, 'a>> = Vec::new();
        for topic in workloads {
            let alike = topic.with(sweep, &[Lead::Same, Lead::Equivalent]);
            let beaten = topic.with(sweep, &[Lead::Better]);
            if alike.is_empty() && beaten.is_empty() {
                continue;
            }
            let like = like(topic, sweep, &known(sweep, &alike));
            let beaten = known(sweep, &beaten);
            let is_ratio = |one: &&Comparison| sweep.comparisons.improvement(one).contains('X');
            let name = |one: &&Comparison| (one.b.clone(), is_ratio(one));
            let names: Vec<(String, bool)> = beaten.iter().map(name).collect();
            let known = same
                .iter_mut()
                .find(|own| own.like == like && own.names == names);
            match known {
                Some(own) => {
                    own.topics.push(topic);
                    let columns = own.beaten.iter_mut().zip(beaten);
                    columns.for_each(|(column, one)| column.push(one));
                }
                None => same.push(Alike {
                    like,
                    names,
                    beaten: beaten.into_iter().map(|one| vec![one]).collect(),
                    topics: vec![topic],
                }),
            }
        }
        let sentences = same.into_iter().map(|own| {
            // With a single workload there is nothing to list.
            let which = if self.is_every && self.workloads.len() == 1 {
                String::new()
            } else {
                format!(", in {}", self.which(&own.topics))
            };
            let why = compare::reasons(&titled(&own.topics), sweep.comparisons);
            let text = self.told_apart(sweep, subject, &own);
            text.and(format!("{which}{why}."))
        });
        sentences.fold(Text::default(), sentence)
    }

    /// `At 40,000 ops/s, the p99.99 read latency of A is 2.3X lower than D's (10.0 ms against 23.0 ms) and
    /// within 3 % of B's and C's`; if none falls behind, `At peak, A is within 3 % of B and C`.
    fn told_apart(
        &self,
        sweep: &SweepTable<'a>,
        subject: &'a str,
        own: &Alike<'_, 's, 'a>,
    ) -> Text {
        let metric = own.topics[0].metric();
        let is_of_ops = metric == Metric::OPS_PER_SEC;
        let is_average = matches!(own.topics[0].spot, Some(ComparedAt::Average(_)));
        let text = Text::plain(format!("{}, ", self.words.at()));
        let mut text = if is_of_ops {
            text.and_strong(subject).and(" ")
        } else {
            text.and(format!("the {} of ", metric.noun()))
                .and_strong(subject)
                .and(" ")
        };
        let beaten = if own.beaten.len() > NAMED {
            vec![own.beaten.concat()]
        } else {
            own.beaten.clone()
        };
        let said = ranges(sweep.comparisons, &beaten);
        for (i, (of_system, improvement)) in beaten.iter().zip(said).enumerate() {
            text = text.and(if i == 0 { "" } else { ", " });
            text = if is_of_ops && i == 0 {
                more(text, &improvement, false)
            } else if is_of_ops {
                also_more(text, &improvement, false)
            } else {
                let text = text.and(if i == 0 { "is " } else { "" });
                text.and_strong(amount(&improvement)).and(" than ")
            };
            if own.beaten.len() > NAMED {
                text = text.and(many(own.beaten.len(), of_system));
                continue;
            }
            text = text.and(whose(of_system[0]));
            // Of several workloads they are beside each, and an average of ratios has none.
            if let ([one], false) = (&of_system[..], is_average) {
                let [ours, theirs] = one.centers.map(|value| {
                    if is_of_ops {
                        metric.text(value)
                    } else {
                        metric.text_with_unit(value, sweep.currency(&one.a))
                    }
                });
                text = text.and(format!(" ({ours} against {theirs})"));
            }
        }
        let phrases: Vec<&str> = own.like.iter().map(String::as_str).collect();
        let like = number::list(&phrases);
        match (own.beaten.is_empty(), is_of_ops) {
            (true, true) => text.and(format!("{like}{}", self.words.in_ops())),
            (true, false) => text.and(like),
            (false, _) if phrases.is_empty() => text,
            (false, _) if phrases.len() > 1 => text.and(format!(", {like}")),
            (false, _) => text.and(format!(" and {like}")),
        }
    }
}

/// Workloads in which the subject is not told apart from the same systems, and ahead of the same.
struct Alike<'p, 's, 'a> {
    /// The systems it is not told apart from, a phrase for each outcome.
    like: Vec<String>,
    /// The systems that the subject beats, and whether the difference is a ratio (`2.3X`).
    names: Vec<(String, bool)>,
    /// The comparison with each of them, a row per system and an entry per workload.
    beaten: Vec<Vec<&'p Comparison>>,
    topics: Vec<&'p WorkloadTopic<'s, 'a>>,
}

/// The comparisons in the order of the systems of the study, which is the same in all workloads.
fn known<'p>(sweep: &SweepTable<'_>, pairs: &[&'p ComparedPair<'_>]) -> Vec<&'p Comparison> {
    let known = pairs.iter().filter_map(|(.., known)| known.as_ref());
    let mut known: Vec<&Comparison> = known.collect();
    let place = |name: &str| sweep.systems.iter().position(|system| system.name == name);
    known.sort_by_key(|one| place(&one.b));
    known
}

/// `5 other systems (B is the nearest)`; of a latency, `those of 5 other systems (B is the nearest)`.
fn many(count: usize, all: &[&Comparison]) -> String {
    let gain = |one: &&&Comparison| compare::gain(one).value;
    let nearest = all.iter().min_by(|a, b| gain(a).total_cmp(&gain(b)));
    nearest.map_or_else(String::new, |one| {
        let is_of_ops = one.metric == Metric::OPS_PER_SEC;
        let those = if is_of_ops { "" } else { "those of " };
        format!("{those}{count} other systems ({} is the nearest)", one.b)
    })
}

/// `is within 3 % of A and B`; `is equivalent (within 3 %) to C` and `shows no difference from D`;
/// `shows no difference from every other system`.
fn like(
    topic: &WorkloadTopic<'_, '_>,
    sweep: &SweepTable<'_>,
    alike: &[&Comparison],
) -> Vec<String> {
    let within = compare::within(sweep.comparisons);
    let is_all = alike.len() > NAMED && alike.len() == topic.pairs.len();
    let of_outcome = compare::by_outcome(alike, sweep.comparisons.band);
    let of_outcome = of_outcome.into_iter().flat_map(|(outcome, own)| {
        let (open, none): (Vec<_>, Vec<_>) = own
            .into_iter()
            .partition(|one| compare::is_not_significant(one));
        [(outcome, none), (outcome, open)]
    });
    let of_outcome: Vec<(Outcome, Vec<&Comparison>)> =
        of_outcome.filter(|(_, own)| !own.is_empty()).collect();
    let is_one = of_outcome.len() == 1;
    let phrases = of_outcome.into_iter().map(|(outcome, own)| {
        let how = match outcome {
            Outcome::Tied => format!("is {within} of"),
            Outcome::Equivalent => format!("is equivalent ({within}) to"),
            _ if compare::is_not_significant(own[0]) => {
                "shows no significant difference from".to_owned()
            }
            _ => "shows no difference from".to_owned(),
        };
        if is_all && is_one {
            let is_of_ops = topic.metric() == Metric::OPS_PER_SEC;
            return format!(
                "{how} every other system{}",
                if is_of_ops { "" } else { "'s" }
            );
        }
        let others: Vec<String> = own.iter().map(|one| whose(one)).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        format!("{how} {}", number::list(&others))
    });
    phrases.collect()
}

/// The other system of a comparison; of a latency, `B's`.
fn whose(one: &Comparison) -> String {
    if one.metric == Metric::OPS_PER_SEC {
        one.b.clone()
    } else {
        format!("{}'s", one.b)
    }
}

/// The improvements over each system, in one form.
fn ranges(comparisons: &Comparisons, systems: &[Vec<&Comparison>]) -> Vec<String> {
    let comparisons = comparisons.beside(&systems.concat());
    let of_systems = systems.iter();
    of_systems.map(|all| range(&comparisons, all)).collect()
}

/// The comparisons of these workloads, with their titles.
pub(super) fn titled<'t>(topics: &[&'t WorkloadTopic<'_, '_>]) -> Vec<(String, &'t Comparison)> {
    let all = topics.iter().flat_map(|topic| {
        let title = topic.group.title_with_conditions();
        let known = topic.pairs.iter().filter_map(|(.., known)| known.as_ref());
        known.map(move |known| (title.clone(), known))
    });
    all.collect()
}
