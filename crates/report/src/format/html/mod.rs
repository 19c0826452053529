//! One page that opens offline: text, tables, charts and the script that draws them, in one file.

mod blocks;
mod table;

use super::{Report, ReportFormat, facts, names::Names, render, title, write_file};
use crate::{Block, Data, Error, Figure, Section};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Value, json};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// The row of the table of formats.
pub const FORMAT: ReportFormat = ReportFormat {
    name: "html",
    about: "one page with interactive charts that opens offline: report.html",
    write,
    text: None,
};

const STYLE: &str = include_str!("page.css");
const FUNCTIONS: &str = include_str!("../../chart/functions.js");
const SCRIPT: &str = include_str!("page.js");
const CHARTS: &str = include_str!(concat!(env!("OUT_DIR"), "/echarts.min.js"));

/// The page's own promise to ask for nothing: the browser is to refuse.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data: blob:";

/// Notes the first failure where a test, or a reader of the source, can find it.
const WATCH: &str = "addEventListener('error', function (e) { \
                     document.documentElement.dataset.error = e.message; });";

const NOTICE: &str = "Charts are drawn by Apache ECharts 5.5.1, copyright The Apache Software \
                      Foundation, licensed under the Apache License, Version 2.0; its notice and \
                      those of what it contains stand at the head of the script in this file.";

type Rendered = [(&'static Section, Vec<Block>)];

fn write(report: &Report<'_>, out_dir: &Path) -> Result<PathBuf, Error> {
    let path = out_dir.join("report.html");
    write_file(&path, |out| write_page(report.data, &report.sections, out))?;
    Ok(path)
}

fn write_page(data: &Data, sections: &Rendered, out: &mut dyn Write) -> io::Result<()> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content="tailmark";
                title { (title(data)) }
                style { (PreEscaped(STYLE)) }
                script { (PreEscaped(WATCH)) }
            }
            body {
                (page(data, sections))
                script type="application/json" id="figures" { (PreEscaped(figures(sections))) }
                script { (PreEscaped(CHARTS)) }
                script { (PreEscaped(FUNCTIONS)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    out.write_all(page.into_string().as_bytes())
}

/// The visible part of the page, without charts, styles and scripts.
#[must_use]
pub fn body(data: &Data) -> String {
    page(data, &render(data)).into_string()
}

fn page(data: &Data, sections: &Rendered) -> Markup {
    let mut names = Names::default();
    html! {
        header.masthead {
            p.kicker { "Storage qualification report" }
            h1 { (title(data)) }
            p.facts { @for fact in facts(data) { span { (fact) } } }
        }
        div.layout {
            nav.contents aria-label="Contents" { (contents(sections)) }
            main {
                @for (section, blocks) in sections { (section_of(section, blocks, &mut names)) }
                footer {
                    p { "Made by tailmark " (env!("CARGO_PKG_VERSION")) "." }
                    p { (NOTICE) }
                }
            }
        }
    }
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

/// The charts as JSON that cannot end its script element.
fn figures(sections: &Rendered) -> String {
    let figures: serde_json::Map<String, Value> = sections
        .iter()
        .flat_map(|(_, blocks)| blocks)
        .filter_map(|block| match block {
            Block::Figure(figure) => Some((figure.anchor.clone(), figure_json(figure))),
            _ => None,
        })
        .collect();
    Value::Object(figures).to_string().replace('<', "\\u003c")
}

fn figure_json(figure: &Figure) -> Value {
    let charts: Vec<Value> = figure
        .charts
        .iter()
        .map(|chart| json!({"base": chart.base, "variants": chart.variants}))
        .collect();
    json!({"charts": charts})
}
