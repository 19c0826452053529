//! What a dry run says.

use super::{SYSTEM, plan};
use crate::plan::{Facts, SystemFacts, dry_run};
use std::path::Path;

#[test]
fn a_dry_run_says_that_a_limit_was_not_scaled_as_far_as_the_data() {
    let plan = plan(&format!(
        "scale = 0.0002\n{SYSTEM}[host]\nmemory_limit = '256GB'"
    ));
    let lines = dry_run(&plan, Path::new("out"), &Facts::default()).join("\n");
    assert!(lines.contains("host.memory_limit is 512.0 MiB"), "{lines}");
}

#[test]
fn a_dry_run_names_every_step_with_time_and_space() {
    let text = format!(
        "{SYSTEM}[[system]]\nname = 'b'\n[sweep]\nworkloads = ['ycsb-a', 'ycsb-c']\n\
         threads = [1, 4]\nduration = '9s'\nwarmup = '1s'\nrate = 5000\n[host]\nmemory_limit = '1GiB'"
    );
    let facts = Facts {
        systems: vec![
            SystemFacts {
                points_kept: 4,
                ..SystemFacts::default()
            },
            SystemFacts::default(),
        ],
        can_drop_caches: true,
        memory: 8 << 30,
    };
    let lines = dry_run(&plan(&text), Path::new("out"), &facts).join("\n");
    for part in [
        "2 systems x 2 workloads x 2 thread counts: 8 points in all",
        "study and report in out",
        "limit the memory of the run to 1.0 GiB of 8.0 GiB",
        "keep 4 points of an earlier run",
        "run ycsb-a (zipfian) with 1, 4 threads",
        "run ycsb-c (zipfian) with 1, 4 threads",
        "drop the caches of the machine",
        "warm up for 1s",
        "measure 9s, at 5,000 ops/s over all clients",
        "time: 4 points, 40s in all",
    ] {
        assert!(lines.contains(part), "{lines}\nlacks {part}");
    }
}

#[test]
fn a_dry_run_tells_what_each_place_must_hold() {
    if tailmark_driver::db::find("file").is_err() {
        return;
    }
    let plan = plan(
        "[database]\ndriver = 'file'\n[dataset]\nrecords = '1M'\n[sweep]\noperations = '1M'\n\
         [[system]]\nname = 'a'\npath = '/x'",
    );
    let known = SystemFacts {
        available: Some(1 << 20),
        ..SystemFacts::default()
    };
    let facts = Facts {
        systems: vec![known],
        ..Facts::default()
    };
    let lines = dry_run(&plan, Path::new("out"), &facts).join("\n");
    for part in [
        "load 1,000,000 records of 4 x 1,024 B with 16 threads",
        "drop the cached pages of the database's files (not root)",
        "measure 1,000,000 operations, as fast as the clients can",
        "3 points of 1,000,000 operations each",
        "1.0 MiB are free: TOO LITTLE",
        "at 100 MB/s",
    ] {
        assert!(lines.contains(part), "{lines}\nlacks {part}");
    }
}

#[test]
fn a_dry_run_of_a_server_names_its_service_and_does_not_ask_it() {
    if tailmark_driver::db::find("cassandra").is_err() {
        return;
    }
    let plan = plan(
        "[database]\ndriver = 'cassandra'\n[sweep]\nready_timeout = '3m'\n[[system]]\n\
         name = 'a'\nhosts = '127.0.0.1:1'\nservice = { systemd = 'cassandra-a' }",
    );
    let facts = Facts::gather(&plan, Path::new("out"));
    assert_eq!(facts.systems[0].refusal, None);
    let text = dry_run(&plan, Path::new("out"), &facts).join("\n");
    let mut rest = text.as_str();
    for part in [
        ", unless the server has them",
        "stop the service: systemctl stop cassandra-a",
        "caches",
        "start the service: systemctl start cassandra-a",
        "wait until the server answers, 3m at most",
        "open the database",
    ] {
        let (_, behind) = rest
            .split_once(part)
            .unwrap_or_else(|| panic!("{text}\nlacks {part}"));
        rest = behind;
    }
    assert!(!text.contains("space:"), "{text}");
}
