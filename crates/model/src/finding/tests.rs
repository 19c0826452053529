use super::*;

#[test]
fn codes_are_unique_and_sorted_and_described_in_one_line() {
    assert!(FINDINGS.is_sorted_by(|a, b| a.name < b.name));
    for code in FINDINGS {
        assert!(!code.about.is_empty() && !code.about.contains('\n'));
        assert!(code.means.ends_with('.') && !code.means.contains('\n'));
        assert_eq!(find(code.name), Some(code));
    }
}

#[test]
fn the_documentation_names_the_codes_that_cannot_change_the_headline() {
    let document = include_str!("../../../../docs/FINDINGS.md");
    let (_, named) = document.split_once("These cannot:").unwrap();
    let (named, _) = named.split_once("A point is").unwrap();
    let documented = named.split('`').skip(1).step_by(2);
    let codes = FINDINGS.iter().filter(|code| !code.changes_headline);
    let codes = codes.map(|code| code.name);
    assert_eq!(documented.collect::<Vec<_>>(), codes.collect::<Vec<_>>());
}
