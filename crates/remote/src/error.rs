//! Errors of a server's host.

/// Something could not be done on the host of a server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no connection, and `ssh` says why.
    #[error("`ssh {login}` failed: {why}")]
    Connect {
        /// Whom it was to reach.
        login: String,
        /// The answer.
        why: String,
    },
    /// The work there needs root.
    #[error(
        "`{login}` is not root and cannot use sudo without a password ({why}), but {what} needs \
         root: log in as root, allow `sudo -n`, or leave that out"
    )]
    NotRoot {
        /// Who.
        login: String,
        /// What sudo said.
        why: String,
        /// What needs it.
        what: String,
    },
    /// The agent is another one.
    #[error(
        "the agent on `{login}` has version {version} and speaks protocol {protocol}, not \
         {expected}: use the agent that was built with this program"
    )]
    OtherVersion {
        /// Where.
        login: String,
        /// The version of the agent.
        version: String,
        /// Its protocol version.
        protocol: u32,
        /// What this program speaks.
        expected: u32,
    },
    /// The agent that was named cannot be read.
    #[error("failed to read the agent `{path}`")]
    NoAgentFile {
        /// Its path.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The connection was lost.
    #[error("lost the connection to `{login}`: {why}")]
    Lost {
        /// To whom.
        login: String,
        /// The reason, if known.
        why: String,
    },
    /// It was refused there.
    #[error("`{login}` refused: {why}")]
    Refused {
        /// Who.
        login: String,
        /// Why.
        why: String,
    },
    /// There is no agent to ask.
    #[error("`{login}` has no agent ({why}), but preparing and sampling need one")]
    NoAgent {
        /// Where.
        login: String,
        /// Why there is none.
        why: String,
    },
}

impl Error {
    /// Whether it may pass: the connection can come back.
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Connect { .. })
    }
}
