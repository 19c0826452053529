//! Servers that are killed: in a load, in a point, between points, and one of a cluster.

use crate::{
    TAILMARK,
    own::{Server, has_finding, plan_with_services, start, turn, until},
};
use std::{
    io::{BufRead, BufReader},
    net::TcpStream,
    thread::sleep,
    time::{Duration, Instant},
};
use tailmark_testing::{err, test};
use tempfile::TempDir;

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
    let _turn = turn();
    let server = Server::new(9242);
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
    assert_eq!(ended.status.code(), Some(1), "{}", err(&ended));
    assert!(
        err(&ended).contains("did not answer within 40s"),
        "{}",
        err(&ended)
    );
    let kept = TAILMARK.points(dir.path());
    assert_eq!(kept.len(), 1, "{}", err(&ended));
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

    // The first point is in the study, and failed.
    let ended = TAILMARK.run(dir.path(), &command);
    assert_eq!(ended.status.code(), Some(3), "{}", err(&ended));
    let points = TAILMARK.points(dir.path());
    assert_eq!(points.len(), 2, "{}", err(&ended));
    assert_eq!(points[1]["errors"], 0, "{}", points[1]);
}

#[test]
fn a_server_that_is_gone_while_it_is_loaded_and_between_points_is_awaited() {
    let _turn = turn();
    let server = Server::new(9245);
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
    // It is made when every system was found ready; the load, which takes far longer, follows.
    until("the study was made", || {
        dir.path().join("out/study.sqlite").exists()
    });
    sleep(Duration::from_secs(5));
    server.act("kill");
    server.act("start");
    let told = |what: &str, lines: &mut dyn Iterator<Item = std::io::Result<String>>| {
        let mut before = Vec::new();
        for line in lines.map(Result::unwrap) {
            if line.contains(what) {
                return;
            }
            before.push(line);
        }
        panic!("{what} was not told, but {before:#?}");
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
    let _turn = turn();
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
             [[system]]\nname = 'both'\nhosts = '{},127.0.0.2:9246'\n",
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
