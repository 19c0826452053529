//! Whatever shapes a point is in the effective plan: a changed plan is not taken for the old one.

use super::plan;
use crate::{KEYS, keys};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};
use tailmark_model::{PlanValue, Role, Secret};

/// A plan in which every key takes effect, by the line that sets it.
const BASE: &str = "\
title = 'T'
assumed = []
scale = 1
time_scale = 1
same_device = true
[database]
driver = 'sim-threads'
latency_us = 1
[dataset]
records = 100
fields = 4
field_length = 8
compressibility = 0.5
write_all_fields = false
restore = 'none'
[sweep]
workloads = ['mine', 'ycsb-c']
distribution = { name = 'hotspot', data_fraction = 0.1, operation_fraction = 0.9 }
threads = { from = 1, to = 16, factor = 2 }
operations = 1000
duration = '60s'
warmup = '20s'
repeats = 1
rate = 100
seed = 1
load_threads = 2
settle = '1s'
ready_timeout = '1s'
allow_errors = '1%'
[machine]
memory_limit = '1GiB'
drop_caches = true
probes = ['none']
[report]
metric = 'p99.9 read'
baseline = 'a'
at_rate = ['40k']
at_latency = '15ms'
skipped = ['ycsb-e: it scans, and not all can']
equivalence = '3%'
[[system]]
name = 'a'
optional = false
placeholder = false
database = { semantics = 'faithful' }
[[system]]
name = 'b'
ceiling_for = 'a'
[[workload]]
name = 'mine'
about = 'mine'
read = 1
update = 1
insert = 1
scan = 1
read_modify_write = 1
distribution = 'uniform'
scan_length_min = 1
scan_length_max = 9
scan_length = 'uniform'
read_all_fields = true
";

/// A plan whose client counts are climbed.
const LADDER: &str = "[database]\ndriver = 'null'\n[[system]]\nname = 'a'\n[sweep]\n\
    threads = { from = 1, to = 16, until = 'no gain' }\n";

/// Other plans, for keys that have no effect in [`BASE`].
pub(super) const DB_BENCH: &str = "\
[database]
driver = 'null'
[dataset]
fields = 1
key_length = 16
[sweep]
workloads = ['readwhilewriting']
background_rate = 100
[[system]]
name = 'a'
";
const FILE: &str = "\
[database]
driver = 'file'
[[system]]
name = 'a'
path = '/x'
";
const EXPECTING: &str = "\
unexpected = 'error'
[database]
driver = 'file'
[[system]]
name = 'a'
path = '/x'
[system.expect]
mount = true
filesystem = 'xfs'
mount_options = ['noatime']
model = '7450'
capacity = '7.68TB'
transport = 'nvme'
";
const PREPARING: &str = "\
[database]
driver = 'file'
[[system]]
name = 'a'
path = '/x/y/data'
[system.prepare]
device = ['serial:S-1']
erase = 'discard'
precondition = 2
steady = { over = 'filesystem', fill = 50, read = 35, block = '8KiB', depth = 8, round = '30s' }
filesystem = 'xfs'
mkfs_options = ['-m', '0']
mount = '/x'
mount_options = ['noatime']
";
const EMULATED: &str = "\
[database]
driver = 'file'
[[system]]
name = 'a'
device = { emulate = 'volume', size = '1GiB', iops = 100, bandwidth = '1MB/s', burst = 300, burst_time = '10s', delay = '2ms' }
";
const RAW: &str = "\
[database]
driver = 'file'
[[system]]
name = 'a'
device = '/x'
prepare = { namespaces = 16 }
";
const SETTING: &str = "\
[database]
driver = 'null'
[[system]]
name = 'a'
[prepare]
sysctls = ['vm.swappiness=1']
governor = 'performance'
huge_pages = 'never'
memory_limit = '4GiB'
memory_group = '/a'
";
const SERVER: &str = "\
[database]
driver = 'cassandra'
[[system]]
name = 'a'
contact_points = 'x:1'
path = '/x'
service = { start = 's', stop = 't', ready = 'r', log = '/l' }
";
const ROCKSDB: &str = "\
[database]
driver = 'rocksdb'
version = '6.22'
[[system]]
name = 'a'
path = '/x'
";
const OWN: &str = "\
[database]
driver = 'null'
[sweep]
workloads = ['mine']
[[system]]
name = 'a'
[[workload]]
name = 'mine'
read = 1
distribution = 'uniform'
";
const SLO: &str = "\
[database]
driver = 'null'
[slo]
latency = 'p99.9 read < 15ms'
min_rate = 10
max_rate = 1000
resolution = '5%'
arrivals = 'poisson'
threads = 64
block = '10s'
warmup = '20s'
time = '1h'
quick = false
[[system]]
name = 'a'
";

const RATES: &str = "\
[database]
driver = 'null'
[sweep]
rates = ['10k', '60%']
rates_of = 'a'
rate_threads = 8
arrivals = 'poisson'
[[system]]
name = 'a'
[[system]]
name = 'b'
";
const AUTO: &str = "\
[database]
driver = 'null'
[sweep]
warmup = 'auto'
warmup_least = '1m'
warmup_most = '20m'
[[system]]
name = 'a'
";

const SKEWED: &str = "\
[database]
driver = 'null'
[sweep]
distribution = { name = 'exponential', percentile = 90, fraction = 0.5 }
[[system]]
name = 'a'
";

/// Of each key: a plan, a part of its text, and what is there instead.
#[rustfmt::skip]
const CHANGES: &[(&str, &str, &str, &str)] = &[
    ("scale", BASE, "\nscale = 1", "\nscale = 2"),
    ("time_scale", BASE, "time_scale = 1", "time_scale = 2"),
    ("database", BASE, "latency_us = 1", "latency_us = 2"),
    ("dataset", BASE, "records = 100", "records = 200"),
    ("sweep", BASE, "seed = 1", "seed = 2"),
    ("machine", BASE, "drop_caches = true", "drop_caches = false"),
    ("system", BASE, "name = 'b'", "name = 'c'"),
    ("workload", BASE, "read = 1", "read = 2"),
    ("database.driver", BASE, "'sim-threads'\nlatency_us = 1", "'null'"),
    ("database.semantics", BASE, "latency_us = 1", "semantics = 'correct'"),
    ("database.version", ROCKSDB, "'6.22'", "'8.1'"),
    ("dataset.records", BASE, "records = 100", "records = 200"),
    ("dataset.fields", BASE, "fields = 4", "fields = 5"),
    ("dataset.field_length", BASE, "field_length = 8", "field_length = 9"),
    ("dataset.key_length", DB_BENCH, "key_length = 16", "key_length = 20"),
    ("dataset.compressibility", BASE, "= 0.5", "= 0.25"),
    ("dataset.write_all_fields", BASE, "write_all_fields = false", "write_all_fields = true"),
    ("dataset.load_rate", BASE, "write_all_fields = false", "write_all_fields = false\nload_rate = '1k'"),
    ("abort", BASE, "[report]", "[abort]\nwhen = 'errors > 1%'\n[report]"),
    ("abort.when", BASE, "[report]", "[abort]\nwhen = ['p99 read > 1s']\n[report]"),
    ("dataset.adopt", BASE, "write_all_fields = false", "write_all_fields = false\nadopt = 'overwrite'"),
    ("dataset.upgrade", BASE, "write_all_fields = false", "write_all_fields = false\nupgrade = true"),
    ("sweep.workloads", BASE, "['mine', 'ycsb-c']", "['ycsb-c', 'mine']"),
    ("sweep.distribution", BASE, "{ name = 'hotspot', data_fraction = 0.1, operation_fraction = 0.9 }", "'uniform'"),
    ("sweep.threads", BASE, "threads = { from = 1, to = 16, factor = 2 }", "threads = 3"),
    ("sweep.operations", BASE, "operations = 1000", "operations = 2000"),
    ("sweep.duration", BASE, "'60s'", "'61s'"),
    ("sweep.warmup", BASE, "'20s'", "'21s'"),
    ("sweep.warmup_least", AUTO, "'1m'", "'2m'"),
    ("sweep.warmup_most", AUTO, "'20m'", "'21m'"),
    ("sweep.repeats", BASE, "repeats = 1", "repeats = 2"),
    ("sweep.order", RATES, "rate_threads = 8", "rate_threads = 8\norder = 'interleaved'"),
    ("sweep.rate", BASE, "rate = 100", "rate = 200"),
    ("sweep.rates", RATES, "'60%'", "'70%'"),
    ("sweep.rate_threads", RATES, "rate_threads = 8", ""),
    ("sweep.rates_of", RATES, "rates_of = 'a'", "rates_of = 'b'"),
    ("sweep.arrivals", RATES, "arrivals = 'poisson'", ""),
    ("sweep.background_rate", DB_BENCH, "background_rate = 100", "background_rate = 200"),
    ("sweep.seed", BASE, "seed = 1", "seed = 2"),
    ("dataset.restore", BASE, "restore = 'none'", "restore = 'reload'"),
    ("dataset.restore_before", BASE, "restore = 'none'", "restore = 'reload'\nrestore_before = 'workload'"),
    ("dataset.restore_command", BASE, "restore = 'none'", "restore = 'command'\nrestore_command = 'true'"),
    ("dataset.restore_trim", BASE, "restore = 'none'", "restore = 'reload'\nrestore_trim = true"),
    ("sweep.load_threads", BASE, "load_threads = 2", "load_threads = 3"),
    ("sweep.settle", BASE, "settle = '1s'", "settle = '2s'"),
    ("sweep.ready_timeout", BASE, "ready_timeout = '1s'", "ready_timeout = '2s'"),
    ("sweep.allow_errors", BASE, "allow_errors = '1%'", "allow_errors = '2%'"),
    ("report", BASE, "equivalence = '3%'", "equivalence = '4%'"),
    ("report.metric", BASE, "'p99.9 read'", "'mean read'"),
    ("report.baseline", BASE, "baseline = 'a'", ""),
    ("report.subject", BASE, "baseline = 'a'", "subject = 'a'"),
    ("report.latency_axis", BASE, "[report]", "[report]\nlatency_axis = 'linear'"),
    ("report.ratios", BASE, "[report]", "[report]\nratios = 'x'"),
    ("report.sections", BASE, "[report]", "[report]\nsections = ['peaks']"),
    ("report.use_cases", BASE, "[report]", "[report]\nuse_cases = ['ycsb-a: sessions']"),
    ("report.chart_systems", BASE, "[report]", "[report]\nchart_systems = ['a']"),
    ("report.colors", BASE, "[report]", "[report]\ncolors = ['a: green']"),
    ("report.introduction", BASE, "[report]", "[report]\nintroduction = 'It is *new*.'"),
    ("report.why", BASE, "[report]", "[report]\nwhy = 'It matters.'"),
    ("report.notes", BASE, "[report]", "[report]\nnotes = 'Two racks.'"),
    ("report.conclusion", BASE, "[report]", "[report]\nconclusion = 'Buy it.'"),
    ("report.footer", BASE, "[report]", "[report]\nfooter = 'Us, 2026'"),
    ("report.logo", BASE, "[report]", "[report]\nlogo = 'src/tests/logo.png'"),
    ("report.at_rate", BASE, "'40k'", "'40k', 50_000"),
    ("report.at_latency", BASE, "'15ms'", "['15ms', '20ms']"),
    ("report.skipped", BASE, "not all can", "few can"),
    ("report.equivalence", BASE, "equivalence = '3%'", "equivalence = '4%'"),
    ("report.redact", BASE, "equivalence = '3%'", "equivalence = '3%'\nredact = true"),
    ("slo", SLO, "'5%'", "'6%'"),
    ("slo.latency", SLO, "15ms", "16ms"),
    ("slo.min_rate", SLO, "min_rate = 10", "min_rate = 20"),
    ("slo.max_rate", SLO, "max_rate = 1000", "max_rate = 2000"),
    ("slo.resolution", SLO, "'5%'", "'6%'"),
    ("slo.arrivals", SLO, "'poisson'", "'even'"),
    ("slo.threads", SLO, "threads = 64", "threads = 65"),
    ("slo.block", SLO, "block = '10s'", "block = '11s'"),
    ("slo.warmup", SLO, "warmup = '20s'", "warmup = '21s'"),
    ("slo.time", SLO, "time = '1h'", "time = '2h'"),
    ("slo.quick", SLO, "quick = false", "quick = true"),
    ("anatomy", BASE, "[report]", "[anatomy]\nmeasure = true\n[report]"),
    ("anatomy.measure", BASE, "[report]", "[anatomy]\nmeasure = true\n[report]"),
    ("anatomy.points", BASE, "[report]", "[anatomy]\npoints = 'peak'\n[report]"),
    ("anatomy.requests", BASE, "[report]", "[anatomy]\nrequests = 200\n[report]"),
    ("anatomy.every", BASE, "[report]", "[anatomy]\nevery = 5\n[report]"),
    ("cost", BASE, "[report]", "[cost]\nprice = 1\n[report]"),
    ("cost.currency", BASE, "[report]", "[cost]\ncurrency = 'USD'\n[report]"),
    ("cost.price", BASE, "[report]", "[cost]\nprice = 1\n[report]"),
    ("cost.price_per_hour", BASE, "[report]", "[cost]\nprice_per_hour = 1\n[report]"),
    ("cost.kwh_price", BASE, "[report]", "[cost]\nkwh_price = 1\n[report]"),
    ("cost.pue", BASE, "[report]", "[cost]\npue = 1.5\n[report]"),
    ("cost.years", BASE, "[report]", "[cost]\nyears = 3\n[report]"),
    ("cost.rated_tbw", BASE, "[report]", "[cost]\nrated_tbw = 1\n[report]"),
    ("cost.capacity", BASE, "[report]", "[cost]\ncapacity = '1TB'\n[report]"),
    ("cost.device_watts", BASE, "[report]", "[cost]\ndevice_watts = 9\n[report]"),
    ("system.cost", BASE, "optional = false", "cost = { price = 1 }"),
    ("machine.power_command", BASE, "[report]", "power_command = 'echo 1'\n[report]"),
    ("machine.memory_limit", BASE, "'1GiB'", "'2GiB'"),
    ("machine.drop_caches", BASE, "drop_caches = true", "drop_caches = false"),
    ("machine.probes", BASE, "probes = ['none']", "probes = ['none', 'cpu']"),
    ("system.name", BASE, "name = 'b'", "name = 'c'"),
    ("system.path", FILE, "'/x'", "'/y'"),
    ("system.device", SERVER, "path = '/x'", "device = '/y'"),
    ("system.contact_points", SERVER, "x:1", "y:1"),
    ("system.ssh", SERVER, "path = '/x'", "path = '/x'\nssh = 'db1'"),
    ("system.ceiling_for", BASE, "ceiling_for = 'a'", ""),
    ("system.database", BASE, "{ semantics = 'faithful' }", "{ latency_us = 3 }"),
    ("system.service", SERVER, "service = \
        { start = 's', stop = 't', ready = 'r', log = '/l' }", ""),
    ("system.expect", EXPECTING, "filesystem = 'xfs'", ""),
    ("unexpected", EXPECTING, "'error'", "'finding'"),
    ("expect.mount", EXPECTING, "mount = true", "mount = false"),
    ("expect.filesystem", EXPECTING, "'xfs'", "'ext4'"),
    ("expect.mount_options", EXPECTING, "['noatime']", "'noatime,discard'"),
    ("expect.model", EXPECTING, "'7450'", "'7400'"),
    ("expect.capacity", EXPECTING, "'7.68TB'", "'3.84TB'"),
    ("expect.transport", EXPECTING, "'nvme'", "'sata'"),
    ("expect.client_host", SERVER, "path = '/x'", "path = '/x'\nexpect = { client_host = 'other' }"),
    ("expect.version", ROCKSDB, "name = 'a'", "name = 'a'\nexpect = { version = '8.' }"),
    ("prepare", SETTING, "['vm.swappiness=1']", "['vm.swappiness=2']"),
    ("system.prepare", PREPARING, "erase = 'discard'", "erase = 'format'"),
    ("prepare.device", PREPARING, "'serial:S-1'", "'serial:S-2'"),
    ("prepare.erase", PREPARING, "'discard'", "'sanitize'"),
    ("prepare.namespaces", RAW, "namespaces = 16", "namespaces = 8"),
    ("prepare.precondition", PREPARING, "precondition = 2", "precondition = 1"),
    ("prepare.steady", PREPARING, "read = 35", "read = 36"),
    ("prepare.filesystem", PREPARING, "'xfs'", "'ext4'"),
    ("prepare.mkfs_options", PREPARING, "'0']", "'1']"),
    ("prepare.mount", PREPARING, "mount = '/x'", "mount = '/x/y'"),
    ("prepare.mount_options", PREPARING, "['noatime']", "'noatime,discard'"),
    ("prepare.sysctls", SETTING, "['vm.swappiness=1']", "[]"),
    ("prepare.governor", SETTING, "'performance'", "'powersave'"),
    ("prepare.huge_pages", SETTING, "'never'", "'always'"),
    ("prepare.memory_limit", SETTING, "'4GiB'", "'5GiB'"),
    ("prepare.memory_group", SETTING, "'/a'", "'/b'"),
    ("device.emulate", EMULATED, "device = { emulate = 'volume', size = '1GiB', iops = 100, bandwidth = '1MB/s', burst = 300, burst_time = '10s', delay = '2ms' }", "device = '/x'"),
    ("device.size", EMULATED, "'1GiB'", "'2GiB'"),
    ("device.iops", EMULATED, "iops = 100", "iops = 200"),
    ("device.bandwidth", EMULATED, "'1MB/s'", "'2MB'"),
    ("device.burst", EMULATED, "burst = 300", "burst = 400"),
    ("device.burst_time", EMULATED, "'10s'", "'20s'"),
    ("device.delay", EMULATED, "'2ms'", "'3ms'"),
    ("steady.over", PREPARING, "over = 'filesystem', fill = 50", "over = 'device'"),
    ("steady.fill", PREPARING, "fill = 50", "fill = 60"),
    ("steady.read", PREPARING, "read = 35", "read = 65"),
    ("steady.block", PREPARING, "'8KiB'", "'16KiB'"),
    ("steady.depth", PREPARING, "depth = 8", "depth = 9"),
    ("steady.round", PREPARING, "'30s'", "'40s'"),
    ("service.systemd", SERVER, "start = 's', stop = 't'", "systemd = 'u'"),
    ("service.start", SERVER, "start = 's'", "start = 'z'"),
    ("service.stop", SERVER, "stop = 't'", "stop = 'z'"),
    ("service.ready", SERVER, "ready = 'r'", "ready = 'z'"),
    ("workload.name", BASE, "mine'", "ours'"),
    ("workload.read", BASE, "\nread = 1", "\nread = 2"),
    ("workload.update", BASE, "update = 1", "update = 2"),
    ("workload.insert", BASE, "insert = 1", "insert = 2"),
    ("workload.scan", BASE, "\nscan = 1", "\nscan = 2"),
    ("workload.read_modify_write", BASE, "read_modify_write = 1", "read_modify_write = 2"),
    ("workload.distribution", OWN, "'uniform'", "'zipfian'"),
    ("workload.scan_length_min", BASE, "scan_length_min = 1", "scan_length_min = 2"),
    ("workload.scan_length_max", BASE, "scan_length_max = 9", "scan_length_max = 8"),
    ("workload.scan_length", BASE, "scan_length = 'uniform'", "scan_length = 'zipfian'"),
    ("workload.read_all_fields", BASE, "read_all_fields = true", "read_all_fields = false"),
    ("distribution.name", SKEWED, "{ name = 'exponential', percentile = 90, fraction = 0.5 }", "{ name = 'zipfian' }"),
    ("distribution.theta", SKEWED, "{ name = 'exponential', percentile = 90, fraction = 0.5 }", "{ name = 'true-zipfian', theta = 0.5 }"),
    ("distribution.data_fraction", BASE, "data_fraction = 0.1", "data_fraction = 0.3"),
    ("distribution.operation_fraction", BASE, "operation_fraction = 0.9", "operation_fraction = \
        0.7"),
    ("distribution.percentile", SKEWED, "percentile = 90", "percentile = 80"),
    ("distribution.fraction", SKEWED, "fraction = 0.5", "fraction = 0.4"),
    ("threads.from", BASE, "from = 1", "from = 2"),
    ("threads.to", BASE, "to = 16", "to = 8"),
    ("threads.factor", BASE, "factor = 2", "factor = 4"),
    ("threads.until", LADDER, ", until = 'no gain'", ""),
];

/// The keys that do not shape a point, and why.
const SHAPELESS: &[(&str, &str)] = &[
    ("title", "a headline"),
    ("assumed", "where a value comes from is not what it is"),
    (
        "dataset.into_existing",
        "whether the plan is carried out at all",
    ),
    ("same_device", "whether the plan is carried out at all"),
    (
        "system.agent",
        "shapes what is known of the machine of a server, not what it does",
    ),
    (
        "system.optional",
        "whether a system is left out, not how it is measured",
    ),
    (
        "system.placeholder",
        "whether the plan is carried out at all",
    ),
    ("machine.power_log", "read beside a point"),
    ("machine.idle_seconds", "measured before a point"),
    ("service.log", "read for errors alone"),
    ("workload.about", "a line of the report"),
];

#[test]
fn every_key_is_in_the_effective_plan_or_shapes_no_point() {
    let changed: Vec<&str> = CHANGES.iter().map(|(key, ..)| *key).collect();
    let shapeless: Vec<&str> = SHAPELESS.iter().map(|(key, _)| *key).collect();
    let known: BTreeSet<String> = KEYS.iter().map(|key| key.path()).collect();
    let listed: BTreeSet<String> = [changed, shapeless]
        .concat()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(listed, known, "each key is in one of the two lists");
    for (key, text, from, to) in CHANGES {
        assert!(text.contains(from), "{key}: {from}");
        let other = text.replace(from, to);
        let (is, was) = (plan(&other), plan(text));
        assert_ne!(is.header.plan, was.header.plan, "{key}");
    }
}

#[test]
fn a_key_that_may_change_while_a_study_grows_is_none_that_shapes_points() {
    let changing = CHANGES.iter().filter(|(key, ..)| {
        let (table, name) = key.split_once('.').unwrap_or(("", key));
        !keys::role(table, name).shapes_points()
    });
    for (key, text, from, to) in changing {
        let [is, was] = [text.replace(from, to).as_str(), text].map(|text| plan(text).header.plan);
        let shaping = |keys: &BTreeMap<String, PlanValue>| {
            let all = keys.iter();
            let shaping = all.filter(|(_, given)| given.role.shapes_points());
            shaping
                .map(|(name, given)| (name.clone(), given.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(shaping(&is), shaping(&was), "{key}");
    }
}

#[test]
fn a_study_is_told_what_the_keys_of_its_plan_say() {
    let plan = plan(
        "[database]\ndriver = 'null'\n[dataset]\nrecords = 10\nfields = 2\nfield_length = 3\n\
         [sweep]\nrates = '1k'\nrepeats = 2\nallow_errors = '2%'\n\
         [report]\nmetric = 'p99 read'\nequivalence = '4%'\nredact = true\n\
         [slo]\nlatency = 'p99 read < 5ms'\n[[system]]\nname = 'a'\n[[system]]\nname = 'b'\n",
    );
    let told = &plan.header.settings;
    assert_eq!((&told.report, &told.slo), (&plan.report, &plan.slo));
    assert_eq!(
        (told.report.equivalence, told.report.redact),
        (Some(0.04), true)
    );
    assert!(told.slo.is_some() && told.rules.takes_turns && told.has_rates);
    assert_eq!(told.rules.allow_errors, 0.02);
    let data = told.data.unwrap();
    assert_eq!((data.records, data.value_bytes), (10, 60.0));
}

#[test]
fn what_is_private_of_a_system_has_that_role() {
    let keys = plan(
        "[database]\ndriver = 'cassandra'\n[[system]]\nname = 'a.service'\n\
         contact_points = 'x:1'\nssh = 'db1'\n\
         service = { start = 's', stop = 't', ready = 'r' }\n",
    );
    let private = keys.header.plan.iter();
    let private = private.filter(|(_, given)| matches!(given.role, Role::Private(_)));
    let private: Vec<_> = private
        .map(|(key, given)| (key.as_str(), given.role))
        .collect();
    let [hosts, command] = [Secret::Hosts, Secret::Command].map(Role::Private);
    let expected = [
        ("system.a.service.service.ready", command),
        ("system.a.service.service.start", command),
        ("system.a.service.service.stop", command),
        ("system.a.service.ssh", hosts),
    ];
    assert_eq!(private, expected);
}

#[test]
fn the_content_of_a_file_is_a_part_of_the_plan() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let options = "[Version]\nrocksdb_version=9.0.0\noptions_file_version=1.1\n[DBOptions]\n\
                   [CFOptions \"default\"]\nwrite_buffer_size=4194304\n";
    let text = format!(
        "[database]\ndriver = 'rocksdb'\noptions_file = '{}'\n[[system]]\nname = 'a'\npath = '/x'",
        file.path().display()
    );
    fs::write(file.path(), options).unwrap();
    let before = plan(&text).header;
    let key = "system.a.database.options_file.sha256";
    // As `sha256sum` prints it.
    assert_eq!(before.plan[key].value.len(), 64);
    assert_eq!(before.plan, plan(&text).header.plan);
    fs::write(file.path(), options.replace("4194304", "8388608")).unwrap();
    let after = plan(&text).header;
    assert_ne!(before.plan[key], after.plan[key]);
}
