//! Any property file is either accepted or refused. See `tailmark-testing` for how inputs are
//! generated, and how many.

use super::{
    binding::Binding,
    core::Core,
    measurement::OutputFormats,
    options::{Action, Options},
    properties::{Properties, decode},
};
use tailmark_testing::Trial;

const FILES: [&str; 3] = [
    "# of a study\nrecordcount=1000\noperationcount=1000000\nworkload=site.ycsb.workloads.CoreWorkload\n\
     readallfields=true\nreadproportion=0.5\nupdateproportion=0.45\ninsertproportion=0.05\n\
     scanproportion=0\nrequestdistribution=zipfian\nfieldcount=10\nfieldlength=100\n",
    "workload = core\nrecordcount : 0\nmaxexecutiontime 20\ninsertstart=5\ninsertcount=7\n\
     fieldlengthdistribution=zipfian\nminfieldlength=3\nscanproportion=1\nmaxscanlength=100\n\
     scanlengthdistribution=uniform\nrequestdistribution=hotspot\nhotspotdatafraction=0.2\n\
     hotspotopnfraction=0.8\nzeropadding=12\ninsertorder=ordered\nfieldnameprefix=f\n\
     core_workload_insertion_retry_limit=3\n",
    "workload=core\nmeasurementtype=hdrhistogram+raw\nhdrhistogram.percentiles=50,95,99.99\n\
     histogram.buckets=1000\ntimeseries.granularity=2000\nrequestdistribution=exponential\n\
     exponential.percentile=95\nexponential.frac=0.85\nreadmodifywriteproportion=1.0\n\
     dataintegrity=true\nthreadcount=16\ntarget=1000\na\\ b=\\u00e9,\\\n  two\n",
];

const WORDS: &[&str] = &[
    "\\u00e9",
    "\\\n",
    "=",
    "recordcount=",
    "fieldcount=",
    "hdrhistogram.percentiles=",
    "true",
    "zipfian",
    "latest",
    "constant",
    "sequential",
];

#[test]
fn a_property_file_is_taken_or_refused() {
    let trial = Trial {
        name: "property file",
        samples: &FILES.map(Vec::from),
        words: WORDS,
        inputs: 2_000,
    };
    let bindings: Vec<_> = ["basic", "rocksdb", "cassandra-cql", "aerospike", "redis"]
        .into_iter()
        .filter_map(|name| Binding::find(name).ok())
        .collect();
    trial.run(|input| {
        let mut properties = Properties::default();
        if properties.read_text(&decode(input.to_vec())).is_err() {
            return;
        }
        for action in [Action::Load, Action::Run] {
            if let Ok(core) = Core::read(&properties, action, true) {
                assert!(core.data.records > 0);
            }
        }
        let _ = (
            Core::read(&properties, Action::Run, false),
            OutputFormats::read(&properties),
        );
        for binding in &bindings {
            let _ = binding.location(&properties);
            if let Ok(driver) = binding.driver() {
                let _ = binding.settings(driver, &properties);
            }
        }
        properties.warnings();
    });
}

#[test]
fn a_call_is_taken_or_refused() {
    let trial = Trial {
        name: "call of ycsb",
        samples: &[
            "run\nbasic\n-p\nrecordcount=1\n-threads\n4\n-target\n9\n-s".into(),
            "-load\n-db\nsite.ycsb.BasicDB\n-l\nlabel\n-p\na=b\n--system\nx\n-o\nout".into(),
        ],
        words: &["\n-p\n", "\n-threads\n", "--help", "\n-t\n", "run", "load"],
        inputs: 2_000,
    };
    trial.run(|input| {
        let text = String::from_utf8_lossy(input);
        let words: Vec<_> = text.lines().map(str::to_owned).collect();
        if !words.iter().any(|word| word == "-P") {
            let _ = Options::parse(&words);
        }
    });
}
