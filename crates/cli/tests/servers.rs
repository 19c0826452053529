//! Whole sweeps on servers that are really there. Those of Cassandra need Java and Maven and start
//! one of their own where `TEST_CASSANDRA` is set; otherwise they say that they were skipped.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test that cannot be set up has failed, and says so"
)]

use serde_json::Value;
use std::{
    env,
    io::{BufRead, BufReader},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Mutex, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tailmark");

/// Servers of a test's own take turns: several at once would make each other late.
static TURN: Mutex<()> = Mutex::new(());

/// A Cassandra of a test's own; ended and removed with it.
struct Server {
    dir: TempDir,
    port: u16,
    /// What else is set for its script.
    settings: &'static str,
}

impl Server {
    /// Not started yet; none where servers are not to be started.
    fn new(port: u16) -> Option<Self> {
        if env::var_os("TEST_CASSANDRA").is_none() {
            eprintln!("skipped: TEST_CASSANDRA is not set");
            return None;
        }
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Some(Self {
            dir,
            port,
            settings: "",
        })
    }

    fn script() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cassandra/server")
    }

    /// The words of a shell that does something with it.
    fn shell(&self, action: &str) -> String {
        let (dir, port, settings) = (self.dir.path().display(), self.port, self.settings);
        format!(
            "{settings} CASSANDRA_DIR={dir} CASSANDRA_PORT={port} {} {action}",
            Self::script().display()
        )
    }

    fn act(&self, action: &str) {
        let status = Command::new("sh")
            .args(["-c", &self.shell(action)])
            .status()
            .unwrap();
        assert!(status.success(), "{action}");
    }

    fn hosts(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// How often it has seen another node come up since it was started.
    fn saw_others(&self) -> usize {
        let log = std::fs::read_to_string(self.dir.path().join("server.log")).unwrap();
        log.matches("is now UP").count()
    }

    /// Which process it is; none where it was stopped.
    fn pid(&self) -> Option<String> {
        let pid = std::fs::read_to_string(self.dir.path().join("pid")).ok()?;
        (!pid.is_empty()).then_some(pid)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("sh")
            .args(["-c", &self.shell("kill")])
            .status();
    }
}

fn start(dir: &Path, args: &[&str]) -> Child {
    let mut program = Command::new(PROGRAM);
    program
        .args(args)
        .current_dir(dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    program.spawn().unwrap()
}

fn tailmark(dir: &Path, args: &[&str]) -> Output {
    start(dir, args).wait_with_output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn points(dir: &Path) -> Vec<Value> {
    exported(dir, "points")
}

fn exported(dir: &Path, what: &str) -> Vec<Value> {
    let json = tailmark(dir, &["export", "out", "--format", "json"]).stdout;
    let document: Value = serde_json::from_slice(&json).unwrap();
    document[what].as_array().unwrap().clone()
}

fn has_finding(point: &Value, code: &str) -> bool {
    point["findings"]
        .as_array()
        .unwrap()
        .iter()
        .any(|finding| finding["code"] == code)
}

/// Runs YCSB's workloads on a server of this driver, and returns what was measured.
fn sweep(driver: &str, hosts: &str, settings: &[&str], workloads: &str) -> Vec<Value> {
    let dir = TempDir::new().unwrap();
    let system = format!("server={hosts}");
    let command = |records: &str, out: &str| {
        let mut words = vec![
            "run",
            "--driver",
            driver,
            "--system",
            &system,
            "--records",
            records,
        ];
        words.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        words.extend([
            "--workload",
            workloads,
            "--threads",
            "1,20",
            "--operations",
            "1000",
        ]);
        words.extend(["--warmup", "0s", "-o", out]);
        tailmark(dir.path(), &words)
    };
    let run = command("2k", "out");
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    let points = points(dir.path());
    // Another run directory finds the data set by its marker, and refuses to take it for another.
    let refused = command("3k", "other");
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(
        said(&refused).contains("records is `3000`, was `2000`"),
        "{}",
        said(&refused)
    );
    points
}

#[test]
fn ycsb_a_to_f_run_on_cassandra_without_an_error_or_a_miss() {
    let Ok(hosts) = env::var("TEST_CASSANDRA") else {
        eprintln!("skipped: TEST_CASSANDRA is not set");
        return;
    };
    let keyspace = format!("database.keyspace=sweep_{}", std::process::id());
    let all = "ycsb-a,ycsb-b,ycsb-c,ycsb-d,ycsb-e,ycsb-f";
    let points = sweep("cassandra", &hosts, &[&keyspace], all);
    assert_eq!(points.len(), 12);
    for point in points {
        assert_eq!(
            (&point["operations"], &point["errors"]),
            (&1000.into(), &0.into()),
            "{point}"
        );
        for (name, kind) in point["kinds"].as_object().unwrap() {
            assert_eq!(kind["not_found"], 0, "{name} of {}", point["workload"]);
        }
    }
}

#[test]
fn ycsb_a_b_c_d_f_run_on_aerospike_without_an_error() {
    let Ok(hosts) = env::var("TEST_AEROSPIKE") else {
        eprintln!("skipped: TEST_AEROSPIKE is not set");
        return;
    };
    let set = format!("database.set=sweep_{}", std::process::id());
    let mut points = sweep(
        "aerospike",
        &hosts,
        &["database.namespace=test", &set],
        "ycsb-a,ycsb-b,ycsb-c,ycsb-d,ycsb-f",
    );
    assert_eq!(points.len(), 10);
    points.retain(|point| point["errors"] != 0 || point["operations"] != 1000);
    assert!(points.is_empty(), "{points:?}");
}

/// A plan of systems behind one address, whose services are these.
fn plan_with_services(sweep: &str, systems: &[(&str, &Server, &str)]) -> String {
    let head = format!(
        "[database]\ndriver = 'cassandra'\nrequest_timeout_ms = 2000\n[dataset]\nrecords = 500\n\
         [sweep]\nwarmup = '0s'\n{sweep}\n"
    );
    let system = |(name, server, start): &(&str, &Server, &str)| {
        format!(
            "[[system]]\nname = '{name}'\nhosts = ['{}']\npath = '{}'\n\
             service = {{ start = '{start}', stop = '{}' }}\n",
            server.hosts(),
            server.dir.path().display(),
            server.shell("stop"),
        )
    };
    systems
        .iter()
        .map(system)
        .fold(head, |plan, system| plan + &system)
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        sleep(Duration::from_millis(100));
    }
}

/// Lets a run get into the point that follows when its service was restarted, then kills that.
fn kill_in_mid_run(server: &Server, pid_before: &str) -> String {
    until("the service was restarted", || {
        server.pid().is_some_and(|pid| pid != pid_before)
            && TcpStream::connect(server.hosts()).is_ok()
    });
    sleep(Duration::from_secs(6));
    let killed = server.pid().unwrap();
    server.act("kill");
    killed
}

#[test]
fn a_point_whose_server_was_killed_is_kept_when_it_is_back_and_measured_again_otherwise() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(server) = Server::new(9242) else {
        return;
    };
    let dir = TempDir::new().unwrap();
    let sweep = "workloads = ['ycsb-a']\nthreads = [2, 4]\nduration = '25s'\nready_timeout = '40s'";
    let service = [("server", &server, &*server.shell("start"))];
    std::fs::write(
        dir.path().join("plan.toml"),
        plan_with_services(sweep, &service),
    )
    .unwrap();
    let command = ["run", "plan.toml", "-o", "out"];

    let run = start(dir.path(), &command);
    let mut loader = None;
    until("the server that is loaded was started", || {
        loader = server.pid();
        loader.is_some()
    });
    let killed = kill_in_mid_run(&server, &loader.unwrap());
    // Longer than a phase goes on without an answer.
    sleep(Duration::from_secs(12));
    server.act("start");
    let back = server.pid().unwrap();
    // The first point was kept, and the service is restarted for the second; that one stays away.
    until("the sweep went on", || {
        server.pid().is_some_and(|pid| pid != back)
    });
    kill_in_mid_run(&server, &back);
    let lost = Instant::now();
    let ended = run.wait_with_output().unwrap();
    let took = lost.elapsed();
    assert!(took < Duration::from_secs(75), "{took:?}");
    assert_eq!(ended.status.code(), Some(1), "{}", said(&ended));
    assert!(
        said(&ended).contains("did not answer within 40s"),
        "{}",
        said(&ended)
    );
    let kept = points(dir.path());
    assert_eq!(kept.len(), 1, "{}", said(&ended));
    let hurt = &kept[0];
    assert!(
        has_finding(hurt, "no-answer") && has_finding(hurt, "errors"),
        "{hurt}"
    );
    assert!(hurt["errors"].as_u64().unwrap() > 100, "{hurt}");
    let causes = hurt["errors_by_cause"].as_array().unwrap();
    assert!(
        causes.iter().any(|error| error["cause"] == "connection"),
        "{hurt}"
    );
    assert!(
        hurt["kinds"]["read"]["count"].as_u64().unwrap() > 0,
        "{hurt}"
    );
    assert_ne!(killed, back);

    let ended = tailmark(dir.path(), &command);
    assert_eq!(ended.status.code(), Some(0), "{}", said(&ended));
    let points = points(dir.path());
    assert_eq!(points.len(), 2, "{}", said(&ended));
    assert_eq!(points[1]["errors"], 0, "{}", points[1]);
}

#[test]
fn a_server_that_is_gone_while_it_is_loaded_and_between_points_is_awaited() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(server) = Server::new(9245) else {
        return;
    };
    server.act("start");
    let dir = TempDir::new().unwrap();
    let plan = format!(
        "[database]\ndriver = 'cassandra'\nrequest_timeout_ms = 2000\n[dataset]\nrecords = 40000\n\
         [sweep]\nworkloads = ['ycsb-b']\nthreads = [2, 4]\nduration = '12s'\nwarmup = '0s'\n\
         load_threads = 1\nready_timeout = '90s'\n[[system]]\nname = 'server'\nhosts = '{}'\n",
        server.hosts()
    );
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let mut run = start(dir.path(), &["run", "plan.toml", "-o", "out"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    until("the table was made", || {
        let tables = std::fs::read_dir(server.dir.path().join("data/ycsb"));
        tables.is_ok_and(|mut tables| tables.next().is_some())
    });
    sleep(Duration::from_secs(2));
    server.act("kill");
    server.act("start");
    let told = |what: &str, lines: &mut dyn Iterator<Item = std::io::Result<String>>| {
        let told = lines.map(Result::unwrap).find(|line| line.contains(what));
        assert!(told.is_some(), "{what}");
    };
    told("loading failed", &mut lines);
    told("loaded", &mut lines);
    // Too late in the first point for it to be ended for want of answers.
    sleep(Duration::from_secs(5));
    server.act("kill");
    told("[1/2]", &mut lines);
    sleep(Duration::from_secs(3));
    server.act("start");
    told("[2/2]", &mut lines);
    // All was measured, and requests failed.
    assert_eq!(run.wait().unwrap().code(), Some(3));

    let loads = exported(dir.path(), "loads");
    assert!(has_finding(&loads[0], "load-resumed"), "{}", loads[0]);
    let points = points(dir.path());
    assert!(points[0]["errors"].as_u64().unwrap() > 0, "{}", points[0]);
    assert!(!has_finding(&points[0], "no-answer"), "{}", points[0]);
    assert_eq!(points[1]["errors"], 0, "{}", points[1]);
    for point in &points {
        assert_eq!(point["kinds"]["read"]["not_found"], 0, "{point}");
    }
}

#[test]
fn two_systems_behind_one_address_are_served_one_after_the_other() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(first), Some(second)) = (Server::new(9243), Server::new(9243)) else {
        return;
    };
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("plan.toml");
    let sweep = "workloads = ['ycsb-c']\nthreads = [2]\noperations = 500\nready_timeout = '2m'";
    let bad = [("first", &first, "echo no such luck; exit 3")];
    std::fs::write(&file, plan_with_services(sweep, &bad)).unwrap();
    let failed = tailmark(dir.path(), &["run", "plan.toml", "-o", "failed"]);
    assert_eq!(failed.status.code(), Some(1), "{}", said(&failed));
    assert!(
        said(&failed).contains("its log ends:\nno such luck"),
        "{}",
        said(&failed)
    );

    // A sweep that was killed may have left the service of any system running.
    second.act("start");
    let left_over = second.pid();
    let both = [
        ("first", &first, &*first.shell("start")),
        ("second", &second, &*second.shell("start")),
    ];
    std::fs::write(&file, plan_with_services(sweep, &both)).unwrap();
    let run = tailmark(dir.path(), &["run", "plan.toml", "-o", "out"]);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    let points = points(dir.path());
    let systems: Vec<_> = points.iter().map(|point| &point["system"]).collect();
    assert_eq!(systems, ["first", "second"]);
    for point in &points {
        assert_eq!(
            (&point["operations"], &point["errors"]),
            (&500.into(), &0.into()),
            "{point}"
        );
        assert_eq!(point["kinds"]["read"]["not_found"], 0, "{point}");
    }
    // Each has data of its own, the first is stopped, and the second was started anew.
    assert!(first.pid().is_none(), "{:?}", first.pid());
    assert!(
        second.pid().is_some() && second.pid() != left_over,
        "{left_over:?}"
    );
    for server in [&first, &second] {
        assert!(server.dir.path().join("data/ycsb").is_dir());
    }
}

#[test]
fn a_server_that_encrypts_and_asks_for_a_password_is_run_on_with_both_and_refused_without() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut server) = Server::new(9244) else {
        return;
    };
    server.settings = "CASSANDRA_SECURE=1";
    server.act("start");
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("right"), "cassandra\n").unwrap();
    std::fs::write(dir.path().join("wrong"), "sesame\n").unwrap();
    let certificate = server.dir.path().join("ca.pem");
    let run = |user: &str, password: &str, tls: &str| {
        let plan = format!(
            "[database]\ndriver = 'cassandra'\nconnect_timeout_ms = 3000\n{user}{password}{tls}\n\
             [dataset]\nrecords = 500\n[sweep]\nworkloads = ['ycsb-a']\nthreads = [2]\n\
             operations = 500\nwarmup = '0s'\n[[system]]\nname = 'server'\nhosts = '{}'\n",
            server.hosts()
        );
        std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
        tailmark(dir.path(), &["run", "plan.toml", "-o", "out"])
    };
    let user = "user = 'cassandra'\n";
    let tls = format!("tls = true\ntls_ca = '{}'\n", certificate.display());
    for (user, password, tls, expected) in [
        ("", "", &*tls, "wants a `user`"),
        (user, "password_file = 'wrong'\n", &*tls, "incorrect"),
        (user, "password_file = 'right'\n", "", "failed to open"),
        (
            user,
            "password_file = 'right'\n",
            "tls = true\n",
            "certificate",
        ),
    ] {
        let refused = run(user, password, tls);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains(expected), "{}", said(&refused));
    }
    let ran = run(user, "password_file = 'right'\n", &tls);
    assert_eq!(ran.status.code(), Some(0), "{}", said(&ran));
    let points = points(dir.path());
    assert_eq!(points[0]["errors"], 0, "{}", points[0]);
}

#[test]
fn a_cluster_that_lost_a_node_is_measured_where_the_consistency_allows_it_and_says_so() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(first), Some(mut second)) = (Server::new(9246), Server::new(9246)) else {
        return;
    };
    second.settings = "CASSANDRA_ADDRESS=127.0.0.2 CASSANDRA_SEED=127.0.0.1";
    first.act("start");
    let start_second = || {
        let seen = first.saw_others();
        second.act("start");
        // A node that is up is asked only when the other has heard of it.
        until("the nodes know of each other", || {
            first.saw_others() > seen && second.saw_others() > 0
        });
    };
    start_second();
    let dir = TempDir::new().unwrap();
    let run = |consistency: &str| {
        let plan = format!(
            "[database]\ndriver = 'cassandra'\nreplication = 2\nrequest_timeout_ms = 2000\n\
             read_consistency = '{consistency}'\nwrite_consistency = '{consistency}'\n\
             [dataset]\nrecords = 2000\n[sweep]\nworkloads = ['ycsb-a', 'ycsb-e']\n\
             threads = [4]\noperations = 1000\nwarmup = '0s'\nready_timeout = '20s'\n\
             [[system]]\nname = 'both'\nhosts = '{},127.0.0.2:9246'\n",
            first.hosts()
        );
        std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
        tailmark(dir.path(), &["run", "plan.toml", "-o", "out"])
    };

    let whole = run("quorum");
    assert_eq!(whole.status.code(), Some(0), "{}", said(&whole));
    for point in points(dir.path()) {
        assert_eq!(point["errors"], 0, "{point}");
        assert!(!has_finding(&point, "nodes-down"), "{point}");
        assert!(!has_finding(&point, "misses"), "{point}");
    }

    second.act("kill");
    // The other one takes its time to call it down.
    sleep(Duration::from_secs(15));
    std::fs::rename(dir.path().join("out"), dir.path().join("whole")).unwrap();
    let hurt = run("one");
    assert_eq!(hurt.status.code(), Some(0), "{}", said(&hurt));
    for point in points(dir.path()) {
        assert!(has_finding(&point, "nodes-down"), "{point}");
    }
    std::fs::rename(dir.path().join("out"), dir.path().join("hurt")).unwrap();
    // Until the other node has called it down, it is asked in vain.
    let refused = |_| {
        let refused = run("quorum");
        assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
        said(&refused)
    };
    let is_called_down = |why: String| why.contains("Not enough nodes are alive");
    assert!((0..30).map(refused).any(is_called_down));

    start_second();
    let went_on = run("quorum");
    assert_eq!(went_on.status.code(), Some(0), "{}", said(&went_on));
    let points = points(dir.path());
    assert_eq!(points.len(), 2, "{}", said(&went_on));
}
