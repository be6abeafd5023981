//! One driver of accidents: a first process stands at each point of a cycle and ends in each way, and the next one goes on with what was saved.
//! An [`Accident`] says what is set up and when; a test says what happens there, and what must hold afterwards.

use std::fmt::{self, Debug, Display, Formatter};
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use multifactor2_accounting::sums::Sums;
use multifactor2_accounting::sums_file::parse;
use slurm_inproc::{Conf, Cycle, Host, HostResult, Job, Options, Plugin};

use crate::setup::{cycle_at, end_job, host, running, usage, DAILY, NOW};

pub const MIDNIGHT: i64 = NOW - NOW % 86_400 + 86_400;

/// What is done to a process.
pub type Step = fn(&mut Host) -> HostResult<()>;

/// A cycle whose usage slurmctld saves.
pub fn early_save(host: &mut Host) -> HostResult<()> {
    cycle_at(host, NOW + 200)?;
    host.save()
}

/// The processes of one slurmctld, with what is in its `StateSaveLocation`.
pub struct Lives {
    pub plugin: Plugin,
    pub conf: Conf,
    /// `multifactor2.conf`
    pub settings: String,
    /// What each process has before its jobs.
    pub cluster: Step,
    pub state: tempfile::TempDir,
}

impl Lives {
    pub fn new(conf: Conf, settings: &str) -> HostResult<Self> {
        let (plugin, state) = (Plugin::multifactor2()?, tempfile::tempdir()?);
        Ok(Self { plugin, conf, settings: settings.to_owned(), cluster: |_| Ok(()), state })
    }

    /// A process with the usage that was saved; the plugin is not loaded.
    pub fn prepare(&self, now: i64, jobs: &[Job]) -> HostResult<Host> {
        let mut options = Options::new(self.plugin.clone());
        options.clock = now;
        if !self.settings.is_empty() {
            options.files = vec![("multifactor2.conf".to_owned(), self.settings.clone())];
        }
        let mut host = host(&options)?;
        host.configure(&self.conf)?;
        host.configure(&Conf::new().state_save_location(self.state.path().display().to_string()))?;
        (self.cluster)(&mut host)?;
        host.load()?;
        host.jobs(jobs)?;
        Ok(host)
    }

    /// A process that starts `now`.
    pub fn start(&self, now: i64, jobs: &[Job]) -> HostResult<Host> {
        let mut host = self.prepare(now, jobs)?;
        host.init()?;
        Ok(host)
    }

    /// A file of the `StateSaveLocation`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.state.path().join(name)
    }

    /// Our own sums, as the file has them.
    pub fn sums(&self) -> Sums {
        self.sums_of("multifactor2_usage")
    }

    pub fn sums_of(&self, file: &str) -> Sums {
        let text = fs::read_to_string(self.file(file)).expect("the file is there");
        parse(&text).unwrap_or_else(|problem| panic!("{problem}: {text}")).0
    }
}

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

pub const ENDS: [End; 6] =
    [End::Killed(0), End::Killed(1), End::Killed(2), End::KilledLater, End::Stopped, End::Saved];

/// Points at which a cycle can be stopped.
#[derive(Clone, Copy, Debug)]
pub enum Stops {
    /// Before each lock that it takes.
    Locks,
    /// Before each lock that it takes while it holds none.
    Free,
    /// Those, and after it has let go of all locks.
    Moments,
}

impl Stops {
    /// A cycle has at least so many.
    fn least(self) -> u32 {
        match self {
            Self::Locks => 7,
            Self::Free => 5,
            Self::Moments => 8,
        }
    }

    fn stop(self, host: &mut Host, point: u32) -> HostResult<(Cycle, bool)> {
        match self {
            Self::Locks => host.start_cycle_until_any(point),
            Self::Free => host.start_cycle_until(point),
            Self::Moments => host.start_cycle_until_free(point),
        }
    }
}

/// The n-th point of a cycle, and what is done there.
#[derive(Clone, Copy)]
pub struct At<W> {
    pub point: u32,
    pub way: W,
}

impl<W: Debug> Display for At<W> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "point {}, {:?}", self.point, self.way)
    }
}

/// What is set up, and when: two users, each with a job that runs from `NOW` on, if it says nothing else.
pub struct Accident<'a> {
    pub conf: Conf,
    /// `multifactor2.conf`
    pub settings: &'a str,
    /// See [`Lives`].
    pub cluster: Step,
    /// Usage of the first user.
    pub usage: f64,
    pub jobs: Vec<Job>,
    /// When the first process starts.
    pub start: i64,
    /// What it does until the cycle in which it ends.
    pub before: Step,
    /// The time of that cycle.
    pub cycle: i64,
    /// When the second process starts.
    pub again: i64,
}

impl Default for Accident<'_> {
    fn default() -> Self {
        Self {
            conf: Conf::new(),
            settings: "",
            cluster: |_| Ok(()),
            usage: 0.0,
            jobs: vec![running(1, 3, NOW), running(2, 4, NOW)],
            start: NOW,
            before: |_| Ok(()),
            cycle: NOW + 300,
            again: NOW + 300,
        }
    }
}

impl Accident<'_> {
    /// The cycle resets usage, and charges all of its period, as that of stock: a thousand seconds at the second start.
    pub fn over_midnight() -> Self {
        Self {
            conf: Conf::new().reset_period(DAILY),
            jobs: vec![running(1, 3, MIDNIGHT - 500)],
            start: MIDNIGHT - 400,
            before: Host::save,
            cycle: MIDNIGHT + 10,
            again: MIDNIGHT + 600,
            ..Self::default()
        }
    }

    /// A new cluster, as it is set up.
    pub fn lives(&self) -> HostResult<Lives> {
        Ok(Lives { cluster: self.cluster, ..Lives::new(self.conf.clone(), self.settings)? })
    }

    /// A new cluster for each way at each point of the cycle, with a process that is caught there.
    pub fn at_every<W: Copy>(
        &self,
        stops: Stops,
        ways: &[W],
        mut happens: impl FnMut(Caught, At<W>) -> HostResult<()>,
    ) -> HostResult<()> {
        for point in 1.. {
            for &way in ways {
                let lives = self.lives()?;
                let mut host = lives.prepare(self.start, &self.jobs)?;
                if self.usage > 0.0 {
                    host.usage(&[slurm_inproc::AssociationUsage::new(3_u32).raw(self.usage)])?;
                }
                host.init()?;
                (self.before)(&mut host)?;
                host.set_clock(self.cycle)?;
                let charged = usage(&mut host, 3)?;
                let (started, reached) = stops.stop(&mut host, point)?;
                if !reached {
                    assert!(point > stops.least(), "a cycle has only {} of {stops:?}", point - 1);
                    return Ok(());
                }
                happens(Caught { lives, host, started, time: self.cycle, charged }, At { point, way })?;
            }
        }
        Ok(())
    }

    /// A save falls before each lock of the cycle, and the process ends in each way. What holds in the second one.
    pub fn at_every_lock(
        &self,
        mut holds: impl FnMut(&Lives, &mut Host, At<End>) -> HostResult<()>,
    ) -> HostResult<()> {
        self.at_every(Stops::Locks, &ENDS, |first, at| {
            let lives = first.end(at.way)?;
            let mut second = lives.start(self.again, &self.jobs)?;
            holds(&lives, &mut second, at)?;
            second.quit().map(drop)
        })
    }

    /// The second job ends at each moment of the cycle at which nothing is held. Then the process ends, and slurmctld remembers that the
    /// job has ended or starts it again as running. `seconds` are those of both users.
    pub fn a_job_ends(&self, seconds: impl Fn(&Lives) -> [f64; 2]) -> HostResult<()> {
        let ways = [(true, true), (true, false), (false, true), (false, false)];
        self.at_every(Stops::Moments, &ways, |mut first, at| {
            let (regular, remembered) = at.way;
            // Five seconds after the time of the cycle.
            end_job(&mut first.host, 2, NOW + 305)?;
            first.host.save()?;
            first.finish()?;
            if regular {
                first.host.fini()?;
            }
            let lives = first.kill();
            let mut second = lives.start(NOW + 400, &self.jobs[..if remembered { 1 } else { 2 }])?;
            if !remembered {
                end_job(&mut second, 2, NOW + 500)?;
            }
            cycle_at(&mut second, NOW + 1000)?;
            // What ran after the cycle of a killed process may be lost, as in slurmctld.
            let due: &[f64] = match at.way {
                (_, false) => &[500.0],
                (true, true) => &[305.0],
                (false, true) => &[300.0, 305.0],
            };
            let [goes_on, ended] = seconds(&lives);
            assert_eq!(goes_on, 1000.0, "(regular, remembered): {at}");
            assert!(due.contains(&ended), "(regular, remembered): {at}: {ended}");
            second.quit().map(drop)
        })
    }
}

/// A process that is caught at a point of a cycle, before anything is saved there.
pub struct Caught {
    pub lives: Lives,
    pub host: Host,
    started: Cycle,
    time: i64,
    charged: f64,
}

impl Caught {
    pub fn announced(&mut self) -> HostResult<Option<Announced>> {
        Announced::now(&self.lives, &mut self.host, self.time, self.charged)
    }

    /// Lets the cycle go on to its end.
    pub fn finish(&mut self) -> HostResult<()> {
        self.host.go_on()?;
        self.host.finish_cycle(self.started).map(drop)
    }

    /// Saves, and lets the cycle go on if it is killed `later`. False where a kill would cost the cycle: see [`Announced`].
    pub fn save(&mut self, later: bool) -> HostResult<bool> {
        let announced = self.announced()?;
        self.host.save()?;
        if later {
            self.finish()?;
        }
        Ok(later || announced.is_none())
    }

    /// What is left of it.
    pub fn kill(self) -> Lives {
        self.lives
    }

    /// Saves, and ends.
    pub fn end(mut self, end: End) -> HostResult<Lives> {
        let announced = self.announced()?;
        self.host.save()?;
        if let End::Killed(more) = end {
            let mut stands = more == 0 || self.host.stop_again(self.started, more)?;
            while stands
                && announced.as_ref().map_or(Ok(false), |announced| announced.is_over().map(|over| !over))?
            {
                stands = self.host.stop_again(self.started, 1)?;
            }
            return Ok(self.kill());
        }
        if end == End::Stopped {
            self.host.go_on()?;
            self.host.fini()?;
            return Ok(self.kill());
        }
        self.finish()?;
        if end == End::Saved {
            self.host.save()?;
        }
        Ok(self.kill())
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
    /// `Some` where the cycle of `time` is announced, and not charged: the first user has what it had `before`.
    pub fn now(lives: &Lives, host: &mut Host, time: i64, before: f64) -> HostResult<Option<Self>> {
        /// Where the state file has the time of the newest cycle.
        const NEWEST: Range<usize> = 48..56;
        let file = lives.file("priority_last_decay_ran");
        let bytes = fs::read(&file).unwrap_or_default();
        let is_announced = bytes.get(NEWEST) == Some(&time.to_be_bytes()[..]);
        Ok((is_announced && usage(host, 3)? == before).then_some(Self { file, bytes }))
    }

    fn is_over(&self) -> HostResult<bool> {
        Ok(fs::read(&self.file)? != self.bytes)
    }
}
