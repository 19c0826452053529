//! Prepares devices: what may be erased, and the steps that do it.
//!
//! A [`Target`] is a device that a plan names and that was found. A [`Claim`] is one that is open
//! and held, after no row of [`GUARDS`] objected. Destructive steps take a claim and nothing else.
//! In doubt a device is left alone: a wrong erase is the worst that this program can do.

mod change;
mod claim;
mod command;
mod data;
mod emulate;
mod erase;
mod error;
mod file_system;
mod guard;
mod identity;
mod in_use;
mod ioctl;
mod job;
mod journal;
mod left;
mod log;
#[cfg(test)]
mod mutations;
mod namespaces;
mod nvme;
mod place;
mod precondition;
mod raw;
mod real_path;
mod setting;
mod signature;
mod state;
mod steady;
mod steps;
mod tag;
mod uses;
mod watch;

pub use claim::Claim;
pub use command::shell_line;
pub use emulate::{Volume, emulate, emulated_file, plan_emulate, remove_emulated};
pub use erase::Erase;
pub use error::{Error, Objection};
pub use file_system::{FILE_SYSTEMS, FileSystem, file_system_on, is_mounted_on, mount, unmount};
pub use guard::{Asks, Consent, GUARDS, Guard, Reach};
pub use identity::{Identity, Target};
pub use job::{CompletedStep, DeviceRequest, Job, JobRequest, MachineRequest, StepResult};
pub use journal::Journal;
pub use left::{LeftChanges, RESTORE};
pub use log::append_to_log;
pub use precondition::precondition;
pub use raw::RawDevice;
pub use real_path::real_path;
pub use setting::{Kernel, Setting};
pub use signature::Signature;
pub use state::JOURNAL_DIRECTORY;
pub use steady::{Mix, Over, steady_device};
pub use steps::{Changes, PrepareStep, STEPS};
pub use uses::{Unseen, Uses};
pub use watch::{Log, Unwatched, Watch};

use file_system::{mount_command, unmount_command};
use namespaces::{make_namespaces, plan_namespaces};
use precondition::plan_precondition;
use signature::LABEL;
use steady::{plan_steady, steady_file};
