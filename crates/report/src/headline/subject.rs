//! How the subject of a report compares: where it leads, which systems are ahead of it, and which
//! cannot be distinguished from it.

use super::{Topic, WorkloadTopic, by, sentence};
use crate::{
    block::Text,
    compare::{self, ComparedAt, Lead, Outcome},
    section::ComparedPair,
    statement::{amount, more},
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
                    compare::between(subject, &words.better, second)
                        .and(format!("{} in {which}, ", words.place))
                        .and_strong(by(&led, sweep))
                        .and(".")
                }
                _ => Text::strong(subject)
                    .and(format!("{}{which}, ", words.leads))
                    .and_strong(by(&led, sweep))
                    .and(" over the nearest competitor."),
            };
        }
        text = sentence(text, self.ahead_of(sweep, subject, &others));
        text = sentence(text, self.alike(sweep, subject, &others));
        sentence(text, self.unsaid(&self.workloads, sweep))
    }

    /// The systems that are ahead of the subject: in each workload the best of them.
    fn ahead_of(
        &self,
        sweep: &SweepTable<'a>,
        subject: &'a str,
        workloads: &[&WorkloadTopic<'s, 'a>],
    ) -> Text {
        let mut ahead: Vec<(&str, Vec<WorkloadTopic<'s, 'a>>)> = Vec::new();
        for topic in workloads {
            let Some((_, first, comparison)) = topic.with(sweep, &[Lead::Worse]).first().copied()
            else {
                continue;
            };
            let reversed = match topic.spot {
                // The arithmetic mean of the ratios of one to the other is not the inverse of the other's.
                Some(spot @ ComparedAt::Average(_)) => comparison.as_ref().and_then(|known| {
                    let pair = (*first, subject);
                    compare::at(topic.group, sweep, spot, known.metric, pair)
                }),
                _ => comparison.as_ref().map(Comparison::reversed),
            };
            let turned = WorkloadTopic {
                pairs: vec![(*first, subject, reversed)],
                ..**topic
            };
            match ahead.iter_mut().find(|(name, _)| name == first) {
                Some((_, own)) => own.push(turned),
                None => ahead.push((first, vec![turned])),
            }
        }
        let mut text = Text::default();
        for (first, own) in ahead {
            let own: Vec<&WorkloadTopic<'_, '_>> = own.iter().collect();
            let said = compare::between(first, &self.words.better, subject).and(&*self.words.place);
            let said = said.and(format!(" in {}, ", self.which(&own)));
            text = sentence(text, said.and_strong(by(&own, sweep)).and("."));
        }
        text
    }

    /// Which systems the subject is ahead of where none is ahead of it, and which are not told apart
    /// from it there.
    fn alike(
        &self,
        sweep: &SweepTable<'a>,
        subject: &'a str,
        workloads: &[&WorkloadTopic<'s, 'a>],
    ) -> Text {
        let mut same: Vec<(Text, Vec<&WorkloadTopic<'s, 'a>>)> = Vec::new();
        for topic in workloads {
            let alike = topic.with(sweep, &[Lead::Same, Lead::Equivalent]);
            if alike.is_empty() || !topic.with(sweep, &[Lead::Worse]).is_empty() {
                continue;
            }
            let behind = topic.with(sweep, &[Lead::Better]);
            let is_average = matches!(topic.spot, Some(ComparedAt::Average(_)));
            let said = self.told_apart(sweep, subject, (&alike, &behind), is_average);
            match same.iter_mut().find(|(other, _)| *other == said) {
                Some((_, own)) => own.push(topic),
                None => same.push((said, vec![topic])),
            }
        }
        let sentences = same.into_iter().map(|(said, own)| {
            // With a single workload there is nothing to list.
            let which = if self.is_every && self.workloads.len() == 1 {
                ".".to_owned()
            } else {
                format!(", in {}.", self.which(&own))
            };
            said.and(which)
        });
        sentences.fold(Text::default(), sentence)
    }

    /// `At 40,000 ops/s, the p99.99 read latency of A is 2.3X lower than D's (10.0 ms against 23.0 ms) and
    /// within 3 % of B's and C's`; if none falls behind, `At peak, A is within 3 % of B and C`.
    fn told_apart(
        &self,
        sweep: &SweepTable<'a>,
        subject: &'a str,
        (alike, behind): (&[&ComparedPair<'a>], &[&ComparedPair<'a>]),
        is_average: bool,
    ) -> Text {
        fn known<'p>(pairs: &[&'p ComparedPair<'_>]) -> Vec<&'p Comparison> {
            let known = pairs.iter().filter_map(|(.., known)| known.as_ref());
            known.collect()
        }
        let (alike, behind) = (known(alike), known(behind));
        let metric = alike.first().map_or(Metric::OPS_PER_SEC, |one| one.metric);
        let is_of_ops = metric == Metric::OPS_PER_SEC;
        let outcomes = alike
            .iter()
            .map(|one| Outcome::new(one, sweep.comparisons.band));
        let outcomes: BTreeSet<Outcome> = outcomes.collect();
        let within = compare::within(sweep.comparisons);
        let how = match outcomes.iter().copied().collect::<Vec<_>>().as_slice() {
            [Outcome::Tied] => format!("is {within} of"),
            [Outcome::Equivalent] => format!("is equivalent ({within}) to"),
            _ => "shows no difference from".to_owned(),
        };
        let whose = |one: &&Comparison| {
            if is_of_ops {
                one.b.clone()
            } else {
                format!("{}'s", one.b)
            }
        };
        let others: Vec<String> = alike.iter().map(whose).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let like = format!("{how} {}", number::list(&others));
        let text = Text::plain(format!("{}, ", self.words.at()));
        let mut text = if is_of_ops {
            text.and_strong(subject).and(" ")
        } else {
            text.and(format!("the {} of ", metric.noun()))
                .and_strong(subject)
                .and(" ")
        };
        for (i, one) in behind.iter().enumerate() {
            text = text.and(if i == 0 { "" } else { ", " });
            let improvement = sweep.comparisons.improvement(one);
            text = if is_of_ops {
                more(text, &improvement, false)
            } else {
                let text = text.and(if i == 0 { "is " } else { "" });
                text.and_strong(amount(&improvement)).and(" than ")
            };
            text = text.and(whose(one));
            // An average of ratios has no two figures.
            if !is_average {
                let [own, other] = one.centers.map(|value| {
                    if is_of_ops {
                        metric.text(value)
                    } else {
                        metric.text_with_unit(value)
                    }
                });
                text = text.and(format!(" ({own} against {other})"));
            }
        }
        match (behind.is_empty(), is_of_ops) {
            (true, true) => text.and(format!("{like}{}", self.words.in_ops())),
            (true, false) => text.and(like),
            (false, _) => text.and(format!(" and {like}")),
        }
    }
}
