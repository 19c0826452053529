//! Sentences about all thread counts of a workload, or all rates: the average improvement and its
//! range, who leads where, and the lowest thread count.

mod clause;
mod everywhere;

pub use everywhere::at_every_count;

use crate::{
    axis::{Axis, Step},
    block::Text,
    compare::{self, Average, ComparedAt, Outcome},
    compared::Comparisons,
    statement::{Detail, NAMED, more},
    sweep::{SweepTable, WorkloadGrid},
};
use clause::{Clause, OTHERS, everywhere_too};
use everywhere::{at_every, everywhere};
use tailmark_model::{Bounded, Metric, Ratios, Statistic, number};
use tailmark_stats::{Comparison, comparison};

/// Ratios this close to each other are one.
const SAME: f64 = 1.005;

/// Two systems at every step at which they can be compared.
struct Along<'a> {
    a: &'a str,
    b: &'a str,
    at: Vec<(Step, Comparison)>,
    /// The number of steps that both have.
    of_both: usize,
}

impl<'a> Along<'a> {
    fn new(
        group: &WorkloadGrid<'a>,
        sweep: &SweepTable<'a>,
        metric: Metric,
        (a, b): (&'a str, &'a str),
    ) -> Self {
        let at = |&step: &Step| {
            let comparison = compare::at(group, sweep, ComparedAt::Step(step), metric, (a, b))?;
            Some((step, comparison))
        };
        let at = group.steps.iter().filter_map(at).collect();
        let has_both =
            |step: &&Step| [a, b].map(|name| group.valid_cell(name, **step).is_some()) == [true; 2];
        Self {
            a,
            b,
            at,
            of_both: group.steps.iter().filter(has_both).count(),
        }
    }

    /// The smallest and the largest improvement, and their places: `from 2.0X lower than B's at 4
    /// threads to 7.0X lower at 32 threads`. Without `from` if there is only one.
    fn ends(
        &self,
        group: &WorkloadGrid<'_>,
        ratios: Option<Ratios>,
        than: impl Fn(&str) -> String,
    ) -> Option<String> {
        let said = |comparison: &Comparison| {
            let metric = comparison.metric;
            let text = metric.improvement(comparison.ratio, ratios);
            let is_ops = metric == Metric::OPS_PER_SEC;
            let text = if is_ops {
                text
            } else {
                compare::in_words(&text)
            };
            text.replace("≥ ", "at least ").replace("≤ ", "at most ")
        };
        let gain = |(_, comparison): &&(Step, Comparison)| compare::gain(comparison).value;
        let by_gain =
            |a: &&(Step, Comparison), b: &&(Step, Comparison)| gain(a).total_cmp(&gain(b));
        let end = |extreme: &(Step, Comparison)| {
            let text = said(&extreme.1);
            let same = self.at.iter().filter(|(_, own)| said(own) == text);
            let steps: Vec<Step> = same.map(|(step, _)| *step).collect();
            (text, compare::places(&steps))
        };
        let (least, greatest) = (
            self.at.iter().min_by(by_gain)?,
            self.at.iter().max_by(by_gain)?,
        );
        let ((low, low_at), (high, high_at)) = (end(least), end(greatest));
        // Ratios that differ by less may be written in two ways, such as 1.7X and 1.8X, and are no range.
        let [small, large] = [least, greatest].map(|(_, comparison)| comparison.ratio);
        let is_one = low.contains('X') && small.is_exact() && large.is_exact() && {
            let apart = large.value / small.value;
            (1.0 / SAME..SAME).contains(&apart)
        };
        Some(if low == high || is_one {
            format!("{low}{} {}", than(&low), at_every(group, self))
        } else {
            let than = than(&low);
            format!("from {low}{than} at {low_at} to {high} at {high_at}")
        })
    }

    /// How the ratios of all steps are written, and their average, which stands in the same sentence.
    fn form(&self, metric: Metric, average: Option<Average>, all: &Comparisons) -> Option<Ratios> {
        let ratios = self.at.iter().map(|(_, own)| own.ratio.value);
        let average = average.map(|average| average.stated().value);
        let figures: Vec<f64> = ratios.chain(average).collect();
        if let own @ Some(_) = all.form_of(metric) {
            return metric.together(&figures, own);
        }
        let said = |value: f64| (value, metric.improvement(Bounded::exact(value), None));
        all.form_beside(figures.into_iter().map(said))
    }

    /// The steps at which the first is ahead, or the second.
    fn ahead(&self, sweep: &SweepTable<'_>, is_first: bool) -> Vec<Step> {
        let band = sweep.comparisons.band;
        let is_it = |comparison: &Comparison| compare::is_ahead(comparison, band) == Some(is_first);
        let all = self.at.iter().filter(|(_, comparison)| is_it(comparison));
        all.map(|(step, _)| *step).collect()
    }

    /// Whether a difference is shown at any step, or none is tested. If all are tested and none is
    /// shown, an average or a range would be read as one.
    fn shows_any(&self, sweep: &SweepTable<'_>) -> bool {
        let band = sweep.comparisons.band;
        let mut at = self.at.iter();
        at.any(|(_, own)| Outcome::new(own, band) != Outcome::NoDifferenceShown)
    }

    /// Whether the first, or the second, is ahead at each of at least two steps. If a value is a
    /// bound that leaves it open, it is not.
    fn leads_everywhere(&self, sweep: &SweepTable<'_>, is_first: bool) -> bool {
        self.of_both > 1 && self.ahead(sweep, is_first).len() == self.of_both
    }
}

/// Average and range of the improvement of each pair of systems, and who leads where.
pub fn over_all<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    metric: Metric,
    detail: Detail,
) -> Vec<Text> {
    let all = along_all(group, sweep, metric);
    let shown = all.iter().filter(|along| along.shows_any(sweep));
    let mut shown: Vec<&Along<'_>> = shown.collect();
    // Of many the nearest; all are in the table.
    if shown.len() > NAMED && shown.iter().all(|along| along.a == shown[0].a) {
        shown.truncate(1);
    }
    let ranges = ranges(group, sweep, metric, &shown, detail);
    let everywhere = everywhere(group, sweep, metric, &all);
    // Several ranges of a tail are long, and that one is better at each count says most of them.
    let is_tail = metric
        .latency()
        .is_some_and(|(_, own)| own != Statistic::MEAN);
    if detail != Detail::Full && is_tail && all.len() > 1 && everywhere.len() == 1 {
        let leads = |along: &Along<'_>| {
            let mut ways = [true, false].into_iter();
            ways.any(|is_first| along.leads_everywhere(sweep, is_first))
        };
        if all.iter().all(leads) {
            return if detail == Detail::Ends {
                Vec::new()
            } else {
                everywhere
            };
        }
    }
    let mut lines: Vec<Text> = ranges.into_iter().collect();
    if detail != Detail::Ends {
        lines.extend(everywhere);
    }
    lines.extend(changes_of_lead(group, sweep, metric));
    lines
}

/// Who leads where, for each pair of systems that both lead somewhere.
pub fn changes_of_lead<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    metric: Metric,
) -> Vec<Text> {
    let all = along_all(group, sweep, metric);
    let all = all.iter();
    all.filter_map(|along| change_of_lead(sweep, metric, along))
        .collect()
}

/// The pairs of systems that can be compared at several steps.
fn along_all<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    metric: Metric,
) -> Vec<Along<'a>> {
    let pairs = compare::main_pairs(group, sweep).into_iter();
    pairs
        .map(|pair| Along::new(group, sweep, metric, pair))
        .filter(|along| along.at.len() > 1)
        .collect()
}

/// One sentence for one system against several, or for several against one. What is the same of
/// several others is said once.
fn ranges<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    metric: Metric,
    all: &[&Along<'a>],
    detail: Detail,
) -> Option<Text> {
    let clauses = clauses(group, sweep, metric, all, detail)?;
    (!clauses.is_empty()).then(|| joined(group.axis, metric, &clauses))
}

/// What is said of each pair; pairs of which the same is said share a clause.
fn clauses<'a>(
    group: &WorkloadGrid<'a>,
    sweep: &SweepTable<'a>,
    metric: Metric,
    all: &[&Along<'a>],
    detail: Detail,
) -> Option<Vec<Clause<'a>>> {
    let is_ops = metric == Metric::OPS_PER_SEC;
    let is_terse = detail != Detail::Full;
    let mut clauses: Vec<Clause<'a>> = Vec::new();
    let beside = form_beside(sweep, metric, all);
    for along in all {
        let average = compare::average(group, sweep.comparisons, metric, (along.a, along.b));
        let statistic = metric.latency().map(|(_, statistic)| statistic);
        let average = average.filter(|_| statistic.is_none_or(|own| own == Statistic::MEAN));
        let ratios = beside.or(along.form(metric, average, sweep.comparisons));
        let than = |low: &str| match average {
            None if !is_ops => compare::than(low, OTHERS),
            _ => String::new(),
        };
        let ends = along.ends(group, ratios, than)?;
        let has_ends = !is_terse || all.len() == 1 || !is_ops || average.is_none();
        let ends = Some(ends).filter(|_| has_ends);
        let ratios = ends
            .as_ref()
            .map_or(beside.or(sweep.comparisons.form_of(metric)), |_| ratios);
        let details = (!is_terse, ends.as_deref(), ratios);
        let text = range(Text::default(), sweep, metric, OTHERS, average, details);
        let mut ways = [true, false].into_iter();
        let clause = Clause {
            a: along.a,
            others: vec![along.b],
            is_average: average.is_some(),
            text,
            leads: ways.find(|is_first| along.leads_everywhere(sweep, *is_first)),
            // In full it is a sentence of its own.
            can_lead: detail == Detail::Terse
                && !ends.is_some_and(|ends| ends.contains(" at every ")),
        };
        match clauses.iter_mut().find(|said| said.is_same(&clause)) {
            Some(said) => said.others.push(along.b),
            None => clauses.push(clause),
        }
    }
    Some(clauses)
}

/// The clauses in one sentence. Those about one system that have the same verb are a list.
fn joined(axis: Axis, metric: Metric, clauses: &[Clause<'_>]) -> Text {
    let is_ops = metric == Metric::OPS_PER_SEC;
    let is_one = clauses.iter().all(|clause| clause.a == clauses[0].a);
    // Of several systems alike it is said once, at the end.
    let leads = clauses[0].leads;
    let is_alike = is_one && leads.is_some() && clauses.iter().all(|one| one.leads == leads);
    let is_said = |one: &Clause<'_>| one.leads.is_some() && one.can_lead && !is_alike;
    let same = |one: &Clause<'_>| {
        (one.verb(), one.is_average) == (clauses[0].verb(), clauses[0].is_average)
    };
    let is_list = is_one && clauses.iter().all(same) && !clauses.iter().any(is_said);
    let mut text = Text::default();
    let mut was_average = None;
    for (i, clause) in clauses.iter().enumerate() {
        if is_list && i > 0 {
            let has_comma = clauses.len() > 2 && i + 1 < clauses.len();
            let joint = match (has_comma, clause.text.to_plain().contains(" to ")) {
                (true, _) => ", ",
                (false, true) => ", and ",
                (false, false) => " and ",
            };
            text = clause.say(text.and(joint), is_ops, false);
            if is_alike && clause.can_lead && i + 1 == clauses.len() {
                let way = leads.unwrap_or_default();
                text = text.and(everywhere_too(axis, (is_ops, way), ""));
            }
            continue;
        }
        text = text.and(if i == 0 { "" } else { "; " });
        // `from 3 % lower than B's to ...; from 5 % lower than C's to ...`
        let has_verb = i == 0 || !is_one || is_ops || !same(clause);
        if was_average.replace(clause.is_average) != Some(clause.is_average) {
            text = text.and(over(axis, clause.is_average, i == 0));
        }
        text = match (i == 0, is_ops) {
            (false, _) if !has_verb => text,
            (false, _) if is_one => text.and("it "),
            (_, true) => text.and_strong(clause.a).and(" "),
            (true, false) => {
                let text = text.and(format!("the {} of ", metric.noun()));
                text.and_strong(clause.a).and(" ")
            }
            (false, false) => text.and("that of ").and_strong(clause.a).and(" "),
        };
        text = clause.say(text, is_ops, has_verb);
        let is_here = clause.can_lead && (!is_alike || i + 1 == clauses.len());
        if let Some(way) = clause.leads.filter(|_| is_here) {
            let whom = match clause.others.len() {
                _ if clauses.len() == 1 || is_alike => "",
                1 => " it",
                _ => " them",
            };
            text = text.and(everywhere_too(axis, (is_ops, way), whom));
        }
    }
    text.and(".")
}

/// How the ratios of several pairs are written if some would be percentages and others not.
fn form_beside(sweep: &SweepTable<'_>, metric: Metric, all: &[&Along<'_>]) -> Option<Ratios> {
    let ratios = all.iter().flat_map(|along| &along.at);
    let ratios = ratios.map(|(_, own)| own.ratio);
    let forms = ratios.map(|ratio| (ratio.value, metric.improvement(ratio, None)));
    let comparisons = sweep.comparisons;
    let is_free = comparisons.form_of(metric).is_none() && all.len() > 1;
    is_free.then(|| comparisons.form_beside(forms)).flatten()
}

/// The beginning of a sentence, or of a clause, about all steps.
fn over(axis: Axis, is_average: bool, is_sentence: bool) -> String {
    let begin = match (is_average, is_sentence) {
        (true, true) => "On average over",
        (true, false) => "on average over",
        (false, true) => "Across",
        (false, false) => "across",
    };
    let steps = match axis {
        Axis::Threads => "thread counts",
        Axis::Rates => "offered rates",
    };
    format!("{begin} {steps}, ")
}

/// How the first of two compares with the second over all steps: on average (of ops/s and of mean
/// latencies, as in the published studies), and from the lowest to the highest with their places.
fn range(
    text: Text,
    sweep: &SweepTable<'_>,
    metric: Metric,
    b: &str,
    average: Option<Average>,
    (has_geometric, ends, ratios): (bool, Option<&str>, Option<Ratios>),
) -> Text {
    let Some(average) = average else {
        let ends = ends.unwrap_or_default();
        return text.and(match (metric, ends.starts_with("from ")) {
            (Metric::OPS_PER_SEC, _) => format!("differs from {b} in ops/s: {ends}"),
            (_, true) => format!("ranges {ends}"),
            (_, false) => format!("is {ends}"),
        });
    };
    let ends = ends.map_or_else(String::new, |ends| format!(", {ends}"));
    if metric == Metric::OPS_PER_SEC {
        let arithmetic = metric.improvement(average.arithmetic, ratios);
        // The mean of a over b and that of b over a are not each other's inverse; these are.
        let geometric = metric.improvement(average.geometric, ratios);
        let is_alike = comparison::is_within(average.arithmetic.value, sweep.comparisons.band);
        let text = if is_alike && average.arithmetic.is_exact() {
            text.and(format!("is {} of ", compare::within(sweep.comparisons)))
        } else {
            more(text, &arithmetic, average.arithmetic.value < 1.0)
        };
        let geometric = if has_geometric && geometric != arithmetic {
            format!(" (geometric mean of the ratios: {geometric})")
        } else {
            String::new()
        };
        text.and(format!("{b}{geometric}{ends}"))
    } else {
        let stated = compare::in_words(&metric.improvement(average.stated(), ratios));
        let than = compare::than(&stated, b);
        let text = text.and("is ").and_strong(stated);
        text.and(format!("{than}{ends}"))
    }
}

/// Who leads where, if both do somewhere.
fn change_of_lead(sweep: &SweepTable<'_>, metric: Metric, along: &Along<'_>) -> Option<Text> {
    let [first, second] = [true, false].map(|is_first| along.ahead(sweep, is_first));
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let noun = metric.noun();
    let [first, second] = [first, second].map(|steps| compare::places(&steps));
    let text = Text::plain(format!("The lead in {noun} changes: ")).and_strong(along.a);
    let text = text.and(format!(" leads at {first}, "));
    Some(text.and_strong(along.b).and(format!(" at {second}.")))
}

/// At the lowest thread count: every system against the baseline, or the best against the next.
pub fn at_the_lowest<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> Vec<Text> {
    let Some(&step) = group.steps.first().filter(|_| group.steps.len() > 1) else {
        return Vec::new();
    };
    let metric = Metric::OPS_PER_SEC;
    let mut pairs = compare::pairs(group, sweep, ComparedAt::Step(step), metric);
    let is_nearest = sweep.baseline().is_none() && pairs.len() > 1;
    if is_nearest {
        pairs.truncate(1);
    }
    let line = |pair: (&'a str, &'a str)| {
        let comparison = compare::at(group, sweep, ComparedAt::Step(step), metric, pair)?;
        compare::is_ahead(&comparison, sweep.comparisons.band)?;
        let value = |system| Some(group.cell(system, step)?.ops()?.middle);
        let figures = [value(pair.0)?, value(pair.1)?].map(number::rate);
        let place = compare::places(&[step]);
        let text = Text::plain(format!("At {place}, the lowest thread count, "));
        let text = more(
            text.and_strong(pair.0).and(" "),
            &sweep.comparisons.improvement(&comparison),
            comparison.ratio.value < 1.0,
        );
        let is_ahead = comparison.ratio.value > 1.0;
        let nearest = if is_nearest && is_ahead {
            ", its nearest competitor"
        } else {
            ""
        };
        let [a, b] = figures;
        let interval = compare::interval_after(&comparison, sweep.comparisons);
        let text = text.and_strong(pair.1);
        Some(text.and(format!("{nearest}{interval}: {a} against {b}.")))
    };
    pairs.into_iter().filter_map(line).collect()
}
