//! What a person reads is written for people: no text of Rust's own for programmers.

use crate::support::output;
use std::{fs, path::Path};
use tailmark_testing::{err, out, test};
use tempfile::TempDir;

/// What only a programmer should see.
const DEBUG: &[&str] = &[
    "Some(", "None", "Ok(", "Err(", "Os {", "kind:", "code:", "source:", "message:", "unwrap()",
    "panicked", "Error {", "Error(", "::", "\\\"", "[\"", "(\"",
];

/// What is said of commands that fail or that find something.
fn said(args: &[&str], prepare: impl Fn(&Path)) -> (Option<i32>, String) {
    let dir = TempDir::new().unwrap();
    prepare(dir.path());
    let run = output(dir.path(), args);
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap_or_default();
    // What is read of it, without styles and scripts.
    let body = page.split_once("<body").map_or("", |(_, body)| body);
    let text = body.split("<script").next().unwrap_or_default();
    (run.status.code(), out(&run) + &err(&run) + text)
}

/// Commands that fail where [`prepare`] was.
fn commands() -> Vec<Vec<&'static str>> {
    let server = |driver: &'static str, place: &'static str| {
        vec![
            "run",
            "--driver",
            driver,
            "--system",
            place,
            "--records=10",
            "--operations=10",
            "--set=sweep.ready_timeout=100ms",
            "--set=database.connect_timeout_ms=5000",
            "-oservers",
        ]
    };
    let mut commands = vec![
        vec!["run", "bytes"],
        vec!["run", "file"],
        vec!["run", "."],
        vec!["run", "--driver=file", "--system=a=no/such/place", "-oout"],
        vec!["run", "--driver=file", "--system=a=file", "-oout2"],
        vec!["run", "--driver=null", "--system=a=x", "-o", "file"],
        vec!["run", "--driver=null", "--system=a=x", "-o", "/proc/none"],
        vec!["run", "--driver=null", "--system=a=x", "-oout"],
        vec!["report", "out", "-o", "page"],
        vec!["report", "nowhere", "-o", "page"],
        vec!["export", "out", "--format=csv"],
        vec!["import", "ycsb", "file", "-oin"],
        vec!["import", "ycsb", "nowhere", "-oin"],
        vec!["import", "db_bench", "bytes", "-oin"],
        vec!["ycsb", "run", "basic", "-P", "nowhere"],
        vec!["ycsb", "run", "basic", "-p", "operationcount=many"],
        vec!["ycsb", "run", "nothing"],
    ];
    if cfg!(feature = "rocksdb") {
        commands.push(vec!["run", "--driver=rocksdb", "--system=a=file", "-oout2"]);
        commands.push(vec![
            "ycsb",
            "run",
            "rocksdb",
            "-p",
            "rocksdb.dir=nowhere/at/all",
        ]);
        commands.push(vec!["db-bench", "--db=file", "--benchmarks=readseq"]);
        commands.push(vec!["db-bench", "--db=db", "--use_existing_db=1"]);
        commands.push(vec!["db-bench", "--db=db", "--benchmarks=nothing"]);
        commands.push(vec!["db-bench", "--db=db", "--num=many"]);
    }
    if cfg!(feature = "cassandra") {
        commands.push(server("cassandra", "a=127.0.0.1:1"));
        commands.push(server("cassandra", "a=no-such-host.invalid"));
    }
    if cfg!(feature = "aerospike") {
        commands.push(server("aerospike", "a=127.0.0.1:1"));
        commands.push(server("aerospike", "a=no-such-host.invalid"));
    }
    if cfg!(feature = "redis") {
        commands.push(server("redis", "a=127.0.0.1:1"));
        commands.push(server("redis", "a=no-such-host.invalid"));
    }
    commands
}

/// Puts things into a directory that are not what they are taken for.
fn prepare(dir: &Path) {
    fs::create_dir(dir.join("out")).unwrap();
    fs::write(dir.join("out/study.sqlite"), [7; 40_000]).unwrap();
    fs::write(dir.join("file"), "no text \u{fffd} of anyone").unwrap();
    fs::write(dir.join("READ.hdr"), "#[StartTime: 1]\n1,2,x\n").unwrap();
    fs::write(dir.join("bytes"), [0xff, 0xfe, 0]).unwrap();
}

#[test]
fn no_message_is_written_for_programmers() {
    for args in commands() {
        let (code, said) = said(&args, prepare);
        assert!(
            matches!(code, Some(1 | 2)),
            "{args:?} ended with {code:?}: {said}"
        );
        for text in DEBUG {
            assert!(!said.contains(text), "{args:?} says `{text}`: {said}");
        }
    }
    let (code, said) = said(
        &[
            "run",
            "--driver=sim-threads",
            "--system=a=x",
            "--records=10",
            "--operations=100",
            "--threads=1",
            "--workload=ycsb-a",
            "--set=database.error_every=3",
            "--warmup=0s",
            "-oout",
        ],
        |_| {},
    );
    assert_eq!(code, Some(3), "{said}");
    for text in DEBUG {
        assert!(!said.contains(text), "failed requests say `{text}`: {said}");
    }
}
