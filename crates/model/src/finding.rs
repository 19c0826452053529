//! Findings, which qualify numbers, and the table of all their codes.
//!
//! Rules, drivers, imports and the measured path create findings. Exit codes, reports and scripts
//! look them up by code. So the codes are defined here, below all of them. docs/FINDINGS.md says
//! for each when it applies and what to do about it.

use crate::{Observation, Sentence, observation, printable};
use serde::{Deserialize, Serialize};

/// A remark that qualifies a number and is shown next to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The name of a row of [`FINDINGS`], or [`UNKNOWN`] for any other code in a study.
    pub code: String,
    /// What was seen and the remedy, in one or two sentences. `{name}` is a gap for the values of
    /// that name.
    #[serde(rename = "text")]
    pub wording: String,
    /// What was seen.
    #[serde(default)]
    pub evidence: Vec<Observation>,
}

impl Finding {
    /// What was seen and the remedy, in one or two sentences.
    #[must_use]
    pub fn text(&self) -> String {
        observation::filled(&self.wording, &self.evidence)
    }
}

/// The type of a finding: a row of [`FINDINGS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingCode {
    /// The stable name, for example `client-saturated`.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// What it means for the numbers, and what to do about it; two sentences.
    pub means: &'static str,
    /// Whether the finding can change which system leads, because it affects ops/s or the compared
    /// metric. Other findings qualify single values.
    pub changes_headline: bool,
}

impl FindingCode {
    /// A finding with this code.
    #[must_use]
    pub fn finding(&self, sentence: impl Into<Sentence>) -> Finding {
        let Sentence { wording, evidence } = sentence.into();
        Finding {
            code: self.name.to_owned(),
            wording,
            evidence,
        }
    }

    /// Whether a finding has this code.
    #[must_use]
    pub fn is_of(&self, finding: &Finding) -> bool {
        finding.code == self.name
    }

    /// Whether one of the findings has this code.
    #[must_use]
    pub fn is_among(&self, findings: &[Finding]) -> bool {
        findings.iter().any(|finding| self.is_of(finding))
    }
}

/// The code with a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static FindingCode> {
    FINDINGS.iter().find(|code| code.name == name)
}

/// A finding as stored in a study. Codes become file names and addresses, so only codes of
/// [`FINDINGS`] are accepted. Any other code becomes part of the text.
#[must_use]
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
    BACKGROUND_ERRORS {
        name: "background-errors",
        about: "flushes or compactions failed during the point",
        means: "Flushes or compactions failed while the point was measured, so the database did less \
                work than it owes. Find the cause, and measure the point again.",
        changes_headline: true,
    }
    BUFFERED_IO {
        name: "buffered-io",
        about: "reads and writes went through the page cache",
        means: "Reads may have come from memory, not from the device. Use a file system that takes \
                O_DIRECT.",
        changes_headline: true,
    }
    CACHES_NOT_DROPPED {
        name: "caches-not-dropped",
        about: "the caches of the point before were kept",
        means: "Part of the reads may have come from memory that was filled before the point, not \
                from the device. Have them dropped, as the evidence says.",
        changes_headline: true,
    }
    CENSORED {
        name: "censored",
        about: "operations were due and never done",
        means: "Operations that were due were never done, so latencies are at least what is stated \
                (≥). Find out where the system hung; use more clients or a lower rate.",
        changes_headline: true,
    }
    CLIENT_SATURATED {
        name: "client-saturated",
        about: "the clients' own threads filled the processors",
        means: "The clients, with what an embedded database does in their threads, were the limit, so \
                faster storage could not have shown it. Use fewer threads, more processors or smaller caches.",
        changes_headline: true,
    }
    CLIENT_STOPPED {
        name: "client-stopped",
        about: "the clients' process was stopped during the point",
        means: "Nothing was sent while the process was stopped, so the numbers are not those of the \
                storage, and the point is no peak. Keep the process and its machine running, and \
                measure the point again.",
        changes_headline: true,
    }
    CLOCK_SKEW {
        name: "clock-skew",
        about: "the ranks of a run began or counted their seconds more than 1 ms apart",
        means: "Values of single seconds are blurred by as much; latencies are not. Leave processors to \
                the ranks, and let their clocks be kept by the same time service.",
        changes_headline: false,
    }
    CLOCK_STEPPED {
        name: "clock-stepped",
        about: "the wall clock was set during the point",
        means: "Times of day are wrong by the step; latencies are not affected. Let the clock settle \
                before measuring.",
        changes_headline: false,
    }
    DATA_ADOPTED {
        name: "data-adopted",
        about: "another program loaded the data set",
        means: "What was loaded, and how, is known from a sample alone. Load the data set with \
                tailmark where that matters.",
        changes_headline: false,
    }
    DATA_EVICTED {
        name: "data-evicted",
        about: "the database dropped records, because its memory was full",
        means: "Records that were loaded are not there any more, and reads of them miss. Give the \
                database more memory, or load fewer records.",
        changes_headline: true,
    }
    DATABASE_SATURATED {
        name: "database-saturated",
        about: "the database's own work filled the processors of the clients' machine",
        means: "The number is about those processors, not about the storage; what the database needs of them is \
                a cost of the system. Use more processors, or clients on another machine than the server's.",
        changes_headline: true,
    }
    DEVICE_THROTTLED {
        name: "device-throttled",
        about: "a drive says that it was too hot and slowed itself down",
        means: "The drive did less than it can. Cool it, or measure for as long as it can be kept cool in \
                production.",
        changes_headline: true,
    }
    ERRORS {
        name: "errors",
        about: "requests failed",
        means: "Requests failed; they are timed apart and are not in ops/s. Find the cause before \
                using these numbers.",
        changes_headline: true,
    }
    FEW_OPERATIONS {
        name: "few-operations",
        about: "each client did so few operations that the edges of the measured time matter",
        means: "The measured time began and ended within an operation of each client, so ops/s may be \
                off by one operation of each. Measure longer, or with fewer clients.",
        changes_headline: true,
    }
    FITS_IN_MEMORY {
        name: "fits-in-memory",
        about: "the data set fits in memory or in the cache",
        means: "Most reads did not reach the device, so memory is what was measured. Use more \
                records, a smaller cache, direct reads or machine.memory_limit.",
        changes_headline: true,
    }
    LENGTH_UNKNOWN {
        name: "length-unknown",
        about: "the results that were imported do not say how long they took",
        means: "The rate is as it was published; how long it held is not known. Import results that \
                say it where there are some.",
        changes_headline: false,
    }
    LINK_DEGRADED {
        name: "link-degraded",
        about: "a device is attached by a slower link than it can use",
        means: "The PCI Express link may be the limit, not the device. Put the device into a slot of \
                its generation and width, and look for errors of the link.",
        changes_headline: true,
    }
    LOAD_RESUMED {
        name: "load-resumed",
        about: "the load was interrupted and went on, or began again",
        means: "The load's numbers are those of its last part alone. Load again where the load \
                itself is of interest.",
        changes_headline: false,
    }
    MACHINE_BUSY {
        name: "machine-busy",
        about: "other programs took the processors of the clients' machine",
        means: "The point was disturbed: clients and database had less of the processors than the machine \
                has. Stop the other programs, and measure the point again.",
        changes_headline: true,
    }
    MEMORY_NOT_LIMITED {
        name: "memory-not-limited",
        about: "the memory limit of the plan was not applied",
        means: "More of the data set was cached than the plan wants. Run as root, or raise the limit.",
        changes_headline: true,
    }
    MISSES {
        name: "misses",
        about: "reads found nothing",
        means: "A read that finds nothing is often cheaper than one that does. Load as many records \
                as are asked for.",
        changes_headline: true,
    }
    NO_ANSWER {
        name: "no-answer",
        about: "the database went away",
        means: "The numbers are those of a database that was going away: no peak, and in no \
                comparison. Find out what became of it, and measure the point again \
                (--retry-failed).",
        changes_headline: true,
    }
    NO_FREE_CLIENT {
        name: "no-free-client",
        about: "no client was free when operations were due",
        means: "Response times include waiting for a client, as the system answered too slowly for \
                so few. Raise sweep.rate_threads, or lower the rate.",
        changes_headline: false,
    }
    NODES_DOWN {
        name: "nodes-down",
        about: "nodes of the cluster took no connection",
        means: "A part of the cluster did the work of all of it. Start the nodes, and measure the \
                point again.",
        changes_headline: true,
    }
    NOT_PERSISTENT {
        name: "not-persistent",
        about: "the database keeps its data in memory alone",
        means: "No storage was measured, and a restart loses the data. Switch on the persistence of \
                the database.",
        changes_headline: true,
    }
    NOT_SETTLED {
        name: "not-settled",
        about: "background work was left over, or failed",
        means: "Background work took device time from the measurement, or from the next. Raise \
                sweep.settle.",
        changes_headline: true,
    }
    NOT_STEADY {
        name: "not-steady",
        about: "the point, or the warm-up before it, was not steady",
        means: "Ops/s, the latency or what writing costs still rose, fell or swung, so the numbers \
                depend on when they were taken. Warm up for longer (sweep.warmup = \"auto\"), or \
                measure for longer.",
        changes_headline: true,
    }
    NOTHING_FOUND {
        name: "nothing-found",
        about: "every read found nothing",
        means: "Nothing was read: no peak, and in no comparison. Check that the data set is where it \
                was loaded, with as many records as are asked for.",
        changes_headline: true,
    }
    OTHER_LOAD {
        name: "other-load",
        about: "a device did what the database did not ask for",
        means: "Something else used the device, so the database had less of it. Stop other programs, or \
                give the test a device of its own.",
        changes_headline: true,
    }
    OTHER_VERSION {
        name: "other-version",
        about: "the embedded database is of another version than the study's",
        means: "The systems can be compared with one another, and not with the numbers of the plan's \
                study. Use the version that the plan names where they are to be compared.",
        changes_headline: false,
    }
    PEAK_ONLY {
        name: "peak-only",
        about: "only a peak was imported, without the thread count that it was reached at",
        means: "The point is compared with other peaks, and at no thread count. Import the whole \
                curve where it was published.",
        changes_headline: false,
    }
    RANK_UNEVEN {
        name: "rank-uneven",
        about: "one rank of a run did less than the others, or was slower",
        means: "What all ranks measured is of unequal clients: the slow one holds the sum down, and \
                its requests are the tail. Find out what slows it down: its machine, its network, its device.",
        changes_headline: true,
    }
    RATE_NOT_MET {
        name: "rate-not-met",
        about: "the target rate was not reached",
        means: "The system did less than what was offered, so its latencies are not those at that \
                rate. Use more clients or a lower rate.",
        changes_headline: true,
    }
    RECORDS_RESHAPED {
        name: "records-reshaped",
        about: "updates before the point have cut records down to the fields that they wrote",
        means: "Records are no longer as they were loaded, so this point reads less than one on a fresh \
                data set. Load again before each point, or let updates merge.",
        changes_headline: true,
    }
    SERVER_CHANGED {
        name: "server-changed",
        about: "what was prepared on a server's host was put back during the point or the load",
        means: "Part of it was measured without the settings that its plan asks for. Measure it again.",
        changes_headline: true,
    }
    SERVER_CLOCK {
        name: "server-clock",
        about: "the clock of a server's host moved against that of the clients",
        means: "Samples from there may be off by a part of that; latencies are the clients' own. Look \
                at what sets the clocks (NTP, PTP).",
        changes_headline: false,
    }
    SERVER_SATURATED {
        name: "server-saturated",
        about: "the processors of a server's host were the limit",
        means: "The number is about those processors, not about the storage. Use more processors there, \
                or data that does not fit into the database's cache.",
        changes_headline: true,
    }
    SERVER_UNWATCHED {
        name: "server-unwatched",
        about: "nothing was sampled on a server's host for a time",
        means: "Latencies are whole; what is said of the server's machine at that point is not. Measure \
                again where that is needed.",
        changes_headline: false,
    }
    SETTINGS_LEFT {
        name: "settings-left",
        about: "the machine has settings that a killed run left",
        means: "The settings of the machine are not its own: a run of tailmark that was killed set them \
                and did not put them back. Run `tailmark restore`, and measure the point again.",
        changes_headline: true,
    }
    SOFTWARE_CRC {
        name: "software-crc",
        about: "checksums are computed without the processor's instruction",
        means: "Reads and loads are slower than the database can be, by about a third. Build with \
                ./dev, on a processor that has the instruction.",
        changes_headline: true,
    }
    STARTED_LATE {
        name: "started-late",
        about: "operations were sent later than due, for want of a free client or processor",
        means: "Response times include a delay that the system may not be to blame for. Use more \
                threads, or less load on the processors.",
        changes_headline: false,
    }
    STEAL {
        name: "steal",
        about: "processors were given to other guests of the machine's host",
        means: "Requests waited for processors that were not there. Use a dedicated host or a larger \
                instance.",
        changes_headline: true,
    }
    STRAGGLER {
        name: "straggler",
        about: "clients had nothing left to send before the last one was done",
        means: "Operations per second are lower by the time in which clients were idle at the end. \
                Use more operations, or a duration instead of them.",
        changes_headline: true,
    }
    SUMMARY_ONLY {
        name: "summary-only",
        about: "the point was imported without its histograms",
        means: "Quantiles that were not written are not known. Import the histograms too.",
        changes_headline: false,
    }
    TOO_FEW_SAMPLES {
        name: "too-few-samples",
        about: "too few samples for a high quantile",
        means: "A quantile with fewer than 10 samples beyond it is chance, and is not printed. Run \
                longer, or with more operations.",
        changes_headline: false,
    }
    UNEQUAL_CONDITIONS {
        name: "unequal-conditions",
        about: "what is compared was measured under conditions that differ",
        means: "What differs besides what is compared may be why the numbers do. Measure again with \
                one thing changed at a time.",
        changes_headline: true,
    }
    UNEXPECTED {
        name: "unexpected",
        about: "the system is not what the plan expects",
        means: "The device, the file system, the host or the version is another one than the plan \
                says, so the numbers are not of what its title names. Give the place that is meant, or \
                take the expectation out of the plan.",
        changes_headline: true,
    }
    UNKNOWN {
        name: "unknown",
        about: "the study has a finding that this version of tailmark does not know",
        means: "Another version or another program wrote it, so what it means for the numbers is not \
                known. Read its text, or report the study with the version that wrote it.",
        changes_headline: true,
    }
    VOLUME_CAPPED {
        name: "volume-capped",
        about: "a cloud volume was held to its limit, or to that of its instance",
        means: "What was measured is what was bought, not what the storage can do. Buy more, or compare \
                volumes at the same limit.",
        changes_headline: true,
    }
    WOKEN_LATE {
        name: "woken-late",
        about: "clients that waited for an operation were woken late",
        means: "Response times include a delay of the clients' own machine. Use fewer clients, more \
                processors or an idle machine.",
        changes_headline: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_sorted_and_described_in_one_line() {
        assert!(FINDINGS.is_sorted_by(|a, b| a.name < b.name));
        for code in FINDINGS {
            assert!(!code.about.is_empty() && !code.about.contains('\n'));
            assert!(code.means.ends_with('.') && !code.means.contains('\n'));
            assert_eq!(find(code.name), Some(code));
        }
    }

    #[test]
    fn every_code_is_documented_and_no_other() {
        let document = include_str!("../../../docs/FINDINGS.md");
        let documented = document.lines().filter_map(|line| {
            let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
            Some((name, rest.split_once(" |")?.0))
        });
        let codes = FINDINGS.iter().map(|code| {
            let changes_headline = if code.changes_headline { "yes" } else { "no" };
            (code.name, changes_headline)
        });
        assert_eq!(documented.collect::<Vec<_>>(), codes.collect::<Vec<_>>());
    }
}
