//! What `compare` says of copies of runs, and of two peaks that are lower bounds.

use super::{TAILMARK, compared};
use std::fs;
use tailmark_testing::out;
use tempfile::TempDir;

#[test]
fn copies_of_a_run_are_in_no_value_that_is_shown() {
    let dir = TempDir::new().unwrap();
    let import = |name: &str, rows: &str| {
        let head = "system,workload,threads,ops_per_sec,read_p99_us\n";
        fs::write(dir.path().join(name), format!("{head}{rows}")).unwrap();
        let args = ["import", "csv", name, "-o", "study"];
        assert!(TAILMARK.run(dir.path(), &args).status.success());
    };
    let a = "a,w,4,1000,100\na,w,4,1010,101\na,w,4,1020,102\na,w,4,1030,103\n";
    let b = "b,w,4,500,200\nb,w,4,1500,150\nb,w,4,1400,140\nb,w,4,1450,145\n";
    import("all.csv", &format!("{a}{b}"));
    for _ in 0..4 {
        import("one.csv", "b,w,4,500,200\n");
    }
    let args = ["study", "--system", "a", "--baseline", "b"];
    let said = out(&compared(dir.path(), &args));
    let row = said.lines().find(|line| line.starts_with("w ")).unwrap();
    let cells: Vec<&str> = row.split("  ").map(str::trim).collect();
    let cells: Vec<&str> = cells.into_iter().filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells[2..6], ["1,015", "1,111", "−8.6 %", "4, 4"], "{said}");
}
