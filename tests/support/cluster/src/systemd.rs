//! What systemd does for a service of `Type=notify`, as far as slurmctld notices it.
//!
//! slurmctld with `--systemd` writes no pid file and does not go into the background. It says in a datagram to the socket that
//! `NOTIFY_SOCKET` names that it is ready and which process it is, and says it again when a reconfigure has replaced it. From
//! 25.11 on it sends a pipe along and waits until systemd has closed that: reading without a place for files closes it.

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};

/// Listens as systemd does, until it is dropped.
#[derive(Debug)]
pub(crate) struct Notified {
    socket: UnixDatagram,
    pub(crate) path: PathBuf,
    /// `MAINPID` of the last message that says `READY=1`; 0 before.
    main: Arc<AtomicI32>,
}

impl Notified {
    /// A new socket with this path.
    pub(crate) fn listen(path: &Path) -> Result<Self> {
        // That of a service that has ended.
        let _ = std::fs::remove_file(path);
        let socket = UnixDatagram::bind(path).with_context(|| format!("listening at {}", path.display()))?;
        let main = Arc::new(AtomicI32::new(0));
        let (reader, told) = (socket.try_clone()?, Arc::clone(&main));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = reader.recv(&mut bytes) {
                if let Some(pid) = main_pid(&String::from_utf8_lossy(&bytes[..length])) {
                    told.store(pid, Ordering::Release);
                }
            }
        });
        Ok(Self { socket, path: path.to_owned(), main })
    }

    /// The process that is the service now, `None` before it is ready.
    pub(crate) fn main(&self) -> Option<i32> {
        Some(self.main.load(Ordering::Acquire)).filter(|&pid| pid != 0)
    }
}

impl Drop for Notified {
    fn drop(&mut self) {
        // Ends the thread.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

/// The process that a message says is ready.
fn main_pid(message: &str) -> Option<i32> {
    let ready = message.lines().any(|line| line == "READY=1");
    let pid = message.lines().find_map(|line| line.strip_prefix("MAINPID="))?;
    pid.parse().ok().filter(|&pid| ready && pid > 1)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{main_pid, Notified};

    #[test]
    fn a_message_of_slurmctld_names_its_process() {
        assert_eq!(main_pid("READY=1\nMAINPID=4711"), Some(4711));
        assert_eq!(main_pid("READY=1\nMAINPID=4711\n"), Some(4711));
        for other in ["BARRIER=1", "READY=1", "MAINPID=4711", "READY=1\nMAINPID=0", "READY=1\nMAINPID=x", ""]
        {
            assert_eq!(main_pid(other), None, "{other}");
        }
    }

    #[test]
    fn the_last_process_that_was_named_counts() {
        let directory = tempfile::tempdir().unwrap();
        let service = Notified::listen(&directory.path().join("notify")).unwrap();
        assert_eq!(service.main(), None);
        let slurmctld = std::os::unix::net::UnixDatagram::unbound().unwrap();
        for (message, pid) in [("READY=1\nMAINPID=22", 22), ("BARRIER=1", 22), ("READY=1\nMAINPID=33", 33)] {
            slurmctld.send_to(message.as_bytes(), &service.path).unwrap();
            let start = Instant::now();
            while service.main() != Some(pid) {
                assert!(start.elapsed() < Duration::from_secs(10), "{message}: {:?}", service.main());
            }
        }
    }
}
