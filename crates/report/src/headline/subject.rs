//! How the subject of a report compares: where it leads, which systems are ahead of it, and which
//! cannot be distinguished from it.

use super::{Topic, WorkloadTopic, by, sentence};
use crate::{
    block::Text,
    compare::{self, ComparedAt, Lead, Outcome},
    section::ComparedPair,
    statement::more,
    sweep::SweepTable,
};
use std::collections::BTreeSet;
use tailmark_model::{Metric, number};
use tailmark_stats::Comparison;

impl<'s, 'a> Topic<'s, 'a> {
    /// Where the subject leads, which systems are ahead of it elsewhere, and which are not told apart
    /// from it.
    pub(super) fn about(&self, sweep: &SweepTable<'a>, subject: &'a str) -> Text {
        let all = self.workloads.iter();
        let (led, others): (Vec<_>, Vec<_>) =
            all.partition(|topic| topic.lead(sweep) == Lead::Better);
        let mut text = Text::default();
        if !led.is_empty() {
            text = Text::strong(subject).and(&*self.words.leads);
            text = text
                .and(self.which(&led))
                .and(", ")
                .and_strong(by(&led, sweep));
            let seconds: BTreeSet<&str> = led.iter().map(|topic| topic.pairs[0].1).collect();
            text = match seconds.first() {
                Some(second) if seconds.len() == 1 && sweep.systems.len() == 2 => {
                    text.and(format!(" over {second}."))
                }
                _ => text.and(" over the nearest competitor."),
            };
        }
        text = sentence(text, self.ahead_of(sweep, subject, &others));
        text = sentence(text, self.alike(sweep, subject, &others));
        sentence(text, self.unsaid(&self.workloads, sweep))
    }

    /// Which systems are ahead of the subject: in each workload the best of them.
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

    /// Which systems are not told apart from the subject where none is ahead of it, and which fall
    /// behind them.
    fn alike(
        &self,
        sweep: &SweepTable<'a>,
        subject: &'a str,
        workloads: &[&WorkloadTopic<'s, 'a>],
    ) -> Text {
        let mut same: Vec<((String, String), Vec<&WorkloadTopic<'s, 'a>>)> = Vec::new();
        for topic in workloads {
            let alike = topic.with(sweep, &[Lead::Same, Lead::Equivalent]);
            if alike.is_empty() || !topic.with(sweep, &[Lead::Worse]).is_empty() {
                continue;
            }
            let said = self.told_apart(sweep, &alike, &topic.with(sweep, &[Lead::Better]));
            match same.iter_mut().find(|(other, _)| *other == said) {
                Some((_, own)) => own.push(topic),
                None => same.push((said, vec![topic])),
            }
        }
        let sentences = same.into_iter().map(|((said, behind), own)| {
            // Of a single workload everything is said.
            let which = if self.is_every && self.workloads.len() == 1 {
                String::new()
            } else {
                format!(" in {}", self.which(&own))
            };
            Text::strong(subject).and(format!(" {said}{which}{behind}."))
        });
        sentences.fold(Text::default(), sentence)
    }

    /// `is within 3 % of B and C at peak`, and `, and does 2.3X the ops/s of D`.
    fn told_apart(
        &self,
        sweep: &SweepTable<'a>,
        alike: &[&ComparedPair<'a>],
        behind: &[&ComparedPair<'a>],
    ) -> (String, String) {
        let others: Vec<&str> = alike.iter().map(|(_, other, _)| *other).collect();
        let others = number::list(&others);
        let outcomes = alike.iter().filter_map(|(.., comparison)| {
            let outcome = Outcome::new(comparison.as_ref()?, sweep.comparisons.band);
            Some(outcome)
        });
        let outcomes: BTreeSet<Outcome> = outcomes.collect();
        let compared = &self.words.compared;
        let within = compare::within(sweep.comparisons);
        let said = if outcomes.len() == 1 && outcomes.contains(&Outcome::Tied) {
            format!("is {within} of {others} {compared}")
        } else if outcomes.len() == 1 && outcomes.contains(&Outcome::Equivalent) {
            format!("is equivalent ({within}) to {others} {compared}")
        } else {
            format!("shows no difference to {others} {compared}")
        };
        let is_of_ops = behind.iter().any(|(.., comparison)| {
            let metric = comparison.as_ref().map(|known| known.metric);
            metric == Some(Metric::OPS_PER_SEC)
        });
        let behind = behind.iter().filter_map(|(_, other, comparison)| {
            let improvement = sweep.comparisons.improvement(comparison.as_ref()?);
            Some(if is_of_ops {
                let does = more(Text::default(), &improvement, false).to_plain();
                format!("{does}{other}")
            } else {
                format!("{improvement} than {other}")
            })
        });
        let behind: Vec<String> = behind.collect();
        let behind: Vec<&str> = behind.iter().map(String::as_str).collect();
        let behind = match (behind.is_empty(), is_of_ops) {
            (true, _) => String::new(),
            (false, true) => format!(", and {}", number::list(&behind)),
            (false, false) => format!(", and is {}", number::list(&behind)),
        };
        (said, behind)
    }
}
