//! A running cluster: commands, jobs, usage, and the life of its daemons.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{bail, ensure, Context, Result};

use crate::builder::SLOW_FILE;
use crate::config::{replace, Config};
use crate::controller::{Controller, Mode};
use crate::processes::{Daemon, Processes};
use crate::usage::{assoc_usage, LeafUsage};
use crate::{parse_rows, Builder, Call, Job, Release, Row};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// How often a wait looks for launches that were lost.
const LOOK: Duration = Duration::from_secs(3);

/// A job's number.
pub type JobId = u32;

/// What Slurm's processes find in their environment.
#[derive(Debug)]
pub(crate) struct Environment {
    /// For every process.
    pub(crate) variables: BTreeMap<String, String>,
    /// In addition for slurmctld.
    pub(crate) controller: Vec<(String, String)>,
    /// What slurmctld runs under, if anything.
    pub(crate) controller_wrapper: Vec<String>,
    /// In addition for slurmdbd.
    pub(crate) slurmdbd: Vec<(String, String)>,
}

/// A running private cluster. It ends and leaves nothing when this value is dropped; in a
/// panicking test the configuration, logs and state stay, and their place is printed.
#[derive(Debug)]
pub struct Cluster {
    pub(crate) directory: PathBuf,
    pub(crate) release: Release,
    pub(crate) mode: Mode,
    pub(crate) processes: Processes,
    pub(crate) environment: Environment,
    ids: BTreeMap<String, (u32, u32)>,
    pub(crate) config: Config,
    pub(crate) controller: Option<Controller>,
    pub(crate) slurmdbd: Option<Daemon>,
    pub(crate) database: Option<Daemon>,
    pub(crate) nodes: Vec<Daemon>,
    /// Jobs whose launch was repeated.
    pub(crate) repeated: Mutex<BTreeSet<JobId>>,
    over: bool,
}

impl Cluster {
    /// Describes a cluster to start.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(
        directory: PathBuf,
        release: Release,
        mode: Mode,
        processes: Processes,
        environment: Environment,
        ids: BTreeMap<String, (u32, u32)>,
    ) -> Self {
        Self {
            directory,
            release,
            mode,
            processes,
            environment,
            ids,
            config: Config::default(),
            controller: None,
            slurmdbd: None,
            database: None,
            nodes: Vec::new(),
            repeated: Mutex::default(),
            over: false,
        }
    }

    /// The directory with everything in it: slurm.conf, `log`, `state`, `plugins`.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The Slurm that runs.
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// One of the cluster's own ports.
    pub(crate) fn port(&self, number: u16) -> u16 {
        self.processes.first_port() + number
    }

    // Commands

    /// One of Slurm's commands, to be run against this cluster.
    pub fn command(&self, program: &str) -> Call<'_> {
        let mut command = self.release.command(program);
        command.envs(&self.environment.variables);
        Call::new(self, command)
    }

    /// The environment with which Slurm's commands find this cluster and its users.
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment.variables
    }

    /// The uid and gid of one of the cluster's users, `root` among them.
    ///
    /// # Errors
    /// If there is no such user.
    pub fn ids(&self, user: &str) -> Result<(u32, u32)> {
        if user == "root" {
            return Ok((0, 0));
        }
        let ids = self.ids.get(user).with_context(|| format!("the cluster has no user '{user}'"))?;
        Ok(*ids)
    }

    /// What `sshare` prints.
    ///
    /// # Errors
    /// If it fails.
    pub fn sshare(&self, arguments: &[&str]) -> Result<String> {
        self.command("sshare").args(arguments).text()
    }

    /// What `sprio` prints.
    ///
    /// # Errors
    /// If it fails.
    pub fn sprio(&self, arguments: &[&str]) -> Result<String> {
        self.command("sprio").args(arguments).text()
    }

    /// What `scontrol` prints.
    ///
    /// # Errors
    /// If it fails.
    pub fn scontrol(&self, arguments: &[&str]) -> Result<String> {
        self.command("scontrol").args(arguments).text()
    }

    /// All associations as `sshare -al` shows them, by its column names. Accounts have an empty `User`.
    ///
    /// # Errors
    /// If sshare fails.
    pub fn sshare_rows(&self) -> Result<Vec<Row>> {
        Ok(parse_rows(&self.sshare(&["-alP"])?))
    }

    /// The association of a user in an account, or of the account itself where `user` is empty.
    ///
    /// # Errors
    /// If sshare fails or shows no such association.
    pub fn share(&self, account: &str, user: &str) -> Result<Row> {
        let rows = self.sshare_rows()?;
        let found = rows.into_iter().find(|row| row.text("Account") == account && row.text("User") == user);
        found.with_context(|| format!("sshare shows no account '{account}' user '{user}'"))
    }

    /// All pending jobs' priorities by part, weighted (upper case column) and normalised (lower case).
    ///
    /// # Errors
    /// If sprio fails.
    pub fn sprio_rows(&self) -> Result<Vec<Row>> {
        const COLUMNS: [(&str, &str); 20] = [
            ("JOBID", "%i"),
            ("PARTITION", "%r"),
            ("USER", "%u"),
            ("PRIORITY", "%Y"),
            ("priority", "%y"),
            ("SITE", "%S"),
            ("AGE", "%A"),
            ("age", "%a"),
            ("ASSOC", "%B"),
            ("assoc", "%b"),
            ("FAIRSHARE", "%F"),
            ("fairshare", "%f"),
            ("JOBSIZE", "%J"),
            ("jobsize", "%j"),
            ("PARTPRIO", "%P"),
            ("partprio", "%p"),
            ("QOS", "%Q"),
            ("qos", "%q"),
            ("NICE", "%N"),
            ("TRES", "%T"),
        ];
        let names = COLUMNS.map(|(name, _)| name);
        let format = COLUMNS.map(|(_, letter)| letter).join("|");
        let text = self.sprio(&["-h", "-o", &format])?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        Ok(lines.map(|line| crate::rows::row(&names, line)).collect())
    }

    /// Submits a batch job and gives its number.
    ///
    /// # Errors
    /// If sbatch refuses, with what it says.
    pub fn submit(&self, job: &Job) -> Result<JobId> {
        // With NONE slurmd asks `su` for the user's environment. The root directory of another release has no `su`: there the
        // job would begin after two minutes. A slurmd below a prefix of its own gets no answer, and requeues the job.
        let mut call = self.command("sbatch").args([
            "--parsable",
            "--export=ALL",
            "--chdir=/",
            "--output=/dev/null",
            "--error=/dev/null",
        ]);
        if let Some(user) = &job.user {
            call = call.user(user)?;
        }
        if let Some(gid) = job.group {
            call = call.env("TESTCLUSTER_GID", &gid.to_string());
        }
        let wrap = format!("--wrap=exec sleep {}", job.seconds);
        let text = call.args(&job.arguments).arg(wrap).text()?;
        let number = text.trim().split(';').next().unwrap_or_default();
        number.parse().with_context(|| format!("sbatch printed '{}'", text.trim()))
    }

    /// The text of slurmctld's log.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.directory.join("log/slurmctld")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Makes each call of the system by the object of [`Builder::slow_object`] take so many milliseconds: of `which` calls, see `slow.c`. Gives how
    /// many have been slow so far.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn slow(&self, milliseconds: u32, which: &str) -> Result<usize> {
        let file = self.directory.join(SLOW_FILE);
        replace(&file, format!("{milliseconds} {which}\n"))?;
        let log = fs::read_to_string(file.with_extension("log")).unwrap_or_default();
        Ok(log.lines().count())
    }

    /// Polls until `done` gives something. A launch that was lost meanwhile is repeated, and a command that slurmctld did not answer in time is
    /// asked again; both are printed (see `losses`).
    ///
    /// # Errors
    /// After `timeout`, naming `what`, the jobs, the nodes and the last lines of the logs; at once when `done` fails otherwise.
    pub fn wait_for<T>(
        &self,
        what: &str,
        timeout: Duration,
        mut done: impl FnMut(&Self) -> Result<Option<T>>,
    ) -> Result<T> {
        let start = Instant::now();
        let mut looked = start;
        loop {
            match done(self) {
                Ok(Some(value)) => return Ok(value),
                Ok(None) => {}
                Err(error) => self.not_answered(error)?,
            }
            ensure!(start.elapsed() < timeout, "waited {timeout:?} in vain for {what}\n{}", self.situation());
            if looked.elapsed() > LOOK {
                self.repeat_lost_launches();
                looked = Instant::now();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until a decay cycle that began after this call is over. Any priority plugin that keeps stock's
    /// state file will do: the file is written at the end of each cycle.
    ///
    /// # Errors
    /// If none ends within a minute (with cycles of whole minutes: two).
    pub fn wait_cycle(&self) -> Result<()> {
        let path = self.directory.join("state/priority_last_decay_ran");
        let written = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
        // The first end that is seen may be that of a cycle that had begun before.
        for _ in 0..2 {
            let before = written(&path);
            self.wait_for("a decay cycle", 2 * TIMEOUT, |_| {
                Ok(written(&path).filter(|now| Some(*now) != before))
            })?;
        }
        Ok(())
    }

    /// When the last decay cycle began, as the state file of either plugin has it in its first eight bytes.
    ///
    /// # Errors
    /// If there is no such file, or it is too short.
    pub fn last_cycle(&self) -> Result<i64> {
        let mut time = [0; 8];
        fs::File::open(self.directory.join("state/priority_last_decay_ran"))?.read_exact(&mut time)?;
        Ok(i64::from_be_bytes(time))
    }

    // Usage

    /// Gives associations an exact raw usage, (account, user, seconds), and all others none: stops
    /// slurmctld, writes its state file, starts it. It stays exact with the default
    /// `PriorityDecayHalfLife=0`. An empty user stands for the account itself, which then has usage that none of its
    /// users has.
    ///
    /// # Errors
    /// If there is no such association, or slurmctld does not stop or start.
    pub fn inject_usage(&mut self, usage: &[(&str, &str, f64)]) -> Result<()> {
        self.stop_controller()?;
        self.write_usage(usage)?;
        self.start_controller()
    }

    /// The same of QOS, (name, seconds), with the usage of all associations as it is.
    ///
    /// # Errors
    /// As for [`Self::inject_usage`].
    pub fn inject_qos_usage(&mut self, usage: &[(&str, f64)]) -> Result<()> {
        self.stop_controller()?;
        let text = self.command("sacctmgr").args(["-P", "show", "qos", "format=id,name"]).text()?;
        let rows = parse_rows(&text);
        let of = |(name, seconds): &(&str, f64)| -> Result<LeafUsage> {
            let row = rows.iter().find(|row| row.text("Name") == *name);
            let row = row.with_context(|| format!("there is no QOS '{name}'"))?;
            Ok(LeafUsage { id: row.text("ID").parse()?, seconds: *seconds })
        };
        let usage = usage.iter().map(of).collect::<Result<Vec<_>>>()?;
        self.write_leaves("state/qos_usage", &usage)?;
        self.start_controller()
    }

    /// Writes the state file of the usage; slurmctld must not run.
    pub(crate) fn write_usage(&self, usage: &[(&str, &str, f64)]) -> Result<()> {
        let text = self.command("sacctmgr").args(["-P", "show", "assoc", "format=id,account,user"]).text()?;
        let rows = parse_rows(&text);
        let mut leaves = Vec::new();
        for (account, user, seconds) in usage {
            ensure!(*seconds >= 0.0, "usage of {user} in {account} is {seconds}; it must be at least 0");
            let row = rows
                .iter()
                .find(|row| row.text("Account") == *account && row.text("User") == *user)
                .with_context(|| format!("there is no association of account '{account}' user '{user}'"))?;
            leaves.push(LeafUsage { id: row.text("ID").parse()?, seconds: *seconds });
        }
        self.write_leaves("state/assoc_usage", &leaves)
    }

    fn write_leaves(&self, file: &str, leaves: &[LeafUsage]) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let bytes = assoc_usage(self.release.protocol()?, i64::try_from(now)?, leaves);
        fs::write(self.directory.join(file), bytes).with_context(|| format!("writing {file}"))
    }

    // Daemons

    /// Changes a setting of slurm.conf; counts from the next reconfigure or restart.
    ///
    /// # Errors
    /// If slurm.conf cannot be written.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.config.set(name, value);
        self.write_config()
    }

    /// Takes a setting out of slurm.conf.
    ///
    /// # Errors
    /// If slurm.conf cannot be written.
    pub fn unset(&mut self, name: &str) -> Result<()> {
        self.config.unset(name);
        self.write_config()
    }

    pub(crate) fn start_slurmds(&mut self, nodes: u16) -> Result<()> {
        for node in 1..=nodes {
            fs::create_dir_all(self.directory.join(format!("spool/n{node}")))?;
            let name = format!("n{node}");
            let mut command = self.daemon_command("slurmd");
            command.args(["-D", "-N", &name]);
            self.nodes.push(self.start_daemon(&format!("slurmd-{name}-output"), &command)?);
        }
        let all = usize::from(nodes);
        self.wait_for("the nodes to come up", TIMEOUT, |cluster| {
            for daemon in &cluster.nodes {
                if let Some(how) = cluster.processes.ended(daemon)? {
                    bail!("{} ended ({how}); see {}", daemon.name, daemon.log.display());
                }
            }
            let idle =
                cluster.command("sinfo").args(["-h", "-N", "-p", "main", "-t", "idle", "-o", "%N"]).text()?;
            Ok((idle.lines().count() == all).then_some(()))
        })
    }

    pub(crate) fn daemon_command(&self, program: &str) -> Command {
        let mut command = self.release.command(program);
        command.envs(&self.environment.variables);
        if program == "slurmdbd" {
            command.envs(self.environment.slurmdbd.iter().cloned());
        }
        command
    }

    pub(crate) fn start_daemon(&self, name: &str, command: &Command) -> Result<Daemon> {
        self.processes.start(name, command, self.directory.join("log").join(name))
    }

    pub(crate) fn write_config(&self) -> Result<()> {
        replace(&self.directory.join("slurm.conf"), self.config.text())
    }

    // The end

    /// Ends the cluster but leaves its directory, and says where.
    pub(crate) fn retain(&mut self) {
        if !std::mem::replace(&mut self.over, true) {
            let ended = self.processes.finish(true);
            let _ = fs::remove_dir_all(self.directory.join("database"));
            eprintln!("The cluster's logs are kept in {}", self.directory.display());
            if let Err(error) = ended {
                eprintln!("Ending the cluster's processes: {error:#}");
            }
        }
    }

    /// Lets the cluster run on when this process ends. Sending SIGTERM to the returned process id
    /// ends it and removes its directory.
    ///
    /// # Errors
    /// If the keeper of its processes does not answer.
    pub fn detach(mut self) -> Result<u32> {
        self.processes.detach()?;
        self.over = true;
        Ok(self.processes.keeper())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.retain();
        } else if !self.over {
            if let Err(error) = self.processes.finish(false) {
                eprintln!("Ending the cluster in {}: {error:#}", self.directory.display());
            }
        }
    }
}

/// What makes slurmctld's cycles so short that a test need not wait for minutes; see `preload.c`.
pub(crate) fn cycle_seconds(release: &Release, seconds: Option<u32>) -> Result<Vec<(String, String)>> {
    let Some(seconds) = seconds else { return Ok(Vec::new()) };
    Ok(vec![
        ("TESTCLUSTER_CYCLE_SECONDS".to_owned(), seconds.to_string()),
        ("TESTCLUSTER_CYCLE_OFFSET".to_owned(), release.calc_period_offset()?.to_string()),
    ])
}

/// The command, run by another one.
pub(crate) fn wrapped(wrapper: &[String], command: Command) -> Command {
    let Some((program, arguments)) = wrapper.split_first() else { return command };
    let mut outer = Command::new(program);
    outer.args(arguments).arg(command.get_program()).args(command.get_args());
    outer.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    outer
}
