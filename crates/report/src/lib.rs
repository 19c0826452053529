//! Turns a study into sections of blocks, and those into a page.
//!
//! [`Data`] holds the measurements as plain data. A [`Section`] turns it into [`Block`]s, which are
//! independent of formats. A [`ReportFormat`] writes blocks. Charts are Apache ECharts options as
//! JSON, so that every format draws from the same definition.

#![cfg_attr(
    not(feature = "documents"),
    allow(dead_code, reason = "a few fields and colours are of documents alone")
)]

mod against;
mod author;
mod axis;
mod block;
mod brief;
mod chart;
mod compare;
mod compared;
mod data;
#[cfg(feature = "documents")]
mod draw;
mod drawing;
mod error;
mod evidence;
mod findings;
mod format;
mod grid_cell;
mod grid_name;
mod headline;
mod history;
mod logo;
mod measure;
mod merge;
mod mix;
mod parallel;
mod reading;
mod section;
mod statement;
mod style;
mod sweep;
mod verdicts;

pub use block::{
    Badge, Bar, Block, Card, CardFigure, Cell, Chart, Column, Control, ControlChoice, Figure,
    FindingEntry, FindingEvidence, Plot, PlotAxes, PlotMark, PlotSeries, Span, Table, TableRow,
    Text,
};
pub use data::{AnatomyPoint, Compared, Data, Earlier, Search, SystemConditions, UnequalPair};
pub use error::Error;
pub use format::{
    FORMATS, Folder, Report, ReportFile, ReportFormat, WriteText, Written, html, read_studies,
    refuse_foreign,
    terminal::{Screen, table as text_table},
    write, write_data, write_studies,
};
pub use history::{History, PAGE as HISTORY_PAGE, write_history};
pub use logo::refuse_logo;
pub use section::{SECTIONS, Section, refuse_unknown as refuse_unknown_sections};
pub use verdicts::{
    Condition, GateOutcome, Verdicts, VerdictsRequest, any_metric, band, metric, report_metric,
};
