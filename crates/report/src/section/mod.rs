//! The parts of a report, in reading order.

mod against;
mod anatomy;
mod bandwidth;
mod cards;
mod ceiling;
mod compared_table;
mod conclusion;
mod distribution;
mod errors;
mod findings;
mod fixed;
mod heat;
mod improvements;
mod ladder;
mod latency;
mod load;
mod machine;
mod method;
mod peaks;
mod qos;
mod ranks;
mod rates;
mod remarks;
mod runs;
mod scaling;
mod slo;
mod summary;
mod timeline;
mod watts;
mod workload;
mod worst;

use crate::{Block, Data, Error, Table};
use tailmark_model::ReportSettings;

pub(crate) use bandwidth::chart as bandwidth_chart;
pub use compared_table::{RATIO, metric_cell, probability};
pub(crate) use fixed::{ComparedPair, FixedTopic, FixedValues, Missed, topics as fixed_topics};
pub(crate) use peaks::{below_mean, chart as peaks_chart, short_table as peaks_table};
pub(crate) use remarks::few_samples;
pub(crate) use summary::front;
pub use summary::headline;
pub(crate) use workload::{about, curves, of_sets};

/// One part of a report.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Unique; also its anchor.
    pub name: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Its blocks; empty if the data has nothing for it.
    pub render: fn(&Data) -> Vec<Block>,
}

impl Section {
    /// Of another page than a report, which makes its blocks itself.
    pub(crate) const fn of_page(name: &'static str, title: &'static str) -> Self {
        Self {
            name,
            title,
            render: |_| Vec::new(),
        }
    }
}

/// Sections with their blocks.
pub type Rendered = Vec<(&'static Section, Vec<Block>)>;

/// Every section, in reading order.
pub const SECTIONS: &[Section] = &[
    summary::SECTION,
    against::SECTION,
    peaks::SECTION,
    latency::SECTION,
    heat::SECTION,
    workload::SECTION,
    slo::SECTION,
    fixed::SECTION,
    qos::SECTION,
    distribution::SECTION,
    runs::SECTION,
    bandwidth::SECTION,
    machine::SECTION,
    watts::SECTION,
    ceiling::SECTION,
    anatomy::SECTION,
    timeline::SECTION,
    findings::SECTION,
    errors::SECTION,
    load::SECTION,
    ranks::SECTION,
    conclusion::SECTION,
    method::SECTION,
];

/// The names of all sections.
fn names() -> Vec<&'static str> {
    SECTIONS.iter().map(|section| section.name).collect()
}

/// Refuses settings that name a section that is none.
///
/// # Errors
/// If that is so.
pub fn refuse_unknown(settings: &ReportSettings) -> Result<(), Error> {
    let is_known = |name: &String| SECTIONS.iter().any(|section| section.name == name);
    match settings.sections.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(Error::UnknownSection {
            name: name.clone(),
            known: names().join(", "),
        }),
    }
}

/// The table of peaks; `None` if there are none.
#[must_use]
pub fn peaks(data: &Data) -> Option<Table> {
    let blocks = (peaks::SECTION.render)(data).into_iter();
    let mut tables = blocks.filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    tables.next()
}
