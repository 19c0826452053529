//! Files that a plan or a flag names: a pipe or a device hangs nothing, and fills no memory.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]
#![cfg(feature = "rocksdb")]

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Output},
};
use tailmark_testing::{assert_says, err, out};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailmark");

/// Runs a line of a shell in a directory, with the program as `$T`. It is ended after 20 s.
fn shell(dir: &Path, line: &str) -> Output {
    let mut shell = Command::new("timeout");
    shell.args(["20", "bash", "-c", line]);
    shell.env("T", PROGRAM).current_dir(dir).output().unwrap()
}

/// A directory with a pipe, and a file that looks as if it had 8 GB.
fn bench() -> TempDir {
    let dir = TempDir::new().unwrap();
    let made = Command::new("mkfifo").arg(dir.path().join("pipe")).status();
    assert!(made.unwrap().success());
    let large = File::create(dir.path().join("large")).unwrap();
    large.set_len(8 << 30).unwrap();
    dir
}

const RUN: &str = "$T run --system a=place --workload ycsb-c --records 1k --operations 1k -o out";

#[test]
fn settings_that_name_a_pipe_a_device_or_gigabytes_are_refused_at_once() {
    let dir = bench();
    fs::create_dir(dir.path().join("place")).unwrap();
    let setting = format!("{RUN} --warmup 0s --set database.options_file=");
    let bench = "$T db-bench --benchmarks=fillrandom --num=1000 --db=db --options_file=";
    let cql = "$T run --driver cassandra --system a=127.0.0.1:1 --workload ycsb-c --records 1k \
               --operations 1k -o out --set database.tls_ca=";
    for (command, name) in [
        (&*setting, "options_file"),
        (bench, "options_file"),
        (cql, "tls_ca"),
    ] {
        for (file, why) in [
            ("pipe", "it is a pipe or a device, and not a regular file"),
            (
                "/dev/zero",
                "it is a pipe or a device, and not a regular file",
            ),
            ("large", "it has more than 16 MiB"),
        ] {
            let ended = shell(dir.path(), &format!("{command}{file}"));
            assert_says(&err(&ended), &[name, file, why]);
            assert!(!dir.path().join("place/rocksdb").exists());
        }
    }
}

#[test]
fn plans_flags_and_properties_are_read_from_a_pipe_and_not_without_end() {
    let dir = bench();
    for command in [
        "$T run FILE --dry-run",
        "$T ycsb run basic -P FILE",
        "$T db-bench --flagfile=FILE",
    ] {
        for file in ["/dev/zero", "large", "<(yes 1=1)"] {
            let ended = shell(dir.path(), &command.replace("FILE", file));
            assert_ne!(ended.status.code(), Some(124), "{command}: {file}");
            assert_says(&err(&ended), &["it has more than 16 MiB"]);
        }
    }
    let plan =
        "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n[sweep]\nworkloads = 'ycsb-c'\n";
    fs::write(dir.path().join("plan"), plan).unwrap();
    let planned = shell(dir.path(), "$T run <(cat plan) --dry-run");
    assert!(planned.status.success(), "{}", err(&planned));
    let piped = shell(dir.path(), "cat plan | $T run /dev/stdin --dry-run");
    assert!(piped.status.success(), "{}", err(&piped));
    let properties = "<(printf 'recordcount=10\\noperationcount=70\\n\
                      workload=site.ycsb.workloads.CoreWorkload')";
    let ran = shell(dir.path(), &format!("$T ycsb run basic -P {properties}"));
    assert_says(&out(&ran), &["[READ], Operations"]);
}

#[test]
fn a_report_file_that_is_a_pipe_has_a_reader_or_is_refused() {
    let dir = bench();
    let call = "$T db-bench --benchmarks=fillrandom --num=1000 --db=db \
                --report_interval_seconds=1 --report_file=";
    let refused = shell(dir.path(), &format!("{call}pipe"));
    assert_says(
        &err(&refused),
        &["--report_file `pipe`", "start its reader first"],
    );
    let ran = shell(
        dir.path(),
        &format!("{call}>(cat > rows); sleep 1; cat rows"),
    );
    assert_says(&out(&ran), &["secs_elapsed,interval_qps"]);
}

#[test]
fn a_pipe_or_a_log_of_another_program_in_the_place_of_a_log_is_refused_at_once() {
    let dir = bench();
    let call = "$T ycsb load basic -p workload=site.ycsb.workloads.CoreWorkload -p recordcount=10 \
                -p measurementtype=hdrhistogram -p hdrhistogram.fileoutput=true";
    // As asbench writes them.
    let theirs = "#[StartTime: 1700000000.000 (seconds since epoch)]\n";
    fs::write(dir.path().join("write.hdr"), theirs).unwrap();
    let foreign = shell(dir.path(), call);
    assert_eq!(foreign.status.code(), Some(2), "{}", err(&foreign));
    assert_says(&err(&foreign), &["write.hdr", "another program"]);
    let left = fs::read_to_string(dir.path().join("write.hdr")).unwrap();
    assert_eq!(left, theirs);
    fs::rename(dir.path().join("pipe"), dir.path().join("write.hdr")).unwrap();
    let piped = shell(dir.path(), call);
    assert_eq!(piped.status.code(), Some(2), "{}", err(&piped));
    assert_says(&err(&piped), &["write.hdr", "output.path"]);
}

#[test]
fn a_marker_of_gigabytes_is_refused_by_a_run_and_reported_by_its_dry_run() {
    let dir = bench();
    let place = dir.path().join("place");
    fs::create_dir_all(place.join("rocksdb")).unwrap();
    let marker = place.join("rocksdb.dataset.json");
    fs::rename(dir.path().join("large"), &marker).unwrap();
    let too_long = ["rocksdb.dataset.json", "it has more than 1 MiB"];
    assert_says(&err(&shell(dir.path(), RUN)), &too_long);
    let planned = shell(dir.path(), &format!("{RUN} --dry-run"));
    assert_says(&out(&planned), &too_long);
    // One that is no marker.
    fs::write(&marker, "{").unwrap();
    let why = ["rocksdb.dataset.json", "EOF while parsing"];
    assert_says(&err(&shell(dir.path(), RUN)), &why);
    let dry = shell(dir.path(), &format!("{RUN} --dry-run"));
    assert_says(&out(&dry), &why);
}

#[test]
fn a_logo_that_cannot_be_drawn_is_refused_before_anything_is_measured() {
    let dir = bench();
    let run = |logo: &str| {
        shell(
            dir.path(),
            &format!("{RUN} --set report.logo={logo} --dry-run"),
        )
    };
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../plan/src/tests/logo.png");
    let whole = fs::read(source).unwrap();
    assert_eq!(run(source).status.code(), Some(0), "{}", err(&run(source)));
    let changed = |name: &str, from: usize, bytes: &[u8]| {
        let mut picture = whole.clone();
        picture[from..from + bytes.len()].copy_from_slice(bytes);
        fs::write(dir.path().join(name), picture).unwrap();
    };
    // Its data, then its size.
    changed("damaged", 60, b"no pixels");
    changed("bomb", 16, &[0, 0, 0x80, 0, 0, 0, 0x80, 0]);
    changed("flat", 16, &[0; 4]);
    for (file, why) in [
        ("damaged", "it is damaged"),
        ("bomb", "it has 32,768 x 32,768 pixels"),
        ("flat", "it has no size"),
        ("pipe", "it is a pipe or a device"),
        ("large", "it has more than"),
    ] {
        let refused = run(file);
        assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
        let named = format!("is `{file}`, but it must be a PNG or JPEG file");
        let parts = ["report.logo", &named, "4 megapixels", why];
        assert_says(&err(&refused), &parts);
        assert!(!err(&refused).contains('{'), "{}", err(&refused));
    }
}

#[test]
fn the_drop_in_echoes_no_secret_of_a_property() {
    let dir = TempDir::new().unwrap();
    let secrets = "-p mongodb.url=mongodb://u:hunter2@h/db -p db.passwd='hunter2 x' \
                   -p azurecosmos.primaryKey=hunter2 -p recordcount=10 -p operationcount=10";
    let ran = shell(dir.path(), &format!("$T ycsb run basic {secrets} -p a=b"));
    assert!(!err(&ran).contains("hunter2") && !out(&ran).contains("hunter2"));
    assert_says(
        &err(&ran),
        &[
            "-p mongodb.url=mongodb://u:***@h/db",
            "db.passwd=***",
            "-p recordcount=10",
            "-p a=b",
        ],
    );
}

#[test]
fn what_is_in_the_way_of_the_data_is_refused_by_dry_run_and_run_and_stays() {
    for (driver, name, make, why) in [
        (
            "file",
            "slots.dat",
            "mkdir",
            "neither a file nor a block device",
        ),
        (
            "rocksdb",
            "rocksdb.tailmark-trial",
            "echo mine >",
            "which exists without a `made-by-tailmark` of a trial",
        ),
        (
            "rocksdb",
            "rocksdb.dataset.json",
            "mkfifo",
            "it is a pipe or a device, and not a regular file",
        ),
    ] {
        let dir = TempDir::new().unwrap();
        let made = shell(dir.path(), &format!("mkdir place && {make} place/{name}"));
        assert!(made.status.success());
        for more in ["--dry-run", ""] {
            let ended = shell(dir.path(), &format!("{RUN} --driver {driver} {more}"));
            let said = format!("{}{}", out(&ended), err(&ended));
            assert_says(&said, &[name, why]);
            assert_eq!(ended.status.code(), Some(2), "{name}: {}", err(&ended));
            let beside = fs::read_dir(dir.path().join("place")).unwrap().count();
            assert_eq!(beside, 1, "something was made beside {name}");
            assert!(!dir.path().join("out").exists(), "an empty run directory");
        }
    }
}

#[test]
fn a_run_directory_inside_a_database_is_refused_and_not_made() {
    for inside in ["place/rocksdb", "place/rocksdb/results", "link/rocksdb"] {
        let dir = TempDir::new().unwrap();
        let made = shell(dir.path(), "mkdir place && ln -s place link");
        assert!(made.status.success());
        for more in ["--dry-run", ""] {
            let run = "$T run --driver rocksdb --system a=place --records 10 --threads 1";
            let ended = shell(dir.path(), &format!("{run} -o {inside} {more}"));
            let said = format!("{}{}", out(&ended), err(&ended));
            let named = format!("the run directory `{inside}` would be inside its database");
            assert_says(&said, &["system `a`: path is", &named, "another -o"]);
            assert_eq!(ended.status.code(), Some(2), "{}", err(&ended));
            let beside = fs::read_dir(dir.path().join("place")).unwrap().count();
            assert_eq!(beside, 0, "something was made in the place");
        }
    }
}

#[test]
fn a_library_is_not_copied_from_a_pipe() {
    let dir = bench();
    let fetch = "HOME=$PWD $T rocksdb fetch 8.1.1.1 --url file:pipe --sha256 00";
    let ended = shell(dir.path(), fetch);
    assert_says(
        &err(&ended),
        &["failed to copy `pipe`", "it is a pipe or a device"],
    );
    assert_eq!(ended.status.code(), Some(1), "{}", err(&ended));
}
