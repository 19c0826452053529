use super::*;
use crate::findings::{
    all_findings, findings,
    tests::{in_sweep, with_context},
};
use tailmark_model::{Phase, Series, SeriesKind::Counter};
use tailmark_plan::RawPlan;

/// Shares of a machine of 4 processors. What is left over is idle.
#[derive(Clone, Copy, Default)]
struct Recorded {
    client: f64,
    background: f64,
    server: f64,
    others: f64,
    interrupts: f64,
    steal: f64,
}

/// A minute in which these were recorded, as the probes record it.
fn phase(recorded: Recorded) -> Phase {
    let process = recorded.client + recorded.background;
    let programs = process + recorded.server + recorded.others;
    let idle = 1.0 - programs - recorded.interrupts - recorded.steal;
    let counters = [
        ("cpu", "machine", "user_s", 0.7 * programs),
        ("cpu", "machine", "system_s", 0.3 * programs),
        ("cpu", "machine", "softirq_s", recorded.interrupts),
        ("cpu", "machine", "steal_s", recorded.steal),
        ("cpu", "machine", "iowait_s", 0.5 * idle),
        ("cpu", "machine", "idle_s", 0.5 * idle),
        ("process", "process", "user_s", 0.6 * process),
        ("process", "process", "system_s", 0.4 * process),
        ("process", "process", "background_s", recorded.background),
        ("database-process", "java", "user_s", recorded.server),
    ];
    // A database has threads in this process, or its own processes, or neither.
    let counters = counters.into_iter().filter(|(probe, _, name, share)| {
        let is_database = *probe == "database-process" || *name == "background_s";
        !is_database || *share > 0.0
    });
    let series = counters.map(|(probe, subject, name, share)| Series {
        probe: probe.to_owned(),
        subject: subject.to_owned(),
        name: name.to_owned(),
        kind: Counter,
        at_s: vec![0.0, 30.0, 60.0],
        values: vec![7.0, 7.0 + 120.0 * share, 7.0 + 240.0 * share],
    });
    Phase {
        duration_s: 60.0,
        series: series.collect(),
        ..Phase::default()
    }
}

/// The codes and texts of what is found of it.
fn found(driver: &str, phase: Phase) -> Vec<(String, String)> {
    let found = with_context(driver, phase, findings).into_iter();
    found
        .map(|finding| (finding.code.clone(), finding.text()))
        .collect()
}

fn codes(driver: &str, recorded: Recorded) -> Vec<String> {
    let found = found(driver, phase(recorded)).into_iter();
    found.map(|(code, _)| code).collect()
}

const IDLE: Recorded = Recorded {
    client: 0.04,
    background: 0.0,
    server: 0.0,
    others: 0.0,
    interrupts: 0.0,
    steal: 0.0,
};

#[test]
fn clients_are_the_limit_where_their_own_threads_fill_the_processors() {
    for driver in ["null", "file", "rocksdb", "cassandra"] {
        let client = |client| codes(driver, Recorded { client, ..IDLE });
        assert_eq!(client(0.97), ["client-saturated"], "{driver}");
        assert_eq!(client(0.85), [""; 0], "{driver}");
    }
    // Interrupts reduce the time that is left for them.
    let served = Recorded {
        client: 0.78,
        interrupts: 0.16,
        ..IDLE
    };
    assert_eq!(codes("file", served), ["client-saturated"]);
}

#[test]
fn other_programs_disturb_a_point_and_are_no_limit_of_its_clients() {
    for driver in ["null", "file", "rocksdb"] {
        let busy = Recorded {
            client: 0.036,
            others: 0.95,
            ..IDLE
        };
        let found = found(driver, phase(busy));
        let [(code, text)] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(code, "machine-busy");
        assert!(
            text.contains("took 95 % of the time") && text.contains("the clients took 3.6 %"),
            "{text}"
        );
    }
    // If there is room for all, they disturb nothing that is known.
    let room = Recorded {
        others: 0.8,
        ..IDLE
    };
    assert_eq!(codes("file", room), [""; 0]);
    // One client with its own processor, and a program with the other one.
    let half = Recorded {
        client: 0.5,
        others: 0.5,
        ..IDLE
    };
    assert_eq!(codes("file", half), ["machine-busy"]);
}

#[test]
fn what_an_embedded_databases_background_work_takes_is_its_own_cost() {
    let findings = |client, background| {
        let recorded = Recorded {
            client,
            background,
            ..IDLE
        };
        codes("rocksdb", recorded)
    };
    assert_eq!(findings(0.10, 0.85), ["database-saturated"]);
    assert_eq!(findings(0.55, 0.40), ["database-saturated"]);
    assert_eq!(findings(0.40, 0.40), [""; 0]);
    // Almost none of it: the threads of the clients do the rest of the database's work.
    assert_eq!(findings(0.92, 0.04), ["client-saturated"]);
}

#[test]
fn a_server_on_the_clients_machine_is_the_limit_where_it_has_the_greater_part() {
    let findings = |client, server| {
        let recorded = Recorded {
            client,
            server,
            ..IDLE
        };
        found("cassandra", phase(recorded))
    };
    let found = findings(0.05, 0.90);
    assert_eq!(found[0].0, "database-saturated");
    assert_eq!(found.len(), 1);
    assert!(
        found[0].1.contains("the database's server took 90 %"),
        "{found:?}"
    );
    assert_eq!(findings(0.70, 0.25)[0].0, "client-saturated");
    assert_eq!(findings(0.30, 0.40), []);
}

/// Whether a system with this server, whose process is not seen, is said to be among other programs.
fn is_unseen(server: &str) -> bool {
    let text = format!("[database]\ndriver = 'cassandra'\n[[system]]\nname = 'a'\n{server}");
    let plan = RawPlan::parse("test", &text).unwrap().check().unwrap();
    let recorded = Recorded {
        others: 0.9,
        ..IDLE
    };
    let said = with_context("cassandra", phase(recorded), |point| {
        let sweep = in_sweep(&plan);
        others(&PointContext {
            memory: Some(1 << 30),
            sweep: Some(sweep),
            ..point.clone()
        })
    });
    let said = said.expect("other programs").to_string();
    said.contains("only root can see its process")
}

#[test]
fn a_server_whose_process_is_not_seen_is_among_other_programs_where_it_is_here() {
    assert!(is_unseen("contact_points = '127.0.0.1:9042'"));
    assert!(!is_unseen("contact_points = '192.0.2.1:9042'"));
    assert!(!is_unseen("contact_points = '192.0.2.1:9042'\nssh = 'db1'"));
}

#[test]
fn time_that_the_hypervisor_gave_to_others_is_steal_and_nobody_elses() {
    let stolen = Recorded { steal: 0.9, ..IDLE };
    assert_eq!(codes("file", stolen), ["steal"]);
}

#[test]
fn ranks_are_saturated_by_the_clients_of_each_machine() {
    let part = |rank, host: &str, cpu_client| RankPart {
        rank,
        host: host.to_owned(),
        threads: 2,
        operations: 10_000,
        failed: 0,
        drained: 0,
        duration_s: 10.0,
        late_ns: 0,
        clock_ahead_ns: 0,
        clock_bound_ns: 0,
        clock_drift_ns: 0,
        cpu_busy: Some(0.99),
        cpu_client,
        quantiles: Vec::new(),
    };
    let rank = |ranks: &[RankPart]| fullest(ranks).map(|(most, _)| most.rank);
    let apart = |second| [part(0, "a", Some(0.05)), part(1, "b", Some(second))];
    assert_eq!(rank(&apart(0.05)), None);
    assert_eq!(rank(&apart(0.95)), Some(1));
    // Two ranks on one machine; the first one watches it.
    let together = |share| [part(0, "a", Some(share)), part(1, "a", None)];
    assert_eq!(rank(&together(0.47)), Some(0));
    assert_eq!(rank(&together(0.40)), None);
}

#[test]
fn a_busy_machine_disturbs_no_point_in_virtual_time() {
    let busy = Recorded {
        client: 0.30,
        others: 0.50,
        steal: 0.15,
        ..IDLE
    };
    let codes = |driver: &str| {
        let found = with_context(driver, phase(busy), |point| {
            let database = (point.driver.open)(point.params).unwrap();
            all_findings(point, database.as_ref())
        });
        found
            .into_iter()
            .map(|finding| finding.code)
            .collect::<Vec<_>>()
    };
    let real = codes("sim-tasks");
    let disturbed = ["machine-busy", "steal"];
    assert!(
        disturbed
            .iter()
            .all(|code| real.iter().any(|own| own == code)),
        "{real:?}"
    );
    let simulated = codes("sim");
    assert!(
        !simulated
            .iter()
            .any(|own| disturbed.contains(&own.as_str())),
        "{simulated:?}"
    );
}
