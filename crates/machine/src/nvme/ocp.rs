//! Counters of data centre drives beyond SMART: the log SMART / Health Information Extended (C0h;
//! OCP Datacenter NVMe SSD Specification 2.0, section 4.8.4, and 2.5).
//!
//! Together with the host's writes (`nvme-smart`) it gives the drive's own write amplification:
//! bytes written to the media per byte from the host.

use super::{ALL_NAMESPACES, Field, Log, OpenLog, Value, open, read};
use crate::{
    block::{BlockDevice, SYS},
    probe::row::ProbeRow,
};
use std::path::Path;

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "nvme-ocp",
    about: "OCP log of data centre NVMe drives: media bytes, bad blocks, throttling, link errors",
    period_s: 10,
    is_default: true,
    open: |target| open(target, &LOG),
};

const LOG: Log = Log {
    page: 0xC0,
    name: "OCP SMART extended",
    size: 512,
    namespace: ALL_NAMESPACES,
    applies: |_| true,
    decode,
};

/// The bytes that a disk has written to its media; `None` if it is not a drive with this log.
pub fn media_written(disk: &str) -> Option<Box<dyn FnMut() -> Option<u64>>> {
    let drive = BlockDevice::of_name(Path::new(SYS), disk)?;
    if !drive.disk.starts_with("nvme") {
        return None;
    }
    let mut log = OpenLog::new(&drive, &LOG).ok()?;
    Some(Box::new(move || {
        let values = log.values().ok()?;
        let written = values.iter().find(|(name, ..)| name == MEDIA_WRITTEN)?;
        Some(written.2 as u64)
    }))
}

/// The name of the bytes written to the media.
const MEDIA_WRITTEN: &str = "media_write_bytes";

/// Where and how the log identifies itself. Vendors have other logs at C0h.
const GUID_AT: usize = 496;
const GUID: u128 = 0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5;

/// Fields after the link retrainings exist from version 2.5 on.
pub(super) const FIELDS: &[Field] = &[
    Field::counter(MEDIA_WRITTEN, 0, 16),
    Field::counter("media_read_bytes", 16, 16),
    Field::counter("bad_user_blocks", 32, 6),
    Field::counter("bad_system_blocks", 40, 6),
    Field::counter("xor_recoveries", 48, 8),
    Field::counter("uncorrectable_reads", 56, 8),
    Field::counter("soft_ecc_errors", 64, 8),
    Field::counter("end_to_end_detected_errors", 72, 4),
    Field::counter("end_to_end_corrected_errors", 76, 4),
    Field::gauge("system_used_percent", 80, 1),
    Field::counter("refreshes", 81, 7),
    Field::counter("user_erases_max", 88, 4),
    Field::counter("user_erases_min", 92, 4),
    Field::counter("throttlings", 96, 1),
    Field::gauge("throttling_status", 97, 1),
    Field::counter("pcie_correctable_errors", 104, 8),
    Field::gauge("free_blocks_percent", 120, 1),
    Field::gauge("capacitor_health_percent", 128, 2),
    Field::counter("unaligned_requests", 136, 8),
    Field::counter("link_retrainings", 192, 8),
    Field::counter("power_state_changes", 200, 8).optional(),
    Field::gauge("temperature_c_max", 222, 1).optional(),
    Field::counter("erases_mean", 224, 8).optional(),
    Field::counter("command_timeouts", 232, 4).optional(),
    Field::gauge("power_w_mean", 262, 2).optional(),
];

fn decode(log: &[u8]) -> Option<Vec<Value>> {
    (super::number(log, GUID_AT, 16) == GUID).then(|| read(FIELDS, log))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVE: &[u8; 512] = include_bytes!("../../tests/nvme/ocp.bin");

    #[test]
    fn every_field_is_read_where_the_specification_has_it() {
        let expected = [
            ("media_write_bytes", 2_000_000_000_000_123.0),
            ("media_read_bytes", 3_000_000_000_000_456.0),
            ("bad_user_blocks", 12.0),
            ("bad_system_blocks", 1.0),
            ("xor_recoveries", 4.0),
            ("uncorrectable_reads", 5.0),
            ("soft_ecc_errors", 6.0),
            ("end_to_end_detected_errors", 7.0),
            ("end_to_end_corrected_errors", 8.0),
            ("system_used_percent", 9.0),
            ("refreshes", 10_000_000_001.0),
            ("user_erases_max", 321.0),
            ("user_erases_min", 123.0),
            ("throttlings", 13.0),
            ("throttling_status", 1.0),
            ("pcie_correctable_errors", 14.0),
            ("free_blocks_percent", 77.0),
            ("capacitor_health_percent", 152.0),
            ("unaligned_requests", 15.0),
            ("link_retrainings", 2.0),
            ("power_state_changes", 16.0),
        ];
        let all = decode(DRIVE).unwrap();
        let found: Vec<_> = all.iter().map(|v| (v.0.as_str(), v.2)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_vendors_own_log_of_that_number_is_refused() {
        let mut log = *DRIVE;
        log[GUID_AT] ^= 1;
        assert_eq!(decode(&log), None);
        assert_eq!(decode(&[]), None);
    }
}
