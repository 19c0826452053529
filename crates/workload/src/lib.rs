//! Which operations on which keys: workloads, distributions, keys and values.
//!
//! A [`Workload`] is data: a row of [`WORKLOADS`] or one of the user's own. A [`Stream`] is one
//! client's operations drawn from it; the same seed and client draw the same operations. What the
//! clients of a point share is a [`KeySpace`]. Nothing here knows a clock or does I/O, and drawing
//! an operation allocates nothing.

pub mod db_bench;
mod digits;
pub mod distribution;
mod error;
mod form;
pub mod key;
mod keyspace;
mod mix;
mod random;
mod stream;
mod table;
mod value;
mod wave;
mod workload;

pub use distribution::{DISTRIBUTIONS, Distribution};
pub use error::Error;
pub use form::{FieldLengths, Form, LengthHistogram, ValueBytes};
pub use key::{KeyOrder, Naming};
pub use keyspace::KeySpace;
pub use mix::Mix;
pub use stream::{Item, Stream, StreamConfig};
pub use table::{WORKLOADS, find};
pub use value::append_checked;
pub use wave::Wave;
pub use workload::{
    Group, GroupClients, KeyRange, LengthChoice, ScanLength, Workload, assign_groups,
};
