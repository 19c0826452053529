//! Systems whose services are started and stopped behind one address.

use crate::{
    TAILMARK,
    own::{Server, plan_with_services},
};
use tailmark_testing::{err, test};
use tempfile::TempDir;

#[test]
fn two_systems_behind_one_address_are_served_one_after_the_other() {
    let (first, second) = (Server::new(9243), Server::new(9243));
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("plan.toml");
    let sweep = "workloads = ['ycsb-c']\nthreads = [2]\noperations = 500\nready_timeout = '2m'";
    let bad = [("first", &first, "echo no such luck; exit 3")];
    std::fs::write(&file, plan_with_services(sweep, &bad)).unwrap();
    let failed = TAILMARK.run(dir.path(), &["run", "plan.toml", "-o", "failed"]);
    assert_eq!(failed.status.code(), Some(1), "{}", err(&failed));
    assert!(
        err(&failed).contains("its log ends:\n  no such luck"),
        "{}",
        err(&failed)
    );

    // A sweep that was killed may have left the service of any system running.
    second.act("start");
    let left_over = second.pid();
    let both = [
        ("first", &first, &*first.shell("start")),
        ("second", &second, &*second.shell("start")),
    ];
    std::fs::write(&file, plan_with_services(sweep, &both)).unwrap();
    let run = TAILMARK.run(dir.path(), &["run", "plan.toml", "-o", "out"]);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    let points = TAILMARK.points(dir.path());
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
    // Each has data of its own, the first is stopped, and the second was started again.
    assert!(first.pid().is_none(), "{:?}", first.pid());
    assert!(
        second.pid().is_some() && second.pid() != left_over,
        "{left_over:?}"
    );
    for server in [&first, &second] {
        assert!(server.dir.path().join("data/ycsb").is_dir());
    }
}
