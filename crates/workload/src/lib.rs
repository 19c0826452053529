//! Which operations on which keys: workloads, distributions, keys and values.
//!
//! A [`Workload`] is data: a row of [`WORKLOADS`] or a custom one. A [`Stream`] draws one client's
//! operations from it; the same seed and client draw the same operations. The clients of a point
//! share a [`KeySpace`]. Nothing here knows a clock or does I/O, and drawing an operation allocates
//! nothing.

pub mod db_bench;
mod digits;
pub mod distribution;
mod error;
mod group;
mod item;
pub mod key;
mod keyspace;
mod mix;
mod mix_generator;
mod poisson;
mod random;
mod record_format;
mod seed;
mod sine_rate;
mod stream;
mod table;
mod value;
mod workload;

pub use distribution::{DISTRIBUTIONS, Distribution};
pub use error::Error;
pub use group::{
    ClientGroup, GroupClients, GroupOperations, LengthChoice, MixedOperations, ScanLength,
};
pub use item::{Item, StreamConfig};
pub use key::{KeyFormat, KeyOrder};
pub use keyspace::{KeySpace, Turns};
pub use mix::Mix;
pub use poisson::Poisson;
pub use record_format::{FieldLengths, LengthHistogram, RecordFormat, ValueBytes};
pub use seed::Seed;
pub use sine_rate::SineRate;
pub use stream::Stream;
pub use table::{WORKLOADS, find, named, use_case};
pub use value::append_checked;
pub use workload::{KeyRange, Workload, assign_groups};
