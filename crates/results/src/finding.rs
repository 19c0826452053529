//! What qualifies a number: a finding, and every code that one may have, as one table.
//!
//! Rules, drivers, imports and the measured path give findings; exit codes, reports and scripts
//! find them by their code. So the codes stand here, below all of them. docs/FINDINGS.md says of
//! each when it applies and what to do about it.

use serde::{Deserialize, Serialize};

/// Something that qualifies a number, shown beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The name of a row of [`FINDINGS`]; in a study of another version, of a row that it had.
    pub code: String,
    /// The evidence and the remedy, in one or two sentences.
    pub text: String,
}

/// What a finding is of: a row of [`FINDINGS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingCode {
    /// The stable word to find it by, for example `client-saturated`.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
}

impl FindingCode {
    /// A finding with this code.
    #[must_use]
    pub fn finding(&self, text: impl Into<String>) -> Finding {
        Finding {
            code: self.name.to_owned(),
            text: text.into(),
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

/// Every code, sorted by name.
pub const FINDINGS: &[FindingCode] = &[
    BACKGROUND_ERRORS,
    BUFFERED_IO,
    CACHES_NOT_DROPPED,
    CENSORED,
    CLIENT_SATURATED,
    CLOCK_STEPPED,
    DATA_ADOPTED,
    ERRORS,
    FITS_IN_MEMORY,
    LENGTH_UNKNOWN,
    LOAD_RESUMED,
    MEMORY_NOT_LIMITED,
    MISSES,
    NO_ANSWER,
    NO_FREE_CLIENT,
    NODES_DOWN,
    NOT_SETTLED,
    NOTHING_FOUND,
    OTHER_VERSION,
    PEAK_ONLY,
    RATE_NOT_MET,
    SOFTWARE_CRC,
    STARTED_LATE,
    STRAGGLER,
    SUMMARY_ONLY,
    TOO_FEW_SAMPLES,
    UNEQUAL_CONDITIONS,
    WOKEN_LATE,
];

/// Flushes or compactions failed during the point.
pub const BACKGROUND_ERRORS: FindingCode = FindingCode {
    name: "background-errors",
    about: "flushes or compactions failed during the point",
};

/// Reads and writes went through the page cache.
pub const BUFFERED_IO: FindingCode = FindingCode {
    name: "buffered-io",
    about: "reads and writes went through the page cache",
};

/// The caches of the point before were kept.
pub const CACHES_NOT_DROPPED: FindingCode = FindingCode {
    name: "caches-not-dropped",
    about: "the caches of the point before were kept",
};

/// Operations were due and never done.
pub const CENSORED: FindingCode = FindingCode {
    name: "censored",
    about: "operations were due and never done",
};

/// The processors were the limit, not the storage.
pub const CLIENT_SATURATED: FindingCode = FindingCode {
    name: "client-saturated",
    about: "the processors were the limit, not the storage",
};

/// The wall clock was set during the point.
pub const CLOCK_STEPPED: FindingCode = FindingCode {
    name: "clock-stepped",
    about: "the wall clock was set during the point",
};

/// The data set was loaded by somebody else.
pub const DATA_ADOPTED: FindingCode = FindingCode {
    name: "data-adopted",
    about: "the data set was loaded by somebody else",
};

/// Requests failed.
pub const ERRORS: FindingCode = FindingCode {
    name: "errors",
    about: "requests failed",
};

/// The data set fits in memory or in the cache.
pub const FITS_IN_MEMORY: FindingCode = FindingCode {
    name: "fits-in-memory",
    about: "the data set fits in memory or in the cache",
};

/// The results that were imported do not say how long they took.
pub const LENGTH_UNKNOWN: FindingCode = FindingCode {
    name: "length-unknown",
    about: "the results that were imported do not say how long they took",
};

/// The load was interrupted and went on, or began again.
pub const LOAD_RESUMED: FindingCode = FindingCode {
    name: "load-resumed",
    about: "the load was interrupted and went on, or began again",
};

/// The memory limit of the plan was not applied.
pub const MEMORY_NOT_LIMITED: FindingCode = FindingCode {
    name: "memory-not-limited",
    about: "the memory limit of the plan was not applied",
};

/// Reads found nothing.
pub const MISSES: FindingCode = FindingCode {
    name: "misses",
    about: "reads found nothing",
};

/// The database went away.
pub const NO_ANSWER: FindingCode = FindingCode {
    name: "no-answer",
    about: "the database went away",
};

/// No client was free when operations were due.
pub const NO_FREE_CLIENT: FindingCode = FindingCode {
    name: "no-free-client",
    about: "no client was free when operations were due",
};

/// Nodes of the cluster took no connection.
pub const NODES_DOWN: FindingCode = FindingCode {
    name: "nodes-down",
    about: "nodes of the cluster took no connection",
};

/// Background work was left over, or failed.
pub const NOT_SETTLED: FindingCode = FindingCode {
    name: "not-settled",
    about: "background work was left over, or failed",
};

/// Every read found nothing.
pub const NOTHING_FOUND: FindingCode = FindingCode {
    name: "nothing-found",
    about: "every read found nothing",
};

/// The embedded database is of another version than the study's.
pub const OTHER_VERSION: FindingCode = FindingCode {
    name: "other-version",
    about: "the embedded database is of another version than the study's",
};

/// Only a peak was imported, without the thread count that it was reached at.
pub const PEAK_ONLY: FindingCode = FindingCode {
    name: "peak-only",
    about: "only a peak was imported, without the thread count that it was reached at",
};

/// The target rate was not reached.
pub const RATE_NOT_MET: FindingCode = FindingCode {
    name: "rate-not-met",
    about: "the target rate was not reached",
};

/// Checksums are computed without the processor's instruction.
pub const SOFTWARE_CRC: FindingCode = FindingCode {
    name: "software-crc",
    about: "checksums are computed without the processor's instruction",
};

/// Operations were sent later than due, for want of a free client or processor.
pub const STARTED_LATE: FindingCode = FindingCode {
    name: "started-late",
    about: "operations were sent later than due, for want of a free client or processor",
};

/// Clients had nothing left to send before the last one was done.
pub const STRAGGLER: FindingCode = FindingCode {
    name: "straggler",
    about: "clients had nothing left to send before the last one was done",
};

/// The point was imported without its histograms.
pub const SUMMARY_ONLY: FindingCode = FindingCode {
    name: "summary-only",
    about: "the point was imported without its histograms",
};

/// Too few samples for a high quantile.
pub const TOO_FEW_SAMPLES: FindingCode = FindingCode {
    name: "too-few-samples",
    about: "too few samples for a high quantile",
};

/// What is compared was measured under conditions that differ.
pub const UNEQUAL_CONDITIONS: FindingCode = FindingCode {
    name: "unequal-conditions",
    about: "what is compared was measured under conditions that differ",
};

/// Clients that waited for an operation were woken late.
pub const WOKEN_LATE: FindingCode = FindingCode {
    name: "woken-late",
    about: "clients that waited for an operation were woken late",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_sorted_and_described_in_one_line() {
        assert!(FINDINGS.is_sorted_by(|a, b| a.name < b.name));
        for code in FINDINGS {
            assert!(!code.about.is_empty() && !code.about.contains('\n'));
            assert_eq!(find(code.name), Some(code));
        }
    }

    #[test]
    fn every_code_is_documented_and_no_other() {
        let document = include_str!("../../../docs/FINDINGS.md");
        let documented = document.lines().filter_map(|line| {
            let (name, _) = line.strip_prefix("| `")?.split_once("` |")?;
            Some(name)
        });
        let names: Vec<_> = FINDINGS.iter().map(|code| code.name).collect();
        assert_eq!(documented.collect::<Vec<_>>(), names);
    }
}
