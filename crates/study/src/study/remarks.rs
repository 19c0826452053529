//! Writes facts and notices, but never more than a study may have when it is read. The rest is left
//! out, and one notice says how many.

use super::bounded::{FACTS_MAX, NOTICES_MAX, count, cut_name, cut_text};
use rusqlite::{Connection, OptionalExtension, Result, named_params, params};
use tailmark_model::Fact;

/// Notices reserved for those about omissions.
const RESERVED: u64 = 2;

/// Adds facts; one of the same system, group and name is replaced.
pub fn facts(c: &Connection, facts: &[Fact]) -> Result<()> {
    let mut insert = c.prepare_cached(
        "INSERT INTO fact (system, \"group\", name, value) VALUES (?, ?, ?, ?)
         ON CONFLICT (ifnull(system, ''), \"group\", name) DO UPDATE SET value = excluded.value",
    )?;
    let mut is_known = c.prepare_cached(
        "SELECT 1 FROM fact WHERE ifnull(system, '') = ifnull(?, '') AND \"group\" = ? AND name = ?",
    )?;
    let mut room = FACTS_MAX.saturating_sub(rows(c, "fact")?);
    let mut left = 0;
    for fact in facts {
        let name = cut_name(&fact.name);
        let is_known = is_known.exists(params![fact.system, fact.group, name])?;
        if !is_known && room == 0 {
            left += 1;
            continue;
        }
        room -= u64::from(!is_known);
        insert.execute(params![
            fact.system,
            fact.group,
            name,
            cut_text(&fact.value)
        ])?;
    }
    skipped(c, "facts", FACTS_MAX, left)
}

/// Adds a notice, once.
pub fn notice(c: &Connection, text: &str) -> Result<()> {
    let text = cut_text(text);
    let mut is_known = c.prepare_cached("SELECT 1 FROM notice WHERE text = ?")?;
    if is_known.exists([text])? {
        return Ok(());
    }
    let most = NOTICES_MAX - RESERVED;
    if rows(c, "notice")? >= most {
        return skipped(c, "notices", most, 1);
    }
    add(c, text)
}

/// Takes back a notice.
pub fn no_notice(c: &Connection, text: &str) -> Result<()> {
    c.execute("DELETE FROM notice WHERE text = ?", [text])
        .map(drop)
}

/// Says how many more were left out.
fn skipped(c: &Connection, what: &str, most: u64, more: u64) -> Result<()> {
    if more == 0 {
        return Ok(());
    }
    let rest = format!(" {what} were left out: a study has at most {most} of them");
    let find = "SELECT text FROM notice WHERE text LIKE '%' || :rest";
    let known: Option<String> = c
        .query_row(find, named_params! { ":rest": rest }, |row| row.get(0))
        .optional()?;
    let before = known.as_deref().and_then(|known| {
        no_notice(c, known).ok()?;
        known.strip_suffix(&rest)?.parse::<u64>().ok()
    });
    let all = before.unwrap_or(0).saturating_add(more);
    add(c, &format!("{all}{rest}"))
}

fn add(c: &Connection, text: &str) -> Result<()> {
    c.execute("INSERT INTO notice (text) VALUES (?)", [text])
        .map(drop)
}

fn rows(c: &Connection, table: &str) -> Result<u64> {
    let sql = format!("SELECT count(*) FROM {table}");
    c.query_row(&sql, [], |row| count(row, 0))
}
