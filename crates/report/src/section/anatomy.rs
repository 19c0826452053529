//! Why the slowest requests were slow: where their time went, by band, over time, and one by one.

use super::Section;
use crate::{
    Block, Cell, Chart, Column, Data, Figure, Table, TableRow, Text, block::anchor,
    chart::anatomy as chart, data::AnatomyPoint, grid_name::workload_title, style,
    sweep::SweepTable,
};
use serde_json::Value;
use tailmark_model::{
    Anatomy, AnatomyKind, Kind,
    anatomy::{BAND_REQUESTS_MIN, Band, DEVICE_GROUP, Request, UNEXPLAINED_GROUP},
    number,
};

pub const SECTION: Section = Section {
    name: "anatomy",
    title: "Why the slowest requests were slow",
    render,
};

/// The slowest requests that are listed of each.
const LISTED: usize = 10;
/// The smallest share that a sentence names.
const NAMED: f64 = 0.05;
/// The most parts that it names.
const NAMED_MAX: usize = 3;

/// The same requests of all systems: of a workload, its distribution, its rate and their kind.
struct Group<'a> {
    title: String,
    kind: Kind,
    points: Vec<(&'a AnatomyPoint, &'a AnatomyKind)>,
}

fn render(data: &Data) -> Vec<Block> {
    if data.anatomies.is_empty() {
        return Vec::new();
    }
    let groups = groups(data);
    let said = groups.iter().flat_map(verdict);
    let mut blocks = vec![Block::Statements(said.collect()), Block::Text(about(data))];
    let sweep = SweepTable::new(data);
    for group in &groups {
        blocks.push(Block::Table(bands(group)));
        blocks.push(Block::Figure(figure(group, &sweep)));
        blocks.extend(
            group
                .points
                .iter()
                .map(|(point, kind)| Block::Table(slowest(group, point, kind))),
        );
    }
    blocks
}

fn groups(data: &Data) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for point in &data.anatomies {
        let key = &point.point.key;
        let title = workload_title(&key.workload);
        let title = match key.target_rate {
            None => format!("{title}, {} keys", key.distribution),
            Some(rate) => format!("{title}, {} keys, {}", key.distribution, number::ops(rate)),
        };
        for (kind, own) in &point.anatomy.kinds {
            let mut known = groups.iter_mut();
            match known.find(|group| group.title == title && group.kind == *kind) {
                Some(group) => group.points.push((point, own)),
                None => groups.push(Group {
                    title: title.clone(),
                    kind: *kind,
                    points: vec![(point, own)],
                }),
            }
        }
    }
    groups
}

/// The kind of request, of several.
fn plural(kind: Kind) -> String {
    match kind {
        Kind::ReadModifyWrite => "read-modify-writes".to_owned(),
        _ => format!("{}s", kind.name()),
    }
}

/// Which requests a band has: `slowest 0.01 % of reads`.
fn named(band: &Band) -> String {
    if !band.is_slowest() {
        return match band.above {
            0.0 => format!("up to p{}", percent(band.up_to)),
            above => format!("p{} to p{}", percent(above), percent(band.up_to)),
        };
    }
    format!("slowest {}", number::limit(1.0 - band.above))
}

/// A quantile without its letter: `99.9`.
fn percent(quantile: f64) -> String {
    let text = format!("{:.2}", quantile * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Where the time of the slowest went, on each system.
fn verdict(group: &Group<'_>) -> Vec<Text> {
    let mut said: Vec<Text> = Vec::new();
    for (point, kind) in &group.points {
        let Some(band) = kind.bands.last() else {
            continue;
        };
        let anatomy = &point.anatomy;
        let system = &point.point.key.system;
        let start = Text::strong(format!("{system}: "));
        let which = if band.above > 0.0 {
            format!("Of the {} of {}", named(band), plural(group.kind))
        } else {
            format!("Of all {}", plural(group.kind))
        };
        let mean = band.total_ns() as f64 / band.requests.max(1) as f64;
        let device = share(anatomy.share(band, DEVICE_GROUP));
        said.push(start.and(format!(
            "{which} in {} ({} on average), {}. Files took {device} in all.",
            group.title,
            number::latency(mean),
            largest(anatomy, band),
        )));
    }
    said
}

/// The largest parts of a band: `71 % of the time was data block reads and 20 % waiting`.
fn largest(anatomy: &Anatomy, band: &Band) -> String {
    let shares = band.shares().into_iter();
    let shares = shares.filter(|(_, own)| *own >= NAMED).take(NAMED_MAX);
    let mut words: Vec<String> = Vec::new();
    for (part, part_share) in shares {
        let title = &anatomy.parts[part].title;
        let of = if words.is_empty() {
            " of the time was"
        } else {
            ""
        };
        words.push(format!("{}{of} {title}", share(part_share)));
    }
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        Some((only, _)) => only.clone(),
        None => "no part had 5 % of the time".to_owned(),
    }
}

/// How the requests were taken apart, and what that cost.
fn about(data: &Data) -> Text {
    let mut text = Text::plain(format!(
        "These points were measured for this section alone and are in no comparison. Parts are leaves: \
         no time is in two of them. A band has at least {BAND_REQUESTS_MIN} requests. "
    ));
    for own in &data.anatomies {
        let (anatomy, key) = (&own.anatomy, &own.point.key);
        let every = match anatomy.every {
            1 => "every request".to_owned(),
            every => format!("one request in {}", number::count(every.into())),
        };
        let kept = anatomy.kept().map_or_else(String::new, |kept| {
            format!(", at {} of the ordinary ops/s", number::share(kept))
        });
        text = text.and(format!(
            "{}, {}: {every} was taken apart{kept}. ",
            key.system,
            workload_title(&key.workload)
        ));
    }
    text
}

/// A share in whole percent; what is there and below one is said to be.
fn share(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 0.995 => format!("{percent:.0} %"),
        percent if percent > 0.0 => "< 1 %".to_owned(),
        _ => "0 %".to_owned(),
    }
}

/// The groups of parts as columns.
const GROUPS: [(&str, &str); 8] = [
    ("Files", DEVICE_GROUP),
    ("Stall", "stall"),
    ("Database", "database"),
    ("Locks, queues", "waiting"),
    ("Processor", "processor"),
    ("Free client", "client"),
    ("Unexplained", UNEXPLAINED_GROUP),
    ("Rest", "rest"),
];

/// The bands of each system, without columns that have less than 1 % everywhere.
fn bands(group: &Group<'_>) -> Table {
    let points = || group.points.iter();
    let rows = || points().flat_map(|(point, kind)| kind.bands.iter().map(move |b| (point, b)));
    let is_shown = |(_, name): &&(&str, &str)| {
        rows().any(|(point, band)| point.anatomy.share(band, name) >= 0.005)
    };
    let shown: Vec<_> = GROUPS.iter().filter(is_shown).collect();
    let mut columns = vec![
        Column::text("System"),
        Column::text("Response time"),
        Column::number("Requests"),
        Column::number("Mean").unit("us"),
    ];
    let of_time = |title: &str| Column::number(title).unit("%").group("Share of their time");
    columns.extend(shown.iter().map(|(title, _)| of_time(title)));
    let row = |(point, band): (&&AnatomyPoint, &Band)| {
        let mean = band.total_ns() as f64 / band.requests.max(1) as f64;
        let mut cells = vec![
            Cell::new(point.point.key.system.clone()),
            Cell::new(named(band)),
            Cell::new(number::count(band.requests)).with_value(band.requests as f64),
            Cell::new(number::latency(mean)).with_value(mean / 1e3),
        ];
        cells.extend(shown.iter().map(|(_, name)| {
            let part = point.anatomy.share(band, name);
            Cell::new(share(part)).with_value(part * 100.0)
        }));
        TableRow {
            cells,
            total: false,
        }
    };
    let has = |name: &str| shown.iter().any(|(_, own)| *own == name);
    let note = if has(UNEXPLAINED_GROUP) {
        "Unexplained: in a write group, while its leader did nothing that is known."
    } else {
        ""
    };
    Table {
        caption: format!(
            "Where the time of {} went, {}",
            plural(group.kind),
            group.title
        ),
        columns,
        rows: rows().map(row).collect(),
        note: note.to_owned(),
    }
}

fn figure(group: &Group<'_>, sweep: &SweepTable<'_>) -> Figure {
    let is_one = group.points.len() == 1;
    let mut bars = Vec::new();
    for (point, kind) in &group.points {
        for band in &kind.bands {
            let label = if is_one {
                named(band)
            } else {
                format!("{}, {}", point.point.key.system, named(band))
            };
            bars.push((label, &point.anatomy, band));
        }
    }
    let of_requests = format!("{} in {}", plural(group.kind), group.title);
    let bars_chart = Chart {
        title: format!("Where the time of {of_requests} went"),
        hint: String::new(),
        about: format!("The parts of {of_requests}, for each band of response times, in percent."),
        height: 110 + 30 * bars.len() as u32,
        wide: true,
        base: chart::bands(&bars),
        variants: vec![Value::Object(serde_json::Map::new())],
        plot: None,
    };
    let marks: Vec<_> = group
        .points
        .iter()
        .map(|(point, kind)| {
            let name = point.point.key.system.as_str();
            let look = sweep.look(name).unwrap_or(style::look(0));
            (look, name, &point.point.phase, kind.slowest.as_slice())
        })
        .collect();
    let scatter = chart::slowest(&marks).map(|base| Chart {
        title: format!("The slowest {of_requests} over time"),
        hint: "shaded: writers held back, compactions".into(),
        about: format!("When the slowest {of_requests} were done, and their response times."),
        height: 300,
        wide: true,
        base,
        variants: vec![Value::Object(serde_json::Map::new())],
        plot: None,
    });
    Figure {
        anchor: anchor(&["anatomy", &group.title, group.kind.name()]),
        controls: Vec::new(),
        charts: std::iter::once(bars_chart)
            .filter(|_| !bars.is_empty())
            .chain(scatter)
            .collect(),
    }
}

fn slowest(group: &Group<'_>, point: &AnatomyPoint, kind: &AnatomyKind) -> Table {
    let row = |request: &Request| {
        let own = request.ns.iter().enumerate();
        let mut own: Vec<_> = own.filter(|(_, ns)| **ns > 0).collect();
        own.sort_by(|a, b| b.1.cmp(a.1));
        let words = own.iter().take(NAMED_MAX).map(|(part, ns)| {
            let title = &point.anatomy.parts[*part].title;
            format!("{} {title}", number::latency(**ns as f64))
        });
        let response = request.response_ns() as f64;
        let sent_s = request.sent as f64 / 1e9;
        let blocks: u64 = request.blocks.iter().map(|count| u64::from(*count)).sum();
        TableRow {
            cells: vec![
                Cell::new(number::latency(response)).with_value(response / 1e3),
                Cell::new(format!("{sent_s:.3} s")).with_value(sent_s),
                Cell::new(request.client.to_string()),
                Cell::new(request.key.to_string()),
                Cell::new(blocks.to_string()).with_value(blocks as f64),
                Cell::new(words.collect::<Vec<_>>().join(", ")),
            ],
            total: false,
        }
    };
    let lost = match kind.lost {
        0 => String::new(),
        lost => format!(
            "{} more were too many at once to keep.",
            number::count(lost)
        ),
    };
    Table {
        caption: format!(
            "The slowest {} in {}, {}",
            plural(group.kind),
            group.title,
            point.point.key.system
        ),
        columns: vec![
            Column::number("Response time").unit("us"),
            Column::number("Sent at").unit("s"),
            Column::text("Client"),
            Column::text("Key"),
            Column::number("Blocks read"),
            Column::text("Largest parts"),
        ],
        rows: kind.slowest.iter().take(LISTED).map(row).collect(),
        note: lost,
    }
}
