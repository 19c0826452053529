//! A phase over time: ops/s, tail latency, the device and the processors below each other on one
//! clock.

mod before;
mod processors;
mod samples;
mod stalls;

use super::{axis, legend, line, log_range};
use crate::{chart::quantised::quantised, style};
use before::{WithWarmup, warmup_area};
use samples::{Bucket, BucketKind, chunk_length, spans, thinned};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tailmark_model::{
    Interval, Kind, Phase, Series, Statistic,
    series::{COMPACTIONS, DATABASE, FLUSHES},
};

/// No line has more points than this.
const POINTS_MAX: usize = 300;
/// A chart shows at most this many devices of each host.
const DEVICES_MAX: usize = 3;

/// One of the plots on the common clock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Panel {
    Rate,
    Latency,
    Bandwidth,
    Requests,
    Jobs,
    Processor,
    ServerProcessor,
}

struct PanelRow {
    panel: Panel,
    title: &'static str,
    write: &'static str,
    axis: &'static str,
    height: u32,
}

const PANELS: [PanelRow; 7] = [
    PanelRow {
        panel: Panel::Rate,
        title: "operations per second",
        write: "@rate",
        axis: "value",
        height: 130,
    },
    PanelRow {
        panel: Panel::Latency,
        title: "response time (log scale)",
        write: "@latency",
        axis: "log",
        height: 150,
    },
    PanelRow {
        panel: Panel::Bandwidth,
        title: "device bandwidth",
        write: "@bandwidth",
        axis: "value",
        height: 110,
    },
    PanelRow {
        panel: Panel::Requests,
        title: "device requests per second",
        write: "@rate",
        axis: "value",
        height: 110,
    },
    PanelRow {
        panel: Panel::Jobs,
        title: "database, jobs per second",
        write: "@rate",
        axis: "value",
        height: 80,
    },
    PanelRow {
        panel: Panel::Processor,
        title: "processors, % of the machine",
        write: "@percent",
        axis: "value",
        height: 110,
    },
    PanelRow {
        panel: Panel::ServerProcessor,
        title: "processors of the servers, % of each machine",
        write: "@percent",
        axis: "value",
        height: 110,
    },
];

/// Above each plot: its title and legend.
const HEAD: u32 = 46;
/// Below the last: the name of the axis.
const FOOT: u32 = 44;

/// The plots of a chart: those of every phase, and the plot of the database if one of them has its
/// work.
#[derive(Clone)]
pub struct Panels(Vec<&'static PanelRow>);

impl Panels {
    /// For phases that are drawn in one chart.
    pub fn from_phases<'a>(phases: impl Iterator<Item = &'a Phase>) -> Self {
        let (mut has_jobs, mut has_servers) = (false, false);
        for series in phases.flat_map(|phase| &phase.series) {
            has_jobs |= is_job(series);
            has_servers |= processors::is_of_server(series);
        }
        let is_shown = |row: &&PanelRow| match row.panel {
            Panel::Jobs => has_jobs,
            Panel::ServerProcessor => has_servers,
            _ => true,
        };
        Self(PANELS.iter().filter(is_shown).collect())
    }

    /// The height of the whole chart, pixels.
    pub fn height(&self) -> u32 {
        self.0.iter().map(|p| p.height + HEAD).sum::<u32>() + FOOT
    }

    fn place(&self, panel: Panel) -> Option<usize> {
        self.0.iter().position(|row| row.panel == panel)
    }
}

/// Background work of databases. Cassandra reports compactions as tasks.
const JOBS: [&str; 3] = [FLUSHES, COMPACTIONS, "compaction_tasks"];

/// Whether a series counts background work of a database.
fn is_job(series: &Series) -> bool {
    series.probe == DATABASE && JOBS.contains(&series.name.as_str())
}

/// The plots without their lines.
pub fn timeline_base(panels: &Panels) -> Value {
    let (mut titles, mut legends, mut grids) = (Vec::new(), Vec::new(), Vec::new());
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    let mut top = 0;
    for (i, row) in panels.0.iter().enumerate() {
        let last = i + 1 == panels.0.len();
        titles.push(json!({
            "text": row.title, "top": top, "left": 4,
            "textStyle": {"fontSize": 12, "fontWeight": 600, "color": style::INK},
        }));
        let mut legend = legend();
        legend["top"] = (top + 1).into();
        legend["left"] = 230.into();
        legend["itemWidth"] = 22.into();
        legends.push(legend);
        grids.push(json!({"left": 78, "right": 28, "top": top + 26, "height": row.height}));
        let mut x = axis("value", if last { "seconds" } else { "" }, 26, "{value}");
        x["gridIndex"] = i.into();
        x["axisLabel"]["show"] = last.into();
        x["splitLine"]["show"] = false.into();
        x["min"] = 0.into();
        xs.push(x);
        let mut y = axis(row.axis, "", 62, row.write);
        y["gridIndex"] = i.into();
        y["splitNumber"] = 3.into();
        ys.push(y);
        top += row.height + HEAD;
    }
    json!({
        "animation": false,
        "textStyle": {"color": style::INK, "fontFamily": "inherit", "fontSize": 12},
        "title": titles, "legend": legends, "grid": grids, "xAxis": xs, "yAxis": ys,
        "axisPointer": {"link": [{"xAxisIndex": "all"}]},
        "tooltip": {"trigger": "axis", "formatter": "@timeline", "confine": true},
    })
}

/// The lines of one phase; null if it has no intervals.
pub fn timeline(phase: &Phase, color: &str, panels: &Panels) -> Value {
    if phase.intervals.is_empty() {
        return Value::Null;
    }
    let whole = WithWarmup::from_phase(phase);
    let mut lines = TimelineLines {
        color,
        panels,
        start_s: whole.start_s,
        lines: Vec::new(),
    };
    lines.intervals(whole.intervals.each_ref().map(|part| &**part));
    lines.devices(&whole.series);
    lines.jobs(&whole.series);
    lines.processors(&whole.series);
    lines.servers(&whole.series);
    let end = quantised(phase.elapsed_s().max(0.1));
    let start = quantised(whole.start_s);
    let x = match phase.warmup {
        None => json!({"max": end}),
        Some(_) => json!({"min": start, "max": end}),
    };
    let x = vec![x; panels.0.len()];
    let legends: Vec<Value> = panels
        .0
        .iter()
        .map(|row| {
            let names = lines
                .lines
                .iter()
                .filter(|l| l.panel == row.panel)
                .map(|l| &*l.name);
            json!({"data": names.collect::<Vec<_>>()})
        })
        .collect();
    let mut series: Vec<Value> = lines.lines.iter().map(|line| line.series(panels)).collect();
    let stalls = stalls::spans(&whole.series);
    for (index, row) in panels.0.iter().enumerate() {
        let Some(line) = lines.lines.iter().position(|l| l.panel == row.panel) else {
            continue;
        };
        let mut areas: Vec<Value> = Vec::new();
        if let Some(warmup) = &phase.warmup {
            areas.push(warmup_area(warmup, &start, index == 0));
        }
        if matches!(row.panel, Panel::Rate | Panel::Latency) {
            areas.extend(stalls::areas(&stalls, index == 0));
        }
        if !areas.is_empty() {
            series[line]["markArea"] = shaded(areas);
        }
    }
    json!({
        "xAxis": x, "yAxis": lines.y_axes(), "legend": legends, "series": series,
    })
}

/// Shaded periods behind a plot.
fn shaded(areas: Vec<Value>) -> Value {
    json!({
        "silent": true, "itemStyle": {"color": "#000000", "opacity": 0.06},
        "label": {"position": "insideTopLeft", "fontSize": 11, "color": style::MUTED},
        "data": areas,
    })
}

/// Seconds, and the value if there is one.
type LineData = Vec<(f64, Option<f64>)>;

struct TimelineLine {
    panel: Panel,
    name: String,
    color: String,
    width: f64,
    dash: &'static [u32],
    area: bool,
    data: LineData,
}

impl TimelineLine {
    fn series(&self, panels: &Panels) -> Value {
        let grid = panels.place(self.panel);
        let data: Vec<Value> = self
            .data
            .iter()
            .map(|(t, v)| json!([quantised(*t), v.map_or(Value::Null, quantised)]))
            .collect();
        let mut series = json!({
            "type": "line", "name": self.name, "xAxisIndex": grid, "yAxisIndex": grid,
            "symbol": "circle", "symbolSize": 4, "showSymbol": self.is_sparse(), "data": data,
            "lineStyle": line(&self.color, self.width, self.dash),
            "itemStyle": {"color": self.color},
        });
        if self.area {
            series["areaStyle"] = json!({"opacity": 0.12});
        }
        series
    }

    /// Marks are drawn if there are few points, or if a line has a single point between gaps, which
    /// would otherwise be invisible.
    fn is_sparse(&self) -> bool {
        let is_drawn = |i: usize| self.data.get(i).is_some_and(|(_, v)| v.is_some());
        let is_alone = |i: usize| is_drawn(i) && !is_drawn(i + 1) && !(i > 0 && is_drawn(i - 1));
        self.data.len() <= 40 || (0..self.data.len()).any(is_alone)
    }
}

struct TimelineLines<'a> {
    color: &'a str,
    panels: &'a Panels,
    /// Nothing is drawn before it, seconds.
    start_s: f64,
    lines: Vec<TimelineLine>,
}

impl TimelineLines<'_> {
    fn push(&mut self, panel: Panel, name: String, color: &str, data: LineData) {
        let line = TimelineLine {
            panel,
            name,
            color: color.to_owned(),
            width: 1.5,
            dash: &[],
            area: false,
            data,
        };
        self.lines.push(line);
    }

    fn intervals(&mut self, parts: [&[Interval]; 2]) {
        let (mut rates, mut failures) = (Vec::new(), Vec::new());
        let mut kinds: BTreeMap<Kind, [LineData; 2]> = BTreeMap::new();
        let all = || parts.iter().flat_map(|part| part.iter());
        for kind in all().flat_map(|interval| interval.kinds.keys()) {
            kinds.entry(*kind).or_default();
        }
        let length = chunk_length(all().count());
        for chunk in parts.iter().flat_map(|part| part.chunks(length)) {
            let bucket = Bucket::from_intervals(chunk);
            rates.push((bucket.at_s, Some(bucket.ops_per_sec)));
            failures.push((bucket.at_s, Some(bucket.errors_per_sec)));
            // If nothing was done there is no latency: a gap, which no line bridges.
            for (kind, lines) in &mut kinds {
                // Of what was done: what never was is in no interval.
                let known = bucket.kinds.get(kind).map(BucketKind::known);
                for (line, statistic) in lines.iter_mut().zip([Statistic::P99, Statistic::P999]) {
                    let ns = known.and_then(|known| statistic.value(known));
                    line.push((bucket.at_s, ns.map(|ns| ns.value / 1e3)));
                }
            }
        }
        let own_color = self.color.to_owned();
        self.push(Panel::Rate, "ops/s".into(), &own_color, rates);
        self.lines[0].area = true;
        if failures
            .iter()
            .any(|(_, rate)| rate.is_some_and(|rate| rate > 0.0))
        {
            self.push(Panel::Rate, "failed ops/s".into(), style::FAULT, failures);
        }
        for (i, (kind, [p99, p999])) in kinds.into_iter().enumerate() {
            let kind_color = style::look(i).color;
            self.push(
                Panel::Latency,
                format!("{} p99", kind.name()),
                kind_color,
                p99,
            );
            if p999.iter().any(|(_, v)| v.is_some()) {
                self.push(
                    Panel::Latency,
                    format!("{} p99.9", kind.name()),
                    kind_color,
                    p999,
                );
                if let Some(line) = self.lines.last_mut() {
                    (line.width, line.dash) = (1.0, &[3, 3]);
                }
            }
        }
    }

    fn devices(&mut self, series: &[Series]) {
        let start_s = self.start_s;
        let disk = |name: &str| {
            let mut shown: BTreeMap<Option<&str>, usize> = BTreeMap::new();
            let mut lines = Vec::new();
            let is_it = |one: &&Series| one.probe == "disk" && one.name == name;
            for device in series.iter().filter(is_it) {
                let of_host = shown.entry(device.server()).or_default();
                *of_host += 1;
                if *of_host <= DEVICES_MAX {
                    lines.push((device.subject.clone(), thinned(start_s, &spans(device))));
                }
            }
            lines
        };
        for (counter, panel, word, ours) in [
            ("read_bytes", Panel::Bandwidth, "read", 0),
            ("write_bytes", Panel::Bandwidth, "write", 1),
            ("reads", Panel::Requests, "reads", 0),
            ("writes", Panel::Requests, "writes", 1),
        ] {
            for (i, (device, data)) in disk(counter).into_iter().enumerate() {
                let color = style::look(ours + 2 * i).color;
                self.push(panel, format!("{device} {word}"), color, data);
            }
        }
    }

    /// The background work of the database.
    fn jobs(&mut self, series: &[Series]) {
        for (i, job) in series.iter().filter(|job| is_job(job)).enumerate() {
            let data = thinned(self.start_s, &spans(job));
            let color = style::look(i).color;
            self.push(Panel::Jobs, job.name.clone(), color, data);
        }
    }

    fn y_axes(&self) -> Vec<Value> {
        let panels = self.panels.0.iter();
        panels
            .map(|row| match row.panel {
                Panel::Latency => {
                    let of_panel = self.lines.iter().filter(|l| l.panel == row.panel);
                    let values = of_panel.flat_map(|l| l.data.iter().filter_map(|(_, v)| *v));
                    let (min, max, mut ticks) =
                        log_range(values).unwrap_or((1.0, 10.0, vec![1.0, 10.0]));
                    if ticks.len() > 6 {
                        ticks.retain(|t| (t.log10() - t.log10().round()).abs() < 1e-9);
                    }
                    json!({
                        "min": min, "max": max, "axisTick": {"customValues": ticks},
                        "axisLabel": {"customValues": ticks}, "splitLine": {"customValues": ticks},
                    })
                }
                Panel::Processor | Panel::ServerProcessor => {
                    json!({"min": 0, "max": 100, "interval": 25})
                }
                _ => json!({"min": 0}),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
