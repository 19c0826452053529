//! The host of a server: actions and samples there, through the user's own OpenSSH.
//!
//! `ssh` connects with the user's keys, configuration, jump hosts and known hosts. Nothing listens
//! anywhere, and no password is requested. An agent (`tailmark-agent`) is copied to the host and
//! started. It ends with the connection and leaves nothing behind. If no agent can be copied, plain
//! commands do what they can.

pub mod agent;
mod channel;
mod command;
mod error;
mod lines;
mod link;
mod plain;
mod program;
mod samples;
mod scripts;
mod server;
mod ssh;
mod wait;

pub use command::{Command, Signal};
pub use error::Error;
pub use link::Options;
pub use program::AgentProgram;
pub use samples::{Clock, Received, own_ns};
pub use server::{Server, names_of};
pub use wait::RunStop;
