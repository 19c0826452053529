//! Stalls due to lack of CPU, I/O or memory (pressure stall information, Linux 4.20).

use super::{Probe, ProbeRow, Reading};
use crate::Error;
use std::{fs, path::PathBuf};
use tailmark_model::SeriesKind::Counter;

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "pressure",
    about: "time in which some or all tasks waited for CPU, I/O or memory",
    period_s: 1,
    is_default: true,
    // Kernels without it, or that were started without it, refuse the first read.
    open: |_| {
        Ok(Pressure
            .sample()
            .ok()
            .map(|_| Box::new(Pressure) as Box<dyn Probe>))
    },
};

struct Pressure;

impl Probe for Pressure {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let mut readings = Vec::new();
        for resource in ["cpu", "io", "memory"] {
            let path = PathBuf::from("/proc/pressure").join(resource);
            match fs::read_to_string(&path) {
                Ok(text) => readings.extend(parse(resource, &text)),
                Err(source) => {
                    return Err(Error::Read {
                        path,
                        source: source.into(),
                    });
                }
            }
        }
        Ok(readings)
    }
}

/// The totals, which the kernel gives in microseconds: `some avg10=.. avg60=.. avg300=.. total=..`
/// and, of CPU only since Linux 5.13, the same of `full`.
fn parse<'a>(resource: &'a str, text: &'a str) -> impl Iterator<Item = Reading> + 'a {
    text.lines().filter_map(move |line| {
        let (share, rest) = line.split_once(' ')?;
        let (_, total) = rest.split_once("total=")?;
        Some(Reading {
            subject: "machine".to_owned(),
            name: format!("{resource}_{share}_s"),
            kind: Counter,
            value: total.trim().parse::<u64>().ok()? as f64 / 1e6,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_kernel_tells_only_some_of_cpu() {
        let line = "some avg10=0.00 avg60=1.05 avg300=0.48 total=1500000\n";
        let readings: Vec<_> = parse("cpu", line).map(|r| (r.name, r.value)).collect();
        assert_eq!(readings, [("cpu_some_s".to_owned(), 1.5)]);
        let both = format!("{line}full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
        assert_eq!(parse("io", &both).nth(1).unwrap().name, "io_full_s");
    }
}
