//! One page that opens offline: text, tables, charts and the script that draws them, in one file.

mod blocks;
mod isolate;
mod table;

use super::{Head, Rendered, Report, ReportFile, ReportFormat, names::Names};
use crate::{Block, Chart, Data, Error, Section, style};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::{Compression, write::ZlibEncoder};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use serde_json::Value;
use std::{collections::BTreeMap, io::Write};
use tailmark_model::{LogoKind, script_json, script_name};

/// The row of the table of formats.
pub const FORMAT: ReportFormat = ReportFormat {
    name: "html",
    about: "one page with interactive charts that opens offline: report.html",
    pages: &[PAGE],
    folder: None,
    files,
    text: None,
};

const STYLE: &str = include_str!("page.css");
const FUNCTIONS: &str = include_str!("../../chart/functions.js");
const VIEW: &str = include_str!("view.js");
const SCRIPT: &str = include_str!("page.js");
const LIVE: &str = include_str!("live.js");
const START: &str = include_str!("start.js");
const CHARTS: &str = include_str!(concat!(env!("OUT_DIR"), "/echarts.min.js"));

/// The page's own promise to ask for nothing: the browser is to refuse.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:";

/// The same for a page that is served: it asks the server for the progress of the run.
const LIVE_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                           img-src data: blob:; connect-src 'self'";

/// Records the first failure where a test, or a reader of the source, can find it.
const WATCH: &str = "addEventListener('error', function (e) { \
                     document.documentElement.dataset.error = e.message; });";

const NOTICE: &str = "Charts are drawn by Apache ECharts 5.5.1, copyright The Apache Software \
                      Foundation, licensed under the Apache License, Version 2.0; its notices \
                      are at the top of the script in this file.";

/// What pages of this program say of themselves, among the first things in them.
const GENERATOR: &str = "<meta name=\"generator\" content=\"tailmark\">";

/// The page of a report.
const PAGE: &str = "report.html";

fn files(report: &Report) -> Result<Vec<ReportFile>, Error> {
    Ok(vec![ReportFile::page(PAGE, page(report, Served::No))])
}

/// Whether a page is served during the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// As it grows.
    Live,
    /// No: it is a file.
    No,
}

/// The page of a run in progress, with its measurements so far. It fetches the seconds of the
/// current point from `live.json` beside it.
#[must_use]
pub fn live(data: Option<&Data>) -> Vec<u8> {
    let report = data.map(Report::new).unwrap_or_else(|| {
        let head = Head {
            kicker: Head::KICKER,
            title: "Nothing has been measured yet".to_owned(),
            ..Head::default()
        };
        Report::with_sections(head, Vec::new())
    });
    page(&report, Served::Live)
}

/// The bytes of a page.
pub fn page(report: &Report, served: Served) -> Vec<u8> {
    let (policy, script) = match served {
        Served::Live => (LIVE_POLICY, LIVE),
        Served::No => (POLICY, ""),
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                (PreEscaped(GENERATOR))
                title { (report.head.title) }
                style { (PreEscaped(STYLE)) }
                script { (PreEscaped(WATCH)) }
            }
            body {
                (PreEscaped(visible(report, served)))
                (figures(&report.sections))
                script { (PreEscaped(CHARTS)) }
                script { (PreEscaped(FUNCTIONS)) }
                script { (PreEscaped(VIEW)) }
                script { (PreEscaped(SCRIPT)) }
                @if !script.is_empty() { script { (PreEscaped(script)) } }
                script { (PreEscaped(START)) }
            }
        }
    };
    // Signs that turn the direction stay in their names, each set apart.
    let is_obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    let page = page.into_string().replace(is_obeyed, "\u{fffd}");
    page.into_bytes()
}

/// The visible part of the page, without charts, styles and scripts.
#[must_use]
pub fn body(data: &Data) -> String {
    visible(&Report::new(data), Served::No)
}

fn visible(report: &Report, served: Served) -> String {
    let mut names = Names::default();
    let (head, sections) = (&report.head, &report.sections);
    let html = html! {
        a.skip href="#content" { "To the report" }
        header.masthead.of-brief[head.is_brief] {
            @if let Some((kind, bytes)) = &head.logo {
                img.logo alt="" src=(picture_uri(*kind, bytes));
            }
            p.kicker { (head.kicker) }
            h1 { (head.title) }
            p.facts { @for fact in &head.facts { span { (fact) } } }
        }
        div.layout.brief[head.is_brief] {
            @if !head.is_brief {
                nav.contents aria-label="Contents" { (contents(sections)) }
            }
            main id="content" {
                @if served == Served::Live { (live_panel()) }
                (view(&head.systems))
                @for (section, blocks) in sections { (section_of(section, blocks, &mut names)) }
                footer {
                    @if !head.footer.is_empty() { p { (head.footer) } }
                    p { "Made by tailmark " (env!("CARGO_PKG_VERSION")) "." }
                    p { (NOTICE) }
                }
            }
        }
    };
    isolate::isolated(html.into_string(), head.names.iter().map(String::as_str))
}

/// A picture as an address that holds it.
fn picture_uri(kind: LogoKind, bytes: &[u8]) -> String {
    let media_type = kind.media_type();
    format!("data:{media_type};base64,{}", BASE64_STANDARD.encode(bytes))
}

fn section_of(section: &Section, blocks: &[Block], names: &mut Names) -> Markup {
    names.below(section.name);
    html! {
        section id=(section.name) {
            h2 { (section.title) }
            @for block in blocks { (blocks::block(block, names)) }
        }
    }
}

fn contents(sections: &Rendered) -> Markup {
    html! {
        p { "Contents" }
        ol {
            @for (section, blocks) in sections {
                li {
                    a href={"#" (section.name)} { (section.title) }
                    @if section.name == "workloads" {
                        ol {
                            @for (anchor, title) in headings(blocks) {
                                li { a href={"#" (anchor)} { (title) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn headings(blocks: &[Block]) -> Vec<(&str, &str)> {
    blocks
        .iter()
        .filter_map(|block| match block {
            Block::Heading { anchor, title, .. } => Some((anchor.as_str(), title.as_str())),
            _ => None,
        })
        .collect()
}

/// The current activity and the seconds of the current point, filled in by the script.
fn live_panel() -> Markup {
    html! {
        section id="live" aria-label="The run in progress" {
            p role="status" { strong id="live-what" { "Waiting" } " " span id="live-points" {} }
            div.chart id="live-chart" role="img" style="height:190px"
                aria-label="Operations per second and p99 latency of the point in progress, second by second" {}
            ul id="live-notices" {}
        }
    }
}

/// The view controls of all charts. The script shows them, and without it there are no charts.
fn view(systems: &[(String, &str)]) -> Markup {
    let choice = |name: &str, label: &str, choices: &[(&str, &str)]| {
        html! {
            label {
                span { (label) }
                select name=(name) autocomplete="off" {
                    @for (value, text) in choices { option value=(value) { (text) } }
                }
            }
        }
    };
    html! {
        form.view hidden aria-label="Chart view" {
            fieldset {
                legend { "Systems" }
                @for (system, color) in systems {
                    label {
                        input type="checkbox" name="system" value=(script_name(system)) checked
                            autocomplete="off";
                        span.swatch data-color=(color) style={"background:" (color)} {}
                        (system)
                    }
                }
            }
            (choice("threads", "Threads", &[("Infinity", "all")]))
            (choice("along", "Curves against", &[("rate", "ops/s"), ("threads", "threads")]))
            (choice("scale", "Latency axis", &[("log", "logarithmic"), ("linear", "linear")]))
            (choice("theme", "Colours", &[("auto", "system"), ("light", "light"), ("dark", "dark")]))
        }
    }
}

/// The data of the charts as JSON. Borrowed, because it is large in a large report.
#[derive(Serialize)]
struct Figures<'p> {
    dark: BTreeMap<&'static str, &'static str>,
    figures: BTreeMap<&'p str, FigureJson<'p>>,
}

#[derive(Serialize)]
struct FigureJson<'p> {
    charts: Vec<ChartJson<'p>>,
}

#[derive(Serialize)]
struct ChartJson<'p> {
    base: &'p Value,
    variants: &'p [Value],
}

/// More is deflated, bytes.
const PLAIN_MAX: usize = 1_000_000;

/// The script element of the charts, whose text cannot end it.
fn figures<'p>(sections: &'p Rendered) -> Markup {
    let chart = |chart: &'p Chart| ChartJson {
        base: &chart.base,
        variants: &chart.variants,
    };
    let figure = |block: &'p Block| match block {
        Block::Figure(figure) | Block::Beside(figure, _) => {
            let charts = figure.charts.iter().map(chart).collect();
            Some((figure.anchor.as_str(), FigureJson { charts }))
        }
        _ => None,
    };
    let blocks = sections.iter().flat_map(|(_, blocks)| blocks);
    let all = Figures {
        dark: style::DARK.into(),
        figures: blocks.filter_map(figure).collect(),
    };
    let text = serde_json::to_string(&all).expect("options are JSON");
    let text = script_json(&text);
    if text.len() > PLAIN_MAX {
        let mut deflated = ZlibEncoder::new(Vec::new(), Compression::default());
        let bytes = deflated
            .write_all(text.as_bytes())
            .and_then(|()| deflated.finish());
        let encoded = BASE64_STANDARD.encode(bytes.expect("memory takes all that is written"));
        return html! {
            script type="text/plain" id="figures" data-deflated="zlib" { (PreEscaped(encoded)) }
        };
    }
    html! {
        script type="application/json" id="figures" {
            (PreEscaped(text))
        }
    }
}
