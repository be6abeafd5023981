//! The processes of one slurmctld, one after the other: where in a cycle each saves its usage, and how it ends.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use slurm_inproc::{Conf, Host, HostResult, Job, Options, Plugin};

use crate::setup::{host, usage, NOW};

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// Killed where it stands: before the n-th lock from there on.
    Killed(u32),
    /// Killed after the cycle.
    KilledLater,
    /// Told to stop: what slurmctld does after it has saved. It waits for the cycle.
    Stopped,
    /// Goes on, and saves once more before it is killed.
    Saved,
}

const ENDS: [End; 6] =
    [End::Killed(0), End::Killed(1), End::Killed(2), End::KilledLater, End::Stopped, End::Saved];

/// The processes of one slurmctld, with what is in its `StateSaveLocation`.
pub struct Lives<'a> {
    pub plugin: &'a Plugin,
    pub conf: Conf,
    pub state: tempfile::TempDir,
    /// `multifactor2.conf`
    pub settings: String,
}

impl<'a> Lives<'a> {
    pub fn new(plugin: &'a Plugin, conf: Conf) -> HostResult<Self> {
        Ok(Self { plugin, conf, state: tempfile::tempdir()?, settings: String::new() })
    }

    /// A process that starts `now`, with the usage that was saved; the plugin is not loaded.
    pub fn start(&self, now: i64, jobs: &[Job]) -> HostResult<Host> {
        let mut options = Options::new(self.plugin.clone());
        options.clock = now;
        if !self.settings.is_empty() {
            options.files = vec![("multifactor2.conf".to_owned(), self.settings.clone())];
        }
        let mut host = host(&options)?;
        host.configure(&self.conf)?;
        host.configure(&Conf::new().state_save_location(place(self.state.path())))?;
        host.load()?;
        host.jobs(jobs)?;
        Ok(host)
    }
}

/// A cycle that is announced and not charged.
///
/// A save that falls into it is one of before the cycle, while the state file takes it for one of after it, until the cycle is announced anew
/// (it is, before it is charged). A kill before that costs the cycle's period: `once.rs` has a test of its own for it. In the others the
/// process goes on until it is announced anew.
pub struct Announced {
    file: PathBuf,
    bytes: Vec<u8>,
}

impl Announced {
    /// `Some` where the cycle of `at` is announced, and not charged: association 3 has what it had `before`.
    pub fn now(lives: &Lives, host: &mut Host, at: i64, before: f64) -> HostResult<Option<Self>> {
        /// Where the state file has the time of the newest cycle.
        const NEWEST: Range<usize> = 48..56;
        let file = lives.state.path().join("priority_last_decay_ran");
        let bytes = fs::read(&file).unwrap_or_default();
        let is_announced = bytes.get(NEWEST) == Some(&at.to_be_bytes()[..]);
        Ok((is_announced && usage(host, 3)? == before).then_some(Self { file, bytes }))
    }

    fn is_over(&self) -> HostResult<bool> {
        Ok(fs::read(&self.file)? != self.bytes)
    }
}

fn place(path: &Path) -> String {
    path.display().to_string()
}

/// The first of two lives with running jobs, from `NOW` on: perhaps a cycle at 200 s that slurmctld saves, then [`save_in_cycle`] at 300 s.
pub fn first_life(lives: &Lives, jobs: &[Job], early_save: bool, lock: u32, end: End) -> HostResult<bool> {
    let mut first = lives.start(NOW, jobs)?;
    first.init()?;
    if early_save {
        first.set_clock(NOW + 200)?;
        first.cycle()?;
        first.save()?;
    }
    save_in_cycle(lives, first, NOW + 300, lock, end)
}

/// Runs a cycle at `at`, saves before its n-th lock and ends the process; false if the cycle has fewer locks.
pub fn save_in_cycle(lives: &Lives, mut host: Host, at: i64, lock: u32, end: End) -> HostResult<bool> {
    host.set_clock(at)?;
    let charged = usage(&mut host, 3)?;
    let (before, reached) = host.start_cycle_until_any(lock)?;
    if !reached {
        return Ok(false);
    }
    let announced = Announced::now(lives, &mut host, at, charged)?;
    host.save()?;
    if let End::Killed(more) = end {
        let mut stands = more == 0 || host.stop_again(before, more)?;
        while stands
            && announced.as_ref().map_or(Ok(false), |announced| announced.is_over().map(|over| !over))?
        {
            stands = host.stop_again(before, 1)?;
        }
        return Ok(true);
    }
    host.go_on()?;
    if end == End::Stopped {
        host.fini()?;
        return Ok(true);
    }
    host.finish_cycle(before)?;
    if end == End::Saved {
        host.save()?;
    }
    Ok(true)
}

/// For every lock of a cycle and every end.
pub fn at_every_lock(mut check: impl FnMut(u32, End) -> HostResult<bool>) -> HostResult<u32> {
    let mut locks = 0;
    loop {
        for end in ENDS {
            if !check(locks + 1, end)? {
                return Ok(locks);
            }
        }
        locks += 1;
    }
}
