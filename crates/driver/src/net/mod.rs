//! What the drivers of servers share: contact points, how a client shows who it is, and the clients
//! of each runtime.

#[cfg(any(feature = "aerospike", feature = "cassandra"))]
pub(crate) mod aside;
mod host_port;
#[cfg(any(feature = "aerospike", feature = "cassandra"))]
pub(crate) mod login;
#[cfg(any(feature = "aerospike", feature = "cassandra"))]
pub(crate) mod runtime_pool;

pub use host_port::HostPort;
