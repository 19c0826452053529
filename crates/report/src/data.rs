//! The input of a report: one study, or several merged, as plain data.

use crate::{Error, compared::Comparisons};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};
use tailmark_model::{
    Anatomy, Fact, Header, Kind, Load, Point, ReportSettings, ResolvedRate, RunRules, SloSettings,
    System, failure::Fault, number, printable,
};
use tailmark_stats::{
    Conditions, Inequality, Run,
    comparison::{all_pairs, equivalence},
    slo::{Answer, Slo},
    statistics,
};
use tailmark_study::{Redaction, Study, searches};

/// Everything that sections read. Nothing in it refers to a file.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// One for each study.
    pub headers: Vec<Header>,
    /// The systems of all studies; names are unique.
    pub systems: Vec<System>,
    /// Facts about the machine (without a system) and about each system.
    pub facts: Vec<Fact>,
    /// The loads of all systems.
    pub loads: Vec<Load>,
    /// The points of all systems.
    pub points: Vec<Point>,
    /// What percentages among the rates of the plans came to.
    pub resolved_rates: Vec<ResolvedRate>,
    /// The searches for the highest rate that holds.
    pub searches: Vec<Search>,
    /// Points whose requests were taken apart, which are in no comparison.
    pub anatomies: Vec<AnatomyPoint>,
    /// Notices of the studies, such as a system that was left out.
    pub notices: Vec<String>,
    /// Under which conditions each system was measured, by its name here; [`Data::merged`] fills it
    /// in.
    pub conditions: BTreeMap<String, SystemConditions>,
    /// The comparisons of the systems, which follow from the rest.
    pub compared: Compared,
    /// Report settings that override those of the studies.
    pub settings: ReportSettings,
    /// An earlier study that the report compares with; [`Data::against`] fills it in.
    pub earlier: Option<Earlier>,
}

/// The comparisons of [`Data`], computed when they are first asked for. A clone computes its own,
/// since its data may be changed.
#[derive(Debug, Default)]
pub struct Compared(OnceLock<Comparisons>);

impl Clone for Compared {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// An earlier study of the same plan.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// Its title, and when it began.
    pub name: String,
    /// Plan keys with changed values, both old and new.
    pub changed: Vec<String>,
    /// The systems that are in both studies, and their former selves as separate systems.
    pub both: Box<Data>,
    /// Each of these systems with its former self.
    pub pairs: Vec<(String, String)>,
    /// Their comparisons: all pairs, which are one family of tests.
    pub(crate) comparisons: Comparisons,
}

/// A search for one system and workload, with its settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// Its trials.
    pub slo: Slo,
    /// The plan's settings.
    pub settings: SloSettings,
}

impl Search {
    fn of_study(study: &Study) -> Result<Vec<Self>, tailmark_study::Error> {
        let Some((settings, searches)) = searches(study)? else {
            return Ok(Vec::new());
        };
        let search = |slo| Self {
            slo,
            settings: settings.clone(),
        };
        Ok(searches.into_iter().map(search).collect())
    }

    /// The result.
    #[must_use]
    pub fn answer(&self) -> Answer {
        self.slo.answer(&self.settings)
    }
}

/// A point whose requests were taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct AnatomyPoint {
    /// The point.
    pub point: Point,
    /// Its requests.
    pub anatomy: Anatomy,
}

impl AnatomyPoint {
    fn of_study(study: &Study) -> Result<Vec<Self>, tailmark_study::Error> {
        let mut all = Vec::new();
        study.each_anatomy(|point, anatomy| {
            all.push(Self { point, anatomy });
            Ok(())
        })?;
        Ok(all)
    }
}

/// Under which conditions a system was measured.
#[derive(Debug, Clone, Default)]
pub struct SystemConditions {
    /// Its name in its study. Two of one name are one system that was measured twice.
    pub name: String,
    /// The conditions.
    pub conditions: Conditions,
    /// How its plan has its points judged.
    pub rules: RunRules,
}

/// Two systems that were measured under conditions that differ.
#[derive(Debug, Clone)]
pub struct UnequalPair<'a> {
    /// The first.
    pub a: &'a str,
    /// The second.
    pub b: &'a str,
    /// What differs.
    pub unequal: Vec<Inequality>,
}

impl SystemConditions {
    /// Adds what another study knows of the same system.
    pub(crate) fn complete_from(&mut self, other: Self) {
        self.conditions.complete_from(other.conditions);
        self.rules = self.rules.and(other.rules);
    }
}

impl Data {
    /// Reads one or several studies.
    ///
    /// # Errors
    /// If a study cannot be read, or none holds anything.
    pub fn read(studies: &[Study]) -> Result<Self, Error> {
        let all = studies.iter().map(Self::read_one);
        let all = all.collect::<Result<Vec<_>, _>>().map_err(Error::Study)?;
        let merged = Self::merged(all);
        if merged.points.is_empty() && merged.loads.is_empty() {
            return Err(Error::Empty);
        }
        if merged
            .headers
            .iter()
            .any(|header| header.settings.report.redact)
        {
            Ok(merged.redacted())
        } else {
            Ok(merged)
        }
    }

    /// The same without serial numbers, host names and addresses. Merging needs them, so it comes
    /// first.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        let redaction = Redaction::new(&self.facts, &self.systems).with_plans(&self.headers);
        self.facts = redaction.facts(self.facts);
        self.headers = self
            .headers
            .into_iter()
            .map(|h| redaction.header(h))
            .collect();
        self.systems = self
            .systems
            .into_iter()
            .map(|s| redaction.system(s))
            .collect();
        self.notices = self.notices.iter().map(|n| redaction.text(n)).collect();
        let phases = self.points.iter_mut().map(|point| &mut point.phase);
        let phases = phases.chain(self.loads.iter_mut().map(|load| &mut load.phase));
        let taken_apart = self.anatomies.iter_mut().map(|own| &mut own.point.phase);
        let phases = phases.chain(taken_apart);
        phases.for_each(|phase| redaction.phase(phase));
        for known in self.conditions.values_mut() {
            known.conditions = redaction.conditions(std::mem::take(&mut known.conditions));
        }
        self
    }

    /// The same with report settings that override those of the studies.
    ///
    /// # Errors
    /// If the subject or the baseline is not a compared system, or no request has the latency.
    pub fn with_settings(mut self, settings: ReportSettings) -> Result<Self, Error> {
        if let Some(name) = self.missing(&settings) {
            let (systems, _) = self.systems_and_ceilings();
            let known: Vec<&str> = systems.iter().map(|system| system.name.as_str()).collect();
            return Err(Error::UnknownSystem {
                name: name.to_owned(),
                known: printable(&known.join(", ")).into_owned(),
            });
        }
        if let Some(metric) = settings.metric
            && let Some((kind, _)) = metric.latency()
        {
            let kinds = self
                .points
                .iter()
                .flat_map(|point| point.phase.kinds.keys());
            let kinds: BTreeSet<&Kind> = kinds.collect();
            if !kinds.contains(&kind) {
                let known: Vec<&str> = kinds.into_iter().map(|own| own.name()).collect();
                return Err(Error::UnknownLatency {
                    latency: metric.to_string(),
                    known: known.join(", "),
                });
            }
        }
        self.settings = settings;
        Ok(self)
    }

    /// The subject or the baseline of the studies that is not among the systems.
    #[must_use]
    pub fn missing_system(&self) -> Option<String> {
        let settings = self.report_settings();
        self.missing(&settings).map(str::to_owned)
    }

    fn missing<'s>(&self, settings: &'s ReportSettings) -> Option<&'s str> {
        let (systems, _) = self.systems_and_ceilings();
        let named = [&settings.subject, &settings.baseline]
            .into_iter()
            .flatten();
        let mut missing = named.filter(|name| systems.iter().all(|system| system.name != **name));
        missing.next().map(String::as_str)
    }

    /// The report settings: the given ones, otherwise those of the first study.
    #[must_use]
    pub fn report_settings(&self) -> ReportSettings {
        let of_studies = self.headers.iter();
        let of_studies = of_studies.map(|header| header.settings.report.clone());
        of_studies.fold(self.settings.clone(), ReportSettings::or)
    }

    /// The part of its operations that may fail at a point of a system, 0 to 1: as its plan says; of
    /// a system of several plans, the minimum.
    #[must_use]
    pub fn allow_errors(&self, system: &str) -> f64 {
        self.rules(system).allow_errors
    }

    /// How the points of a system are judged. Data that is not merged is of one plan.
    pub(crate) fn rules(&self, system: &str) -> RunRules {
        let own = self.conditions.get(system).map(|own| own.rules);
        let plan = || Some(self.headers.first()?.settings.rules);
        own.or_else(plan).unwrap_or_default()
    }

    /// The same of all systems in words: `0.1 %`, or `0.1 % to 10 % (as each plan says)`.
    pub(crate) fn allow_errors_text(&self) -> String {
        let parts = self.systems.iter().map(|own| self.allow_errors(&own.name));
        let (low, high) = parts.fold((f64::INFINITY, 0.0), |(low, high), part| {
            (f64::min(low, part), f64::max(high, part))
        });
        if low < high {
            let [low, high] = [low, high].map(number::limit);
            format!("{low} to {high} (as each plan says)")
        } else {
            number::limit(high)
        }
    }

    /// Why a point is no peak and in no comparison, if it is not valid.
    pub(crate) fn fault(&self, point: &Point) -> Option<Fault> {
        point.phase.fault(self.allow_errors(&point.key.system))
    }

    /// The compared systems and those that measure the ceiling of another, in the order of the
    /// plan. If there are only ceilings, they count as systems.
    #[must_use]
    pub fn systems_and_ceilings(&self) -> (Vec<&System>, Vec<&System>) {
        let is_ceiling = |s: &&System| s.ceiling_for.is_some();
        let (ceilings, systems): (Vec<_>, Vec<_>) = self.systems.iter().partition(is_ceiling);
        if systems.is_empty() {
            (ceilings, systems)
        } else {
            (systems, ceilings)
        }
    }

    /// The comparisons of the systems.
    pub(crate) fn comparisons(&self) -> &Comparisons {
        self.compared.0.get_or_init(|| {
            let (systems, _) = self.systems_and_ceilings();
            let systems: Vec<&str> = systems.iter().map(|system| system.name.as_str()).collect();
            let settings = self.report_settings();
            let (runs, pairs) = (self.runs(), all_pairs(&systems));
            Comparisons::from_pairs(&runs, &pairs, self.band())
                .with_ratios(settings.ratios)
                .with_open(&runs, &systems, &settings)
                .with_forms(&settings)
        })
    }

    /// The runs of all systems.
    pub(crate) fn runs(&self) -> Vec<Run> {
        let run = |point: &Point| Run::from_point(point, self.rules(&point.key.system));
        self.points.iter().map(run).collect()
    }

    /// The band of practical equivalence, as a fraction; of several studies, the minimum,
    /// unless the report says another.
    pub(crate) fn band(&self) -> f64 {
        let bands = self.headers.iter().map(equivalence);
        let own = self.settings.equivalence;
        own.or_else(|| bands.reduce(f64::min))
            .unwrap_or(statistics::EQUIVALENCE)
    }

    /// The pairs of compared systems whose conditions differ in more than the identity of their
    /// devices.
    #[must_use]
    pub fn unequal_pairs(&self) -> Vec<UnequalPair<'_>> {
        let (systems, _) = self.systems_and_ceilings();
        let behind = |i: usize| systems[i + 1..].iter();
        let pairs = systems
            .iter()
            .enumerate()
            .flat_map(|(i, a)| behind(i).map(|b| (a.name.as_str(), b.name.as_str())));
        let unequal = pairs.filter_map(|(a, b)| {
            let (of_a, of_b) = (self.conditions.get(a)?, self.conditions.get(b)?);
            let is_same_system = of_a.name == of_b.name;
            let unequal = of_a.conditions.unequal(&of_b.conditions, is_same_system);
            (!unequal.is_empty()).then_some(UnequalPair { a, b, unequal })
        });
        unequal.collect()
    }

    fn read_one(study: &Study) -> Result<Self, tailmark_study::Error> {
        Ok(Self {
            loads: study.loads()?,
            points: study.points()?,
            resolved_rates: study.resolved_rates()?,
            searches: Search::of_study(study)?,
            anatomies: AnatomyPoint::of_study(study)?,
            notices: study.notices()?,
            ..Self::described(study)?
        })
    }

    /// A study's description of its systems, without measurements.
    pub(crate) fn described(study: &Study) -> Result<Self, tailmark_study::Error> {
        Ok(Self {
            headers: vec![study.header()?],
            systems: study.systems()?,
            facts: study.facts()?,
            ..Self::default()
        })
    }
}
