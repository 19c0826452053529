//! What counters with coarse steps say of the bytes that were written: the rise between two readings
//! is known within bounds.
//!
//! A drive counts the host's writes in units of 512,000 bytes, and may count media writes in steps
//! of its own. Some drives update a log only every minute: such a counter stands still while the
//! host writes.

use crate::{Bounded, Phase, Series, derived::Sampled, power::DEVICE_POWER};

/// Bytes of a data unit of an NVMe drive's SMART log, whatever the format of the drive.
pub const NVME_DATA_UNIT: f64 = 512_000.0;
/// A value within this share of both of its ends is stated without them.
const PLAIN: f64 = 0.01;
/// The logs of drives.
const SMART: &str = "nvme-smart";
const OCP: &str = "nvme-ocp";
/// The kernel's own counters, which are exact.
const DISK: &str = "disk";
/// Bytes from the host, in the logs of drives and of the kernel.
const WRITTEN: &str = "write_bytes";
/// Bytes to the media.
const MEDIA: &str = "media_write_bytes";

/// An amount, and the least and the most that it can be. The most may be infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ends {
    /// The least.
    pub low: f64,
    /// As read.
    pub value: f64,
    /// The most.
    pub high: f64,
}

impl Ends {
    const fn exact(value: f64) -> Self {
        Self {
            low: value,
            value,
            high: value,
        }
    }

    /// Scaled by a factor that is not negative.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            low: self.low * factor,
            value: self.value * factor,
            high: self.high * factor,
        }
    }

    /// The ratio of two; `None` if the second reads 0.
    pub fn over(self, other: Self) -> Option<Self> {
        (other.value > 0.0).then(|| Self {
            low: self.low / other.high,
            value: self.value / other.value,
            high: if other.low > 0.0 {
                self.high / other.low
            } else {
                f64::INFINITY
            },
        })
    }

    /// As reports state it: plain if both ends are within 1 % of it. `None` if neither is known.
    pub fn stated(self) -> Option<Bounded> {
        let off = (self.high - self.value).max(self.value - self.low);
        if off <= PLAIN * self.value {
            return Some(Bounded::exact(self.value));
        }
        Bounded::from_ends(self.low, self.value, self.high)
    }
}

impl Phase {
    /// Bytes per second that the host wrote, as the drives count them.
    pub fn smart_writes(&self) -> Option<Ends> {
        self.sampled(SMART).stepped(WRITTEN)
    }

    /// Bytes per second that the drives wrote to their media.
    pub fn media_writes(&self) -> Option<Ends> {
        self.sampled(OCP).stepped(MEDIA)
    }

    /// Bytes per second that the host wrote: as the kernel counts them, else the drives.
    pub fn host_writes(&self) -> Option<Ends> {
        let exact = self.sampled(DISK).rate(WRITTEN).map(Ends::exact);
        exact.or_else(|| self.smart_writes())
    }

    /// Which counters of drives say nothing, because they stood still while the host wrote.
    pub fn silent_counters(&self) -> Vec<&'static str> {
        let all = [
            (SMART, WRITTEN, "host writes"),
            (OCP, MEDIA, "media writes"),
        ];
        let is_silent = |(probe, name): (&'static str, &str)| {
            let sampled = self.sampled(probe);
            sampled.rate(name).is_some() && sampled.stepped(name).is_none()
        };
        let silent = all
            .into_iter()
            .filter(|(probe, name, _)| is_silent((probe, name)));
        silent.map(|(.., what)| what).collect()
    }

    /// Power that drives reported in whole watts, each rounded up or down.
    pub(crate) fn whole_watts(&self, watts: f64) -> Option<Bounded> {
        let of_drives = |series: &&Series| series.probe == OCP && series.name == DEVICE_POWER;
        let off = self.series.iter().filter(of_drives).count().max(1) as f64;
        let ends = Ends {
            low: (watts - off).max(0.0),
            value: watts,
            high: watts + off,
        };
        ends.stated()
    }

    /// An amount per second as one per operation; `None` without operations.
    pub(crate) fn per_op(&self, per_s: Ends) -> Option<Bounded> {
        per_s.times(self.per_million_ops(1.0)? / 1e6).stated()
    }
}

impl Sampled<'_> {
    /// The change per second of a counter that may have steps, summed over all subjects.
    fn stepped(&self, name: &str) -> Option<Ends> {
        let sum = |end: fn(Ends) -> f64| self.sum(name, |one| rate(one, self.phase()).map(end));
        Some(Ends {
            low: sum(|ends| ends.low)?,
            value: sum(|ends| ends.value)?,
            high: sum(|ends| ends.high)?,
        })
    }
}

/// The change per second of one counter. `None` if it stood still all the time although the host
/// wrote, so that it says nothing.
fn rate(series: &Series, phase: &Phase) -> Option<Ends> {
    let (first, last) = series.measured(phase.duration_s)?;
    let time = series.at_s[last] - series.at_s[first];
    let value = series.mean_rate(phase.duration_s)?;
    let read = &series.values[first..=last];
    let step = step(series);
    let (mut low, mut high) = (value * time - step, value * time + step);
    if is_late(series, phase, step) {
        // What was written before the first reading may show at the next update, and what was
        // written since the last update has not been shown: at most the largest one.
        let at_next_update = read.iter().find(|reading| **reading > read[0])?;
        low = read[read.len() - 1] - at_next_update - step;
        let updates = series.values.windows(2).map(|two| two[1] - two[0]);
        high += updates.fold(0.0, f64::max);
    }
    Some(Ends {
        low: low.max(0.0) / time,
        value,
        high: high / time,
    })
}

/// The step of a counter, bytes: a data unit, or the greatest that divides all readings. Of fewer
/// than two readings apart from 0 it is unknown, and no step is assumed.
fn step(series: &Series) -> f64 {
    if series.probe == SMART {
        return NVME_DATA_UNIT;
    }
    let mut readings: Vec<u64> = series.values.iter().map(|value| *value as u64).collect();
    readings.dedup();
    readings.retain(|reading| *reading > 0);
    match readings[..] {
        [first, _, ..] => match readings.into_iter().fold(first, divisor) {
            // It counts each byte.
            1 => 0.0,
            step => step as f64,
        },
        _ => 0.0,
    }
}

/// The greatest common divisor.
const fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Whether a counter stood still between two samples although the host wrote more than a step.
/// Without a counter of the host, any pause may be that.
fn is_late(series: &Series, phase: &Phase, step: f64) -> bool {
    let mut own = phase.series.iter();
    let host = own.find(|other| {
        other.probe == DISK && other.name == WRITTEN && other.subject == series.subject
    });
    let written = |from_s: f64, until_s: f64| {
        let Some(host) = host else {
            return f64::INFINITY;
        };
        let inside = host.at_s.iter().zip(&host.values);
        let mut inside = inside.filter(|(at, _)| (from_s..=until_s).contains(*at));
        let first = inside.next();
        let last = inside.next_back();
        first
            .zip(last)
            .map_or(0.0, |(first, last)| last.1 - first.1)
    };
    // The drive counts a unit when it is full, and caches a little.
    let enough = 2.0 * step.max(NVME_DATA_UNIT);
    let times = series.at_s.windows(2).zip(series.values.windows(2));
    let mut stands = times.filter(|(_, values)| values[0] == values[1]);
    stands.any(|(at_s, _)| written(at_s[0], at_s[1]) > enough)
}

#[cfg(test)]
mod tests;
