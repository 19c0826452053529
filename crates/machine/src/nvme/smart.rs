//! Counters of every NVMe drive: the log SMART / Health Information (02h; NVM Express Base
//! Specification 2.0, section 5.16.1.3).

use super::{ALL_NAMESPACES, Field, Log, Value, open, read};
use crate::probe::row::ProbeRow;
use tailmark_model::NVME_DATA_UNIT;

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "nvme-smart",
    about: "SMART log of NVMe drives: bytes, commands, busy time, temperatures, throttling, wear",
    period_s: 10,
    is_default: true,
    open: |target| open(target, &LOG),
};

const LOG: Log = Log {
    page: 0x02,
    name: "SMART",
    size: 512,
    namespace: ALL_NAMESPACES,
    applies: |_| true,
    decode,
};

const MINUTE: f64 = 60.0;
/// Kelvins are whole.
const KELVIN: f64 = -273.0;

pub(super) const FIELDS: &[Field] = &[
    Field::gauge("critical_warning", 0, 1),
    Field::gauge("temperature_c", 1, 2).plus(KELVIN),
    Field::gauge("available_spare_percent", 3, 1),
    Field::gauge("used_percent", 5, 1),
    Field::counter("read_bytes", 32, 16).in_unit(NVME_DATA_UNIT),
    Field::counter("write_bytes", 48, 16).in_unit(NVME_DATA_UNIT),
    Field::counter("read_commands", 64, 16),
    Field::counter("write_commands", 80, 16),
    Field::counter("busy_s", 96, 16).in_unit(MINUTE),
    Field::counter("media_errors", 160, 16),
    Field::counter("error_log_entries", 176, 16),
    Field::counter("warning_temperature_s", 192, 4).in_unit(MINUTE),
    Field::counter("critical_temperature_s", 196, 4).in_unit(MINUTE),
    Field::gauge("sensor_1_c", 200, 2).plus(KELVIN).optional(),
    Field::gauge("sensor_2_c", 202, 2).plus(KELVIN).optional(),
    Field::gauge("sensor_3_c", 204, 2).plus(KELVIN).optional(),
    Field::gauge("sensor_4_c", 206, 2).plus(KELVIN).optional(),
    Field::gauge("sensor_5_c", 208, 2).plus(KELVIN).optional(),
    Field::gauge("sensor_6_c", 210, 2).plus(KELVIN).optional(),
    Field::gauge("sensor_7_c", 212, 2).plus(KELVIN).optional(),
    Field::gauge("sensor_8_c", 214, 2).plus(KELVIN).optional(),
    Field::counter("light_throttlings", 216, 4),
    Field::counter("heavy_throttlings", 220, 4),
    Field::counter("light_throttling_s", 224, 4),
    Field::counter("heavy_throttling_s", 228, 4),
];

fn decode(log: &[u8]) -> Option<Vec<Value>> {
    Some(read(FIELDS, log))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVE: &[u8; 512] = include_bytes!("../../tests/nvme/smart.bin");

    fn value(log: &[u8], name: &str) -> Option<f64> {
        let values = decode(log).unwrap();
        values.into_iter().find(|v| v.0 == name).map(|v| v.2)
    }

    #[test]
    fn every_field_is_read_where_the_specification_has_it() {
        let expected = [
            ("critical_warning", 0.0),
            ("temperature_c", 41.0),
            ("available_spare_percent", 100.0),
            ("used_percent", 3.0),
            ("read_bytes", 1_234_567_890.0 * 512_000.0),
            ("write_bytes", 987_654_321.0 * 512_000.0),
            ("read_commands", 55_555_555_555.0),
            ("write_commands", 44_444_444_444.0),
            ("busy_s", 1_234.0 * 60.0),
            ("media_errors", 2.0),
            ("error_log_entries", 7.0),
            ("warning_temperature_s", 9.0 * 60.0),
            ("critical_temperature_s", 60.0),
            ("sensor_1_c", 41.0),
            ("sensor_2_c", 52.0),
            ("light_throttlings", 5.0),
            ("heavy_throttlings", 3.0),
            ("light_throttling_s", 111.0),
            ("heavy_throttling_s", 22.0),
        ];
        let all = decode(DRIVE).unwrap();
        let found: Vec<_> = all.iter().map(|v| (v.0.as_str(), v.2)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_counter_beyond_64_bits_is_not_cut_off() {
        let mut log = *DRIVE;
        log[56] = 1;
        let beyond = 2.0_f64.powi(64) * 512_000.0;
        assert!(value(&log, "write_bytes").unwrap() >= beyond);
    }

    #[test]
    fn a_sensor_that_is_not_there_is_skipped() {
        assert_eq!(value(DRIVE, "sensor_3_c"), None);
        assert_eq!(value(&[0; 512], "temperature_c"), Some(-273.0));
    }
}
