//! A system: where it is, what is expected of it, and its service.

use super::roles::{COMMAND, HOSTS, PREPARATION, RUN, SYSTEM};
use crate::{
    Accept::{Choice, Count, Flag, FlagOrPath, Paths, Size, Table, Text, Time, Words},
    ClientHost, PlanKey,
    emulate::EMULATIONS,
};

/// The keys of `system`.
pub(super) const SYSTEM_KEYS: &[PlanKey] = &[
    PlanKey::new("system", "name", SYSTEM, Text).about("its name in the report; unique"),
    PlanKey::new("system", "path", SYSTEM, Paths).about(
        "the directory that the database is made in; of a server on this machine: what is \
             watched, one or several",
    ),
    PlanKey::new("system", "device", SYSTEM, Paths).about(
        "the block device that the driver writes itself; of a server: what is watched, devices or \
         NVMe controllers",
    ),
    PlanKey::new("system", "contact_points", SYSTEM, Words)
        .about("the contact points of a server: [\"host:port\", ...]"),
    PlanKey::new("system", "ssh", HOSTS, Words).about(
        "where its server runs, one or several, as `ssh` takes them (\"root@db1\"): what is done and \
             sampled there",
    ),
    PlanKey::new("system", "agent", RUN, FlagOrPath)
        .about(
            "whether a small program may be copied to `ssh`, where it samples while it runs; or \
             which, for another processor",
        )
        .or("true"),
    PlanKey::new("system", "placeholder", RUN, Flag)
        .about("its place is an example: nothing is measured until --system NAME=WHERE gives one")
        .or("false"),
    PlanKey::new("system", "ceiling_for", SYSTEM, Text)
        .about("the system whose device ceiling this one measures, in the same place"),
    PlanKey::new("system", "optional", RUN, Flag)
        .about("left out with a message where its place is missing or too small")
        .or("false"),
    PlanKey::new("system", "database", SYSTEM, Table)
        .about("keys of [database] that differ for this system"),
    PlanKey::new("system", "service", COMMAND, Table).about("what is stopped and started around its points"),
    PlanKey::new("system", "expect", PREPARATION, Table)
        .about("what its place must be, looked up before anything is measured"),
    PlanKey::new("system", "prepare", PREPARATION, Table)
        .about("what is done to its devices before it is measured; what differs from [prepare]"),
];

/// The keys of `device`.
pub(super) const DEVICE_KEYS: &[PlanKey] = &[
    PlanKey::new("device", "emulate", SYSTEM, Choice(EMULATIONS))
        .about("an emulated device instead of one: a volume with limits; needs root"),
    PlanKey::new("device", "size", SYSTEM, Size(16 << 20, 1 << 50)).about("its bytes"),
    PlanKey::new("device", "iops", SYSTEM, Count(1, 100_000_000))
        .about("requests per second, reads and writes together; none: no limit"),
    PlanKey::new("device", "bandwidth", SYSTEM, Text)
        .about("bytes per second, reads and writes together: \"125MB/s\"; none: no limit"),
    PlanKey::new("device", "burst", SYSTEM, Count(1, 100_000_000))
        .about("requests per second as long as it may burst; more than `iops`"),
    PlanKey::new("device", "burst_time", SYSTEM, Time(1.0, 86_400.0))
        .about("how long it may burst after it was idle"),
    PlanKey::new("device", "delay", SYSTEM, Time(0.001, 60.0))
        .about("how long each request waits besides, whole milliseconds; needs nbdkit"),
];

/// The keys of `expect`.
pub(super) const EXPECT_KEYS: &[PlanKey] = &[
    PlanKey::new("expect", "mount", PREPARATION, Flag)
        .about("whether its place is on a mount point of its own, not on the root file system")
        .or("false"),
    PlanKey::new("expect", "filesystem", PREPARATION, Text)
        .about("the type of the file system: xfs, ext4"),
    PlanKey::new("expect", "mount_options", PREPARATION, Words)
        .about("options that it is mounted with: [\"noatime\"]"),
    PlanKey::new("expect", "model", PREPARATION, Text)
        .about("what the device's model contains, in whichever case"),
    PlanKey::new("expect", "capacity", PREPARATION, Size(1, 1 << 60))
        .about("the device's capacity, within 1 %"),
    PlanKey::new(
        "expect",
        "transport",
        PREPARATION,
        Choice(tailmark_model::TRANSPORTS),
    )
    .about("how the device is attached"),
    PlanKey::new(
        "expect",
        "client_host",
        PREPARATION,
        Choice(ClientHost::NAMES),
    )
    .about("whether the server is on another machine than its clients, or on the same"),
    PlanKey::new("expect", "version", PREPARATION, Text)
        .about("what the version of the embedded database begins with; always a finding"),
];

/// The keys of `service`.
pub(super) const SERVICE_KEYS: &[PlanKey] = &[
    PlanKey::new("service", "systemd", COMMAND, Text).about("the unit of systemd that it is"),
    PlanKey::new("service", "start", COMMAND, Text)
        .about("a command that starts it, or is the server"),
    PlanKey::new("service", "stop", COMMAND, Text)
        .about("a command that stops it; none: what `start` runs is terminated"),
    PlanKey::new("service", "ready", COMMAND, Text)
        .about("a command that succeeds when it is ready; none: the database is asked"),
    PlanKey::new("service", "log", RUN, Text).about("its log, whose end errors show"),
];
