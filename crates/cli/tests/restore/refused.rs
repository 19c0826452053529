//! What is refused or left alone beside a kept start, and what `clean` removes.

use super::{Bench, PROGRAM, begun, files, listing, succeeded, traced};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};
use tailmark_testing::{assert_says, err, out, test};

#[test]
fn a_file_system_without_links_is_said_to_need_copies() {
    let bench = begun("checkpoint");
    bench.copied("loaded-place", "place");
    let inject = "inject=linkat:error=EXDEV:when=1".to_owned();
    let (ended, _) = traced(&bench, "out", "checkpoint", &[inject]);
    assert_says(
        &err(&ended),
        &["cannot be linked", "dataset.restore = \"copy\""],
    );
    succeeded(&bench.run("copied", "copy", &[]));
    bench.assert_measured("copied", "copies");
}

#[test]
fn what_is_in_the_way_of_a_start_is_refused_and_left_alone() {
    let bench = Bench::new();
    succeeded(&bench.run("loaded", "none", &[]));
    bench.copied("place", "loaded-place");
    let other = bench.path("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("precious"), "text").unwrap();
    let refused = |what: &str, parts: &[&str], put: &dyn Fn(&Path)| {
        bench.copied("loaded-place", "place");
        put(&bench.start());
        let before = [listing(&bench.place()), listing(&other)];
        for more in [&["--dry-run"][..], &[]] {
            let ended = bench.run("out", "checkpoint", more);
            assert_eq!(ended.status.code(), Some(2), "{what}: {}", err(&ended));
            assert_says(&(err(&ended) + &out(&ended)), parts);
        }
        assert_eq!([listing(&bench.place()), listing(&other)], before, "{what}");
    };
    refused(
        "a foreign directory",
        &["no `made-by-tailmark`", "left alone"],
        &|start| {
            fs::create_dir(start).unwrap();
            fs::write(start.join("precious"), "text").unwrap();
        },
    );
    refused("a link", &["symbolic link"], &|start| {
        symlink(&other, start).unwrap()
    });
    refused("a file", &["is a symbolic link or a file"], &|start| {
        fs::write(start, "text").unwrap();
    });
    // A start whose data another program has replaced.
    bench.copied("loaded-place", "place");
    let _ = fs::remove_dir_all(bench.path("out"));
    succeeded(&bench.run("kept", "checkpoint", &[]));
    bench.copied("place", "loaded-place");
    refused("a link to data", &["symbolic link"], &|start| {
        fs::remove_dir_all(start.join("data")).unwrap();
        symlink(&other, start.join("data")).unwrap();
    });
    refused("other data", &["another identity"], &|start| {
        fs::write(
            start.join("data/IDENTITY"),
            "12345678-1234-1234-1234-123456789abc",
        )
        .unwrap();
    });
    refused("a file less", &["CURRENT` there is missing"], &|start| {
        fs::remove_file(start.join("data/CURRENT")).unwrap();
    });
    refused("a file beside the data", &["foreign"], &|start| {
        fs::write(start.join("notes"), "text").unwrap();
    });
}

#[test]
fn a_log_elsewhere_is_refused_in_words() {
    let bench = Bench::new();
    let log = format!("--set=database.wal_dir='{}'", bench.path("log").display());
    for (restore, parts) in [
        ("checkpoint", ["part of its data is in", "`reload`"]),
        ("copy", ["part of its data is in", "leave that setting out"]),
    ] {
        let ended = bench.run("out", restore, &[&log]);
        assert_eq!(ended.status.code(), Some(2));
        assert_says(&err(&ended), &[parts[0]]);
    }
    assert!(!bench.place().exists());
    succeeded(&bench.run("out", "reload", &[&log]));
}

#[test]
fn a_place_inside_a_kept_start_is_refused() {
    let bench = begun("checkpoint");
    bench.copied("kept-place", "place");
    let inside = format!("other={}", bench.start().join("data").display());
    let before = listing(&bench.place());
    let more = ["--system", &inside, "--set=same_device=true"];
    let refused = bench.run("out", "checkpoint", &more);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert_says(
        &err(&refused),
        &["system `other`: path is", "keeps the start of a data set"],
    );
    assert_eq!(listing(&bench.place()), before);
}

#[test]
fn what_clean_leaves_of_a_start_is_named_and_the_space_of_a_start_counts() {
    let bench = Bench::new();
    let run = bench.run("out", "copy", &[]);
    succeeded(&run);
    let bytes = |place: PathBuf| files(&place).values().sum::<u64>();
    let data = bytes(bench.place().join("rocksdb")) + bytes(bench.start().join("data"));
    let left = err(&run) + &out(&run);
    let left = left.lines().find_map(|line| line.strip_prefix("left: "));
    let stated = left
        .and_then(|line| line.split(" in ").next())
        .unwrap_or_default();
    let (number, unit) = stated.split_once(' ').unwrap_or_default();
    let factor = f64::from(if unit == "MiB" { 1 << 20 } else { 1 << 10 });
    let ratio = number.parse::<f64>().unwrap() * factor / data as f64;
    assert!((0.95..1.05).contains(&ratio), "{stated} of {data} bytes");
    fs::remove_file(bench.start().join("made-by-tailmark")).unwrap();
    let cleaned = Command::new(PROGRAM)
        .arg("clean")
        .arg(bench.path("out"))
        .arg("--yes")
        .output();
    let cleaned = cleaned.unwrap();
    succeeded(&cleaned);
    assert_says(&out(&cleaned), &["not touched: ", "rocksdb.tailmark-start"]);
    assert!(bench.start().join("data").exists());
}

#[test]
fn clean_removes_the_start_and_what_a_killed_run_left_of_it() {
    // The first link is that of a note beside the trial.
    for inject in [None, Some("inject=linkat:signal=SIGKILL:when=2")] {
        let bench = Bench::new();
        match inject {
            None => succeeded(&bench.run("out", "checkpoint", &[])),
            Some(inject) => {
                let (ended, _) = traced(&bench, "out", "checkpoint", &[inject.to_owned()]);
                assert!(!ended.status.success());
            }
        }
        assert!(bench.start().exists());
        let clean = |more: &[&str]| {
            let mut command = Command::new(PROGRAM);
            command
                .arg("clean")
                .arg(bench.path("out"))
                .args(more)
                .output()
                .unwrap()
        };
        assert_says(
            &out(&clean(&[])),
            &["rocksdb.tailmark-start` (the kept start"],
        );
        let cleaned = clean(&["--yes"]);
        assert!(cleaned.status.success(), "{}", err(&cleaned));
        assert!(!bench.place().exists(), "{:?}", listing(&bench.place()));
    }
}
