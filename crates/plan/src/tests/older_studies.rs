//! Studies of earlier versions: what they keep of a plan is read as it was meant, so that their
//! runs go on.

use super::{effective::DB_BENCH, plan};
use crate::{RawPlan, keys_of_study};
use tailmark_results::Study;

#[test]
fn what_an_older_study_did_not_keep_is_read_from_its_plan() {
    let mut old = plan(DB_BENCH).header;
    let is = old.plan.clone();
    for key in ["sweep.background_rate", "dataset.key_length"] {
        assert!(old.plan.remove(key).is_some(), "{key}");
    }
    assert_eq!(keys_of_study(&old), is);
    let faster = plan(&DB_BENCH.replace("background_rate = 100", "background_rate = 200"));
    assert_ne!(keys_of_study(&old), faster.header.plan);
    old.source.clear();
    assert_eq!(
        keys_of_study(&old),
        old.plan,
        "a plan that is not there says nothing"
    );
}

#[test]
fn the_old_name_of_a_key_is_read() {
    let present = plan(DB_BENCH).header;
    let text = DB_BENCH.replace("background_rate", "beside_rate");
    let text = format!("assumed = ['sweep.beside_rate']\n{text}");
    let old = plan(&text).header;
    assert_eq!(old.plan, present.plan);
    assert!(old.assumed.contains(&"sweep.background_rate".to_owned()));
    let mut raw = RawPlan::parse("test", DB_BENCH).unwrap();
    raw.assign("sweep.beside_rate=200").unwrap();
    let set = raw.check().unwrap().header;
    assert_eq!(set.plan["sweep.background_rate"], "200");
    let both = DB_BENCH.replace("= 100", "= 100\nbeside_rate = 100");
    let error = RawPlan::parse("test", &both).unwrap().check().unwrap_err();
    assert!(error.to_string().contains("sweep.beside_rate"), "{error}");
}

#[test]
fn a_study_with_the_old_name_of_a_key_goes_on() {
    let present = plan(DB_BENCH).header;
    let mut old = plan(DB_BENCH).header;
    let rate = old.plan.remove("sweep.background_rate").unwrap();
    old.plan.insert("sweep.beside_rate".to_owned(), rate);
    old.source = old.source.replace("background_rate", "beside_rate");
    let out = tempfile::tempdir().unwrap();
    drop(Study::open_or_create(out.path(), &old, &[]).unwrap());
    let read = Study::open_read_only(out.path()).unwrap().header().unwrap();
    assert_eq!(keys_of_study(&read), present.plan);
}

#[test]
fn an_older_study_that_called_merged_updates_faithful_goes_on() {
    if tailmark_driver::db::find("aerospike").is_err() {
        return;
    }
    let text = "[database]\ndriver = 'aerospike'\n[[system]]\nname = 'a'\nhosts = 'x:1'\n";
    let mut old = plan(text).header;
    let is = old.plan.clone();
    assert!(old.plan.remove("system.a.database.update").is_some());
    let said = old
        .plan
        .insert("system.a.semantics".into(), "faithful".into());
    assert_eq!(said.as_deref(), Some("correct"));
    assert_eq!(keys_of_study(&old), is);
}

#[test]
fn where_a_system_is_reads_as_in_studies_written_before() {
    for (driver, line, text) in [
        ("sim-threads", "", ""),
        ("sim-threads", "path = '/x'", "/x"),
        ("file", "path = '/mnt/nvme0'", "/mnt/nvme0"),
        ("file", "device = '/dev/nvme0n1'", "/dev/nvme0n1"),
        ("cassandra", "hosts = 'db1, db2:9142'", "db1,db2:9142"),
        (
            "cassandra",
            "hosts = ['::1', '[::1]:9042']",
            "::1,[::1]:9042",
        ),
        ("aerospike", "hosts = ' 10.0.0.1'", "10.0.0.1"),
    ] {
        if tailmark_driver::db::find(driver).is_err() {
            continue;
        }
        let system = format!("[database]\ndriver = '{driver}'\n[[system]]\nname = 'a'\n{line}\n");
        let plan = plan(&system);
        assert_eq!(plan.header.plan["system.a.place"], text, "{line}");
    }
}
