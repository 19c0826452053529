//! Every key that a plan has: one table, which the reader of plans, the effective plan, the flags
//! of `tailmark run`, the errors, `list keys` and the tests of the documentation go by.

use super::{
    Accept::{
        AbortLimits, Choice, Count, Distribution, FixedRates, Flag, FlagOr, FlagOrPath, Limits,
        Metric, Number, Paths, Percent, Rates, Size, Table, Tables, Text, Threads, Time,
        TimeOrAuto, Times, Words,
    },
    Adopt, ClientHost, DefaultInputs, DropCaches, Order, Plan, PlanKey, Reload, Sweep, Unexpected,
    emulate::EMULATIONS,
    prepare::{ERASES, FILE_SYSTEMS, HUGE_PAGES, NAMESPACES_MAX, STEADY_OVER},
    threads::NO_GAIN,
    units,
    warmup::AUTO,
};
use std::time::Duration;
use tailmark_driver::{DataSet, Semantics};
use tailmark_model::{Arrivals, Role, Scope, Secret, Subject};

/// The most clients that a point may have.
pub const THREADS_MAX: u64 = 1024;
/// The lowest rate, operations per second.
pub const RATE_MIN: f64 = 0.1;
/// The highest rate, operations per second.
pub const RATE_MAX: f64 = 1e9;
/// The most that a rate may be of a peak, percent.
pub const RATE_PERCENT_MAX: f64 = 1_000.0;
/// The most records of a data set.
pub const RECORDS_MAX: u64 = 1_000_000_000_000;
/// The driver where a plan names none.
pub const DRIVER_DEFAULT: &str = "rocksdb";
/// The most that is warmed up where the plan does not say.
const WARMUP_DEFAULT_MAX: Duration = Duration::from_secs(60);
/// A year, seconds: longer than any phase.
const YEAR: f64 = 365.0 * 86_400.0;
/// Whose semantics a system can keep.
const SEMANTICS: &[&str] = &[Semantics::Faithful.name(), Semantics::Correct.name()];
/// How operations can arrive at a rate.
const ARRIVALS: &[&str] = &[Arrivals::Even.name(), Arrivals::Poisson.name()];

const DATA_SET: Role = Role::Condition(Subject::DataSet);
const LOAD: Role = Role::Condition(Subject::Load);
const WORKLOAD: Role = Role::Condition(Subject::Workload);
const DISTRIBUTION: Role = Role::Condition(Subject::Distribution);
const EVERY_POINT: Role = Role::Condition(Subject::Run);
const SYSTEM: Role = Role::Scope(Scope::System);
const PREPARATION: Role = Role::Scope(Scope::Preparation);
const POINTS: Role = Role::Scope(Scope::Points);
const TRIALS: Role = Role::Scope(Scope::Trials);
const RUN: Role = Role::Scope(Scope::Run);
const REPORT: Role = Role::Report;
const COMMAND: Role = Role::Private(Secret::Command);
const HOSTS: Role = Role::Private(Secret::Hosts);

/// Every key, in the order of the documentation. The settings of the drivers, which `database` and
/// `system.database` also take, are in the table of drivers.
pub const KEYS: &[PlanKey] = &[
    PlanKey::new("", "title", REPORT, Text)
        .about("the headline of the report")
        .or_else(|inputs| (!inputs.names.is_empty()).then(|| inputs.names.join(" against "))),
    PlanKey::new("", "assumed", REPORT, Words)
        .about("dotted keys whose values the described study does not publish"),
    PlanKey::new("", "scale", POINTS, Number(1e-9, 1e3))
        .about("multiplies records, operations, caches and memory limits")
        .or("1")
        .flag(22, "--scale", "FACTOR")
        .help("Multiplies records, operations, caches and memory limits")
        .sets(|plan| Some(plan.scale.to_string())),
    PlanKey::new("", "time_scale", POINTS, Number(1e-9, 1e3))
        .about("multiplies durations, which stay at 10 s or more")
        .or("1")
        .flag(23, "--time-scale", "FACTOR")
        .help("Multiplies durations; those of 10 s or more stay so")
        .sets(|plan| Some(plan.time_scale.to_string())),
    PlanKey::new("", "same_device", RUN, Flag)
        .about(
            "whether systems may share one physical device: settings are compared, not \
             devices",
        )
        .or("false"),
    PlanKey::new("", "unexpected", RUN, Choice(Unexpected::NAMES))
        .about("what a system that is not as `expect` says is: an error, or a finding")
        .or(Unexpected::Error.name())
        .flag(26, "--unexpected", "WHAT")
        .help("What a system that is not as the plan expects is: error or finding")
        .sets(|plan| {
            let is_finding = plan.unexpected == Unexpected::Finding;
            is_finding.then(|| plan.unexpected.name().to_owned())
        }),
    PlanKey::new("", "database", SYSTEM, Table).about("the database of every system, and its settings"),
    PlanKey::new("", "dataset", DATA_SET, Table).about("what is loaded"),
    PlanKey::new("", "sweep", POINTS, Table).about("what is run: the axes and the budget of each point"),
    PlanKey::new("", "machine", EVERY_POINT, Table).about("what is done to the machine"),
    PlanKey::new("", "prepare", EVERY_POINT, Table)
        .about("what is done to the machine and to devices before systems are measured"),
    PlanKey::new("", "report", REPORT, Table).about("what the report states and compares"),
    PlanKey::new("", "slo", TRIALS, Table).about("the search for the highest rate that holds limits"),
    PlanKey::new("", "abort", RUN, Table).about("what ends the run at once"),
    PlanKey::new("", "system", SYSTEM, Tables).about("a system under test; at least one"),
    PlanKey::new("", "workload", WORKLOAD, Tables).about("a workload of one's own"),
    PlanKey::new("database", "driver", SYSTEM, Text)
        .about("which database; `list drivers` names them and their settings")
        .or(DRIVER_DEFAULT)
        .flag(0, "--driver", "DRIVER")
        .help("The database (`tailmark list drivers`)"),
    PlanKey::new("database", "semantics", SYSTEM, Choice(SEMANTICS))
        .about("YCSB's, faults included, or what the operation promises")
        .or("faithful"),
    PlanKey::new("database", "version", SYSTEM, Text).about(
        "the version that the described study used; a database of another is a finding",
    ),
    PlanKey::new("dataset", "records", DATA_SET, Count(1, RECORDS_MAX))
        .about("how many records are loaded")
        .or("1M")
        .flag(3, "--records", "COUNT")
        .help("Records to load: 250_000_000, 100k, 2.5M, 10G")
        .sets(|plan| Some(data_set(plan)?.records.to_string())),
    PlanKey::new("dataset", "fields", DATA_SET, Count(1, 1_000))
        .about("fields of a record")
        .or("4")
        .sets(|plan| Some(data_set(plan)?.schema.fields.len().to_string())),
    PlanKey::new("dataset", "field_length", DATA_SET, Size(1, 16 << 20))
        .about("bytes of a field")
        .or("1024")
        .sets(|plan| Some(data_set(plan)?.field_length.to_string())),
    PlanKey::new("dataset", "key_length", DATA_SET, Count(1, 1_000))
        .about("bytes of a key, with db_bench's workloads")
        .or("16")
        .sets(|plan| {
            Some(
                plan.sweep
                    .workloads
                    .first()?
                    .record_layout()?
                    .key_bytes
                    .to_string(),
            )
        }),
    PlanKey::new("dataset", "compressibility", DATA_SET, Number(0.0, 1.0))
        .about("the part of each value that a compressor can remove")
        .or("0")
        .sets(|plan| Some(plan.sweep.compressibility.to_string())),
    PlanKey::new("dataset", "write_all_fields", DATA_SET, Flag)
        .about("whether an update writes all fields instead of one")
        .or("false")
        .sets(|plan| Some(plan.sweep.write_all_fields.to_string())),
    PlanKey::new("dataset", "load_rate", LOAD, Number(RATE_MIN, RATE_MAX))
        .about("records per second of a load over all its clients; none: as fast as they can")
        .flag(27, "--load-rate", "OPS")
        .help("Records per second of a load; without it, as fast as its clients can")
        .sets(|plan| Some(plan.sweep.load_rate?.to_string())),
    PlanKey::new("dataset", "adopt", DATA_SET, FlagOr(Adopt::OVERWRITE))
        .about("whether data that tailmark did not load is used; overwrite: workloads may write")
        .or(Adopt::No.name())
        .flag(16, "--adopt", "overwrite")
        .with_optional_value()
        .help(
            "Use data that tailmark did not load, after reading a sample of its records. Nothing is \
             created, loaded or removed, and workloads that write are refused, except with \
             --adopt=overwrite",
        )
        .sets(|plan| (plan.sweep.adopt != Adopt::No).then(|| plan.sweep.adopt.name().to_owned())),
    PlanKey::new("dataset", "upgrade", DATA_SET, Flag)
        .about("whether adopted data may become unreadable for the version that wrote it")
        .or("false")
        .flag(31, "--upgrade", "")
        .help(
            "Let workloads write to adopted data even if the version of the database that wrote \
             it cannot read it afterwards",
        )
        .sets(|plan| plan.sweep.upgrade.then(|| true.to_string())),
    PlanKey::new("dataset", "into_existing", RUN, Flag)
        .about("whether tables are created in a keyspace that tailmark did not create")
        .or("false")
        .flag(30, "--into-existing", "")
        .help("Create tables in a keyspace that exists and that tailmark did not create"),
    PlanKey::new("sweep", "workloads", POINTS, Words)
        .about("names from `list workloads`, or of [[workload]] tables")
        .or("ycsb-a")
        .flag(1, "--workload", "NAMES")
        .help("Workloads, with commas between (`tailmark list workloads`)")
        .sets(workload_names),
    PlanKey::new("sweep", "distribution", DISTRIBUTION, Distribution)
        .about("how keys are drawn, for all workloads; none: each its own")
        .flag(2, "--distribution", "NAME")
        .help("How keys are drawn, for all workloads (`tailmark list distributions`)"),
    PlanKey::new("sweep", "threads", POINTS, Threads)
        .about("clients with one operation in flight each")
        .or("1,4,16")
        .flag(4, "--threads", "COUNTS")
        .help(
            "Client counts, with commas between: 1,4,16; or 8.. to double them from 8 on until \
             there is no gain (8..256x1.5)",
        )
        .sets(client_counts),
    PlanKey::new("sweep", "operations", EVERY_POINT, Count(1, 1_000_000_000_000_000))
        .about("ends a point after so many operations")
        .flag(5, "--operations", "COUNT")
        .help("Ends a point after so many operations; with --duration, whichever ends first")
        .sets(|plan| Some(plan.sweep.operations?.to_string())),
    PlanKey::new("sweep", "duration", EVERY_POINT, Time(0.1, YEAR))
        .about("ends a point after this time; 60s where neither is given")
        .or_else(|inputs| inputs.operations.is_none().then(|| "60s".to_owned()))
        .flag(6, "--duration", "TIME")
        .help("Ends a point after this time: 90s, 20m")
        .sets(|plan| plan.sweep.duration.map(time)),
    PlanKey::new("sweep", "warmup", EVERY_POINT, TimeOrAuto(0.0, YEAR))
        .about(
            "runs before the measured part: a time, or auto; a tenth of the duration, 1m at most",
        )
        .or_else(warmup)
        .flag(7, "--warmup", "TIME")
        .help("Runs before each point, not counted: 10s; auto: until it is steady")
        .sets(|plan| {
            Some(
                plan.sweep
                    .warmup
                    .fixed()
                    .map_or_else(|| AUTO.to_owned(), time),
            )
        }),
    PlanKey::new("sweep", "warmup_least", EVERY_POINT, Time(0.0, YEAR))
        .about("the part of an automatic warm-up in which it cannot be steady yet")
        .or("1m")
        .sets(|plan| Some(time(plan.sweep.warmup.limits()?.0))),
    PlanKey::new("sweep", "warmup_most", EVERY_POINT, Time(0.0, YEAR))
        .about("ends an automatic warm-up that is not steady")
        .or("30m")
        .sets(|plan| Some(time(plan.sweep.warmup.limits()?.1))),
    PlanKey::new("sweep", "repeats", POINTS, Count(1, 100))
        .about("how often the whole sweep is measured")
        .or("1")
        .flag(13, "--repeats", "COUNT")
        .help("How often the whole sweep is measured")
        .sets(|plan| Some(plan.sweep.repeats.to_string())),
    PlanKey::new("sweep", "order", POINTS, Choice(Order::NAMES))
        .about("how systems take turns; interleaved where there are repeats")
        .or_else(|inputs| Some(Order::of_repeats(inputs.repeats).name().to_owned()))
        .flag(14, "--order", "ORDER")
        .help("How systems take turns: interleaved (A B, B A, ...) or systems, one after the other")
        .sets(order),
    PlanKey::new("sweep", "rate", POINTS, Number(RATE_MIN, RATE_MAX))
        .about("operations per second at every thread count; none: as fast as the clients can")
        .flag(8, "--rate", "OPS")
        .help("Operations per second over all clients; without it, as fast as the clients can")
        .sets(|plan| Some(plan.sweep.rate?.to_string())),
    PlanKey::new("sweep", "rates", POINTS, Rates)
        .about("rates that are points of their own; a percentage is of a measured peak")
        .flag(9, "--rates", "RATES")
        .help("Rates that are points of their own, with commas between: 10k,20k,60%")
        .sets(asked_rates),
    PlanKey::new("sweep", "rate_threads", POINTS, Count(1, THREADS_MAX))
        .about("clients of a point of `rates`: the most operations in flight")
        .or("64")
        .flag(10, "--rate-threads", "COUNT")
        .help("Clients of a point of --rates: the most operations in flight")
        .sets(|plan| asked_rates(plan).map(|_| plan.sweep.rate_threads.to_string())),
    PlanKey::new("sweep", "rates_of", POINTS, Text)
        .about("the system whose peak percentages are of, measured first; none: each its own")
        .flag(11, "--rates-of", "SYSTEM")
        .help("The system whose peak percentages of --rates are of; without it, each its own")
        .sets(|plan| plan.sweep.rates_of.clone()),
    PlanKey::new("sweep", "arrivals", POINTS, Choice(ARRIVALS))
        .about("how operations arrive at a rate")
        .or("even")
        .flag(12, "--arrivals", "HOW")
        .help("How operations arrive at a rate: even or poisson")
        .sets(arrivals),
    PlanKey::new("sweep", "background_rate", WORKLOAD, Number(RATE_MIN, RATE_MAX))
        .about(
            "operations per second of background clients, such as the writer of \
             readwhilewriting",
        )
        .sets(background_rate),
    PlanKey::new("sweep", "seed", POINTS, Count(0, i64::MAX as u64))
        .about("of every random draw")
        .or("1")
        .flag(15, "--seed", "NUMBER")
        .help("Of every random draw; the same seed gives the same operations")
        .sets(|plan| Some(plan.sweep.seed.to_string())),
    PlanKey::new("sweep", "reload", EVERY_POINT, Choice(Reload::NAMES))
        .about("when the data set is loaded again")
        .or("never")
        .sets(|plan| Some(plan.sweep.reload.name().to_owned())),
    PlanKey::new("sweep", "load_threads", EVERY_POINT, Count(1, THREADS_MAX))
        .about("clients that load")
        .or("16")
        .sets(|plan| Some(plan.sweep.load_threads.to_string())),
    PlanKey::new("sweep", "settle", EVERY_POINT, Time(0.0, YEAR))
        .about("how long background work may take to come to rest")
        .or("30m")
        .sets(|plan| Some(time(plan.sweep.settle))),
    PlanKey::new("sweep", "ready_timeout", POINTS, Time(0.1, YEAR))
        .about("how long a server may take until it answers")
        .or("5m")
        .sets(|plan| Some(time(plan.sweep.ready_timeout))),
    PlanKey::new("sweep", "allow_errors", POINTS, Percent(0.0, 100.0))
        .about("operations that may fail in a point that is a peak and in comparisons")
        .or("0.1%")
        .sets(|plan| Some(units::percent_text(plan.sweep.allow_errors))),
    PlanKey::new("machine", "memory_limit", EVERY_POINT, Size(16 << 20, 1 << 50))
        .about("memory that the run may use, page cache included")
        .sets(|plan| Some(plan.machine.memory_limit?.to_string())),
    PlanKey::new("machine", "drop_caches", EVERY_POINT, Choice(DropCaches::NAMES))
        .about(
            "whether caches are dropped before each point; always: also those of a server that the \
             plan does not start",
        )
        .or("true")
        .sets(|plan| Some(plan.machine.drop_caches.name().to_owned())),
    PlanKey::new("machine", "probes", EVERY_POINT, Words)
        .about("probes beside those that are always sampled; with `none`, they alone")
        .flag(17, "--probe", "NAMES")
        .help("Samples these too; with none, them alone (`tailmark list probes`)")
        .sets(|plan| {
            let probes = &plan.machine.probes;
            (!probes.is_empty()).then(|| probes.join(", "))
        }),
    PlanKey::new("report", "metric", REPORT, Metric)
        .about("what is stated and compared besides ops/s: `p99.9 read`, `write_amplification`")
        .flag(18, "--metric", "METRIC")
        .help("The metric that is stated besides ops/s: \"p99.9 read\", write_amplification")
        .sets(|plan| Some(plan.report.metric?.to_string())),
    PlanKey::new("report", "baseline", REPORT, Text)
        .about("the system that every other one is compared with; without it, the leader is")
        .flag(19, "--baseline", "NAME")
        .help("The system that every other one is compared with")
        .sets(|plan| plan.report.baseline.clone()),
    PlanKey::new("report", "at_rate", REPORT, FixedRates)
        .about("rates at which the latency is stated, measured or off the curve")
        .sets(|plan| plan.report.at_rate_text()),
    PlanKey::new("report", "at_latency", REPORT, Times(1e-6, 3_600.0))
        .about("latencies at which ops/s are stated, off the curve")
        .sets(|plan| plan.report.at_latency_text()),
    PlanKey::new("report", "left_out", REPORT, Words)
        .about("workloads that are left out, and why: [\"ycsb-e: not every database can scan\"]")
        .sets(|plan| plan.report.left_out_text()),
    PlanKey::new("report", "equivalence", REPORT, Percent(0.0, 100.0))
        .about("differences within it are none in practice")
        .or("3%")
        .flag(20, "--equivalence", "PERCENT")
        .help("Differences within it are none in practice: 3%")
        .sets(|plan| Some(units::percent_text(plan.report.equivalence?))),
    PlanKey::new("report", "redact", REPORT, Flag)
        .about("whether serial numbers, host names and addresses are left out")
        .or("false")
        .flag(21, "--redact", "")
        .help(
            "Leave serial numbers, host names and addresses out of study facts, report and exports",
        )
        .sets(|plan| plan.report.redact.then(|| true.to_string())),
    PlanKey::new("prepare", "device", PREPARATION, Words).about(
        "of a system: the devices, by /dev/disk/by-id/... or serial:NUMBER; its own `device`",
    ),
    PlanKey::new("prepare", "erase", PREPARATION, Choice(ERASES))
        .about("how they are erased; needs --erase with the serial number of each"),
    PlanKey::new("prepare", "namespaces", PREPARATION, Count(1, NAMESPACES_MAX))
        .about("how many equal NVMe namespaces the drive is split into; needs --erase"),
    PlanKey::new("prepare", "precondition", PREPARATION, Count(1, 10))
        .about("how often the whole device is written in order; needs --erase"),
    PlanKey::new("prepare", "steady", PREPARATION, Table).about(
        "a mix of requests that is sent in rounds until the device is steady; needs --erase",
    ),
    PlanKey::new("prepare", "filesystem", PREPARATION, Choice(FILE_SYSTEMS))
        .about("the file system that is made, which needs --erase, and mounted"),
    PlanKey::new("prepare", "mkfs_options", PREPARATION, Words)
        .about("words for the program that makes it: [\"-m\", \"crc=1\"]"),
    PlanKey::new("prepare", "mount", PREPARATION, Text)
        .about("of a system: the directory where it is mounted, for as long as the run takes"),
    PlanKey::new("prepare", "mount_options", PREPARATION, Words).about("how: [\"noatime\"]"),
    PlanKey::new("prepare", "sysctls", EVERY_POINT, Words)
        .about("values of the kernel, put back afterwards: [\"vm.swappiness=1\"]")
        .sets(|plan| plan.settings.sysctl_text()),
    PlanKey::new("prepare", "governor", EVERY_POINT, Text)
        .about("how processors choose their frequency, put back afterwards: performance")
        .sets(|plan| plan.settings.governor.clone()),
    PlanKey::new("prepare", "huge_pages", EVERY_POINT, Choice(HUGE_PAGES))
        .about("transparent huge pages, put back afterwards")
        .sets(|plan| plan.settings.huge_pages.clone()),
    PlanKey::new("prepare", "memory_limit", EVERY_POINT, Size(1 << 20, 1 << 60))
        .about("memory that the control group of a server may use, put back afterwards")
        .sets(|plan| Some(plan.settings.memory.as_ref()?.0.to_string())),
    PlanKey::new("prepare", "memory_group", EVERY_POINT, Text)
        .about("that group, which there must be: /system.slice/database.slice")
        .sets(|plan| Some(plan.settings.memory.as_ref()?.1.clone())),
    PlanKey::new("slo", "latency", TRIALS, Limits)
        .about("limits that all must hold: `p99.99 read < 15ms`; none: no search")
        .flag(24, "--slo", "LIMITS")
        .help("Search the highest rate at which these hold: \"p99.99 read < 15ms\"")
        .sets(|plan| Some(plan.slo.as_ref()?.target())),
    PlanKey::new("slo", "min_rate", TRIALS, Number(RATE_MIN, RATE_MAX))
        .about("the lowest rate that is tried; a hundredth of the first")
        .sets(|plan| Some(plan.slo.as_ref()?.bounds.min_rate?.to_string())),
    PlanKey::new("slo", "max_rate", TRIALS, Number(RATE_MIN, RATE_MAX))
        .about("the highest rate that is tried; none: as high as the client can")
        .sets(|plan| Some(plan.slo.as_ref()?.bounds.max_rate?.to_string())),
    PlanKey::new("slo", "resolution", TRIALS, Percent(0.5, 100.0))
        .about("how far apart the two ends of the answer may be; 5%, quick 10%")
        .or_else(|inputs| Some(if inputs.quick { "10%" } else { "5%" }.to_owned()))
        .sets(|plan| Some(units::percent_text(plan.slo.as_ref()?.bounds.resolution))),
    PlanKey::new("slo", "arrivals", TRIALS, Choice(ARRIVALS))
        .about("how operations arrive at a trial")
        .or("poisson")
        .sets(|plan| Some(plan.slo.as_ref()?.arrivals.name().to_owned())),
    PlanKey::new("slo", "threads", TRIALS, Count(1, THREADS_MAX))
        .about("clients of a trial: the most operations in flight")
        .or("256")
        .sets(|plan| Some(plan.slo.as_ref()?.threads.to_string())),
    PlanKey::new("slo", "block", TRIALS, Time(1.0, YEAR))
        .about("the least that a block lasts, of which a trial has 20 to 40; 10s, quick 2s")
        .or_else(|inputs| Some(if inputs.quick { "2s" } else { "10s" }.to_owned()))
        .sets(|plan| Some(time(plan.slo.as_ref()?.rule.block))),
    PlanKey::new("slo", "warmup", TRIALS, Time(0.0, YEAR))
        .about("runs before each trial, not counted; 30s, quick 5s")
        .or_else(|inputs| Some(if inputs.quick { "5s" } else { "30s" }.to_owned()))
        .sets(|plan| Some(time(plan.slo.as_ref()?.warmup))),
    PlanKey::new("slo", "time", TRIALS, Time(1.0, YEAR))
        .about("the longest that a search may measure; 40m, quick 6m")
        .or_else(|inputs| Some(if inputs.quick { "6m" } else { "40m" }.to_owned()))
        .sets(|plan| Some(time(plan.slo.as_ref()?.time))),
    PlanKey::new("slo", "quick", TRIALS, Flag)
        .about("whether the search is to be quick rather than sure; every number says so")
        .or("false")
        .flag(25, "--quick", "")
        .help("A quick search (--slo): blocks of 2 s, a resolution of 10 %, 6 minutes at most")
        .sets(|plan| plan.slo.as_ref()?.quick.then(|| true.to_string())),
    PlanKey::new("abort", "when", RUN, AbortLimits)
        .about("limits that end the run when one is broken: `errors > 1%`")
        .flag(28, "--abort", "LIMITS")
        .help("End the run when one of these is broken: \"errors > 1%, p99 read > 200ms for 10s\"")
        .sets(|plan| joined(&plan.abort)),
    PlanKey::new("system", "name", SYSTEM, Text).about("its name in the report; unique"),
    PlanKey::new("system", "path", SYSTEM, Paths).about(
        "the directory that the database is made in; of a server on this machine: what is \
             watched, one or several",
    ),
    PlanKey::new("system", "device", SYSTEM, Paths).about(
        "the block device that the driver writes itself; of a server: what is watched, devices or \
         NVMe controllers",
    ),
    PlanKey::new("system", "contact_points", SYSTEM, Words)
        .about("the contact points of a server: [\"host:port\", ...]"),
    PlanKey::new("system", "ssh", HOSTS, Words).about(
        "where its server runs, one or several, as `ssh` takes them (\"root@db1\"): what is done and \
             sampled there",
    ),
    PlanKey::new("system", "agent", RUN, FlagOrPath)
        .about(
            "whether a small program may be copied to `ssh`, where it samples while it runs; or \
             which, for another processor",
        )
        .or("true"),
    PlanKey::new("system", "placeholder", RUN, Flag)
        .about("its place is an example: nothing is measured until --system NAME=WHERE gives one")
        .or("false"),
    PlanKey::new("system", "ceiling_for", SYSTEM, Text)
        .about("the system whose device ceiling this one measures, in the same place"),
    PlanKey::new("system", "optional", RUN, Flag)
        .about("left out with a message where its place is missing or too small")
        .or("false"),
    PlanKey::new("system", "database", SYSTEM, Table)
        .about("keys of [database] that differ for this system"),
    PlanKey::new("system", "service", COMMAND, Table).about("what is stopped and started around its points"),
    PlanKey::new("system", "expect", PREPARATION, Table)
        .about("what its place must be, looked up before anything is measured"),
    PlanKey::new("system", "prepare", PREPARATION, Table)
        .about("what is done to its devices before it is measured; what differs from [prepare]"),
    PlanKey::new("device", "emulate", SYSTEM, Choice(EMULATIONS))
        .about("an emulated device instead of one: a volume with limits; needs root"),
    PlanKey::new("device", "size", SYSTEM, Size(16 << 20, 1 << 50)).about("its bytes"),
    PlanKey::new("device", "iops", SYSTEM, Count(1, 100_000_000))
        .about("requests per second, reads and writes together; none: no limit"),
    PlanKey::new("device", "bandwidth", SYSTEM, Text)
        .about("bytes per second, reads and writes together: \"125MB/s\"; none: no limit"),
    PlanKey::new("device", "burst", SYSTEM, Count(1, 100_000_000))
        .about("requests per second as long as it may burst; more than `iops`"),
    PlanKey::new("device", "burst_time", SYSTEM, Time(1.0, 86_400.0))
        .about("how long it may burst after it was idle"),
    PlanKey::new("device", "delay", SYSTEM, Time(0.001, 60.0))
        .about("how long each request waits besides, whole milliseconds; needs nbdkit"),
    PlanKey::new("steady", "over", PREPARATION, Choice(STEADY_OVER))
        .about("what the requests go to; filesystem: a file in it, removed again")
        .or("device"),
    PlanKey::new("steady", "fill", PREPARATION, Count(1, 95))
        .about("percent of the free room of the file system that the file fills")
        .or("90"),
    PlanKey::new("steady", "read", PREPARATION, Count(0, 100))
        .about("reads of a hundred requests; the others are writes")
        .or("0"),
    PlanKey::new("steady", "block", PREPARATION, Size(4096, 16 << 20))
        .about("bytes of a request, a multiple of 4 KiB")
        .or("4KiB"),
    PlanKey::new("steady", "depth", PREPARATION, Count(1, 1024))
        .about("requests in flight")
        .or("32"),
    PlanKey::new("steady", "round", PREPARATION, Time(1.0, 86_400.0))
        .about("how long a round lasts, of 25 at most")
        .or("1m"),
    PlanKey::new("expect", "mount", PREPARATION, Flag)
        .about("whether its place is on a mount point of its own, not on the root file system")
        .or("false"),
    PlanKey::new("expect", "filesystem", PREPARATION, Text).about("the type of the file system: xfs, ext4"),
    PlanKey::new("expect", "mount_options", PREPARATION, Words)
        .about("options that it is mounted with: [\"noatime\"]"),
    PlanKey::new("expect", "model", PREPARATION, Text)
        .about("what the device's model contains, in whichever case"),
    PlanKey::new("expect", "capacity", PREPARATION, Size(1, 1 << 60)).about("the device's capacity, within 1 %"),
    PlanKey::new("expect", "transport", PREPARATION, Choice(tailmark_model::TRANSPORTS))
        .about("how the device is attached"),
    PlanKey::new("expect", "client_host", PREPARATION, Choice(ClientHost::NAMES))
        .about("whether the server is on another machine than its clients, or on the same"),
    PlanKey::new("expect", "version", PREPARATION, Text)
        .about("what the version of the embedded database begins with; always a finding"),
    PlanKey::new("service", "systemd", COMMAND, Text).about("the unit of systemd that it is"),
    PlanKey::new("service", "start", COMMAND, Text).about("a command that starts it, or is the server"),
    PlanKey::new("service", "stop", COMMAND, Text)
        .about("a command that stops it; none: what `start` runs is terminated"),
    PlanKey::new("service", "ready", COMMAND, Text)
        .about("a command that succeeds when it is ready; none: the database is asked"),
    PlanKey::new("service", "log", RUN, Text).about("its log, whose end errors show"),
    PlanKey::new("workload", "name", WORKLOAD, Text).about("its name in `sweep.workloads`"),
    PlanKey::new("workload", "about", REPORT, Text)
        .about("one line for the report")
        .or_else(|inputs| inputs.names.first().map(ToString::to_string)),
    PlanKey::new("workload", "read", WORKLOAD, Number(0.0, 1e9))
        .about("weight of reads")
        .or("0"),
    PlanKey::new("workload", "update", WORKLOAD, Number(0.0, 1e9))
        .about("weight of updates")
        .or("0"),
    PlanKey::new("workload", "insert", WORKLOAD, Number(0.0, 1e9))
        .about("weight of inserts")
        .or("0"),
    PlanKey::new("workload", "scan", WORKLOAD, Number(0.0, 1e9))
        .about("weight of scans")
        .or("0"),
    PlanKey::new("workload", "read_modify_write", WORKLOAD, Number(0.0, 1e9))
        .about("weight of reads followed by an update of the same record")
        .or("0"),
    PlanKey::new("workload", "distribution", DISTRIBUTION, Distribution)
        .about("how keys are drawn")
        .or("uniform"),
    PlanKey::new("workload", "scan_length_min", WORKLOAD, Count(1, 1_000_000))
        .about("the fewest records of a scan")
        .or("1"),
    PlanKey::new("workload", "scan_length_max", WORKLOAD, Count(1, 1_000_000))
        .about("the most records of a scan")
        .or("100"),
    PlanKey::new("workload", "scan_length", WORKLOAD, Choice(&["uniform", "zipfian"]))
        .about("how the length of a scan is drawn")
        .or("uniform"),
    PlanKey::new("workload", "read_all_fields", WORKLOAD, Flag)
        .about("whether a read asks for all fields instead of one")
        .or("true"),
    PlanKey::new("distribution", "name", DISTRIBUTION, Text).about("a name from `list distributions`"),
    PlanKey::new("distribution", "theta", DISTRIBUTION, Number(0.01, 10.0))
        .about("true-zipfian: the skew")
        .or("0.99"),
    PlanKey::new("distribution", "data_fraction", DISTRIBUTION, Number(0.0, 1.0))
        .about("hotspot: the part of the records that is hot")
        .or("0.2"),
    PlanKey::new("distribution", "operation_fraction", DISTRIBUTION, Number(0.0, 1.0))
        .about("hotspot: the part of the draws that go there")
        .or("0.8"),
    PlanKey::new("distribution", "percentile", DISTRIBUTION, Number(0.01, 99.999))
        .about("exponential: the part of the draws, in percent, ...")
        .or("95"),
    PlanKey::new("distribution", "fraction", DISTRIBUTION, Number(1e-9, 1.0))
        .about("exponential: ... that fall into this part of the records")
        .or("0.8571428571"),
    PlanKey::new("threads", "from", POINTS, Count(1, THREADS_MAX))
        .about("the first client count")
        .or("1"),
    PlanKey::new("threads", "to", POINTS, Count(1, THREADS_MAX))
        .about("the last client count, at most; 1,024 with `until`"),
    PlanKey::new("threads", "factor", POINTS, Number(1.01, 1024.0))
        .about("from one client count to the next")
        .or("2"),
    PlanKey::new("threads", "until", POINTS, Choice(&[NO_GAIN]))
        .about("ends the series sooner: each is measured, and the next where there was a gain"),
];

/// The keys of a table.
pub fn of(table: &str) -> impl Iterator<Item = &'static PlanKey> {
    KEYS.iter().filter(move |key| key.table == table)
}

/// The role of the key of this name in a table, which there is.
pub fn role(table: &str, name: &str) -> Role {
    let key = find(table, name);
    key.unwrap_or_else(|| panic!("there is no key {table}.{name}"))
        .role
}

/// The key of this name in a table.
pub fn find(table: &str, name: &str) -> Option<&'static PlanKey> {
    of(table).find(|key| key.name == name)
}

/// The data set, the same of every system.
fn data_set(plan: &Plan) -> Option<&DataSet> {
    plan.systems.first().map(|system| &system.data)
}

fn workload_names(plan: &Plan) -> Option<String> {
    let names = plan.sweep.workloads.iter().map(|w| w.name.as_str());
    Some(names.collect::<Vec<_>>().join(", "))
}

/// None where rates alone are measured.
fn client_counts(plan: &Plan) -> Option<String> {
    if let Some(ladder) = plan.sweep.ladder {
        return Some(ladder.to_string());
    }
    joined(&plan.sweep.threads)
}

/// None where the plan has none: so it reads as one of before there were any.
fn asked_rates(plan: &Plan) -> Option<String> {
    joined(&plan.sweep.rates)
}

/// None where there is no rate.
fn arrivals(plan: &Plan) -> Option<String> {
    let Sweep { rate, rates, .. } = &plan.sweep;
    let has_rate = rate.is_some() || !rates.is_empty();
    let arrivals = plan.sweep.arrivals.filter(|_| has_rate)?;
    Some(arrivals.name().to_owned())
}

/// None where systems are measured one after the other, as all were before there was another order.
fn order(plan: &Plan) -> Option<String> {
    let is_interleaved = plan.sweep.order == Order::Interleaved && plan.systems.len() > 1;
    is_interleaved.then(|| plan.sweep.order.name().to_owned())
}

/// With commas between; none where there is nothing.
fn joined(items: &[impl ToString]) -> Option<String> {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    (!items.is_empty()).then(|| items.join(", "))
}

/// Of the first background clients, where a workload has some.
fn background_rate(plan: &Plan) -> Option<String> {
    let mut groups = plan
        .sweep
        .workloads
        .iter()
        .flat_map(|workload| &workload.groups);
    let background = groups.find(|group| group.is_background())?;
    let rate = background.rate.map(|rate| rate.to_string());
    Some(rate.unwrap_or_else(|| "as fast as they can".to_owned()))
}

fn time(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}

/// A tenth of the duration, but not too long.
fn warmup(inputs: &DefaultInputs<'_>) -> Option<String> {
    let tenth = inputs.duration.unwrap_or_default() / 10;
    Some(time(tenth.min(WARMUP_DEFAULT_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_unique_and_its_about_is_one_line() {
        let paths: std::collections::BTreeSet<_> = KEYS.iter().map(PlanKey::path).collect();
        assert_eq!(paths.len(), KEYS.len());
        for key in KEYS {
            assert!(
                !key.about.is_empty() && !key.about.contains('\n'),
                "{}",
                key.path()
            );
        }
    }

    #[test]
    fn every_key_is_documented_with_its_default() {
        let document = include_str!("../../../docs/PLANS.md");
        let mut table = "";
        let mut rows = std::collections::BTreeMap::new();
        for line in document.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                table = heading.split('`').nth(1).unwrap_or("");
            } else if let Some(name) = line.strip_prefix("| `") {
                let name = name.split('`').next().unwrap_or("");
                rows.insert((table.trim_matches(['[', ']']), name), line);
            }
        }
        for key in KEYS {
            let row = rows.get(&(key.table, key.name));
            let row = row.unwrap_or_else(|| panic!("docs/PLANS.md lacks `{}`", key.path()));
            let written = row.split('|').nth(2).unwrap_or("").replace(['`', ' '], "");
            let default = key.fixed_default();
            assert!(
                written.contains(default),
                "docs/PLANS.md: the default of `{}` is {default}",
                key.path()
            );
        }
    }

    #[test]
    fn every_flag_is_documented_with_its_key_and_has_a_place_of_its_own() {
        let document = include_str!("../../../docs/CLI.md");
        let flags = || KEYS.iter().filter_map(|key| Some((key, key.flag?)));
        for (key, flag) in flags() {
            let row = format!("| `{}` | `{}` |", flag.name, key.path());
            assert!(document.contains(&row), "docs/CLI.md lacks {row}");
        }
        let places: std::collections::BTreeSet<_> = flags().map(|(_, flag)| flag.place).collect();
        assert_eq!(places.len(), flags().count());
    }
}
