//! The host of a server: what is done and sampled there, through the user's own OpenSSH.
//!
//! `ssh` makes the connection, with the keys, the configuration, the jump hosts and the known hosts of
//! the user; nothing listens anywhere, and no password is asked for. Over it an agent is copied to the
//! host and started (`tailmark-agent`), which ends with the connection, and leaves nothing there. Where
//! no agent can be copied, plain commands do what they can.

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
