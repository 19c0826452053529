//! The kernel's memory management: page faults that wait for a device, swapping, dropped pages that
//! are read again, allocations that had to wait.

use super::{Probe, ProbeRow, Reading, readings};
use crate::Error;
use std::{fs, path::PathBuf};
use tailmark_model::SeriesKind::Counter;

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "vmstat",
    about: "paging of the machine: major faults, swapping, refaults, stalled allocations",
    period_s: 1,
    is_default: true,
    open: |_| Ok(Some(Box::new(Vmstat))),
};

/// Each series, and the names in `/proc/vmstat` that are summed in it: a beginning that ends with
/// `*` stands for all that begin so (zones; files and anonymous memory since Linux 5.9).
const COUNTED: [(&str, &str); 7] = [
    ("major_faults", "pgmajfault"),
    ("pages_swapped_in", "pswpin"),
    ("pages_swapped_out", "pswpout"),
    ("refaults", "workingset_refault*"),
    ("allocation_stalls", "allocstall*"),
    ("pages_scanned_directly", "pgscan_direct"),
    ("pages_scanned", "pgscan_kswapd"),
];

struct Vmstat;

impl Probe for Vmstat {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let path = PathBuf::from("/proc/vmstat");
        match fs::read_to_string(&path) {
            Ok(text) => Ok(parse(&text)),
            Err(source) => Err(Error::Read {
                path,
                source: source.into(),
            }),
        }
    }
}

fn parse(text: &str) -> Vec<Reading> {
    let mut sums = [0_u64; COUNTED.len()];
    for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
        let is_it = |pattern: &str| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == pattern,
        };
        if let Some(at) = COUNTED.iter().position(|(_, pattern)| is_it(pattern)) {
            sums[at] += value.trim().parse::<u64>().unwrap_or(0);
        }
    }
    let value = |at: usize| (COUNTED[at].0, Counter, sums[at] as f64);
    readings("machine", &std::array::from_fn::<_, 7, _>(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_and_kinds_of_memory_are_summed() {
        let text = "pgmajfault 5\npswpin 1\npswpout 2\nallocstall_dma 1\nallocstall_normal 7\n\
                    workingset_refault_anon 3\nworkingset_refault_file 40\npgscan_direct 9\n\
                    pgscan_direct_throttle 100\npgscan_kswapd 11\nworkingset_nodes 2\n";
        let read: Vec<_> = parse(text).into_iter().map(|r| (r.name, r.value)).collect();
        let expected = [
            ("major_faults", 5.0),
            ("pages_swapped_in", 1.0),
            ("pages_swapped_out", 2.0),
            ("refaults", 43.0),
            ("allocation_stalls", 8.0),
            ("pages_scanned_directly", 9.0),
            ("pages_scanned", 11.0),
        ];
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value)));
    }
}
