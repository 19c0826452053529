//! The sides of a comparison: two systems of a study, or the systems that two studies have in
//! common.

use super::{VerdictsRequest, near::did_you_mean};
use crate::{Data, Error, compared};
use std::path::{Path, PathBuf};
use tailmark_model::{Header, Metric, printable};
use tailmark_stats::{
    Conditions, Run, RunConditions,
    comparison::{all_pairs, equivalence},
};
use tailmark_study::Study;

/// A study that is compared, or whose systems are.
struct Source {
    path: PathBuf,
    study: Study,
    /// Without its points, which are read one by one.
    data: Data,
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

/// A system, and the one that it is compared with.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The one that is judged.
    pub a: Subject,
    /// The baseline.
    pub b: Subject,
}

impl Pair {
    /// Whether it is one system in two studies.
    pub fn is_same_system(&self) -> bool {
        self.a.source != self.b.source && self.a.system == self.b.system
    }
}

/// The studies, and their compared parts.
pub struct Sides {
    sources: Vec<Source>,
    /// The compared pairs, at least one.
    pub pairs: Vec<Pair>,
}

impl Sides {
    /// Opens the studies named by the arguments.
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
            title: sources[source].header().title.clone(),
            source,
        };
        let pair = |(a, b)| Pair {
            a: subject(0, a),
            b: subject(last, b),
        };
        let pairs = names.into_iter().map(pair).collect();
        Ok(Self { sources, pairs })
    }

    /// The band of practical equivalence in the plan of the judged side, as a fraction.
    pub fn equivalence(&self) -> f64 {
        equivalence(self.sources[0].header())
    }

    /// The metrics that the plans of the studies report.
    pub fn report_metrics(&self) -> impl Iterator<Item = Metric> {
        let sources = self.sources.iter();
        sources.filter_map(|source| source.header().settings.report.metric)
    }

    /// Every pair in the same family of tests: within one study all of its systems, and between two
    /// studies each common system with itself. Reports use the same pairs, so both give the same
    /// result for two systems, whichever were requested.
    pub fn family(&self) -> Vec<(String, String)> {
        let mut family = match &self.sources[..] {
            [only] => all_pairs(&only.data.names()),
            sources => self
                .in_both()
                .into_iter()
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
    fn in_both(&self) -> Vec<&str> {
        let [now, before] = [0, self.sources.len() - 1].map(|i| self.sources[i].data.names());
        compared::common(&now, &before)
    }

    /// The runs of all pairs of the family; their systems are the labels.
    pub fn runs(&self) -> Result<Vec<Run>, Error> {
        let mut all = Vec::new();
        for (index, source) in self.sources.iter().enumerate() {
            let subjects = self.pairs.iter().flat_map(|pair| [&pair.a, &pair.b]);
            let own = subjects.filter(|subject| subject.source == index);
            let mut names = self.in_both();
            names.extend(own.map(|subject| subject.system.as_str()));
            let mut runs = source.study.runs(source.header()).map_err(Error::Study)?;
            runs.retain(|run| names.contains(&run.key.system.as_str()));
            for run in &mut runs {
                run.key.system = label(&self.sources, index, &run.key.system);
            }
            all.append(&mut runs);
        }
        Ok(all)
    }

    /// The conditions of both sides of a pair.
    pub fn conditions(&self, pair: &Pair, runs: &[Run]) -> Option<(Conditions, Conditions)> {
        let conditions = |subject: &Subject| {
            let data = &self.sources[subject.source].data;
            let system = data.systems.iter().find(|s| s.name == subject.system)?;
            let own = runs.iter().filter(|run| run.key.system == subject.label);
            let own = own.map(RunConditions::from);
            let header = data.headers.first();
            Some(Conditions::over_runs(header, system, &data.facts, own))
        };
        conditions(&pair.a).zip(conditions(&pair.b))
    }
}

impl Source {
    fn open(path: &Path) -> Result<Self, Error> {
        let study = Study::open_read_only(path).map_err(Error::Study)?;
        Ok(Self {
            path: path.to_owned(),
            data: Data::described(&study).map_err(Error::Study)?,
            study,
        })
    }

    fn header(&self) -> &Header {
        &self.data.headers[0]
    }

    /// Whether both were begun as one: at the same millisecond, under one title.
    fn is_copy_of(&self, other: &Self) -> bool {
        let name = |source: &Self| (source.header().created_ms, source.header().title.clone());
        name(self) == name(other)
    }

    /// Says which systems there are.
    fn said(&self) -> String {
        let names: Vec<_> = self.data.systems.iter().map(|s| s.name.as_str()).collect();
        let names = if names.is_empty() {
            "no systems".to_owned()
        } else {
            printable(&names.join(", ")).into_owned()
        };
        format!("`{}` has: {names}", self.path.display())
    }

    fn find(&self, flag: &str, name: &str) -> Result<String, Error> {
        if self.data.systems.iter().any(|system| system.name == name) {
            Ok(name.to_owned())
        } else {
            let names = self.data.systems.iter().map(|system| system.name.as_str());
            Err(Error::Refused(format!(
                "{flag} is `{name}`, but {}{}",
                self.said(),
                did_you_mean(name, names)
            )))
        }
    }
}

/// The label of a system here; with two studies it includes the study.
fn label(sources: &[Source], source: usize, system: &str) -> String {
    match sources.len() {
        1 => system.to_owned(),
        _ => format!("{system} in {}", sources[source].path.display()),
    }
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
    let names = source.data.names();
    // The plan's baseline, unless that is the compared system itself.
    let planned = source.header().settings.report.baseline.clone();
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
        (Some(a), None) => other(&a).map(|second| (a, second)),
        (None, Some(b)) => other(&b).map(|first| (first, b)),
        (None, None) => match names[..] {
            [first, second] => Some((first.to_owned(), second.to_owned())),
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
    let common = compared::common(&a.data.names(), &b.data.names()).into_iter();
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
