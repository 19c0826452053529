//! Whole inputs that the tests of mutations start from, and the words of their formats.

use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::{Compression, write::ZlibEncoder};
use hdrhistogram::serialization::{
    Serializer, V2DeflateSerializer, V2Serializer,
    interval_log::{IntervalLogWriterBuilder, Tag},
};
use std::{
    io::{self, Read, Write},
    time::{Duration, UNIX_EPOCH},
};
use tailmark_model::{Latencies, new_latencies};

pub const YCSB: &str = concat!(
    include_str!("ycsb.txt"),
    "[Intended-READ], 99thPercentileLatency(us), 70\n[UPDATE], p99.99, 7\n",
);

pub const JSON: &str = r#"[ {"metric" : "OVERALL", "measurement" : "RunTime(ms)", "value" : 58},
{"metric" : "OVERALL", "measurement" : "Throughput(ops/sec)", "value" : 1.0E7},
{"metric" : "READ", "measurement" : "Operations", "value" : 44900},
{"metric" : "READ", "measurement" : "AverageLatency(us)", "value" : "NaN"} ]"#;

pub const DB_BENCH: &str = concat!(
    include_str!("db_bench.txt"),
    "fillseq      :       2.000 micros/op 500000 ops/sec;   55.3 MB/s\n",
);

pub const TABLE: &str = "# ops_sec - operations per second\n\
    ops_sec\tmb_sec\tusec_op\tp50\tp99\tpmax\tuptime\tstall%\tc_wgb\tNstall\ttest\n\
    1000\t3.5\t64000.0\t61.5\t900\t5000\t60\t1.5\t2.2\t7\treadwhilewriting.t64\n\
    failed\t\t\t\t\t\t\t\toverwrite.t64.s0\n";

pub const PUBLISHED: &str = "source,database,workload,use case,device,threads,ops_per_sec\n\
    Brief (2021),RocksDB,YCSB A,\"Sessions, many\",Disk A,4,17060.5\n\
    # a remark\nBrief (2021),RocksDB,YCSB A,,Disk B,peak,42012\n";

pub const FIGURES: &str = "system,workload,distribution,threads,ops/s,read_count,read_p99.99_ms,\
    update mean us\nd,a,uniform,16,40000,200000000,10,120.5\n";

/// Words of tables of published figures.
pub const COLUMNS: &[&str] = &[
    "system,",
    "threads,",
    "ops/s,",
    "read_p99_us,",
    "scan_max_s,",
    "peak",
    "0",
    "\"",
    "\r\n",
    "#",
    "\u{feff}",
    "99999999999999999999",
];

pub const FIO_PLUS: &str = include_str!("fio-plus.json");
pub const FIO_CLONES: &str = include_str!("fio-clones.json");
pub const FIO_SECTIONS: &str = include_str!("fio-sections.json");

/// Words of fio's JSON.
pub const FIO_WORDS: &[&str] = &[
    "\"bins\" : {",
    "\"percentile\" : {",
    "\"total_ios\" : ",
    "\"error\" : 5,",
    "\"job_runtime\" : ",
    "\"numjobs\" : \"",
    "\"iodepth\" : \"",
    "\"rate\" : \"10m,\",",
    "\"rate_iops\" : \"",
    "18446744073709551615",
    "1e308",
    "-1",
    "{}",
    "[]",
];

/// Words of tagged histogram logs.
pub const TAGS: &[&str] = &[
    "Tag=READ,",
    "Tag=Intended-UPDATE,",
    "Tag=READ-wt,",
    "Tag=d/load/1/insert/service,",
    "Tag=d/a/uniform/t1/r1/100-even/read/response,",
    "#[StartTime: ",
    "#[BaseTime: ",
    "# d/a/uniform/t1/r1/read: 5 were due and never done",
    "18446744073709551615.",
    "0.000,",
    "%2C",
];

pub const WORDS: &[&str] = &[
    "[OVERALL], ",
    "RunTime(ms), ",
    "Return=",
    " sec: ",
    " operations;",
    "-threads ",
    "-load ",
    "-p threadcount=",
    "-target ",
    "Latency(us), ",
    "micros/op ",
    "ops/sec ",
    "seconds ",
    " of ",
    "P99: ",
    "Count: ",
    "\t",
    "[{\"metric\":",
    "#[StartTime: ",
    "Tag=x,",
];

/// Two seconds of reads, as YCSB's log has them.
pub fn log() -> Vec<u8> {
    log_of(&[None])
}

/// Two seconds of a point and a load, as our export tags them, and of other programs' tags.
pub fn tagged_log() -> Vec<u8> {
    log_of(&[
        Some("a%2C%20b/ycsb-a/uniform/t16/r1/2000.5-poisson/read/service"),
        Some("a%2C%20b/ycsb-a/uniform/t16/r1/2000.5-poisson/read/response"),
        Some("a/load/1/insert/service"),
        Some("UPDATE"),
        Some("READ-rt"),
    ])
}

fn log_of(tags: &[Option<&'static str>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .with_start_time(UNIX_EPOCH + Duration::from_secs(1_000_000))
        .begin_log_with(&mut bytes, &mut serializer)
        .unwrap();
    for second in 0..2 {
        let at = Duration::from_secs(1_000_000 + second);
        for tag in tags {
            let tag = tag.map(|tag| Tag::new(tag).unwrap());
            writer
                .write_histogram(&histogram(), at, Duration::from_secs(1), tag)
                .unwrap();
        }
    }
    drop(writer);
    bytes
}

/// A histogram of some latencies.
pub fn histogram() -> Latencies {
    let mut latencies = new_latencies();
    (1..200_u64).for_each(|i| latencies.record_n(i * i, i).unwrap());
    latencies
}

/// A log of one line: a histogram encoded as `payload`, compressed.
pub fn line(cookie: u32, payload: &[u8]) -> Vec<u8> {
    line_and_zeros(cookie, payload, 0)
}

/// The same with so many zeros behind the payload, which are never in memory together: tests that
/// run meanwhile look at the memory of the process.
pub fn line_and_zeros(cookie: u32, payload: &[u8], zeros: u64) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(payload).unwrap();
    io::copy(&mut io::repeat(0).take(zeros), &mut packed).unwrap();
    let packed = packed.finish().unwrap();
    let mut bytes = cookie.to_be_bytes().to_vec();
    bytes.extend((packed.len() as u32).to_be_bytes());
    bytes.extend(packed);
    format!("0.000,1.000,1.000,{}\n", BASE64_STANDARD.encode(bytes)).into_bytes()
}

/// The first encoding of a histogram: its head, and a count of one in each of 100 slots.
pub fn first_encoding(digits: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [
        0x1c84_9381,
        800,
        0,
        digits,
        0,
        1,
        0,
        u32::MAX,
        0x3ff0_0000,
        0,
    ] {
        bytes.extend(word.to_be_bytes());
    }
    (0..100).for_each(|_| bytes.extend(1_u64.to_be_bytes()));
    bytes
}

/// The second encoding, of the crate's own serializer.
pub fn second_encoding() -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(&histogram(), &mut bytes)
        .unwrap();
    bytes
}

/// The cookie of the first encoding.
pub const FIRST: u32 = 0x1c84_9302;
/// The cookie of the second encoding.
pub const SECOND: u32 = 0x1c84_9314;
