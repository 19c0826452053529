//! Caches are really dropped, as `fincore` sees it. Needs root and a file system on a disk.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::{fs, path::Path, process::Command};
use tailmark_machine::{CacheDrop, block_device_of, can_drop_caches, drop_caches, forget_all};
use tailmark_testing::{not_here, test};
use tempfile::NamedTempFile;

/// Bytes of a file that are in the page cache, as `fincore` (util-linux) sees it.
fn cached(path: &Path) -> u64 {
    let output = Command::new("fincore")
        .args(["-nb", "-o", "RES"])
        .arg(path)
        .output();
    let Ok(output) = output else {
        not_here("fincore is missing");
    };
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().expect("fincore writes a number")
}

fn file_on_a_disk() -> NamedTempFile {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if block_device_of(directory).is_none() {
        not_here("the build's directory is on no disk");
    }
    NamedTempFile::new_in(directory).unwrap()
}

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn dropping_caches_leaves_nothing_of_a_file() {
    if !can_drop_caches() {
        not_here("dropping caches needs root");
    }
    let file = file_on_a_disk();
    let path = file.path();
    fs::write(path, vec![1; 4 << 20]).unwrap();
    assert_eq!(cached(path), 4 << 20);
    assert_eq!(drop_caches(&[]), CacheDrop::Dropped);
    assert_eq!(cached(path), 0);
}

#[test]
fn advice_leaves_nothing_of_a_dirty_file_in_the_cache() {
    let file = file_on_a_disk();
    fs::write(file.path(), vec![1; 1 << 20]).unwrap();
    assert_eq!(cached(file.path()), 1 << 20);
    assert_eq!(forget_all(&[file.path().to_owned()]), CacheDrop::Advised(1));
    assert_eq!(cached(file.path()), 0);
}
