//! What is done to the machine: `[machine]`, `[prepare]` and a mix that brings a device to steady
//! state.

use super::roles::{EVERY_POINT, PREPARATION};
use crate::{
    Accept::{Choice, Count, Size, Table, Text, Time, Words},
    DropCaches, Error, PlanKey,
    prepare::{ERASES, FILE_SYSTEMS, HUGE_PAGES, NAMESPACES_MAX, STEADY_OVER},
    reader::TableReader,
    units::times,
};
use bytesize::ByteSize;

/// The keys of `machine`.
pub(super) const MACHINE_KEYS: &[PlanKey] = &[
    PlanKey::new(
        "machine",
        "memory_limit",
        EVERY_POINT,
        Size(16 << 20, 1 << 50),
    )
    .about("memory that the run may use, page cache included")
    .sets(|plan| Some(plan.machine.memory_limit?.to_string())),
    PlanKey::new(
        "machine",
        "drop_caches",
        EVERY_POINT,
        Choice(DropCaches::NAMES),
    )
    .about(
        "whether caches are dropped before each point; always: also those of a server that the \
             plan does not start",
    )
    .or("true")
    .sets(|plan| Some(plan.machine.drop_caches.name().to_owned())),
    PlanKey::new("machine", "probes", EVERY_POINT, Words)
        .about("probes beside those that are always sampled; with `none`, they alone")
        .flag(17, "--probe", "NAMES")
        .help("Samples these too; with none, them alone (`tailmark list probes`)")
        .sets(|plan| {
            let probes = &plan.machine.probes;
            (!probes.is_empty()).then(|| probes.join(", "))
        }),
];

/// `--scale` makes no memory limit smaller than this that was larger: the program, its clients and
/// the write buffers of a database, which stay as they are, need about so much.
const MEMORY_LIMIT_FLOOR: u64 = 512 << 20;

/// What is done to the machine.
#[derive(Debug, Clone, Default)]
pub struct MachinePlan {
    /// Bytes of memory that the run may use, page cache included.
    pub memory_limit: Option<u64>,
    /// What `scale` made of it, where that is less than a run needs.
    pub memory_limit_scaled: Option<u64>,
    /// Whose caches are dropped before each point.
    pub drop_caches: DropCaches,
    /// Probes that are sampled beside those that always are; with `none`, they alone.
    pub probes: Vec<String>,
}

impl MachinePlan {
    pub(crate) fn read(reader: &TableReader<'_>, scale: f64) -> Result<Self, Error> {
        let given: Option<u64> = reader.optional("memory_limit")?;
        let scaled = given.map(|bytes| times(bytes, scale));
        let min = given.map(|bytes| bytes.min(MEMORY_LIMIT_FLOOR));
        Ok(Self {
            memory_limit: scaled.max(min),
            memory_limit_scaled: scaled.filter(|_| scaled < min),
            drop_caches: reader.get("drop_caches")?,
            probes: reader.optional("probes")?.unwrap_or_default(),
        })
    }

    /// What is said where the limit of memory is less than a run may need for itself.
    #[must_use]
    pub fn too_little(&self) -> Option<String> {
        let needed = MEMORY_LIMIT_FLOOR;
        let limit = self.memory_limit.filter(|limit| *limit < needed)?;
        Some(format!(
            "machine.memory_limit is {}, and a run may need {} for itself: the kernel kills a run that \
             needs more than its limit",
            ByteSize(limit),
            ByteSize(needed)
        ))
    }

    /// What is said where the limit of memory was not scaled as far as the data.
    #[must_use]
    pub fn limit_notice(&self) -> Option<String> {
        let (limit, scaled) = self.memory_limit.zip(self.memory_limit_scaled)?;
        Some(format!(
            "machine.memory_limit is {} and not {}, as scaled: a run needs so much. A larger part \
             of the data fits in it than at full scale",
            ByteSize(limit),
            ByteSize(scaled)
        ))
    }
}

/// The keys of `prepare`.
pub(super) const PREPARE_KEYS: &[PlanKey] = &[
    PlanKey::new("prepare", "device", PREPARATION, Words).about(
        "of a system: the devices, by /dev/disk/by-id/... or serial:NUMBER; its own `device`",
    ),
    PlanKey::new("prepare", "erase", PREPARATION, Choice(ERASES))
        .about("how they are erased; needs --erase with the serial number of each"),
    PlanKey::new(
        "prepare",
        "namespaces",
        PREPARATION,
        Count(1, NAMESPACES_MAX),
    )
    .about("how many equal NVMe namespaces the drive is split into; needs --erase"),
    PlanKey::new("prepare", "precondition", PREPARATION, Count(1, 10))
        .about("how often the whole device is written in order; needs --erase"),
    PlanKey::new("prepare", "steady", PREPARATION, Table).about(
        "a mix of requests that is sent in rounds until the device is steady; needs --erase",
    ),
    PlanKey::new("prepare", "filesystem", PREPARATION, Choice(FILE_SYSTEMS))
        .about("the file system that is made, which needs --erase, and mounted"),
    PlanKey::new("prepare", "mkfs_options", PREPARATION, Words)
        .about("words for the program that makes it: [\"-m\", \"crc=1\"]"),
    PlanKey::new("prepare", "mount", PREPARATION, Text)
        .about("of a system: the directory where it is mounted, for as long as the run takes"),
    PlanKey::new("prepare", "mount_options", PREPARATION, Words).about("how: [\"noatime\"]"),
    PlanKey::new("prepare", "sysctls", EVERY_POINT, Words)
        .about("values of the kernel, put back afterwards: [\"vm.swappiness=1\"]")
        .sets(|plan| plan.settings.sysctl_text()),
    PlanKey::new("prepare", "governor", EVERY_POINT, Text)
        .about("how processors choose their frequency, put back afterwards: performance")
        .sets(|plan| plan.settings.governor.clone()),
    PlanKey::new("prepare", "huge_pages", EVERY_POINT, Choice(HUGE_PAGES))
        .about("transparent huge pages, put back afterwards")
        .sets(|plan| plan.settings.huge_pages.clone()),
    PlanKey::new(
        "prepare",
        "memory_limit",
        EVERY_POINT,
        Size(1 << 20, 1 << 60),
    )
    .about("memory that the control group of a server may use, put back afterwards")
    .sets(|plan| Some(plan.settings.memory.as_ref()?.0.to_string())),
    PlanKey::new("prepare", "memory_group", EVERY_POINT, Text)
        .about("that group, which there must be: /system.slice/database.slice")
        .sets(|plan| Some(plan.settings.memory.as_ref()?.1.clone())),
];

/// The keys of `steady`.
pub(super) const STEADY_KEYS: &[PlanKey] = &[
    PlanKey::new("steady", "over", PREPARATION, Choice(STEADY_OVER))
        .about("what the requests go to; filesystem: a file in it, removed again")
        .or("device"),
    PlanKey::new("steady", "fill", PREPARATION, Count(1, 95))
        .about("percent of the free room of the file system that the file fills")
        .or("90"),
    PlanKey::new("steady", "read", PREPARATION, Count(0, 100))
        .about("reads of a hundred requests; the others are writes")
        .or("0"),
    PlanKey::new("steady", "block", PREPARATION, Size(4096, 16 << 20))
        .about("bytes of a request, a multiple of 4 KiB")
        .or("4KiB"),
    PlanKey::new("steady", "depth", PREPARATION, Count(1, 1024))
        .about("requests in flight")
        .or("32"),
    PlanKey::new("steady", "round", PREPARATION, Time(1.0, 86_400.0))
        .about("how long a round lasts, of 25 at most")
        .or("1m"),
];
