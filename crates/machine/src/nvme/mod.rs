//! Logs of NVMe drives: one admin command (Get Log Page), and the fields of each log as a table of
//! rows.
//!
//! The command goes through the kernel's own interface (`NVME_IOCTL_ADMIN_CMD`,
//! `linux/nvme_ioctl.h`). The logs of interest have 512 to 4,096 bytes in a fixed format (NVM
//! Express Base Specification 2.0, section 5.16), so no library is needed. The only time limit is
//! the kernel's, after which it resets the drive.

pub mod amazon;
pub mod command;
pub mod ocp;
pub mod power;
pub mod smart;

use crate::{
    BlockDevice, Error, chain,
    probe::row::{Probe, Reading, Target, readings},
};
use rustix::io::Errno;
use std::{collections::BTreeMap, fs::File};
use tailmark_model::SeriesKind;

/// Every namespace: a log of the whole controller.
const ALL_NAMESPACES: u32 = u32::MAX;

/// A log of a drive.
struct Log {
    /// Its number, which the specification calls log identifier.
    page: u8,
    /// As a specification calls it, for messages.
    name: &'static str,
    /// Bytes.
    size: usize,
    /// The namespace that it is asked of.
    namespace: u32,
    /// Whether a drive may have it.
    applies: fn(&BlockDevice) -> bool,
    /// Decodes the bytes; `None` if they are not this log.
    decode: fn(&[u8]) -> Option<Vec<Value>>,
}

/// A value of a log: its name, counter or gauge, and the number.
type Value = (String, SeriesKind, f64);

/// A number in a log.
struct Field {
    name: &'static str,
    kind: SeriesKind,
    /// Its first byte.
    at: usize,
    /// The number of its bytes, the lowest first.
    bytes: usize,
    /// The factor to the unit of its name.
    unit: f64,
    /// The constant that is then added: degrees Celsius are kelvins minus 273.
    plus: f64,
    /// Whether a drive that does not tell has 0 there.
    is_optional: bool,
}

impl Field {
    const fn new(name: &'static str, kind: SeriesKind, at: usize, bytes: usize) -> Self {
        Self {
            name,
            kind,
            at,
            bytes,
            unit: 1.0,
            plus: 0.0,
            is_optional: false,
        }
    }

    const fn counter(name: &'static str, at: usize, bytes: usize) -> Self {
        Self::new(name, SeriesKind::Counter, at, bytes)
    }

    const fn gauge(name: &'static str, at: usize, bytes: usize) -> Self {
        Self::new(name, SeriesKind::Gauge, at, bytes)
    }

    const fn in_unit(self, unit: f64) -> Self {
        Self { unit, ..self }
    }

    const fn plus(self, plus: f64) -> Self {
        Self { plus, ..self }
    }

    const fn optional(self) -> Self {
        Self {
            is_optional: true,
            ..self
        }
    }

    /// `None` if the drive does not report it.
    fn read(&self, log: &[u8]) -> Option<Value> {
        let raw = number(log, self.at, self.bytes);
        let value = raw as f64 * self.unit + self.plus;
        (raw > 0 || !self.is_optional).then(|| (self.name.to_owned(), self.kind, value))
    }
}

/// A number of up to 16 bytes, the lowest first. Bytes after the end of the log are 0.
pub fn number(log: &[u8], at: usize, bytes: usize) -> u128 {
    let bytes = log.iter().skip(at).take(bytes);
    bytes
        .rev()
        .fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// The fields of a log that the drive reports.
fn read(fields: &[Field], log: &[u8]) -> Vec<Value> {
    fields.iter().filter_map(|field| field.read(log)).collect()
}

/// The NVMe drives that hold the places of a target, by the kernel's names.
fn drives(target: &Target) -> Vec<BlockDevice> {
    let disks = target.places.iter().flat_map(|place| chain::disks(place));
    let of_nvme = disks.filter(|device| device.disk.starts_with("nvme"));
    let by_name: BTreeMap<String, BlockDevice> = of_nvme
        .map(|device| (device.disk.clone(), device))
        .collect();
    by_name.into_values().collect()
}

/// Opens a log of each drive that may have it; `None` if no drive may.
fn open(target: &Target, log: &'static Log) -> Result<Option<Box<dyn Probe>>, Error> {
    let mut open = Vec::new();
    for drive in drives(target).iter().filter(|drive| (log.applies)(drive)) {
        open.push(OpenLog::new(drive, log)?);
    }
    Ok((!open.is_empty()).then(|| Box::new(Logs(open)) as Box<dyn Probe>))
}

/// The same log of several drives.
struct Logs(Vec<OpenLog>);

impl Probe for Logs {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let each: Result<Vec<_>, _> = self.0.iter_mut().map(OpenLog::sample).collect();
        Ok(each?.concat())
    }
}

/// A log of one drive, which was read once.
struct OpenLog {
    log: &'static Log,
    disk: String,
    device: File,
    buffer: Vec<u8>,
    /// The names of reported values, which stay the same.
    names: Vec<String>,
}

impl OpenLog {
    fn new(drive: &BlockDevice, log: &'static Log) -> Result<Self, Error> {
        let path = format!("/dev/{}", drive.disk);
        let device = File::open(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::PermissionDenied => needs_root(log, &drive.disk),
            _ => Error::Read {
                path: path.into(),
                source: source.into(),
            },
        })?;
        let mut open = Self {
            log,
            disk: drive.disk.clone(),
            device,
            buffer: vec![0; log.size],
            names: Vec::new(),
        };
        open.names = open.values()?.into_iter().map(|value| value.0).collect();
        Ok(open)
    }

    fn values(&mut self) -> Result<Vec<Value>, Error> {
        let Self { log, disk, .. } = self;
        let (page, name) = (log.page, log.name);
        let (said, source) =
            match command::get_log(&self.device, page, log.namespace, &mut self.buffer) {
                Ok(0) => match (log.decode)(&self.buffer) {
                    Some(values) => return Ok(values),
                    None => (
                        format!("returned other data than {name} as log {page:02X}h"),
                        None,
                    ),
                },
                Ok(status) => (
                    format!("has no log {page:02X}h ({name}): status {status:#x}"),
                    None,
                ),
                Err(Errno::ACCESS | Errno::PERM) => return Err(needs_root(log, disk)),
                Err(errno) => (
                    format!("did not return its log {page:02X}h ({name})"),
                    Some(errno.into()),
                ),
            };
        let device = disk.clone();
        Err(Error::Drive {
            device,
            said,
            source,
        })
    }

    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let values = self.values()?;
        let told = |value: &&Value| self.names.contains(&value.0);
        let told: Vec<_> = values.iter().filter(told).collect();
        let each = told
            .iter()
            .map(|(name, kind, value)| (name.as_str(), *kind, *value));
        Ok(readings(&self.disk, &each.collect::<Vec<_>>()))
    }
}

fn needs_root(log: &Log, disk: &str) -> Error {
    Error::NeedsRoot {
        what: format!("log {:02X}h ({}) of `{disk}`", log.page, log.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_lowest_byte_first_and_up_to_sixteen() {
        let log: Vec<u8> = (1..=16).collect();
        assert_eq!(number(&log, 0, 1), 1);
        assert_eq!(number(&log, 1, 2), 0x0302);
        assert_eq!(
            number(&log, 0, 16),
            0x100f_0e0d_0c0b_0a09_0807_0605_0403_0201
        );
        assert_eq!(number(&log, 14, 8), 0x100f);
    }

    #[test]
    fn what_is_no_nvme_drive_has_no_log() {
        let target = Target {
            places: vec!["/".into(), "/proc".into()],
            ..Target::default()
        };
        if drives(&target).is_empty() {
            for row in [smart::PROBE, ocp::PROBE, amazon::PROBE] {
                assert!((row.open)(&target).unwrap().is_none(), "{}", row.name);
            }
        }
    }

    #[test]
    fn no_fields_of_a_log_have_one_name() {
        for fields in [smart::FIELDS, ocp::FIELDS, amazon::FIELDS] {
            let names: std::collections::BTreeSet<_> = fields.iter().map(|f| f.name).collect();
            assert_eq!(names.len(), fields.len());
        }
    }
}
