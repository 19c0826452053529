//! The report settings: `[report]`. They do not change what is measured.

use super::roles::REPORT;
use crate::{
    Accept,
    Accept::{Choice, FixedRates, Flag, Metric, Percent, Text, Times, Words},
    Error, Plan, PlanKey, RawPlan, SystemPlan,
    accept::Accepted,
    reader::TableReader,
    requests::sends,
    units,
};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::{collections::BTreeMap, path::Path, sync::Arc};
use tailmark_driver::{INPUT_BYTES_MAX, read_file};
use tailmark_model::{
    self as model, Color, Kind, LatencyAxis, Logo, LogoKind, Ratios, ReportSettings,
    Words as AuthorWords,
};
use tailmark_workload::Workload;
use toml::Value;

/// The keys of `report`.
pub(super) const REPORT_KEYS: &[PlanKey] = &[
    PlanKey::new("report", "metric", REPORT, Metric)
        .about("metric to state besides ops/s: `p99.9 read`, `write_amplification`")
        .flag(31, "--metric", "METRIC")
        .help("Metric besides ops/s: \"p99.9 read\", write_amplification")
        .sets(|plan| Some(plan.report.metric?.to_string())),
    PlanKey::new("report", "subject", REPORT, Text)
        .about("system that the report is about; without it, the leader")
        .flag(32, "--subject", "NAME")
        .help("System that the report is about; compared with each other")
        .sets(|plan| plan.report.subject.clone()),
    PlanKey::new("report", "baseline", REPORT, Text)
        .about("compare every other system with this one; not with `subject`")
        .flag(33, "--baseline", "NAME")
        .help("Compare every other system with this one")
        .sets(|plan| plan.report.baseline.clone()),
    PlanKey::new("report", "at_rate", REPORT, FixedRates)
        .about("state the latency at these rates, measured or read off the curve")
        .flag(34, "--at-rate", "OPS,...")
        .help("State the latency at these rates: 40k")
        .sets(|plan| plan.report.at_rate_text()),
    PlanKey::new("report", "at_latency", REPORT, Times(1e-6, 3_600.0))
        .about("state ops/s at these latencies, read off the curve")
        .flag(35, "--at-latency", "TIME,...")
        .help("State ops/s at these latencies: 15ms")
        .sets(|plan| plan.report.at_latency_text()),
    PlanKey::new("report", "skipped", REPORT, Words)
        .about("workloads left out, and why: [\"ycsb-e: not every database can scan\"]")
        .sets(|plan| plan.report.skipped_text()),
    PlanKey::new("report", "equivalence", REPORT, Percent(0.0, 100.0))
        .about("ratios this close to 1 count as equal")
        .or("3%")
        .flag(36, "--equivalence", "PERCENT")
        .help("Ratios this close to 1 count as equal: 3%")
        .sets(|plan| Some(units::percent_text(plan.report.equivalence?))),
    PlanKey::new("report", "redact", REPORT, Flag)
        .about("leave out serial numbers, host names and addresses")
        .or("false")
        .flag(37, "--redact", "")
        .help("Leave out serial numbers, host names and addresses")
        .sets(|plan| plan.report.redact.then(|| true.to_string())),
    PlanKey::new(
        "report",
        "ratios",
        REPORT,
        Choice(&["x", "percent", "latency-x"]),
    )
    .about("notation of ratios: `x` (1.5X), `percent` or `latency-x`; without it, percent below 2X")
    .sets(|plan| name_of(&Ratios::ALL, plan.report.ratios)),
    PlanKey::new("report", "latency_axis", REPORT, Choice(&["log", "linear"]))
        .about(
            "latency axis: `log`, or `linear` from 0; without it, the page opens with `log`, and \
             documents are linear up to a span of 30X",
        )
        .sets(|plan| name_of(&LatencyAxis::ALL, plan.report.latency_axis)),
    PlanKey::new("report", "sections", REPORT, Words)
        .about("only these sections (`tailmark list sections`)")
        .sets(|plan| joined(&plan.report.sections, ", ")),
    PlanKey::new("report", "use_cases", REPORT, Words)
        .about("what a workload stands for: [\"ycsb-a: recording user sessions\"]")
        .sets(|plan| named_texts(&plan.report.use_cases)),
    PlanKey::new("report", "chart_systems", REPORT, Words)
        .about("an extra chart per set of systems: [\"Drive A, Drive B\"]")
        .sets(|plan| {
            let sets = plan.report.chart_systems.iter();
            let sets: Vec<String> = sets.map(|names| names.join(", ")).collect();
            joined(&sets, BETWEEN_TEXTS)
        }),
    PlanKey::new("report", "colors", REPORT, Words)
        .about("colours of systems: [\"Drive A: green\"]")
        .sets(|plan| named_texts(&plan.report.colors)),
    PlanKey::new("report", "introduction", REPORT, Text)
        .about("your text after the headline, in Markdown")
        .sets(|plan| words(plan, AuthorWords::Introduction)),
    PlanKey::new("report", "why", REPORT, Text)
        .about("your text after the cards: why it matters")
        .sets(|plan| words(plan, AuthorWords::Why)),
    PlanKey::new("report", "notes", REPORT, Text)
        .about("your text before how it was tested")
        .sets(|plan| words(plan, AuthorWords::Notes)),
    PlanKey::new("report", "conclusion", REPORT, Text)
        .about("your text at the end; on page 1 of a brief if it is short")
        .sets(|plan| words(plan, AuthorWords::Conclusion)),
    PlanKey::new("report", "footer", REPORT, Text)
        .about("your text at the foot of each page")
        .sets(|plan| words(plan, AuthorWords::Footer)),
    PlanKey::new("report", "logo", REPORT, Text)
        .about(
            "your picture over the title, a PNG or JPEG file of at most 256 KiB and 4 megapixels",
        )
        .sets(|plan| Some(plan.report.logo.as_ref()?.path.clone())),
];

/// The separator of texts that may contain commas.
const BETWEEN_TEXTS: &str = "; ";

fn joined(texts: &[String], between: &str) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join(between))
}

/// The name of a value.
fn name_of<T: Copy + PartialEq>(names: &[(T, &str)], value: Option<T>) -> Option<String> {
    let named = names.iter().find(|(known, _)| Some(*known) == value);
    named.map(|(_, name)| (*name).to_owned())
}

/// The value of a key, given as one of these names.
fn choice<T: Copy>(
    keys: &TableReader<'_>,
    key: &'static str,
    names: &[(T, &str)],
) -> Result<Option<T>, Error> {
    let given: Option<String> = keys.optional(key)?;
    let named = given.and_then(|given| names.iter().find(|(_, name)| *name == given));
    Ok(named.map(|(value, _)| *value))
}

/// `NAME: TEXT` of each.
fn named_texts(texts: &BTreeMap<String, String>) -> Option<String> {
    let texts: Vec<String> = texts
        .iter()
        .map(|(name, text)| format!("{name}: {text}"))
        .collect();
    joined(&texts, BETWEEN_TEXTS)
}

fn words(plan: &Plan, place: AuthorWords) -> Option<String> {
    plan.report.words.get(&place).cloned()
}

/// The settings of the table, without a plan.
///
/// # Errors
/// If a value is not accepted, or both a subject and a baseline are given.
pub(crate) fn settings(keys: &TableReader<'_>) -> Result<ReportSettings, Error> {
    let settings = ReportSettings {
        metric: keys.optional("metric")?,
        title: None,
        subject: keys.optional("subject")?,
        baseline: keys.optional("baseline")?,
        at_rate: keys.optional("at_rate")?.unwrap_or_default(),
        at_latency: keys.optional("at_latency")?.unwrap_or_default(),
        skipped: keys.optional("skipped")?.unwrap_or_default(),
        equivalence: keys.optional("equivalence")?,
        redact: keys.get("redact")?,
        ratios: choice(keys, "ratios", &Ratios::ALL)?,
        latency_axis: choice(keys, "latency_axis", &LatencyAxis::ALL)?,
        sections: keys.optional("sections")?.unwrap_or_default(),
        use_cases: by_name(keys, "use_cases", |_| true)?,
        chart_systems: sets(keys, "chart_systems")?,
        colors: by_name(keys, "colors", |color| Color::ALL.contains(&color))?,
        words: author_words(keys)?,
        logo: logo(keys)?,
    };
    if settings.subject.is_some() && settings.baseline.is_some() {
        let accepted = "absent with `report.subject`: choose one of the two";
        return Err(keys.refuse_given("baseline", accepted.to_owned()));
    }
    Ok(settings)
}

/// The report settings of a plan that has only its title and its table `report`.
///
/// # Errors
/// If it has other keys, or a value is not accepted.
pub fn report_settings(raw: &RawPlan) -> Result<ReportSettings, Error> {
    let known = ["title", "report"];
    let mut keys = raw.table().keys();
    if let Some(other) = keys.find(|key| !known.contains(&key.as_str())) {
        return Err(Error::UnknownKey {
            key: other.clone(),
            hint: "; the study says what was measured".to_owned(),
            known: "title and those of report".to_owned(),
        });
    }
    let top = TableReader::top(raw)?;
    let table = top.table("report", &[])?;
    let settings = settings(&table)?;
    // A default must not override what a study says.
    let is_given = |key: &str| table.given().contains_key(key);
    Ok(ReportSettings {
        title: top.optional("title")?,
        equivalence: settings.equivalence.filter(|_| is_given("equivalence")),
        latency_axis: settings.latency_axis.filter(|_| is_given("latency_axis")),
        ..settings
    })
}

/// A list of `NAME: TEXT`, by name.
fn by_name(
    keys: &TableReader<'_>,
    key: &'static str,
    is_accepted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, String>, Error> {
    let given: Vec<String> = keys.optional(key)?.unwrap_or_default();
    let part = |text: &String| {
        let (name, value) = text.split_once(": ")?;
        let (name, value) = (name.trim(), value.trim());
        let is_whole = !name.is_empty() && !value.is_empty() && is_accepted(value);
        is_whole.then(|| (name.to_owned(), value.to_owned()))
    };
    let parts: Option<BTreeMap<String, String>> = given.iter().map(part).collect();
    parts.ok_or_else(|| {
        let accepted = match key {
            "colors" => format!("a list of `NAME: COLOUR`, with {}", Color::ALL.join(", ")),
            _ => "a list of `NAME: TEXT`".to_owned(),
        };
        keys.refuse_given(key, accepted)
    })
}

/// A list of sets of names, separated by commas. A single text is one set.
fn sets(keys: &TableReader<'_>, key: &'static str) -> Result<Vec<Vec<String>>, Error> {
    let given: Vec<String> = match keys.given().get(key) {
        Some(Value::String(text)) => vec![text.clone()],
        _ => keys.optional(key)?.unwrap_or_default(),
    };
    let set = |text: &String| -> Vec<String> {
        text.split(',').map(|name| name.trim().to_owned()).collect()
    };
    Ok(given.iter().map(set).collect())
}

fn author_words(keys: &TableReader<'_>) -> Result<BTreeMap<AuthorWords, String>, Error> {
    let mut words = BTreeMap::new();
    for (place, key) in AuthorWords::ALL {
        if let Some(text) = keys.optional(key)? {
            words.insert(place, text);
        }
    }
    Ok(words)
}

/// The picture of the author, with its content.
fn logo(keys: &TableReader<'_>) -> Result<Option<Logo>, Error> {
    let Some(path) = keys.optional::<String>("logo")? else {
        return Ok(None);
    };
    let refused = |why: String| {
        let accepted = format!("{} ({why})", model::LOGO_ACCEPTED);
        keys.refuse_given("logo", accepted)
    };
    let bytes = read_file(Path::new(&path), INPUT_BYTES_MAX);
    let bytes = bytes.map_err(|error| refused(error.to_string()))?;
    LogoKind::from_bytes(&bytes).map_err(refused)?;
    let base64 = BASE64_STANDARD.encode(&bytes);
    Ok(Some(Logo { path, base64 }))
}

/// Reads the report settings. Refuses a latency of requests that no workload sends, and a subject
/// or a baseline that is not a system.
pub(crate) fn read(
    keys: &TableReader<'_>,
    workloads: &[Arc<Workload>],
    systems: &[SystemPlan],
) -> Result<ReportSettings, Error> {
    let settings = settings(keys)?;
    if let Some((kind, _)) = settings.metric.and_then(model::Metric::latency)
        && !workloads.iter().any(|workload| sends(workload, kind))
    {
        let is_sent = |sent: &&Kind| workloads.iter().any(|workload| sends(workload, **sent));
        let sent: Vec<_> = Kind::ALL.iter().filter(is_sent).map(|k| k.name()).collect();
        let sent = sent.join(", ");
        let accepted = format!("of requests that a workload of the plan sends: {sent}");
        return Err(keys.refuse_given("metric", accepted));
    }
    let compared = systems.iter().filter(|system| system.ceiling_for.is_none());
    let compared: Vec<&str> = compared.map(|system| system.name.as_str()).collect();
    let named = [
        ("subject", &settings.subject),
        ("baseline", &settings.baseline),
    ];
    let strangers = settings.chart_systems.iter().flatten();
    let strangers = strangers.chain(settings.colors.keys());
    if let Some(name) = strangers
        .clone()
        .find(|name| !compared.contains(&name.as_str()))
    {
        let key = if settings.colors.contains_key(name) {
            "colors"
        } else {
            "chart_systems"
        };
        let accepted = format!("about systems of the plan: {}", compared.join(", "));
        return Err(keys.refuse_given(key, accepted));
    }
    for (key, name) in named {
        if name
            .as_deref()
            .is_some_and(|name| !compared.contains(&name))
        {
            let accepted = format!("the name of a system: {}", compared.join(", "));
            return Err(keys.refuse_given(key, accepted));
        }
    }
    let is_told = |skipped: &String| {
        let told = skipped.split_once(": ");
        told.is_some_and(|(name, why)| {
            let is_run = workloads.iter().any(|workload| workload.name == name);
            !name.is_empty() && !is_run && !why.trim().is_empty()
        })
    };
    if !settings.skipped.iter().all(is_told) {
        let accepted = "workloads that the plan does not run, each as `NAME: REASON`";
        return Err(keys.refuse_given("skipped", accepted.to_owned()));
    }
    Ok(settings)
}

impl Accepted for model::Metric {
    fn read(value: &Value, accept: Accept) -> Option<Self> {
        let text = value
            .as_str()
            .filter(|_| matches!(accept, Accept::Metric))?;
        Self::from_name(text).filter(|metric| metric.heads_reports())
    }
}
