//! Fits a brief into four pages whose last is well filled: layouts from roomy to dense are tried, and
//! only the best is drawn.

use super::flow::{Flow, HEIGHT, SCALE};
use crate::{
    Block, Chart, Error, Figure, Table,
    draw::{self, Drawing},
    section::Rendered,
};
use std::collections::{BTreeMap, BTreeSet};

/// How dense a brief is.
#[derive(Debug, Clone, Copy)]
pub struct Fit {
    /// Of charts, relative to their own height.
    charts: f32,
    /// The most rows of a workload's table.
    rows: usize,
    /// Of letters, relative to those of the roomiest layout.
    pub text: f32,
}

const fn fit(charts: f32, rows: usize, text: f32) -> Fit {
    Fit { charts, rows, text }
}

/// From roomy to dense.
const FITS: [Fit; 8] = [
    fit(1.0, 16, 1.0),
    fit(0.83, 12, 1.0),
    fit(0.79, 12, 0.96),
    fit(0.75, 8, 0.93),
    fit(0.71, 6, 0.9),
    fit(0.69, 5, 0.87),
    fit(0.67, 4, 0.85),
    fit(0.64, 3, 0.82),
];

/// The most pages of a brief.
const PAGES: usize = 4;
/// How full each page but the last is at least, and the last, from 0 to 1.
const FULL: (f32, f32) = (0.6, 0.4);
/// The figure of the first page, and the most of its height in pixels when it takes what is left there.
const MESSAGE: (&str, f32) = ("brief-message", 640.0);
/// The section that is left out if the pages have no room for it.
const OPTIONAL: &str = "bandwidth";
/// The widths of its charts, pixels: those of the second stand beside a table or sentences.
pub const WIDTHS: (f32, f32) = (Drawing::PAPER.0, 344.0);

/// A brief that fits.
pub struct Fitted {
    /// Its sections.
    pub sections: Rendered,
    /// Its charts.
    pub drawings: Vec<Drawing>,
    /// How dense it is.
    pub fit: Fit,
}

/// What a layout comes to.
pub struct Pages {
    /// How full each is, from 0 to 1.
    fullness: Vec<f32>,
    /// How many workloads are on two pages.
    splits: usize,
    /// Whether the chart that carries the message is on the first.
    has_message: bool,
}

impl Pages {
    /// Of a brief that is laid out.
    pub fn of_flow(flow: &Flow<'_>) -> Self {
        let message = flow.anchors.get(MESSAGE.0);
        Self {
            fullness: flow.fullness(),
            splits: flow.splits,
            has_message: message.is_some_and(|(page, _)| *page == 0),
        }
    }

    /// By how much the chart of the first page can be higher, pixels.
    fn left_on_first(&self) -> f32 {
        if self.has_message && self.fullness.len() > 1 {
            ((1.0 - self.fullness[0]) * HEIGHT / SCALE - 4.0).max(0.0)
        } else {
            0.0
        }
    }
}

/// A layout that was tried.
struct Candidate {
    fitted: Fitted,
    misses: usize,
    cost: f32,
    /// By how much the chart of the first page can be higher, pixels.
    more: f32,
}

/// The layout that keeps to the pages, saves one or fills the last, and is as roomy as that allows.
/// `lay_out` sets a layout on pages.
pub fn fitted(sections: &Rendered, lay_out: impl Fn(&Fitted) -> Pages) -> Result<Fitted, Error> {
    let originals = drawn(sections)?;
    let mut best = chosen(sections, &originals, &lay_out);
    let mut without = sections.clone();
    without.retain(|(section, _)| section.name != OPTIONAL);
    if best.misses > 0 && without.len() < sections.len() {
        let other = chosen(&without, &originals, &lay_out);
        if other.misses < best.misses {
            best = other;
        }
    }
    let Candidate {
        mut fitted, more, ..
    } = best;
    for figure in figures(&mut fitted.sections).filter(|one| one.anchor == MESSAGE.0) {
        for chart in &mut figure.charts {
            let most = MESSAGE.1.max(chart.height as f32);
            chart.height = (chart.height as f32 + more).min(most) as u32;
        }
    }
    fitted.drawings = drawn(&fitted.sections)?;
    Ok(fitted)
}

/// Of the densities the best, with as many rows in its tables as its pages have room for.
fn chosen(
    sections: &Rendered,
    originals: &[Drawing],
    lay_out: impl Fn(&Fitted) -> Pages,
) -> Candidate {
    let own = heights(sections);
    let tried = |(step, fit): (usize, Fit)| {
        let sections = fit.applied(sections);
        let now = heights(&sections);
        // What a legend adds depends on the width alone.
        let resized = |drawing: &Drawing| {
            let (old, new) = (own.get(&drawing.figure)?, now.get(&drawing.figure)?);
            Some(Drawing {
                size: (drawing.size.0, drawing.size.1 + new - old),
                ..drawing.clone()
            })
        };
        let fitted = Fitted {
            drawings: originals.iter().filter_map(resized).collect(),
            sections,
            fit,
        };
        let pages = lay_out(&fitted);
        let misses = misses(&pages.fullness) + pages.splits;
        Candidate {
            fitted,
            misses,
            cost: cost(&pages.fullness, misses, step),
            more: pages.left_on_first(),
        }
    };
    let all = FITS
        .into_iter()
        .enumerate()
        .map(|(step, fit)| (step, tried((step, fit))));
    let best = all.min_by(|(_, one), (_, other)| one.cost.total_cmp(&other.cost));
    let (step, best) = best.expect("there is a layout");
    let fit = best.fitted.fit;
    let longer = FITS.iter().filter(|other| other.rows > fit.rows);
    let mut longer = longer.map(|other| {
        let rows = other.rows;
        tried((step, Fit { rows, ..fit }))
    });
    longer.find(|other| other.cost <= best.cost).unwrap_or(best)
}

/// What a layout costs: a page, an empty last one, and each step toward the densest.
fn cost(fullness: &[f32], misses: usize, step: usize) -> f32 {
    const MISS: f32 = 1_000.0;
    const PAGE: f32 = 12.0;
    const EMPTY: f32 = 10.0;
    const STEP: f32 = 3.4;
    let left = match fullness {
        [_, .., last] => 1.0 - last,
        _ => 0.0,
    };
    MISS * misses as f32 + PAGE * fullness.len() as f32 + EMPTY * left + STEP * step as f32
}

/// The charts without the name of their workload in their titles: it is the heading above them.
fn drawn(sections: &Rendered) -> Result<Vec<Drawing>, Error> {
    let mut drawings = draw::draw(sections, WIDTHS)?;
    let titles = of_charts(sections, |chart| chart.title.clone());
    for drawing in &mut drawings {
        drawing.title = titles[&drawing.figure].clone();
    }
    Ok(drawings)
}

/// How far these pages are from what they are to be: each page too many counts more than one that
/// is almost empty.
fn misses(fullness: &[f32]) -> usize {
    let (last, others) = fullness.split_last().unwrap_or((&1.0, &[]));
    let bare = others.iter().filter(|full| **full < FULL.0).count();
    let is_last_bare = !others.is_empty() && *last < FULL.1;
    fullness.len().saturating_sub(PAGES) * 10 + 2 * bare + usize::from(is_last_bare)
}

impl Fit {
    fn applied(self, sections: &Rendered) -> Rendered {
        let mut sections = sections.clone();
        for figure in figures(&mut sections) {
            for chart in &mut figure.charts {
                chart.height = (chart.height as f32 * self.charts) as u32;
            }
        }
        let workloads = sections.iter_mut().filter(|own| own.0.name == "workloads");
        for block in workloads.flat_map(|(_, blocks)| blocks) {
            if let Block::Table(table) = block {
                shorten(table, self.rows);
            }
        }
        sections
    }
}

/// Leaves the first row, the last, those of peaks, and as many between them as there is room for.
fn shorten(table: &mut Table, most: usize) {
    let all = table.rows.len();
    if all <= most {
        return;
    }
    let is_peak = |index: &usize| table.rows[*index].cells.iter().any(|cell| cell.strong);
    let mut kept: BTreeSet<usize> = (0..all).filter(is_peak).chain([0, all - 1]).collect();
    for between in (1..most).map(|part| part * (all - 1) / most) {
        if kept.len() < most {
            kept.insert(between);
        }
    }
    let mut index = 0..;
    table
        .rows
        .retain(|_| index.next().is_some_and(|own| kept.contains(&own)));
    let note = format!("{} of {all} rows; all are in brief.html.", kept.len());
    let notes = [table.note.as_str(), &note];
    let notes = notes.into_iter().filter(|own| !own.is_empty());
    table.note = notes.collect::<Vec<_>>().join(" ");
}

fn figures(sections: &mut Rendered) -> impl Iterator<Item = &mut Figure> {
    let blocks = sections.iter_mut().flat_map(|(_, blocks)| blocks);
    blocks.filter_map(|block| match block {
        Block::Figure(figure) | Block::Beside(figure, _) => Some(figure),
        _ => None,
    })
}

/// Something of each chart, by its figure and its number there.
fn of_charts<T>(sections: &Rendered, what: impl Fn(&Chart) -> T) -> BTreeMap<(String, usize), T> {
    let blocks = sections.iter().flat_map(|(_, blocks)| blocks);
    let figures = blocks.filter_map(|block| match block {
        Block::Figure(figure) | Block::Beside(figure, _) => Some(figure),
        _ => None,
    });
    let charts = figures.flat_map(|figure| {
        let charts = figure.charts.iter().enumerate();
        charts.map(|(i, chart)| ((figure.anchor.clone(), i), what(chart)))
    });
    charts.collect()
}

/// The height of each chart, pixels.
fn heights(sections: &Rendered) -> BTreeMap<(String, usize), f32> {
    of_charts(sections, |chart| chart.height as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, TableRow};

    #[test]
    fn a_shortened_table_keeps_its_ends_and_its_peaks() {
        let row = |threads: usize| TableRow {
            cells: vec![Cell {
                strong: threads == 7,
                ..Cell::new(threads.to_string())
            }],
            total: false,
        };
        let mut table = Table {
            rows: (1..=10).map(row).collect(),
            ..Table::default()
        };
        shorten(&mut table, 5);
        let kept: Vec<&str> = table.rows.iter().map(|one| &*one.cells[0].text).collect();
        assert_eq!(kept, ["1", "2", "4", "7", "10"]);
        assert_eq!(table.note, "5 of 10 rows; all are in brief.html.");
    }

    #[test]
    fn a_denser_layout_is_worth_a_page_but_not_a_few_lines() {
        let half_empty = cost(&[0.9, 0.7, 0.42], 0, 0);
        assert!(cost(&[0.95, 0.98], 0, 2) < half_empty);
        assert!(
            cost(&[0.95, 0.98], 0, 6) > half_empty,
            "that small is hard to read"
        );
        assert!(cost(&[0.9, 0.7, 0.5], 0, 1) > half_empty);
        assert!(cost(&[0.9, 0.2], 1, 0) > cost(&[0.9, 0.9], 0, 7));
    }

    #[test]
    fn a_page_too_many_is_worse_than_bare_ones() {
        assert_eq!(misses(&[0.9, 0.7, 0.5]), 0);
        assert_eq!(misses(&[0.2]), 0, "a single page may be short");
        assert!(misses(&[0.9, 0.1]) < misses(&[0.5, 0.5]));
        assert!(misses(&[0.5, 0.5, 0.5, 0.1]) < misses(&[1.0; 5]));
    }
}
