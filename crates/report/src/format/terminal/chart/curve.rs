//! Curves of a latency or another metric, drawn with letters and dots.

use super::{clean, legend, letter};
use crate::{PlotMark, PlotSeries, chart::round_up, format::terminal::Screen};
use tailmark_model::{Bounded, Metric, number};

/// Points whose y is a metric; each system has a letter.
pub struct Curve<'p> {
    /// The systems that have any.
    pub series: Vec<&'p PlotSeries>,
    /// What y is.
    pub metric: Metric,
    /// Of x and y.
    pub titles: &'p [String; 2],
    /// Of y.
    pub ticks: &'p [f64],
    /// Of y.
    pub ends: (f64, f64),
}

impl Curve<'_> {
    /// Its lines.
    pub fn lines(&self, screen: Screen) -> Vec<String> {
        const ROWS: usize = 16;
        /// Before the axis: `500 us`.
        const LABEL: usize = 8;
        let columns = screen.columns - LABEL - 2;
        let (low, high) = self.ends;
        let is_log = low > 0.0;
        let all = self.series.iter().map(|series| {
            let marks = series.marks.iter().flatten();
            marks
                .filter(|mark| !is_log || mark.y > 0.0)
                .collect::<Vec<_>>()
        });
        let all: Vec<Vec<&PlotMark>> = all.collect();
        let points = all.iter().flatten();
        let right = round_up(points.map(|mark| mark.x).fold(1.0, f64::max));
        let row = |y: f64| {
            let part = if is_log {
                (y / low).ln() / (high / low).ln()
            } else {
                y / high
            };
            ROWS - 1 - (part.clamp(0.0, 1.0) * (ROWS - 1) as f64).round() as usize
        };
        let column = |x: f64| ((x / right).clamp(0.0, 1.0) * (columns - 1) as f64).round() as usize;
        let mut plot = Plot::new(ROWS, columns);
        for (curve, marks) in all.iter().enumerate() {
            for pair in marks.windows(2) {
                let [from, to] = [pair[0], pair[1]].map(|m| (column(m.x), row(m.y)));
                plot.line(from, to, curve);
            }
        }
        let marks = all.iter().enumerate().flat_map(|(curve, marks)| {
            let at = |mark: &&PlotMark| ((column(mark.x), row(mark.y)), curve, clean(&mark.label));
            marks.iter().map(at).collect::<Vec<_>>()
        });
        let marks: Vec<_> = marks.collect();
        for (at, curve, _) in &marks {
            plot.letter(*at, *curve);
        }
        for (at, curve, label) in &marks {
            plot.label(*at, *curve, label);
        }
        let mut lines = vec![self.titles[1].clone()];
        for (at, cells) in plot.rows.iter().enumerate() {
            let tick = self.ticks.iter().find(|&&tick| row(tick) == at);
            let label = tick.map_or_else(String::new, |value| self.tick(*value));
            let cells = self.written(cells, screen);
            lines.push(format!("{label:>LABEL$} │{cells}").trim_end().to_owned());
        }
        lines.push(format!("{} └{}", " ".repeat(LABEL), "─".repeat(columns)));
        let (half, end) = (number::rate(right / 2.0), number::rate(right));
        let half_room = columns / 2;
        let end_room = columns - half_room;
        let left = " ".repeat(LABEL + 1);
        lines.push(format!("{left}0{half:>half_room$}{end:>end_room$}"));
        lines.push(format!("{left} {}", self.titles[0]));
        lines.extend(legend(
            self.series.iter().copied(),
            &format!("{left} "),
            screen,
        ));
        lines
    }

    fn tick(&self, value: f64) -> String {
        match self.metric.row().unit {
            "us" => latency_tick(value),
            "%" => format!("{value} %"),
            _ => self.metric.text(Bounded::exact(value)),
        }
    }

    fn written(&self, cells: &[PlotCell], screen: Screen) -> String {
        let parts = cells.chunk_by(|a, b| a.curve == b.curve).map(|part| {
            let text: String = part.iter().map(|cell| cell.shown).collect();
            match part[0].curve {
                None => text,
                Some(curve) => screen.tint(self.series[curve].color, &text),
            }
        });
        parts.collect()
    }
}

/// `500 us`: ticks are round.
fn latency_tick(us: f64) -> String {
    let (value, unit) = match us {
        1e6.. => (us / 1e6, "s"),
        1e3.. => (us / 1e3, "ms"),
        1.0.. => (us, "us"),
        _ => (us * 1e3, "ns"),
    };
    format!("{} {unit}", (value * 100.0).round() / 100.0)
}

#[derive(Clone, Copy)]
struct PlotCell {
    shown: char,
    curve: Option<usize>,
}

struct Plot {
    rows: Vec<Vec<PlotCell>>,
}

impl Plot {
    fn new(rows: usize, columns: usize) -> Self {
        let empty = PlotCell {
            shown: ' ',
            curve: None,
        };
        Self {
            rows: vec![vec![empty; columns]; rows],
        }
    }

    /// Dots between two marks, if there is space.
    fn line(&mut self, from: (usize, usize), to: (usize, usize), curve: usize) {
        let steps = from.0.abs_diff(to.0).max(2 * from.1.abs_diff(to.1));
        let between = |a: usize, b: usize, step: usize| {
            let part = step as f64 / steps as f64;
            (a as f64 + (b as f64 - a as f64) * part).round() as usize
        };
        for step in 1..steps {
            let at = (between(from.0, to.0, step), between(from.1, to.1, step));
            self.put(at, '·', curve);
        }
    }

    /// If several curves have a letter in one place, that of the last is shown.
    fn letter(&mut self, (column, row): (usize, usize), curve: usize) {
        self.rows[row][column] = PlotCell {
            shown: letter(curve),
            curve: Some(curve),
        };
    }

    /// A label after the letter of its curve, if that is visible and there is space.
    fn label(&mut self, (column, row): (usize, usize), curve: usize, label: &str) {
        let is_free = |cell: &PlotCell| matches!(cell.shown, ' ' | '·');
        let Some((own, behind)) = self.rows[row][column..].split_first_mut() else {
            return;
        };
        let Some(cells) = behind.get_mut(..label.chars().count()) else {
            return;
        };
        if own.curve == Some(curve) && cells.iter().all(is_free) {
            for (cell, shown) in cells.iter_mut().zip(label.chars()) {
                *cell = PlotCell {
                    shown,
                    curve: Some(curve),
                };
            }
        }
    }

    fn put(&mut self, (column, row): (usize, usize), shown: char, curve: usize) {
        let cell = &mut self.rows[row][column];
        if cell.shown == ' ' {
            *cell = PlotCell {
                shown,
                curve: Some(curve),
            };
        }
    }
}
