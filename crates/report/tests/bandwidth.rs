//! The section of bandwidth: what it shows where not every device is known.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by a panic")]

mod synthetic;

use std::path::Path;
use synthetic::SMALL;
use tailmark_report::{Block, Chart, Data, SECTIONS, Table};

/// A small study without the devices of the first systems.
fn without_devices(count: usize) -> (Chart, Table) {
    let mut data = synthetic::study(SMALL);
    let gone: Vec<&str> = data.systems[..count].iter().map(|s| &*s.name).collect();
    for point in &mut data.points {
        if gone.contains(&point.key.system.as_str()) {
            point.phase.series.retain(|series| series.probe != "disk");
        }
    }
    bandwidth(&data)
}

fn bandwidth(data: &Data) -> (Chart, Table) {
    let section = SECTIONS.iter().find(|s| s.name == "bandwidth").unwrap();
    let blocks = (section.render)(data);
    let [Block::Figure(figure), Block::Table(table)] = &blocks[..] else {
        panic!("{blocks:?}")
    };
    (figure.charts[0].clone(), table.clone())
}

/// How many bars of each system have a height.
fn drawn(chart: &Chart) -> Vec<usize> {
    let series = chart.base["series"].as_array().unwrap().iter();
    let is_drawn = |value: &&serde_json::Value| !value.is_null();
    let drawn = |bars: &serde_json::Value| {
        let heights = bars["data"].as_array().unwrap().iter();
        heights.filter(is_drawn).count()
    };
    series.map(drawn).collect()
}

#[test]
fn a_system_without_a_device_leaves_a_gap() {
    let (chart, table) = without_devices(1);
    assert!(chart.title.starts_with("Device"));
    assert_eq!(drawn(&chart), [0, 5]);
    let titles: Vec<_> = table.columns[2..].iter().map(|c| &*c.title).collect();
    let each = ["read", "written", "database"];
    assert_eq!(titles, [each, each].concat());
    for row in &table.rows {
        let known: Vec<bool> = row.cells[2..].iter().map(|c| c.text != "–").collect();
        assert_eq!(known, [false, false, true, true, true, true]);
    }
    assert!(table.note.contains("– means that no device was known"));
}

#[test]
fn a_brief_has_the_bars_of_devices_that_are_known() {
    let written = |data: &Data, name: &str| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        tailmark_report::write("brief", data, &directory).unwrap();
        std::fs::read_to_string(directory.join("brief.html")).unwrap()
    };
    let mut data = synthetic::study(SMALL);
    let bars = "<strong>Device bandwidth at ";
    assert_eq!(written(&data, "brief-bandwidth").matches(bars).count(), 1);
    // Without the device of one system there is nothing to compare.
    let one = data.systems[0].name.clone();
    for point in data
        .points
        .iter_mut()
        .filter(|point| point.key.system == one)
    {
        point.phase.series.retain(|series| series.probe != "disk");
    }
    assert!(!written(&data, "brief-no-bandwidth").contains("bandwidth at "));
}

#[test]
fn several_devices_are_summed_and_each_is_in_the_detail() {
    let mut data = synthetic::study(SMALL);
    let (_, before) = bandwidth(&data);
    for point in &mut data.points {
        let disks = point.phase.series.iter().filter(|s| s.probe == "disk");
        let mut second: Vec<_> = disks.cloned().collect();
        second
            .iter_mut()
            .for_each(|series| series.subject = "second".into());
        point.phase.series.extend(second);
    }
    let (_, after) = bandwidth(&data);
    for (old, new) in before.rows.iter().zip(&after.rows) {
        let [one, two] = [old, new].map(|row| &row.cells[2]);
        let (one, sum) = (one.value.unwrap().value, two.value.unwrap().value);
        assert!(
            (sum - 2.0 * one).abs() < 1e-6 * sum,
            "{sum} is not twice {one}"
        );
        assert!(two.detail.contains("second "), "{}", two.detail);
    }
}

#[test]
fn without_any_device_what_the_databases_do_is_drawn() {
    let (chart, table) = without_devices(2);
    assert!(chart.title.starts_with("Database"));
    assert_eq!(drawn(&chart), [5, 5]);
    let titles: Vec<_> = table.columns[2..].iter().map(|c| &*c.title).collect();
    assert_eq!(titles, ["database", "database"]);
    assert!(table.note.contains("No device was known"));
}
