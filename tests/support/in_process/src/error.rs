//! What can go wrong between a test and the host.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

/// Why a test could not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be compiled.
    #[error("cannot build the in-process host: {0}")]
    Build(String),
    /// The program refused a request.
    #[error("the in-process host refused '{request}': {reason}")]
    Refused {
        /// The request.
        request: String,
        /// The program's reason.
        reason: String,
    },
    /// The program ended before it answered; a violation of the lock rules is in the log.
    #[error("the in-process host ended ({status}) at '{request}'; its log:\n{log}")]
    Died {
        /// The request.
        request: String,
        /// How it ended.
        status: ExitStatus,
        /// All it had logged.
        log: String,
    },
    /// The program did not answer; something waits for ever.
    #[error("the in-process host did not answer '{request}' within {timeout:?}; its log:\n{log}")]
    Hung {
        /// The request.
        request: String,
        /// Time waited.
        timeout: Duration,
        /// All it had logged.
        log: String,
    },
    /// The answer is not understood.
    #[error("unexpected answer of the in-process host: {0}")]
    Protocol(String),
    /// A file or process operation failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Result of everything that talks to the host.
pub type HostResult<T> = Result<T, Error>;
