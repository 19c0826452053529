//! What a live page costs a run: ops/s of the null driver on all processors with `--live`, with and without a
//! browser that follows it, against runs without; interleaved. `./dev bench live [PAIRS] [SECONDS]`; the
//! results are in docs/PERFORMANCE.md.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program to look at"
)]

mod support;

use nix::sys::resource::{UsageWho, getrusage};
use std::{
    cell::RefCell,
    io::{BufReader, Read},
    process::Stdio,
    thread,
    time::Duration,
};
use support::{compare, median};
use tailmark_testing::{LivePage, Program};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// Points of a run: with each of them the page grows.
const POINTS: &str = "3";

/// Who looks at the page of a run.
#[derive(Clone, Copy, PartialEq)]
enum Page {
    None,
    Unread,
    Followed,
}

/// What one run did.
struct Cost {
    ops_per_s: f64,
    /// For each second of the processors that its process took, to its very end.
    ops_per_processor_s: f64,
}

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let pairs = args.next().and_then(|a| a.parse().ok()).unwrap_or(9);
    let seconds = args.next().and_then(|a| a.parse().ok()).unwrap_or(3);
    let clients = thread::available_parallelism().unwrap().get();
    let efficiency = [Page::Followed, Page::Unread, Page::None].map(|_| RefCell::new(Vec::new()));
    let measured = |page: Page, kept: &RefCell<Vec<f64>>| {
        let cost = run(page, clients, seconds);
        kept.borrow_mut().push(cost.ops_per_processor_s / 1e6);
        cost.ops_per_s / 1e6
    };
    let [efficiency_followed, efficiency_unread, efficiency_none] = &efficiency;
    compare(
        &format!("null, reads, {clients} clients, --live with a browser"),
        "million ops/s",
        pairs,
        vec![
            (
                "followed".into(),
                Box::new(|| measured(Page::Followed, efficiency_followed)),
            ),
            (
                "--live that nobody reads".into(),
                Box::new(|| measured(Page::Unread, efficiency_unread)),
            ),
            (
                "a run without".into(),
                Box::new(|| measured(Page::None, efficiency_none)),
            ),
        ],
    );
    let [followed, unread, none] = efficiency.map(|kept| median(&kept.into_inner()));
    println!(
        "million operations in a second of a processor: {followed:.2} with a browser, {unread:.2} without one, \
         {none:.2} without a page: {:.3} and {:.3}",
        followed / none,
        unread / none
    );
}

/// Processor time of all children that have ended, seconds.
fn children_s() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    [usage.user_time(), usage.system_time()]
        .map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6)
        .iter()
        .sum()
}

fn run(page: Page, clients: usize, seconds: u64) -> Cost {
    let dir = TempDir::new().unwrap();
    let (threads, duration) = (clients.to_string(), format!("{seconds}s"));
    let mut args = vec!["run", "--driver=null", "--system=a=x", "--records=1k"];
    args.extend(["--workload=ycsb-c", "--warmup=1s", "--output=out"]);
    args.extend(["--repeats", POINTS, "--threads", &threads]);
    args.extend(["--duration", &duration]);
    if page != Page::None {
        args.push("--live");
    }
    let before = children_s();
    let mut child = TAILMARK
        .command(dir.path(), &args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let browser = (page == Page::Followed).then(|| {
        let opened = LivePage::said(&mut said);
        thread::spawn(move || follow(&opened))
    });
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success(), "{rest}");
    let processor_s = children_s() - before;
    if let Some(browser) = browser {
        let (requested, pages) = browser.join().unwrap();
        assert!(
            requested as u64 >= seconds && pages >= 2,
            "{requested} {pages}"
        );
    }
    let points = TAILMARK.points(dir.path());
    let sum = |key: &str| -> f64 { points.iter().map(|p| p[key].as_f64().unwrap()).sum() };
    Cost {
        ops_per_s: sum("ops_per_sec") / points.len() as f64,
        ops_per_processor_s: sum("operations") / processor_s,
    }
}

/// Asks as the script of the page does: how far it is once a second, and for the page whenever that grew. How
/// often it did.
fn follow(page: &LivePage) -> (usize, usize) {
    let (mut requested, mut pages) = (0, 0);
    let mut version = None;
    while let Some(answer) = page.get("/live.json") {
        requested += 1;
        let (_, state) = answer.split_once("\r\n\r\n").unwrap();
        let now: serde_json::Value = serde_json::from_str(state).unwrap();
        if version.as_ref() != Some(&now["version"]) {
            version = Some(now["version"].clone());
            pages += usize::from(page.get("/").is_some());
        }
        thread::sleep(Duration::from_secs(1));
    }
    (requested, pages)
}
