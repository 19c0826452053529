//! The curve of the studies: ops/s against a latency or another metric, one point per client count,
//! one line per system. Past the peak it turns back, so points are in the order of client counts,
//! never of x.

use super::{axis, base, line, linear_range, log_axis, log_range, narrow_base};
use crate::{
    Plot, PlotAxes, PlotMark, PlotSeries,
    axis::Step,
    chart::quantised::{quantised, rate},
    compare,
    measure::{Quantity, Spread},
    style,
    sweep::{SweepTable, WorkloadGrid},
};
use serde_json::{Value, json};
use tailmark_model::{Bound, Bounded, LatencyAxis, Metric, System, TimeBasis, number};

/// The values that a chart shows for each point.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// Any row of `METRICS`.
    pub metric: Metric,
    /// From which instant a latency counts. Other metrics have response time here.
    pub clock: TimeBasis,
}

impl Reading {
    /// A metric as reports state it.
    pub fn new(metric: Metric) -> Self {
        let clock = TimeBasis::Response;
        Self { metric, clock }
    }

    /// Latencies have a logarithmic axis. Other metrics may be 0.
    pub fn is_latency(self) -> bool {
        self.metric.latency().is_some()
    }
}

/// The common part of a chart's variants: all are latencies, or the only one is another metric.
/// `labels` are those of the steps, for an axis of threads.
pub fn option(
    along: Along,
    reading: Reading,
    labels: &[String],
    drawn: Option<LatencyAxis>,
) -> Value {
    let (mut option, x) = match along {
        Along::Threads => (narrow_base(), super::categories(along.title(), labels)),
        Along::Rate | Along::Offered => (base(), axis("value", along.title(), 28, "@rate")),
    };
    let tip = if along == Along::Offered {
        "@offered"
    } else {
        "@curve"
    };
    let title = reading.metric.row().title;
    let write = super::writer(reading.metric);
    let (tip, y) = if reading.is_latency() {
        (tip.to_owned(), axis("log", "latency", 62, "@latency"))
    } else {
        let tip = format!("{tip} {write} {title}");
        (tip, axis("value", title, 62, &format!("@{write}")))
    };
    option["tooltip"] = json!({"trigger": "item", "formatter": tip, "confine": true});
    option["xAxis"] = x;
    option["yAxis"] = y;
    if reading.is_latency() && drawn == Some(LatencyAxis::Linear) {
        option["latencyAxis"] = "linear".into();
    }
    option
}

/// What x is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Along {
    /// Operations per second.
    Rate,
    /// Client counts.
    Threads,
    /// Offered operations per second.
    Offered,
}

impl Along {
    const fn title(self) -> &'static str {
        match self {
            Self::Rate => "operations per second",
            Self::Threads => "threads",
            Self::Offered => "offered operations per second",
        }
    }
}

/// The lines of one reading.
#[derive(Clone, Copy)]
pub struct CurveLines<'s, 'a> {
    /// Of which workload.
    pub group: &'s WorkloadGrid<'a>,
    /// Of which systems.
    pub sweep: &'s SweepTable<'a>,
    /// What y is.
    pub reading: Reading,
    /// Against what.
    pub along: Along,
    /// Which systems are drawn, by name.
    pub is_drawn: &'s dyn Fn(&str) -> bool,
}

/// One mark.
struct Mark {
    step: Step,
    ops: Spread,
    value: Quantity,
    fault: Option<String>,
}

impl Mark {
    /// Whether middle, low and high are lower bounds. Upper bounds are so for a whole metric, whose
    /// axis says it.
    fn bounds(&self) -> [bool; 3] {
        let Quantity {
            middle, low, high, ..
        } = self.value;
        [middle, low, high].map(|value| value.bound == Bound::AtLeast)
    }
}

/// Beside a mark that is not valid.
fn fault_label(mark: &Mark, fault: &str) -> String {
    format!("{}: {fault}", mark.step.label())
}

/// The key of a variant or a base whose latencies a document draws from 0.
pub const PAPER_AXIS: &str = "paperAxis";

/// A ceiling this many times above the systems is initially hidden, because it would press them
/// into a corner.
const CEILING_IN_SIGHT: f64 = 2.0;

/// A system, and a mark for each step.
type Line<'a> = (&'a System, Vec<Option<Mark>>);

impl<'a> CurveLines<'_, 'a> {
    /// The variant of the chart; null if nothing was measured.
    pub fn variant(&self) -> Value {
        let (systems, ceilings) = (self.lines(&self.sweep.systems), self.ceilings());
        let values = self.values_in_sight(&systems, &ceilings);
        if values.is_empty() {
            return Value::Null;
        }
        let mut series: Vec<Value> = Vec::new();
        // What has no mark is not in the legend.
        let marked = |(_, (_, marks)): &(usize, &Line<'_>)| marks.iter().any(Option::is_some);
        for (i, (system, marks)) in systems.iter().enumerate().filter(marked) {
            // The line first: the legend takes its mark from the first series of a name. The subject is
            // drawn over the others.
            let z = if compare::subject(self.sweep) == Some(&system.name) {
                6
            } else {
                4
            };
            series.push(self.system(i, system, marks, z));
            series.extend(self.spreads(system, marks, z));
        }
        let mut selected = serde_json::Map::new();
        for (system, marks) in &ceilings {
            if !self.ceilings_in_sight() {
                selected.insert(system.name.clone(), false.into());
            }
            series.push(self.ceiling(system, marks));
        }
        let is_linear = self.sweep.is_linear_on_paper(&values);
        let mut y = if self.reading.is_latency() {
            log_axis(values.into_iter())
        } else {
            json!({})
        };
        y["name"] = self.y_title(false).into();
        if let Some((first, lines)) = series.first_mut().zip(self.fixed_lines()) {
            first["markLine"] = lines;
        }
        let mut variant = json!({"yAxis": y, "legend": {"selected": selected}, "series": series});
        if self.reading.is_latency() && is_linear {
            variant[PAPER_AXIS] = "linear".into();
        }
        variant
    }

    /// The initial content of the variant. `None` if nothing was measured.
    pub fn plot(&self) -> Option<Plot> {
        let (mut lines, mut ceilings) = (self.lines(&self.sweep.systems), self.ceilings());
        let values = self.values_in_sight(&lines, &ceilings);
        let values = values.into_iter();
        let (low, high, ticks) = if self.reading.is_latency() && !self.sweep.is_linear() {
            log_range(values)?
        } else {
            linear_range(values)?
        };
        if self.ceilings_in_sight() {
            lines.append(&mut ceilings);
        }
        let mark = |mark: Mark| PlotMark {
            x: match self.along {
                Along::Offered => mark.step.rate.unwrap_or(0.0),
                Along::Rate | Along::Threads => mark.ops.middle,
            },
            y: self.in_unit(mark.value.middle),
            label: match &mark.fault {
                Some(fault) => fault_label(&mark, fault),
                None if mark.bounds() != [false; 3] => self.bounded_label(&mark),
                None => mark.step.threads.to_string(),
            },
            is_invalid: mark.fault.is_some(),
            is_at_least: false,
        };
        let series = lines.into_iter().map(|(system, marks)| PlotSeries {
            name: system.name.clone(),
            color: self.sweep.color(&system.name),
            marks: marks.into_iter().map(|own| own.map(mark)).collect(),
        });
        Some(Plot {
            axes: PlotAxes::Curve {
                metric: self.reading.metric,
                titles: [
                    self.along.title().to_owned(),
                    self.y_title(self.sweep.is_linear()),
                ],
                low,
                high,
                ticks,
            },
            series: series.collect(),
        })
    }

    /// A page turns a logarithmic axis into a linear one by itself.
    fn y_title(&self, is_linear: bool) -> String {
        let metric = self.reading.metric;
        let more = if self.reading.is_latency() && !is_linear {
            " (log scale)"
        } else if metric.is_at_most() {
            " (at most)"
        } else {
            ""
        };
        format!("{}{more}", metric.row().title)
    }

    fn in_unit(&self, value: Bounded) -> f64 {
        self.reading.metric.in_unit(value).value
    }

    fn lines(&self, systems: &[&'a System]) -> Vec<Line<'a>> {
        let line = |system: &&'a System| (*system, self.marks(system));
        let drawn = systems
            .iter()
            .filter(|system| (self.is_drawn)(&system.name));
        drawn.map(line).collect()
    }

    /// The ceilings that were measured here.
    fn ceilings(&self) -> Vec<Line<'a>> {
        let mut lines = self.lines(&self.sweep.ceilings);
        lines.retain(|(_, marks)| marks.iter().any(Option::is_some));
        lines
    }

    /// The initially visible values; empty if no system was measured.
    fn values_in_sight(&self, systems: &[Line<'_>], ceilings: &[Line<'_>]) -> Vec<f64> {
        fn marks<'l>(lines: &'l [Line<'_>]) -> impl Iterator<Item = &'l Quantity> {
            let marks = lines.iter().flat_map(|(_, marks)| marks).flatten();
            marks.map(|mark| &mark.value)
        }
        let ends = marks(systems).flat_map(|value| [value.low, value.high]);
        let mut values: Vec<f64> = ends.map(|end| self.in_unit(end)).collect();
        if !values.is_empty() && self.ceilings_in_sight() {
            values.extend(marks(ceilings).map(|value| self.in_unit(value.middle)));
        }
        if !values.is_empty() {
            let fixed = self.fixed_latencies();
            values.extend(fixed.map(|ns| self.in_unit(Bounded::exact(ns))));
        }
        values
    }

    /// One mark for each step of the group (a gap in the line where a value lacks samples).
    fn marks(&self, system: &'a System) -> Vec<Option<Mark>> {
        let mark = |step| {
            let cell = self.group.cell(&system.name, step)?;
            let Reading { metric, clock } = self.reading;
            let value = match metric.latency() {
                Some((kind, statistic)) => cell.latency(kind, clock, statistic)?,
                None => cell.value(metric)?,
            };
            Some(Mark {
                step,
                ops: cell.ops()?,
                value,
                fault: cell.fault_text(),
            })
        };
        self.group.steps.iter().map(|&step| mark(step)).collect()
    }

    /// Lines at the fixed rates and latencies of the report, with latencies in its own metric.
    /// `None` if there are none.
    fn fixed_lines(&self) -> Option<Value> {
        let settings = &self.sweep.settings;
        let mut lines = Vec::new();
        if matches!(self.along, Along::Rate | Along::Offered) {
            // Above the plot, where no curve is.
            let above = json!({"position": "end"});
            let label = |rate: f64| json!({"xAxis": rate, "name": number::ops(rate), "label": above.clone()});
            lines.extend(settings.at_rate.iter().map(|&rate| label(rate)));
        }
        lines.extend(self.fixed_latencies().map(|ns| {
            let y = self.in_unit(Bounded::exact(ns));
            json!({"yAxis": y, "name": number::latency(ns)})
        }));
        let has_some = !lines.is_empty();
        has_some.then(|| {
            json!({
                "symbol": "none", "silent": true,
                "lineStyle": {"color": style::INK, "type": [6, 4], "width": 1},
                "label": {
                    "formatter": "{b}", "position": "insideStartTop", "color": style::INK,
                    "textBorderColor": "#fff", "textBorderWidth": 3,
                },
                "data": lines,
            })
        })
    }

    /// The latencies at which ops/s are stated, nanoseconds.
    fn fixed_latencies(&self) -> impl Iterator<Item = f64> {
        let is_own = self.sweep.latency_metric(self.group) == Some(self.reading.metric);
        let all = self
            .sweep
            .settings
            .at_latency
            .iter()
            .filter(move |_| is_own);
        all.map(|latency| latency.as_nanos() as f64)
    }

    fn ceilings_in_sight(&self) -> bool {
        ceilings_in_sight(self.group, self.sweep)
    }

    fn point(&self, mark: Option<&Mark>, color: &str) -> Value {
        let Some(mark) = mark else { return Value::Null };
        let written = |value| quantised(self.in_unit(value));
        let ops = rate(mark.ops.middle);
        let x = match self.along {
            Along::Rate => ops.clone(),
            Along::Threads => json!(mark.step.label()),
            Along::Offered => json!(mark.step.rate),
        };
        let measured = mark.value;
        let mut value = vec![x, written(measured.middle), mark.step.threads.into(), ops];
        if mark.ops.repeats > 1 {
            value.extend([mark.ops.low, mark.ops.high].map(quantised));
            value.extend([measured.low, measured.high].map(written));
        }
        let bounds = mark.bounds();
        if bounds == [false; 3] && measured.solid && mark.fault.is_none() {
            return value.into();
        }
        let mut item = json!({"value": value});
        if bounds != [false; 3] {
            // For the tooltip, in this order; the label says it where there is no pointer.
            item["atLeast"] = json!(bounds);
            item["label"] = json!({"show": true, "formatter": self.bounded_label(mark)});
        }
        if let Some(fault) = &mark.fault {
            item["symbol"] = "diamond".into();
            item["symbolSize"] = 12.into();
            item["itemStyle"] =
                json!({"color": "#fff", "borderColor": style::FAULT, "borderWidth": 2});
            item["label"] = json!({
                "show": true, "formatter": fault_label(mark, fault),
                "color": style::FAULT,
            });
        } else if !measured.solid {
            item["itemStyle"] = json!({"color": "#fff", "borderColor": color, "borderWidth": 2});
        }
        item
    }

    /// The label of a mark whose value may be more than it is drawn at.
    fn bounded_label(&self, mark: &Mark) -> String {
        let sign = Bound::AtLeast.sign().trim_end();
        match self.along {
            Along::Rate => format!("{} ({sign})", mark.step.label()),
            Along::Threads | Along::Offered => sign.to_owned(),
        }
    }

    fn system(&self, index: usize, system: &System, marks: &[Option<Mark>], z: u32) -> Value {
        let look = self.sweep.look(&system.name);
        let look = look.unwrap_or(style::look(index));
        let data: Vec<Value> = marks
            .iter()
            .map(|m| self.point(m.as_ref(), look.color))
            .collect();
        let above = index.is_multiple_of(2);
        json!({
            "type": "line", "name": system.name, "symbol": look.symbol, "symbolSize": 9,
            "lineStyle": line(look.color, 2.0, look.dash), "itemStyle": {"color": look.color},
            "label": {
                "show": self.along == Along::Rate, "formatter": "{@[2]}", "color": look.color,
                "fontSize": 11, "textBorderColor": "#fff", "textBorderWidth": 3, "position": if above { "top" } else { "bottom" },
            },
            "labelLayout": "@mark", "z": z, "data": data,
        })
    }

    fn ceiling(&self, system: &System, marks: &[Option<Mark>]) -> Value {
        let ceiling = system.ceiling_for.as_deref().unwrap_or_default();
        let symbol = self.sweep.look(ceiling).map_or("circle", |l| l.symbol);
        let data: Vec<Value> = marks
            .iter()
            .map(|m| self.point(m.as_ref(), style::CEILING))
            .collect();
        json!({
            "type": "line", "name": system.name, "symbol": symbol, "symbolSize": 6,
            "lineStyle": line(style::CEILING, 1.5, style::CEILING_DASH),
            "itemStyle": {"color": style::CEILING}, "z": 2, "data": data,
        })
    }

    /// Error bars in both directions.
    fn spreads(&self, system: &System, marks: &[Option<Mark>], z: u32) -> Option<Value> {
        let color = self.sweep.color(&system.name);
        let data: Vec<Value> = marks
            .iter()
            .flatten()
            .filter(|m| m.ops.repeats > 1)
            .map(|m| {
                let written = |value| quantised(self.in_unit(value));
                let x = match self.along {
                    Along::Rate => [m.ops.middle, m.ops.low, m.ops.high].map(quantised),
                    Along::Threads => [0; 3].map(|_: u8| json!(m.step.label())),
                    Along::Offered => [0; 3].map(|_: u8| json!(m.step.rate)),
                };
                let [middle, low, high] = x;
                json!([
                    middle,
                    written(m.value.middle),
                    low,
                    high,
                    written(m.value.low),
                    written(m.value.high),
                    m.step.threads
                ])
            })
            .collect();
        (!data.is_empty()).then(|| {
            json!({
                "type": "custom", "name": system.name, "renderItem": "@spread", "silent": true,
                "itemStyle": {"color": color}, "z": z - 1, "data": data,
                "encode": {"x": [0, 2, 3], "y": [1, 4, 5]},
            })
        })
    }
}

/// Whether ceilings are near enough to be shown at first.
pub fn ceilings_in_sight(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>) -> bool {
    let highest = |systems: &[&System]| {
        systems
            .iter()
            .filter_map(|s| {
                group
                    .cells_of(&s.name)
                    .filter(|c| c.fault.is_none())
                    .filter_map(|c| c.ops())
                    .map(|o| o.middle)
                    .reduce(f64::max)
            })
            .fold(0.0, f64::max)
    };
    highest(&sweep.ceilings) <= CEILING_IN_SIGHT * highest(&sweep.systems)
}
