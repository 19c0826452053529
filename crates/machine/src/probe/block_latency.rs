//! Latency of single requests in the block layer, from issue to completion, by `bpftrace`. This
//! probe must be requested.
//!
//! The means of `/proc/diskstats` hide the tail. The kernel's tracepoints `block_rq_issue` and
//! `block_rq_complete` do not. A small program in the kernel counts each request in a bucket, four
//! per doubling, so that quantiles are known within a quarter. `bpftrace` is our child process. It
//! is ended by its process number, and by the kernel if we end first.

use super::{Probe, ProbeRow, Reading, Target, child::die_with_us};
use crate::{BlockDevice, Error, block::SYS, chain, is_root, mount};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};
use tailmark_model::SeriesKind::Counter;

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "block-latency",
    about: "latencies of disk requests, in four buckets per doubling, by bpftrace (root)",
    period_s: 1,
    is_default: false,
    open,
};

/// The place of the kernel's tracepoints.
const TRACING: &str = "/sys/kernel/tracing";
/// How long `bpftrace` may take to compile its program.
const START: Duration = Duration::from_secs(30);
/// In that round it counts for sure: it says that its parts are attached before they are.
const ROUNDS_STARTED: u64 = 2;
/// The number of doublings with separate buckets, from 8 us to 8.4 s.
const DOUBLINGS: u32 = 20;
/// The bucket of what took longer.
const LONGER: u32 = 1000;
/// Bits of a device number that are the minor number (`linux/kdev_t.h`).
const MINOR_BITS: u32 = 20;

/// Requests by bucket, of each disk and direction; the disk by its number.
type Counts = BTreeMap<(u64, &'static str), BTreeMap<u32, u64>>;

struct BlockLatency {
    /// Their numbers and names.
    disks: Vec<(u64, String)>,
    counts: Arc<Mutex<Counts>>,
    tracer: Tracer,
    _tracing: Tracing,
}

fn open(target: &Target) -> Result<Option<Box<dyn Probe>>, Error> {
    let disks = disks(target);
    if disks.is_empty() {
        return Ok(None);
    }
    if !is_root() {
        return Err(Error::NeedsRoot {
            what: "how long requests take".to_owned(),
        });
    }
    let tracing = Tracing::mounted()?;
    let counts = Arc::new(Mutex::new(Counts::new()));
    let tracer = Tracer::start(&program(&disks), Arc::clone(&counts))?;
    Ok(Some(Box::new(BlockLatency {
        disks,
        counts,
        tracer,
        _tracing: tracing,
    })))
}

/// The disks behind the places, by number and name. For composite devices it is those devices
/// themselves, because the kernel issues requests only to them.
fn disks(target: &Target) -> Vec<(u64, String)> {
    let disks = target.places.iter().flat_map(|place| chain::disks(place));
    let whole = disks.filter_map(|device| BlockDevice::of_name(Path::new(SYS), &device.disk));
    let number = |disk: &BlockDevice| u64::from(disk.major) << MINOR_BITS | u64::from(disk.minor);
    let mut all: Vec<_> = whole.map(|disk| (number(&disk), disk.name)).collect();
    all.sort();
    all.dedup();
    all
}

/// The program. A request is identified by its disk and its first sector. Flushes, which have no
/// sector, and discards are left out. A bucket is the value if that is below 8 us; beyond, it is
/// its three highest bits with the number of doublings; see [`at_most_us`].
fn program(disks: &[(u64, String)]) -> String {
    let is_ours: Vec<_> = disks
        .iter()
        .map(|(dev, _)| format!("args->dev == {dev}"))
        .collect();
    format!(
        "tracepoint:block:block_rq_issue /{ours}/ {{ @start[args->dev, args->sector] = nsecs; }}
tracepoint:block:block_rq_complete /@start[args->dev, args->sector]/ {{
  $rest = (uint64)(nsecs - @start[args->dev, args->sector] - 1) / 1000;
  delete(@start[args->dev, args->sector]);
  $doublings = (uint64)0;
  unroll({DOUBLINGS}) {{ if ($rest >= 8) {{ $rest = $rest >> 1; $doublings = $doublings + 1; }} }}
  $bucket = $doublings * 8 + $rest;
  if ($rest > 7) {{ $bucket = (uint64){LONGER}; }}
  if (strncmp(args->rwbs, \"R\", 1) == 0) {{ @read[args->dev, $bucket] = count(); }}
  if (strncmp(args->rwbs, \"W\", 1) == 0) {{ @write[args->dev, $bucket] = count(); }}
  if (strncmp(args->rwbs, \"FW\", 2) == 0) {{ @write[args->dev, $bucket] = count(); }}
}}
interval:ms:250 {{ print(@read); print(@write); @rounds = count(); print(@rounds); }}
END {{ clear(@start); clear(@read); clear(@write); clear(@rounds); }}",
        ours = is_ours.join(" || ")
    )
}

/// The longest time that a bucket has, microseconds.
fn at_most_us(bucket: u32) -> u64 {
    match bucket / 8 {
        doublings @ ..=DOUBLINGS => u64::from(bucket % 8 + 1) << doublings,
        _ => u64::MAX,
    }
}

/// The bounds that have a series: the first 8 us, and then four to a doubling.
fn bounds_us() -> impl Iterator<Item = u64> {
    let quarters = |doubling: u32| (5..=8_u64).map(move |quarter| quarter << doubling);
    std::iter::once(8).chain((1..=DOUBLINGS).flat_map(quarters))
}

impl Probe for BlockLatency {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        self.tracer.is_alive()?;
        let counts = locked(&self.counts);
        let mut readings = Vec::new();
        for (number, name) in &self.disks {
            for direction in ["read", "write"] {
                readings.extend(read(name, direction, counts.get(&(*number, direction))));
            }
        }
        Ok(readings)
    }
}

/// The number of requests, and how many of them did not exceed each bound.
fn read(
    disk: &str,
    direction: &str,
    buckets: Option<&BTreeMap<u32, u64>>,
) -> impl Iterator<Item = Reading> {
    let mut rest: Vec<(u64, u64)> = buckets
        .into_iter()
        .flatten()
        .map(|(bucket, count)| (at_most_us(*bucket), *count))
        .collect();
    rest.sort_unstable();
    let reading = |name: String, value: u64| Reading {
        subject: disk.to_owned(),
        name,
        kind: Counter,
        value: value as f64,
    };
    let at_most = |bound: u64| {
        let within = rest.iter().take_while(|(at_most, _)| *at_most <= bound);
        within.map(|(_, count)| count).sum()
    };
    let mut readings = vec![reading(format!("{direction}s"), at_most(u64::MAX))];
    readings.extend(bounds_us().map(|us| reading(format!("{direction}_le_{us}us"), at_most(us))));
    readings.into_iter()
}

/// The counts of one direction in a line of `bpftrace -f json`; `None` for other lines.
fn parse(line: &str) -> Option<(&'static str, Counts)> {
    let line: Value = serde_json::from_str(line).ok()?;
    let maps = line.get("data")?.as_object()?;
    let (direction, map) = [("read", "@read"), ("write", "@write")]
        .into_iter()
        .find_map(|(direction, name)| Some((direction, maps.get(name)?.as_object()?)))?;
    let mut counts = Counts::new();
    for (key, count) in map {
        let (number, bucket) = key.split_once(',')?;
        let of_disk = counts.entry((number.parse().ok()?, direction)).or_default();
        of_disk.insert(bucket.trim().parse().ok()?, count.as_u64()?);
    }
    Some((direction, counts))
}

/// How often the counts have been printed, if a line says so.
fn rounds(line: &str) -> Option<u64> {
    let line: Value = serde_json::from_str(line).ok()?;
    line.get("data")?.get("@rounds")?.as_u64()
}

/// `bpftrace`, ended when this is dropped.
struct Tracer {
    child: Child,
    errors: Arc<Mutex<String>>,
}

impl Tracer {
    /// Starts it, and waits until it counts.
    fn start(program: &str, counts: Arc<Mutex<Counts>>) -> Result<Self, Error> {
        let mut command = Command::new("bpftrace");
        command.args(["-f", "json", "-B", "line", "-e", program]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        die_with_us(&mut command);
        let mut child = command.spawn().map_err(|source| Error::Program {
            program: "bpftrace",
            said: "cannot be started".to_owned(),
            source: Some(source),
        })?;
        let (started, wait) = mpsc::channel();
        let (output, said) = (child.stdout.take(), child.stderr.take());
        let errors = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&errors);
        thread::spawn(move || output.map(|output| listen(output, &counts, &started)));
        thread::spawn(move || said.map(|said| keep(said, &kept)));
        let mut tracer = Self { child, errors };
        match wait.recv_timeout(START) {
            Ok(()) => Ok(tracer),
            Err(_) => Err(tracer.failure(None)),
        }
    }

    /// Checks that it is still running; otherwise returns how it ended.
    fn is_alive(&mut self) -> Result<(), Error> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            ended => Err(self.failure(ended.ok().flatten())),
        }
    }

    /// Its output, or how it ended.
    fn failure(&mut self, ended: Option<ExitStatus>) -> Error {
        let said = locked(&self.errors);
        // What it always says of memory it can lock is no error.
        let is_meant = |line: &&str| !line.contains("MEMLOCK") && !line.contains("ulimit");
        let worst = said
            .lines()
            .rfind(|line| line.contains("ERROR") && is_meant(line));
        let last = || said.lines().rfind(is_meant).filter(|_| ended.is_none());
        let worst = match (worst.or_else(last), ended) {
            (Some(line), _) => line.to_owned(),
            (None, Some(status)) => format!("it ended with {status}"),
            (None, None) => "it gave no reason".to_owned(),
        };
        Error::Program {
            program: "bpftrace",
            said: format!("does not count requests: {worst}"),
            source: None,
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // One that has ended already is waited for alone.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Collects counts until the program ends, and signals when it has started.
fn listen(output: impl Read, counts: &Mutex<Counts>, started: &mpsc::Sender<()>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some((direction, new)) = parse(&line) {
            let mut all = locked(counts);
            all.retain(|(_, measured), _| *measured != direction);
            all.extend(new);
        } else if rounds(&line) == Some(ROUNDS_STARTED) {
            // The other end is gone where it took too long.
            let _ = started.send(());
        }
    }
}

/// Keeps output up to a page.
fn keep(said: impl Read, kept: &Mutex<String>) {
    for line in BufReader::new(said).lines().map_while(Result::ok) {
        let mut kept = locked(kept);
        if kept.len() < 4096 {
            kept.push_str(&line);
            kept.push('\n');
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file system of tracepoints. It is unmounted afterwards if it was not mounted before.
struct Tracing {
    is_ours: bool,
}

impl Tracing {
    fn mounted() -> Result<Self, Error> {
        let is_there = mount::mounts().iter().any(|mount| mount.kind == "tracefs");
        if !is_there {
            run("mount", &["-t", "tracefs", "tracefs", TRACING])?;
        }
        Ok(Self { is_ours: !is_there })
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        if self.is_ours {
            // Another program may use it by now, which then keeps it.
            drop(run("umount", &[TRACING]));
        }
    }
}

fn run(program: &'static str, args: &[&str]) -> Result<(), Error> {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output();
    let failed = |said, source| Error::Program {
        program,
        said,
        source,
    };
    let output = output.map_err(|source| failed("cannot be started".to_owned(), Some(source)))?;
    if output.status.success() {
        Ok(())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(failed(format!("failed: {}", said.trim()), None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_where_the_next_begins() {
        // As the program in the kernel finds them.
        let bucket = |us: u64| {
            let (mut rest, mut doublings) = (us, 0);
            while rest >= 8 {
                (rest, doublings) = (rest >> 1, doublings + 1);
            }
            doublings * 8 + rest as u32
        };
        assert_eq!([0, 7].map(|us| at_most_us(bucket(us))), [1, 8]);
        assert_eq!([8, 9, 10].map(|us| at_most_us(bucket(us))), [10, 10, 12]);
        for us in 8..100_000 {
            let bound = at_most_us(bucket(us));
            assert!(us < bound && bound <= us * 5 / 4 + 1, "{us}: {bound}");
        }
    }

    #[test]
    fn bounds_rise_to_eight_seconds_and_are_ends_of_buckets() {
        let bounds: Vec<u64> = bounds_us().collect();
        assert!(bounds.is_sorted() && bounds.len() == 1 + 4 * DOUBLINGS as usize);
        assert_eq!(
            (bounds[0], bounds[1], *bounds.last().unwrap()),
            (8, 10, 8 << 20)
        );
    }

    #[test]
    fn what_took_no_longer_is_counted_in_every_bound_above() {
        let line = "{\"type\": \"map\", \"data\": {\"@write\": {\"7340032,7\": 3, \"7340032,12\": 2, \
                    \"7340032,1000\": 1, \"8,12\": 9}}}";
        let (direction, counts) = parse(line).unwrap();
        let read = read("loop0", direction, counts.get(&(7 << 20, "write")));
        let read: BTreeMap<String, f64> = read.map(|r| (r.name, r.value)).collect();
        // Bucket 7 ends at 8 us, and 12 (the fourth eighth, doubled) at 10 us.
        let expected = [
            ("writes", 6.0),
            ("write_le_8us", 3.0),
            ("write_le_10us", 5.0),
        ];
        assert!(
            expected.iter().all(|(name, value)| read[*name] == *value),
            "{read:?}"
        );
        assert_eq!(read["write_le_8388608us"], 5.0);
    }

    #[test]
    fn other_lines_count_nothing() {
        let lines = [
            "{\"type\": \"attached_probes\", \"data\": {\"probes\": 4}}",
            "{\"type\": \"map\", \"data\": {\"@read\": {\"x\": 1}}}",
            "no json",
        ];
        assert!(
            lines
                .iter()
                .all(|line| parse(line).is_none() && rounds(line).is_none())
        );
        let round = "{\"type\": \"map\", \"data\": {\"@rounds\": 2}}";
        assert_eq!((parse(round), rounds(round)), (None, Some(2)));
        let empty = "{\"type\": \"map\", \"data\": {\"@read\": {}}}";
        assert_eq!(parse(empty), Some(("read", Counts::new())));
    }

    #[test]
    fn a_place_without_a_disk_has_no_latency() {
        assert!(open(&Target::default()).unwrap().is_none());
    }
}
