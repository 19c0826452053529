//! Splits a table that is wider than its page between its systems. Each part repeats the columns
//! that name the rows.

use crate::{Column, Table};

/// The columns of each part. `widths` are the widths of columns including gaps, and `room` is the
/// space of a part.
#[must_use]
pub fn parts(table: &Table, widths: &[usize], room: usize) -> Vec<Vec<usize>> {
    let width = |columns: &[usize]| columns.iter().map(|&index| widths[index]).sum::<usize>();
    let names = names(table);
    let (names, others): (Vec<usize>, Vec<usize>) =
        (0..widths.len()).partition(|&index| index < names);
    let room = room.saturating_sub(width(&names));
    let group = |index: &usize| &table.columns[*index].group;
    // A group that fits alone is not cut; columns of no group stand for themselves.
    let is_same = |a: &usize, b: &usize| group(a) == group(b) && !group(a).is_empty();
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for chunk in others.chunk_by(is_same) {
        let length = if width(chunk) <= room { chunk.len() } else { 1 };
        for piece in chunk.chunks(length) {
            match parts.last_mut() {
                Some(part) if width(part) + width(piece) <= room => part.extend(piece),
                _ => parts.push(piece.to_vec()),
            }
        }
    }
    if parts.is_empty() {
        parts.push(Vec::new());
    }
    let with_names = |part: Vec<usize>| names.iter().copied().chain(part).collect();
    parts.into_iter().map(with_names).collect()
}

/// The number of columns at the left that name the rows: the first, and text columns next to it.
#[must_use]
pub fn names(table: &Table) -> usize {
    let others = table.columns.iter().skip(1);
    let is_name = |column: &&Column| !column.numeric && column.group.is_empty();
    let words = others.take_while(is_name).count();
    // If all are text: only the first.
    if 1 + words == table.columns.len() {
        1
    } else {
        1 + words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(groups: &[&str]) -> Table {
        let columns = groups.iter().map(|name| Column::number("n").group(*name));
        let names = [Column::text("System"), Column::text("At")];
        Table {
            columns: names.into_iter().chain(columns).collect(),
            ..Table::default()
        }
    }

    #[test]
    fn a_table_is_cut_between_groups_and_its_names_are_in_every_part() {
        let table = table(&["a", "a", "b", "b", ""]);
        let widths = [10; 7];
        assert_eq!(parts(&table, &widths, 70), [[0, 1, 2, 3, 4, 5, 6]]);
        assert_eq!(
            parts(&table, &widths, 50),
            [vec![0, 1, 2, 3], vec![0, 1, 4, 5, 6]]
        );
        // No room for a group: each column stands for itself.
        assert_eq!(parts(&table, &widths, 30).len(), 5);
    }

    #[test]
    fn where_all_are_words_the_first_names_the_rows() {
        let table = Table {
            columns: ["Fact", "a", "b"].map(Column::text).into(),
            ..Table::default()
        };
        assert_eq!(parts(&table, &[10; 3], 20), [[0, 1], [0, 2]]);
    }
}
