//! The messages of a connection: a line of JSON for each request and each answer, and lines of
//! samples in between.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tailmark_machine::probe::Reading;
use tailmark_model::{Fact, SeriesKind};
use tailmark_prepare::{CompletedStep, JobRequest};

/// The version of the messages. Both ends must have the same.
pub const PROTOCOL: u32 = 4;

/// The first line of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the protocol that it understands, see [`PROTOCOL`].
    pub protocol: u32,
    /// Its version.
    pub version: String,
    /// The name of its machine.
    pub hostname: String,
    /// The boot identifier: different after each boot and on each machine.
    pub boot_id: String,
    /// Bytes of memory of its machine.
    pub memory: u64,
}

/// A request, which is answered under its number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// A number of its own.
    pub id: u64,
    /// The request.
    pub ask: Ask,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// What its clock says. Answered at once, whatever else it does.
    Time,
    /// Facts about its machine.
    Facts,
    /// Facts about the places of a system.
    PlaceFacts {
        /// The name of the system.
        system: String,
        /// Directories, block devices and NVMe controllers.
        places: Vec<PathBuf>,
    },
    /// Drop the caches of its machine.
    DropCaches,
    /// Sample these probes once a second, or as rarely as each requires, until something else is
    /// watched.
    Watch(WatchRequest),
    /// Sample all that is watched once more, now. The answer comes after the samples.
    Sample,
    /// Sample no more.
    Rest,
    /// What would be prepared there, and all objections. Changes nothing.
    Look(JobRequest),
    /// Prepare devices and the machine, with lines and progress in between. When the connection
    /// ends, everything that can be restored is.
    Prepare {
        /// The job.
        request: JobRequest,
        /// What its lines begin with: "system `A` on db1".
        whose: String,
        /// Whether destructive steps are carried out.
        destroys: bool,
    },
    /// Stop the current preparation. Answered at once.
    Stop,
    /// Restore the preparation's changes, with lines in between.
    PutBack,
}

/// What would be prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// The destructive steps.
    pub destroys: Vec<CompletedStep>,
    /// The devices.
    pub devices: Vec<LookedAt>,
    /// Whether every device may be erased.
    pub is_agreed: bool,
    /// The flags that agree to that.
    pub flags: String,
    /// What speaks against it.
    pub refusals: Vec<String>,
    /// What speaks against the directory that a device is mounted on, whether it is erased or not.
    pub misplaced: Option<String>,
}

/// A device that was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookedAt {
    /// Major and minor number.
    pub number: (u32, u32),
    /// Its serial number; of a loop device the path of its file.
    pub serial: Option<String>,
}

/// The watched items.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchRequest {
    /// The name of the system.
    pub system: String,
    /// Its directories, block devices and NVMe controllers.
    pub places: Vec<PathBuf>,
    /// The contact points of its server, each `host:port`.
    pub hosts: Vec<String>,
    /// The probes, by name.
    pub probes: Vec<String>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// What its clock said, in ns.
    Time {
        /// When the request came.
        received_ns: u64,
        /// When the answer was sent.
        sent_ns: u64,
    },
    /// Facts.
    Facts(Vec<Fact>),
    /// What is sampled from now on.
    Watching {
        /// What cannot be sampled, and why: each a sentence without its stop.
        not_sampled: Vec<String>,
    },
    /// What would be prepared.
    Looked(Looked),
    /// The steps that were carried out.
    Prepared(Vec<CompletedStep>),
    /// So many changes could not be put back.
    Left(usize),
    /// It was done.
    Done,
    /// It could not be done, for this reason.
    Refused(String),
}

/// A line of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// The first one.
    Hello(Hello),
    /// The answer to a request.
    Answer {
        /// The number of the request.
        id: u64,
        /// The answer.
        answer: Answer,
    },
    /// A probe's sample.
    Sample(Sample),
    /// What a probe could not sample: a sentence without a full stop. Sent once.
    NotSampled(String),
    /// A log line during preparation.
    Log(String),
    /// A long step of preparing begins: "system `A` on db1: erase".
    Begins(String),
    /// The progress of that step.
    Progress {
        /// The completed bytes or parts.
        done: u64,
        /// The total.
        total: u64,
    },
}

/// A probe's sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The probe.
    pub probe: String,
    /// When, in ns of the agent's clock.
    pub at_ns: u64,
    /// The names of the values; `None` if they are the same as in the probe's last sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<SampleId>>,
    /// The values, in the same order.
    pub values: Vec<f64>,
}

/// The identity of one value of a sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleId {
    /// The subject: `machine`, a disk.
    pub subject: String,
    /// Its name, unit last.
    pub name: String,
    /// Counter or gauge.
    pub kind: SeriesKind,
}

impl SampleId {
    /// The identity of a reading.
    pub fn from_reading(reading: &Reading) -> Self {
        Self {
            subject: reading.subject.clone(),
            name: reading.name.clone(),
            kind: reading.kind,
        }
    }

    /// Whether a reading has this identity.
    pub fn is_of(&self, reading: &Reading) -> bool {
        self.subject == reading.subject && self.name == reading.name && self.kind == reading.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read_as_it_was_written() {
        let lines = [
            Line::Answer {
                id: 7,
                answer: Answer::Time {
                    received_ns: 1,
                    sent_ns: u64::MAX,
                },
            },
            Line::Sample(Sample {
                probe: "disk".to_owned(),
                at_ns: 5,
                names: Some(vec![SampleId {
                    subject: "nvme0n1".to_owned(),
                    name: "reads".to_owned(),
                    kind: SeriesKind::Counter,
                }]),
                values: vec![0.1 + 0.2],
            }),
            Line::NotSampled("a\nb".to_owned()),
        ];
        for line in lines {
            let text = serde_json::to_string(&line).unwrap();
            assert!(!text.contains('\n'), "{text}");
            assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), line);
        }
    }

    #[test]
    fn a_sample_like_the_one_before_has_its_values_alone() {
        let sample = Sample {
            probe: "cpu".to_owned(),
            at_ns: 1,
            names: None,
            values: vec![1.0, 2.5],
        };
        let text = serde_json::to_string(&Line::Sample(sample)).unwrap();
        let alone = r#"{"sample":{"probe":"cpu","at_ns":1,"values":[1.0,2.5]}}"#;
        assert_eq!(text, alone);
    }
}
