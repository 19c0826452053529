//! The points: one row per point and kind.

use super::{POINT, Table, drivers, headings, phase_headings, phase_rows};
use crate::{Error, Format, Study};
use std::io::Write;
use tailmark_model::Point;

pub const FORMAT: Format = Format {
    name: "csv",
    about: "a table for spreadsheets: a row per point and kind",
    write,
};

fn write(study: &Study, out: &mut dyn Write) -> Result<(), Error> {
    let (drivers, header) = (drivers(study)?, study.header()?);
    let names = ["system", "driver"].map(str::to_owned).into_iter();
    let all = names.chain(headings(&POINT)).chain(phase_headings());
    let mut table = Table::new(&FORMAT, all, out)?;
    study.each_point(|Point { key, phase }| {
        let driver = drivers.get(&key.system).cloned().unwrap_or_default();
        let mut first = vec![key.system.clone(), driver];
        first.extend(POINT.map(|(_, cell)| cell(&key)));
        table.rows(phase_rows(&first, &phase, &header))
    })?;
    table.end()
}
