//! `tailmark clean`: removes what a study created, and nothing else.
//!
//! Everything is looked up and listed before anything is removed. The study says where to look. A
//! marker at the place, which names the study, says what may be removed.

use crate::{
    Error,
    dataset::{
        Dataset,
        clean::{NamedPlace, Remains, Untouched},
    },
    error::in_one_line,
    prepare::{self, WhoseChanges},
    servers::Servers,
    service::ServiceLog,
    sweep::lock_existing,
};
use bytesize::ByteSize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};
use tailmark_driver::{LockedFile, db};
use tailmark_engine::{Observer, Stop};
use tailmark_model::{Fact, Kind, System, finding, number};
use tailmark_plan::{Plan, Restore, SystemPlan, named_at_rank};
use tailmark_study::{Error as ResultsError, OwnFiles, Study, left_drafts, own_files::Held};

/// A setting of servers that is not taken from a study alone. A stranger's study could otherwise
/// send the content of any file to any host.
const PASSWORD: &str = "password_file";

/// The pages of a report.
const PAGES: [&str; 6] = [
    "brief.html",
    "brief.pdf",
    "report.html",
    "report.md",
    "report.pdf",
    "report.txt",
];
/// The folders of a report, with the endings of their files.
const FOLDERS: [(&str, &[&str]); 2] = [("tables", &["csv"]), ("charts", &["svg", "png"])];
/// The files of a study.
const STUDY: [&str; 2] = [Study::FILE, "study.sqlite-journal"];

/// Whether the study and its report go too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Results {
    /// They stay.
    Keep,
    /// They are removed after everything else.
    Remove,
}

/// What a study created and still exists. Its run directory is locked as long as this lives.
pub struct Cleaning<'a> {
    /// The plan, if it restores by snapshots.
    restoring: Option<&'a Plan>,
    remains: Vec<Remains>,
    /// Systems with a snapshot on the machines of their servers.
    snapshots: Vec<String>,
    groups: Vec<PathBuf>,
    has_changes: bool,
    results: Vec<PathBuf>,
    /// Places in the study that are left alone, and why.
    pub not_touched: Vec<(String, String)>,
    /// Those places that may hold what the study created.
    pub may_be_left: Vec<String>,
    _lock: LockedFile,
}

impl<'a> Cleaning<'a> {
    /// Looks up what the study of a run directory created. Changes nothing. Passwords of servers
    /// and the command for snapshots come from `plan`.
    ///
    /// # Errors
    /// If a run is in progress there, or the study cannot be read or has no id.
    pub fn look(out: &Path, plan: Option<&'a Plan>, results: Results) -> Result<Self, Error> {
        let study = Study::open_read_only(out)?;
        let lock = lock_existing(out)?;
        let id = study.header()?.id;
        if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Error::NoStudyId {
                study: study.path().to_owned(),
            });
        }
        let left = prepare::whose_changes(out);
        let mut cleaning = Self {
            restoring: plan.filter(|own| own.dataset.restore.how == Restore::Snapshot),
            remains: Vec::new(),
            snapshots: Vec::new(),
            groups: tailmark_machine::left_groups(),
            has_changes: left == WhoseChanges::Own,
            results: Vec::new(),
            not_touched: Vec::new(),
            may_be_left: Vec::new(),
            _lock: lock,
        };
        cleaning.look_at_systems(&study, plan, &id)?;
        cleaning.results = match results {
            Results::Keep => left_drafts(out),
            Results::Remove => {
                let found = FoundResults::new(out, &id, study.has_made_directory()?);
                let kept = found.left.into_iter();
                let named = kept.map(|(path, why)| (path.display().to_string(), why));
                cleaning.not_touched.extend(named);
                found.own
            }
        };
        if left == WhoseChanges::Others {
            let why = "changes of another run; `tailmark restore` undoes them";
            let place = "this machine".to_owned();
            cleaning.not_touched.push((place, why.to_owned()));
        }
        Ok(cleaning)
    }

    /// Looks at the places of each system.
    fn look_at_systems(
        &mut self,
        study: &Study,
        plan: Option<&Plan>,
        id: &str,
    ) -> Result<(), Error> {
        let hosts = hosts(study)?;
        let loads = study.loads()?;
        let points = study.point_keys()?;
        // Points that are damaged say nothing, and stop nothing.
        let inserted = inserted_into_adopted(study).unwrap_or_default();
        for system in study.systems()? {
            // A system with points but no load was measured on the data of another study.
            let has_loaded = loads.iter().any(|load| load.system == system.name)
                || points.iter().all(|key| key.system != system.name);
            for (place, other_host) in places(&system.place, &hosts) {
                if let Some(inserts) = inserted.get(&system.name) {
                    self.leave(place, left_in_adopted(*inserts));
                    continue;
                }
                match look_at(&system, &place, plan, id) {
                    Ok(found) => self.add(&system.name, place, found),
                    Err(Untouched::Gone(why)) if other_host.is_empty() => {
                        self.not_touched.push((place, why));
                    }
                    Err(Untouched::Gone(why) | Untouched::Left(why)) if !has_loaded => {
                        self.not_touched.push((place, why));
                    }
                    Err(Untouched::Gone(why) | Untouched::Left(why)) => {
                        self.leave(place, format!("{why}{other_host}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Leaves a place alone that may hold what the study created.
    fn leave(&mut self, place: String, why: String) {
        self.may_be_left.push(place.clone());
        self.not_touched.push((place, why));
    }

    /// Adds what was found at a place of a system.
    fn add(&mut self, system: &str, place: String, found: Option<Remains>) {
        let has_snapshot = found.as_ref().is_some_and(|found| found.has_snapshot);
        if has_snapshot && self.restoring.is_none() {
            let why = "its server has a snapshot, which is removed first, by the command of the \
                       plan: `tailmark clean PLAN.toml`";
            return self.leave(place, why.to_owned());
        }
        self.snapshots
            .extend(has_snapshot.then(|| system.to_owned()));
        let kept = found.iter().flat_map(|found| &found.kept);
        let why = "it holds something of another program";
        let kept = kept.map(|kept| (kept.clone(), why.to_owned()));
        self.not_touched.extend(kept);
        self.remains.extend(found);
    }

    /// Whether there is nothing to remove.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines().is_empty()
    }

    /// What would be removed, one line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let line = |system: &String| format!("the snapshot of system `{system}`");
        let mut lines: Vec<String> = self.snapshots.iter().map(line).collect();
        let data = self.remains.iter().flat_map(|remains| &remains.lines);
        lines.extend(data.cloned());
        let path = |path: &PathBuf| format!("`{}`", path.display());
        if self.has_changes {
            lines.push("changes that `tailmark restore` undoes".to_owned());
        }
        let groups = self.groups.iter();
        lines.extend(groups.map(|group| format!("the control group {}", path(group))));
        lines.extend(self.results.iter().map(path));
        lines
    }

    /// Removes everything. `log` gets each line after it was done. Returns what could not be
    /// removed, and why.
    pub fn remove(self, log: &dyn Fn(&str)) -> Vec<String> {
        let mut failed = Vec::new();
        let snapshots = self
            .restoring
            .iter()
            .flat_map(|plan| self.snapshots.iter().map(move |system| (*plan, system)));
        for (plan, system) in snapshots {
            if let Err(error) = remove_snapshot(plan, system) {
                // Without the table, its snapshot could not be found again.
                return vec![in_one_line(&error)];
            }
            log(&format!("removed the snapshot of system `{system}`"));
        }
        for remains in self.remains {
            if let Err(error) = remains.remove(log) {
                failed.push(in_one_line(&error));
            }
        }
        if self.has_changes {
            match prepare::restore(log) {
                Ok(0) => {}
                Ok(left) => failed.push(format!("{left} changes of this machine are not undone")),
                Err(error) => failed.push(in_one_line(&error)),
            }
        }
        // Without the study, the remains could not be found again.
        let results = self.results.iter().filter(|_| failed.is_empty());
        let paths: Vec<_> = self.groups.iter().chain(results).collect();
        for path in paths {
            let is_directory = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
            let removed = if is_directory {
                fs::remove_dir(path)
            } else {
                fs::remove_file(path)
            };
            match removed {
                Ok(()) => log(&format!("removed `{}`", path.display())),
                Err(error) if is_directory && error.kind() == DIRECTORY_NOT_EMPTY => {}
                Err(error) => failed.push(format!("`{}` stays: {error}", path.display())),
            }
        }
        failed
    }
}

const DIRECTORY_NOT_EMPTY: std::io::ErrorKind = std::io::ErrorKind::DirectoryNotEmpty;

/// The hosts of the ranks of a study: of one process, this one.
fn hosts(study: &Study) -> Result<Vec<String>, Error> {
    let facts = study.facts()?;
    let host = |rank: u32| {
        let group = format!("rank {rank}");
        let mut facts = facts.iter();
        let fact = facts.find(|fact| fact.group == group && fact.name == Fact::HOSTNAME)?;
        Some(fact.value.clone())
    };
    let hosts: Vec<_> = (0..).map_while(host).collect();
    Ok(if hosts.is_empty() {
        vec![tailmark_machine::hostname()]
    } else {
        hosts
    })
}

/// How many inserts the points of each system sent to data that it adopted, where they did.
fn inserted_into_adopted(study: &Study) -> Result<BTreeMap<String, u64>, Error> {
    let mut inserted = BTreeMap::new();
    study.each_point_total(|point| {
        let count = point.phase.kinds.get(&Kind::Insert).map(|kind| kind.count);
        if let Some(count) = count.filter(|count| *count > 0)
            && finding::DATA_ADOPTED.is_among(&point.phase.findings)
        {
            *inserted.entry(point.key.system).or_default() += count;
        }
    })?;
    Ok(inserted)
}

/// Why a system's place is left alone to which its points sent this many inserts. Those of warm-ups
/// are not in the study.
fn left_in_adopted(inserts: u64) -> String {
    format!(
        "left: adopted data, from which tailmark removes nothing; the study sent it at least {}, \
         each a new or an overwritten record",
        number::plural(inserts, "insert")
    )
}

/// The places of a system, each once, by the hosts of its ranks, with the remark for one on another
/// host.
fn places(place: &str, hosts: &[String]) -> BTreeMap<String, String> {
    let own = tailmark_machine::hostname();
    let mut places = BTreeMap::new();
    for (rank, host) in (0_u32..).zip(hosts) {
        let said = if *host == own {
            String::new()
        } else {
            format!(
                "; rank {rank} had its data on {host}: run `tailmark clean` there with a copy of the \
                 study"
            )
        };
        let known: &mut String = places.entry(named_at_rank(place, rank, host)).or_default();
        if known.is_empty() {
            *known = said;
        }
    }
    places
}

/// What a study left in one of the places of its systems.
fn look_at(
    system: &System,
    place: &str,
    plan: Option<&Plan>,
    study: &str,
) -> Result<Option<Remains>, Untouched> {
    let driver = db::find(&system.driver).map_err(|error| in_one_line(&error))?;
    let planned = plan.and_then(|plan| {
        let mut systems = plan.systems.iter();
        systems.find(|s| s.name == system.name && s.location.to_string() == system.place)
    });
    let settings: BTreeMap<String, String> = match planned {
        Some(s) => {
            let settings = s.settings.iter();
            settings
                .map(|(k, v)| (k.to_owned(), v.to_owned()))
                .collect()
        }
        None => {
            // Other keys of a system, such as its records, are not settings of the driver.
            let is_known = |name: &str| driver.settings.iter().any(|known| known.name == name);
            let settings = system.settings.iter();
            settings
                .filter(|(name, _)| is_known(name))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect()
        }
    };
    let has_password = settings.get(PASSWORD).is_some_and(|file| !file.is_empty());
    if planned.is_none() && has_password {
        let why = "its password is in a file; give the plan instead of the study";
        return Err(why.into());
    }
    let named = NamedPlace {
        driver,
        place,
        settings,
    };
    named.remains(study)
}

/// Removes the snapshot of a system from the machines of its server.
fn remove_snapshot(plan: &Plan, system: &str) -> Result<(), Error> {
    struct Silent;
    impl Observer for Silent {}
    let named = |other: &SystemPlan| other.name == system;
    let Some(own) = plan.systems.iter().find(|own| named(own)) else {
        return Ok(());
    };
    let stop = Stop::new();
    let servers = Servers::connect(plan, named, (&Silent, &stop))?;
    servers.refuse(own)?;
    Dataset::new(plan, own).remove_snapshot(&servers.of(own), &stop)
}

/// What the study of a plan left on the disks of this machine: `444 MB in /dev/shm/a`, each place
/// once.
#[must_use]
pub fn left_behind(plan: &Plan) -> Vec<String> {
    let mut places: BTreeMap<&Path, u64> = BTreeMap::new();
    for system in &plan.systems {
        let dataset = Dataset::new(plan, system);
        if let Some(place) = system.location.path()
            && dataset.is_own()
        {
            *places.entry(place).or_default() += dataset.present() + dataset.start_bytes();
        }
    }
    let left = places.into_iter().filter(|(_, bytes)| *bytes > 0);
    left.map(|(place, bytes)| format!("{} in {}", ByteSize(bytes), place.display()))
        .collect()
}

/// The files in a run directory under names that tailmark uses.
#[derive(Default)]
struct FoundResults {
    /// Files that tailmark wrote, in order of removal: a directory after its content.
    own: Vec<PathBuf>,
    /// Files that are left alone, and why.
    left: Vec<(PathBuf, String)>,
}

impl FoundResults {
    /// The run directory is the last, if it was made for the study.
    fn new(out: &Path, study: &str, has_made_directory: bool) -> Self {
        let mut found = Self::default();
        for (folder, endings) in FOLDERS {
            let has_ending = |name: &str| {
                let ending = name.rsplit_once('.').map(|(_, ending)| ending);
                ending.is_some_and(|ending| endings.contains(&ending))
            };
            let before = found.own.len();
            found.add(out, folder, &[], has_ending);
            if found.own.len() > before {
                found.own.push(out.join(folder));
            }
        }
        found.own.extend(ServiceLog::all(out, study));
        found.add(out, "", &PAGES, |name| PAGES.contains(&name));
        let is_file =
            |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
        let files = STUDY.map(|name| out.join(name)).into_iter();
        found.own.extend(files.filter(is_file));
        if !has_made_directory {
            let why = "it existed before the run";
            found.left.push((out.to_owned(), why.to_owned()));
            return found;
        }
        // A link to the run directory is the user's, also with a slash at its end; `.` cannot be removed.
        let out = out.components().as_path();
        let is_named = matches!(out.components().next_back(), Some(Component::Normal(_)));
        let is_directory = fs::symlink_metadata(out).is_ok_and(|metadata| metadata.is_dir());
        found
            .own
            .extend((is_named && is_directory).then(|| out.to_owned()));
        found
    }

    /// Adds the unchanged files of a folder that tailmark wrote, and the list if it names nothing
    /// else. Listed files that have changed, and other files with such names, are left alone.
    fn add(&mut self, out: &Path, folder: &str, names: &[&str], is_result: impl Fn(&str) -> bool) {
        let place = out.join(folder);
        let own = match OwnFiles::read(out, folder) {
            Ok(own) => own,
            Err(ResultsError::ForeignFile { path, why }) => {
                return self.left.push((path, why.to_owned()));
            }
            Err(error) => return self.left.push((place, in_one_line(&error))),
        };
        self.own.extend(left_drafts(&place));
        let all: BTreeSet<&str> = own.names().chain(names.iter().copied()).collect();
        let mut is_needed = false;
        for name in all {
            let path = place.join(name);
            match own.look(name) {
                Ok(Held::Own(_)) if is_result(name) => self.own.push(path),
                Ok(Held::Own(_)) => is_needed = true,
                Ok(Held::Nothing) => {}
                Ok(Held::Foreign) => self.left.push((path, CHANGED.to_owned())),
                Err(error) => self.left.push((path, in_one_line(&error))),
            }
        }
        let list = place.join(OwnFiles::LIST);
        if !is_needed && fs::symlink_metadata(&list).is_ok() {
            self.own.push(list);
        }
    }
}

const CHANGED: &str = "tailmark did not write it, or it was changed since";
