//! The switches of the page: what readers choose is what they see.

use super::{browser, dom, four_systems, layout_of, root, small, watched};
use std::path::{Path, PathBuf};
use tailmark_testing::test;

/// The page after a script has chosen.
fn after(script: &str, name: &str) -> String {
    let page = small(name);
    let dom = dom(
        browser(),
        &watched(&page, &format!("<script>{script}</script>")),
    );
    assert!(!root(&dom).contains("data-error"), "{}", root(&dom));
    assert!(!root(&dom).contains("data-refused"), "{}", root(&dom));
    dom
}

/// A script that chooses in the form of the page.
fn choose(name: &str, value: &str) -> String {
    format!(
        "(() => {{ const s = document.querySelector('form.view').elements['{name}']; s.value = '{value}'; \
         s.dispatchEvent(new Event('change')); }})();"
    )
}

/// The charts of the page, each from its element to the end of its picture.
fn charts(dom: &str) -> Vec<&str> {
    let charts = dom.split("data-chart=\"").skip(1);
    charts
        .map(|chart| &chart[..chart.find("</svg>").unwrap()])
        .collect()
}

fn with<'d>(charts: &[&'d str], text: &str) -> Vec<&'d str> {
    let with = charts.iter().filter(|chart| chart.contains(text));
    with.copied().collect()
}

#[test]
fn latency_is_on_a_linear_axis_where_that_is_chosen() {
    let dom = after(&choose("scale", "linear"), "linear");
    let charts = charts(&dom);
    assert_eq!(with(&charts, "latency (linear scale)").len(), 10);
    assert!(with(&charts, "latency (log scale)").is_empty());
}

#[test]
fn charts_end_at_the_thread_count_that_is_chosen() {
    let all = after("", "all-threads");
    let some = after(&choose("threads", "4"), "four-threads");
    let labels = |dom: &str| {
        let by_threads = charts(dom);
        let by_threads = with(&by_threads, ">threads</text>").len();
        let sixteen = charts(dom)
            .iter()
            .map(|c| c.matches(">16</text>").count())
            .sum::<usize>();
        (by_threads, sixteen)
    };
    assert_eq!(
        labels(&all).0,
        11,
        "a heat map, bars and lines of five workloads"
    );
    assert!(labels(&all).1 >= 20, "{}", labels(&all).1);
    assert_eq!(labels(&some), (11, 0));
}

#[test]
fn curves_are_drawn_against_threads_where_that_is_chosen() {
    let dom = after(&choose("along", "threads"), "along");
    let charts = charts(&dom);
    assert_eq!(with(&charts, ">threads</text>").len(), 16);
}

#[test]
fn a_system_that_is_unchecked_is_in_no_chart() {
    let script =
        "(() => { const box = document.querySelector('input[name=system]'); box.click(); })();";
    let (all, some) = (after("", "all-systems"), after(script, "one-system"));
    // Timelines, the last chart, show one system, in that colour too. The heat map has no systems.
    let with_first = |dom: &str| with(&charts(dom)[..28], "#004cba").len();
    assert_eq!((with_first(&all), with_first(&some)), (27, 0));
}

#[test]
fn every_name_stands_in_the_legend_of_every_chart() {
    let page = four_systems("legends");
    let dom = dom(browser(), &watched(&page, ""));
    assert!(!root(&dom).contains("data-error"), "{}", root(&dom));
    // The heat map, the second, names pairs.
    let charts = charts(&dom);
    for chart in charts[..17]
        .iter()
        .enumerate()
        .filter_map(|(i, chart)| (i != 1).then_some(chart))
    {
        for drive in [
            "Drive A 3.84TB",
            "Drive B 3.84TB",
            "Drive A ceiling",
            "Drive B ceiling",
        ] {
            let name = format!(">Manufacturer PM1743-{drive} (firmware 2.1.0, xfs)</text>");
            assert!(chart.contains(&name), "{name}: {chart}");
        }
    }
}

#[test]
fn a_dark_page_has_dark_charts() {
    let dom = after(&choose("theme", "dark"), "dark");
    assert!(root(&dom).contains("data-theme=\"dark\""));
    let charts = charts(&dom);
    assert!(with(&charts, "#004cba").is_empty());
    assert!(with(&charts, "#5a9bff").len() >= 16);
}

#[test]
fn every_chart_is_saved_as_svg_and_as_png() {
    for kind in ["svg", "png"] {
        let click = format!("document.querySelector('button[data-save={kind}]').click();");
        let dom = after(&click, &format!("save-{kind}"));
        let (_, saved) = root(&dom).split_once("data-saved=\"").unwrap();
        let (name, bytes) = saved.split_once('"').unwrap().0.split_once(' ').unwrap();
        assert_eq!(name, format!("peaks-chart-0.{kind}"));
        assert!(bytes.parse::<u32>().unwrap() > 5_000, "{bytes}");
        assert_eq!(dom.matches(&format!("data-save=\"{kind}\"")).count(), 29);
    }
}

#[test]
fn the_numbers_of_every_chart_can_be_read() {
    let open = "document.querySelectorAll('details.numbers').forEach((d) => { d.open = true; });";
    let dom = after(open, "numbers");
    let tables: Vec<&str> = dom.split("<details class=\"numbers\"").skip(1).collect();
    assert_eq!(tables.len(), 29);
    for table in &tables {
        let table = &table[..table.find("</details>").unwrap()];
        let numbers = table.matches("<td class=\"n\">").count();
        assert!(
            numbers >= 8 && !table.contains("undefined") && !table.contains("NaN"),
            "{table}"
        );
    }
    assert!(tables[0].contains("<th scope=\"row\">YCSB A</th><td class=\"n\">69,500</td>"));
    assert!(
        tables[2].contains("<th scope=\"row\">64</th><td class=\"n\">69,500 ops/s, 2.56 ms</td>")
    );
    let heat = tables[1];
    assert!(
        heat.contains("<th scope=\"row\">YCSB A</th>") && heat.contains("X</td>"),
        "{heat}"
    );
}

/// In a frame: how many cards there are in each row.
const CARDS: &str = "<script>addEventListener('load', () => { const rows = {}; \
    document.querySelectorAll('.cards .card').forEach((c) => { const y = c.getBoundingClientRect().top; \
    rows[y] = (rows[y] || 0) + 1; }); parent.postMessage({ rows: Object.values(rows).join('+') }, '*'); \
    });</script>";

fn cards(page: &Path, width: u32) -> Vec<u32> {
    let noted = layout_of(browser(), page, CARDS, width);
    let rows = noted.split_once("rows,").unwrap().1;
    rows.split('+').map(|row| row.parse().unwrap()).collect()
}

#[test]
fn no_card_is_alone_in_the_last_row() {
    let page: PathBuf = small("cards");
    for width in [390, 700, 900, 1_100, 1_265, 1_500, 1_900] {
        let rows = cards(&page, width);
        assert_eq!(rows.iter().sum::<u32>(), 5);
        let widest = rows.iter().max().unwrap();
        assert!(*widest == 1 || rows.last() > Some(&1), "{width}: {rows:?}");
    }
}
