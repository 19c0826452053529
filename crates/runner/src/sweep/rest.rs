//! Gives a device rest after a restore: the freed space is trimmed, and what it still does for
//! that, as far as the kernel sees it, ends before the next point begins.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tailmark_engine::{Observer, Stop};
use tailmark_machine::block_device_of;

/// How often a device is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// A device is idle if it was busy for less than this part of that many looks in a row.
const BUSY_MAX: f64 = 0.01;
const QUIET: u32 = 3;

/// Trims the file system of a place and waits until its device is idle, for at most `limit`. What
/// cannot be done is said, and ends no run.
pub(super) fn trim_and_wait(
    place: &Path,
    limit: Duration,
    (observer, stop): (&dyn Observer, &Stop),
) {
    observer.step("trimming the file system");
    if let Err(why) = trim(place) {
        observer.notice(&format!(
            "`{}` is not trimmed (dataset.restore_trim): {why}",
            place.display()
        ));
    }
    let device = block_device_of(place);
    let busy = || device.as_ref().and_then(|device| busy_ms(&device.disk));
    let Some(mut before) = busy() else { return };
    observer.step("waiting for the device to be idle");
    let (end, mut quiet, mut at) = (Instant::now() + limit, 0, Instant::now());
    while quiet < QUIET && Instant::now() < end && !stop.requested() {
        thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
        let Some(now) = busy() else { return };
        let part = now.saturating_sub(before) as f64 / 1e3 / at.elapsed().as_secs_f64();
        quiet = if part < BUSY_MAX { quiet + 1 } else { 0 };
        (before, at) = (now, Instant::now());
    }
    if quiet < QUIET && !stop.requested() {
        observer.notice("the device is still busy after a restore, so the next point starts late");
    }
}

fn trim(place: &Path) -> Result<(), String> {
    // The nearest mount point is what `fstrim` takes.
    let mounted = tailmark_machine::space(place).map_err(|error| error.to_string())?;
    let device = |path: &Path| {
        fs::metadata(path).map(|found| {
            use std::os::unix::fs::MetadataExt;
            found.dev()
        })
    };
    let own = device(&mounted.at).map_err(|error| error.to_string())?;
    let on_it = mounted.at.ancestors();
    let on_it = on_it.take_while(|above| device(above).is_ok_and(|number| number == own));
    let root = on_it.last().unwrap_or(&mounted.at);
    let mut command = Command::new("fstrim");
    command.arg(root).stdin(Stdio::null());
    let output = command
        .output()
        .map_err(|error| format!("fstrim: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.trim().replace('\n', "; "))
}

/// How long a disk has been busy since the machine was started, milliseconds: the tenth number of
/// its statistics.
fn busy_ms(disk: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/sys/block/{disk}/stat")).ok()?;
    text.split_whitespace().nth(9)?.parse().ok()
}
