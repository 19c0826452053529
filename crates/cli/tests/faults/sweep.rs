//! A tiny sweep, drawn: what it loads, which points it has, and how it is written as a plan.

use crate::{draw::Draw, ground::Ground};
use std::{
    collections::BTreeSet,
    env,
    fmt::Write,
    path::{Path, PathBuf},
};
use tailmark_driver::{Access, Location, Params};
use tailmark_plan::RawPlan;

/// What is under test: a row of [`TARGETS`].
pub struct Target {
    pub name: &'static str,
    pub drivers: &'static [&'static str],
    pub needs: Needs,
    /// Operations of a point: a few tenths of a second.
    operations: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    Device,
    /// The server of its driver, which `TEST_<DRIVER>` names.
    Server,
}

pub const TARGETS: &[Target] = &[
    Target {
        name: "rocksdb",
        drivers: &["rocksdb"],
        needs: Needs::Nothing,
        operations: 10_000,
    },
    Target {
        name: "file",
        drivers: &["file"],
        needs: Needs::Nothing,
        operations: 800,
    },
    Target {
        name: "file on a device",
        drivers: &["file"],
        needs: Needs::Device,
        operations: 800,
    },
    Target {
        name: "rocksdb and file",
        drivers: &["rocksdb", "file"],
        needs: Needs::Nothing,
        operations: 1_000,
    },
    Target {
        name: "cassandra",
        drivers: &["cassandra"],
        needs: Needs::Server,
        operations: 400,
    },
    Target {
        name: "redis",
        drivers: &["redis"],
        needs: Needs::Server,
        operations: 2_000,
    },
];

/// The logical database of Redis that rounds use.
pub const REDIS_DATABASE: u32 = 1060;

/// A sweep of more points than these takes too long.
const POINTS_MAX: u64 = 8;

/// The contact points of a server for tests, where there is one.
pub fn server(driver: &str) -> Option<String> {
    env::var(format!("TEST_{}", driver.to_uppercase())).ok()
}

pub struct Sweep {
    pub target: &'static Target,
    pub records: u64,
    fields: u64,
    field_length: u64,
    pub workloads: Vec<&'static str>,
    threads: Vec<u64>,
    repeats: u64,
    pub operations: Option<u64>,
    pub restore: &'static str,
    pub restore_before: &'static str,
    /// Lines of `[sweep]`, of `[database]` for RocksDB, and of each system.
    more: Vec<String>,
    rocksdb: Vec<String>,
    systems: Vec<System>,
    pub has_options_file: bool,
}

/// A system under test, named as its driver, as lines of the plan.
struct System {
    driver: &'static str,
    place: String,
    settings: Vec<String>,
}

impl Sweep {
    pub fn draw(draw: &mut Draw, target: &'static Target, ground: &Ground, dir: &Path) -> Self {
        let all = match target.drivers {
            ["rocksdb"] => &["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"][..],
            _ => &["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-f"],
        };
        let mut workloads = Vec::new();
        while workloads.len() < 2 {
            let name = draw.one_of(all);
            if !workloads.contains(&name) {
                workloads.push(name);
            }
        }
        // Where every write of RocksDB waits for the disk, fewer take as long.
        let is_synced = target.drivers.contains(&"rocksdb") && draw.chance(20);
        let share = if is_synced { 10 } else { 1 };
        let operations = draw.between(target.operations / 4, target.operations) / share;
        let (mut more, rate) = (Vec::new(), operations * 5);
        let operations = match draw.below(10) {
            0 => None,
            1 | 2 => {
                more.push(format!("rate = {rate}"));
                Some(operations)
            }
            _ => Some(operations),
        };
        match operations {
            Some(operations) => more.push(format!("operations = {operations}")),
            None => more.push(format!("duration = \"{}ms\"", draw.between(100, 300))),
        }
        more.push(format!("warmup = \"{}ms\"", draw.one_of(&[0, 0, 30, 100])));
        more.push(format!("load_threads = {}", draw.one_of(&[1, 4, 16])));
        more.push(format!("seed = {}", draw.below(1_000_000)));
        let mut sweep = Self {
            target,
            records: draw.between(200, 4_000) / share,
            fields: draw.between(1, 4),
            field_length: draw.between(16, 400),
            workloads,
            threads: draw.one_of(&[&[1, 2][..], &[4], &[1, 3, 8]]).to_vec(),
            repeats: if draw.chance(40) { 2 } else { 1 },
            operations,
            restore: draw.one_of(match target {
                Target {
                    drivers: ["rocksdb"],
                    ..
                } => &["none", "none", "reload", "checkpoint", "checkpoint", "copy"],
                Target {
                    needs: Needs::Nothing,
                    ..
                } => &["none", "none", "reload", "copy"],
                _ => &["none", "reload"],
            }),
            restore_before: draw.one_of(&["repeat", "workload", "point"]),
            more,
            rocksdb: Vec::new(),
            systems: Vec::new(),
            has_options_file: false,
        };
        if is_synced {
            sweep.rocksdb.push("sync = true".to_owned());
        }
        if sweep.points() > POINTS_MAX {
            sweep.repeats = 1;
            sweep.threads.truncate(2);
        }
        sweep.draw_settings(draw, dir);
        sweep.place(ground);
        sweep
    }

    fn draw_settings(&mut self, draw: &mut Draw, dir: &Path) {
        if draw.chance(30) {
            self.rocksdb.push("write_buffer = \"1MiB\"".to_owned());
        }
        if draw.chance(20) && self.target.drivers.contains(&"rocksdb") {
            self.has_options_file = true;
            let file = dir.join("options.ini");
            self.rocksdb.push(format!("options_file = {file:?}"));
        }
    }

    fn place(&mut self, ground: &Ground) {
        let data = ground.disk().join("data");
        for &driver in self.target.drivers {
            let mut settings = vec![format!("driver = {driver:?}")];
            if driver == "rocksdb" {
                settings.append(&mut self.rocksdb);
            }
            let place = match self.target.needs {
                Needs::Server => {
                    settings.push(match driver {
                        "redis" => format!("database = {REDIS_DATABASE}"),
                        _ => "keyspace = \"faults\"".to_owned(),
                    });
                    format!("contact_points = {:?}", server(driver).unwrap_or_default())
                }
                Needs::Device => format!("device = {:?}", ground.device()),
                Needs::Nothing => format!("path = {:?}", data.join(driver)),
            };
            self.systems.push(System {
                driver,
                place,
                settings,
            });
        }
    }

    /// The plan file.
    pub fn plan(&self) -> String {
        self.plan_of(self.records)
    }

    /// The plan of another study, in the same places.
    pub fn other_plan(&self) -> String {
        self.plan_of(self.records + 100)
    }

    fn plan_of(&self, records: u64) -> String {
        let mut text = format!(
            "same_device = true\n\n[dataset]\nrecords = {records}\nfields = {}\nfield_length = \
             {}\nrestore = {:?}\nrestore_before = {:?}\n\n[sweep]\n\
             workloads = {:?}\nthreads = {:?}\nrepeats = {}\n{}\n\n\
             [machine]\ndrop_caches = false\n",
            self.fields,
            self.field_length,
            self.restore,
            self.restore_before,
            self.workloads,
            self.threads,
            self.repeats,
            self.more.join("\n"),
        );
        for system in &self.systems {
            let (name, place) = (system.driver, &system.place);
            let settings = system.settings.join("\n");
            let tables = "[[system]]\nname = ";
            writeln!(
                text,
                "\n{tables}{name:?}\n{place}\n[system.database]\n{settings}"
            )
            .unwrap();
        }
        text
    }

    /// A file of RocksDB's options.
    pub fn options(max_open_files: u32) -> String {
        format!(
            "[Version]\n  rocksdb_version=11.0.0\n  options_file_version=1.1\n[DBOptions]\n  \
             max_open_files={max_open_files}\n[CFOptions \"default\"]\n  \
             write_buffer_size=4194304\n[TableOptions/BlockBasedTable \"default\"]\n  \
             format_version=5\n"
        )
    }

    pub fn systems(&self) -> impl Iterator<Item = &'static str> {
        self.systems.iter().map(|system| system.driver)
    }

    /// How many points it has.
    pub fn points(&self) -> u64 {
        let each = self.workloads.len() * self.threads.len() * self.target.drivers.len();
        each as u64 * self.repeats
    }

    /// How often a data set is loaded where nothing comes between.
    pub fn loads(&self) -> u64 {
        let systems = self.systems.len() as u64;
        match (self.restore, self.restore_before) {
            ("none" | "checkpoint" | "copy", _) => systems,
            (_, "repeat") => systems * self.repeats,
            (_, "workload") => systems * self.workloads.len() as u64 * self.repeats,
            _ => self.points(),
        }
    }

    /// The points, by system, workload, threads and repeat.
    pub fn keys(&self) -> BTreeSet<(String, String, u64, u64)> {
        let mut keys = BTreeSet::new();
        for system in self.systems() {
            for workload in &self.workloads {
                for &threads in &self.threads {
                    for repeat in 1..=self.repeats {
                        keys.insert((system.to_owned(), workload.to_string(), threads, repeat));
                    }
                }
            }
        }
        keys
    }
}

/// What opens the database of each system of a plan file: its name, its driver, what is opened.
pub fn opened(plan: &Path) -> Vec<(&'static tailmark_driver::Driver, Params)> {
    let raw = RawPlan::find(plan.to_str().unwrap()).unwrap();
    let systems = raw.check().unwrap().systems.into_iter();
    let params = systems.map(|system| {
        let entry = system.driver.entry;
        let location = match system.location {
            Location::Directory(path) if path.is_dir() => Location::Directory(path.join(entry)),
            location => location,
        };
        let params = Params {
            location,
            data: system.data,
            settings: system.settings,
            semantics: system.semantics,
            access: Access::Write,
            study: String::new(),
        };
        (system.driver, params)
    });
    params.collect()
}

/// The markers of the data sets in directories, where they are.
pub fn markers(ground: &Ground, sweep: &Sweep) -> Vec<(&'static str, PathBuf)> {
    let data = ground.disk().join("data");
    let markers = sweep.systems().map(|driver| match driver {
        "rocksdb" => (driver, data.join("rocksdb/rocksdb.dataset.json")),
        _ => (driver, data.join("file/slots.dat.dataset.json")),
    });
    markers.filter(|(_, path)| path.exists()).collect()
}
