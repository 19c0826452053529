//! Answers of SLO searches for a fixed latency, which win over readings of curves.

use super::{Fixed, value::Reading};
use crate::{Search, sweep::WorkloadGrid};
use tailmark_model::{Limit, Metric};
use tailmark_stats::slo::{Answer, Status};

impl Fixed {
    /// The result of a search for this limit, alone or among others.
    pub(super) fn searched<'g, 'a>(
        self,
        searches: &[Search],
        group: &WorkloadGrid<'a>,
        system: &str,
        metric: Metric,
    ) -> Option<Reading<'g, 'a>> {
        let Self::Latency(latency) = self else {
            return None;
        };
        let is_it = |limit: &&Limit| limit.latency == latency && limit.metric() == Some(metric);
        let own = searches
            .iter()
            .filter(|search| is_of(search, group, system));
        let answers = own.filter_map(|search| {
            let limit = search.settings.latency.iter().find(is_it)?;
            let answer = search.slo.answer_of(*limit, &search.settings);
            Some((answer, search.settings.quick))
        });
        // One that decided nothing has still measured that very thing, which no closed loop has.
        let ended = answers.filter(|(answer, _)| answer.status != Status::Unfinished);
        let (ends, are_quick): (Vec<Answer>, Vec<bool>) = ended.unzip();
        Some(Reading::Searched {
            answer: Answer::of_all(&ends)?,
            is_quick: are_quick.contains(&true),
        })
    }

    /// The highest rate at which a search for a limit that is not looser has confirmed it.
    pub(super) fn within_stricter(
        self,
        searches: &[Search],
        group: &WorkloadGrid<'_>,
        system: &str,
        metric: Metric,
    ) -> Option<f64> {
        let Self::Latency(latency) = self else {
            return None;
        };
        let is_stricter =
            |limit: &&Limit| limit.latency <= latency && limit.metric() == Some(metric);
        let own = searches
            .iter()
            .filter(|search| is_of(search, group, system));
        let lows = own.flat_map(|search| {
            let limits = search.settings.latency.iter().filter(is_stricter);
            limits.filter_map(|limit| search.slo.answer_of(*limit, &search.settings).low)
        });
        lows.reduce(f64::max)
    }
}

/// Whether a search is for this system and workload.
fn is_of(search: &Search, group: &WorkloadGrid<'_>, system: &str) -> bool {
    let slo = &search.slo;
    slo.system == system && group.workload == slo.workload && group.distribution == slo.distribution
}
