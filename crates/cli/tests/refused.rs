//! What is wrong in what was typed, in a plan or in a place of it: one line says so, with exit code
//! 2, before anything is measured.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use tailmark_testing::{Program, err, out};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// Arguments, and what the one line on standard error must name.
const REFUSED: &[(&[&str], &[&str])] = &[
    (
        &["run", "quickstrat"],
        &["quickstrat", "did you mean `quickstart`?"],
    ),
    (&["run", "missing.toml"], &["no plan file", "missing.toml"]),
    (
        &["run", "--driver", "null"],
        &["no system", "--system NAME=WHERE"],
    ),
    (
        &["run", "--driver", "nul", "--system", "a=x"],
        &["nul", "did you mean `null`?"],
    ),
    (
        &["run", "--driver", "null", "--system", "a"],
        &["--system is `a`", "NAME=WHERE"],
    ),
    (
        &[
            "run",
            "--driver",
            "file",
            "--system",
            "a=x",
            "--set",
            "database.dirct=true",
        ],
        &["database.dirct", "`direct`"],
    ),
    (
        &["run", "--driver", "file", "--system", "a=no/such/place"],
        &["`a`", "no/such/place", "exists"],
    ),
    (
        &["run", "--driver", "file", "--system", "a=/dev/no-such-disk"],
        &["`a`", "no block device `/dev/no-such-disk`"],
    ),
    (
        &["run", "micron-7400-rocksdb", "--scale", "0.00001"],
        &[
            "places in this plan are examples",
            "--system \"Micron 7400=WHERE\" --system \"Micron 7300=WHERE\"",
        ],
    ),
    (
        &[
            "run",
            "micron-7450-rocksdb",
            "--set",
            "system.\"Device A\".path=a",
        ],
        &["=WHERE", "\"Device B=WHERE\""],
    ),
    (
        &[
            "run",
            "--driver",
            "file",
            "--system",
            "a=x",
            "--records",
            "1T",
        ],
        &["`a`", "free"],
    ),
    (
        &["report", "nothing", "-o", "page"],
        &["no study in `nothing`"],
    ),
    (
        &["export", "nothing", "--format", "csv"],
        &["no study in `nothing`"],
    ),
    (
        &["export", "nothing", "--format", "xml"],
        &["xml", "json", "csv", "hlog"],
    ),
    (&["list", "driver"], &["driver", "drivers"]),
    (&["runn"], &["runn", "run"]),
    (&[], &["Usage"]),
];

/// A run of the driver that does nothing.
const RUN: &[&str] = &["run", "--driver", "null", "--system", "a=x"];

/// The same for what follows [`RUN`].
const REFUSED_FLAGS: &[(&[&str], &[&str])] = &[
    (
        &["--probe", "cpu", "--probe", "nvme"],
        &["machine.probes", "`nvme`", "nvme-smart", "none"],
    ),
    (&["--system", "a=y"], &["[[system]]", "`a`", "unique"]),
    (&["--threads", "0"], &["--threads", "`0`", "1 to 1,024"]),
    (&["--threads", "1,2000"], &["--threads", "1,2000"]),
    (&["--records", "0"], &["--records", "`0`", "from 1 to"]),
    (&["--records", "ten"], &["--records", "`ten`", "`100k`"]),
    (&["--duration", "5"], &["--duration", "`5`", "its unit"]),
    (&["--rate", "-1"], &["--rate"]),
    (
        &["--workload", "ycsb-x"],
        &["--workload", "ycsb-x", "ycsb-a"],
    ),
    (
        &["--distribution", "zipf"],
        &["--distribution", "zipf", "uniform"],
    ),
    (&["--scale", "0"], &["--scale", "`0`"]),
    (&["--set", "sweep.thread=1"], &["sweep.thread", "`threads`"]),
    (&["--set", "records"], &["KEY=VALUE"]),
];

#[test]
fn what_is_wrong_is_said_once_and_nothing_is_measured() {
    let all = REFUSED.iter().map(|(args, words)| (args.to_vec(), words));
    let flags = REFUSED_FLAGS.iter();
    let flags = flags.map(|(flags, words)| ([RUN, flags].concat(), words));
    for (args, words) in all.chain(flags) {
        let dir = TempDir::new().unwrap();
        let run = TAILMARK.run(dir.path(), &args);
        let said = err(&run);
        assert_eq!(run.status.code(), Some(2), "{args:?}: {said}");
        assert!(out(&run).is_empty(), "{args:?}");
        assert!(
            said.matches("error:").count() <= 1 && !said.contains("panicked"),
            "{said}"
        );
        for word in *words {
            assert!(said.contains(word), "{args:?}: {said}lacks {word}");
        }
        assert!(!said.contains("ops/s"), "{args:?}: {said}");
    }
}

#[test]
fn a_plan_that_is_not_toml_is_refused_with_its_line() {
    let dir = TempDir::new().unwrap();
    std::fs::write(
        dir.path().join("p.toml"),
        "[sweep]\nthreads = [1,\n\n[host\n",
    )
    .unwrap();
    let run = TAILMARK.run(dir.path(), &["run", "p.toml"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(
        err(&run).starts_with("error: p.toml, line "),
        "{}",
        err(&run)
    );
}

#[test]
fn a_data_set_of_other_parameters_is_refused() {
    let dir = TempDir::new().unwrap();
    let run = |records: &str, out: &str| {
        let args = [
            "run",
            "--driver",
            "file",
            "--system",
            "a=data",
            "--records",
            records,
            "--threads",
            "1",
            "--workload",
            "ycsb-c",
            "--operations",
            "100",
            "--warmup",
            "0s",
            "-o",
            out,
        ];
        TAILMARK.run(dir.path(), &args)
    };
    let first = run("100", "one");
    assert_eq!(first.status.code(), Some(0), "{}", err(&first));
    let other = run("200", "two");
    assert_eq!(other.status.code(), Some(2), "{}", err(&other));
    assert!(
        err(&other).contains("records is `200`, was `100`"),
        "{}",
        err(&other)
    );
}

#[test]
fn words_of_the_command_line_are_quoted_so_that_no_terminal_obeys_them() {
    let dir = TempDir::new().unwrap();
    let said = TAILMARK.run(dir.path(), &["run", "--seed", "\u{202e}7\u{9b}2J\u{1b}[1m"]);
    assert_eq!(said.status.code(), Some(2));
    let said = err(&said);
    assert!(said.contains("--seed"), "{said}");
    let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!said.contains(obeyed), "{said:?}");
}

#[test]
fn a_file_that_is_called_like_a_shipped_plan_is_found_by_its_path_alone() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("quickstart"), "title = 'planted'\n").unwrap();
    let shipped = TAILMARK.run(dir.path(), &["run", "quickstart", "--dry-run"]);
    assert_eq!(shipped.status.code(), Some(0), "{}", err(&shipped));
    let planted = TAILMARK.run(dir.path(), &["run", "./quickstart", "--dry-run"]);
    assert_eq!(planted.status.code(), Some(2), "{}", err(&planted));
}
