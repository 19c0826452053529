//! Published tables, and how one that is wrong is refused.

use super::*;
use tailmark_model::{Bounded, Fault, QUANTILES};

fn table(text: &str) -> Result<Vec<Imported>, Error> {
    let source = Source {
        path: "study.csv".into(),
        bytes: text.as_bytes().to_vec(),
    };
    read(&[source], &Given::default())
}

fn refusal(text: &str) -> String {
    table(text).unwrap_err().to_string()
}

#[test]
fn rates_are_exactly_those_that_are_printed() {
    for printed in [
        "17060",
        "0.3",
        "40114.75",
        "154815.1",
        "999999999.999999",
        // As Python and Java print floating point.
        "33590.863621094391",
        "0.30000000000000004",
        "1234567.8901234567",
        "1234.56789012345",
        "1.0E7",
    ] {
        let all = table(&format!("system,workload,threads,ops/s\nd,a,4,{printed}\n"));
        let rate = all.unwrap()[0].phase.ops_per_sec();
        assert_eq!(rate, printed.parse::<f64>().unwrap());
    }
}

#[test]
fn a_row_says_its_point_and_where_it_is_from() {
    let all = table(
        "\u{feff}source,Database,workload,Use Case,device,threads,ops_per_sec\n\
         # a remark\nBrief (2021),RocksDB,YCSB A,\"Sessions, many\",Disk A,16,40114\n",
    );
    let imported = all.unwrap().remove(0);
    assert_eq!((imported.system.as_str(), imported.threads), ("Disk A", 16));
    assert_eq!(imported.workload.as_deref(), Some("YCSB A"));
    assert_eq!(imported.phase.fault(0.0), None::<Fault>);
    let facts = imported.facts("Disk A", "csv");
    let said = facts
        .iter()
        .map(|f| [f.group.as_str(), &f.name, &f.value].join(": "));
    assert_eq!(
        said.collect::<Vec<_>>(),
        [
            "imported from: study.csv: csv",
            "published: source: Brief (2021)",
            "database: name: RocksDB",
            "use case: YCSB A: Sessions, many",
        ]
    );
}

#[test]
fn latencies_have_their_kind_statistic_and_unit_in_the_name_of_the_column() {
    let all = table(
        "system,workload,threads,ops/s,read_p99_ms,read-modify-write mean us,update_max_s,\
         update_count\nd,a,4,100,1.5,20,,5000\n",
    );
    let kinds = &all.unwrap()[0].phase.kinds;
    let read = kinds[&Kind::Read].ranked_service();
    assert_eq!(read.quantile(QUANTILES[3]), Some(Bounded::exact(1.5e6)));
    assert_eq!(read.mean(), None);
    let pairs = kinds[&Kind::ReadModifyWrite].ranked_service();
    assert_eq!(pairs.mean(), Some(Bounded::exact(20_000.0)));
    let update = &kinds[&Kind::Update];
    assert_eq!((update.count, update.summary.is_some()), (5_000, false));
}

#[test]
fn what_the_device_did_has_both_directions_or_none() {
    let head = "system,workload,threads,ops/s,read MB/s,write_mb_s\n";
    let mb = |row: &str| {
        let all = table(&format!("{head}d,a,96,1234.5,{row}\n")).unwrap();
        let device = all[0].phase.bandwidth().device;
        device.map(|own| [own.read, own.written].map(|mb| (mb * 1e6).round() / 1e6))
    };
    assert_eq!(mb("2150.5,890"), Some([2_150.5, 890.0]));
    assert_eq!(mb("3100,0"), Some([3_100.0, 0.0]));
    assert_eq!(mb(","), None);
    for (row, said) in [
        (
            "2150,",
            "line 2: give both `read_mb/s` and `write_mb/s`, or neither",
        ),
        (
            "-1,2",
            "column `read MB/s`: `-1` is not a number of 0 or more",
        ),
    ] {
        let error = refusal(&format!("{head}d,a,96,1234.5,{row}\n"));
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn latencies_in_no_possible_order_are_refused() {
    let head = "system,workload,threads,ops/s,read_p99_ms,read_p50_us,read_mean_us,read_min_us,\
                read_max_ms,update_p50_ms\n";
    // The mean may be above a p99.
    for row in ["1,1000,5000,3,9,70", "1,,,,,70", ",1000,,,9,"] {
        table(&format!("{head}d,a,4,100,{row}\n")).unwrap();
    }
    for (row, said) in [
        (
            "1,1500,,,,",
            "line 2: `read_p50_us` is 1500, which is more than `read_p99_ms` (1)",
        ),
        (
            "1,,,,0.5,",
            "`read_p99_ms` is 1, which is more than `read_max_ms` (0.5)",
        ),
        (
            ",10,,11,,",
            "`read_min_us` is 11, which is more than `read_p50_us`",
        ),
        (
            ",,10,11,,",
            "`read_min_us` is 11, which is more than `read_mean_us`",
        ),
        (
            ",,3000,,2,",
            "`read_mean_us` is 3000, which is more than `read_max_ms`",
        ),
    ] {
        let error = refusal(&format!("{head}d,a,4,100,{row}\n"));
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_peak_is_at_no_thread_count() {
    let all = table("system,workload,threads,ops/s\nd,a,Peak,100\n").unwrap();
    assert_eq!(all[0].threads, PointKey::PEAK);
    assert!(PEAK_ONLY.is_among(&all[0].phase.findings));
}

#[test]
fn a_refusal_names_line_column_value_and_what_is_accepted() {
    let head = "system,workload,threads,ops/s,read_p99_ms,read_count\n";
    for (rows, said) in [
        (
            "d,a,4,1,,\nd,a,0,1,,\n",
            "line 3, column `threads`: `0` is not a whole number of",
        ),
        (
            "d,a,many,1,,\n",
            "`many` is not a whole number of 1 or more, or `peak`",
        ),
        (
            "d,a,4,-1,,\n",
            "line 2, column `ops/s`: `-1` is not a number above 0",
        ),
        ("d,a,4,1_000,,\n", "`1_000` is not a number above 0"),
        ("d,a,4,1e300,,\n", "`1e300`"),
        ("d,a,4,0,,\n", "`0` is not a number above 0"),
        (
            "d,a,4,1,NaN,\n",
            "column `read_p99_ms`: `NaN` is not a number above 0",
        ),
        (
            "d,a,4,1,1,0\n",
            "column `read_count`: `0` is not a count of 1 or more",
        ),
        (",a,4,1,,\n", "column `system`: `` is not a name"),
        ("d,a,4\n", "line 2: 3 values, but the header has 6 columns"),
        ("", "it has a header but no rows"),
    ] {
        let error = refusal(&format!("{head}{rows}"));
        assert!(
            error.contains(said) && error.contains("study.csv"),
            "{error}"
        );
    }
}

#[test]
fn a_refusal_of_a_head_names_the_columns_that_there_are() {
    for (head, said) in [
        (
            "system,workload,threads,ops/s,p99",
            "no column `p99`; columns: clients, ",
        ),
        (
            "system,workload,threads,ops/s,read_p100_ms",
            "no column `read_p100_ms`",
        ),
        (
            "system,workload,threads,ops/s,read_p99_m",
            "no column `read_p99_m`",
        ),
        (
            "system,workload,threads",
            "no column `ops/s` or `ops_per_sec`",
        ),
        (
            "workload,threads,ops/s",
            "no column `device` or `system`; add the column, or give --system",
        ),
        (
            "system,device,workload,threads,ops/s",
            "`system` and `device` mean the same",
        ),
        ("", "it is empty"),
    ] {
        let error = refusal(&format!("{head}\n1,2,3,4,5\n"));
        assert!(error.contains(said) || head.is_empty(), "{error}");
    }
    assert!(refusal("").contains("it is empty"));
}

#[test]
fn what_the_user_says_counts_first() {
    let given = Given {
        system: Some("x".into()),
        workload: Some("w".into()),
        threads: Some(3),
        ..Given::default()
    };
    let source = Source {
        path: "t.csv".into(),
        bytes: b"ops/s\n7\n".to_vec(),
    };
    let imported = read(&[source], &given).unwrap().remove(0);
    assert_eq!((imported.system.as_str(), imported.threads), ("x", 3));
    assert_eq!(imported.workload.as_deref(), Some("w"));
}

#[test]
fn a_workload_has_the_name_that_the_table_means_and_keys_are_drawn_as_the_user_says() {
    let given = Given {
        distribution: Some("uniform".into()),
        workload_of: Some(|text| (text == "YCSB A").then_some("ycsb-a")),
        ..Given::default()
    };
    let table = b"system,workload,threads,ops/s,use_case\nx,YCSB A,4,7,sessions\nx,own,4,7,\n";
    let source = Source {
        path: "t.csv".into(),
        bytes: table.to_vec(),
    };
    let all = crate::import::find("csv")
        .unwrap()
        .import(&[source], &given)
        .unwrap();
    let named: Vec<_> = all
        .iter()
        .map(|one| one.workload.as_deref().unwrap())
        .collect();
    assert_eq!(named, ["ycsb-a", "own"]);
    assert!(all.iter().all(|one| one.distribution == "uniform"));
    let use_case = all[0]
        .facts
        .iter()
        .find(|(group, ..)| group == Fact::USE_CASE);
    assert_eq!(use_case.unwrap().1, "ycsb-a");
}
