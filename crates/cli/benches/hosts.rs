//! What the host of a server costs: seconds of a sweep whose server is acted on over a real sshd, against the
//! same sweep on the server's own machine, and what its agent takes there. `./dev bench hosts [PAIRS] [POINTS]
//! [SECONDS]`; the results are in docs/PERFORMANCE.md.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program to look at"
)]

mod support;

use std::{
    cell::RefCell,
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::{compare, median};
use tailmark_testing::{Program, SshHosts};
use tempfile::TempDir;

const TAILMARK: Program = Program(env!("CARGO_BIN_EXE_tailmark"));

/// The script that starts and stops a real Cassandra.
const CASSANDRA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cassandra/server");

/// The host of the server.
const SERVER: u32 = 2;

/// Prints of the agent there: seconds of a processor, seconds that it runs, and KiB of memory at the most.
const AGENT: &str = r#"
for process in /proc/[0-9]*; do
  case $(tr '\0' ' ' <"$process/cmdline" 2>/dev/null) in
    */tailmark.*/agent*)
      awk -v hz="$(getconf CLK_TCK)" -v up="$(cut -d ' ' -f 1 /proc/uptime)" \
        '{ sub(/.*\) /, ""); printf "%f %f ", ($12 + $13) / hz, up - $20 / hz }' "$process/stat"
      sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "$process/status" ;;
  esac
done
"#;

/// Where a sweep runs.
#[derive(Clone, Copy, PartialEq)]
enum Clients {
    /// On another machine than the server, with a `host`.
    Elsewhere,
    /// Beside the server.
    BesideIt,
}

/// What an agent took: seconds of a processor for each second that it ran, MB at the most.
#[derive(Default)]
struct Taken {
    share: Vec<f64>,
    mb: Vec<f64>,
}

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let mut number = |default: u64| args.next().and_then(|a| a.parse().ok()).unwrap_or(default);
    let (pairs, points, seconds) = (number(3), number(8), number(2));
    let hosts = SshHosts::new(1);
    let data = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let act = |action: &str| {
        let address = hosts.network().address(SERVER);
        format!(
            "CASSANDRA_DIR={} CASSANDRA_ADDRESS={address} CASSANDRA_PORT=9042 {CASSANDRA} {action}",
            data.path().display()
        )
    };
    println!("{}", hosts.on(SERVER, &act("start")).trim());
    let taken = RefCell::new(Taken::default());
    // The first one loads what all others read.
    let out = TempDir::new().unwrap();
    let per_point =
        |clients| sweep(&hosts, &out, clients, (points, seconds), &taken) / points as f64;
    per_point(Clients::BesideIt);
    compare(
        &format!("Cassandra, reads, {points} points of {seconds} s, over ssh"),
        "s a point",
        pairs as usize,
        vec![
            (
                "over ssh".into(),
                Box::new(|| per_point(Clients::Elsewhere)),
            ),
            (
                "beside the server".into(),
                Box::new(|| per_point(Clients::BesideIt)),
            ),
        ],
    );
    let Taken { share, mb } = taken.into_inner();
    println!(
        "the agent, all default probes each second: {:.2} % of a core, {:.1} MB at the most",
        median(&share) * 100.0,
        mb.into_iter().fold(0.0, f64::max)
    );
    let _ = hosts.on(SERVER, &act("stop"));
}

/// Seconds that a sweep takes, from its first command to its report.
fn sweep(
    hosts: &SshHosts,
    out: &TempDir,
    clients: Clients,
    (points, seconds): (u64, u64),
    taken: &RefCell<Taken>,
) -> f64 {
    let plan = format!(
        "[database]\ndriver = 'cassandra'\n[dataset]\nrecords = 1000\nfields = 2\nfield_length = 100\n\
         [sweep]\nworkloads = 'ycsb-c'\nthreads = 2\nrepeats = {points}\nduration = '{seconds}s'\n\
         warmup = '1s'\nsettle = '0s'\n[host]\ndrop_caches = true\n[[system]]\nname = 'cluster'\n\
         hosts = '{}:9042'\n{}\n",
        hosts.network().address(SERVER),
        match clients {
            Clients::Elsewhere => "host = 'db2'",
            Clients::BesideIt => "",
        }
    );
    let dir = TempDir::new_in(out.path()).unwrap();
    let plan_path = dir.path().join("plan.toml");
    fs::write(&plan_path, plan).unwrap();
    let study = dir.path().join("study");
    let words = [
        "run",
        plan_path.to_str().unwrap(),
        "-o",
        study.to_str().unwrap(),
    ];
    let mut command = match clients {
        Clients::Elsewhere => hosts.command(TAILMARK.0, &words),
        Clients::BesideIt => hosts.command_on(SERVER, TAILMARK.0, &words),
    };
    let said = fs::File::create(dir.path().join("said")).unwrap();
    let began = Instant::now();
    let run = command.stdout(Stdio::null()).stderr(said);
    let seconds = match clients {
        Clients::Elsewhere => watched(hosts, run, taken, began),
        Clients::BesideIt => {
            let status = run.status().unwrap();
            (status.success(), began.elapsed())
        }
    };
    let said = || fs::read_to_string(dir.path().join("said")).unwrap_or_default();
    assert!(seconds.0, "{}", said());
    seconds.1.as_secs_f64()
}

/// Runs a command to its end; looks at the agent there meanwhile.
fn watched(
    hosts: &SshHosts,
    run: &mut Command,
    taken: &RefCell<Taken>,
    began: Instant,
) -> (bool, Duration) {
    let mut run = run.spawn().unwrap();
    let mut last = None;
    loop {
        if let Some(status) = run.try_wait().unwrap() {
            let took = began.elapsed();
            let (share, mb) = last.expect("the agent was seen");
            let mut taken = taken.borrow_mut();
            taken.share.push(share);
            taken.mb.push(mb);
            return (status.success(), took);
        }
        let printed = hosts.on(SERVER, AGENT);
        let figures: Vec<f64> = printed
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        if let [processor_s, runs_s, kib] = figures[..] {
            last = Some((processor_s / runs_s, kib * 1024.0 / 1e6));
        }
        thread::sleep(Duration::from_millis(50));
    }
}
