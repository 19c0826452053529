//! A full disk: what failed first is told, and nothing half written is left.

use crate::support::{RUN, Running, SHORT, output, tailmark};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};
use tailmark_testing::{LoopDevice, Mounted, Tmpfs, err, out, test};
use tempfile::TempDir;

/// A small file system in memory.
fn small() -> Tmpfs {
    Tmpfs::new(8 << 20)
}

/// What is on it beside the filler.
fn files(small: &Tmpfs) -> Vec<PathBuf> {
    let entries = fs::read_dir(small.path()).unwrap().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| *path != small.filler())
        .collect()
}

#[test]
fn what_failed_first_on_a_full_disk_is_the_error() {
    let small = small();
    let home = TempDir::new().unwrap();
    let study = small.path().join("out").display().to_string();
    let args = [RUN, &["-o", &study]].concat();
    let mut running = Running::start(&mut tailmark(home.path(), &args));
    running.until("[1/3]");
    small.fill(0);
    let (code, told, said) = running.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(told.is_empty(), "{told}");
    let errors: Vec<_> = said
        .lines()
        .filter(|line| line.starts_with("error: "))
        .collect();
    let [error] = errors[..] else {
        panic!("{said}")
    };
    assert!(
        error.contains("failed to write the study") && error.contains("full"),
        "{said}"
    );
    let report = said
        .lines()
        .find(|line| line.starts_with("the report was not written: "));
    assert!(
        report.is_some_and(|line| line.contains("No space left")),
        "{said}"
    );
    let left = fs::read_dir(&study).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["study.sqlite"], "{said}");
    // With room again the same command goes on.
    fs::remove_file(small.filler()).unwrap();
    let on = output(home.path(), &args);
    assert_eq!(on.status.code(), Some(0), "{}", err(&on));
    assert!(err(&on).contains("kept from before"), "{}", err(&on));
}

#[test]
fn what_cannot_be_written_whole_is_not_there() {
    let small = small();
    let home = TempDir::new().unwrap();
    let run = output(home.path(), SHORT);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    let text = "[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 10\n";
    fs::write(home.path().join("ycsb.txt"), text).unwrap();
    let at = |name: &str| small.path().join(name).display().to_string();
    small.fill(0);
    for args in [
        vec!["export", "out", "--format=json", "-o", &at("study.json")],
        vec!["export", "out", "--format=csv", "-o", &at("study.csv")],
        vec!["export", "out", "--format=hlog", "-o", &at("study.hlog")],
        vec!["import", "ycsb", "ycsb.txt", "-o", &at("imported")],
    ] {
        let failed = output(home.path(), &args);
        assert_eq!(failed.status.code(), Some(1), "{args:?}: {}", err(&failed));
        assert!(
            err(&failed).starts_with("error: failed to "),
            "{}",
            err(&failed)
        );
        assert!(files(&small).is_empty(), "{args:?}: {:?}", files(&small));
        assert!(out(&failed).is_empty());
    }
}

#[test]
fn what_cannot_be_written_whole_leaves_what_was_there() {
    let small = small();
    let home = TempDir::new().unwrap();
    let run = output(home.path(), SHORT);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    let page = small.path().join("page");
    let files = [page.join("report.html"), small.path().join("study.json")];
    // A report replaces only a report.
    let report = page.display().to_string();
    let first = output(home.path(), &["report", "out", "-o", &report]);
    assert_eq!(first.status.code(), Some(0), "{}", err(&first));
    fs::write(&files[1], "old").unwrap();
    let before = files.each_ref().map(|file| fs::read(file).unwrap());
    small.fill(0);
    let json = files[1].display().to_string();
    for args in [
        vec!["report", "out", "-o", &report],
        vec!["export", "out", "--format=json", "-o", &json],
    ] {
        let failed = output(home.path(), &args);
        assert_eq!(failed.status.code(), Some(1), "{args:?}: {}", err(&failed));
        assert!(
            err(&failed).contains("No space left on device"),
            "{}",
            err(&failed)
        );
    }
    let after = files.each_ref().map(|file| fs::read(file).unwrap());
    assert!(after == before, "something was written over");
    assert_eq!(
        fs::read_dir(&page).unwrap().count(),
        2,
        "the page and the list"
    );
}

#[test]
fn an_import_is_added_whole_or_not_at_all() {
    let small = small();
    let home = TempDir::new().unwrap();
    let text = |at: usize| {
        let status = (0..4_000).map(|s| format!("{s} sec: {} operations; \n", s * at));
        let status: String = status.collect();
        format!("{status}[OVERALL], RunTime(ms), 4000000\n[OVERALL], Throughput(ops/sec), 10\n")
    };
    fs::write(home.path().join("first.txt"), text(1)).unwrap();
    let names: Vec<_> = (0..40).map(|at| format!("more-{at}.txt")).collect();
    for (at, name) in names.iter().enumerate() {
        fs::write(home.path().join(name), text(2 + at)).unwrap();
    }
    let out_dir = small.path().join("study").display().to_string();
    let first = output(
        home.path(),
        &["import", "ycsb", "first.txt", "-o", &out_dir],
    );
    assert_eq!(first.status.code(), Some(0), "{}", err(&first));
    // Room for some of them.
    small.fill(1 << 20);
    let mut args = vec!["import", "ycsb", "-o", &out_dir];
    args.extend(names.iter().map(String::as_str));
    let failed = output(home.path(), &args);
    assert_eq!(failed.status.code(), Some(1), "{}", err(&failed));
    assert!(err(&failed).contains("full"), "{}", err(&failed));
    let export = output(home.path(), &["export", &out_dir, "--format=json"]);
    let study: serde_json::Value = serde_json::from_slice(&export.stdout).unwrap();
    assert_eq!(study["points"].as_array().unwrap().len(), 1);
}

/// Takes all room of a file system, to the last byte.
fn fill(root: &Path) {
    let mut number = 0;
    loop {
        let mut file = fs::File::create(root.join(format!("filler-{number}"))).unwrap();
        let taken = [1 << 20, 4096, 512, 1].map(|size| {
            let bytes = vec![1; size];
            std::iter::repeat_with(|| file.write_all(&bytes))
                .take_while(Result::is_ok)
                .count()
        });
        // Other files may take what is left of a reserve.
        if taken.iter().sum::<usize>() == 0 {
            break;
        }
        number += 1;
    }
    assert!(fs::write(root.join("one-more"), "1").is_err());
}

fn clean_frees_a_full(root: &Path) {
    let dir = TempDir::new().unwrap();
    let (place, study) = (root.join("place"), dir.path().join("study"));
    let (place, study) = (place.display().to_string(), study.display().to_string());
    let system = format!("--system=disk={place}");
    let args = [
        "run",
        &system,
        "--records=1k",
        "--operations=1k",
        "--workload=ycsb-c",
    ];
    let ran = output(
        dir.path(),
        &[&args[..], &["--warmup=0s", "-o", &study]].concat(),
    );
    assert_eq!(ran.status.code(), Some(0), "{}", err(&ran));
    fill(root);
    let cleaned = output(dir.path(), &["clean", &study, "--yes"]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", err(&cleaned));
    assert!(!Path::new(&place).exists());
}

#[cfg(feature = "rocksdb")]
#[test]
fn clean_frees_a_full_file_system_in_memory() {
    clean_frees_a_full(Tmpfs::new(128 << 20).path());
}

#[cfg(feature = "rocksdb")]
#[test]
fn clean_frees_a_full_disk() {
    let dir = TempDir::new().unwrap();
    let device = LoopDevice::new(&dir.path().join("image"), 128 << 20);
    device.make_ext4();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    let mounted = Mounted::new(&[device.path().as_os_str()], &root);
    clean_frees_a_full(mounted.path());
}
