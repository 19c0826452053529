//! The sentences about a fixed rate or latency, with the systems that have no value there.

use super::{Topic, Words, WorkloadTopic, sentence};
use crate::{
    block::Text,
    compare,
    data::Data,
    section::{FixedTopic, Missed, fixed_topics},
    sweep::SweepTable,
};
use tailmark_model::number;

impl<'s, 'a> Topic<'s, 'a> {
    /// The topics at each fixed rate and latency.
    pub(super) fn fixed(data: &Data, sweep: &'s SweepTable<'a>) -> Vec<Self> {
        let topics = fixed_topics(data, sweep).into_iter();
        let topic = |fixed: FixedTopic<'s, 'a>| {
            let words = Words::new(&fixed.name, fixed.metric, format!(" {}", fixed.place));
            let all = sweep.all_groups().count();
            let values = fixed.stated.iter().map(|own| {
                let which = match all {
                    1 => String::new(),
                    _ => format!(" in {}", own.group.title_with_conditions()),
                };
                Text::plain(format!("{}, {}{which}.", words.at(), own.words))
            });
            let end = values
                .chain([missed(&fixed)])
                .fold(Text::default(), sentence);
            let workloads = fixed.workloads.into_iter();
            let workloads = workloads.map(|(group, pairs)| WorkloadTopic {
                group,
                spot: None,
                pairs,
            });
            let topic = Self::with_workloads(words, sweep, workloads.collect());
            Self { end, ..topic }
        };
        topics.map(topic).collect()
    }
}

/// `B and C do not reach 500,000 ops/s in YCSB A and F.` `D exceeds 5.00 ms of p99 read latency at every
/// thread count in YCSB A.`
fn missed(fixed: &FixedTopic<'_, '_>) -> Text {
    let what = fixed.place.trim_start_matches("at ");
    let said = |verbs: [&str; 2], own: &[Missed<'_, '_>]| {
        let alike = own.chunk_by(|(_, names), (_, others)| names == others);
        let sentences = alike.map(|own| {
            let titles = own.iter().map(|(group, _)| group.title_with_conditions());
            let titles: Vec<String> = titles.collect();
            let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
            let names = &own[0].1;
            let verb = verbs[usize::from(names.len() > 1)].replace('_', what);
            let (names, titles) = (number::list(names), compare::titles(&titles));
            Text::plain(format!("{names} {verb} in {titles}."))
        });
        sentences.fold(Text::default(), sentence)
    };
    sentence(
        said(["does not reach _", "do not reach _"], &fixed.not_reached),
        said(
            [
                "exceeds _ at every thread count",
                "exceed _ at every thread count",
            ],
            &fixed.exceeding,
        ),
    )
}
