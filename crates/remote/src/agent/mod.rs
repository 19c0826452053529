//! The other end of a connection to a server's host: a small program without databases, which
//! carries out the rows of `machine` and `prepare` there.
//!
//! It reads requests from standard input and writes answers and samples to standard output, each as
//! a line of JSON ([`protocol`]). It opens no port, leaves no file and ends with its connection.

mod prepare;
pub mod protocol;
mod serve;
mod watch;

pub use protocol::{Answer, Ask, Hello, Line, PROTOCOL, Request, Sample};
pub use serve::{SILENCE, serve};
pub use tailmark_cluster::monotonic_ns as now_ns;
