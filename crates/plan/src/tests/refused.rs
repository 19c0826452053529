//! What is wrong in a plan, and what its refusal names.

use super::{SYSTEM, check, message};

/// A plan text (after [`SYSTEM`] where it starts with `+`), and what the refusal must name.
const REFUSED: &[(&str, &[&str])] = &[
    (
        "+[sweep]\nthread = [1]",
        &["sweep.thread", "did you mean `threads`?"],
    ),
    ("+[swep]\nthreads = [1]", &["swep", "did you mean `sweep`?"]),
    (
        "[sweep]\nthreads = [1]\nduration = 5\n[[system]]\nname = 'a'",
        &["test, line 3: sweep.duration is `5`"],
    ),
    // A version without quotes is a number, and as such another version.
    (
        "[database]\ndriver = 'rocksdb'\nlibrary = 9.10\n[[system]]\nname = 'a'\npath = '/x'",
        &["test, line 3: database.library is `9.1`, but it must be text in quotes"],
    ),
    (
        "[[system]]\nname = 'a'\n[[system]]\nname = 'b'\ncolour = 'red'",
        &["test, line 5: there is no key `system.b.colour`"],
    ),
    (
        "+[machine]\nmemory = '1GiB'",
        &["machine.memory", "memory_limit"],
    ),
    (
        "recordcount = 1000\n[[system]]\nname = 'a'",
        &["test, line 1: there is no key `recordcount`; write `dataset.records` instead"],
    ),
    (
        "+[dataset]\ncompression = 'lz4'",
        &["`dataset.compression`; write `database.compression`, or --compression instead"],
    ),
    (
        "+[sweep]\nrecord_size = 4096",
        &["write `dataset.fields` and `dataset.field_length`, or --record-size instead"],
    ),
    (
        "+[dataset]\nduration = '5s'",
        &["there is no key `dataset.duration`; write `sweep.duration` instead"],
    ),
    (
        "+colour = 'red'",
        &["system.a.colour", "keys there: name, path"],
    ),
    (
        "[[system]]\nname = 'a'\n[database]\ndriver = 'null'\ncache = 1",
        &["database.cache", "keys there: driver, semantics"],
    ),
    (
        "+[slo]\nlatency = 'p99 read'",
        &["slo.latency is `p99 read`", "p99.99 read < 15ms"],
    ),
    (
        "+[slo]\nlatency = 'p99 scan < 1ms'",
        &[
            "slo.latency",
            "a workload of the plan sends",
            "read, update",
        ],
    ),
    (
        "+[slo]\nlatency = 'p99 read < 1ms, p99 read < 2ms'",
        &["slo.latency", "each once"],
    ),
    ("+[slo]\nquick = true", &["slo.latency"]),
    (
        "+[slo]\nlatency = 'p99 read < 1ms'\nmin_rate = 100\nmax_rate = 100",
        &["slo.max_rate is `100`", "more than slo.min_rate (100)"],
    ),
    (
        "+[slo]\nlatency = 'p99 read < 1ms'\ntime = '3m'",
        &["slo.time is `3m`", "20 blocks and a warm-up, 3m 50s"],
    ),
    (
        "+[slo]\nlatency = 'p99 read < 1ms'\nresolution = 5",
        &["slo.resolution is `5`", "`0.5%`"],
    ),
    (
        "+[dataset]\nrecords = 0",
        &["dataset.records is `0`", "from 1 to 1,000,000,000,000"],
    ),
    ("+[dataset]\nrecords = -5", &["dataset.records is `-5`"]),
    (
        "+[dataset]\nadopt = true\nrestore = 'reload'",
        &[
            "dataset.adopt is `true`",
            "dataset.restore is `reload`",
            "never removes adopted data",
        ],
    ),
    (
        "+[dataset]\nadopt = true\nfields = 1\n[sweep]\nworkloads = ['fillseq']",
        &["dataset.adopt is `true`", "workload `fillseq`"],
    ),
    (
        "+[dataset]\nadopt = true\n[sweep]\nworkloads = ['ycsb-c', 'ycsb-b']",
        &[
            "dataset.adopt is `true`",
            "workload `ycsb-b`, which writes",
            "--adopt=overwrite",
        ],
    ),
    (
        "+[dataset]\nadopt = true\nfields = 1\n[sweep]\nworkloads = ['readwhilewriting']",
        &["workload `readwhilewriting`, which writes"],
    ),
    (
        "+[dataset]\nadopt = 'overwrite'\nfields = 1\n[sweep]\nworkloads = ['deleterandom']",
        &["workload `deleterandom`, which removes records"],
    ),
    (
        "+[dataset]\nadopt = 'overwrite'\ninto_existing = true",
        &["dataset.adopt is `overwrite`", "dataset.into_existing"],
    ),
    (
        "+[dataset]\nadopt = 'overwrites'",
        &["dataset.adopt is `overwrites`", "true, false or overwrite"],
    ),
    (
        "+[dataset]\nrecords = '2T0'",
        &["dataset.records is `2T0`", "`100k`"],
    ),
    ("+[dataset]\nrecords = '10T'", &["dataset.records is `10T`"]),
    (
        "+[dataset]\nfields = 1001",
        &["dataset.fields is `1001`", "1 to 1,000"],
    ),
    (
        "+[dataset]\nfield_length = '17MiB'",
        &["dataset.field_length is `17MiB`", "16"],
    ),
    (
        "+[dataset]\nfield_length = 'long'",
        &["dataset.field_length is `long`", "`64MiB`"],
    ),
    (
        "+[dataset]\ncompressibility = 1.5",
        &["dataset.compressibility is `1.5`", "from 0 to 1"],
    ),
    (
        "+[sweep]\nthreads = [0]",
        &["sweep.threads is `[0]`", "1 to 1,024"],
    ),
    (
        "+[sweep]\nthreads = [1, 1025]",
        &["sweep.threads", "1025", "1 to 1,024"],
    ),
    ("+[sweep]\nthreads = []", &["sweep.threads is `[]`"]),
    ("+[sweep]\nthreads = [4, 4]", &["sweep.threads is `[4, 4]`"]),
    (
        "+[sweep]\nthreads = { from = 8, to = 4 }",
        &["sweep.threads"],
    ),
    (
        "+[sweep]\nthreads = { from = 1 }",
        &["sweep.threads.to is missing"],
    ),
    (
        "+[sweep]\nthreads = { from = 1, until = 4 }",
        &["sweep.threads.until"],
    ),
    (
        "+[sweep]\nallow_errors = 0.001",
        &[
            "sweep.allow_errors is `0.001`",
            "a percentage such as `0.1%`",
        ],
    ),
    (
        "+[sweep]\nallow_errors = '101%'",
        &["sweep.allow_errors is `101%`", "from 0% to 100%"],
    ),
    ("+[sweep]\noperations = 0", &["sweep.operations is `0`"]),
    (
        "+[sweep]\nduration = 20",
        &["sweep.duration is `20`", "`20m`"],
    ),
    (
        "+[sweep]\nduration = '20'",
        &["sweep.duration is `20`", "with its unit"],
    ),
    ("+[sweep]\nduration = '5M'", &["sweep.duration is `5M`"]),
    (
        "+[sweep]\nduration = '10ms'",
        &["sweep.duration is `10ms`", "100ms"],
    ),
    (
        "+[sweep]\nwarmup = true",
        &["sweep.warmup is `true`", "a time", "or `auto`"],
    ),
    (
        "+[sweep]\nwarmup = 'auto '",
        &["sweep.warmup is `auto `", "or `auto`"],
    ),
    (
        "+[sweep]\nwarmup = '1m'\nwarmup_least = '2m'",
        &["sweep.warmup_least is `2m`", "sweep.warmup = \"auto\""],
    ),
    (
        "+[sweep]\nwarmup_most = '2m'",
        &["sweep.warmup_most is `2m`", "sweep.warmup = \"auto\""],
    ),
    (
        "+[sweep]\nwarmup = 'auto'\nwarmup_most = '3m'",
        &["sweep.warmup_most is `3m`", "3m 30s or more"],
    ),
    (
        "+[sweep]\nwarmup = 'auto'\nwarmup_least = '40m'",
        &["sweep.warmup_most is `30m`", "42m 30s or more"],
    ),
    (
        "+[sweep]\nrepeats = 101",
        &["sweep.repeats is `101`", "1 to 100"],
    ),
    ("+[sweep]\nrate = 0", &["sweep.rate is `0`"]),
    (
        "+[sweep]\nrate = 5\nrates = ['10k']",
        &["sweep.rates is `[\"10k\"]`", "if sweep.rate is given"],
    ),
    ("+[sweep]\nrates = []", &["sweep.rates is `[]`"]),
    (
        "+[sweep]\nrates = [5, 'fast']",
        &["sweep.rates", "fast", "percentages of a peak"],
    ),
    (
        "+[sweep]\nrates = [0.05]",
        &["sweep.rates is `[0.05]`", "0.1"],
    ),
    (
        "+[sweep]\nrates = '2G'",
        &["sweep.rates is `2G`", "1,000,000,000 ops/s"],
    ),
    ("+[sweep]\nrates = ['0%']", &["sweep.rates is `[\"0%\"]`"]),
    (
        "+[sweep]\nrates = ['1000.1%']",
        &["sweep.rates is `[\"1000.1%\"]`", "up to 1000%"],
    ),
    (
        "+[sweep]\nrates = ['10k', 10_000]",
        &["sweep.rates", "each once"],
    ),
    (
        "+[sweep]\nrates = ['60%', '60.0 %']",
        &["sweep.rates", "each once"],
    ),
    (
        "+[sweep]\nrates = '60%'\nrates_of = 'aa'",
        &["sweep.rates_of is `aa`", "did you mean `a`?", "it has: a"],
    ),
    (
        "+[sweep]\nrates = '10k'\nrates_of = 'a'",
        &["sweep.rates_of is `a`", "percentage in sweep.rates"],
    ),
    (
        "+[sweep]\nrates_of = 'a'",
        &["sweep.rates_of is `a`", "percentage in sweep.rates"],
    ),
    (
        "+[sweep]\nrate_threads = 8",
        &["sweep.rate_threads is `8`", "together with sweep.rates"],
    ),
    (
        "+[sweep]\nrates = 10\nrate_threads = 1025",
        &["sweep.rate_threads is `1025`", "1 to 1,024"],
    ),
    (
        "+[sweep]\narrivals = 'even'",
        &["sweep.arrivals is `even`", "sweep.rates or sweep.rate"],
    ),
    (
        "+[sweep]\nrate = 10\narrivals = 'random'",
        &["sweep.arrivals is `random`", "one of even, poisson"],
    ),
    (
        "+[dataset]\nrestore = 'always'",
        &[
            "dataset.restore is `always`",
            "none, reload, checkpoint, copy, snapshot, command",
        ],
    ),
    (
        "+[dataset]\nrestore = 'checkpoint'",
        &[
            "dataset.restore is `checkpoint`",
            "system `a`",
            "its data is not in a directory here; use \"reload\" or \"command\"",
        ],
    ),
    (
        "[database]\ndriver = 'file'\n[[system]]\nname = 'a'\npath = '/x'\n[dataset]\n\
         restore = 'checkpoint'",
        &[
            "dataset.restore is `checkpoint`",
            "system `a`",
            "changes its files in place",
        ],
    ),
    (
        "+[dataset]\nrestore = 'command'",
        &[
            "dataset.restore is `command`",
            "without dataset.restore_command",
        ],
    ),
    (
        "+[dataset]\nrestore_command = 'true'",
        &[
            "dataset.restore is `none`",
            "`command` with dataset.restore_command",
        ],
    ),
    (
        "+[sweep]\norder = 'random'",
        &["sweep.order is `random`", "one of interleaved, systems"],
    ),
    (
        "+[report]\nmetric = 'p98 read'",
        &["report.metric is `p98 read`", "p99.9", "read-modify-write"],
    ),
    (
        "+[report]\nmetric = 'p99 scan'",
        &[
            "report.metric is `p99 scan`",
            "a workload of the plan sends: read, update",
        ],
    ),
    (
        "+[report]\nlogo = 'nowhere.png'",
        &[
            "report.logo is `nowhere.png`",
            "No such file",
            "at most 256 KiB",
        ],
    ),
    (
        "+[report]\nlogo = 'Cargo.toml'",
        &["report.logo is `Cargo.toml`", "PNG or JPEG", "another file"],
    ),
    (
        "+[report]\nlogo = '/dev/zero'",
        &["report.logo is `/dev/zero`", "not a regular file"],
    ),
    (
        "+[report]\nbaseline = 'nobody'",
        &["report.baseline is `nobody`", "the name of a system"],
    ),
    (
        "+[report]\nat_rate = ['40k', 'fast']",
        &["report.at_rate is", "fast", "rates from 0.1"],
    ),
    (
        "+[report]\nat_latency = ['15ms', '0']",
        &["report.at_latency is", "times with their units", "15ms"],
    ),
    (
        "+[report]\nskipped = ['ycsb-e']",
        &["report.skipped is", "ycsb-e", "NAME: REASON"],
    ),
    (
        "+[report]\nequivalence = '101%'",
        &["report.equivalence is `101%`", "from 0% to 100%"],
    ),
    (
        "+[sweep]\nworkloads = ['ycsb-z']",
        &["sweep.workloads", "ycsb-z", "ycsb-a"],
    ),
    ("+[sweep]\nworkloads = []", &["sweep.workloads is `[]`"]),
    (
        "+[sweep]\nworkloads = ['ycsb-a', 'ycsb-a']",
        &["sweep.workloads", "ycsb-a"],
    ),
    (
        "+[sweep]\ndistribution = 'unifrom'",
        &["sweep.distribution", "unifrom", "uniform"],
    ),
    (
        "+[sweep]\ndistribution = { name = 'uniform', theta = 0.5 }",
        &["sweep.distribution.theta", "uniform"],
    ),
    (
        "+[machine]\nmemory_limit = '2 apples'",
        &["machine.memory_limit is `2 apples`", "`64MiB`"],
    ),
    (
        "+[machine]\nmemory_limit = 0",
        &["machine.memory_limit is `0`"],
    ),
    (
        "+[machine]\ndrop_caches = 'maybe'",
        &["machine.drop_caches is `maybe`", "true, false, always"],
    ),
    ("+[[system]]\nname = 'a'", &["[[system]]", "`a`", "unique"]),
    (
        "+[[system]]\nname = 'x/y'",
        &["name is `x/y`", "without `/`"],
    ),
    ("+[[system]]\npath = '/x'", &["system[1].name is missing"]),
    (
        "+[[system]]\nname = 'b'\nceiling_for = 'A'",
        &["system.b.ceiling_for is `A`", "`a`"],
    ),
    (
        "+[[system]]\nname = 'b'\nceiling_for = 'b'",
        &["system.b.ceiling_for is `b`"],
    ),
    ("+[[workload]]\nname = 'w'", &["workload.w", "weight"]),
    (
        "+[[workload]]\nname = 'w'\nread = -1",
        &["workload.w.read is `-1`"],
    ),
    (
        "+[[workload]]\nname = 'w'\nread = 1\nreed = 1",
        &["workload.w.reed", "`read`"],
    ),
    (
        "+[[workload]]\nname = 'w'\nscan = 1\nscan_length_max = 0",
        &["workload.w.scan_length_max is `0`"],
    ),
    ("scale = 0\n", &["scale is `0`"]),
    (
        "assumed = ['sweep.wramup']\n[database]\ndriver = 'null'\n[[system]]\nname = 'a'",
        &["assumed is `sweep.wramup`"],
    ),
    (
        "title = 3\n[database]\ndriver = 'null'\n[[system]]\nname = 'a'",
        &["title is `3`"],
    ),
    ("system = 'a'", &["system is `a`", "tables"]),
    (
        "[system]\nname = 'a'",
        &[
            "test, line 1: system is `[system]`",
            "write `[[system]]` instead",
        ],
    ),
    (
        "+[sweep]\nworkloads = ['workloada']",
        &[
            "test, line 6: sweep.workloads is `workloada`",
            "; write `ycsb-a` instead",
        ],
    ),
    (
        "+[sweep]\ndistribution = 'random'",
        &[
            "test, line 6: sweep.distribution is `random`",
            "; write `uniform` instead",
        ],
    ),
    ("sweep = 3", &["sweep is `3`", "a table"]),
    (
        "[database]\ndriver = 'null'",
        &["no system", "[[system]]", "--system NAME=WHERE"],
    ),
    (
        "[database]\ndriver = 'rockdb'\n[[system]]\nname = 'a'",
        &["database.driver", "rockdb", "drivers:"],
    ),
    (
        "[database]\ndriver = 7\n[[system]]\nname = 'a'",
        &["database.driver is `7`"],
    ),
    (
        "[database]\ndriver = 'null'\nsemantics = 'right'\n[[system]]\nname = 'a'",
        &["database.semantics is `right`", "faithful, correct"],
    ),
    ("[[system]\nname = 'a'", &["test, line 1, column"]),
    ("a = 1\na = 2", &["test, line 2, column"]),
];

#[test]
fn what_is_wrong_is_named_with_its_value_and_what_is_accepted() {
    for (text, words) in REFUSED {
        let text = text
            .strip_prefix('+')
            .map_or((*text).to_owned(), |more| SYSTEM.to_owned() + more);
        let error = match check(&text) {
            Ok(_) => panic!("accepted: {text}"),
            Err(error) => message(&error),
        };
        for word in *words {
            assert!(error.contains(word), "{text}\n{error}\nlacks {word}");
        }
    }
}
