//! The quality of service: one row per load or point, kind, time and quantile.

use super::{Column, Table, each_phase, headings, key_headings, stated_us, us};
use crate::{Error, Format, Study};
use std::io::Write;
use tailmark_model::{BlockQos, BlockValue, TimeBasis};

pub const FORMAT: Format = Format {
    name: "csv-qos",
    about: "a table of the quality of service: a row per load or point, kind, time and quantile",
    write,
};

/// Of the blocks of a run.
const BLOCKS: [Column<BlockQos>; 12] = [
    ("blocks", |blocks| blocks.blocks.to_string()),
    ("samples_min", |blocks| blocks.samples_min.to_string()),
    ("blocks_solid", |blocks| blocks.is_solid().to_string()),
    ("worst_us", |blocks| block_us(blocks.worst)),
    ("worst_is_at_least", |blocks| {
        blocks.worst.is_at_least.to_string()
    }),
    ("worst_start_s", |blocks| blocks.worst.start_s.to_string()),
    ("median_us", |blocks| block_us(blocks.median)),
    ("median_is_at_least", |blocks| {
        blocks.median.is_at_least.to_string()
    }),
    ("median_start_s", |blocks| blocks.median.start_s.to_string()),
    ("best_us", |blocks| block_us(blocks.best)),
    ("best_is_at_least", |blocks| {
        blocks.best.is_at_least.to_string()
    }),
    ("best_start_s", |blocks| blocks.best.start_s.to_string()),
];

fn write(study: &Study, out: &mut dyn Write) -> Result<(), Error> {
    let of_run = [
        "kind",
        "time",
        "quantile",
        "run_us",
        "run_is_at_least",
        "solid",
    ]
    .map(str::to_owned);
    let all = key_headings().chain(of_run).chain(headings(&BLOCKS));
    let mut table = Table::new(&FORMAT, all, out)?;
    each_phase(study, |key, phase| {
        for (kind, (name, time)) in phase.kinds.keys().flat_map(|kind| TIMES.map(|t| (kind, t))) {
            for qos in phase.qos(*kind, time) {
                let mut row = key.to_vec();
                row.extend([kind.name(), name, qos.quantile.name].map(str::to_owned));
                row.extend(stated_us(qos.run));
                row.push(qos.is_solid.to_string());
                row.extend(BLOCKS.map(|(_, cell)| qos.blocks.map_or_else(String::new, cell)));
                table.row(row)?;
            }
        }
        Ok(())
    })?;
    table.end()
}

const TIMES: [(&str, TimeBasis); 2] = [
    ("service", TimeBasis::Service),
    ("response", TimeBasis::Response),
];

fn block_us(value: BlockValue) -> String {
    us(value.ns as f64).to_string()
}
