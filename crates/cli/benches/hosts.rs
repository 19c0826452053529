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
    fs,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};
use support::compare;
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
  case $(readlink "$process/exe") in
    */tailmark.*/agent)
      awk -v hz="$(getconf CLK_TCK)" -v up="$(cut -d ' ' -f 1 /proc/uptime)" \
        '{ sub(/.*\) /, ""); printf "%f %f ", ($12 + $13) / hz, up - $20 / hz }' "$process/stat"
      sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "$process/status" ;;
  esac
done
"#;

/// Where a sweep runs.
#[derive(Clone, Copy, PartialEq)]
enum Clients {
    /// On another machine than the server, with a `ssh`.
    Elsewhere,
    /// Beside the server.
    BesideIt,
}

/// What was seen of an agent: seconds of a processor, seconds that it ran, and MB at the most.
type Seen = (f64, f64, f64);

/// The time of an agent in which it only samples, seconds: a long point goes on meanwhile.
const SAMPLES_ONLY: std::ops::Range<f64> = 10.0..60.0;

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let mut number = |default: u64| args.next().and_then(|a| a.parse().ok()).unwrap_or(default);
    let (pairs, points, seconds) = (number(3), number(8), number(2));
    let hosts = SshHosts::new(1);
    let data = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let act = |action: &str| {
        let address = hosts.network().address(SERVER);
        format!(
            "CASSANDRA_JVM=fast CASSANDRA_DIR={} CASSANDRA_ADDRESS={address} CASSANDRA_PORT=9042 {CASSANDRA} {action}",
            data.path().display()
        )
    };
    println!("{}", hosts.on(SERVER, &act("start")).trim());
    // The first one loads what all others read.
    let out = TempDir::new().unwrap();
    let per_point = |clients| sweep(&hosts, &out, clients, (points, seconds)).0 / points as f64;
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
    let (_, seen) = sweep(&hosts, &out, Clients::Elsewhere, (1, 70));
    let inside: Vec<&Seen> = seen
        .iter()
        .filter(|(_, runs_s, _)| SAMPLES_ONLY.contains(runs_s))
        .collect();
    let (first, last) = (inside[0], inside[inside.len() - 1]);
    println!(
        "the agent, all default probes each second: {:.2} % of a core over {:.0} s, {:.1} MB at the most",
        (last.0 - first.0) / (last.1 - first.1) * 100.0,
        last.1 - first.1,
        last.2
    );
    let _ = hosts.on(SERVER, &act("stop"));
}

/// Seconds that a sweep takes, from its first command to its report, and what was seen of the agent.
fn sweep(
    hosts: &SshHosts,
    out: &TempDir,
    clients: Clients,
    (points, seconds): (u64, u64),
) -> (f64, Vec<Seen>) {
    let plan = format!(
        "[database]\ndriver = 'cassandra'\n[dataset]\nrecords = 1000\nfields = 2\nfield_length = 100\n\
         [sweep]\nworkloads = 'ycsb-c'\nthreads = 2\nrepeats = {points}\nduration = '{seconds}s'\n\
         warmup = '1s'\nsettle = '0s'\n[machine]\ndrop_caches = true\n[[system]]\nname = 'cluster'\n\
         contact_points = '{}:9042'\n{}\n",
        hosts.network().address(SERVER),
        match clients {
            Clients::Elsewhere => "ssh = 'db2'",
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
    let mut run = command.stdout(Stdio::null()).stderr(said).spawn().unwrap();
    let mut seen = Vec::new();
    let status = loop {
        if let Some(status) = run.try_wait().unwrap() {
            break status;
        }
        seen.extend(look(hosts));
        thread::sleep(Duration::from_millis(100));
    };
    let took = began.elapsed();
    let text = fs::read_to_string(dir.path().join("said")).unwrap();
    assert!(status.success(), "{text}");
    (took.as_secs_f64(), seen)
}

/// What there is to see of the agent at the moment.
fn look(hosts: &SshHosts) -> Option<Seen> {
    let printed = hosts.on(SERVER, AGENT);
    let figures = printed.split_whitespace().map(|word| word.parse().unwrap());
    match figures.collect::<Vec<f64>>()[..] {
        [processor_s, runs_s, kib] => Some((processor_s, runs_s, kib * 1024.0 / 1e6)),
        _ => None,
    }
}
