//! Energy, wear and money at each place where systems are compared: at the peak, at each fixed rate,
//! and at the highest rate that holds the limits.

use super::{
    Section,
    compared_table::{measured, metric_cell},
    machine::mean,
};
use crate::{
    Block, Cell, Chart, Column, Data, Figure, Table, TableRow, Text,
    block::anchor,
    chart::costs,
    data::Search,
    grid_cell::GridCell,
    grid_name::workload_title,
    sweep::{SweepTable, WorkloadGrid},
};
use std::collections::{BTreeMap, BTreeSet};
use tailmark_model::{Bounded, Metric, System, number};
use tailmark_stats::slo::{Trial, Verdict};

pub const SECTION: Section = Section {
    name: "watts",
    title: "Watts, wear and money",
    render,
};

/// What metrics need, and why they are absent without it.
const NEEDS: [(&str, &[&str]); 9] = [
    (
        "no power of processors was sampled throughout (RAPL needs root and /sys/class/powercap)",
        &[
            "processor_watts",
            "processor_joules_per_million_ops",
            "ops_per_processor_watt",
        ],
    ),
    ("no drive reported its power (OCP log)", &["device_watts"]),
    (
        "no drive reported its power, and device_watts is not given",
        &["device_joules_per_million_ops", "ops_per_device_watt"],
    ),
    (
        "no power_command, power_log or meter of the server",
        &[
            "server_watts",
            "server_joules_per_million_ops",
            "ops_per_server_watt",
        ],
    ),
    (
        "no idle_seconds, or no sensor",
        &[
            "processor_idle_watts",
            "device_idle_watts",
            "server_idle_watts",
        ],
    ),
    ("no device was known", &["host_write_bytes_per_op"]),
    (
        "no drive counts what it writes to its media (OCP log), or its counter stood still",
        &["media_write_bytes_per_op", "total_write_amplification"],
    ),
    (
        "without rated_tbw or capacity, a known device or writes",
        &["drive_writes_per_day", "life_years"],
    ),
    (
        "without price or price_per_hour; with kwh_price and no known power, or \
         power of different parts; with rated_tbw and unknown writes; room \
         also takes capacity and a database that reports what it stores",
        &[
            "cost_per_million_ops",
            "cost_of_ownership",
            "cost_per_usable_tb",
        ],
    ),
];

/// Metrics for which drives may state a limit.
const DEVICE_POWER: [&str; 2] = ["device_watts", "device_joules_per_million_ops"];

/// Metrics of the disk alone, for which no report gets the section.
const OF_DISKS: [&str; 3] = [
    "host_write_bytes_per_op",
    "media_write_bytes_per_op",
    "total_write_amplification",
];

fn render(data: &Data) -> Vec<Block> {
    let sweep = SweepTable::new(data);
    let places: Vec<Place<'_>> = sweep
        .all_groups()
        .flat_map(|group| of_group(group, &sweep))
        .chain(data.searches.iter().filter_map(Place::from_search))
        .collect();
    let has = |metric: &Metric| places.iter().any(|place| place.cell(*metric).is_some());
    let known: Vec<Metric> = Metric::costs().filter(has).collect();
    if known
        .iter()
        .all(|metric| OF_DISKS.contains(&metric.row().name))
    {
        return Vec::new();
    }
    let mut by_title: Vec<(&str, Vec<&Place<'_>>)> = Vec::new();
    for place in &places {
        match by_title.iter_mut().find(|(title, _)| *title == place.title) {
            Some((_, own)) => own.push(place),
            None => by_title.push((&place.title, vec![place])),
        }
    }
    let mut blocks = vec![Block::Text(about(data))];
    let mut currencies: Vec<&str> = places.iter().map(Place::currency).collect();
    currencies.retain(|currency| !currency.is_empty());
    currencies.sort_unstable();
    currencies.dedup();
    if currencies.len() > 1 {
        let text = format!(
            "Prices are in {}. Money of systems in different currencies is not compared.",
            number::list(&currencies)
        );
        blocks.push(Block::Text(Text::plain(text)));
    }
    for (title, own) in by_title {
        blocks.push(Block::Heading {
            anchor: anchor(&["watts", title]),
            title: title.to_owned(),
            about: String::new(),
        });
        blocks.push(Block::Table(table(&own, &known, &currencies)));
        let mut groups = sweep.all_groups();
        let group = groups.find(|group| group.title_with_conditions() == title);
        let group = group.filter(|_| currencies.len() < 2);
        let currency = currencies.first().copied().unwrap_or("");
        blocks.extend(group.and_then(|group| against_latency(group, &sweep, currency)));
    }
    blocks.extend(absent(&known, &stated_limits(data)).map(Block::Text));
    blocks
}

/// One place at which a system's figures are stated.
struct Place<'a> {
    /// The workload, and the limits of a search.
    title: String,
    system: &'a str,
    /// `peak, 16 threads`, `10,000 ops/s`.
    at: String,
    ops_per_sec: f64,
    figures: Figures<'a>,
}

/// Where the figures of a place are from.
enum Figures<'a> {
    /// The repeats of a point.
    Cell(&'a GridCell<'a>),
    /// Trials of the highest rate that holds.
    Trials(Vec<&'a Trial>),
}

/// The peak of each system, or each of its rates.
fn of_group<'s, 'a: 's>(group: &'s WorkloadGrid<'a>, sweep: &SweepTable<'a>) -> Vec<Place<'s>> {
    let of_system = |system: &&'a System| {
        let peak = group.peak(&system.name);
        let cells = group.cells_of(&system.name);
        let valid = cells.filter(|cell| cell.fault.is_none());
        let is_stated = move |cell: &&GridCell<'a>| {
            !group.has_peaks() || peak.is_some_and(|peak| peak.threads == cell.step.threads)
        };
        let place = |cell: &'s GridCell<'a>| Place {
            title: group.title_with_conditions(),
            system: &system.name,
            at: if group.has_peaks() {
                format!("peak, {}", cell.step.place())
            } else {
                cell.step.place()
            },
            ops_per_sec: cell.ops().map_or(0.0, |ops| ops.middle),
            figures: Figures::Cell(cell),
        };
        valid.filter(is_stated).map(place).collect::<Vec<_>>()
    };
    sweep.systems.iter().flat_map(of_system).collect()
}

impl<'a> Place<'a> {
    /// The result of a search; `None` if nothing holds.
    fn from_search(search: &'a Search) -> Option<Self> {
        let low = search.answer().low?;
        let slo = &search.slo;
        let held = slo
            .trials
            .iter()
            .filter(|trial| trial.verdict == Verdict::Pass);
        let off = |trial: &&Trial| (trial.rate() - low).abs();
        let rate = held
            .clone()
            .min_by(|a, b| off(a).total_cmp(&off(b)))?
            .rate();
        let trials: Vec<&Trial> = held.filter(|trial| trial.rate() == rate).collect();
        let sum: f64 = trials.iter().map(|trial| trial.ops_per_sec).sum();
        Some(Self {
            title: format!(
                "{} within {}",
                workload_title(&slo.workload),
                search.settings.target()
            ),
            system: &slo.system,
            at: number::ops(rate),
            ops_per_sec: sum / trials.len() as f64,
            figures: Figures::Trials(trials),
        })
    }

    /// The currency of its figures; empty if none of them is money.
    fn currency(&self) -> &'a str {
        match &self.figures {
            Figures::Cell(cell) => &cell.points[0].phase.money.currency,
            Figures::Trials(trials) => &trials[0].money.currency,
        }
    }

    /// The value of a metric; `None` if it is unknown.
    fn cell(&self, metric: Metric) -> Option<Cell> {
        match &self.figures {
            Figures::Cell(cell) if metric.ranks() => Some(measured(metric, cell.value(metric)?)),
            Figures::Cell(cell) => Some(metric_cell(metric, mean(cell, metric)?)),
            Figures::Trials(trials) => {
                let mut others = trials.iter().skip(1);
                if !others.all(|other| other.money.is_like(&trials[0].money, metric)) {
                    return None;
                }
                let values = trials.iter().map(|trial| trial.figures.get(&metric));
                let values: Vec<Bounded> = values
                    .map(Option::<&Bounded>::copied)
                    .collect::<Option<_>>()?;
                Some(metric_cell(metric, Bounded::mean(&values)?))
            }
        }
    }
}

/// The chart of cost against latency, with several client counts or rates.
fn against_latency(
    group: &WorkloadGrid<'_>,
    sweep: &SweepTable<'_>,
    currency: &str,
) -> Option<Block> {
    let cost = Metric::from_name("cost_per_million_ops")?;
    let title = group.title_with_conditions();
    let (base, marks) = costs::lines(group, sweep, cost, currency)?;
    let chart = Chart {
        title: format!("{title}: cost against latency"),
        hint: "lower and further left is better".into(),
        about: format!("Cost per million operations and latency of each point of {title}."),
        height: 320,
        wide: true,
        base,
        variants: vec![marks],
        plot: None,
    };
    Some(Block::Figure(Figure {
        anchor: anchor(&["watts-chart", &group.anchor]),
        controls: Vec::new(),
        charts: vec![chart],
    }))
}

/// A row for each metric, a column for each place.
fn table(places: &[&Place<'_>], known: &[Metric], currencies: &[&str]) -> Table {
    let mut columns = vec![Column::text("Metric")];
    columns.extend(
        places
            .iter()
            .map(|place| Column::number(&place.at).group(place.system)),
    );
    let ops = places
        .iter()
        .map(|place| Cell::new(number::rate(place.ops_per_sec)).with_value(place.ops_per_sec));
    let mut rows = vec![row("ops/s".to_owned(), ops.collect())];
    for &metric in known {
        let cell = |place: &&Place<'_>| {
            let cell = place.cell(metric)?;
            Some(if metric.is_money() && currencies.len() > 1 {
                cell.with_currency(place.currency())
            } else {
                cell
            })
        };
        let cells: Vec<Option<Cell>> = places.iter().map(cell).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells
                .into_iter()
                .map(|shown| shown.unwrap_or_else(Cell::none));
            rows.push(row(title(metric, currencies), cells.collect()));
        }
    }
    Table {
        columns,
        rows,
        note:
            "Means over the measured part. – means that a sensor, a price or the writes are unknown."
                .to_owned(),
        ..Table::default()
    }
}

fn row(title: String, cells: Vec<Cell>) -> TableRow {
    TableRow {
        cells: [Cell::new(title)].into_iter().chain(cells).collect(),
        total: false,
    }
}

/// With the unit, but that of bytes and of several currencies, which stands in each cell.
fn title(metric: Metric, currencies: &[&str]) -> String {
    let row = metric.row();
    match row.unit {
        "" | "bytes" => row.title.to_owned(),
        _ if metric.is_money() => match currencies {
            [currency] => format!("{}, {currency}", row.title),
            _ => row.title.to_owned(),
        },
        unit => format!("{}, {unit}", row.title),
    }
}

/// What the plan states, by system.
fn about(data: &Data) -> Text {
    let text = Text::plain(
        "Energy is that of sensors during the measured part: of processor packages and their \
         memory, of the devices (without a sensor, by device_watts), or of the whole server. Cost \
         is the price, drives that wear out earlier, and the energy of all years at this load, \
         without interest.",
    );
    let stated: BTreeMap<&String, String> = data
        .headers
        .iter()
        .flat_map(|header| &header.settings.costs)
        .map(|(system, cost)| {
            let amount = |value: f64| number::bounded_figure(Bounded::exact(value));
            let money = |value: f64| format!("{} {}", amount(value), cost.currency);
            let parts = [
                cost.price.map(|price| format!("price {}", money(price))),
                cost.price_per_hour
                    .map(|price| format!("{} per hour", money(price))),
                cost.kwh_price.map(|price| {
                    format!("{} per kWh at a PUE of {}", money(price), amount(cost.pue))
                }),
                cost.capacity
                    .map(|bytes| format!("capacity {}", number::bytes(bytes as f64))),
                cost.rated_tbw
                    .map(|tb| format!("rated for {} TB written", amount(tb))),
                cost.device_watts
                    .map(|watts| format!("{} W by data sheet", amount(watts))),
                Some(format!("{} years", amount(cost.years))),
            ];
            (
                system,
                parts.into_iter().flatten().collect::<Vec<_>>().join(", "),
            )
        })
        .collect();
    stated.into_iter().fold(text, |text, (system, parts)| {
        text.and(" ")
            .and_strong(system.as_str())
            .and(format!(": {parts}."))
    })
}

/// What drives state of their power, instead of a measurement; empty if they state nothing.
fn stated_limits(data: &Data) -> String {
    let limits = data
        .points
        .iter()
        .flat_map(|point| point.phase.stated_limits());
    let limits: BTreeSet<String> = limits.collect();
    let limits: Vec<&str> = limits.iter().map(String::as_str).collect();
    match limits[..] {
        [] => String::new(),
        [_] => format!("; {}: that is a limit, not a measurement", limits[0]),
        _ => format!(
            "; {}: those are limits, not measurements",
            number::list(&limits)
        ),
    }
}

/// Which metrics are absent, and why; `None` if all are known. `limits` is what the drives state
/// instead of their power.
fn absent(known: &[Metric], limits: &str) -> Option<Text> {
    let missing = |names: &[&str]| {
        let titles = names.iter().filter_map(|name| Metric::from_name(name));
        let titles = titles.filter(|metric| !known.contains(metric));
        titles.map(|metric| metric.row().title).collect::<Vec<_>>()
    };
    let reasons = NEEDS.iter().filter_map(|(why, names)| {
        let titles = missing(names);
        let limits = if names.iter().any(|name| DEVICE_POWER.contains(name)) {
            limits
        } else {
            ""
        };
        (!titles.is_empty()).then(|| format!("{} ({why}{limits})", number::list(&titles)))
    });
    let reasons: Vec<String> = reasons.collect();
    (!reasons.is_empty()).then(|| {
        let text = format!(" {}.", reasons.join("; "));
        Text::strong("Absent, and why:").and(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_says_what_it_needs() {
        let named: BTreeSet<&str> = NEEDS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let all: BTreeSet<&str> = Metric::costs().map(|metric| metric.row().name).collect();
        assert_eq!(named, all);
    }

    #[test]
    fn what_is_absent_says_why() {
        let known: Vec<Metric> = Metric::costs()
            .filter(|metric| metric.row().name != "life_years")
            .collect();
        let text = absent(&known, "; unused").unwrap().to_plain();
        let expected = "Absent, and why: life at this load (without rated_tbw or \
                        capacity, a known device or writes).";
        assert_eq!(text, expected);
        assert!(absent(&Metric::costs().collect::<Vec<_>>(), "").is_none());
        let without_power = known.into_iter();
        let without_power = without_power.filter(|metric| metric.row().name != "device_watts");
        let limits = "; nvme0n1 is in power state 0: that is a limit, not a measurement";
        let with_limits = absent(&without_power.collect::<Vec<_>>(), limits)
            .unwrap()
            .to_plain();
        let reason = "power of the devices (no drive reported its power (OCP log); nvme0n1 is in \
                        power state 0: that is a limit, not a measurement)";
        assert!(with_limits.contains(reason), "{with_limits}");
    }
}
