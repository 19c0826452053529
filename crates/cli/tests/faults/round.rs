//! One round: a tiny sweep that is disturbed one to three times, goes on until it is done, and is
//! held against what is promised.

use crate::{
    broken::{Broken, Kept, expect},
    draw::Draw,
    faults::{FAULTS, Fault},
    ground::{self, Ground},
    program::{Ended, Running, When, point_of, start},
    promises, records,
    sweep::{self, Needs, Sweep, Target},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The run directory, from the directory of the round.
pub const OUT: &str = "disk/run";

/// The purposes of draws.
const OF_PLAN: u64 = 0;
const OF_FAULTS: u64 = 1;
const OF_FAULT: u64 = 2;

pub struct Round {
    pub seed: u64,
    pub number: u64,
    /// Every file of the round is in it, and it is the program's current directory.
    pub dir: PathBuf,
    pub ground: Ground,
    pub sweep: Sweep,
    /// What was done, for people.
    pub log: Vec<String>,
    /// What the program said was measured, by name.
    said: BTreeSet<String>,
    /// What was found in the study of each point.
    found: BTreeMap<String, Value>,
    /// How often the program said that it had loaded.
    loads_said: u64,
    /// Data sets that the round itself took away, which are loaded again.
    pub taken_away: u64,
    /// Systems whose points were all measured by then: their data are not loaded again.
    pub gone: BTreeSet<&'static str>,
    /// Whether the power was cut: writes that nobody synced may be gone.
    pub had_power_cut: bool,
    /// Whether the disk was full: requests may have failed, and points are measured again.
    pub had_full_disk: bool,
}

/// What is there on this machine.
#[derive(Debug, Clone, Copy)]
pub struct Here {
    pub disks: bool,
}

/// What a round will be.
pub struct Choice {
    pub target: &'static Target,
    pub faults: Vec<&'static Fault>,
}

impl Choice {
    /// Chosen by seed and number alone, whatever there is here.
    pub fn from_seed(seed: u64, number: u64) -> Self {
        let mut draw = Draw::new(seed, number, OF_FAULTS);
        let target = &sweep::TARGETS[draw.below(sweep::TARGETS.len() as u64) as usize];
        let suited: Vec<_> = FAULTS.iter().filter(|fault| fault.suits(target)).collect();
        let count = draw.between(1, 3);
        let faults = (0..count).map(|_| draw.one_of(&suited)).collect();
        Self { target, faults }
    }

    /// Whether it can be run here; names what is missing.
    pub fn lacks(&self, here: Here) -> Option<&'static str> {
        let needs_disk = self.faults.iter().any(|fault| fault.needs_disk);
        let is_missing = |driver: &&str| sweep::server(driver).is_none();
        match self.target.needs {
            Needs::Server if self.target.drivers.iter().any(is_missing) => {
                Some("a server (TEST_CASSANDRA or TEST_REDIS names none)")
            }
            Needs::Device if !here.disks => Some("loop devices"),
            _ if needs_disk && !here.disks => Some("a disk of its own (a loop device)"),
            _ => None,
        }
    }
}

impl Round {
    pub fn new(seed: u64, number: u64, dir: &Path, target: &'static Target, here: Here) -> Self {
        let ground = Ground::new(dir, here.disks, target.needs == Needs::Device);
        fs::create_dir(ground.disk().join("data")).unwrap();
        let mut draw = Draw::new(seed, number, OF_PLAN);
        let sweep = Sweep::draw(&mut draw, target, &ground, dir);
        ground::write(&dir.join("plan.toml"), &sweep.plan());
        ground::write(&dir.join("other.toml"), &sweep.other_plan());
        ground::write(&dir.join("options.ini"), &Sweep::options(100));
        ground.sync();
        if target.needs == Needs::Server {
            for driver in target.drivers {
                records::remove_left(driver, &sweep::server(driver).unwrap_or_default());
            }
        }
        Self {
            seed,
            number,
            dir: dir.to_owned(),
            ground,
            sweep,
            log: Vec::new(),
            said: BTreeSet::new(),
            found: BTreeMap::new(),
            loads_said: 0,
            taken_away: 0,
            gone: BTreeSet::new(),
            had_power_cut: false,
            had_full_disk: false,
        }
    }

    /// Disturbs the sweep by each fault, and checks after each that nothing is lost; then lets it
    /// go on to its end.
    pub fn run(&mut self, faults: &[&Fault]) -> Kept {
        for (index, fault) in faults.iter().enumerate() {
            let mut draw = Draw::new(self.seed, self.number, OF_FAULT + index as u64);
            self.note(&format!("fault `{}`", fault.name));
            (fault.act)(self, &mut draw)?;
            self.nothing_is_lost()?;
        }
        self.finish()
    }

    pub fn note(&mut self, what: &str) {
        self.log.push(what.to_owned());
    }

    pub fn out(&self) -> PathBuf {
        self.dir.join(OUT)
    }

    pub fn has_study(&self) -> bool {
        self.out().join("study.sqlite").exists()
    }

    /// Starts the program.
    pub fn start(&mut self, words: &[&str]) -> Running {
        self.note(&format!("$ tailmark {}", words.join(" ")));
        start(&self.dir, words)
    }

    /// Runs the program to its end.
    pub fn tailmark(&mut self, words: &[&str]) -> Kept<Ended> {
        let ended = self.start(words).end();
        self.hear(ended)
    }

    /// Starts the sweep, does something to it then, and waits for its end. False where it had ended
    /// before.
    pub fn disturb(
        &mut self,
        when: When,
        act: impl FnOnce(&mut Self, &mut Running),
    ) -> Kept<(Ended, bool)> {
        let mut running = self.start(&["run", "plan.toml", "-o", OUT]);
        let in_time = running.wait_until(when);
        if in_time {
            self.note(&format!("  {when}:"));
            act(self, &mut running);
        }
        let ended = running.end();
        Ok((self.hear(ended)?, in_time))
    }

    /// Keeps in mind what a run said.
    fn hear(&mut self, ended: Kept<Ended>) -> Kept<Ended> {
        let ended = ended?;
        self.note(&format!("  -> {:?}, {:?}", ended.end, ended.said.last()));
        for line in &ended.said {
            if let Some(name) = point_of(line) {
                self.said.insert(name.to_owned());
            }
            if line.contains(": loaded ") {
                self.loads_said += 1;
            }
        }
        Ok(ended)
    }

    /// What the program said so far.
    pub fn heard(&self) -> (BTreeSet<String>, u64) {
        (self.said.clone(), self.loads_said)
    }

    /// Forgets what it said since.
    pub fn unhear(&mut self, heard: (BTreeSet<String>, u64)) {
        (self.said, self.loads_said) = heard;
    }

    /// Keeps in mind that all data sets are taken away now.
    pub fn takes_data(&mut self) -> Kept {
        let study = self.export()?;
        for system in self.sweep.systems() {
            if self.is_measured(&study, system) {
                self.gone.insert(system);
            } else if count(&study, "loads", system) > 0 {
                self.taken_away += 1;
            }
        }
        Ok(())
    }

    /// Whether every point of a system is in the study: a run has no use for its data then.
    pub fn is_measured(&self, study: &Value, system: &str) -> bool {
        let each = self.sweep.points() / self.sweep.systems().count() as u64;
        count(study, "points", system) == each
    }

    /// A sweep that has measured something, for faults between two runs.
    pub fn begin(&mut self) -> Kept {
        if self.found.is_empty() {
            let when = When::Measured(1, std::time::Duration::ZERO);
            self.disturb(when, |round, run| {
                round.note("  SIGKILL");
                run.signal(rustix::process::Signal::KILL);
            })?;
            self.nothing_is_lost()?;
        }
        Ok(())
    }

    /// The loads and points of the study, as the program exports them.
    pub fn export(&mut self) -> Kept<Value> {
        let ended = self.tailmark(&["export", OUT, "--format", "json"])?;
        expect(ended.is_code(0), "the study can be exported", || {
            ended.seen()
        })?;
        let study: Value = serde_json::from_str(&ended.out).map_err(|error| Broken {
            expected: "the export is JSON".to_owned(),
            seen: error.to_string(),
        })?;
        Ok(study)
    }

    /// What is exported of a study that may be damaged; none where it cannot be.
    pub fn export_as_it_is(&mut self) -> Kept<Option<Value>> {
        let ended = self.tailmark(&["export", OUT, "--format", "json"])?;
        Ok(serde_json::from_str(&ended.out)
            .ok()
            .filter(|_| ended.is_code(0)))
    }

    /// What the program said was measured is in the study, and what was found there once stays as
    /// it was.
    pub fn nothing_is_lost(&mut self) -> Kept {
        if !self.has_study() {
            let said = self.said.len() as u64 + self.loads_said;
            return expect(said == 0, "there is a study of what was measured", || {
                format!("no study; {:?} were measured", self.said)
            });
        }
        let study = self.export()?;
        let points = promises::by_name(&study);
        for name in &self.said {
            let is_there = points.contains_key(name);
            expect(
                is_there,
                "what was said to be measured is in the study",
                || format!("`{name}` is missing; there are {:?}", points.keys()),
            )?;
        }
        for (name, was) in &self.found {
            let is = points.get(name);
            expect(
                is == Some(was),
                "a point in the study stays as it is",
                || format!("{name}: {is:?}, was {was:?}"),
            )?;
        }
        let loads = study["loads"].as_array().map_or(0, Vec::len) as u64;
        expect(
            loads >= self.loads_said,
            "a load that was said is in the study",
            || format!("{loads} loads, {} said", self.loads_said),
        )?;
        self.found = points;
        Ok(())
    }

    /// The same command goes on to the end, and everything is there.
    fn finish(&mut self) -> Kept {
        self.note("to the end:");
        let ended = self.tailmark(&["run", "plan.toml", "-o", OUT])?;
        let (errors, invalid) = self.found_failures()?;
        let code = if invalid { 3 } else { 0 };
        expect(
            ended.is_code(code),
            "the same command goes on to the end",
            || format!("{} (points failed: {invalid})", ended.seen()),
        )?;
        expect(!errors || self.had_full_disk, "no request fails", || {
            ended.seen()
        })?;
        promises::of_output(&ended, OUT)?;
        self.nothing_is_lost()?;
        promises::of_study(self)?;
        records::are_there(self)?;
        promises::of_directory(self)?;
        let again = self.tailmark(&["run", "plan.toml", "-o", OUT])?;
        let is_kept = again.is_code(code) && again.says("0 points measured");
        expect(is_kept, "a finished sweep is kept as it is", || {
            again.seen()
        })?;
        self.nothing_is_lost()?;
        if !invalid {
            return Ok(());
        }
        // There is room again: what failed is measured again, and nothing else.
        self.found.retain(|_, point| point["valid"] == true);
        let retried = self.tailmark(&["run", "plan.toml", "-o", OUT, "--retry-failed"])?;
        expect(retried.is_code(0), "what failed is measured again", || {
            retried.seen()
        })?;
        let (_, still_invalid) = self.found_failures()?;
        expect(!still_invalid, "and holds", || retried.seen())?;
        promises::of_study(self)?;
        self.nothing_is_lost()
    }

    /// Whether all is measured: where the disk was full, points may have failed.
    pub fn is_done(&self, ended: &Ended) -> bool {
        ended.is_code(0) || (self.had_full_disk && ended.is_code(3))
    }

    /// Whether requests failed, and so many that points are not valid.
    fn found_failures(&mut self) -> Kept<(bool, bool)> {
        let study = self.export()?;
        let points = study["points"].as_array().cloned().unwrap_or_default();
        let errors = points.iter().any(|point| point["errors"] != 0);
        Ok((errors, points.iter().any(|point| point["valid"] == false)))
    }
}

/// The rows of a system in an exported study.
fn count(study: &Value, what: &str, system: &str) -> u64 {
    let rows = study[what].as_array().into_iter().flatten();
    rows.filter(|row| row["system"] == system).count() as u64
}
