//! The comparisons: one row each, with columns for the members in JSON.

use super::{Table, cell};
use crate::{
    Error, Format, Study,
    export::comparison::{comparison_json, comparisons_of},
};
use serde_json::Value;
use std::io::Write;

pub const FORMAT: Format = Format {
    name: "csv-comparisons",
    about: "a table of how systems compare: a row per point or peak, metric and pair",
    write,
};

const COLUMNS: [&str; 26] = [
    "workload",
    "distribution",
    "threads",
    "rate",
    "arrivals",
    "place",
    "threads_a",
    "threads_b",
    "metric",
    "a",
    "b",
    "ratio",
    "ratio_bound",
    "low",
    "high",
    "runs_a",
    "runs_b",
    "runs_most",
    "p",
    "p_adjusted",
    "verdict",
    "bootstrap_low",
    "bootstrap_high",
    "rank_sum_p",
    "paired_p",
    "test",
];

fn write(study: &Study, out: &mut dyn Write) -> Result<(), Error> {
    let mut table = Table::new(&FORMAT, COLUMNS, out)?;
    let header = study.header()?;
    let runs = study.runs(&header)?;
    for comparison in comparisons_of(&runs, &study.systems()?, &header) {
        let members = comparison_json(&comparison);
        table.row(COLUMNS.map(|name| text(&members[name])))?;
    }
    table.end()
}

/// A member as a cell. Numbers are written as in other tables, where 1e-7 is 0.0000001.
fn text(member: &Value) -> String {
    match member {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_u64() {
            Some(count) => count.to_string(),
            None => cell(number.as_f64()),
        },
        other => other.to_string(),
    }
}
