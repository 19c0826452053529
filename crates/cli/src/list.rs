//! `tailmark list`: prints the program's tables.

use crate::args::{ListArgs, ListKind};
use clap::ValueEnum;
use tailmark_console::{Console, Exit};
use tailmark_driver::{Driver, Setting, db::DRIVERS};
use tailmark_model::{Better, Metric, MetricRow};
use tailmark_plan::{KEYS, PLANS, PlanKey};

/// A name and its description.
type Line = (String, String);

/// Prints the table of one kind, or of every kind under its heading.
pub fn list(args: &ListArgs, console: &Console) -> anyhow::Result<Exit> {
    let kinds = match &args.kind {
        Some(kind) => std::slice::from_ref(kind),
        None => ListKind::value_variants(),
    };
    for kind in kinds {
        let value = kind.to_possible_value();
        let value = value.expect("every kind can be asked for");
        if args.markdown {
            let about = value.get_help().map(ToString::to_string);
            let heading = format!("\n## {}\n", title(value.get_name()));
            console.say(&heading)?;
            console.say(&format!("{}.\n", about.unwrap_or_default()))?;
            console.say(&table(&rows(*kind)))?;
        } else if args.kind.is_some() {
            console.say(&lines("", &rows(*kind)))?;
        } else {
            console.say(&format!("{}:", value.get_name()))?;
            console.say(&lines("  ", &rows(*kind)))?;
        }
    }
    Ok(Exit::Done)
}

/// `drivers` as a heading.
fn title(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_uppercase() + rest
}

/// Names and descriptions as a Markdown table. An indented row belongs to the previous one.
fn table(rows: &[Line]) -> String {
    let escaped = |text: &str| text.replace('|', "\\|").replace('<', "&lt;");
    let row = |(name, about): &Line| {
        let indent = name.chars().take_while(|c| *c == ' ').count();
        let indent = "&emsp;".repeat(indent / 2);
        format!("| {indent}`{}` | {} |", name.trim(), escaped(about))
    };
    let head = [
        "| name | what it is |".to_owned(),
        "| --- | --- |".to_owned(),
    ];
    let lines: Vec<String> = head.into_iter().chain(rows.iter().map(row)).collect();
    lines.join("\n")
}

fn rows(kind: ListKind) -> Vec<Line> {
    let row = |name: &str, about: &str| (name.to_owned(), about.to_owned());
    match kind {
        ListKind::Drivers => drivers(),
        ListKind::Workloads => tailmark_workload::WORKLOADS
            .iter()
            .map(|w| row(w.name, w.about))
            .collect(),
        ListKind::Distributions => tailmark_workload::DISTRIBUTIONS
            .iter()
            .map(|d| row(d.name, d.about))
            .collect(),
        ListKind::Probes => probes(),
        ListKind::Metrics => metrics(),
        ListKind::Findings => tailmark_model::finding::FINDINGS
            .iter()
            .map(|finding| row(finding.name, finding.about))
            .collect(),
        ListKind::Sections => tailmark_report::SECTIONS
            .iter()
            .map(|s| row(s.name, s.title))
            .collect(),
        ListKind::Formats => {
            let reports = tailmark_report::FORMATS.iter();
            let reports = reports.map(|f| row(f.name, &format!("report: {}", f.about)));
            let exports = tailmark_study::export::FORMATS.iter();
            let exports = exports.map(|f| row(f.name, &format!("export: {}", f.about)));
            let imports = tailmark_study::import::IMPORTS.iter();
            let imports = imports.map(|f| row(f.name, &format!("import: {}", f.about)));
            reports.chain(exports).chain(imports).collect()
        }
        ListKind::Plans => PLANS.iter().map(|p| row(p.name, p.about)).collect(),
        ListKind::Keys => KEYS.iter().map(key).collect(),
        ListKind::Checks => tailmark_runner::check::CHECKS
            .iter()
            .map(|check| row(check.name, check.about))
            .collect(),
        ListKind::Steps => tailmark_prepare::STEPS
            .iter()
            .map(|step| row(step.name, step.about))
            .collect(),
        ListKind::Guards => tailmark_prepare::GUARDS
            .iter()
            .map(|guard| row(guard.name, guard.about))
            .collect(),
    }
}

/// Each metric; the latencies of all kinds in one row.
fn metrics() -> Vec<Line> {
    let mut rows: Vec<Line> = Vec::new();
    let (mut statistics, mut kinds): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut latencies = None;
    for metric in Metric::all() {
        let row = metric.row();
        let Some((kind, statistic)) = metric.latency() else {
            rows.push((row.name.to_owned(), about_metric(row)));
            continue;
        };
        for (names, name) in [(&mut statistics, statistic.name), (&mut kinds, kind.name())] {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        latencies.get_or_insert((rows.len(), about_metric(row)));
    }
    if let Some((place, about)) = latencies {
        let (statistics, kinds) = (statistics.join(", "), kinds.join(", "));
        let about = format!("{about}. STATISTIC is {statistics}; KIND is {kinds}");
        rows.insert(place, ("STATISTIC KIND".to_owned(), about));
    }
    rows
}

/// The description of a metric, its unit, and which of two values is better.
fn about_metric(row: &MetricRow) -> String {
    let better = match row.better {
        Better::Higher => "; higher is better",
        Better::Lower => "; lower is better",
        Better::Neither => "",
    };
    let unit = if row.unit.is_empty() {
        "ratio"
    } else {
        row.unit
    };
    format!("{} ({unit}{better})", row.about)
}

/// Each probe, and whether it has to be asked for.
fn probes() -> Vec<Line> {
    let of_machine = tailmark_machine::probe::PROBES.iter().map(|row| {
        let about = if row.is_default {
            row.about.to_owned()
        } else {
            format!("{} (only with --probe)", row.about)
        };
        (row.name.to_owned(), about)
    });
    let (name, about) = tailmark_runner::capture::DATABASE_PROBE;
    let mut rows: Vec<Line> = of_machine.collect();
    rows.push((name.to_owned(), about.to_owned()));
    rows.sort();
    rows
}

/// Each driver, with its settings below; those that differ if another driver has all of them.
fn drivers() -> Vec<Line> {
    let mut rows = Vec::new();
    for (i, driver) in DRIVERS.iter().enumerate() {
        rows.push((driver.name.to_owned(), driver.about.to_owned()));
        let names = |one: &Driver| -> Vec<&str> {
            one.settings.iter().map(|setting| setting.name).collect()
        };
        let like = DRIVERS[..i]
            .iter()
            .find(|other| names(other) == names(driver));
        let is_known = |setting: &&Setting| {
            let known =
                like.and_then(|like| like.settings.iter().find(|own| own.name == setting.name));
            known.is_some_and(|known| known.default == setting.default)
        };
        for setting in driver.settings.iter().filter(|setting| !is_known(setting)) {
            let default = match setting.default {
                "" => String::new(),
                default => format!("default {default}"),
            };
            let mut parts = vec![setting.kind.brief(), default];
            parts.retain(|part| !part.is_empty());
            let about = match &parts[..] {
                [] => setting.about.to_owned(),
                _ => format!("{} ({})", setting.about, parts.join("; ")),
            };
            rows.push((format!("  {}", setting.name), about));
        }
    }
    rows
}

fn key(key: &PlanKey) -> Line {
    let default = match key.fixed_default() {
        "" => String::new(),
        default => format!(" (default {default})"),
    };
    (key.path(), format!("{}{default}", key.about))
}

/// Names and abouts in two columns.
fn lines(indent: &str, rows: &[Line]) -> String {
    let width = rows
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    let line = |(name, about): &Line| format!("{indent}{name:width$}  {about}");
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_those_of_reports_exports_and_imports() {
        let rows = rows(ListKind::Formats);
        for (name, what) in [
            ("html", "report: "),
            ("json", "export: "),
            ("ycsb", "import: "),
        ] {
            let is_listed = |(n, about): &Line| n == name && about.starts_with(what);
            assert!(rows.iter().any(is_listed), "{what}{name}");
        }
    }

    #[test]
    fn every_kind_lists_something_of_one_line_each() {
        for kind in ListKind::value_variants() {
            let rows = rows(*kind);
            assert!(!rows.is_empty(), "{kind:?}");
            for (name, about) in rows {
                assert!(!name.is_empty() && !about.contains('\n'), "{kind:?} {name}");
            }
        }
    }
}
