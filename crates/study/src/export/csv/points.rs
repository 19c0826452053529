//! The points: one row per point and kind.

use super::{POINT, Table, drivers, headings, phase_headings, phase_rows};
use crate::{Error, Format, Study, export::figures_known};
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
    let all = all.chain(["figures_known".to_owned()]);
    let mut table = Table::new(&FORMAT, all, out)?;
    study.each_point(|Point { key, phase }| {
        let driver = drivers.get(&key.system).cloned().unwrap_or_default();
        let mut first = vec![key.system.clone(), driver];
        first.extend(POINT.map(|(_, cell)| cell(&key)));
        let mut rows = phase_rows(&first, &phase, &header);
        let known = figures_known(&phase, &header);
        rows.iter_mut()
            .for_each(|row| row.push(known.map_or_else(String::new, |known| known.to_string())));
        table.rows(rows)
    })?;
    table.end()
}
