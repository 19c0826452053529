//! Findings, which qualify numbers, and the table of all their codes.
//!
//! Rules, drivers, imports and the measured path create findings. Exit codes, reports and scripts
//! look them up by code. So the codes are defined here, below all of them. docs/FINDINGS.md
//! has the limits beyond which they apply.

mod code;

pub use code::{Finding, FindingCode};

use crate::printable;

/// Evidence of `background-rate-not-met`: the kinds that too few background clients sent late.
pub const LATE_KINDS: &str = "Sent late";

/// The code with a name.
pub fn find(name: &str) -> Option<&'static FindingCode> {
    FINDINGS.iter().find(|code| code.name == name)
}

/// A finding as stored in a study. Codes become file names and addresses, so only codes of
/// [`FINDINGS`] are accepted. Any other code becomes part of the text.
pub fn known(finding: Finding) -> Finding {
    if find(&finding.code).is_some() {
        return finding;
    }
    Finding {
        code: UNKNOWN.name.to_owned(),
        wording: format!("{} (`{}`)", finding.wording, printable(&finding.code)),
        evidence: finding.evidence,
    }
}

/// Defines each row as a constant of its name, and [`FINDINGS`] with all rows in order.
macro_rules! findings {
    ($($constant:ident {
        name: $name:literal,
        about: $about:literal,
        means: $means:literal,
        changes_headline: $changes_headline:literal,
    })*) => {
        $(
            #[doc = $about]
            pub const $constant: FindingCode = FindingCode {
                name: $name,
                about: $about,
                means: $means,
                changes_headline: $changes_headline,
            };
        )*

        /// Every code, sorted by name.
        pub const FINDINGS: &[FindingCode] = &[$($constant),*];
    };
}

findings! {
    ALLOCATOR_SETTINGS {
        name: "allocator-settings",
        about: "the memory allocator had settings from outside",
        means: "Speed and memory are not those of other machines, whose allocator has its default \
                settings. Unset MALLOC_CONF and remove /etc/malloc.conf, unless they are what you \
                measure.",
        changes_headline: true,
    }
    BACKGROUND_ERRORS {
        name: "background-errors",
        about: "flushes or compactions failed during the point",
        means: "Flushes or compactions failed while the point was measured, so the database did \
                less work than it should have. Find the cause, and measure the point again.",
        changes_headline: true,
    }
    BACKGROUND_RATE_NOT_MET {
        name: "background-rate-not-met",
        about: "background clients did not keep their rate",
        means: "Background clients did less than their rate, so the load beside the point was \
                lighter than planned, and response times of their requests grow with the length of \
                the point. Use a lower background rate or more background clients.",
        changes_headline: true,
    }
    BUFFERED_IO {
        name: "buffered-io",
        about: "reads and writes went through the page cache",
        means: "Reads may have come from memory, not from the device. Use a file system that \
                supports O_DIRECT.",
        changes_headline: true,
    }
    CACHES_NOT_DROPPED {
        name: "caches-not-dropped",
        about: "caches were not dropped before the point",
        means: "Some reads may have come from memory that was filled before the point, not from \
                the device. Follow the evidence to have the caches dropped.",
        changes_headline: true,
    }
    CENSORED {
        name: "censored",
        about: "operations were due but never done",
        means: "Some operations that were due were never done, so the latencies are lower bounds \
                (≥). Find out where the system hung, or use more clients or a lower rate.",
        changes_headline: true,
    }
    CLIENT_SATURATED {
        name: "client-saturated",
        about: "the clients' own threads filled the processors",
        means: "The clients, including the work of an embedded database in their threads, were the \
                limit, so faster storage would not show. Use fewer threads, more processors or \
                smaller caches.",
        changes_headline: true,
    }
    CLIENT_STOPPED {
        name: "client-stopped",
        about: "the clients' process was stopped during the point",
        means: "Nothing was sent while the process was stopped, so the point is excluded from \
                peaks and comparisons. Keep the process and its machine running, and measure the \
                point again.",
        changes_headline: true,
    }
    CLOCK_SKEW {
        name: "clock-skew",
        about: "ranks of a run started, or counted their seconds, more than 1 ms apart",
        means: "Values of single seconds are blurred by that much; latencies are not affected. \
                Leave processors free for the ranks, and use the same time service on all \
                machines.",
        changes_headline: false,
    }
    CLOCK_STEPPED {
        name: "clock-stepped",
        about: "the wall clock was set during the point",
        means: "Times of day are wrong by the step; latencies are not affected. Let the clock settle \
                before measuring.",
        changes_headline: false,
    }
    COARSE_COUNTER {
        name: "coarse-counter",
        about: "a drive's counter rose by few of its steps, or is updated late",
        means: "Values that follow from the counter are stated between bounds, or are absent. \
                Measure longer, or with more writes.",
        changes_headline: false,
    }
    DATA_ADOPTED {
        name: "data-adopted",
        about: "another program loaded the data set",
        means: "tailmark knows the data only from a sample. Load the data set with tailmark if it \
                matters what was loaded, and how.",
        changes_headline: false,
    }
    DATA_EVICTED {
        name: "data-evicted",
        about: "the database evicted records, because its memory was full",
        means: "Some loaded records no longer exist, so reads of them find nothing. Give the \
                database more memory, or load fewer records.",
        changes_headline: true,
    }
    DATABASE_SATURATED {
        name: "database-saturated",
        about: "the database's own work filled the processors of the clients' machine",
        means: "The numbers measure those processors, not the storage; the database's processor \
                time is a cost of the system. Use more processors, or run the clients and the \
                server on different machines.",
        changes_headline: true,
    }
    DEVICE_THROTTLED {
        name: "device-throttled",
        about: "a drive reported that it was too hot and slowed down",
        means: "The drive did less than it can. Cool it, or measure it as hot as it will run in \
                production.",
        changes_headline: true,
    }
    ERRORS {
        name: "errors",
        about: "requests failed",
        means: "Requests failed; they are timed separately and are not in ops/s. Find the cause \
                before using these numbers.",
        changes_headline: true,
    }
    FEW_OPERATIONS {
        name: "few-operations",
        about: "clients did so few operations that the edges of the measured time matter",
        means: "The measured time began and ended in the middle of operations, so ops/s may be off \
                by one operation per client. Measure longer, or with fewer clients.",
        changes_headline: true,
    }
    FITS_IN_MEMORY {
        name: "fits-in-memory",
        about: "the data set fits in memory or in the cache",
        means: "Most reads did not reach the device, so the numbers measure memory. Use more \
                records, a smaller cache, direct reads or machine.memory_limit.",
        changes_headline: true,
    }
    IO_URING_REFUSED {
        name: "io-uring-refused",
        about: "RocksDB could not use io_uring, so it read one block after the other",
        means: "The device had fewer reads in flight than the plan asks for. Permit io_uring \
                (Linux 6.1, kernel.io_uring_disabled = 0, a seccomp profile with it), or set \
                async_io = false.",
        changes_headline: true,
    }
    LENGTH_UNKNOWN {
        name: "length-unknown",
        about: "the imported results do not state how long they took",
        means: "The rate is as published, but it is unknown how long it held. Import results with \
                a duration if they exist.",
        changes_headline: false,
    }
    LIFE_EXTRAPOLATED {
        name: "life-extrapolated",
        about: "the life of a drive follows from writes of less than its capacity",
        means: "A drive that was not written over once collects little garbage, and the load may \
                change, so wear and years of life are rough. Measure until the drive's capacity is \
                written, or precondition it.",
        changes_headline: false,
    }
    LINK_DEGRADED {
        name: "link-degraded",
        about: "a device is attached by a slower link than it supports",
        means: "The PCI Express link may be the limit, not the device. Put the device into a slot \
                of its generation and width, and look for link errors.",
        changes_headline: true,
    }
    LOAD_RESUMED {
        name: "load-resumed",
        about: "the load was interrupted, and resumed or restarted",
        means: "The numbers of the load cover only its last part. Load again if you need them.",
        changes_headline: false,
    }
    MACHINE_BUSY {
        name: "machine-busy",
        about: "other programs took the processors of the clients' machine",
        means: "The point was disturbed: clients and database did not have all processors of the \
                machine. Stop the other programs, and measure the point again.",
        changes_headline: true,
    }
    MEMORY_NOT_LIMITED {
        name: "memory-not-limited",
        about: "the memory limit of the plan was not applied",
        means: "More of the data set was cached than the plan allows. Run as root, or raise the \
                limit.",
        changes_headline: true,
    }
    MISSES {
        name: "misses",
        about: "reads found nothing",
        means: "A read that finds nothing is often cheaper than one that finds a record. Load as \
                many records as the workload reads.",
        changes_headline: true,
    }
    NO_ANSWER {
        name: "no-answer",
        about: "the database stopped responding",
        means: "The point is excluded from peaks and comparisons. Find out why the database \
                stopped responding, and measure the point again (--retry-failed).",
        changes_headline: true,
    }
    NO_FREE_CLIENT {
        name: "no-free-client",
        about: "no client was free when operations were due",
        means: "Response times include waiting for a client, because the system answered too \
                slowly for that many clients. Raise sweep.rate_threads, or lower the rate.",
        changes_headline: false,
    }
    NODES_DOWN {
        name: "nodes-down",
        about: "nodes of the cluster accepted no connection",
        means: "Some nodes did the work of the whole cluster. Start the others, and measure the \
                point again.",
        changes_headline: true,
    }
    NOT_PERSISTENT {
        name: "not-persistent",
        about: "the database keeps its data only in memory",
        means: "No storage was measured, and a restart loses the data. Enable the persistence of \
                the database.",
        changes_headline: true,
    }
    NOT_SETTLED {
        name: "not-settled",
        about: "background work was unfinished, or failed",
        means: "Background work took device time from the measurement or the next one, or was left \
                undone. If it was still running, raise sweep.settle.",
        changes_headline: true,
    }
    NOT_STEADY {
        name: "not-steady",
        about: "the point, or the warm-up before it, was not steady",
        means: "Ops/s, latency or the cost of writing still rose, fell or swung, so the numbers \
                depend on when they were taken. Warm up for longer (sweep.warmup = \"auto\"), or \
                measure for longer.",
        changes_headline: true,
    }
    NOTHING_FOUND {
        name: "nothing-found",
        about: "every read, or every scan, found nothing",
        means: "The point is excluded from peaks and comparisons. Check that \
                the data set is where it was loaded, with as many records as the workload reads.",
        changes_headline: true,
    }
    OTHER_LOAD {
        name: "other-load",
        about: "a device did work that the database did not request",
        means: "Another program used the device, so the database had less of it. Stop other \
                programs, or give the test its own device.",
        changes_headline: true,
    }
    OTHER_VERSION {
        name: "other-version",
        about: "the embedded database has another version than the described study",
        means: "The systems can be compared with each other, but not with the numbers of the \
                described study. To compare with them, use the version that the plan names.",
        changes_headline: false,
    }
    PEAK_ONLY {
        name: "peak-only",
        about: "a peak was imported without its thread count",
        means: "The point is compared only with other peaks. Import the whole curve if it was \
                published.",
        changes_headline: false,
    }
    POWER_COVERS_OTHERS {
        name: "power-covers-others",
        about: "a power sensor covers more or other hardware than the system",
        means: "Energy per operation includes what others drew, or leaves out the database's \
                server. Give the system its own machine, or name a sensor of its server.",
        changes_headline: false,
    }
    RANK_UNEVEN {
        name: "rank-uneven",
        about: "one rank of a run did less than the others, or was slower",
        means: "The ranks were unequal: the slow one lowers the sum, and its requests form the \
                tail. Find out what slows it down: its machine, its network or its device.",
        changes_headline: true,
    }
    RATE_NOT_MET {
        name: "rate-not-met",
        about: "the target rate was not reached",
        means: "The system did less than the offered rate, so its latencies do not describe that \
                rate. Use more clients or a lower rate.",
        changes_headline: true,
    }
    RECORDS_RESHAPED {
        name: "records-reshaped",
        about: "updates before the point reduced records to the fields that they wrote",
        means: "Records are smaller than when they were loaded, so this point reads less than a \
                point on a fresh data set. Load again before each point, or let updates merge.",
        changes_headline: true,
    }
    SERVER_CHANGED {
        name: "server-changed",
        about: "settings on a server's host were undone during the point or the load",
        means: "Part of it was measured without the settings of the plan. Measure it again.",
        changes_headline: true,
    }
    SERVER_CLOCK {
        name: "server-clock",
        about: "the clock of a server's host drifted against the clients' clock",
        means: "Samples from there may be off by a part of the drift; the clients measure \
                latencies themselves. Check what sets the clocks (NTP, PTP).",
        changes_headline: false,
    }
    SERVER_SATURATED {
        name: "server-saturated",
        about: "the processors of a server's host were the limit",
        means: "The numbers measure those processors, not the storage. Use more processors there, \
                or data that does not fit into the database's cache.",
        changes_headline: true,
    }
    SERVER_UNWATCHED {
        name: "server-unwatched",
        about: "nothing was sampled on a server's host for a time",
        means: "Latencies are complete; values of the server's machine at that point are not. \
                Measure again if you need them.",
        changes_headline: false,
    }
    SETTINGS_LEFT {
        name: "settings-left",
        about: "the machine has settings that a killed run left",
        means: "A killed run of tailmark changed settings of the machine and did not restore them. \
                Run `tailmark restore`, and measure the point again.",
        changes_headline: true,
    }
    SOFTWARE_CRC {
        name: "software-crc",
        about: "checksums are computed without the processor's instruction",
        means: "Every load and read spends processor time on checksums. Compare such a system only \
                with others that do the same, or use a library that was compiled for the \
                instruction.",
        changes_headline: true,
    }
    STARTED_LATE {
        name: "started-late",
        about: "operations were sent late, because no client or processor was free",
        means: "Response times include a delay that the system may not have caused. Use more \
                threads, or put less load on the processors.",
        changes_headline: false,
    }
    STEAL {
        name: "steal",
        about: "other guests of the machine's host used its processors",
        means: "Requests waited for processors that other guests used. Use a dedicated host or a \
                larger instance.",
        changes_headline: true,
    }
    STRAGGLER {
        name: "straggler",
        about: "clients ran out of operations before the last one finished",
        means: "Clients were idle at the end, which lowers ops/s. Use more operations, or a \
                duration instead.",
        changes_headline: true,
    }
    SUMMARY_ONLY {
        name: "summary-only",
        about: "the point was imported without its histograms",
        means: "Quantiles that the import does not state are unknown. Import the histograms too.",
        changes_headline: false,
    }
    THREADS_ESTIMATED {
        name: "threads-estimated",
        about: "the imported results do not state the number of threads",
        means: "The point may be compared with one of another number of threads. Import again with \
                `--threads`.",
        changes_headline: true,
    }
    TOO_FEW_SAMPLES {
        name: "too-few-samples",
        about: "too few samples for a high quantile",
        means: "A quantile with fewer than 100 samples beyond it is partly left to chance. With \
                fewer than 10 it is not printed. Run longer, or with more operations.",
        changes_headline: false,
    }
    UNEQUAL_CONDITIONS {
        name: "unequal-conditions",
        about: "systems were measured under different conditions",
        means: "The other differences may explain why the numbers differ. Measure again with one \
                thing changed at a time.",
        changes_headline: true,
    }
    UNEQUAL_START {
        name: "unequal-start",
        about: "points that are compared started from different states of the database",
        means: "Earlier points changed the database, so the numbers also depend on the order of the \
                points. Let every point start from the same data (dataset.restore).",
        changes_headline: true,
    }
    UNEXPECTED {
        name: "unexpected",
        about: "the system is not what the plan expects",
        means: "The device, file system, host or version is not what the plan says, so the numbers \
                do not describe what its title names. Give the right place, or remove the \
                expectation from the plan.",
        changes_headline: true,
    }
    UNKNOWN {
        name: "unknown",
        about: "the study has a finding that this version of tailmark does not know",
        means: "Another version or another program wrote it, so its effect on the numbers is \
                unknown. Read its text, or report the study with the version that wrote it.",
        changes_headline: true,
    }
    VOLUME_CAPPED {
        name: "volume-capped",
        about: "a cloud volume was held to its limit, or to that of its instance",
        means: "The numbers show the limit that was bought, not what the storage can do. Buy a \
                higher limit, or compare volumes at the same limit.",
        changes_headline: true,
    }
    WOKEN_LATE {
        name: "woken-late",
        about: "idle clients were woken late for an operation",
        means: "Response times include a delay of the clients' machine. Use fewer clients, more \
                processors or an idle machine.",
        changes_headline: false,
    }
}

#[cfg(test)]
mod tests;
