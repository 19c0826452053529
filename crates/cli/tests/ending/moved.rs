//! A study is not resumed on another disk than it began on.

use crate::support::{Running, tailmark};
use std::{fs, os::unix::fs::symlink};
use tailmark_testing::{assert_says, err, out, test};
use tempfile::TempDir;

const ARGS: &[&str] = &[
    "run",
    "--driver=file",
    "--system=a=place/data",
    "--records=1k",
    "--workload=ycsb-c",
    "--threads=1,2",
    "--duration=3s",
    "--warmup=0s",
    "--output=out",
];

#[test]
fn a_study_is_not_resumed_on_another_disk() {
    let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let memory = TempDir::new_in("/dev/shm").unwrap();
    let (place, disk) = (dir.path().join("place"), dir.path().join("disk"));
    fs::create_dir(&disk).unwrap();
    symlink(memory.path(), &place).unwrap();
    let mut run = Running::start(&mut tailmark(dir.path(), ARGS));
    run.until("[1/2]");
    run.signal("INT");
    let (code, _, said) = run.end();
    assert_eq!(code, Some(130), "{said}");
    // As if the disk had not been mounted again.
    fs::remove_file(&place).unwrap();
    symlink(&disk, &place).unwrap();
    let dry = tailmark(dir.path(), &[ARGS, &["--dry-run"]].concat()).output();
    let dry = dry.unwrap();
    assert_eq!(dry.status.code(), Some(2), "{}", err(&dry));
    assert_says(
        &out(&dry),
        &["system `a` was measured on file system type `tmpfs`"],
    );
    let refused = tailmark(dir.path(), ARGS).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert_says(
        &err(&refused),
        &[
            "system `a` was measured on file system type `tmpfs`",
            "mount the disk of the study again",
        ],
    );
    // But for its empty directory, nothing was made.
    assert_eq!(fs::read_dir(disk.join("data")).unwrap().count(), 0);
    // On its own disk it goes on.
    fs::remove_file(&place).unwrap();
    symlink(memory.path(), &place).unwrap();
    let resumed = tailmark(dir.path(), ARGS).output().unwrap();
    assert_eq!(resumed.status.code(), Some(0), "{}", err(&resumed));
    assert_says(&err(&resumed), &["kept from before"]);
}
