//! What an import may hold, and what a study may have: the first beyond it is refused or left out.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed, and says so"
)]

use base64::{Engine, prelude::BASE64_STANDARD};
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use std::fmt::Write;
use tailmark_model::{Fact, Header, new_latencies};
use tailmark_study::{
    Study,
    import::{Given, Source, find},
};

/// What an import of a text comes to: points, or why it is refused.
fn import(format: &str, name: &str, text: &str) -> Result<usize, String> {
    let source = Source {
        path: name.into(),
        bytes: text.as_bytes().to_vec(),
    };
    let given = Given {
        unit_ns: (format == "hlog").then_some(1),
        ..Given::default()
    };
    let import = find(format).unwrap();
    let read = import.import_readable(&[source], &given);
    read.map(|(all, _)| all.len())
        .map_err(|error| error.to_string())
}

/// This many lines after a head.
fn lines(head: &str, count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(head.to_owned(), |mut text, number| {
        writeln!(text, "{}", line(number)).unwrap();
        text
    })
}

fn refused(came: Result<usize, String>, parts: &[&str]) {
    let said = came.unwrap_err();
    for part in parts.iter().chain(&["split the file"]) {
        assert!(said.contains(part), "{part} in {said}");
    }
}

/// A line of a histogram log with one value.
fn logged(tag: &str, value: u64) -> String {
    let mut latencies = new_latencies();
    latencies.record(value).unwrap();
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    serializer.serialize(&latencies, &mut bytes).unwrap();
    format!("Tag={tag},0.0,1.0,1.0,{}", BASE64_STANDARD.encode(bytes))
}

#[test]
fn a_file_with_more_points_than_an_import_may_have_is_refused_at_the_line() {
    let table = |count| {
        let head = "system,workload,threads,ops/s\n";
        import(
            "csv",
            "a.csv",
            &lines(head, count, |at| format!("s,w{at},1,5")),
        )
    };
    assert_eq!(table(2_000), Ok(2_000));
    refused(table(2_001), &["a.csv", "line 2002", "2,000 points"]);
    let bench = |count| {
        let line = |_| "readseq : 1.0 micros/op 10 ops/sec 1.0 seconds 10 operations;".to_owned();
        import("db_bench", "a.log", &lines("", count, line))
    };
    assert_eq!(bench(2_000), Ok(2_000));
    refused(bench(2_001), &["a.log", "line 2001", "2,000 points"]);
    let line = logged("TAG", 5);
    let log = |count: usize| {
        let line = |at| line.replace("TAG", &format!("s/w{at}/uniform/t1/r1/read/service"));
        import("hlog", "a.hlog", &lines("", count, line))
    };
    refused(log(2_001), &["a.hlog", "line 2001", "2,000 points"]);
}

#[test]
fn a_file_whose_separators_alone_would_fill_the_memory_is_refused_unread() {
    const BYTES: usize = 16 << 20;
    let result = "readrandom : 2.000 micros/op 500 ops/sec";
    for (format, begin, separator) in [
        ("csv", "system,workload,threads,ops/s\n", ","),
        ("db_bench", result, " x"),
        ("db_bench", "ops_sec\t", "\t"),
    ] {
        let text = format!("{begin}{}", separator.repeat(BYTES / separator.len()));
        refused(import(format, "t4.log", &text), &["larger than 16 MiB"]);
    }
    assert_eq!(import("db_bench", "t4.log", result), Ok(1));
}

#[test]
fn a_file_with_more_rows_or_values_than_an_import_may_have_is_refused() {
    let text = |count| {
        let head = "[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 5\n";
        import(
            "ycsb",
            "a.txt",
            &lines(head, count, |at| format!("[READ], {at}, 1")),
        )
    };
    assert_eq!(text(100), Ok(1));
    refused(text(300_000), &["a.txt", "line 300001", "300,000 rows"]);
    let options = lines("", 1_000_002, |at| format!("\"o{at}\":\"1\","));
    let json =
        format!("{{\"fio version\":\"fio-3.33\",\"global options\":{{{options}\"e\":\"\"}}}}");
    refused(
        import("fio", "a.json", &json),
        &["a.json", "1,000,000 values"],
    );
}

#[test]
fn a_small_file_of_great_histograms_is_refused() {
    let line = logged("TAG", 1 << 62);
    let line = |at| line.replace("TAG", &format!("s/w{at}/uniform/t1/r1/read/service"));
    let text = lines("", 1_000, line);
    assert!(text.len() < 200_000);
    refused(
        import("hlog", "a.hlog", &text),
        &["a.hlog", "line ", "256 MiB"],
    );
}

#[test]
fn a_study_that_is_written_can_be_read_whatever_it_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let header = Header::without_plan("bounds", String::new());
    let study = Study::create(dir.path(), &header, &[]).unwrap();
    let fact = |number: usize, value: &str| Fact {
        system: None,
        group: "g".to_owned(),
        name: format!("n{number}"),
        value: value.to_owned(),
    };
    let facts: Vec<_> = (0..100_003).map(|number| fact(number, "first")).collect();
    study.set_facts(&facts).unwrap();
    // One that is there is replaced, a new one is not.
    study
        .set_facts(&[fact(7, "second"), fact(200_000, "no")])
        .unwrap();
    study
        .together(|| {
            (0..10_005).try_for_each(|number| study.add_notice(&format!("notice {number}")))
        })
        .unwrap();
    let kept = study.facts().unwrap();
    assert_eq!(kept.len(), 100_000);
    assert!(kept.contains(&fact(7, "second")) && !kept.contains(&fact(200_000, "no")));
    let notices = study.notices().unwrap();
    assert!(notices.len() <= 10_000, "{}", notices.len());
    let left: Vec<_> = notices
        .iter()
        .filter(|notice| notice.contains("were left out"))
        .collect();
    assert_eq!(
        left,
        [
            "4 facts were left out: a study has at most 100000 of them",
            "8 notices were left out: a study has at most 9998 of them"
        ]
    );
}
