//! The power state of NVMe drives, and the most power that they may draw in it: the feature Power
//! Management (02h) and the power state descriptors of Identify Controller (NVM Express Base
//! Specification 2.0, sections 5.27.1.2 and 5.17.2.1).
//!
//! This is what the vendor states, not a measurement. What a drive draws is in its OCP log, if it
//! has that (`power_w_mean` of `nvme-ocp`).

use super::{
    command::{Command, Data, carry_out},
    drives, number,
};
use crate::{
    Error,
    probe::row::{Probe, ProbeRow, Reading, Target, readings},
};
use rustix::io::Errno;
use std::fs::File;
use tailmark_model::SeriesKind::Gauge;

/// The row of this probe.
pub const PROBE: ProbeRow = ProbeRow {
    name: "nvme-power",
    about: "power state of NVMe drives, and the most that they draw in it by their own statement",
    period_s: 10,
    is_default: true,
    open,
};

const GET_FEATURES: u8 = 0x0A;
const POWER_MANAGEMENT: u32 = 0x02;
const IDENTIFY: u8 = 0x06;
const CONTROLLER: u32 = 1;
const IDENTIFY_BYTES: usize = 4096;
/// Where the first power state is described, and bytes of each description.
const STATES_AT: usize = 2048;
const STATE_BYTES: usize = 32;

struct PowerStates(Vec<Drive>);

struct Drive {
    disk: String,
    device: File,
    identify: Vec<u8>,
}

fn open(target: &Target) -> Result<Option<Box<dyn Probe>>, Error> {
    let mut open = Vec::new();
    for drive in drives(target) {
        let path = format!("/dev/{}", drive.disk);
        let device = File::open(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::PermissionDenied => needs_root(&drive.disk),
            _ => Error::Read {
                path: path.into(),
                source: source.into(),
            },
        })?;
        let mut identify = vec![0; IDENTIFY_BYTES];
        ask(
            &drive.disk,
            &device,
            IDENTIFY,
            CONTROLLER,
            Data::In(&mut identify),
        )?;
        open.push(Drive {
            disk: drive.disk,
            device,
            identify,
        });
    }
    Ok((!open.is_empty()).then(|| Box::new(PowerStates(open)) as Box<dyn Probe>))
}

impl Probe for PowerStates {
    fn sample(&mut self) -> Result<Vec<Reading>, Error> {
        let each = self.0.iter().map(|drive| {
            let result = ask(
                &drive.disk,
                &drive.device,
                GET_FEATURES,
                POWER_MANAGEMENT,
                Data::None,
            )?;
            let state = result & 0x1f;
            let mut values = vec![("power_state", Gauge, f64::from(state))];
            if let Some(watts) = watts_max(&drive.identify, state as usize) {
                values.push(("power_w_max", Gauge, watts));
            }
            Ok(readings(&drive.disk, &values))
        });
        Ok(each.collect::<Result<Vec<_>, Error>>()?.concat())
    }
}

/// The most power of a state, watts; `None` if the drive does not state it.
fn watts_max(identify: &[u8], state: usize) -> Option<f64> {
    let at = STATES_AT + state * STATE_BYTES;
    let most = number(identify, at, 2) as f64;
    // Bit 0 of byte 3: in steps of 0.0001 W instead of 0.01 W.
    let step = if number(identify, at + 3, 1) & 1 == 1 {
        1e-4
    } else {
        1e-2
    };
    (most > 0.0).then_some(most * step)
}

/// Executes a command whose first dword names what is asked for; returns its result.
fn ask(disk: &str, device: &File, opcode: u8, what: u32, data: Data<'_>) -> Result<u32, Error> {
    let command = Command {
        opcode,
        namespace: 0,
        dwords: [what, 0, 0, 0, 0, 0],
        data,
        timeout_ms: 0,
    };
    let failed = |said: String, source| Error::Drive {
        device: disk.to_owned(),
        said,
        source,
    };
    match carry_out(device, command) {
        Ok(answer) if answer.status == 0 => Ok(answer.result),
        Ok(answer) => {
            let status = answer.status;
            Err(failed(
                format!("did not say its power state: status {status:#x}"),
                None,
            ))
        }
        Err(Errno::ACCESS | Errno::PERM) => Err(needs_root(disk)),
        Err(errno) => Err(failed(
            "did not say its power state".to_owned(),
            Some(errno.into()),
        )),
    }
}

fn needs_root(disk: &str) -> Error {
    Error::NeedsRoot {
        what: format!("the power state of `{disk}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_has_its_power_in_one_of_two_steps() {
        let mut identify = vec![0; IDENTIFY_BYTES];
        // 25 W in steps of 0.01 W, 12 W likewise, 0.05 W in steps of 0.0001 W, and none stated.
        identify[2048..2050].copy_from_slice(&2_500_u16.to_le_bytes());
        identify[2080..2082].copy_from_slice(&1_200_u16.to_le_bytes());
        identify[2112..2114].copy_from_slice(&500_u16.to_le_bytes());
        identify[2115] = 1;
        let states = [0, 1, 2, 3].map(|state| watts_max(&identify, state));
        assert_eq!(states, [Some(25.0), Some(12.0), Some(0.05), None]);
    }

    #[test]
    fn what_is_no_drive_has_no_power_state() {
        let file = tempfile::tempfile().unwrap();
        let error = ask("sda", &file, GET_FEATURES, POWER_MANAGEMENT, Data::None);
        let error = error.unwrap_err().to_string();
        assert_eq!(error, "`sda` did not say its power state");
    }
}
