//! Settings for the machine: `[machine]`.

use super::{
    place::absolute,
    roles::{COMMAND, EVERY_POINT, RUN},
    service::shown,
};
use crate::{
    Accept::{Choice, Number, Size, Text, Words},
    DropCaches, Error, PlanKey,
    reader::TableReader,
    units::times,
};
use bytesize::ByteSize;
use std::{path::PathBuf, time::Duration};

/// The keys of `machine`.
pub(super) const MACHINE_KEYS: &[PlanKey] = &[
    PlanKey::new(
        "machine",
        "memory_limit",
        EVERY_POINT,
        Size(16 << 20, 1 << 50),
    )
    .about("memory of the run, page cache included")
    .sets(|plan| Some(plan.machine.memory_limit?.to_string())),
    PlanKey::new(
        "machine",
        "drop_caches",
        EVERY_POINT,
        Choice(DropCaches::NAMES),
    )
    .about("drop caches before each point; always: also for a server that the plan does not start")
    .or("true")
    .sets(|plan| Some(plan.machine.drop_caches.name().to_owned())),
    PlanKey::new("machine", "probes", EVERY_POINT, Words)
        .about("extra probes; with `none`, only those listed")
        .flag(27, "--probe", "NAMES")
        .help("Extra probes; none: no others (`tailmark list probes`)")
        .sets(|plan| {
            let probes = &plan.machine.probes;
            (!probes.is_empty()).then(|| probes.join(", "))
        }),
    PlanKey::new("machine", "power_command", COMMAND, Text)
        .about("command that prints the watts of a whole server (IPMI, Redfish)")
        .sets(|plan| Some(shown(&plan.machine.power_words()?))),
    PlanKey::new("machine", "power_log", RUN, Text)
        .about("CSV file of a wall meter: time (seconds, or RFC 3339 with its zone), watts"),
    PlanKey::new("machine", "idle_seconds", RUN, Number(1.0, 3_600.0))
        .about("seconds of idle power to measure before the first point of each system"),
];

/// `--scale` does not reduce a memory limit below this. The program, its clients and the write
/// buffers of a database are not scaled and need about this much.
const MEMORY_LIMIT_FLOOR: u64 = 512 << 20;

/// Settings for the machine.
#[derive(Debug, Clone, Default)]
pub struct MachinePlan {
    /// Bytes of memory that the run may use, including the page cache.
    pub memory_limit: Option<u64>,
    /// The scaled limit, if it is less than a run needs.
    pub memory_limit_scaled: Option<u64>,
    /// Whose caches are dropped before each point.
    pub drop_caches: DropCaches,
    /// Additional probes. With `none`, the default probes are off.
    pub probes: Vec<String>,
    /// A command for the shell that prints the power of the server, watts.
    pub power_command: Option<String>,
    /// The log of a wall meter.
    pub power_log: Option<PathBuf>,
    /// How long idle power is measured.
    pub idle: Option<Duration>,
}

impl MachinePlan {
    pub(crate) fn read(reader: &TableReader<'_>, scale: f64) -> Result<Self, Error> {
        let given: Option<u64> = reader.optional("memory_limit")?;
        let scaled = given.map(|bytes| times(bytes, scale));
        let min = given.map(|bytes| bytes.min(MEMORY_LIMIT_FLOOR));
        let log: Option<String> = reader.optional("power_log")?;
        let log = log.map(|log| absolute(reader, "power_log", &log));
        let idle: Option<f64> = reader.optional("idle_seconds")?;
        Ok(Self {
            memory_limit: scaled.max(min),
            memory_limit_scaled: scaled.filter(|_| scaled < min),
            drop_caches: reader.get("drop_caches")?,
            probes: reader.optional("probes")?.unwrap_or_default(),
            power_command: reader.optional("power_command")?,
            power_log: log.transpose()?,
            idle: idle.map(Duration::from_secs_f64),
        })
    }

    /// The words of the command that prints the power of the server.
    #[must_use]
    pub fn power_words(&self) -> Option<Vec<String>> {
        let command = self.power_command.clone()?;
        Some(vec!["sh".to_owned(), "-c".to_owned(), command])
    }

    /// The warning if the memory limit is less than a run may need for itself.
    #[must_use]
    pub fn too_little(&self) -> Option<String> {
        let needed = MEMORY_LIMIT_FLOOR;
        let limit = self.memory_limit.filter(|limit| *limit < needed)?;
        Some(format!(
            "machine.memory_limit is {}, but tailmark itself may need {}: the kernel kills a run \
             that exceeds its limit",
            ByteSize(limit),
            ByteSize(needed)
        ))
    }

    /// The notice if the memory limit was scaled less than the data.
    #[must_use]
    pub fn limit_notice(&self) -> Option<String> {
        let (limit, scaled) = self.memory_limit.zip(self.memory_limit_scaled)?;
        Some(format!(
            "machine.memory_limit is {}, not {} as scaled, because a run needs that much. More of \
             the data fits in it than at full scale",
            ByteSize(limit),
            ByteSize(scaled)
        ))
    }
}
