//! The report of a study and its JSON export say the same, to the digit: what a table of the report
//! states is the number of the document as reports write it. That tables in CSV are as the document
//! is tested where they are made.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod synthetic;

use serde_json::Value;
use synthetic::{SMALL, Shape};
use tailmark_model::{Bounded, Metric, Ratios, number};
use tailmark_report::{Block, Cell, Data, SECTIONS, Table};
use tailmark_stats::statistics;
use tailmark_study::{Study, export};

const SYSTEMS: [&str; 2] = ["Drive A 3.84TB", "Drive B 3.84TB"];
const THREADS: [u32; 2] = [1, 64];
const WORKLOADS: [(&str, &str); 2] = [("ycsb-a", "YCSB A"), ("ycsb-c", "YCSB C")];

/// How ratios are written: otherwise the whole report decides.
const FORM: Option<Ratios> = Some(Ratios::Percent);

/// A study with this many runs of each point, as its report and its export have it.
struct Stating {
    data: Data,
    document: Value,
}

impl Stating {
    /// Of the second system no device is known.
    fn from_repeats(repeats: u32) -> Self {
        let mut made = synthetic::study(Shape {
            threads: &THREADS,
            repeats,
            ..SMALL
        });
        made.systems.truncate(2);
        made.points.retain(|point| {
            let is_one = WORKLOADS
                .iter()
                .any(|(name, _)| point.key.workload == *name);
            is_one && SYSTEMS.contains(&point.key.system.as_str())
        });
        for point in &mut made.points {
            if point.key.system == SYSTEMS[1] {
                point.phase.series.retain(|series| series.probe != "disk");
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let study = Study::create(dir.path(), &made.headers[0], &made.systems).unwrap();
        made.loads
            .iter()
            .for_each(|load| study.add_load(load).unwrap());
        made.points
            .iter()
            .for_each(|point| study.add_point(point).unwrap());
        let mut json = Vec::new();
        (export::find("json").unwrap().write)(&study, &mut json).unwrap();
        let mut data = Data::read(&[study]).unwrap();
        data.settings.ratios = FORM;
        Self {
            data,
            document: serde_json::from_slice(&json).unwrap(),
        }
    }

    fn tables(&self, section: &str) -> Vec<Table> {
        let section = SECTIONS.iter().find(|s| s.name == section).unwrap();
        let blocks = (section.render)(&self.data).into_iter();
        let tables = blocks.filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        tables.collect()
    }

    /// What the runs of a point have at a place of the document, on average; none where one of them
    /// has null.
    fn mean(&self, workload: &str, system: &str, threads: u32, pointer: &str) -> Option<f64> {
        let points = self.document["points"].as_array().unwrap().iter();
        let runs = points.filter(|point| {
            (&point["workload"], &point["system"]) == (&workload.into(), &system.into())
                && point["threads"] == threads
        });
        let values: Option<Vec<f64>> = runs.map(|p| p.pointer(pointer).unwrap().as_f64()).collect();
        match values?[..] {
            [] => panic!("no run of {workload}, {system}, {threads}"),
            [one] => Some(one),
            ref several => Some(statistics::mean_of_runs(several).unwrap().value),
        }
    }
}

/// The cell of a row, by what stands in its first cells, and a column.
fn find<'t>(table: &'t Table, row: &[&str], group: &str, title: &str) -> &'t Cell {
    let starts = |cells: &[Cell]| row.iter().zip(cells).all(|(text, cell)| cell.text == *text);
    let found = table.rows.iter().find(|r| starts(&r.cells));
    let mut columns = table.columns.iter();
    let at = columns.position(|c| (&*c.group, &*c.title) == (group, title));
    let at = at.unwrap_or_else(|| panic!("no column {group}, {title}: {:?}", table.columns));
    &found.unwrap_or_else(|| panic!("no row {row:?}")).cells[at]
}

/// A number of the document as a table states it.
fn bounded(value: Option<f64>, write: fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), write)
}

/// Microseconds, as latencies are exported.
fn latency_us(us: f64) -> String {
    number::latency(us * 1e3)
}

/// Every number of the report that has its like in the document.
fn assert_agreement(repeats: u32) {
    let mut stating = Stating::from_repeats(repeats);
    for quantity in ["mean", "p99"] {
        let latency = Metric::from_name(&format!("{quantity} read"));
        stating.data.settings.metric = latency;
        assert_points(&stating, quantity);
        assert_comparisons(&stating, latency.unwrap());
    }
    assert_loads(&stating);
    assert_qos(&stating, repeats);
}

/// The points of a report that is about this latency of reads.
fn assert_points(stating: &Stating, quantity: &str) {
    let (workloads, bandwidth) = (stating.tables("workloads"), stating.tables("bandwidth"));
    for ((name, title), table) in WORKLOADS.iter().zip(&workloads) {
        for system in SYSTEMS {
            for threads in THREADS {
                let cell = |group: &str| &*find(table, &[&threads.to_string()], group, system).text;
                let mean = |pointer: &str| stating.mean(name, system, threads, pointer);
                let ops = bounded(mean("/ops_per_sec"), number::rate);
                assert_eq!(cell("operations per second"), ops);
                let us = mean(&format!("/kinds/read/response_us/{quantity}"));
                assert!(us.is_some());
                let column = format!("{quantity} read latency");
                assert_eq!(cell(&column), bounded(us, latency_us));
            }
            for column in ["read", "written", "database"] {
                let member = match column {
                    "database" => "database".to_owned(),
                    of_device => format!("device_{of_device}"),
                };
                let pointer = format!("/bandwidth/{member}_mb_per_sec");
                let mean = stating.mean(name, system, THREADS[1], &pointer);
                let is_known = column == "database" || system == SYSTEMS[0];
                assert_eq!(mean.is_some(), is_known, "{system} {column}");
                let cell = find(&bandwidth[0], &[title, "64"], system, column);
                assert_eq!(cell.text, bounded(mean, number::rate));
            }
        }
    }
}

fn assert_loads(stating: &Stating) {
    let table = &stating.tables("load")[0];
    for load in stating.document["loads"].as_array().unwrap() {
        let row = [load["system"].as_str().unwrap()];
        let number = |pointer: &str| load.pointer(pointer).unwrap().as_f64().unwrap();
        let cell = |group: &str, title: &str| &*find(table, &row, group, title).text;
        assert_eq!(cell("", "Records/s"), number::rate(number("/ops_per_sec")));
        let bytes = number::bytes(number("/bandwidth/database_mb_per_sec") * 1e6);
        assert_eq!(cell("", "Bandwidth"), format!("{bytes}/s"));
        for quantity in ["mean", "p99", "p99.9"] {
            let us = number(&format!("/kinds/insert/response_us/{quantity}"));
            assert_eq!(cell("insert latency", quantity), latency_us(us));
        }
    }
}

/// With 64 threads the runs of YCSB C are long enough for blocks.
fn assert_qos(stating: &Stating, repeats: u32) {
    // What the quality leaves at scale has tables of its own.
    let tables = stating.tables("qos").into_iter();
    let tables: Vec<Table> = tables.filter(|table| table.caption.is_empty()).collect();
    let (name, table) = (WORKLOADS[1].0, &tables[1]);
    let mut has_blocks = false;
    for (index, row) in table.rows.iter().enumerate() {
        let [system, place] = [&*row.cells[0].text, &*row.cells[1].text];
        if !place.starts_with("64") {
            continue;
        }
        for (quality, column) in ["p99", "p99.9", "p99.99", "p99.999"].into_iter().zip(4..) {
            let at = (0..5).find(|at| {
                let pointer = format!("/points/0/qos/read/response/{at}/quantile");
                stating.document.pointer(&pointer).unwrap() == quality
            });
            let pointer = format!("/qos/read/response/{}", at.unwrap());
            let run = stating.mean(name, system, 64, &format!("{pointer}/run_us"));
            assert_eq!(
                row.cells[column].text,
                bounded(run, latency_us),
                "{quality}"
            );
            // The worst is between the two; of several runs it is that of all.
            if let Some(median) = table.rows.get(index + 2)
                && repeats == 1
                && median.cells[3].text == "median block"
            {
                let us = stating.mean(name, system, 64, &format!("{pointer}/blocks/median/us"));
                assert_eq!(median.cells[column].text, bounded(us, latency_us));
                has_blocks |= us.is_some();
            }
        }
    }
    assert_eq!(has_blocks, repeats == 1);
}

/// Those of operations per second and of the latency that the report is about.
fn assert_comparisons(stating: &Stating, latency: Metric) {
    let workloads = stating.tables("workloads");
    let mut seen = 0;
    for comparison in stating.document["comparisons"].as_array().unwrap() {
        assert_eq!([&comparison["a"], &comparison["b"]], SYSTEMS);
        let (group, metric) = match comparison["metric"].as_str().unwrap() {
            "ops_per_sec" => ("operations per second".to_owned(), Metric::OPS_PER_SEC),
            name => (format!("{name} latency"), Metric::from_name(name).unwrap()),
        };
        let is_shown = [Metric::OPS_PER_SEC, latency].contains(&metric);
        let Some(threads) = comparison["threads"].as_u64().filter(|_| is_shown) else {
            continue;
        };
        let at = WORKLOADS
            .iter()
            .position(|(name, _)| comparison["workload"] == *name);
        let row = [&*threads.to_string()];
        let cell = find(&workloads[at.unwrap()], &row, &group, "difference");
        let number = |member: &str| comparison[member].as_f64();
        let ratio = Bounded::exact(number("ratio").unwrap());
        assert_eq!(cell.text, metric.improvement(ratio, FORM));
        let detail = cell.detail.replace('\u{a0}', " ");
        if comparison["verdict"] == "too few runs" {
            assert_eq!(detail, "");
        } else {
            let ends_of = (number("low").unwrap(), number("high").unwrap());
            let ends = ends_of;
            let is_open = comparison["verdict"] == "no difference shown";
            let ends = if is_open && ends.0 < 1.0 && ends.1 > 1.0 {
                open_ends(metric, ends)
            } else {
                metric.improvements(ends, FORM)
            };
            assert!(detail.contains(&ends), "{ends} is not in {detail}");
            let verdict = match comparison["verdict"].as_str().unwrap() {
                // What is open but excludes 1 is not significant.
                "no difference shown" if is_open && !(ends_of.0 < 1.0 && ends_of.1 > 1.0) => {
                    "not significant"
                }
                verdict => verdict,
            };
            assert!(detail.contains(verdict), "{verdict} is not in {detail}");
        }
        seen += 1;
    }
    assert_eq!(seen, 8, "two workloads, two thread counts, two metrics");
}

/// The ends of an interval on both sides of 1, with a decimal below ten percent.
fn open_ends(metric: Metric, (low, high): (f64, f64)) -> String {
    let end = |ratio: f64| {
        let percent = (ratio - 1.0).abs() * 100.0;
        let places = usize::from(percent < 9.95);
        match (metric.more_is_better(), ratio < 1.0) {
            (true, true) => format!("\u{2212}{percent:.places$} %"),
            (true, false) => format!("+{percent:.places$} %"),
            (false, true) => format!("{percent:.places$} % lower"),
            (false, false) => format!("{percent:.places$} % higher"),
        }
    };
    format!("{} to {}", end(low), end(high))
}

#[test]
fn the_report_of_single_runs_has_the_numbers_of_the_export() {
    assert_agreement(1);
}

#[test]
fn the_report_of_several_runs_has_the_numbers_of_the_export() {
    assert_agreement(4);
}
