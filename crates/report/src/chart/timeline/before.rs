//! The warm-up before a point, if a rule ended it, on the clock of the point: before 0 and shaded.

use serde_json::{Value, json};
use std::{borrow::Cow, time::Duration};
use tailmark_model::{Interval, Phase, Series, Warmup, number};

/// A point with its warm-up.
pub struct WithWarmup<'a> {
    /// The start of the warm-up, seconds; 0 without one.
    pub start_s: f64,
    /// Of the warm-up, and of the point.
    pub intervals: [Cow<'a, [Interval]>; 2],
    /// The samples of both.
    pub series: Cow<'a, [Series]>,
}

impl<'a> WithWarmup<'a> {
    pub fn from_phase(phase: &'a Phase) -> Self {
        let point = Cow::Borrowed(&phase.intervals[..]);
        let Some(warmup) = &phase.warmup else {
            return Self {
                start_s: 0.0,
                intervals: [Cow::Borrowed(&[][..]), point],
                series: Cow::Borrowed(&phase.series),
            };
        };
        let start_s = -warmup.length_s() - Warmup::EDGE.as_secs_f64();
        Self {
            start_s,
            intervals: [Cow::Owned(moved(warmup, start_s)), point],
            series: Cow::Owned(joined(&warmup.phase.series, &phase.series, start_s)),
        }
    }
}

/// The intervals of a warm-up, without the time after its end.
fn moved(warmup: &Warmup, start_s: f64) -> Vec<Interval> {
    let intervals = warmup.phase.intervals.iter();
    let in_time = intervals.filter(|interval| interval.start_s < warmup.length_s());
    let on_clock = in_time.map(|interval| Interval {
        start_s: interval.start_s + start_s,
        ..interval.clone()
    });
    on_clock.collect()
}

/// Each series with its samples of the warm-up in front, as far as they are earlier.
fn joined(before: &[Series], own: &[Series], start_s: f64) -> Vec<Series> {
    let joined = own.iter().map(|own| {
        let name = |series: &Series| {
            (
                series.probe.clone(),
                series.subject.clone(),
                series.name.clone(),
            )
        };
        let Some(before) = before.iter().find(|before| name(before) == name(own)) else {
            return own.clone();
        };
        let first = own.at_s.first().copied().unwrap_or(0.0);
        let samples = before.at_s.iter().zip(&before.values);
        let samples = samples.map(|(at, value)| (at + start_s, *value));
        let (at_s, values): (Vec<f64>, Vec<f64>) = samples.filter(|(at, _)| *at < first).unzip();
        Series {
            at_s: [&at_s[..], &own.at_s].concat(),
            values: [&values[..], &own.values].concat(),
            ..own.clone()
        }
    });
    joined.collect()
}

/// The length of a warm-up, and whether the rule ended it.
pub fn said(warmup: &Warmup) -> String {
    let length = number::rounded(Duration::from_secs_f64(warmup.length_s()));
    match warmup.steady_s {
        Some(_) => format!("warm-up by rule, {length}"),
        None => format!("warm-up, {length}, not steady"),
    }
}

/// The area of a warm-up in one of the plots. The first area has a label.
pub fn warmup_area(warmup: &Warmup, start: &Value, is_first: bool) -> Value {
    let name = if is_first {
        said(warmup)
    } else {
        String::new()
    };
    json!([{"name": name, "xAxis": start}, {"xAxis": 0}])
}
