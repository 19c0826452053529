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

#[test]
fn a_remedy_that_the_evidence_names_is_not_said_before_it() {
    let entry = |text: &str| FindingEntry {
        badge: Badge {
            letter: "a".into(),
            code: "machine-busy".into(),
        },
        title: "Machine busy".into(),
        means: "The point was disturbed. Stop the other programs, and measure again.".into(),
        of_runs: None,
        changes_headline: true,
        evidence: vec![FindingEvidence {
            text: Text::plain(text),
            places: 1,
            table: Table::default(),
        }],
    };
    let told = entry("Others took 80 % of the time. Stop the other programs.");
    assert_eq!(told.means_before_evidence(), "The point was disturbed.");
    let untold = entry("Others took 80 % of the time.");
    assert_eq!(untold.means_before_evidence(), untold.means);
}
