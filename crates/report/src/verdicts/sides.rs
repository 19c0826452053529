//! What is compared with what: two systems of a study, or those that two studies have in common.

use super::VerdictsRequest;
use crate::Error;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use tailmark_model::{Fact, Header, System, printable};
use tailmark_stats::{
    Conditions, Inequality, Run,
    comparison::{RunsRead, all_pairs, equivalence},
};
use tailmark_study::Study;

/// A study that is compared, or whose systems are.
struct Source {
    path: PathBuf,
    study: Study,
    header: Header,
    systems: Vec<System>,
    facts: Vec<Fact>,
}

/// A system of one of the studies.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Unlike that of any other that is compared.
    pub label: String,
    /// The name of the system.
    pub system: String,
    /// Its study, as it was given.
    pub study: PathBuf,
    /// The title of that.
    pub title: String,
    source: usize,
}

/// A system and what it is compared with.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The one that is judged.
    pub a: Subject,
    /// The baseline.
    pub b: Subject,
}

impl Pair {
    /// Whether it is one system in two studies.
    fn is_same_system(&self) -> bool {
        self.a.source != self.b.source && self.a.system == self.b.system
    }
}

/// When the first and the last run of a system began, milliseconds since 1970.
pub type Times = (u64, u64);

/// What was measured of what is compared.
pub struct Measured {
    /// Of all pairs of the family; their systems are the labels.
    pub runs: Vec<Run>,
    /// By label; none of imports that do not say.
    pub times: BTreeMap<String, Times>,
}

/// The studies, and what of them is compared.
pub struct Sides {
    sources: Vec<Source>,
    /// What is compared with what, at least one.
    pub pairs: Vec<Pair>,
}

impl Sides {
    /// Opens what the arguments name.
    pub fn open(request: &VerdictsRequest) -> Result<Self, Error> {
        let paths = std::iter::once(&request.study).chain(&request.baseline_study);
        let sources = paths.map(|path| Source::open(path));
        let sources = sources.collect::<Result<Vec<_>, Error>>()?;
        let names = match &sources[..] {
            [source] => of_one_study(source, request)?,
            [a, b, ..] => of_two_studies(a, b, request)?,
            [] => Vec::new(),
        };
        let last = sources.len() - 1;
        let subject = |source: usize, system: String| Subject {
            label: label(&sources, source, &system),
            system,
            study: sources[source].path.clone(),
            title: sources[source].header.title.clone(),
            source,
        };
        let pair = |(a, b)| Pair {
            a: subject(0, a),
            b: subject(last, b),
        };
        let pairs = names.into_iter().map(pair).collect();
        Ok(Self { sources, pairs })
    }

    /// The band of practical equivalence of the plan of what is judged, as a fraction.
    pub fn equivalence(&self) -> f64 {
        equivalence(&self.sources[0].header)
    }

    /// Every pair that is a test of the same family: those that are compared, of one study all its
    /// systems, and of two each system that both have with itself. These are the pairs of reports, so
    /// that both say the same of two systems, whichever were asked for.
    pub fn family(&self) -> Vec<(String, String)> {
        let mut family = match &self.sources[..] {
            [only] => all_pairs(&only.names()),
            sources => self
                .in_both()
                .map(|name| (label(sources, 0, name), label(sources, 1, name)))
                .collect(),
        };
        for Pair { a, b } in &self.pairs {
            let (a, b) = (&a.label, &b.label);
            let is_it = |pair: &(String, String)| {
                (&pair.0, &pair.1) == (a, b) || (&pair.0, &pair.1) == (b, a)
            };
            if !family.iter().any(is_it) {
                family.push((a.clone(), b.clone()));
            }
        }
        family
    }

    /// The systems that two studies have in common.
    fn in_both(&self) -> impl Iterator<Item = &str> {
        let [now, before] = [0, self.sources.len() - 1].map(|of| self.sources[of].names());
        common(now, before)
    }

    /// Reads the runs, one at a time.
    pub fn read(&self) -> Result<Measured, Error> {
        let (mut runs, mut times) = (Vec::new(), BTreeMap::new());
        for (index, source) in self.sources.iter().enumerate() {
            let subjects = self.pairs.iter().flat_map(|pair| [&pair.a, &pair.b]);
            let own = subjects.filter(|subject| subject.source == index);
            let requested = own.map(|of| of.system.as_str());
            let names = requested.chain(self.in_both());
            let labels: BTreeMap<&str, String> = names
                .map(|name| (name, label(&self.sources, index, name)))
                .collect();
            let mut known = RunsRead::default();
            let read = source.study.each_point_total(|point| {
                let Some(label) = labels.get(point.key.system.as_str()) else {
                    return;
                };
                if !known.is_new(&point) {
                    return;
                }
                if let Some(ms) = point.phase.started_ms {
                    let (first, last) = times.entry(label.clone()).or_insert((ms, ms));
                    (*first, *last) = (ms.min(*first), ms.max(*last));
                }
                let mut run = Run::of_study(&point, &source.header);
                run.key.system.clone_from(label);
                runs.push(run);
            });
            read.map_err(Error::Study)?;
        }
        Ok(Measured { runs, times })
    }

    /// What differs between the conditions of a pair.
    pub fn unequal(&self, pair: &Pair, measured: &Measured) -> Vec<Inequality> {
        let conditions = |of: &Subject| {
            let source = &self.sources[of.source];
            let system = source.systems.iter().find(|s| s.name == of.system)?;
            let first_run = measured.times.get(&of.label).map(|(first, _)| *first);
            let header = Some(&source.header);
            let mut conditions = Conditions::new(header, system, &source.facts, first_run);
            let runs = measured.runs.iter();
            for run in runs.filter(|run| run.key.system == of.label) {
                conditions.add_read_bytes(&run.key.workload, run.read_bytes);
            }
            Some(conditions)
        };
        let both = conditions(&pair.a).zip(conditions(&pair.b));
        both.map_or_else(Vec::new, |(a, b)| a.unequal(&b, pair.is_same_system()))
    }
}

impl Source {
    fn open(path: &Path) -> Result<Self, Error> {
        let study = Study::open_read_only(path).map_err(Error::Study)?;
        Ok(Self {
            path: path.to_owned(),
            header: study.header().map_err(Error::Study)?,
            systems: study.systems().map_err(Error::Study)?,
            facts: study.facts().map_err(Error::Study)?,
            study,
        })
    }

    /// Whether both were begun as one: at the same millisecond, under one title.
    fn is_copy_of(&self, other: &Self) -> bool {
        let name = |of: &Self| (of.header.created_ms, of.header.title.clone());
        name(self) == name(other)
    }

    /// The systems that are no ceilings of others, in the order of the plan.
    fn names(&self) -> Vec<&str> {
        let own = self.systems.iter().filter(|s| s.ceiling_for.is_none());
        own.map(|system| system.name.as_str()).collect()
    }

    /// Says which systems there are.
    fn said(&self) -> String {
        let names: Vec<_> = self.systems.iter().map(|s| s.name.as_str()).collect();
        let names = if names.is_empty() {
            "no systems".to_owned()
        } else {
            printable(&names.join(", ")).into_owned()
        };
        format!("`{}` has: {names}", self.path.display())
    }

    fn find(&self, flag: &str, name: &str) -> Result<String, Error> {
        if self.systems.iter().any(|system| system.name == name) {
            Ok(name.to_owned())
        } else {
            Err(Error::Refused(format!(
                "{flag} is `{name}`, but {}",
                self.said()
            )))
        }
    }
}

/// What a system is called here: of two studies with that which it is of.
fn label(sources: &[Source], source: usize, system: &str) -> String {
    match sources.len() {
        1 => system.to_owned(),
        _ => format!("{system} in {}", sources[source].path.display()),
    }
}

/// The names that both have.
fn common<'a>(a: Vec<&'a str>, b: Vec<&str>) -> impl Iterator<Item = &'a str> {
    a.into_iter().filter(move |name| b.contains(name))
}

/// The first system of the plan against the second, unless flags say otherwise.
fn of_one_study(
    source: &Source,
    request: &VerdictsRequest,
) -> Result<Vec<(String, String)>, Error> {
    let a = request.system.as_deref();
    let a = a.map(|name| source.find("--system", name)).transpose()?;
    let b = request.baseline.as_deref();
    let b = b.map(|name| source.find("--baseline", name)).transpose()?;
    let names = source.names();
    // What the plan says, where it is another system that is compared with it.
    let planned = source.header.settings.report.baseline.clone();
    let planned = planned.filter(|name| names.contains(&name.as_str()) && a.as_ref() != Some(name));
    let b = b.or(planned);
    let other = |than: &str| match names
        .iter()
        .filter(|name| **name != than)
        .collect::<Vec<_>>()[..]
    {
        [only] => Some((*only).to_owned()),
        _ => None,
    };
    let pair = match (a, b) {
        (Some(a), Some(b)) if a == b => {
            return Err(Error::Refused(format!(
                "--system and --baseline are both `{a}`"
            )));
        }
        (Some(a), Some(b)) => Some((a, b)),
        (Some(a), None) => other(&a).map(|b| (a, b)),
        (None, Some(b)) => other(&b).map(|a| (a, b)),
        (None, None) => match names[..] {
            [a, b] => Some((a.to_owned(), b.to_owned())),
            _ => None,
        },
    };
    let refused = || {
        Error::Refused(format!(
            "give --system and --baseline, or a second study; {}",
            source.said()
        ))
    };
    Ok(vec![pair.ok_or_else(refused)?])
}

/// Each system that both have with itself, unless flags say otherwise.
fn of_two_studies(
    a: &Source,
    b: &Source,
    request: &VerdictsRequest,
) -> Result<Vec<(String, String)>, Error> {
    let file = |source: &Source| source.study.path().canonicalize().ok();
    if file(a).is_some() && file(a) == file(b) {
        let said = "is given twice; with one study, --system is compared with --baseline";
        return Err(Error::Refused(format!("`{}` {said}", a.path.display())));
    }
    if a.is_copy_of(b) {
        let (a, b) = (a.path.display(), b.path.display());
        return Err(Error::Refused(format!(
            "`{a}` and `{b}` are copies of one study: the same runs"
        )));
    }
    let given = request.system.as_ref().or(request.baseline.as_ref());
    if let Some(name) = given {
        let baseline = request.baseline.as_ref().unwrap_or(name);
        return Ok(vec![(
            a.find("--system", name)?,
            b.find("--baseline", baseline)?,
        )]);
    }
    let common = common(a.names(), b.names());
    let pairs: Vec<_> = common
        .map(|name| (name.to_owned(), name.to_owned()))
        .collect();
    if pairs.is_empty() {
        Err(Error::Refused(format!(
            "no system is in both studies; {}; {}; --system and --baseline name two that differ",
            a.said(),
            b.said()
        )))
    } else {
        Ok(pairs)
    }
}
