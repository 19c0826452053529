//! Shared parts of server drivers: contact points, credentials, and the clients of each runtime.

#[cfg(feature = "net")]
pub(crate) mod aside;
mod host_port;
#[cfg(feature = "net")]
pub(crate) mod login;
#[cfg(feature = "net")]
pub(crate) mod runtime_pool;

pub use host_port::HostPort;
