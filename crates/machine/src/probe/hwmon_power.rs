//! Power sensors of the kernel's hardware monitoring (`Documentation/hwmon/sysfs-interface.rst`):
//! meters of servers, power supplies, cards and boards.
//!
//! Only what is known to cover a whole server gets that name: the meter of ACPI (`power_meter`), or
//! without one the inputs of power supplies on PMBus (label `pin`), which are summed. Every other
//! sensor is kept under its own name and enters no figure.

use super::{Probe, ProbeRow, Reading, Target, row::readings};
use crate::{Error, sysfs};
use std::path::{Path, PathBuf};
use tailmark_model::{SERVER_POWER, SeriesKind::Gauge};

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "hwmon-power",
    about: "power sensors: server meters, power supplies, cards and boards (hwmon)",
    period_s: 1,
    is_default: true,
    open: |_: &Target| {
        let sensors = open(Path::new("/sys/class/hwmon"));
        Ok((!sensors.is_empty()).then(|| Box::new(Sensors(sensors)) as Box<dyn Probe>))
    },
};

/// The meter of ACPI 4.0.
const ACPI_METER: &str = "power_meter";
/// The input of a power supply.
const INPUT: &str = "pin";
/// Watts of what is not a whole server.
const PART_POWER: &str = "power_w";
/// Sensors of one sort that a chip may have.
const CHANNELS: u32 = 16;

struct Sensors(Vec<Sensor>);

struct Sensor {
    /// `hwmon0 power_meter power1`.
    subject: String,
    chip: String,
    /// What its values cover.
    name: &'static str,
    files: Files,
}

/// Where its value is.
enum Files {
    /// Microwatts.
    Power(PathBuf),
    /// Milliamperes and millivolts.
    CurrentAndVoltage(PathBuf, PathBuf),
}

fn open(root: &Path) -> Vec<Sensor> {
    let chips = sysfs::names(root).into_iter();
    let mut all: Vec<Sensor> = chips.flat_map(|chip| sensors(root, &chip)).collect();
    let has_meter = all.iter().any(|sensor| sensor.chip == ACPI_METER);
    // The meter covers the power supplies.
    for supply in all
        .iter_mut()
        .filter(|sensor| has_meter && sensor.chip != ACPI_METER)
    {
        supply.name = PART_POWER;
    }
    all
}

/// The sensors of a chip: of power, or else of current and voltage.
fn sensors(root: &Path, hwmon: &str) -> Vec<Sensor> {
    let dir = root.join(hwmon);
    let chip = sysfs::text(&dir.join("name")).unwrap_or_default();
    let file = |name: String| Some(dir.join(name)).filter(|path| path.exists());
    let sensor = |channel: String, name, files| Sensor {
        subject: format!("{hwmon} {chip} {channel}"),
        chip: chip.clone(),
        name,
        files,
    };
    let power = (1..=CHANNELS).filter_map(|number| {
        let own = format!("power{number}");
        // A mean over some time says more than an instant.
        let value = file(format!("{own}_average")).or_else(|| file(format!("{own}_input")))?;
        let label = sysfs::text(&dir.join(format!("{own}_label")));
        let covers_server = chip == ACPI_METER || label.as_deref() == Some(INPUT);
        let name = if covers_server {
            SERVER_POWER
        } else {
            PART_POWER
        };
        Some(sensor(own, name, Files::Power(value)))
    });
    let power: Vec<Sensor> = power.collect();
    if !power.is_empty() {
        return power;
    }
    let pairs = (1..=CHANNELS).filter_map(|number| {
        let current = file(format!("curr{number}_input"))?;
        let voltage = file(format!("in{number}_input"))?;
        let files = Files::CurrentAndVoltage(current, voltage);
        Some(sensor(format!("curr{number}"), PART_POWER, files))
    });
    pairs.collect()
}

impl Sensor {
    /// `None` while the sensor does not answer.
    fn watts(&self) -> Option<f64> {
        let number = |path: &PathBuf| sysfs::number::<f64>(path);
        match &self.files {
            Files::Power(power) => Some(number(power)? / 1e6),
            Files::CurrentAndVoltage(current, voltage) => {
                Some(number(current)? * number(voltage)? / 1e6)
            }
        }
    }
}

impl Probe for Sensors {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let each = self.0.iter().filter_map(|sensor| {
            Some(readings(
                &sensor.subject,
                &[(sensor.name, Gauge, sensor.watts()?)],
            ))
        });
        Ok(each.collect::<Vec<_>>().concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailmark_testing::recorded;

    fn found(root: &Path) -> Vec<(String, String, f64)> {
        let readings = Sensors(open(root)).sample().unwrap().into_iter();
        readings.map(|r| (r.subject, r.name, r.value)).collect()
    }

    #[test]
    fn sensors_say_what_they_cover() {
        let root = recorded(include_str!("../../tests/power/hwmon.txt"));
        let expected = [
            ("hwmon0 power_meter power1", SERVER_POWER, 312.0),
            ("hwmon2 dps920ab power1", PART_POWER, 160.5),
            ("hwmon2 dps920ab power2", PART_POWER, 148.0),
            ("hwmon3 amdgpu power1", PART_POWER, 35.0),
            ("hwmon4 ltc2945 curr1", PART_POWER, 18.0),
        ];
        let expected = expected.map(|(a, b, watts)| (a.to_owned(), b.to_owned(), watts));
        assert_eq!(found(root.path()), expected);
    }

    #[test]
    fn without_a_meter_the_inputs_of_power_supplies_are_the_server() {
        let root = recorded(
            "hwmon0/name:psu\nhwmon0/power1_label:pin\nhwmon0/power1_input:160000000\n\
             hwmon1/name:psu\nhwmon1/power1_label:pin\nhwmon1/power1_input:150000000\n",
        );
        let found = found(root.path());
        assert!(
            found.iter().all(|(_, name, _)| name == SERVER_POWER),
            "{found:?}"
        );
        assert_eq!(found.iter().map(|(.., watts)| watts).sum::<f64>(), 310.0);
    }

    #[test]
    fn a_sensor_that_does_not_answer_is_left_out() {
        let root = recorded("hwmon0/name:power_meter\nhwmon0/power1_average:\n");
        assert!(Sensors(open(root.path())).sample().unwrap().is_empty());
    }
}
