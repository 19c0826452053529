//! YCSB's workloads on a server, and one that encrypts and asks for a password.

use crate::{TAILMARK, own::Server};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use tailmark_testing::{err, resp, server, test};
use tempfile::TempDir;

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
        TAILMARK.run(dir.path(), &words)
    };
    let run = command("2k", "out");
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    let points = TAILMARK.points(dir.path());
    // Another run directory finds the data set by its marker, and refuses to take it for another.
    let refused = command("3k", "other");
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(
        err(&refused).contains("records is `3000`, was `2000`"),
        "{}",
        err(&refused)
    );
    points
}

#[test(cassandra, redis)]
fn ycsb_a_to_f_run_without_an_error_or_a_miss(driver: &str) {
    let hosts = server(driver);
    let place = match driver {
        "redis" => "database.database=1050".to_owned(),
        _ => format!("database.keyspace=sweep_{}", std::process::id()),
    };
    if driver == "redis" {
        assert_eq!(resp(&hosts, 1050, &["FLUSHDB"]), ["OK"]);
    }
    let all = "ycsb-a,ycsb-b,ycsb-c,ycsb-d,ycsb-e,ycsb-f";
    let points = sweep(driver, &hosts, &[&place], all);
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
    let hosts = server("aerospike");
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

#[test]
fn a_server_that_encrypts_and_asks_for_a_password_is_run_on_with_both_and_refused_without() {
    let mut server = Server::new(9244);
    server.settings = "CASSANDRA_SECURE=1";
    server.act("start");
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("right"), "cassandra\n").unwrap();
    std::fs::write(dir.path().join("wrong"), "sesame\n").unwrap();
    for name in ["right", "wrong"] {
        let owner = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(dir.path().join(name), owner).unwrap();
    }
    let certificate = server.dir.path().join("ca.pem");
    let run = |user: &str, password: &str, tls: &str| {
        let plan = format!(
            "[database]\ndriver = 'cassandra'\nconnect_timeout_ms = 10000\n{user}{password}{tls}\n\
             [dataset]\nrecords = 500\n[sweep]\nworkloads = ['ycsb-a']\nthreads = [2]\n\
             operations = 500\nwarmup = '0s'\n[[system]]\nname = 'server'\ncontact_points = '{}'\n",
            server.hosts()
        );
        std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
        TAILMARK.run(dir.path(), &["run", "plan.toml", "-o", "out"])
    };
    let user = "user = 'cassandra'\n";
    let tls = format!("tls = true\ntls_ca = '{}'\n", certificate.display());
    for (login, password, transport, expected) in [
        ("", "", &*tls, "requires `user`"),
        (user, "password_file = 'wrong'\n", &*tls, "incorrect"),
        (user, "password_file = 'right'\n", "", "failed to open"),
        (
            user,
            "password_file = 'right'\n",
            "tls = true\n",
            "certificate",
        ),
    ] {
        let refused = run(login, password, transport);
        assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
        assert!(err(&refused).contains(expected), "{}", err(&refused));
    }
    let ran = run(user, "password_file = 'right'\n", &tls);
    assert_eq!(ran.status.code(), Some(0), "{}", err(&ran));
    let points = TAILMARK.points(dir.path());
    assert_eq!(points[0]["errors"], 0, "{}", points[0]);
}
