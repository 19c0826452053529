//! Preconditioning by a mix of requests, in rounds, until the device is steady. A drive that is
//! fresh, full or idle behaves differently from one after hours of the same work.
//!
//! Requests are like those of the driver `file`: each client has one in flight, bypasses the page
//! cache, and draws places uniformly. Rounds follow each other without a pause, and [`Rounds`] has
//! the rule. On a device it needs a claim. On a file system it uses a file, which is removed
//! afterwards.

use super::nvme::{self, Drive};
use super::{
    Claim, Error, Watch,
    data::{Data, next},
    precondition::{Aligned, LOOK_EVERY, part, past_cache, write_all},
};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io,
    ops::Range,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};
use tailmark_stats::steady::{ROUNDS_MAX, Round, Rounds};

/// The name of the file that fills a file system.
const FILE: &str = "tailmark.precondition";
/// Its size is a multiple of this.
const GRAIN: u64 = 1 << 20;

/// A mix of requests that a device is brought to its steady state by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mix {
    /// Reads of a hundred requests; the others are writes.
    pub read_percent: u32,
    /// Bytes of a request; a multiple of 4 KiB.
    pub block_bytes: u64,
    /// Requests in flight.
    pub depth: u32,
    /// The length of a round.
    pub round: Duration,
    /// The target of the requests.
    pub over: Over,
}

/// The target of a mix's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Over {
    /// The device.
    Device,
    /// A file in the file system on it, of this many hundredths of the free room.
    FileSystem(u32),
}

/// Its description in a dry run.
#[must_use]
pub fn plan_steady(mix: &Mix, place: &Path) -> Vec<String> {
    let Mix {
        read_percent,
        block_bytes,
        depth,
        round,
        over,
    } = mix;
    let rounds = |target: &Path| {
        format!(
            "at most {ROUNDS_MAX} rounds of {} s until steady: {depth} requests in flight of \
             {block_bytes} bytes at random offsets in {}, {read_percent} % reads, O_DIRECT",
            round.as_secs_f64(),
            target.display()
        )
    };
    match over {
        Over::Device => vec![rounds(place)],
        Over::FileSystem(percent) => {
            let file = file_in(place);
            let name = file.display();
            vec![
                format!("random data to {name}, in order, {percent} % of the free space"),
                rounds(&file),
                format!("rm {name}"),
            ]
        }
    }
}

/// Brings the held device to its steady state. Returns the results of each round.
///
/// # Errors
/// If it is no longer the same device, a request fails, or it is stopped.
pub fn steady_device(claim: &Claim, mix: &Mix, watch: &dyn Watch) -> Result<Rounds, Error> {
    claim.confirm()?;
    let failed = |source: io::Error| claim.failed("write", source);
    let (file, part) = (claim.file(), part(claim.identity().bytes));
    let spare = spare_of(&mut &*file, claim.identity().bytes);
    let media = MediaBytes::new(&claim.identity().name);
    let rounds = past_cache(file, || run(file, &part, mix, (spare, media), watch));
    let rounds = rounds.map_err(failed)?;
    file.sync_all().map_err(failed)?;
    rounds.ok_or_else(|| stopped(&claim.identity().name))
}

/// The same through a file in the file system mounted on a directory. The file is removed in any
/// case, but the drive may keep its blocks until they are discarded.
///
/// # Errors
/// If there is no space for the file, a request fails, or it is stopped.
pub fn steady_file(
    point: &Path,
    percent: u32,
    mix: &Mix,
    watch: &dyn Watch,
) -> Result<Rounds, Error> {
    let name = point.display().to_string();
    let failed = |source| Error::Step {
        action: "fill the file system on",
        device: name.clone(),
        source,
    };
    let own = file_in(point);
    let space = tailmark_machine::space(point).map_err(failed)?;
    let free = space.available;
    let bytes = free / 100 * u64::from(percent) / GRAIN * GRAIN;
    let part = 0..bytes;
    if bytes < mix.block_bytes {
        let why = format!("{percent} % of {free} bytes is less than 1 MiB plus one request");
        return Err(failed(io::Error::other(why)));
    }
    let file = Removed::new(&own).map_err(failed)?;
    let filled = file.0.set_len(bytes).and_then(|()| {
        let is_whole = write_all(&file.0, &part, 1, watch)?;
        file.0.sync_all()?;
        Ok(is_whole)
    });
    let rounds = if filled.map_err(failed)? {
        let spare = (space.total / SPARE_PART, MediaBytes::none());
        run(&file.0, &part, mix, spare, watch).map_err(failed)?
    } else {
        None
    };
    rounds.ok_or_else(|| stopped(&name))
}

/// The spare area of a drive whose own is not known is this part of its capacity.
const SPARE_PART: u64 = 4;
/// If less than this fraction of a drive's capacity is unallocated, it is rounding.
const ROUNDING_PART: u64 = 100;

/// Bytes to write before a drive has used its unallocated space: what NVMe reports beyond its
/// namespaces, or a quarter of the device if it reports none. A drive does not report space beyond
/// its capacity.
fn spare_of(drive: &mut impl Drive, device_bytes: u64) -> u64 {
    let unknown = device_bytes / SPARE_PART;
    let known = unallocated(drive).unwrap_or(0);
    if known > device_bytes / ROUNDING_PART {
        known
    } else {
        unknown
    }
}

/// Bytes of an NVMe drive that are in no namespace.
fn unallocated(drive: &mut impl Drive) -> io::Result<u64> {
    let all = nvme::controller(drive)?.bytes;
    let mut used = 0_u128;
    for number in nvme::allocated(drive)? {
        let namespace = nvme::identify_namespace(drive, number)?;
        used += u128::from(namespace.blocks) * u128::from(namespace.block_bytes);
    }
    Ok(u64::try_from(all.saturating_sub(used)).unwrap_or(u64::MAX))
}

/// The bytes that a drive has written to its media, if it keeps a log of them.
struct MediaBytes(Option<Box<dyn FnMut() -> Option<u64>>>);

impl MediaBytes {
    const fn none() -> Self {
        Self(None)
    }

    fn new(disk: &str) -> Self {
        Self(tailmark_machine::nvme::ocp::media_written(disk))
    }

    fn now(&mut self) -> Option<u64> {
        self.0.as_mut().and_then(|read| read())
    }
}

/// The file that fills a file system.
fn file_in(point: &Path) -> PathBuf {
    point.join(FILE)
}

fn stopped(device: &str) -> Error {
    Error::Stopped {
        device: device.to_owned(),
        doing: "brought to its steady state",
    }
}

/// A file that is removed when this is dropped.
struct Removed(File, PathBuf);

impl Removed {
    /// An empty file. An existing one with this name comes from an earlier attempt, and is
    /// replaced.
    fn new(path: &Path) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .custom_flags(OFlags::DIRECT.bits().cast_signed())
            .open(path)?;
        Ok(Self(file, path.to_owned()))
    }
}

impl Drop for Removed {
    fn drop(&mut self) {
        // If that fails, the next attempt removes it. Until then it is visible.
        let _ = fs::remove_file(&self.1);
    }
}

/// Runs rounds of a mix over a part of a file, until they are steady or the most allowed; `None` if
/// stopped.
fn run(
    file: &File,
    part: &Range<u64>,
    mix: &Mix,
    (spare, media): (u64, MediaBytes),
    watch: &dyn Watch,
) -> io::Result<Option<Rounds>> {
    let done = CompletedRequests::default();
    let stop = AtomicBool::new(false);
    let data = Data::default();
    let send = &|number: u64| {
        let sent = requests(file, part, mix, &data, number, (&done, &stop));
        if sent.is_err() {
            stop.store(true, Relaxed);
        }
        sent
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..u64::from(mix.depth))
            .map(|number| scope.spawn(move || send(number)))
            .collect();
        // Reads alone fill nothing.
        let spare = if mix.read_percent < 100 { spare } else { 0 };
        let rounds = measure(mix, (&done, &stop), (Rounds::new(spare), media), watch);
        stop.store(true, Relaxed);
        for client in clients {
            client.join().expect("a client does not panic")?;
        }
        Ok(rounds)
    })
}

/// Requests that are done.
#[derive(Default)]
struct CompletedRequests {
    all: AtomicU64,
    writes: AtomicU64,
}

/// One client: sends requests until it is stopped.
fn requests(
    file: &File,
    part: &Range<u64>,
    mix: &Mix,
    data: &Data,
    number: u64,
    (done, stop): (&CompletedRequests, &AtomicBool),
) -> io::Result<()> {
    let blocks = (part.end - part.start) / mix.block_bytes;
    let mut buffer = Aligned::new(usize::try_from(mix.block_bytes).map_err(io::Error::other)?);
    let mut state = number;
    while !stop.load(Relaxed) {
        let block = (u128::from(next(&mut state)) * u128::from(blocks)) >> 64;
        let at = part.start + block as u64 * mix.block_bytes;
        if next(&mut state) % 100 < u64::from(mix.read_percent) {
            file.read_exact_at(buffer.bytes(), at)?;
        } else {
            data.fill(buffer.bytes());
            file.write_all_at(buffer.bytes(), at)?;
            done.writes.fetch_add(1, Relaxed);
        }
        done.all.fetch_add(1, Relaxed);
    }
    Ok(())
}

/// Counts the work of each round; `None` if it was stopped, or a client failed.
fn measure(
    mix: &Mix,
    (done, stop): (&CompletedRequests, &AtomicBool),
    (mut rounds, mut media): (Rounds, MediaBytes),
    watch: &dyn Watch,
) -> Option<Rounds> {
    let counts = || (done.all.load(Relaxed), done.writes.load(Relaxed));
    let mut media_before = media.now();
    while !rounds.is_over() {
        let (began, before) = (Instant::now(), counts());
        while began.elapsed() < mix.round {
            if watch.is_stopped() || stop.load(Relaxed) {
                return None;
            }
            let left = mix.round.saturating_sub(began.elapsed());
            thread::park_timeout(LOOK_EVERY.min(left));
            // Of all rounds that there may be: it may end earlier.
            let part = rounds.values().len() as f64
                + (began.elapsed().as_secs_f64() / mix.round.as_secs_f64()).min(1.0);
            watch.progress((part * 1000.0) as u64, ROUNDS_MAX as u64 * 1000);
        }
        let (length_s, now) = (began.elapsed().as_secs_f64(), counts());
        let media_now = media.now();
        let media_of_round = media_now.zip(media_before);
        rounds.push(Round {
            per_sec: (now.0 - before.0) as f64 / length_s,
            length_s,
            written: (now.1 - before.1) * mix.block_bytes,
            media: media_of_round.and_then(|(last, first)| last.checked_sub(first)),
        });
        media_before = media_now;
        if let Some(left) = rounds.spare_left() {
            watch.waits(&left);
        }
    }
    Some(rounds)
}

#[cfg(test)]
mod tests;
