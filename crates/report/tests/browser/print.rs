//! The page on paper: nothing is cut off, and every chart is there.

use super::{browser, command, four_systems, small};
use std::{path::Path, process::Command};
use tailmark_testing::{not_installed, test};

/// The page as the browser prints it: words with their places, as Poppler finds them.
fn printed(page: &Path) -> String {
    let profile = tempfile::tempdir().unwrap();
    let document = page.with_extension("printed.pdf");
    let printing = command(browser(), profile.path())
        .args([
            "--no-pdf-header-footer",
            &format!("--print-to-pdf={}", document.display()),
        ])
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    assert!(printing.status.success(), "{printing:?}");
    let output = Command::new("pdftotext")
        .arg("-bbox")
        .arg(&document)
        .arg("-")
        .output();
    let output = output.unwrap_or_else(|_| not_installed("pdftotext is not installed"));
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn no_text_is_cut_off_on_paper_and_all_charts_are_there() {
    for page in [small("print"), four_systems("print-four")] {
        let words = printed(&page);
        let mut count = 0;
        for word in words.lines().filter(|line| line.contains("<word ")) {
            let number = |name: &str| -> f64 {
                let (_, rest) = word.split_once(&format!("{name}=\"")).unwrap();
                rest.split_once('"').unwrap().0.parse().unwrap()
            };
            count += 1;
            // A4, in points.
            assert!(number("xMin") > 20.0 && number("xMax") < 580.0, "{word}");
        }
        assert!(count > 1_000, "{count}");
        // The axis of each curve, and of the peaks.
        let axes = words.matches(">operations</word>").count();
        assert!(axes >= 6, "{axes}");
    }
}
