//! The sentences about a fixed rate or latency, with the systems that have no value there.

use super::{Topic, Words, WorkloadTopic, sentence};
use crate::{
    block::Text,
    compare,
    data::Data,
    section::{FixedTopic, FixedValues, Missed, fixed_topics},
    sweep::SweepTable,
};
use tailmark_model::number;

impl<'s, 'a> Topic<'s, 'a> {
    /// The topics at each fixed rate and latency.
    pub(super) fn fixed(data: &Data, sweep: &'s SweepTable<'a>) -> Vec<Self> {
        let topics = fixed_topics(data, sweep).into_iter();
        let topic = |fixed: FixedTopic<'s, 'a>| {
            let words = Words::new(&fixed.name, fixed.metric, format!(" {}", fixed.place));
            let values = stated(&fixed, &words.at(), sweep.all_groups().count() == 1);
            let end = sentence(values, missed(&fixed));
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

/// The values without a ratio, a sentence for each workload. Those of a single system are in one: `At 500,000
/// ops/s, the p99 read latency is 432 us in YCSB C and 451 us in YCSB B (A).`
fn stated(fixed: &FixedTopic<'_, '_>, at: &str, is_only: bool) -> Text {
    let place = |own: &FixedValues<'_, '_>| {
        if is_only {
            String::new()
        } else {
            format!(" in {}", own.group.title_with_conditions())
        }
    };
    let of_one = fixed.stated.first().and_then(FixedValues::only);
    let of_one = of_one.filter(|(_, name)| {
        let mut all = fixed.stated.iter();
        all.all(|own| own.only().is_some_and(|(_, other)| other == *name))
    });
    if let Some((_, name)) = of_one {
        let said = fixed.stated.iter();
        let said = said.filter_map(|own| Some(format!("{}{}", own.only()?.0, place(own))));
        let said: Vec<String> = said.collect();
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        let (verb, said) = (fixed.stated[0].verb.as_str(), number::list(&said));
        return Text::plain(format!("{at}, {verb} {said} ({name})."));
    }
    let sentences = fixed.stated.iter().map(|own| {
        let words = own.words();
        Text::plain(format!("{at}, {words}{}.", place(own)))
    });
    sentences.fold(Text::default(), sentence)
}

/// `B and C do not reach 500,000 ops/s in YCSB A and F.` `D exceeds 5.00 ms of p99 read latency at every
/// thread count in YCSB A.`
fn missed(fixed: &FixedTopic<'_, '_>) -> Text {
    let what = fixed.place.trim_start_matches("at ");
    let said = |verbs: [&str; 2], own: &[Missed<'_, '_>]| {
        let alike = own.chunk_by(|(_, names), (_, others)| names == others);
        let sentences = alike.map(|same| {
            let titles = same.iter().map(|(group, _)| group.title_with_conditions());
            let titles: Vec<String> = titles.collect();
            let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
            let names = &same[0].1;
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
