//! A running host program: starting it, asking it, ending it.

mod calls;
mod reads;
mod sets;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::error::{Error, HostResult};
use crate::options::Options;
use crate::program::Program;
use crate::reply::Record;

/// Requests that are written before their replies are read; both stay below what a pipe holds.
const BATCH: usize = 200;

/// One completed run of the decay thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycle {
    /// Runs since the program started.
    pub completed: u32,
    /// Processor time of this one.
    pub cpu: Duration,
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bench {
    /// Jobs visited.
    pub jobs: u64,
    /// Processor time.
    pub cpu: Duration,
    /// Wall-clock time.
    pub wall: Duration,
}

/// A host program that runs; it is killed when dropped.
#[derive(Debug)]
pub struct Host {
    child: Child,
    requests: ChildStdin,
    replies: Receiver<String>,
    directory: TempDir,
    timeout: Duration,
}

impl Host {
    /// Build the program if need be and start it; no plugin is loaded yet.
    ///
    /// # Errors
    /// If it cannot be built or started.
    pub fn start(options: &Options) -> HostResult<Self> {
        let program = Program::build(options.slurmctld)?;
        let directory = tempfile::Builder::new().prefix("slurm-inproc-").tempdir()?;
        let conf = directory.path().join("slurm.conf");
        fs::create_dir(directory.path().join("state"))?;
        fs::write(&conf, options.slurm_conf(&program, directory.path()))?;
        if let Some(library) = &options.plugin.library {
            // Slurm's loader wants the type's name.
            let name = format!("{}.so", options.plugin.priority_type.replace('/', "_"));
            fs::create_dir(directory.path().join("plugins"))?;
            symlink(fs::canonicalize(library)?, directory.path().join("plugins").join(name))?;
        }
        for (name, content) in &options.files {
            fs::write(directory.path().join(name), content)?;
        }
        let mut words = options.wrapper.clone();
        words.push(program.path.display().to_string());
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .arg(&conf)
            .arg(options.clock.to_string())
            .arg(&options.log_level)
            .env("SLURM_CONF", &conf)
            .env("TZ", &options.time_zone)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(directory.path().join("log"))?)
            .spawn()?;
        let (Some(requests), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Protocol("no pipes to the program".to_owned()));
        };
        let (sender, replies) = mpsc::channel();
        thread::spawn(move || {
            // Ends with the program, or when the host is dropped.
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut host = Self { child, requests, replies, directory, timeout: options.timeout };
        host.check_release(&program)?;
        Ok(host)
    }

    /// The library must be of the headers' release.
    fn check_release(&mut self, program: &Program) -> HostResult<()> {
        let state = self.one("state")?;
        if state.text("version") == program.version {
            return Ok(());
        }
        Err(Error::Protocol(format!("headers of {}, program of {}", program.version, state.text("version"))))
    }

    /// The directory with slurm.conf, the log and `state`, the `StateSaveLocation`.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The program's process id.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Names of the program's threads.
    ///
    /// # Errors
    /// If the program has ended.
    pub fn threads(&self) -> HostResult<Vec<String>> {
        let mut names = Vec::new();
        for task in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            match fs::read_to_string(task?.path().join("comm")) {
                Ok(name) => names.push(name.trim_end().to_owned()),
                // It has ended since.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(names)
    }

    /// Everything that was logged until now.
    pub fn log(&self) -> String {
        fs::read(self.directory.path().join("log")).map_or_else(
            |error| format!("(no log: {error})"),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    /// Send one request line and return the data lines of its answer.
    ///
    /// # Errors
    /// If the program refuses, ends or does not answer.
    pub fn request(&mut self, line: &str) -> HostResult<Vec<Record>> {
        self.write(line)?;
        self.read(line)
    }

    fn write(&mut self, line: &str) -> HostResult<()> {
        match self.requests.write_all(format!("{line}\n").as_bytes()) {
            // The program's end is found, with its status, when the answer is read.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
        }
    }

    fn read(&mut self, request: &str) -> HostResult<Vec<Record>> {
        let request = || request.to_owned();
        let mut records = Vec::new();
        loop {
            match self.replies.recv_timeout(self.timeout) {
                Ok(line) if line == "ok" => return Ok(records),
                Ok(line) => {
                    if let Some(data) = line.strip_prefix("| ") {
                        records.push(Record::parse(data));
                    } else if let Some(reason) = line.strip_prefix("error ") {
                        return Err(Error::Refused { request: request(), reason: reason.to_owned() });
                    } else {
                        return Err(Error::Protocol(line));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Error::Hung { request: request(), timeout: self.timeout, log: self.log() });
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait()?;
                    return Err(Error::Died { request: request(), status, log: self.log() });
                }
            }
        }
    }

    /// Send many requests that have no data in their answers.
    fn all(&mut self, lines: &[String]) -> HostResult<()> {
        for batch in lines.chunks(BATCH) {
            for line in batch {
                self.write(line)?;
            }
            for line in batch {
                self.read(line)?;
            }
        }
        Ok(())
    }

    fn one(&mut self, line: &str) -> HostResult<Record> {
        let mut records = self.request(line)?;
        records.pop().ok_or_else(|| Error::Protocol(format!("no data for '{line}'")))
    }

    fn records<T>(&mut self, line: &str) -> HostResult<Vec<T>>
    where
        T: for<'a> TryFrom<&'a Record, Error = Error>,
    {
        self.request(line)?.iter().map(T::try_from).collect()
    }

    fn cycle_of(records: &[Record]) -> HostResult<Cycle> {
        let record = records.first().ok_or_else(|| Error::Protocol("no cycle".to_owned()))?;
        Ok(Cycle { completed: record.get("completed")?, cpu: Duration::from_nanos(record.get("cpu_ns")?) })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // After `quit` both fail, and nothing is left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
