//! Options files with which RocksDB would remove records of another program, in every form that
//! RocksDB reads.

use super::harm::refusal;
use crate::support::*;
use rust_rocksdb::{DB, DBCompactionStyle, FifoCompactOptions, Options};
use std::fs;
use tailmark_driver::Access;
use tailmark_testing::test;

const MEBIBYTE: u64 = 1 << 20;

/// A database of another program with one record, FIFO with 1,000 MiB or leveled.
fn theirs(bench: &Bench, is_fifo: bool) {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    if is_fifo {
        let mut fifo = FifoCompactOptions::default();
        fifo.set_max_table_files_size(1_000 * MEBIBYTE);
        options.set_compaction_style(DBCompactionStyle::Fifo);
        options.set_fifo_compaction_options(&fifo);
        options.set_ttl(0);
    }
    let families = [("usertable", options.clone())];
    let theirs = DB::open_cf_with_opts(&options, bench.data_path(), families).unwrap();
    let table = theirs.cf_handle("usertable").unwrap();
    theirs.put_cf(table, "a", "b").unwrap();
    theirs.flush_cf(table).unwrap();
}

/// The error with an options file that has this text in place of the family's section, or none.
fn opened(bench: &Bench, section: &str) -> Option<String> {
    let file = bench.path("options");
    let text = format!(
        "[Version]\nrocksdb_version=11.0.0\noptions_file_version=1.1\n[DBOptions]\n\
         [CFOptions \"default\"]\n{section}\n"
    );
    fs::write(&file, text).unwrap();
    let given = [("options_file", file.to_str().unwrap())];
    let mut params = bench.params.clone();
    params.access = Access::Write;
    params.settings = check(bench.driver, &given, &params.data).ok()?;
    match (bench.driver.open)(&params) {
        Ok(_) => None,
        refused => Some(refusal(refused)),
    }
}

#[test]
fn fifo_compaction_of_a_leveled_database_is_refused_in_every_form() {
    let bench = Bench::new("rocksdb");
    theirs(&bench, false);
    let style = "kCompactionStyleFIFO";
    for line in [
        format!("compaction_style={style}"),
        format!("compaction_style={style} # as in production"),
        format!("compaction_style={{{style}}}"),
        "compaction_style=kCompactionStyle\\FIFO".to_owned(),
        format!("compaction_style=kCompactionStyleLevel\ncompaction_style={style}"),
    ] {
        for header in [
            "[CFOptions \"usertable\"]",
            "[CFOptions   \"usertable\"] # ours",
        ] {
            let section = format!("{header}\n{line}");
            let refused = opened(&bench, &section);
            assert!(refused.is_some(), "{section}");
        }
    }
    let level = "[CFOptions \"usertable\"]\ncompaction_style=kCompactionStyleLevel # as it is";
    assert_eq!(opened(&bench, level), None);
}

#[test]
fn lower_limits_of_a_fifo_database_are_refused_in_every_form() {
    let bench = Bench::new("rocksdb");
    theirs(&bench, true);
    for limits in [
        "{max_table_files_size=1000000;}",
        "{ max_table_files_size = 1000000 ; }",
        "{max_table_files_size=1M;}",
        "{max_table_files_size=1048576000;max_table_files_size=1000000;}",
        "1000000",
        "{max_data_files_size=1000000;max_table_files_size=1048576000;}",
        "{use_kv_ratio_compaction=true;max_table_files_size=1048576000;}",
        "{max_table_files_size=1048576000;}\ncompaction_options_fifo.max_table_files_size=1000000",
    ] {
        let section = format!("[CFOptions \"usertable\"]\nttl=0\ncompaction_options_fifo={limits}");
        let refused = opened(&bench, &section);
        assert!(refused.is_some(), "{section}");
    }
    for limits in [
        "{max_table_files_size=1048576000;}",
        "{max_table_files_size=2097152000;allow_compaction=false;}",
    ] {
        let section = format!("[CFOptions \"usertable\"]\nttl=0\ncompaction_options_fifo={limits}");
        assert_eq!(opened(&bench, &section), None, "{limits}");
    }
}

#[test]
fn a_compaction_filter_of_an_options_file_is_refused() {
    let bench = Bench::new("rocksdb");
    theirs(&bench, false);
    for filter in [
        "RemoveEmptyValueCompactionFilter",
        "{id=RemoveEmptyValueCompactionFilter}",
    ] {
        let section = format!("[CFOptions \"usertable\"]\ncompaction_filter={filter}");
        let refused = opened(&bench, &section).unwrap();
        assert!(refused.contains("which would remove records"), "{refused}");
    }
    let none = "[CFOptions \"usertable\"]\ncompaction_filter=nullptr";
    assert_eq!(opened(&bench, none), None);
}
