//! The last columns of a table over workloads: the best system, and its lead over whom. Part of the
//! sections on peaks and latency.

use super::compared_table::{self, RATIO};
use crate::{
    Cell, Column,
    compare::{self, Lead, Outcome},
    compared::Comparisons,
    sweep::SweepTable,
};
use tailmark_stats::{Comparison, Verdict};

/// The pairs of the columns: the improvement of each other system over the baseline, or of the
/// subject over each other system.
fn improvements<'a>(sweep: &SweepTable<'a>) -> Vec<(&'a str, &'a str)> {
    let systems: Vec<&str> = sweep
        .systems
        .iter()
        .map(|system| system.name.as_str())
        .collect();
    compare::pairs_of(&systems, sweep)
}

/// The columns. The first names the best system, under the title of two or of more: `Higher`,
/// `Highest`; empty for a single system.
pub fn columns(sweep: &SweepTable<'_>, [better, best]: [&str; 2]) -> Vec<Column> {
    let best = match sweep.systems.len() {
        ..2 => return Vec::new(),
        2 => better,
        _ => best,
    };
    let improvements = improvements(sweep).into_iter();
    let improvements = improvements.map(|(a, b)| {
        let (title, group) = match sweep.baseline() {
            Some(_) => (format!("{a} over {b}"), "difference".to_owned()),
            None => (format!("over {b}"), format!("difference of {a}")),
        };
        Column::number(title).unit(RATIO).group(group)
    });
    std::iter::once(Column::text(best))
        .chain(improvements)
        .collect()
}

/// The position of the best system relative to each of the others; empty if there are none.
pub fn leads(
    sweep: &SweepTable<'_>,
    ranked: &[&str],
    at: impl Fn((&str, &str)) -> Option<Comparison>,
) -> Vec<Lead> {
    let Some((first, others)) = ranked.split_first() else {
        return Vec::new();
    };
    let lead = |other: &&str| Lead::new(at((first, other)).as_ref(), sweep.comparisons);
    others.iter().map(lead).collect()
}

/// The cells of a row whose systems are `ranked`, the best first.
pub fn cells(
    sweep: &SweepTable<'_>,
    ranked: &[&str],
    at: impl Fn((&str, &str)) -> Option<Comparison>,
) -> Vec<Cell> {
    if sweep.systems.len() < 2 {
        return Vec::new();
    }
    let words = who(sweep, ranked, &at);
    let known: Vec<Option<Comparison>> = improvements(sweep).into_iter().map(&at).collect();
    let all: Vec<&Comparison> = known.iter().flatten().collect();
    let comparisons = sweep.comparisons.beside(&all);
    let cell = |one: &Option<Comparison>| {
        let one = one.as_ref();
        one.map_or_else(Cell::none, |one| advantage(one, &comparisons))
    };
    let improvements = known.iter().map(cell);
    let words = words.map_or_else(Cell::none, Cell::new);
    std::iter::once(words).chain(improvements).collect()
}

/// The best system, or those that cannot be distinguished from it; `None` for a single one.
fn who(
    sweep: &SweepTable<'_>,
    ranked: &[&str],
    at: impl Fn((&str, &str)) -> Option<Comparison>,
) -> Option<String> {
    let (first, others) = ranked.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let leads = leads(sweep, ranked, &at);
    Some(match Lead::over_all(&leads) {
        Lead::Better => {
            let mut compared = others.iter().filter_map(|other| at((first, other)));
            if compared.any(|known| compare::is_over_common(&known)) {
                format!("{first}, {}", compare::OVER_COMMON)
            } else {
                (*first).to_owned()
            }
        }
        Lead::Equivalent => format!("equivalent ({})", compare::within(sweep.comparisons)),
        Lead::Unlike => "not comparable".to_owned(),
        Lead::Untested => "too few runs".to_owned(),
        Lead::Open if others.iter().all(|other| at((first, other)).is_none()) => {
            "not compared".to_owned()
        }
        Lead::Open => "not certain".to_owned(),
        Lead::Same | Lead::Worse => {
            let alike = others.iter().zip(&leads);
            let alike = alike.filter(|(_, lead)| **lead != Lead::Better);
            let alike: Vec<&str> = alike.map(|(other, _)| *other).collect();
            let verdicts = alike.iter().filter_map(|other| at((first, other)));
            let is_tested = verdicts.into_iter().any(|c| compare::has_verdict(&c));
            if alike.len() < others.len() {
                format!("{first} or {}", alike.join(" or "))
            } else if is_tested {
                Verdict::NoDifferenceShown.name().to_owned()
            } else {
                "tie".to_owned()
            }
        }
    })
}

/// By how much one is better.
fn advantage(comparison: &Comparison, comparisons: &Comparisons) -> Cell {
    let cell = compared_table::improvement(comparison, comparisons);
    let outcome = Outcome::new(comparison, comparisons.band);
    Cell {
        muted: matches!(
            outcome,
            Outcome::NoDifferenceShown | Outcome::UnlikePeaks | Outcome::Open
        ),
        ..cell
    }
}
