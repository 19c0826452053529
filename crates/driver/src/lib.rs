//! The interface of a database, and all databases.
//!
//! The contract is deliberately small: one request is an [`Operation`], one client's connection is
//! a [`Session`], an open database is a [`Database`], and a [`Driver`] is a row of [`db::DRIVERS`]
//! that opens one. Nothing here knows a clock, a workload or a study.

mod allocator;
mod data;
pub mod db;
mod driver;
mod error;
#[cfg(feature = "rocksdb")]
mod held;
mod hint;
mod input;
mod location;
mod locked_file;
mod look;
mod made;
mod net;
mod operation;
mod parts;
mod place_text;
mod session;
mod settings;
mod virtual_clock;
mod wake_queue;

pub use allocator::{allocator_facts, allocator_remark};
pub use data::{DataSet, Schema};
pub use driver::{
    Access, Clients, Confirm, DataFiles, Driver, Identity, Params, Place, Semantics, ServerLook,
    SnapshotStep,
};
pub use error::Error;
pub use hint::did_you_mean;
pub use input::{INPUT_BYTES_MAX, open_file, read_file, read_stream, read_text, read_text_stream};
pub use location::{Location, is_rocksdb, of_another_user};
pub use locked_file::LockedFile;
pub use look::ServerContents;
pub use made::Made;
pub use net::HostPort;
pub use operation::{Direction, Fields, Key, Keys, Operation, OperationKind, Special, Values};
pub use parts::{PARTS, Part, PartGroup, PartRow, Parts};
pub use session::{
    Cause, Completion, Connecting, Database, Failure, FieldVisitor, Outcome, Remark, RemarkCode,
    Reply, Session, Settled, Stage, Statistic, StatisticKind, Stopped,
};
pub use settings::{Setting, SettingKind, Settings};
pub use virtual_clock::VirtualClock;
pub use wake_queue::WakeQueue;
