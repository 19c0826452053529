//! Tables of the page: each can be saved, and none is wider than a window.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod synthetic;

use std::collections::BTreeSet;
use synthetic::SMALL;
use tailmark_model::Kind;
use tailmark_report::{Block, Data, SECTIONS, Table, html};

/// The names and addresses of what can be saved.
fn links(body: &str) -> Vec<(&str, &str)> {
    let links = body.split("<a class=\"csv\" download=\"").skip(1);
    let link = |link: &'_ str| -> Option<(usize, usize, usize)> {
        let name = link.find('"')?;
        let href = link.find("href=\"")? + 6;
        Some((name, href, href + link[href..].find('"')?))
    };
    links
        .map(|text| {
            let (name, begin, end) = link(text).unwrap();
            (&text[..name], &text[begin..end])
        })
        .collect()
}

fn workloads(data: &Data) -> Vec<Block> {
    let section = SECTIONS.iter().find(|s| s.name == "workloads").unwrap();
    (section.render)(data)
}

#[test]
fn a_quantile_that_no_system_has_is_no_column() {
    let data = synthetic::study(SMALL);
    let groups = |given: &Data| -> BTreeSet<String> {
        let blocks = workloads(given).into_iter();
        let tables = blocks.filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        let columns = tables.flat_map(|table: Table| table.columns);
        columns.map(|column| column.group).collect()
    };
    let has = |given: &Data| {
        groups(given)
            .iter()
            .any(|group| group.starts_with("p99.99 "))
    };
    assert!(has(&data), "{:?}", groups(&data));
    let mut few = data.clone();
    for point in &mut few.points {
        for kind in point.phase.kinds.values_mut() {
            let half = kind.service.value_at_quantile(0.5);
            kind.service.clear();
            kind.service.record_n(half, 2_000).unwrap();
            kind.count = 2_000;
            kind.response = None;
        }
    }
    assert!(!has(&few), "{:?}", groups(&few));
}

#[test]
fn a_system_that_was_written_twice_as_much_has_a_mix_of_its_own() {
    let mut data = synthetic::study(SMALL);
    let mix = |given: &Data| -> String {
        let blocks = workloads(given).into_iter();
        let abouts = blocks.filter_map(|block| match block {
            Block::Heading { title, about, .. } if title.starts_with("YCSB B") => Some(about),
            _ => None,
        });
        abouts.take(1).collect()
    };
    let pooled = mix(&data);
    assert!(pooled.starts_with("95 % read, 5 % update"), "{pooled}");
    let is_other = |point: &&mut tailmark_model::Point| point.key.system == "Drive B 3.84TB";
    for point in data.points.iter_mut().filter(is_other) {
        let updates = point.phase.kinds.get_mut(&Kind::Update);
        if let Some(updates) = updates {
            updates.count *= 2;
        }
    }
    let own = mix(&data);
    assert!(
        own.contains("Drive A 3.84TB: 95 % read, 5 % update; "),
        "{own}"
    );
    assert!(
        own.contains("Drive B 3.84TB: 90 % read, 10 % update"),
        "{own}"
    );
}

#[test]
fn every_table_can_be_saved_under_a_name_of_its_own() {
    let body = html::body(&synthetic::study(SMALL));
    let links = links(&body);
    assert_eq!(links.len(), body.matches("<div class=\"table\">").count());
    let names: BTreeSet<&str> = links.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), links.len(), "{names:?}");
    for name in [
        "peaks.csv",
        "workload-ycsb-b-zipfian.csv",
        "load.csv",
        "finding-errors.csv",
    ] {
        assert!(names.contains(name), "{name}: {names:?}");
    }
    for (_, address) in &links {
        let (kind, text) = address.split_once(',').unwrap();
        assert_eq!(kind, "data:text/csv;charset=utf-8");
        assert!(text.contains("%0A"), "rows: {text}");
    }
}

#[test]
fn what_is_saved_has_raw_numbers_and_units() {
    let body = html::body(&synthetic::study(SMALL));
    let links = links(&body);
    let (_, load) = links.iter().find(|(name, _)| *name == "load.csv").unwrap();
    let head = "System,Records,Threads,Duration%20%5Bs%5D,Records%2Fs";
    assert!(load.contains(&head.replace(',', "%2C")), "{load}");
    assert!(
        load.contains("Drive%20A%203.84TB%2C545744%2C16%2C12%2C"),
        "{load}"
    );
}

#[test]
fn a_table_of_many_systems_is_cut_into_parts_and_saved_whole() {
    let mut data = synthetic::study(SMALL);
    for system in &mut data.systems {
        system.ceiling_for = None;
    }
    let body = html::body(&data);
    let (_, peaks) = body.split_once("<section id=\"peaks\"").unwrap();
    // Behind the numbers of the chart.
    let (_, peaks) = peaks.split_once("</details>").unwrap();
    let (_, table) = peaks.split_once("<div class=\"table\">").unwrap();
    let (table, _) = table.split_once("<a class=\"csv\"").unwrap();
    let parts = table.matches("<div class=\"scroll\"").count();
    assert!(parts > 1, "{parts}");
    assert_eq!(table.matches(">Workload</th>").count(), parts);
}
