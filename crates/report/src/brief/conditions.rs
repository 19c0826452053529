//! How it was tested, in about ten rows.

use super::settings;
use crate::{
    Block, Cell, Column, Data, Table, TableRow, author,
    merge::is_imported,
    mix,
    section::about,
    sweep::{SweepTable, WorkloadGrid},
};
use std::collections::BTreeSet;
use tailmark_model::{
    Fact, Header, Point, Role, Scope, System, Words, finding::LENGTH_UNKNOWN, number,
};

/// The conditions: machine, systems, data and points; what was assumed, and which figures rest on `few`
/// samples.
pub fn conditions(data: &Data, sweep: &SweepTable<'_>, few: Option<String>) -> Table {
    let rows = machine(data);
    let rows = rows.into_iter().chain(systems(data, sweep));
    let rows = rows.chain(prepared(data, sweep));
    let rows = rows.chain(points(data, sweep));
    let rows = rows.chain([
        ("Assumed", assumed(data)),
        ("Samples", few_samples(sweep, few)),
    ]);
    let rows = rows.filter_map(|(name, value)| {
        Some(TableRow {
            cells: vec![Cell::new(name), Cell::new(value?)],
            total: false,
        })
    });
    Table {
        columns: ["", ""].map(Column::text).into(),
        rows: rows.collect(),
        ..Table::default()
    }
}

/// What the published study does not say, once for all systems and in words.
fn assumed(data: &Data) -> Option<String> {
    const LETTERS_MAX: usize = 260;
    let keys = data.headers.iter().flat_map(|header| &header.assumed);
    let words: BTreeSet<String> = keys
        .filter_map(|key| key.rsplit('.').next())
        .map(|name| name.replace('_', " "))
        .collect();
    let mut said = String::new();
    for (i, word) in words.iter().enumerate() {
        if said.len() + word.len() > LETTERS_MAX {
            said.push_str(&format!(" and {} more", words.len() - i));
            break;
        }
        said.push_str(if i == 0 { "" } else { ", " });
        said.push_str(word);
    }
    (!said.is_empty()).then(|| format!("{said}: the published study does not say"))
}

/// What hollow points and grey latencies mean, with those of the headline. If all rest on few samples or
/// on an unknown number of them, none is marked.
fn few_samples(sweep: &SweepTable<'_>, few: Option<String>) -> Option<String> {
    const LOOK: &str = "Hollow points and grey latencies rest on fewer than 100 samples.";
    const ALL: &str = "Each latency rests on fewer than 100 samples.";
    let of_groups = sweep.all_groups().filter_map(|group| {
        let metric = sweep.metric(group)?;
        Some(sweep.few_samples(group, metric))
    });
    let of_groups: Vec<(bool, bool)> = of_groups.collect();
    let look = if of_groups.iter().any(|(_, are_marked)| *are_marked) {
        Some(LOOK)
    } else {
        let has_few = of_groups.iter().any(|(has_few, _)| *has_few);
        has_few.then_some(ALL)
    };
    let said: Vec<&str> = few.as_deref().into_iter().chain(look).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// The step that emulates a device.
const EMULATE: &str = "emulate";
/// How the groups of facts about preparation end.
const PREPARATION: &str = "preparation";
/// The steps of preparation, in words: what was done, and of what. Their facts are the commands that
/// were run; other facts say what was not done.
const STEPS: [(&str, &str, &str); 12] = [
    (EMULATE, "device emulated", "device"),
    ("erase", "device erased", "device"),
    ("namespaces", "namespaces made anew", "namespaces"),
    ("precondition", "device preconditioned", "preconditioning"),
    (
        "steady",
        "written to until its speed was steady",
        "steady state",
    ),
    (
        "steady_file",
        "written to until its speed was steady",
        "steady state",
    ),
    ("filesystem", "file system made", "file system"),
    ("mount", "mounted", "mount"),
    ("sysctls", "kernel settings changed", "kernel settings"),
    ("governor", "CPU governor set", "CPU governor"),
    (
        "huge_pages",
        "transparent huge pages set",
        "transparent huge pages",
    ),
    ("memory_limit", "memory limited", "memory limit"),
];

/// A name and its value, if known.
type Row = (&'static str, Option<String>);

fn machine(data: &Data) -> [Row; 5] {
    let facts = |group: &str, names: &[&str]| {
        let values = names
            .iter()
            .map(|name| of_machine(&data.facts, group, name));
        joined(values.flatten())
    };
    [
        ("Server", facts("machine", &["vendor", "product", "cloud"])),
        ("CPU", facts("cpu", &["model", "cores"])),
        ("Memory", facts("memory", &["total", "limit"])),
        ("Operating system", facts("machine", &["operating system"])),
        ("Kernel", facts("kernel", &["release"])),
    ]
}

fn systems(data: &Data, sweep: &SweepTable<'_>) -> [Row; 4] {
    let facts = |group: &str, names: &[&str]| {
        let each = sweep.systems.iter().map(|system| {
            let own = |name: &&str| of_system(&data.facts, &system.name, group, name);
            let values = names.iter().map(own);
            (system.name.as_str(), joined(values.flatten()))
        });
        alike(each.collect())
    };
    let databases = sweep.systems.iter();
    let databases = databases.map(|system| (system.name.as_str(), database(data, system)));
    let settings = sweep.systems.iter().map(|system| {
        let own = |name: &str| of_system(&data.facts, &system.name, "database", name);
        let is_rocksdb = system.driver == "rocksdb";
        let words = is_rocksdb.then(|| settings::rocksdb(own)).flatten();
        (system.name.as_str(), words)
    });
    [
        ("Device", facts("device", &["model", "size", "firmware"])),
        (
            "File system",
            facts("file system", &["type", "options", "mount options"]),
        ),
        ("Database", alike(databases.collect())),
        ("Settings", alike(settings.collect())),
    ]
}

/// `rocksdb 11.12.0`; of a driver without a database, what answered instead.
fn database(data: &Data, system: &System) -> Option<String> {
    let version = of_system(&data.facts, &system.name, "database", "version");
    match system.driver.as_str() {
        "sim" => Some("simulated: the plan says how long a request takes".to_owned()),
        "null" => Some("none: every request is answered at once".to_owned()),
        _ if is_imported(system) => {
            version.or_else(|| of_system(&data.facts, &system.name, "database", "name"))
        }
        driver => Some(version.map_or_else(|| driver.to_owned(), |v| format!("{driver} {v}"))),
    }
}

/// The steps of preparation that were carried out, in their order, with what the plan asked for.
fn prepared(data: &Data, sweep: &SweepTable<'_>) -> [Row; 1] {
    let steps = |system: Option<&str>| {
        let own = data.facts.iter().filter(|fact| {
            let is_step = fact.group.ends_with(PREPARATION) && !fact.name.ends_with(" found");
            is_step && fact.system.as_deref() == system
        });
        joined(own.map(|fact| step(data, fact)))
    };
    let each = sweep.systems.iter().map(|system| {
        let name = system.name.as_str();
        (name, steps(Some(name)))
    });
    let all = alike(each.collect()).into_iter().chain(steps(None));
    [("Preparation", joined(all))]
}

/// `device erased (format)`; why a step was left out as the study has it.
fn step(data: &Data, fact: &Fact) -> String {
    let known = STEPS.iter().find(|(name, ..)| *name == fact.name);
    let Some((_, done, noun)) = known else {
        return format!("{}: {}", fact.name.replace('_', " "), fact.value);
    };
    if fact.value.contains("not set, because") {
        return format!("{noun} {}", fact.value);
    }
    let is_emulated = fact.name == EMULATE;
    let is_own = |key: &str| {
        let system = fact.system.as_ref();
        system.is_none_or(|name| key.contains(&format!(".{name}.")))
    };
    let asked = |header: &Header| {
        let mut planned = header.plan.iter().filter(|(key, given)| {
            let is_preparation = given.role == Role::Scope(Scope::Preparation);
            let is_step = key.rsplit('.').next() == Some(&fact.name);
            is_step && is_own(key) && (is_preparation || is_emulated)
        });
        planned.next().map(|(_, given)| given.value.clone())
    };
    // A mount point of one machine says nothing to a reader.
    let asked = data.headers.iter().find_map(asked);
    match asked.filter(|value| !value.contains('/')) {
        Some(value) if is_emulated => format!("{done} ({})", limits(&value)),
        Some(value) => format!("{done} ({value})"),
        None => (*done).to_owned(),
    }
}

/// The limits of an emulated device, which the plan states as `volume, size = 2147483648, iops = 3000`.
fn limits(planned: &str) -> String {
    let value = |name: &str| {
        let mut pairs = planned
            .split(", ")
            .filter_map(|pair| pair.split_once(" = "));
        let found = pairs.find(|(key, _)| *key == name);
        found.and_then(|(_, value)| value.parse::<u64>().ok())
    };
    let requests = |limit| format!("{} requests/s", number::count(limit));
    let burst = value("burst").zip(value("burst_time"));
    let all = [
        value("size").map(|size| number::bytes(size as f64)),
        value("iops").map(requests),
        value("bandwidth").map(|limit| format!("{}/s", number::bytes(limit as f64))),
        burst.map(|(limit, time)| format!("{} for {time} s after a pause", requests(limit))),
        value("delay_ms").map(|delay| format!("{delay} ms more for each request")),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn points(data: &Data, sweep: &SweepTable<'_>) -> [Row; 5] {
    let sizes = data
        .headers
        .iter()
        .filter_map(|header| header.settings.data);
    let records = sizes.map(|size| {
        let records = number::plural(size.records, "record");
        let bytes = size.value_bytes / (size.records as f64).max(1.0);
        let bytes = number::count(bytes.round() as u64);
        format!("{records} of {bytes} bytes")
    });
    let steps = sweep.groups.iter().flat_map(|group| &group.steps);
    let threads: BTreeSet<u32> = steps.map(|step| step.threads).collect();
    let is_timed = |point: &&Point| !LENGTH_UNKNOWN.is_among(&point.phase.findings);
    let times = data.points.iter().filter(is_timed);
    let times: Vec<f64> = times.map(|point| point.phase.duration_s).collect();
    let shortest = times.iter().copied().reduce(f64::min);
    let longest = times.iter().copied().reduce(f64::max);
    let length = shortest.zip(longest).map(|(least, most)| {
        let ends = [least, most].map(|seconds| {
            // Of a trial.
            if seconds < 1.0 {
                number::latency(seconds * 1e9)
            } else {
                number::duration(seconds)
            }
        });
        if ends[0] == ends[1] {
            ends[0].clone()
        } else {
            ends.join(" to ")
        }
    });
    let repeats = match sweep.fewest_and_most_repeats() {
        None => String::new(),
        Some((fewest, most)) if fewest < most => format!("{fewest} to {most} runs"),
        Some((_, most)) => number::plural(most as u64, "run"),
    };
    let each = [length.unwrap_or_default(), repeats];
    let tools = data.headers.iter();
    let imported = data.systems.iter().filter(|system| is_imported(system));
    let imported = imported.count();
    let is_imported = imported > 0 && imported == data.systems.len();
    let tools = tools.map(|header| {
        let tailmark = format!("tailmark {}", header.tailmark);
        if is_imported {
            format!("not stated; results imported and compared by {tailmark}")
        } else {
            tailmark
        }
    });
    [
        ("Workloads", workloads(sweep)),
        ("Records", joined(records)),
        ("Threads", tested(data, &threads)),
        ("Each point", joined(each.into_iter())),
        ("Tool", joined(tools)),
    ]
}

/// `4, 8, 16; not tested beyond 16`, unless the author's words say that or it is no sweep.
fn tested(data: &Data, threads: &BTreeSet<u32>) -> Option<String> {
    let counts = joined(threads.iter().map(u32::to_string))?;
    let highest = threads.last().filter(|_| threads.len() > 1);
    let is_said = |most: &&u32| {
        let said = format!("beyond {most} were not tested");
        author::words(data, Words::Notes)
            .iter()
            .any(|block| match block {
                Block::Text(text) => text.to_plain().contains(&said),
                _ => false,
            })
    };
    Some(match highest.filter(|own| !is_said(own)) {
        Some(highest) => format!("{counts}; not tested beyond {highest}"),
        None => counts,
    })
}

/// What the workloads do and how their keys are drawn; words that apply to all stand there once.
fn workloads(sweep: &SweepTable<'_>) -> Option<String> {
    let groups: Vec<&WorkloadGrid<'_>> = sweep.all_groups().collect();
    let first = groups.first().filter(|_| groups.len() > 1)?;
    let all = Some(first.conditions.as_str()).filter(|conditions| {
        !conditions.is_empty() && groups.iter().all(|group| group.conditions == *conditions)
    });
    let workload = |group: &&WorkloadGrid<'_>| {
        let about = about(group, &[]);
        let about = about
            .strip_suffix(all.unwrap_or_default())
            .unwrap_or(&about);
        let about = about.trim_end_matches("; ");
        (!about.is_empty()).then(|| format!("{}: {about}", group.title_with_conditions()))
    };
    let workloads: Vec<String> = groups.iter().filter_map(workload).collect();
    let mut said = workloads.join(". ");
    if groups.iter().any(|group| mix::defined(group).is_some()) {
        said.push_str("; mixes as YCSB defines them");
    }
    match all {
        Some(keys) if said.is_empty() => Some(format!("all with {keys}")),
        Some(keys) => Some(format!("{said}; all with {keys}")),
        None => Some(said).filter(|said| !said.is_empty()),
    }
}

fn of_machine(facts: &[Fact], group: &str, name: &str) -> Option<String> {
    let mut own = facts.iter().filter(|fact| fact.system.is_none());
    let found = own.find(|fact| fact.group == group && fact.name == name)?;
    Some(worded(name, &found.value))
}

fn of_system(facts: &[Fact], system: &str, group: &str, name: &str) -> Option<String> {
    let mut own = facts
        .iter()
        .filter(|fact| fact.system.as_deref() == Some(system));
    let found = own.find(|fact| fact.group == group && fact.name == name)?;
    Some(worded(name, &found.value))
}

/// `16 cores`, `274.9 GB` without its bytes, and anything else as it is. No limit is not worth a word.
fn worded(name: &str, value: &str) -> String {
    match name {
        "cores" if value == "1" => "1 core".to_owned(),
        "cores" => format!("{value} cores"),
        "limit" if value.starts_with("none") => String::new(),
        "limit" => format!("limit {value}"),
        "size" => value.split(" (").next().unwrap_or_default().to_owned(),
        _ => value.to_owned(),
    }
}

/// Once if all are alike, otherwise with the names.
fn alike(each: Vec<(&str, Option<String>)>) -> Option<String> {
    let known: Vec<(&str, String)> = each
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    let (_, first) = known.first()?;
    if known.iter().all(|(_, value)| value == first) {
        return Some(first.clone());
    }
    let all: Vec<String> = known
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    Some(all.join("; "))
}

/// With commas; `None` of nothing.
fn joined(texts: impl Iterator<Item = String>) -> Option<String> {
    let mut all: Vec<String> = Vec::new();
    for text in texts.filter(|text| !text.is_empty()) {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    (!all.is_empty()).then(|| all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_an_emulated_device_have_units() {
        let planned = "volume, size = 2147483648, iops = 3000, bandwidth = 125000000, burst = 9000, \
                       burst_time = 10, delay_ms = 2";
        assert_eq!(
            limits(planned),
            "2.15 GB, 3,000 requests/s, 125 MB/s, 9,000 requests/s for 10 s after a pause, 2 ms more \
             for each request"
        );
        assert_eq!(limits("volume, size = 1000000000"), "1.00 GB");
    }
}
