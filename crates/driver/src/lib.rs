//! What can be asked of a database, and every database.
//!
//! The contract is small on purpose: one request is an [`Operation`], one client's connection is a
//! [`Session`], an open database is a [`Database`], and a [`Driver`] is a row of [`db::DRIVERS`]
//! that opens one. Nothing here knows a clock, a workload or a study.

mod data;
pub mod db;
mod driver;
mod error;
mod operation;
mod session;
mod settings;

pub use data::{DataSet, Schema};
pub use driver::{Clients, Driver, Params, Place, Semantics};
pub use error::Error;
pub use operation::{Direction, Fields, Key, Keys, Kind, Operation, Special, Values};
pub use session::{
    Cause, Completion, Connecting, Database, Failure, Outcome, Remark, Reply, Session, Settled,
    Take,
};
pub use settings::{Setting, SettingKind, Settings, nearest};

/// The client crates under the drivers of servers, for benches that hold those against bare loops.
#[cfg(feature = "aerospike")]
pub use aerospike;
#[cfg(feature = "cassandra")]
pub use scylla;
#[cfg(any(feature = "aerospike", feature = "cassandra"))]
pub use tokio;

/// The bindings under the `rocksdb` driver, and a database that both can be asked for, for benches that
/// hold it against a bare loop.
#[cfg(feature = "rocksdb")]
pub use {db::Bared, rust_rocksdb};
