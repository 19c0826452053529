//! Caches are really dropped, as `fincore` sees it. Needs root and a file system on a disk.

use std::{fs, path::Path, process::Command};
use tailmark_host::{CacheDrop, block_device_of, can_drop_caches, drop_caches};

/// Bytes of a file that are in the page cache; none where `fincore` (util-linux) is missing.
fn cached(path: &Path) -> Option<u64> {
    let output = Command::new("fincore")
        .args(["-nb", "-o", "RES"])
        .arg(path)
        .output()
        .ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

#[test]
fn dropping_caches_leaves_nothing_of_a_file() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if !can_drop_caches() || block_device_of(directory).is_none() {
        println!("skipped: needs root, and a file system on a disk");
        return;
    }
    let file = tempfile::NamedTempFile::new_in(directory).unwrap();
    let path = file.path();
    fs::write(path, vec![1; 4 << 20]).unwrap();
    let Some(before) = cached(path) else {
        println!("skipped: fincore is missing");
        return;
    };
    assert_eq!(before, 4 << 20);
    assert_eq!(drop_caches(&[]), CacheDrop::Dropped);
    assert_eq!(cached(path), Some(0));
}
