//! Energy of processor packages and of their memory: the kernel's power capping framework, which
//! reads the processor's own counters (RAPL; `Documentation/power/powercap/powercap.rst`).
//!
//! A zone `intel-rapl:0` is a package, on AMD too, and its subzone `dram` the memory attached to
//! it. Other subzones (`core`, `uncore`) are parts of the package, `psys` contains it, and
//! `intel-rapl-mmio` shows the same package again: they would be counted twice. A counter starts
//! again at 0 above `max_energy_range_uj`, which is minutes at full power. It is sampled every
//! second, so at most one such step lies between two samples.

use super::{Probe, ProbeRow, Reading, Target, row::readings};
use crate::{Error, sysfs};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use tailmark_model::SeriesKind::Counter;

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "power",
    about: "energy of processor packages and their memory (RAPL; root)",
    period_s: 1,
    is_default: true,
    open: |_: &Target| {
        let zones = open(Path::new("/sys/class/powercap"))?;
        Ok((!zones.is_empty()).then(|| Box::new(Rapl { zones }) as Box<dyn Probe>))
    },
};

const MICRO: f64 = 1e-6;

struct Rapl {
    zones: Vec<Zone>,
}

/// One counter.
struct Zone {
    /// `package-0`, `package-0 dram`.
    subject: String,
    file: PathBuf,
    /// One more than its highest value, microjoules.
    range_uj: u64,
    last_uj: u64,
    /// What it counted before it last started again, microjoules.
    before_uj: u64,
    /// Whether it went backwards, so that what it counted is unknown.
    is_lost: bool,
}

/// The packages and their memory below a folder of power zones.
fn open(root: &Path) -> Result<Vec<Zone>, Error> {
    let mut zones = Vec::new();
    for package in zone_names(root, "intel-rapl") {
        let dir = root.join(&package);
        let Some(name) = sysfs::text(&dir.join("name")).filter(|name| name.starts_with("package"))
        else {
            continue;
        };
        for part in zone_names(&dir, &package) {
            let part = dir.join(part);
            if sysfs::text(&part.join("name")).as_deref() == Some("dram") {
                zones.push(Zone::open(format!("{name} dram"), &part)?);
            }
        }
        zones.push(Zone::open(name, &dir)?);
    }
    zones.sort_by(|a, b| a.subject.cmp(&b.subject));
    Ok(zones)
}

/// The zones `PARENT:NUMBER` in a folder.
fn zone_names(folder: &Path, parent: &str) -> Vec<String> {
    let mut names = sysfs::names(folder);
    names.retain(|name| {
        let number = name
            .strip_prefix(parent)
            .and_then(|rest| rest.strip_prefix(':'));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    });
    names
}

impl Zone {
    fn open(subject: String, dir: &Path) -> Result<Self, Error> {
        let file = dir.join("energy_uj");
        let last_uj = read(&file)?;
        let highest: Option<u64> = sysfs::number(&dir.join("max_energy_range_uj"));
        Ok(Self {
            subject,
            file,
            range_uj: highest.unwrap_or(u64::from(u32::MAX)).saturating_add(1),
            last_uj,
            before_uj: 0,
            is_lost: false,
        })
    }

    fn lost(&self) -> Error {
        Error::Read {
            path: self.file.clone(),
            source: "the counter went backwards".into(),
        }
    }

    /// Joules since the counter was 0 for the first time.
    fn sample(&mut self) -> Result<f64, Error> {
        if self.is_lost {
            return Err(self.lost());
        }
        let now_uj = read(&self.file)?;
        if now_uj < self.last_uj {
            // From one sample to the next it uses up much less than half of its range.
            let rise = self.range_uj.saturating_sub(self.last_uj) + now_uj;
            if rise > self.range_uj / 2 {
                self.is_lost = true;
                return Err(self.lost());
            }
            self.before_uj = self.before_uj.saturating_add(self.range_uj);
        }
        self.last_uj = now_uj;
        Ok((self.before_uj as f64 + now_uj as f64) * MICRO)
    }
}

fn read(file: &Path) -> Result<u64, Error> {
    let failed = |source: Box<dyn std::error::Error + Send + Sync>| Error::Read {
        path: file.to_owned(),
        source,
    };
    let text = fs::read_to_string(file).map_err(|error| match error.kind() {
        // Since CVE-2020-8694 only root may read it.
        io::ErrorKind::PermissionDenied => Error::NeedsRoot {
            what: format!("`{}`", file.display()),
        },
        _ => failed(error.into()),
    })?;
    text.trim()
        .parse()
        .map_err(|error: std::num::ParseIntError| failed(error.into()))
}

impl Probe for Rapl {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let each = self.zones.iter_mut().map(|zone| {
            let joules = zone.sample()?;
            Ok(readings(&zone.subject, &[("energy_j", Counter, joules)]))
        });
        Ok(each.collect::<Result<Vec<_>, Error>>()?.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_testing::recorded;

    /// A machine with these zones, each with its name, counter and range.
    fn machine(tree: &str) -> (tempfile::TempDir, Rapl) {
        let root = recorded(tree);
        let zones = open(root.path()).unwrap();
        (root, Rapl { zones })
    }

    fn values(probe: &mut Rapl) -> Vec<(String, f64)> {
        let readings = probe.sample().unwrap();
        let joules = |joules: f64| (joules * 1e6).round() / 1e6;
        readings
            .into_iter()
            .map(|r| (r.subject, joules(r.value)))
            .collect()
    }

    #[test]
    fn a_laptop_of_intel_has_one_package_and_nothing_is_counted_twice() {
        let (_root, mut probe) = machine(include_str!("../../tests/power/intel-laptop.txt"));
        let expected = [("package-0".to_owned(), 104_857.123_456)];
        assert_eq!(values(&mut probe), expected);
    }

    #[test]
    fn a_server_has_four_packages_with_their_memory() {
        let (_root, mut probe) = machine(include_str!("../../tests/power/intel-server.txt"));
        let expected = [
            ("package-0", 143_013.545_932),
            ("package-0 dram", 26_530.978_739),
            ("package-1", 35_231.629_289),
            ("package-1 dram", 32_651.449_214),
            ("package-2", 181_795.825_861),
            ("package-2 dram", 58_966.008_642),
            ("package-3", 226_618.687_799),
            ("package-3 dram", 60_279.115_781),
        ];
        let expected = expected.map(|(name, joules)| (name.to_owned(), joules));
        assert_eq!(values(&mut probe), expected);
    }

    #[test]
    fn a_counter_that_starts_again_continues() {
        let (root, mut probe) = machine(include_str!("../../tests/power/amd-server.txt"));
        assert_eq!(values(&mut probe)[0].1, 65_500.0);
        let file = root.path().join("intel-rapl:0/energy_uj");
        // Its range is 65,532.610987 J: 32.610988 J to the end, and 67.389012 J from 0 on.
        fs::write(&file, "67389012\n").unwrap();
        assert_eq!(values(&mut probe)[0].1, 65_600.0);
        fs::write(&file, "65000000000\n").unwrap();
        assert_eq!(values(&mut probe)[0].1, 130_532.610_988);
        fs::write(&file, "1000000\n").unwrap();
        assert_eq!(values(&mut probe)[0].1, 131_066.221_976);
    }

    #[test]
    fn a_counter_that_goes_backwards_or_disappears_is_an_error_from_then_on() {
        let (root, mut probe) = machine(include_str!("../../tests/power/intel-laptop.txt"));
        let file = root.path().join("intel-rapl:0/energy_uj");
        assert_eq!(values(&mut probe).len(), 1);
        fs::write(&file, "100000000\n").unwrap();
        for _ in 0..2 {
            let error = probe.sample().unwrap_err();
            let error = tailmark_model::in_one_line(&error);
            assert!(error.contains("the counter went backwards"), "{error}");
            fs::write(&file, "200000000\n").unwrap();
        }
        let (gone, mut lost) = machine(include_str!("../../tests/power/amd-server.txt"));
        fs::remove_file(gone.path().join("intel-rapl:0/energy_uj")).unwrap();
        assert!(lost.sample().is_err());
    }

    #[test]
    fn a_machine_without_zones_has_no_probe_and_one_without_rights_says_so() {
        assert!(open(Path::new("/nowhere")).unwrap().is_empty());
        let (root, mut probe) = machine(include_str!("../../tests/power/amd-server.txt"));
        let file = root.path().join("intel-rapl:0/energy_uj");
        fs::write(&file, "much").unwrap();
        let error = probe.sample().unwrap_err().to_string();
        assert!(error.contains("energy_uj"), "{error}");
    }
}
