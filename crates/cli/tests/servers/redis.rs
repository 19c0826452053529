//! Whole runs on Redis: YCSB A to F, a server that is killed in a point, a second run, data of
//! others, and `clean`.

use crate::{TAILMARK, own::Run};
use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use tailmark_testing::{assert_says, err, out, resp, server, test};
use tempfile::TempDir;

/// A server of a test's own; ended and removed with it.
struct OwnServer {
    dir: TempDir,
    port: u16,
}

impl OwnServer {
    /// Not started yet. The ports from 6401 on belong to this file; those below to the contract
    /// tests, which run beside it.
    fn new(port: u16) -> Self {
        // Where there is none at all, none can be started either.
        let _ = server("redis");
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { dir, port }
    }

    /// The words of a shell that does something with it.
    fn shell(&self, action: &str) -> String {
        let script: PathBuf =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/redis/server");
        format!(
            "REDIS_DIR={}/server REDIS_PORT={} {} {action}",
            self.dir.path().display(),
            self.port,
            script.display()
        )
    }

    fn act(&self, action: &str) {
        let status = Command::new("sh")
            .args(["-c", &self.shell(action)])
            .status();
        assert!(status.unwrap().success(), "{action}");
    }

    fn hosts(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A plan whose service is this server.
    fn plan(&self, sweep: &str) -> String {
        format!(
            "[database]\ndriver = 'redis'\nrequest_timeout_ms = 2000\n[dataset]\nrecords = 500\n\
             [sweep]\nworkloads = ['ycsb-a']\nwarmup = '0s'\n{sweep}\n[[system]]\nname = 'server'\n\
             contact_points = ['{}']\npath = '{}'\nservice = {{ start = '{}', stop = '{}' }}\n",
            self.hosts(),
            self.dir.path().display(),
            self.shell("start"),
            self.shell("stop"),
        )
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        self.act("kill");
    }
}

/// A run on a logical database of the server of all tests.
fn run(dir: &Path, hosts: &str, database: u32, more: &[&str]) -> std::process::Output {
    let system = format!("server={hosts}");
    let set = format!("database.database={database}");
    let words = [
        "run", "--driver", "redis", "--system", &system, "--set", &set,
    ];
    let small = ["--records", "1k", "--operations", "500", "--threads", "2"];
    TAILMARK.run(
        dir,
        &[&words[..], &small, &["--warmup", "0s"], more].concat(),
    )
}

fn keys(hosts: &str, database: u32) -> usize {
    resp(hosts, database, &["KEYS", "*"]).len()
}

#[test]
fn a_load_ends_if_another_program_makes_keys_that_it_could_evict() {
    let server = OwnServer::new(6401);
    server.act("start");
    let hosts = server.hosts();
    for (name, value) in [("maxmemory", "100mb"), ("maxmemory-policy", "volatile-lru")] {
        assert_eq!(resp(&hosts, 0, &["CONFIG", "SET", name, value]), ["OK"]);
    }
    let dir = TempDir::new().unwrap();
    let plan = format!(
        "[database]\ndriver = 'redis'\n[dataset]\nrecords = 100_000\nload_rate = 500\n[sweep]\n\
         workloads = ['ycsb-c']\noperations = 1_000\nwarmup = '0s'\n[[system]]\nname = 'server'\n\
         contact_points = ['{hosts}']\n"
    );
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let run = Run::start(dir.path());
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while keys(&hosts, 0) < 10 {
        assert!(std::time::Instant::now() < deadline, "nothing is loaded");
        std::thread::sleep(Duration::from_millis(100));
    }
    let set = resp(&hosts, 1, &["SET", "session", "theirs", "EX", "86400"]);
    assert_eq!(set, ["OK"]);
    let (code, said) = run.end();
    // The server is looked at again after the load, and refused.
    assert_eq!(code, Some(2), "{said}");
    assert_says(&said, &["the server evicts keys when its memory is full"]);
    assert_eq!(keys(&hosts, 1), 1);
    assert!(keys(&hosts, 0) < 100_000);
}

#[test]
fn a_redis_that_was_killed_in_a_point_comes_back_with_its_records() {
    let server = OwnServer::new(6402);
    let dir = TempDir::new().unwrap();
    let sweep = "threads = [2, 4]\nduration = '15s'\nready_timeout = '30s'";
    std::fs::write(dir.path().join("plan.toml"), server.plan(sweep)).unwrap();
    let run = Run::start(dir.path());
    run.until("measuring", 0);
    server.act("kill");
    std::thread::sleep(Duration::from_secs(2));
    server.act("start");
    let (code, said) = run.end();
    // By how many of the requests failed.
    assert!(matches!(code, Some(0 | 3)), "{code:?}: {said}");
    let points = TAILMARK.points(dir.path());
    assert_eq!(points.len(), 2, "{said}");
    let hurt = &points[0];
    assert!(hurt["errors"].as_u64().unwrap() > 0, "{hurt}");
    let causes = hurt["errors_by_cause"].as_array().unwrap();
    assert!(
        causes.iter().any(|error| error["cause"] == "connection"),
        "{hurt}"
    );
    assert_eq!(points[1]["errors"], 0, "{}", points[1]);
    for point in &points {
        assert_eq!(point["kinds"]["read"]["not_found"], 0, "{point}");
    }
}

#[test]
fn another_run_finds_the_records_and_clean_removes_them_alone() {
    let (hosts, database) = (server("redis"), 1051);
    assert_eq!(resp(&hosts, database, &["FLUSHDB"]), ["OK"]);
    let dir = TempDir::new().unwrap();
    let planned = run(dir.path(), &hosts, database, &["-o", "out", "--dry-run"]);
    assert_says(
        &out(&planned),
        &["BGSAVE, if the server keeps only snapshots"],
    );
    let first = run(dir.path(), &hosts, database, &["-o", "out"]);
    assert_eq!(first.status.code(), Some(0), "{}", err(&first));
    let again = run(
        dir.path(),
        &hosts,
        database,
        &["-o", "other", "--workload", "ycsb-c"],
    );
    assert_eq!(again.status.code(), Some(0), "{}", err(&again));
    assert!(!err(&again).contains("loading"), "{}", err(&again));
    let _ = resp(&hosts, database, &["SET", "mine", "kept"]);
    assert!(keys(&hosts, database) > 1000);
    let listed = TAILMARK.run(dir.path(), &["clean", "out"]);
    let unlink = format!("at {hosts}: UNLINK the keys that `_indices` of database {database}");
    assert_says(
        &out(&listed),
        &[unlink.as_str(), "DEL tailmark", "add --yes"],
    );
    assert!(keys(&hosts, database) > 1000, "it only lists");
    let removed = TAILMARK.run(dir.path(), &["clean", "out", "--yes"]);
    assert!(removed.status.success(), "{}", err(&removed));
    assert_eq!(resp(&hosts, database, &["KEYS", "*"]), ["mine"]);
}

#[test]
fn a_dry_run_that_the_server_refuses_or_does_not_answer_is_refused() {
    let server = OwnServer::new(6403);
    server.act("start");
    let hosts = server.hosts();
    let set = resp(&hosts, 0, &["CONFIG", "SET", "requirepass", "right"]);
    assert_eq!(set, ["OK"]);
    let dir = TempDir::new().unwrap();
    let secret = dir.path().join("secret");
    std::fs::write(&secret, "wrong\n").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    let login = ["--set", "database.user=default", "--set"];
    let login = [&login[..], &["database.password_file=secret"]].concat();
    let flags = [&login[..], &["-o", "out"]].concat();
    for part in ["Password authentication failed", "Connection refused"] {
        let dry = run(
            dir.path(),
            &hosts,
            0,
            &[&flags[..], &["--dry-run"]].concat(),
        );
        assert_eq!(dry.status.code(), Some(2), "{}", out(&dry));
        let parts = ["sends the server the password in", "cannot be run", part];
        assert_says(&out(&dry), &parts);
        let ran = run(dir.path(), &hosts, 0, &flags);
        assert_eq!(ran.status.code(), Some(2), "{}", err(&ran));
        assert_says(&err(&ran), &[part]);
        server.act("kill");
    }
}

#[test]
fn clean_leaves_records_whose_index_is_gone_and_says_so() {
    let (hosts, database) = (server("redis"), 1054);
    assert_eq!(resp(&hosts, database, &["FLUSHDB"]), ["OK"]);
    let dir = TempDir::new().unwrap();
    let ran = run(dir.path(), &hosts, database, &["-o", "out"]);
    assert_eq!(ran.status.code(), Some(0), "{}", err(&ran));
    assert_eq!(resp(&hosts, database, &["DEL", "_indices"]), ["1"]);
    let before = keys(&hosts, database);
    for words in [&["clean", "out"][..], &["clean", "out", "--yes"]] {
        let cleaned = TAILMARK.run(dir.path(), words);
        assert_eq!(cleaned.status.code(), Some(3), "{}", err(&cleaned));
        assert_says(
            &out(&cleaned),
            &["`_indices`", "is missing", "1000", "may be left at"],
        );
        assert_eq!(keys(&hosts, database), before);
    }
}

#[test]
fn keys_of_others_are_refused_and_records_of_ycsb_are_adopted_as_they_are() {
    let (hosts, database) = (server("redis"), 1052);
    for number in [database, 1053] {
        assert_eq!(resp(&hosts, number, &["FLUSHDB"]), ["OK"]);
    }
    let _ = resp(&hosts, database, &["SET", "mine", "kept"]);
    let dir = TempDir::new().unwrap();
    for flags in [&[][..], &["--into-existing"]] {
        let refused = run(
            dir.path(),
            &hosts,
            database,
            &[&["-o", "out"], flags].concat(),
        );
        assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    }
    assert_eq!(resp(&hosts, database, &["KEYS", "*"]), ["mine"]);
    // Loaded into another database, and stripped of what says that it is tailmark's.
    let loaded = run(dir.path(), &hosts, 1053, &["-o", "loaded"]);
    assert_eq!(loaded.status.code(), Some(0), "{}", err(&loaded));
    assert_eq!(resp(&hosts, 1053, &["DEL", "tailmark"]), ["1"]);
    let before = keys(&hosts, 1053);
    let reads = ["--workload", "ycsb-c", "-o", "adopted"];
    let foreign = run(dir.path(), &hosts, 1053, &reads);
    assert_eq!(foreign.status.code(), Some(2), "{}", err(&foreign));
    assert_says(&err(&foreign), &["--adopt"]);
    let adopted = run(
        dir.path(),
        &hosts,
        1053,
        &[&reads[..], &["--adopt"]].concat(),
    );
    assert_eq!(adopted.status.code(), Some(0), "{}", err(&adopted));
    assert_eq!(keys(&hosts, 1053), before);
    assert_eq!(resp(&hosts, 1053, &["EXISTS", "tailmark"]), ["0"]);
}
