//! The report in a real browser: the charts are drawn, nothing fails, nothing is asked for.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod accessible;
mod print;
#[path = "../synthetic/mod.rs"]
mod synthetic;
mod view;

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
};
use synthetic::{SMALL, Shape};
use tailmark_testing::{not_installed, test};

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The first browser that is installed.
fn browser() -> &'static str {
    let installed = BROWSERS.into_iter().find(|name| {
        let version = Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .status();
        version.is_ok_and(|status| status.success())
    });
    installed.unwrap_or_else(|| not_installed(format!("none of {BROWSERS:?} is installed")))
}

/// A headless browser with a profile of its own and no business of its own on the network.
fn command(browser: &str, profile: &Path) -> Command {
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--virtual-time-budget=5000",
        "--window-size=1400,1000",
    ]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    command
}

/// The page as the browser has it after its scripts have run.
fn dom(browser: &str, page: &Path) -> String {
    let profile = tempfile::tempdir().unwrap();
    let output = command(browser, profile.path())
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The attributes of the root element, where the page and the watch note what happened.
fn root(dom: &str) -> &str {
    &dom[..dom.find("<head").unwrap()]
}

/// Notes in the root element what the page asks for, and what it is refused.
const WATCH: &str = "<head><script>console.error = (...all) => { \
                     document.documentElement.dataset.error = all.join(' '); }; addEventListener('securitypolicyviolation', (e) => { \
                     document.documentElement.dataset.refused = e.blockedURI; }); \
                     addEventListener('load', () => { const asked = \
                     performance.getEntriesByType('resource').map((r) => r.name); \
                     document.documentElement.dataset.asked = asked.length + asked.join(' '); \
                     });</script>";

fn report(shape: Shape, name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    tailmark_report::write("html", &synthetic::study(shape), &directory).unwrap()
}

/// The report of a small study, made once, as a file of a test's own.
fn small(name: &str) -> PathBuf {
    static PAGE: LazyLock<PathBuf> = LazyLock::new(|| report(SMALL, "small"));
    copy(&PAGE, name)
}

fn copy(page: &Path, name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).unwrap();
    let copy = directory.join("report.html");
    std::fs::copy(page, &copy).unwrap();
    copy
}

/// A copy of the page that is watched, with `more` at its end.
fn watched(page: &Path, more: &str) -> PathBuf {
    let text = std::fs::read_to_string(page).unwrap();
    let mut text = text.replacen("<head>", WATCH, 1);
    let end = text.rfind("</body>").unwrap();
    text.insert_str(end, more);
    let copy = page.with_file_name("watched.html");
    std::fs::write(&copy, text).unwrap();
    copy
}

fn main() -> std::process::ExitCode {
    tailmark_testing::run()
}

#[test]
fn all_charts_are_drawn_without_an_error() {
    let browser = browser();
    // Peaks, heat map, five workloads with three charts and two distributions, bandwidth, timelines; of
    // several runs two of each workload besides.
    for (repeats, name, count) in [(1, "one-run", 29), (3, "three-runs", 39)] {
        let dom = dom(
            browser,
            &report(
                Shape {
                    repeats,
                    seconds: 5,
                    ..SMALL
                },
                name,
            ),
        );
        assert!(!root(&dom).contains("data-error"), "{}", root(&dom));
        assert!(
            root(&dom).contains(&format!("data-charts=\"{count}\"")),
            "{}",
            root(&dom)
        );

        let charts: Vec<&str> = dom.split("data-chart=\"").skip(1).collect();
        assert_eq!(charts.len(), count);
        for chart in charts {
            assert!(chart.contains("<svg"), "a chart was not drawn");
            let svg = &chart[..chart.find("</svg>").unwrap()];
            assert!(svg.matches("<path").count() > 10, "a chart has no marks");
        }
        let drawn: String = dom.split("<svg").skip(1).collect();
        for text in ["Drive A 3.84TB", "Drive B ceiling", "operations per second"] {
            assert!(drawn.contains(text), "{text}");
        }
    }
}

#[test]
fn a_brief_is_drawn_and_does_not_scroll_sideways() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("brief");
    let document = tailmark_report::write("brief", &synthetic::study(SMALL), &directory);
    let page = document.unwrap().with_file_name("brief.html");
    let drawn = dom(browser(), &page);
    assert!(!root(&drawn).contains("data-error"), "{}", root(&drawn));
    assert!(
        root(&drawn).contains("data-charts=\"7\""),
        "{}",
        root(&drawn)
    );
    for width in [390, 1_265] {
        let noted = layout(browser(), &page, width);
        assert!(noted.contains("sideways,false"), "{width}: {noted}");
    }
}

#[test]
fn a_large_report_is_deflated_and_its_charts_are_drawn() {
    let mut data = synthetic::study(SMALL);
    for point in &mut data.points {
        synthetic::lengthen(&mut point.phase, 15);
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("deflated");
    let page = tailmark_report::write("html", &data, &directory).unwrap();
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("id=\"figures\" data-deflated"));
    let dom = dom(browser(), &page);
    assert!(!root(&dom).contains("data-error"), "{}", root(&dom));
    assert!(root(&dom).contains("data-charts=\"29\""), "{}", root(&dom));
}

#[test]
fn a_choice_changes_the_charts_of_all_workloads() {
    let browser = browser();
    let choose = "<script>(() => { const s = document.querySelector('select[data-key=measure]'); \
                  s.selectedIndex = 5; s.dispatchEvent(new Event('change')); })();</script>";
    let page = watched(&small("choice"), choose);
    let dom = dom(browser, &page);
    assert!(!root(&dom).contains("data-error"), "{}", root(&dom));
    let titles = dom.matches("p99.9 read latency (log scale)</text>").count();
    assert_eq!(titles, 10, "two charts in each of five workloads");
}

#[test]
fn the_page_asks_for_nothing() {
    let browser = browser();
    let page = small("offline");
    let quiet = dom(browser, &watched(&page, ""));
    assert!(
        root(&quiet).contains("data-asked=\"0\""),
        "{}",
        root(&quiet)
    );
    assert!(!root(&quiet).contains("data-refused"), "{}", root(&quiet));

    // The watch does see a page that asks.
    let asking = dom(
        browser,
        &watched(&page, "<img src=\"http://127.0.0.1:9/x.png\">"),
    );
    assert!(root(&asking).contains("data-refused=\"http://127.0.0.1:9/x.png\""));
}

/// In a frame: notes what is wider than the frame, with everything unfolded. Tables may be, where
/// they scroll in a box of their own.
const LAYOUT: &str = "<script>addEventListener('load', () => { \
    document.querySelectorAll('details').forEach((d) => { d.open = true; }); \
    const boxes = Array.from(document.querySelectorAll('.scroll')); \
    const wide = boxes.filter((b) => b.scrollWidth > b.clientWidth); \
    const fixed = wide.filter((b) => getComputedStyle(b).overflowX !== 'auto'); \
    const outside = Array.from(document.querySelectorAll('table')) \
        .filter((t) => !t.closest('.scroll') && !t.closest('.chart')); \
    const name = (b) => b.parentElement.querySelector('.csv').download + ':' + b.scrollWidth; \
    const page = document.scrollingElement.scrollWidth; \
    parent.postMessage({ \
        width: innerWidth, tables: boxes.length, wide: wide.map(name).join(), fixed: fixed.length, \
        outside: outside.length, sideways: page > innerWidth }, '*'); \
    });</script>";

/// What the page has to say of its layout in a window of a width: a headless browser has none as
/// narrow as a phone, but a frame may be.
fn layout(browser: &str, page: &Path, width: u32) -> String {
    layout_of(browser, page, LAYOUT, width)
}

/// What a script has to say of the page in a window of a width.
fn layout_of(browser: &str, page: &Path, script: &str, width: u32) -> String {
    let copy = watched(page, script);
    let frame = page.with_file_name("frame.html");
    let outer = format!(
        "<!doctype html><head><script>addEventListener('message', (e) => {{ \
         document.documentElement.dataset.layout = Object.entries(e.data).join(' '); }});</script>\
         </head><body><iframe src=\"{}\" width=\"{width}\" height=\"900\" frameborder=\"0\">\
         </iframe></body>",
        copy.file_name().unwrap().display()
    );
    std::fs::write(&frame, outer).unwrap();
    let dom = dom(browser, &frame);
    let (_, noted) = root(&dom).split_once("data-layout=\"").unwrap();
    noted.split_once('"').unwrap().0.to_owned()
}

/// The report of four systems, made once.
fn four_systems(name: &str) -> PathBuf {
    static PAGE: LazyLock<PathBuf> = LazyLock::new(write_four_systems);
    copy(&PAGE, name)
}

fn write_four_systems() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("four");
    tailmark_report::write("html", &synthetic::four_systems(2, 4), &directory).unwrap()
}

#[test]
fn no_table_is_cut_off_and_on_a_phone_tables_scroll_and_the_page_does_not() {
    let browser = browser();
    let shape = Shape {
        repeats: 5,
        seconds: 5,
        ..SMALL
    };
    for page in [report(shape, "two-systems"), four_systems("four-systems")] {
        // A window of 1,280 pixels has a bar of 15 to scroll by.
        let desktop = layout(browser, &page, 1_265);
        assert!(desktop.contains("wide, "), "{desktop}");
        let phone = layout(browser, &page, 390);
        for layout in [desktop, phone] {
            assert!(!layout.contains("tables,0"), "{layout}");
            for none in ["fixed,0", "outside,0", "sideways,false"] {
                assert!(layout.contains(none), "{none}: {layout}");
            }
        }
    }
}

#[test]
fn a_table_is_saved_as_csv_and_nothing_refuses_it() {
    let browser = browser();
    let save = "<script>const link = document.querySelector('#peaks a.csv'); link.click(); \
                document.documentElement.dataset.saved = link.download;</script>";
    let page = watched(&small("saved"), save);
    let dom = dom(browser, &page);
    assert!(
        root(&dom).contains("data-saved=\"peaks.csv\""),
        "{}",
        root(&dom)
    );
    assert!(!root(&dom).contains("data-refused"), "{}", root(&dom));
    assert!(!root(&dom).contains("data-error"), "{}", root(&dom));
}

#[test]
fn a_link_to_a_folded_finding_opens_it() {
    let browser = browser();
    let page = small("finding");
    let tag = "<details class=\"finding\" id=\"finding-too-few-samples\"";
    let is_open = |dom: &str| dom.contains(&format!("{tag} open"));
    let folded = dom(browser, &page);
    assert!(folded.contains(tag) && !is_open(&folded));
    let linked = PathBuf::from(format!("{}#finding-too-few-samples", page.display()));
    assert!(is_open(&dom(browser, &linked)));
}
