//! Sentences about peaks: each against the others, and relative to the lowest.

use super::{Detail, NAMED};
use crate::{
    block::Text,
    compare::{self, ComparedAt, Outcome, Standing},
    compared::Comparisons,
    sweep::{SweepTable, WorkloadGrid},
};
use tailmark_model::{Metric, number};
use tailmark_stats::{Comparison, Verdict, comparison::Place};

/// The peaks of a workload: of the only system, of every one against the baseline, or of the highest
/// against all others.
pub fn at_peak<'a>(group: &WorkloadGrid<'a>, sweep: &SweepTable<'a>, detail: Detail) -> Vec<Text> {
    let standings = compare::standings(group, sweep);
    if let [only] = standings.as_slice() {
        return vec![alone(only)];
    }
    let standing = |name: &str| standings.iter().find(|standing| standing.system == name);
    let pairs = compare::pairs(group, sweep, ComparedAt::Peak, Metric::OPS_PER_SEC);
    // Of one system against several, or of several each against one.
    let sentence = |own: &[(&'a str, &'a str)]| {
        let first = standing(own.first()?.0)?;
        let others = own.iter().filter_map(|(_, other)| standing(other));
        Some(against_all(
            group,
            sweep,
            first,
            &others.collect::<Vec<_>>(),
            detail,
        ))
    };
    let sentences = pairs.chunk_by(|one, next| one.0 == next.0);
    sentences.filter_map(sentence).collect()
}

fn alone(only: &Standing<'_>) -> Text {
    Text::strong(only.system)
        .and(" peaks at ")
        .and_strong(format!("{} ops/s", only.peak.text()))
        .and(format!(" with {}.", number::threads(only.peak.threads)))
}

fn against_all(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    first: &Standing<'_>,
    others: &[&Standing<'_>],
    detail: Detail,
) -> Text {
    let figures = |s: &Standing<'_>| {
        let (peak, threads) = (s.peak.text(), number::threads(s.peak.threads));
        match group.mean_above_peak(s.system) {
            Some(mean) => format!(
                "{peak} at {threads} (corrected; mean {})",
                number::rate(mean)
            ),
            None => format!("{peak} at {threads}"),
        }
    };
    let mut text = Text::plain("At peak, ").and_strong(first.system);
    // Those that are alike in one clause.
    let compared = |other: &Standing<'_>| {
        let pair = (first.system, other.system);
        sweep.comparisons.at_peak(group, pair)
    };
    let is_tied = |other: &&Standing<'_>| {
        let outcome = compared(other).map(|known| Outcome::new(&known, sweep.comparisons.band));
        outcome == Some(Outcome::Tied)
    };
    let others_of = others.iter().copied();
    let (tied, apart): (Vec<&Standing<'_>>, Vec<_>) = others_of.partition(is_tied);
    let mut clauses = Vec::new();
    if !tied.is_empty() {
        let names: Vec<&str> = tied.iter().map(|other| other.system).collect();
        let within = compare::within(sweep.comparisons);
        let clause = Text::plain(format!("is {within} of ")).and_strong(number::list(&names));
        let mut compared = tied.iter().filter_map(|other| compared(other));
        let common = compared.find_map(|known| compare::over_common(group, &known));
        clauses.push(over(clause, common));
    }
    let (clauses_apart, is_short) = apart_clauses(group, sweep, first, &apart);
    clauses.extend(clauses_apart);
    let last = clauses.len().saturating_sub(1);
    for (i, clause) in clauses.into_iter().enumerate() {
        let joint = match i {
            0 => " ",
            i if i == last => " and ",
            _ => ", ",
        };
        text = text.and(joint).and_all(clause);
    }
    if is_short || (detail != Detail::Full && others.len() > 1) {
        return text.and(".");
    }
    if let Some(end) = of_common(group, sweep, first, others) {
        return text.and(end);
    }
    // In the order in which they are named.
    let named = tied.into_iter().chain(apart);
    let figures_of_others: Vec<String> = match others {
        [other] => vec![figures(other)],
        _ => named
            .map(|other| format!("{} ({})", figures(other), other.system))
            .collect(),
    };
    let figures_of_others: Vec<&str> = figures_of_others.iter().map(String::as_str).collect();
    // `42 against 30, both at 8 threads`
    let count = number::threads(first.peak.threads);
    let at = format!(" at {count}");
    let (own, other) = (figures(first), figures_of_others.concat());
    if let ([_], Some(own), Some(other)) = (others, own.strip_suffix(&at), other.strip_suffix(&at))
    {
        return text.and(format!(": {own} against {other}, both at {count}."));
    }
    text.and(format!(
        ": {own} against {}.",
        number::list(&figures_of_others)
    ))
}

/// The clause, with the thread counts if peaks are compared over those in common.
fn over(clause: Text, common: Option<String>) -> Text {
    match common {
        Some(counts) => clause.and(format!(" over the thread counts in common ({counts})")),
        None => clause,
    }
}

/// A clause for each of these, and whether those beyond the nearest share one.
fn apart_clauses(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    first: &Standing<'_>,
    apart: &[&Standing<'_>],
) -> (Vec<Text>, bool) {
    let compared = |other: &Standing<'_>| {
        let pair = (first.system, other.system);
        sweep.comparisons.at_peak(group, pair)
    };
    let all: Vec<Comparison> = apart.iter().filter_map(|other| compared(other)).collect();
    let comparisons = sweep.comparisons.beside(&all.iter().collect::<Vec<_>>());
    let far = if all.len() == apart.len() {
        far(&all, &comparisons)
    } else {
        &[]
    };
    let mut has_verb = false;
    let mut clauses = Vec::new();
    for other in &apart[..apart.len() - far.len()] {
        let known = compared(other);
        let known = known.as_ref();
        let clause = against(known, other.system, &comparisons, has_verb);
        has_verb = known.is_some_and(|known| is_told_by_more(known, &comparisons));
        let common = known.and_then(|known| compare::over_common(group, known));
        clauses.push(over(clause, common));
    }
    if !far.is_empty() {
        let range = range(&comparisons, &far.iter().collect::<Vec<_>>());
        let say = if has_verb { also_more } else { more };
        let clause = say(Text::default(), &range, false);
        clauses.push(clause.and(format!("{} other systems", far.len())));
    }
    (clauses, !far.is_empty())
}

/// The figures of a comparison over thread counts in common: `: 42 at 8 threads against 30 at 8
/// threads.`, of several only the end of the sentence.
fn of_common(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    first: &Standing<'_>,
    others: &[&Standing<'_>],
) -> Option<String> {
    let known = others.iter().filter_map(|other| {
        let pair = (first.system, other.system);
        sweep.comparisons.at_peak(group, pair)
    });
    let mut common = known.filter(|known| compare::over_common(group, known).is_some());
    let one = common.next()?;
    let Place::Peak {
        threads_a,
        threads_b,
        ..
    } = one.place
    else {
        return None;
    };
    if others.len() > 1 {
        return Some(".".to_owned());
    }
    let figure = |value, threads| {
        let threads = number::threads(threads);
        format!("{} at {threads}", number::bounded_rate(value))
    };
    let [a, b] = one.centers;
    if threads_a == threads_b {
        let [own, other] = [a, b].map(number::bounded_rate);
        let count = number::threads(threads_a);
        return Some(format!(": {own} against {other}, both at {count}."));
    }
    Some(format!(
        ": {} against {}.",
        figure(a, threads_a),
        figure(b, threads_b)
    ))
}

/// Of many systems all but the nearest, if the first is ahead of them: they share a clause.
pub fn far<'c>(all: &'c [Comparison], comparisons: &Comparisons) -> &'c [Comparison] {
    let is_ahead = |one: &Comparison| compare::is_ahead(one, comparisons.band) == Some(true);
    if all.len() > NAMED && all[1..].iter().all(is_ahead) {
        &all[1..]
    } else {
        &[]
    }
}

/// Whether it is told by how much more or less the first delivers.
fn is_told_by_more(comparison: &Comparison, comparisons: &Comparisons) -> bool {
    Outcome::new(comparison, comparisons.band) == Outcome::Differ
}

/// What the first of a comparison achieves against `other`, at their peaks. `has_verb`: the clause
/// before says that it delivers.
fn against(
    comparison: Option<&Comparison>,
    other: &str,
    comparisons: &Comparisons,
    has_verb: bool,
) -> Text {
    let text = Text::default();
    let Some(comparison) = comparison else {
        return text.and("cannot be compared with ").and_strong(other);
    };
    let ratio = comparison.ratio.value;
    let said = comparisons.improvement(comparison);
    let text = match Outcome::new(comparison, comparisons.band) {
        Outcome::Differ if has_verb => also_more(text, &said, ratio < 1.0),
        Outcome::Differ => more(text, &said, ratio < 1.0),
        Outcome::Tied => text.and(format!("is {} of ", compare::within(comparisons))),
        Outcome::Equivalent => {
            let within = compare::within(comparisons);
            text.and(format!("is equivalent ({within}) to "))
        }
        Outcome::NoDifferenceShown if compare::is_not_significant(comparison) => {
            let than = if ratio < 1.0 { "fewer" } else { "more" };
            match amount(&said) {
                times if times.ends_with('X') => text.and(format!("delivers {times} the ops/s of ")),
                percent => text.and(format!("delivers {percent} {than} ops/s than ")),
            }
        }
        Outcome::NoDifferenceShown => text.and("shows no difference from "),
        Outcome::Open => text.and(format!(
            "may or may not differ (a value is a bound; as measured, {said}) from "
        )),
        Outcome::UnlikePeaks => text.and(format!(
            "cannot be compared (points of one failed, or no thread count is in common; as measured, {said}) with "
        )),
    };
    let text = text.and_strong(other);
    let text = text.and(compare::interval_after(comparison, comparisons));
    if comparison.verdict == Verdict::TooFewRuns && comparisons.has_verdicts() {
        return text.and(" (too few runs for a verdict)");
    }
    text
}

/// ` delivers 44 % more ops/s than `, ` delivers 2.2X the ops/s of `: an improvement as a phrase.
pub fn more(text: Text, said: &str, is_less: bool) -> Text {
    let amount = amount(said);
    if said.ends_with('X') {
        text.and("delivers ")
            .and_strong(amount)
            .and(" the ops/s of ")
    } else {
        let than = if is_less { "fewer" } else { "more" };
        text.and("delivers ")
            .and_strong(format!("{amount} {than}"))
            .and(" ops/s than ")
    }
}

/// The same after a clause of its kind: `31 % more than `, `2.2X those of `.
pub fn also_more(text: Text, said: &str, is_less: bool) -> Text {
    let amount = amount(said);
    if said.ends_with('X') {
        text.and_strong(amount).and(" those of ")
    } else {
        let than = if is_less { "fewer" } else { "more" };
        text.and_strong(format!("{amount} {than}")).and(" than ")
    }
}

/// `+33 %`, `+33 % to +35 %`, `20 % to 31 % lower`: the least and the greatest of several improvements.
pub fn range(comparisons: &Comparisons, all: &[&Comparison]) -> String {
    let comparisons = comparisons.beside(all);
    let gain = |one: &&&Comparison| compare::gain(one).value;
    let by_gain = |a: &&&Comparison, b: &&&Comparison| gain(a).total_cmp(&gain(b));
    let text = |one: Option<&&Comparison>| {
        one.map_or_else(String::new, |one| comparisons.improvement(one))
    };
    let least = text(all.iter().min_by(by_gain));
    let most = text(all.iter().max_by(by_gain));
    if least == most {
        return most;
    }
    let least = least.trim_end_matches(" lower").trim_end_matches(" higher");
    format!("{} to {}", amount(least), amount(&most))
}

/// An improvement without its sign, its bound in words: `≤ −50 %` is at least 50 % less.
pub fn amount(said: &str) -> String {
    let (bound, value) = match said.split_once(' ') {
        Some(("≥", value)) => ("at least ", value),
        Some(("≤", value)) => ("at most ", value),
        _ => ("", said),
    };
    let bound = match (bound, value.starts_with('\u{2212}')) {
        ("at least ", true) => "at most ",
        ("at most ", true) => "at least ",
        (bound, _) => bound,
    };
    let value = value.trim_start_matches(['+', '±', '\u{2212}']);
    format!("{bound}{value}")
}

/// A share of another's peak that is little.
const FAR: f64 = 0.8;

/// What share of the others' peaks the lowest of three or more reaches, if it is below all.
pub fn share(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> Option<Text> {
    let standings = compare::standings(group, sweep);
    let (last, others) = standings.split_last().filter(|(_, rest)| rest.len() > 1)?;
    let mut shares = Vec::new();
    for other in others.iter().rev() {
        let pair = (last.system, other.system);
        let comparison = sweep.comparisons.at_peak(group, pair)?;
        // Over the thread counts in common other peaks are compared than those of the table.
        if compare::is_over_common(&comparison) {
            return None;
        }
        let is_ahead = compare::is_ahead(&comparison, sweep.comparisons.band);
        let below = (is_ahead == Some(false)).then_some(comparison.ratio)?;
        let share = number::bounded_share(below).replace("≤ ", "at most ");
        shares.push((share, other.system, below.value < FAR));
    }
    // They fall from share to share.
    let (first, _, are_far) = shares.first()?;
    let only = |is_far: bool| if is_far { "only " } else { "" };
    let of_whom = if shares.iter().all(|(share, ..)| share == first) {
        format!("{}{first} of the others'", only(*are_far))
    } else if shares.len() > NAMED {
        // The highest of the others is last.
        let (least, ..) = shares.last()?;
        format!("{}{least} to {first} of the others'", only(*are_far))
    } else {
        // The first that is little says it of the next ones, too.
        let little = shares.iter().position(|(.., is_far)| *is_far);
        let each = shares.iter().enumerate().map(|(i, (share, other, _))| {
            format!("{}{share} of {other}'s", only(little == Some(i)))
        });
        let each: Vec<String> = each.collect();
        let each: Vec<&str> = each.iter().map(String::as_str).collect();
        number::list(&each)
    };
    Some(
        Text::plain("The peak of ")
            .and_strong(last.system)
            .and(format!(" reaches {of_whom}.")),
    )
}
