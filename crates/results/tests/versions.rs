//! Study files of every version there ever was open and say what they said.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod common;

use common::{facts, header, load, point, summary, systems};
use std::path::{Path, PathBuf};
use tailmark_results::{
    Arrivals, Header, Kind, Point, PointKey, Study, TimeBasis, Warmup, finding::CLIENT_SATURATED,
};

fn fixture(version: u32) -> PathBuf {
    let name = format!("tests/fixtures/version-{version}.study");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The warm-up of the fixture of a version: the evidence of findings is data from version 8 on.
fn warmup_of(version: u32) -> Warmup {
    let mut warmup = common::warmup();
    if version < 8 {
        warmup.phase.findings[1] = CLIENT_SATURATED.finding("CPU at 99 %.");
    }
    warmup
}

#[test]
fn a_study_of_every_version_opens() {
    for version in 1..=Study::VERSION {
        // A copy, since an older one is brought up to date in its place.
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(Study::FILE);
        std::fs::copy(fixture(version), &file).unwrap();
        let study = Study::open(dir.path()).unwrap();
        // A study has an id from version 7 on.
        let id = if version > 6 {
            header().id
        } else {
            String::new()
        };
        assert_eq!(study.header().unwrap(), Header { id, ..header() });
        assert_eq!(study.systems().unwrap(), systems());
        assert_eq!(study.facts().unwrap(), facts());
        assert_eq!(study.notices().unwrap(), ["caches are not dropped"]);
        assert_eq!(study.loads().unwrap()[0].records, 10_000_000_000);
        let points = study.points().unwrap();
        // How operations arrive, what was late and what was never done are known from version 4 on.
        let since_4 = version > 3;
        let key = PointKey {
            arrivals: since_4.then_some(Arrivals::Poisson),
            ..point(4, true).key
        };
        assert_eq!(points[0].key, key);
        assert_eq!(study.point(&key).unwrap().unwrap(), points[0]);
        let phase = &points[0].phase;
        let expected = if since_4 { (3, 40) } else { (0, 0) };
        assert_eq!((phase.drained, phase.censored), expected);
        let lag = phase.start_lag.as_ref().unwrap();
        assert_eq!((lag.all.len(), lag.causes.is_some()), (100, since_4));
        let censored = phase.kinds[&Kind::Read].censored.as_deref();
        assert_eq!(censored, since_4.then(common::censored).as_ref());
        let rates = study.resolved_rates().unwrap();
        assert_eq!(rates.len(), usize::from(since_4));
        assert_eq!((phase.operations, phase.duration_s), (5_120, 12.345_678_9));
        // Quantiles over blocks are from version 5 on.
        let kept: &[TimeBasis] = match version > 4 {
            true => &[TimeBasis::Service, TimeBasis::Response],
            false => &[],
        };
        let kept: Vec<_> = kept.iter().map(|&time| common::block_qos(time)).collect();
        assert_eq!(phase.block_qos, kept);
        // Failures of operations are counted from version 3 on; before, requests say.
        assert_eq!(phase.failed, if version > 2 { 7 } else { 4 });
        // Warm-ups are kept from version 6 on.
        assert_eq!(
            phase.warmup,
            (version > 5).then(|| Box::new(common::warmup()))
        );
        // And what each of several processes did, and what else was drained, from version 7 on.
        let since_7 = u64::from(version > 6);
        let ranks = (version > 6).then(common::ranks).unwrap_or_default();
        assert_eq!(phase.ranks, ranks);
        let read = &phase.kinds[&Kind::Read];
        let drained = (phase.drained_failed, read.drained_bytes);
        assert_eq!(drained, (since_7, 4096 * since_7));
        assert_eq!(phase.counters["rocksdb.stall.micros"], u64::MAX);
        assert_eq!((read.service.len(), read.response().len()), (5_000, 5_000));
        // Summaries are from version 2 on.
        let expected = |ns| (version > 1).then(|| summary(ns));
        assert_eq!(read.summary, expected(2_000_000.0));
        assert_eq!(read.response_summary, expected(3_000_000.5));
        assert!((900_000..1_100_000).contains(&read.service.value_at_quantile(0.5)));
        assert_eq!(phase.intervals.len(), 12);
        for interval in &phase.intervals {
            let read = &interval.kinds[&Kind::Read];
            assert_eq!(read.service.unpack().len(), 400);
            let errors: u64 = interval.kinds.values().map(|kind| kind.errors).sum();
            assert_eq!(interval.failed, errors);
            assert_eq!(read.response.as_ref().unwrap().unpack().len(), 400);
        }
        assert_eq!(
            phase.series[2].at_s[..2],
            [2.0 - 0.999_999_123, 3.0 - 0.999_999_123]
        );
    }
}

/// Once brought up to date, an older study takes what only the newest version has, and what it had is
/// as it was sealed.
#[test]
fn an_older_study_takes_points_of_the_newest_version() {
    for version in 1..Study::VERSION {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(fixture(version), dir.path().join(Study::FILE)).unwrap();
        let study = Study::open(dir.path()).unwrap();
        let before = study.points().unwrap();
        let [new, even] = [Arrivals::Poisson, Arrivals::Even].map(|arrivals| Point {
            key: PointKey {
                arrivals: Some(arrivals),
                repeat: 2,
                ..point(4, true).key
            },
            ..point(4, true)
        });
        study.add_point(&new).unwrap();
        study.add_point(&even).unwrap();
        study.add_resolved_rate(&common::resolved_rate()).unwrap();
        let after = Study::open(dir.path()).unwrap().points().unwrap();
        assert_eq!(after, [before, vec![new, even]].concat());
    }
}

/// What a file is made of: its version, its tables and their columns.
fn made_of(file: &Path) -> (u32, Vec<String>) {
    let connection = rusqlite::Connection::open(file).unwrap();
    let version = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    let mut statement = connection
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        .unwrap();
    let tables = statement.query_map([], |row| row.get(0)).unwrap();
    (version, tables.map(Result::unwrap).collect())
}

/// Tables change with a new version only. With `UPDATE_GOLDEN=1` the newest fixture is made again:
/// once for a new version, before the first study of it is made outside.
#[test]
fn a_new_study_is_made_as_the_fixture_of_its_version() {
    let dir = tempfile::tempdir().unwrap();
    let study = Study::create(dir.path(), &header(), &systems()).unwrap();
    study.set_facts(&facts()).unwrap();
    study.add_notice("caches are not dropped").unwrap();
    study.add_load(&load()).unwrap();
    study.add_point(&point(4, true)).unwrap();
    study.add_resolved_rate(&common::resolved_rate()).unwrap();
    study.add_probe(&point(8, true)).unwrap();
    let new = made_of(study.path());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let connection = rusqlite::Connection::open(study.path()).unwrap();
        // Small pages keep the fixture small; the tables are the same.
        connection
            .execute_batch("PRAGMA page_size = 512; VACUUM;")
            .unwrap();
        drop(connection);
        std::fs::copy(study.path(), fixture(Study::VERSION)).unwrap();
    }
    assert_eq!(new, made_of(&fixture(Study::VERSION)));
}
