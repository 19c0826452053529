//! What the forms of a large report cost: four systems, five workloads, ten client counts, each point of 20
//! minutes with its seconds. Each form is written by a process of its own, whose time, memory and files are
//! told; the page is then opened in Chromium, beside one as large that draws nothing.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and ends where it cannot be set up"
)]

#[allow(dead_code, reason = "tests have other shapes of studies")]
#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use std::{
    env, fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use synthetic::Shape;
use tailmark_report::{Data, SECTIONS};

const ALL: &str = "csv,html,md,pdf,png,svg,terminal";
/// Says to this program, begun again, which formats to write; `sections`: none, and how long each takes.
const FORMATS: &str = "BENCH_FORMATS";

/// The report that the aims are about.
fn large() -> Data {
    let mut data = synthetic::study(Shape {
        threads: &[4, 8, 16, 32, 48, 64, 96, 128, 192, 256],
        repeats: 1,
        seconds: 12,
    });
    for system in &mut data.systems {
        system.ceiling_for = None;
    }
    for point in &mut data.points {
        synthetic::lengthen(&mut point.phase, 100);
    }
    assert_eq!((data.systems.len(), data.points.len()), (4, 200));
    data
}

/// The most memory that this process had, in MB.
fn peak_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    let kb: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kb / 1024.0
}

/// The processor time of this process so far, in seconds.
fn processor_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let fields: Vec<&str> = fields.split(' ').collect();
    // User and kernel, in hundredths of a second (USER_HZ).
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

fn write(formats: &str) {
    let data = large();
    let before = peak_mb();
    let out = PathBuf::from(env::var_os("BENCH_OUT").unwrap());
    let (begin, processor) = (Instant::now(), processor_s());
    let formats: Vec<&str> = formats.split(',').collect();
    tailmark_report::write_data(&data, &formats, &out).unwrap();
    let took = begin.elapsed().as_secs_f64();
    println!(
        "{:40} {took:5.2} s, {:5.2} s of processors, {:5.0} MB ({before:.0} MB before)",
        formats.join(","),
        processor_s() - processor,
        peak_mb(),
    );
}

/// What the sections take that are slower than the others: all formats but tables alone begin with them.
fn sections() {
    let data = large();
    for section in SECTIONS {
        let before = processor_s();
        let blocks = (section.render)(&data).len();
        let took = processor_s() - before;
        if took > 0.1 {
            println!(
                "    section {:20} {took:5.2} s of processors, {blocks} blocks",
                section.name
            );
        }
    }
}

fn megabytes(path: &Path) -> f64 {
    fs::metadata(path).unwrap().len() as f64 / 1e6
}

/// Milliseconds from the beginning of the page to its last chart, in Chromium, as the page tells `listener`.
fn opened(page: &Path, profile: &Path, listener: &TcpListener) -> Option<f64> {
    let mut browser = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--window-size=1400,1000",
            "--remote-debugging-port=0",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let begin = Instant::now();
    let stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break Some(stream),
            Err(_) if begin.elapsed() > Duration::from_secs(60) => break None,
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let line = stream.and_then(|stream| {
        stream.set_nonblocking(false).ok()?;
        BufReader::new(stream).lines().next()?.ok()
    });
    browser.kill().ok()?;
    browser.wait().ok()?;
    line?
        .split(' ')
        .nth(1)?
        .trim_start_matches('/')
        .parse()
        .ok()
}

/// The page with a note of when its charts are drawn; without charts, as many bytes that do nothing.
fn noted(page: &str, has_charts: bool, port: u16) -> String {
    let page = page.replacen("img-src data: blob:", "img-src *", 1);
    let note =
        format!("new Image().src = 'http://127.0.0.1:{port}/' + performance.now().toFixed(0);");
    let begin = page.rfind("id=\"figures\"").unwrap();
    let begin = page[..begin].rfind("<script").unwrap();
    let end = page.rfind("</body>").unwrap();
    if has_charts {
        format!(
            "{}<script>new MutationObserver(() => {{ if (document.documentElement.dataset.charts) {{ {note} }} }})\
             .observe(document.documentElement, {{ attributes: true, attributeFilter: ['data-charts'] }});\
             </script>{}",
            &page[..begin],
            &page[begin..]
        )
    } else {
        let filler = "x".repeat(end - begin - 40);
        format!(
            "{}<script type=\"text/plain\">{filler}</script><script>{note}</script></body>",
            &page[..begin]
        )
    }
}

fn main() {
    match env::var(FORMATS).as_deref() {
        Ok("sections") => return sections(),
        Ok(formats) => return write(formats),
        Err(_) => {}
    }
    let directory = tempfile::tempdir().unwrap();
    for formats in ["sections", "html", "pdf", "svg", "png", "md", "csv", ALL] {
        let status = Command::new(env::current_exe().unwrap())
            .env(FORMATS, formats)
            .env("BENCH_OUT", directory.path())
            .status();
        assert!(status.unwrap().success());
    }
    let report = directory.path().join("report.html");
    println!("report.html {:.1} MB", megabytes(&report));
    println!(
        "report.pdf {:.1} MB",
        megabytes(&directory.path().join("report.pdf"))
    );
    let text = fs::read_to_string(&report).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let pages = [true, false].map(|has_charts| {
        let path = directory.path().join(format!("{has_charts}.html"));
        fs::write(&path, noted(&text, has_charts, port)).unwrap();
        path
    });
    for _ in 0..5 {
        let times = pages
            .each_ref()
            .map(|path| opened(path, &directory.path().join("profile"), &listener));
        if let [Some(drawn), Some(empty)] = times {
            println!("opened in Chromium: {drawn:.0} ms with its charts, {empty:.0} ms without");
        }
    }
}
