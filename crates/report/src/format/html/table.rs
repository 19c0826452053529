//! Tables as HTML, each with a link that saves it as CSV. A table wider than a usual page is split
//! into parts. On a phone each part scrolls in its box.

use crate::{
    Badge, Cell, Column, Table,
    format::{
        csv::csv,
        names::{Names, finding_anchor},
        parts::parts,
        units::unbroken,
    },
};
use maud::{Markup, html};

/// The space for a part, in digits of a table's text. A wider one would be cut off in a window of
/// 1,280 pixels.
const ROOM: usize = 116;

/// A table and its link.
pub fn table(table: &Table, names: &mut Names) -> Markup {
    let columns = 0..table.columns.len();
    let widths: Vec<usize> = columns.map(|index| width(table, index)).collect();
    let parts = parts(table, &widths, ROOM);
    html! {
        div.table {
            @for (i, own) in parts.iter().enumerate() {
                div.scroll tabindex="0" role="region" aria-label=(label(table, i)) { (part(table, own, i == 0)) }
            }
            p.note {
                @if !table.note.is_empty() { (unbroken(&table.note)) " " }
                a.csv download={(names.next()) ".csv"} href=(data_uri(&csv(table))) { "CSV" }
            }
        }
    }
}

/// The label of a table's part for screen readers. A part can be scrolled, so it must be reachable.
fn label(table: &Table, part: usize) -> String {
    let titles = table.columns.iter().map(|column| column.title.as_str());
    let name = match table.caption.as_str() {
        "" => titles.take(3).collect::<Vec<_>>().join(", "),
        caption => caption.to_owned(),
    };
    match part {
        0 => format!("Table: {name}"),
        n => format!("Table: {name}, part {}", n + 1),
    }
}

/// The minimum width of a column with its padding: words break, and numbers do not.
fn width(table: &Table, index: usize) -> usize {
    /// The letter of a finding, and the padding of a cell.
    const BADGE: usize = 3;
    const PADDING: usize = 2;
    /// A title of numbers is not broken below that, in the style of the page.
    const TITLE: usize = 9;
    let column = &table.columns[index];
    let word = |text: &str| longest(text).map(|letters| letters.min(LONG));
    let cell = |cell: &Cell| {
        let text = if column.numeric {
            cell.text.chars().count()
        } else {
            word(&cell.text).unwrap_or(0)
        };
        let text = text + BADGE * cell.badges.len();
        // Details are set smaller.
        text.max(word(&cell.detail).unwrap_or(0) * 9 / 10)
    };
    let title = word(&column.title).unwrap_or(0);
    let title = if column.numeric {
        title.max(TITLE)
    } else {
        title
    };
    let cells = table.rows.iter().map(|row| cell(&row.cells[index]));
    cells.chain([title]).max().unwrap_or(0) + PADDING
}

/// Letters of a word that is broken where there is no room for it, such as the flags of a build.
const LONG: usize = 40;

/// Letters of the longest word.
fn longest(text: &str) -> Option<usize> {
    text.split(' ').map(|word| word.chars().count()).max()
}

fn part(table: &Table, part: &[usize], is_first: bool) -> Markup {
    let columns: Vec<&Column> = part.iter().map(|&index| &table.columns[index]).collect();
    let grouped = columns.iter().any(|c| !c.group.is_empty());
    html! {
        table {
            @if is_first && !table.caption.is_empty() { caption { (table.caption) } }
            thead {
                @if grouped { tr.groups { @for g in groups(&columns) { (g) } } }
                tr {
                    @for (i, column) in columns.iter().enumerate() {
                        th scope="col" class=[class(&columns, i, None)] { (column.title) }
                    }
                }
            }
            tbody {
                @for row in &table.rows {
                    tr class=[row.total.then_some("total")] {
                        @for (i, &index) in part.iter().enumerate() {
                            (cell(&row.cells[index], class(&columns, i, Some(&row.cells[index]))))
                        }
                    }
                }
            }
        }
    }
}

/// Headings over neighbours of one group.
fn groups(columns: &[&Column]) -> Vec<Markup> {
    columns
        .chunk_by(|a, b| a.group == b.group)
        .map(|group| {
            let name = &group[0].group;
            html! {
                th colspan=(group.len()) class=[(!name.is_empty()).then_some("first")] { (name) }
            }
        })
        .collect()
}

/// Numbers are set right; the first column of a group gets a rule before it.
fn class(columns: &[&Column], index: usize, cell: Option<&Cell>) -> Option<String> {
    let column = columns[index];
    let first =
        !column.group.is_empty() && (index == 0 || columns[index - 1].group != column.group);
    let is_long = |own: &Cell| !column.numeric && longest(&own.text) > Some(LONG);
    let names = [
        ("n", column.numeric),
        ("first", first),
        ("muted", cell.is_some_and(|cell| cell.muted)),
        ("long", cell.is_some_and(is_long)),
    ];
    let class: Vec<&str> = names
        .iter()
        .filter(|(_, on)| *on)
        .map(|(name, _)| *name)
        .collect();
    (!class.is_empty()).then(|| class.join(" "))
}

fn cell(cell: &Cell, class: Option<String>) -> Markup {
    html! {
        td class=[class] title=[(!cell.hint.is_empty()).then_some(&cell.hint)] {
            @if !cell.link.is_empty() { a href=(cell.link) { (cell.text) } }
            @else if cell.strong { strong { (cell.text) } } @else { (cell.text) }
            @for badge in &cell.badges { (badge_link(badge)) }
            @if !cell.detail.is_empty() { span.detail { (cell.detail) } }
        }
    }
}

/// A text as a data URL (RFC 2397). All characters except letters, digits and `-_.~` are
/// percent-encoded.
fn data_uri(text: &str) -> String {
    let mut uri = String::from("data:text/csv;charset=utf-8,");
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(byte.into());
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// A link to a finding.
pub(super) fn badge_link(badge: &Badge) -> Markup {
    html! {
        a.badge href={"#" (finding_anchor(&badge.code))} title=(badge.code) { (badge.letter) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_no_character_that_ends_it() {
        assert_eq!(
            data_uri("a,\"≥\"\n"),
            "data:text/csv;charset=utf-8,a%2C%22%E2%89%A5%22%0A"
        );
    }
}
