//! The loads: one row per load and kind.

use super::{Table, drivers, phase_headings, phase_rows};
use crate::{Error, Format, Study};
use std::io::Write;

pub const FORMAT: Format = Format {
    name: "csv-loads",
    about: "a table of the loads: a row per load and kind",
    write,
};

fn write(study: &Study, out: &mut dyn Write) -> Result<(), Error> {
    let (drivers, header) = (drivers(study)?, study.header()?);
    let key = ["system", "driver", "load", "records", "threads"].map(str::to_owned);
    let mut table = Table::new(&FORMAT, key.into_iter().chain(phase_headings()), out)?;
    let mut number = 0;
    study.each_load(|load| {
        number += 1;
        let driver = drivers.get(&load.system).cloned().unwrap_or_default();
        let (records, threads) = (load.records.to_string(), load.threads.to_string());
        let first = [load.system, driver, number.to_string(), records, threads];
        table.rows(phase_rows(&first, &load.phase, &header))
    })?;
    table.end()
}
