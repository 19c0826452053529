//! The curve of the studies: ops/s against a latency, one point a client count, one line a system.
//! Past the peak it turns back, so points stay in the order of client counts, never of x.

use super::{axis, base, line, log_axis, narrow_base};
use crate::{
    axis::Step,
    chart::quantised::quantised,
    measure::{Measured, Spread},
    style,
    sweep::{SweepTable, WorkloadGrid},
};
use serde_json::{Value, json};
use tailmark_results::{Bound, Fault, Kind, Stated, Statistic, System, TimeBasis};

/// Which latency a chart shows.
#[derive(Debug, Clone, Copy)]
pub struct LatencyChoice {
    /// Of which requests.
    pub kind: Kind,
    /// From which instant on.
    pub clock: TimeBasis,
    /// Mean or quantile.
    pub measure: Statistic,
}

impl LatencyChoice {
    /// `p99 read latency`.
    pub fn title(self) -> String {
        format!("{} {} latency", self.measure.name, self.kind.name())
    }
}

/// The part that all readings share.
pub fn curve_base() -> Value {
    let mut option = base();
    option["tooltip"] = json!({"trigger": "item", "formatter": "@curve", "confine": true});
    option["xAxis"] = axis("value", "operations per second", 28, "@rate");
    option["yAxis"] = axis("log", "latency", 62, "@latency");
    option
}

/// The lines of one reading; null where nothing was measured.
pub fn curve(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>, reading: LatencyChoice) -> Value {
    let lines = CurveLines {
        group,
        sweep,
        reading,
        along: Along::Rate,
    };
    lines.variant()
}

/// The part of the chart of latency against client counts that all readings share.
pub fn latency_base(group: &WorkloadGrid<'_>) -> Value {
    let labels: Vec<String> = group.steps.iter().map(|step| step.label()).collect();
    let mut option = narrow_base();
    option["tooltip"] = json!({"trigger": "item", "formatter": "@curve", "confine": true});
    option["xAxis"] = super::categories("threads", &labels);
    option["yAxis"] = axis("log", "latency", 62, "@latency");
    option
}

/// Latency against client counts.
pub fn latency(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>, reading: LatencyChoice) -> Value {
    let lines = CurveLines {
        group,
        sweep,
        reading,
        along: Along::Threads,
    };
    lines.variant()
}

/// The part of the chart of latency against offered rates that all readings share.
pub fn offered_base() -> Value {
    let mut option = curve_base();
    option["tooltip"]["formatter"] = "@offered".into();
    option["xAxis"] = axis("value", "offered operations per second", 28, "@rate");
    option
}

/// Latency against the rates that were offered.
pub fn offered(group: &WorkloadGrid<'_>, sweep: &SweepTable<'_>, reading: LatencyChoice) -> Value {
    let lines = CurveLines {
        group,
        sweep,
        reading,
        along: Along::Offered,
    };
    lines.variant()
}

/// What x is.
#[derive(Clone, Copy, PartialEq)]
enum Along {
    Rate,
    Threads,
    Offered,
}

struct CurveLines<'s, 'a> {
    group: &'s WorkloadGrid<'a>,
    sweep: &'s SweepTable<'a>,
    reading: LatencyChoice,
    along: Along,
}

/// One mark.
struct Mark {
    step: Step,
    ops: Spread,
    ns: Measured,
    fault: Option<Fault>,
}

/// A ceiling so many times above the systems is hidden at first: it would press them into a corner.
const CEILING_IN_SIGHT: f64 = 2.0;

impl<'a> CurveLines<'_, 'a> {
    fn variant(&self) -> Value {
        let systems = self.sweep.systems.iter().enumerate();
        let mut series: Vec<Value> = Vec::new();
        let mut values: Vec<f64> = Vec::new();
        for (i, system) in systems {
            let marks = self.marks(system);
            values.extend(
                marks
                    .iter()
                    .flatten()
                    .flat_map(|m| [m.ns.low.value / 1e3, m.ns.high.value / 1e3]),
            );
            // The line first: the legend takes its mark from the first series of a name.
            series.push(self.system(i, system, &marks));
            series.extend(self.spreads(system, &marks));
        }
        if values.is_empty() {
            return Value::Null;
        }
        let in_sight = self.ceilings_in_sight();
        let mut selected = serde_json::Map::new();
        for system in &self.sweep.ceilings {
            let marks = self.marks(system);
            let shown = marks.iter().flatten().map(|m| m.ns.middle.value / 1e3);
            if shown.clone().next().is_none() {
                continue;
            }
            if in_sight {
                values.extend(shown);
            } else {
                selected.insert(system.name.clone(), false.into());
            }
            series.push(self.ceiling(system, &marks));
        }
        let mut y = log_axis(values.into_iter());
        y["name"] = format!("{} (log scale)", self.reading.title()).into();
        json!({"yAxis": y, "legend": {"selected": selected}, "series": series})
    }

    /// One for each step of the group (a hole in the line where a value lacks samples).
    fn marks(&self, system: &'a System) -> Vec<Option<Mark>> {
        let mark = |step| {
            let cell = self.group.cell(&system.name, step)?;
            let LatencyChoice {
                kind,
                clock,
                measure,
            } = self.reading;
            Some(Mark {
                step,
                ops: cell.ops()?,
                ns: cell.latency(kind, clock, measure)?,
                fault: cell.fault,
            })
        };
        self.group.steps.iter().map(|&step| mark(step)).collect()
    }

    fn ceilings_in_sight(&self) -> bool {
        ceilings_in_sight(self.group, self.sweep)
    }

    fn point(&self, mark: Option<&Mark>, color: &str) -> Value {
        let Some(mark) = mark else { return Value::Null };
        let us = |ns: Stated| quantised(ns.value / 1e3);
        let ops = mark.ops.middle.round();
        let x = match self.along {
            Along::Rate => json!(ops),
            Along::Threads => json!(mark.step.label()),
            Along::Offered => json!(mark.step.rate),
        };
        let ns = mark.ns;
        let mut value = vec![x, us(ns.middle), mark.step.threads.into(), json!(ops)];
        if mark.ops.repeats > 1 {
            value.extend([mark.ops.low, mark.ops.high].map(quantised));
            value.extend([ns.low, ns.high].map(us));
        }
        let bounds = [ns.middle, ns.low, ns.high].map(|ns| !ns.is_exact());
        if bounds == [false; 3] && ns.solid && mark.fault.is_none() {
            return value.into();
        }
        let mut item = json!({"value": value});
        if bounds != [false; 3] {
            // For the tooltip, in this order; the label says it where there is no pointer.
            item["atLeast"] = json!(bounds);
            item["label"] = json!({"show": true, "formatter": self.bounded_label(mark)});
        }
        if let Some(fault) = mark.fault {
            item["symbol"] = "diamond".into();
            item["symbolSize"] = 12.into();
            item["itemStyle"] =
                json!({"color": "#fff", "borderColor": style::FAULT, "borderWidth": 2});
            item["label"] = json!({
                "show": true, "formatter": format!("{}: {fault}", mark.step.label()),
                "color": style::FAULT,
            });
        } else if !ns.solid {
            item["itemStyle"] = json!({"color": "#fff", "borderColor": color, "borderWidth": 2});
        }
        item
    }

    /// The label of a mark whose latency may be more than it is drawn at.
    fn bounded_label(&self, mark: &Mark) -> String {
        let sign = Bound::AtLeast.sign().trim_end();
        match self.along {
            Along::Rate => format!("{} ({sign})", mark.step.label()),
            Along::Threads | Along::Offered => sign.to_owned(),
        }
    }

    fn system(&self, index: usize, system: &System, marks: &[Option<Mark>]) -> Value {
        let look = style::look(index);
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
            "labelLayout": "@mark", "z": 4, "data": data,
        })
    }

    fn ceiling(&self, system: &System, marks: &[Option<Mark>]) -> Value {
        let of = system.ceiling_for.as_deref().unwrap_or_default();
        let symbol = self.sweep.look(of).map_or("circle", |l| l.symbol);
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
    fn spreads(&self, system: &System, marks: &[Option<Mark>]) -> Option<Value> {
        let color = self.sweep.color(&system.name);
        let data: Vec<Value> = marks
            .iter()
            .flatten()
            .filter(|m| m.ops.repeats > 1)
            .map(|m| {
                let us = |ns: Stated| quantised(ns.value / 1e3);
                let x = match self.along {
                    Along::Rate => [m.ops.middle, m.ops.low, m.ops.high].map(quantised),
                    Along::Threads => [0; 3].map(|_: u8| json!(m.step.label())),
                    Along::Offered => [0; 3].map(|_: u8| json!(m.step.rate)),
                };
                let [middle, low, high] = x;
                json!([
                    middle,
                    us(m.ns.middle),
                    low,
                    high,
                    us(m.ns.low),
                    us(m.ns.high),
                    m.step.threads
                ])
            })
            .collect();
        (!data.is_empty()).then(|| {
            json!({
                "type": "custom", "name": system.name, "renderItem": "@spread", "silent": true,
                "itemStyle": {"color": color}, "z": 3, "data": data,
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
