//! Servers that are killed: in a load, in a point, between points, and one of a cluster.

use crate::{
    TAILMARK,
    own::{Run, Server, has_finding, plan_with_services, until},
};
use std::{
    thread::sleep,
    time::{Duration, Instant},
};
use tailmark_testing::{err, test};
use tempfile::TempDir;

#[test]
fn a_point_whose_server_was_killed_is_kept_when_it_is_back_and_measured_again_otherwise() {
    let server = Server::new(9242);
    let dir = TempDir::new().unwrap();
    let sweep = "workloads = ['ycsb-a']\nthreads = [2, 4]\nduration = '25s'\nready_timeout = '60s'";
    let service = [("server", &server, &*server.shell("start"))];
    std::fs::write(
        dir.path().join("plan.toml"),
        plan_with_services(sweep, &service),
    )
    .unwrap();

    let run = Run::start(dir.path());
    run.until("measuring", 0);
    server.act("kill");
    // Longer than a phase goes on without an answer.
    sleep(Duration::from_secs(12));
    server.act("start");
    let back = server.pid();
    // The first point was kept, and the service is restarted for the second; that one stays away.
    run.until("measuring", 1);
    assert_ne!(server.pid(), back);
    server.act("kill");
    let lost = Instant::now();
    let (code, said) = run.end();
    let took = lost.elapsed();
    assert!(took < Duration::from_secs(180), "{took:?}");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("did not answer within 1m"), "{said}");
    let kept = TAILMARK.points(dir.path());
    assert_eq!(kept.len(), 1, "{said}");
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

    // The first point is in the study, and failed.
    let ended = TAILMARK.run(dir.path(), &["run", "plan.toml", "-o", "out"]);
    assert_eq!(ended.status.code(), Some(3), "{}", err(&ended));
    let points = TAILMARK.points(dir.path());
    assert_eq!(points.len(), 2, "{}", err(&ended));
    assert_eq!(points[1]["errors"], 0, "{}", points[1]);
}

#[test]
fn a_server_that_is_gone_while_it_is_loaded_and_between_points_is_awaited() {
    let server = Server::new(9245);
    server.act("start");
    let dir = TempDir::new().unwrap();
    let plan = format!(
        "[database]\ndriver = 'cassandra'\nrequest_timeout_ms = 2000\n[dataset]\nrecords = 40000\n\
         [sweep]\nworkloads = ['ycsb-b']\nthreads = [2, 4]\nduration = '12s'\nwarmup = '0s'\n\
         load_threads = 1\nready_timeout = '90s'\n[[system]]\nname = 'server'\ncontact_points = '{}'\n",
        server.hosts()
    );
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let mut run = Run::start(dir.path());
    run.until("loading", 0);
    server.act("kill");
    server.act("start");
    run.until_said("loading failed");
    run.until_said("loaded");
    // Too late in the first point for it to be ended for want of answers.
    run.until("measuring", 0);
    server.act("kill");
    run.until_said("[1/2]");
    sleep(Duration::from_secs(3));
    server.act("start");
    run.until_said("[2/2]");
    // All was measured, and requests failed.
    let (code, said) = run.end();
    assert_eq!(code, Some(3), "{said}");

    let loads = TAILMARK.exported(dir.path(), "loads");
    assert!(has_finding(&loads[0], "load-resumed"), "{}", loads[0]);
    let points = TAILMARK.points(dir.path());
    assert!(points[0]["errors"].as_u64().unwrap() > 0, "{}", points[0]);
    assert!(!has_finding(&points[0], "no-answer"), "{}", points[0]);
    assert_eq!(points[1]["errors"], 0, "{}", points[1]);
    for point in &points {
        assert_eq!(point["kinds"]["read"]["not_found"], 0, "{point}");
    }
}

#[test]
fn a_cluster_that_lost_a_node_is_measured_where_the_consistency_allows_it_and_says_so() {
    let (first, mut second) = (Server::new(9246), Server::new(9246));
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
             [[system]]\nname = 'both'\ncontact_points = '{},127.0.0.2:9246'\n",
            first.hosts()
        );
        std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
        TAILMARK.run(dir.path(), &["run", "plan.toml", "-o", "out"])
    };

    let whole = run("quorum");
    assert_eq!(whole.status.code(), Some(0), "{}", err(&whole));
    for point in TAILMARK.points(dir.path()) {
        assert_eq!(point["errors"], 0, "{point}");
        assert!(!has_finding(&point, "nodes-down"), "{point}");
        assert!(!has_finding(&point, "misses"), "{point}");
    }

    second.act("kill");
    // The other one takes its time to call it down.
    sleep(Duration::from_secs(15));
    std::fs::rename(dir.path().join("out"), dir.path().join("whole")).unwrap();
    let hurt = run("one");
    assert_eq!(hurt.status.code(), Some(0), "{}", err(&hurt));
    for point in TAILMARK.points(dir.path()) {
        assert!(has_finding(&point, "nodes-down"), "{point}");
    }
    std::fs::rename(dir.path().join("out"), dir.path().join("hurt")).unwrap();
    // Until the other node has called it down, it is asked in vain.
    let refused = |_| {
        let refused = run("quorum");
        assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
        err(&refused)
    };
    let is_called_down = |why: String| why.contains("Not enough nodes are alive");
    assert!((0..30).map(refused).any(is_called_down));

    start_second();
    let went_on = run("quorum");
    assert_eq!(went_on.status.code(), Some(0), "{}", err(&went_on));
    let points = TAILMARK.points(dir.path());
    assert_eq!(points.len(), 2, "{}", err(&went_on));
}
