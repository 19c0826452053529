use super::*;

#[test]
fn a_table_is_empty_if_none_of_its_numbers_is_known() {
    let table = |cells: [Cell; 2]| Table {
        columns: vec![Column::text("System"), Column::number("ops/s")],
        rows: vec![TableRow {
            cells: cells.into(),
            total: false,
        }],
        ..Table::default()
    };
    assert!(table([Cell::new("A"), Cell::none()]).is_empty());
    assert!(!table([Cell::new("A"), Cell::new("12")]).is_empty());
    let words = Table {
        columns: vec![Column::text("Key")],
        ..table([Cell::new("A"), Cell::none()])
    };
    assert!(!words.is_empty());
}
