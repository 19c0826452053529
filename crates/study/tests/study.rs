//! A study file: what goes in comes out, whoever reads meanwhile and whatever kills the writer.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

use common::{facts, header, key, load, point, systems};
use rusqlite::Connection;
use std::{
    fs, io,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tailmark_model::{
    Arrivals, Fact, Load, Metric, PlanValue, Point, PointKey, ResolvedRate, Role,
};
use tailmark_study::{Error, Study};

fn files(dir: &Path) -> Vec<String> {
    let name = |e: io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    fs::read_dir(dir).unwrap().map(name).collect()
}

#[test]
fn every_field_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let points = [point(1, false), point(4, true), point(4, false)];
    {
        let study = Study::create(&dir.path().join("new/run"), &header(), &systems()).unwrap();
        study.set_facts(&facts()).unwrap();
        study
            .add_notice("system `ram` is left out: no room")
            .unwrap();
        study.add_load(&load()).unwrap();
        points
            .iter()
            .for_each(|point| study.add_point(point).unwrap());
    }
    let dir = dir.path().join("new/run");
    assert_eq!(files(&dir), [Study::FILE], "a closed study is one file");
    let study = Study::open(&dir).unwrap();
    assert_eq!(study.header().unwrap(), header());
    assert_eq!(study.systems().unwrap(), systems());
    let mut of_study = study.facts().unwrap();
    // That it made the directory, which did not exist.
    assert_eq!(of_study.remove(0).group, "run directory");
    assert_eq!(of_study, facts());
    assert_eq!(
        study.notices().unwrap(),
        ["system `ram` is left out: no room"]
    );
    assert_eq!(study.loads().unwrap(), [load()]);
    assert_eq!(study.points().unwrap(), points);
    assert_eq!(
        study.point(&points[1].key).unwrap().as_ref(),
        Some(&points[1])
    );
    assert_eq!(study.point_keys().unwrap(), points.clone().map(|p| p.key));
}

#[test]
fn totals_are_all_but_intervals_and_series() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    study.add_load(&load()).unwrap();
    study.add_point(&point(4, true)).unwrap();
    let mut expected = (point(4, true), load());
    let mut warmup = expected.0.phase.warmup.take().unwrap();
    for phase in [
        &mut expected.0.phase,
        &mut expected.1.phase,
        &mut warmup.phase,
    ] {
        phase.intervals.clear();
        phase.series.clear();
    }
    expected.0.phase.warmup = Some(warmup);
    assert_eq!(study.point_totals().unwrap(), [expected.0]);
    assert_eq!(study.load_totals().unwrap(), [expected.1]);
}

#[test]
fn a_point_is_known_by_its_whole_key() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    study.add_point(&point(4, true)).unwrap();
    assert!(study.has_point(&point(4, true).key).unwrap());
    let key = point(4, true).key;
    let others = [
        PointKey {
            system: "ceiling".into(),
            ..key.clone()
        },
        PointKey {
            workload: "ycsb-b".into(),
            ..key.clone()
        },
        PointKey {
            distribution: "zipfian".into(),
            ..key.clone()
        },
        PointKey {
            threads: 5,
            ..key.clone()
        },
        PointKey {
            repeat: 2,
            ..key.clone()
        },
        PointKey {
            target_rate: Some(1234.6),
            ..key.clone()
        },
        PointKey {
            arrivals: Some(Arrivals::Even),
            ..key.clone()
        },
        PointKey {
            arrivals: None,
            ..key.clone()
        },
        PointKey {
            target_rate: None,
            arrivals: None,
            ..key
        },
    ];
    for other in others {
        assert!(!study.has_point(&other).unwrap(), "{other:?}");
        assert_eq!(study.point(&other).unwrap(), None);
        study
            .add_point(&Point {
                key: other,
                ..point(4, false)
            })
            .unwrap();
    }
    assert_eq!(study.point_keys().unwrap().len(), 10);
}

#[test]
fn a_point_of_the_same_key_is_replaced_with_all_its_parts() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    study.add_point(&point(4, false)).unwrap();
    study.add_point(&point(8, false)).unwrap();
    let again = Point {
        key: key(4),
        phase: common::phase(99, false),
    };
    study.add_point(&again).unwrap();
    assert_eq!(study.points().unwrap(), [point(8, false), again]);
    let connection = Connection::open(study.path()).unwrap();
    for (table, rows) in [
        ("phase", 2),
        ("kind", 6),
        ("interval", 24),
        ("interval_kind", 30),
    ] {
        let sql = format!("SELECT count(*) FROM {table}");
        let count: u32 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(count, rows, "{table}");
    }
}

#[test]
fn facts_of_the_same_name_are_replaced_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    study.set_facts(&facts()).unwrap();
    let newer = Fact {
        value: "Another CPU".into(),
        ..facts()[0].clone()
    };
    let of_system = Fact {
        system: Some("ceiling".into()),
        ..facts()[0].clone()
    };
    study
        .set_facts(&[newer.clone(), of_system.clone()])
        .unwrap();
    let known = facts();
    assert_eq!(
        study.facts().unwrap(),
        [newer, known[1].clone(), known[2].clone(), of_system]
    );
}

#[test]
fn a_load_takes_the_place_of_the_one_that_it_goes_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    let loaded = |system: &str, records| Load {
        system: system.to_owned(),
        records,
        ..load()
    };
    let name = load().system;
    study.replace_load(&loaded(&name, 1), "10:00").unwrap();
    study.replace_load(&loaded("other", 2), "10:00").unwrap();
    study.replace_load(&loaded(&name, 3), "10:00").unwrap();
    study.add_point(&point(1, false)).unwrap();
    study.replace_load(&loaded(&name, 4), "11:00").unwrap();
    study.replace_load(&loaded(&name, 5), "12:00").unwrap();
    study.replace_load(&loaded(&name, 6), "12:00").unwrap();
    let loads = study.loads().unwrap();
    let records: Vec<_> = loads.iter().map(|load| load.records).collect();
    assert_eq!(records, [2, 3, 4, 6]);
    assert_eq!(loads[1], loaded(&name, 3), "with all its parts");
}

#[test]
fn what_a_percentage_came_to_stays_as_it_was_first() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    let first = common::resolved_rate();
    let again = ResolvedRate {
        peak_ops_per_sec: 9.0,
        rate: 5.4,
        ..first.clone()
    };
    let other = ResolvedRate {
        requested: "80%".into(),
        ..again.clone()
    };
    for rate in [&first, &again, &other] {
        study.add_resolved_rate(rate).unwrap();
    }
    assert_eq!(study.resolved_rates().unwrap(), [first, other]);
}

#[test]
fn keys_of_the_plan_that_shape_no_point_may_change() {
    let dir = tempfile::tempdir().unwrap();
    let before = header();
    let study = Study::create(dir.path(), &before, &[]).unwrap();
    let mut keys = before.plan.clone();
    let latency = PlanValue::new("p99 read", Role::Report);
    keys.insert("report.latency".into(), latency);
    let mut settings = before.settings.clone();
    settings.report.metric = Metric::from_name("p99 read");
    study.set_plan(&keys, &settings).unwrap();
    drop(study);
    let after = Study::open_read_only(dir.path()).unwrap().header().unwrap();
    assert_eq!((after.plan, after.settings), (keys, settings));
    assert_eq!((after.title, after.source), (before.title, before.source));
}

#[test]
fn a_notice_is_kept_once() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    for text in ["no room", "caches are not dropped", "no room"] {
        study.add_notice(text).unwrap();
    }
    assert_eq!(
        study.notices().unwrap(),
        ["no room", "caches are not dropped"]
    );
}

#[test]
fn a_study_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    assert!(!Study::exists(dir.path()));
    Study::create(dir.path(), &header(), &systems()).unwrap();
    assert!(Study::exists(dir.path()));
    let error = Study::create(dir.path(), &header(), &systems()).unwrap_err();
    assert!(matches!(error, Error::Exists { .. }), "{error}");
}

#[test]
fn what_is_not_a_study_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let missing = Study::open(dir.path()).unwrap_err();
    assert!(matches!(missing, Error::Missing { .. }), "{missing}");
    let is_refused = |path: &Path| {
        let error = Study::open(path).unwrap_err();
        assert!(matches!(error, Error::NotAStudy { .. }), "{error}");
    };
    let file = dir.path().join(Study::FILE);
    fs::write(
        &file,
        "no database at all, but long enough to be taken for one".repeat(99),
    )
    .unwrap();
    is_refused(&file);
    fs::remove_file(&file).unwrap();
    let connection = Connection::open(&file).unwrap();
    connection.execute_batch("CREATE TABLE t (a)").unwrap();
    drop(connection);
    is_refused(&file);
}

#[test]
fn another_version_is_refused_by_number() {
    let dir = tempfile::tempdir().unwrap();
    let path = Study::create(dir.path(), &header(), &systems())
        .unwrap()
        .path()
        .to_owned();
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", Study::VERSION + 1)
        .unwrap();
    let error = Study::open(dir.path()).unwrap_err().to_string();
    assert!(
        error.ends_with(&format!(
            "has version {}, but this program reads version {}: use the tailmark that wrote it",
            Study::VERSION + 1,
            Study::VERSION
        )),
        "{error}"
    );
}

#[test]
fn a_study_opened_for_reading_is_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    Study::create(dir.path(), &header(), &systems()).unwrap();
    let study = Study::open_read_only(dir.path()).unwrap();
    let error = study.add_point(&point(4, false)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Study {
                action: "write",
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(study.points().unwrap(), []);
}

#[test]
fn a_damaged_histogram_is_an_error_and_not_a_number() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    study.add_point(&point(4, false)).unwrap();
    let connection = Connection::open(study.path()).unwrap();
    let sql = "UPDATE interval_kind SET service = X'0203' WHERE interval = 2";
    assert_eq!(connection.execute(sql, []).unwrap(), 2);
    let error = study.points().unwrap_err();
    assert!(
        matches!(error, Error::Study { action: "read", .. }),
        "{error}"
    );
}

#[test]
fn readers_see_whole_points_while_a_run_writes() {
    const POINTS: u32 = 40;
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let reader = Study::open_read_only(dir.path()).unwrap();
                let mut seen = 0;
                while seen < POINTS as usize {
                    let points = reader.points().unwrap();
                    assert!(points.len() >= seen);
                    seen = points.len();
                    for point in points {
                        assert_eq!(point.phase.intervals.len(), 12);
                        assert_eq!(point.phase.series.len(), 4);
                    }
                }
            });
        }
        (1..=POINTS).for_each(|threads| study.add_point(&point(threads, false)).unwrap());
    });
}

/// The directory that [`writes_until_it_is_killed`] writes to.
const WRITE_TO: &str = "TAILMARK_TEST_WRITE_TO";

/// Not a test of its own: the process that the next test kills.
#[test]
fn writes_until_it_is_killed() {
    let Some(dir) = std::env::var_os(WRITE_TO) else {
        return;
    };
    let study = Study::open(Path::new(&dir)).unwrap();
    let done = study.point_keys().unwrap().len() as u32;
    for threads in done + 1.. {
        let mut point = point(threads, false);
        // Large enough that SQLite writes parts of it before the commit.
        point.phase.intervals = std::iter::repeat_n(point.phase.intervals, 100)
            .flatten()
            .collect();
        study.add_point(&point).unwrap();
    }
}

fn writer(dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writes_until_it_is_killed"])
        .env(WRITE_TO, dir)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_run_leaves_every_point_that_was_added() {
    let dir = tempfile::tempdir().unwrap();
    Study::create(dir.path(), &header(), &systems()).unwrap();
    let (mut done, mut left_behind) = (0, 0);
    // Six rounds, and more of them until one was killed in the middle of a transaction.
    for round in 0.. {
        if round >= 6 && left_behind > 0 {
            break;
        }
        assert!(
            round < 100,
            "no writer was killed in the middle of a transaction"
        );
        let mut child = writer(dir.path());
        let deadline = Instant::now() + Duration::from_secs(60);
        let reader = Study::open_read_only(dir.path()).unwrap();
        while reader.point_keys().unwrap().len() <= done {
            assert!(Instant::now() < deadline, "the writer does not write");
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(reader);
        std::thread::sleep(Duration::from_millis(round % 6 * 11 + round / 6));
        child.kill().unwrap();
        child.wait().unwrap();
        left_behind += usize::from(files(dir.path()).len() > 1);
        let study = Study::open(dir.path()).unwrap();
        let points = study.points().unwrap();
        assert!(points.len() > done, "{} of {done}", points.len());
        done = points.len();
        for (threads, point) in (1..).zip(&points) {
            assert_eq!(point.key, key(threads));
            assert_eq!(point.phase.intervals.len(), 1200);
        }
        study.add_notice(&format!("resumed {round}")).unwrap();
        assert_eq!(
            files(dir.path()),
            [Study::FILE],
            "what was left is gone with the next write"
        );
        let connection = Connection::open(study.path()).unwrap();
        let sound: String = connection
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(sound, "ok");
    }
}

#[test]
fn a_system_that_differs_has_a_name_that_says_in_what() {
    let (dir, systems) = (tempfile::tempdir().unwrap(), common::systems());
    let study = Study::create(dir.path(), &common::header(), &systems).unwrap();
    let add = |records: &str, threads: &str| {
        let mut system = systems[0].clone();
        for (name, value) in [("records", records), ("threads", threads)] {
            system.settings.insert(name.into(), value.into());
        }
        system.name = "apart".into();
        study
            .add_system_apart(&system, |name| name == "records")
            .unwrap()
    };
    assert_eq!(add("1000", "1"), "apart");
    assert_eq!(add("1000", "2"), "apart");
    assert_eq!(add("2000", "2"), "apart (records 2000)");
    assert_eq!(add("2000", "4"), "apart (records 2000)");
    assert_eq!(study.systems().unwrap().len(), systems.len() + 2);
}
