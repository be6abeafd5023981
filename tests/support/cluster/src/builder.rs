//! What a cluster shall be, and its start.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{ensure, Context, Result};

use crate::cluster::{cycle_seconds, Cluster, Environment};
use crate::config::Config;
use crate::controller::Mode;
use crate::processes::Processes;
use crate::{database, Accounts, Release};

/// What intercepts a few functions in Slurm's processes; see `preload.c`.
const PRELOAD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"));
pub(crate) const PRELOAD_FILE: &str = "preload.so";

/// What makes calls of one object slow; see `slow.c`.
const SLOW: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/slow.so"));
pub(crate) const SLOW_FILE: &str = "slow";
const HOSTS_FILE: &str = "hosts";
/// Slurm asks for the name behind the address of each peer. The root directory of another release has no `/etc/hosts`: without this the
/// question goes to the network's name server, and the daemon waits for five seconds where that is slow.
const HOSTS: &str = "127.0.0.1 localhost\n0.0.0.0 any\n";

/// The first of the uids of the cluster's users, and the gid of those without a group of their own.
const FIRST_UID: u32 = 10_000;

/// The first of the gids of [`Builder::group`].
const FIRST_GID: u32 = 20_000;

/// The name of every cluster.
const CLUSTER_NAME: &str = "test";

/// slurmctld and slurmdbd have the first ports of the block; the slurmds and spare ones follow.
pub(crate) const CONTROLLER_PORT: u16 = 0;
pub(crate) const DATABASE_PORT: u16 = 1;
const FIRST_NODE_PORT: u16 = 4;
const MOST_SLURMDS: u16 = crate::keeper::PORTS_PER_CLUSTER - FIRST_NODE_PORT;

/// Describes a cluster; [`Builder::start`] starts it. What is not said has the default that most tests want:
/// the host's Slurm, stock `priority/multifactor`, cycles of one second, usage that
/// does not decay, four nodes that never answer and one partition `main` that is down, so that jobs stay pending.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    release: Option<Release>,
    config: Config,
    nodes: u16,
    cpus: u16,
    slurmds: bool,
    cycle_seconds: Option<u32>,
    accounts: Accounts,
    users: Vec<String>,
    groups: Vec<(String, Vec<String>)>,
    memory: u32,
    usage: Vec<(String, String, f64)>,
    plugins: Vec<(PathBuf, String)>,
    plugin_directories: Vec<PathBuf>,
    files: Vec<(String, String)>,
    controller_env: Vec<(String, String)>,
    controller_wrapper: Vec<String>,
    controller: bool,
    mode: Mode,
    watch_heap: bool,
    slow_object: Option<String>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            release: None,
            config: Config::default(),
            nodes: 4,
            cpus: 8,
            slurmds: false,
            cycle_seconds: Some(1),
            accounts: Accounts::default(),
            users: Vec::new(),
            groups: Vec::new(),
            memory: 1,
            usage: Vec::new(),
            plugins: Vec::new(),
            plugin_directories: Vec::new(),
            files: Vec::new(),
            controller_env: Vec::new(),
            controller_wrapper: Vec::new(),
            controller: true,
            mode: Mode::default(),
            watch_heap: false,
            slow_object: None,
        }
    }
}

/// Gives the files of the wrapper library one time. slurmctld closes the library's files when it starts, so that the library may hold one of them for
/// another; it reads that again only where its time is in another second than that of the one before, and then finds lines of the wrong kind.
fn same_second(directory: &Path) -> Result<()> {
    let now = SystemTime::now();
    for name in ["passwd", "group", HOSTS_FILE] {
        fs::File::options().append(true).open(directory.join(name))?.set_modified(now)?;
    }
    Ok(())
}

impl Builder {
    /// Runs this Slurm instead of the host's.
    pub fn release(mut self, release: Release) -> Self {
        self.release = Some(release);
        self
    }

    /// `PriorityType`, for example `priority/multifactor2`.
    pub fn priority_type(self, name: &str) -> Self {
        self.set("PriorityType", name)
    }

    /// Copies a plugin into the cluster's private plugin directory under this file name, for example
    /// `priority_multifactor2.so`.
    pub fn plugin(mut self, file: impl Into<PathBuf>, name: &str) -> Self {
        self.plugins.push((file.into(), name.to_owned()));
        self
    }

    /// A directory of plugins, searched after the private and before the stock one.
    pub fn plugin_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.plugin_directories.push(directory.into());
        self
    }

    /// A setting of slurm.conf; replaces the default or an earlier one.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.config.set(name, value);
        self
    }

    /// A whole line of slurm.conf, for example a partition or nodes.
    pub fn line(mut self, line: &str) -> Self {
        self.config.line(line);
        self
    }

    /// A file beside slurm.conf, for example `multifactor2.conf`.
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }

    /// What the names of hosts mean to the cluster's processes, as in `/etc/hosts`. It needs [`Release::nss_wrapper`].
    pub(crate) fn hosts(self, lines: &str) -> Self {
        self.file(HOSTS_FILE, lines)
    }

    /// How many nodes `n1`, `n2`, … there are (default 4; 0 leaves nodes and partitions to [`Builder::line`]).
    pub fn nodes(mut self, nodes: u16) -> Self {
        self.nodes = nodes;
        self
    }

    /// CPUs of each node (default 8), whatever the machine has.
    pub fn cpus(mut self, cpus: u16) -> Self {
        self.cpus = cpus;
        self
    }

    /// Whether a slurmd runs for each node and the partition is up, so that jobs run. As an
    /// ordinary user only that user's own jobs do.
    pub fn slurmds(mut self, slurmds: bool) -> Self {
        self.slurmds = slurmds;
        self
    }

    /// Seconds between two decay cycles (default 1). `None`: the whole minutes of `PriorityCalcPeriod`.
    pub fn cycle_seconds(mut self, seconds: Option<u32>) -> Self {
        self.cycle_seconds = seconds;
        self
    }

    /// The account tree.
    pub fn accounts(mut self, accounts: &Accounts) -> Self {
        accounts.clone_into(&mut self.accounts);
        self
    }

    /// A user that exists on the system but has no association.
    pub fn user(mut self, name: &str) -> Self {
        self.users.push(name.to_owned());
        self
    }

    /// A Unix group, and the users whose own group it is. The others are in `users`.
    pub fn group(mut self, name: &str, users: &[&str]) -> Self {
        self.groups.push((name.to_owned(), users.iter().map(|&user| user.to_owned()).collect()));
        self
    }

    /// Memory of each node in MB (default 1), whatever the machine has.
    pub fn memory(mut self, memory: u32) -> Self {
        self.memory = memory;
        self
    }

    /// Usage that exists from the start: (account, user, seconds). See [`Cluster::inject_usage`].
    pub fn usage(mut self, usage: &[(&str, &str, f64)]) -> Self {
        let owned = usage
            .iter()
            .map(|(account, user, seconds)| ((*account).to_owned(), (*user).to_owned(), *seconds));
        self.usage.extend(owned);
        self
    }

    /// A variable in slurmctld's environment, for example `LD_BIND_NOW`.
    pub fn controller_env(mut self, name: &str, value: &str) -> Self {
        self.controller_env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Counts what is in use of slurmctld's heap; see [`Cluster::heap_in_use`].
    pub fn watch_heap(mut self) -> Self {
        self.watch_heap = true;
        self
    }

    /// Makes calls of one object in slurmctld slow, once [`Cluster::slow`] says how: of one whose file name has `object` in it.
    pub fn slow_object(mut self, object: &str) -> Self {
        self.slow_object = Some(object.to_owned());
        self
    }

    /// Runs slurmctld under a command, for example `valgrind` and its options, which becomes it or ends with it. It gets
    /// five times as long to start and to stop.
    pub fn controller_wrapper(mut self, command: &[&str]) -> Self {
        self.controller_wrapper = command.iter().map(|&word| word.to_owned()).collect();
        self
    }

    /// How slurmctld is started (default: in the foreground).
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Whether slurmctld is started (default), or left to [`Cluster::start_controller`].
    pub fn controller(mut self, start: bool) -> Self {
        self.controller = start;
        self
    }

    /// Starts the cluster and waits until it serves requests.
    ///
    /// # Errors
    /// If something is not installed, or a daemon does not start: with the end of its log. The
    /// logs are kept then, and their place is printed.
    pub fn start(self) -> Result<Cluster> {
        ensure!(
            !self.slurmds || self.nodes <= MOST_SLURMDS,
            "{} slurmds asked for, at most {MOST_SLURMDS} are possible",
            self.nodes
        );
        let release = self.release.clone().map_or_else(Release::host, Ok)?;
        let directory = tempfile::Builder::new().prefix("slurm-test-").tempdir()?;
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755))?;
        for name in ["log", "state", "spool", "plugins"] {
            fs::create_dir(directory.path().join(name))?;
        }
        let processes = Processes::new(directory.path())?;
        // From here on the keeper removes the directory, and the cluster's drop decides whether.
        let directory = directory.keep();

        let environment = self.environment(&release, &directory)?;
        let ids = self.write_users(&directory)?;
        let mut cluster = Cluster::new(directory, release, self.mode, processes, environment, ids);
        match self.start_daemons(&mut cluster) {
            Ok(()) => Ok(cluster),
            Err(error) => {
                cluster.retain();
                Err(error.context(format!("starting a cluster in {}", cluster.directory().display())))
            }
        }
    }

    fn start_daemons(&self, cluster: &mut Cluster) -> Result<()> {
        let directory = cluster.directory().to_owned();
        self.write_files(&directory)?;
        cluster.config = self.slurm_conf(cluster)?;
        cluster.write_config()?;
        self.write_slurmdbd_conf(cluster)?;

        cluster.start_database()?;
        cluster.start_slurmdbd()?;

        let dump = directory.join("accounts");
        fs::write(&dump, self.accounts.dump(CLUSTER_NAME))?;
        // A dump is accepted only from a user with a record in the database: at first that is root.
        let load = cluster.command("sacctmgr").user("root")?;
        let loaded = load.args(["-i", "load"]).arg(dump.display()).text()?;
        fs::write(directory.join("log/sacctmgr-load"), loaded)?;

        if !self.usage.is_empty() {
            let usage: Vec<(&str, &str, f64)> =
                self.usage.iter().map(|(account, user, seconds)| (&**account, &**user, *seconds)).collect();
            cluster.write_usage(&usage)?;
        }
        if self.controller {
            cluster.start_controller()?;
        }
        if self.slurmds {
            cluster.start_slurmds(self.nodes)?;
        }
        Ok(())
    }

    fn environment(&self, release: &Release, directory: &Path) -> Result<Environment> {
        let preload = directory.join(PRELOAD_FILE);
        fs::write(&preload, PRELOAD)?;
        let text = |path: &Path| path.display().to_string();
        let mut preloads = vec![text(&preload)];
        let mut variables = BTreeMap::new();
        // First, so that a test can say otherwise.
        let candidate = release.candidate()?.map(|name| ("MULTIFACTOR2_CANDIDATE".to_owned(), name));
        let mut controller: Vec<_> = candidate.into_iter().chain(self.controller_env.clone()).collect();
        if let Some(object) = &self.slow_object {
            let slow = directory.join("slow.so");
            fs::write(&slow, SLOW)?;
            preloads.push(text(&slow));
            controller.push(("TESTCLUSTER_SLOW_OBJECT".to_owned(), object.clone()));
            controller.push(("TESTCLUSTER_SLOW".to_owned(), text(&directory.join(SLOW_FILE))));
        }
        if let Some(wrapper) = &release.nss_wrapper {
            preloads.push(text(wrapper));
            variables.insert("NSS_WRAPPER_PASSWD".to_owned(), text(&directory.join("passwd")));
            variables.insert("NSS_WRAPPER_GROUP".to_owned(), text(&directory.join("group")));
            variables.insert("NSS_WRAPPER_HOSTS".to_owned(), text(&directory.join(HOSTS_FILE)));
        }
        variables.insert("SLURM_CONF".to_owned(), text(&directory.join("slurm.conf")));
        variables.insert("LD_PRELOAD".to_owned(), preloads.join(":"));

        controller.extend(cycle_seconds(release, self.cycle_seconds)?);
        if self.watch_heap {
            controller.push(("TESTCLUSTER_HEAP".to_owned(), text(&directory.join("heap"))));
        }
        let slurmdbd = vec![("MYSQL_UNIX_PORT".to_owned(), text(&database::socket(directory)))];
        let controller_wrapper = self.controller_wrapper.clone();
        Ok(Environment { variables, controller, controller_wrapper, slurmdbd })
    }

    /// The group of a user.
    fn gid(&self, user: &str) -> u32 {
        let of =
            (FIRST_GID..).zip(&self.groups).find(|(_, (_, users))| users.iter().any(|name| name == user));
        of.map_or(FIRST_UID, |(gid, _)| gid)
    }

    /// Writes the private passwd and group files; gives uids and gids.
    fn write_users(&self, directory: &Path) -> Result<BTreeMap<String, (u32, u32)>> {
        let mut names = self.accounts.user_names();
        names.extend(self.users.iter().map(String::as_str));
        names.remove("root");
        let ids: BTreeMap<String, (u32, u32)> =
            (FIRST_UID..).zip(names).map(|(uid, name)| (name.to_owned(), (uid, self.gid(name)))).collect();

        let own = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        let mut users = vec![("root", 0, 0)];
        if own.0 != 0 {
            users.push((slurm_user(), own.0, own.1));
        }
        users.extend(ids.iter().map(|(name, (uid, gid))| (name.as_str(), *uid, *gid)));
        let passwd: Vec<String> =
            users.iter().map(|(name, uid, gid)| format!("{name}:x:{uid}:{gid}::/tmp:/bin/sh\n")).collect();
        let mut groups = vec![("root", 0), ("users", FIRST_UID)];
        if own.0 != 0 {
            groups.push((slurm_user(), own.1));
        }
        groups.extend(self.groups.iter().zip(FIRST_GID..).map(|((name, _), gid)| (name.as_str(), gid)));
        let group: Vec<String> = groups.iter().map(|(name, gid)| format!("{name}:x:{gid}:\n")).collect();
        fs::write(directory.join("passwd"), passwd.concat())?;
        fs::write(directory.join("group"), group.concat())?;
        Ok(ids)
    }

    fn write_files(&self, directory: &Path) -> Result<()> {
        for (file, name) in &self.plugins {
            fs::copy(file, directory.join("plugins").join(name))
                .with_context(|| format!("copying the plugin {}", file.display()))?;
        }
        fs::write(directory.join(HOSTS_FILE), HOSTS)?;
        for (name, text) in &self.files {
            fs::write(directory.join(name), text)?;
        }
        same_second(directory)
    }

    fn plugin_path(&self, cluster: &Cluster) -> String {
        let private = cluster.directory().join("plugins");
        std::iter::once(&private)
            .chain(&self.plugin_directories)
            .chain(std::iter::once(&cluster.release().plugin_directory))
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(":")
    }

    fn slurm_conf(&self, cluster: &Cluster) -> Result<Config> {
        let directory = cluster.directory().display();
        let port = |number: u16| cluster.port(number).to_string();
        let mut config = Config::default();
        for (name, value) in [
            ("ClusterName", CLUSTER_NAME),
            ("SlurmctldHost", "localhost(127.0.0.1)"),
            ("SlurmctldPort", &port(CONTROLLER_PORT)),
            ("SlurmUser", slurm_user()),
            ("SlurmdUser", slurm_user()),
            ("AuthType", "auth/none"),
            ("CredType", "cred/none"),
            ("PluginDir", &self.plugin_path(cluster)),
            ("AccountingStorageType", "accounting_storage/slurmdbd"),
            ("AccountingStorageHost", "127.0.0.1"),
            ("AccountingStoragePort", &port(DATABASE_PORT)),
            ("AccountingStorageEnforce", "associations,limits"),
            ("StateSaveLocation", &format!("{directory}/state")),
            ("SlurmdSpoolDir", &format!("{directory}/spool/%n")),
            ("SlurmctldPidFile", &format!("{directory}/slurmctld.pid")),
            ("SlurmdPidFile", &format!("{directory}/slurmd-%n.pid")),
            ("SlurmdLogFile", &format!("{directory}/log/slurmd-%n")),
            ("ProctrackType", "proctrack/linuxproc"),
            ("TaskPlugin", "task/none"),
            ("JobAcctGatherType", "jobacct_gather/none"),
            ("MpiDefault", "none"),
            ("MailProg", "/bin/true"),
            ("ReturnToService", "2"),
            ("SchedulerType", "sched/backfill"),
            ("SelectType", "select/cons_tres"),
            ("PriorityType", "priority/multifactor"),
            ("PriorityDecayHalfLife", "0"),
            ("PriorityUsageResetPeriod", "NONE"),
            ("PriorityCalcPeriod", "1"),
            ("PriorityWeightFairshare", "100000"),
        ] {
            config.set(name, value);
        }
        if self.mode == Mode::Daemon {
            config.set("SlurmctldLogFile", &format!("{directory}/log/slurmctld"));
        }
        if self.slurmds {
            config.set("SlurmdParameters", "config_overrides");
        } else {
            config.set("SlurmdTimeout", "0");
        }
        let nodes = self.nodes;
        for node in 1..=nodes {
            let at =
                if self.slurmds { FIRST_NODE_PORT + node - 1 } else { MOST_SLURMDS + FIRST_NODE_PORT - 1 };
            config.line(&format!(
                "NodeName=n{node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={} CPUs={} RealMemory={}",
                port(at),
                self.cpus,
                self.memory
            ));
        }
        if nodes > 0 {
            let state = if self.slurmds { "UP" } else { "DOWN" };
            config.line(&format!("PartitionName=main Nodes=n[1-{nodes}] Default=YES State={state}"));
        }
        config.extend(&self.config);
        let version = cluster.release().version;
        if (version.year, version.month) >= (24, 5) {
            fs::write(cluster.directory().join("cgroup.conf"), "CgroupPlugin=disabled\n")?;
        }
        Ok(config)
    }

    fn write_slurmdbd_conf(&self, cluster: &Cluster) -> Result<()> {
        let mut config = Config::default();
        let directory = cluster.directory().display();
        for (name, value) in [
            ("AuthType", self.config.get("AuthType").unwrap_or("auth/none")),
            ("DbdHost", "localhost"),
            ("DbdAddr", "127.0.0.1"),
            ("DbdPort", &cluster.port(DATABASE_PORT).to_string()),
            ("SlurmUser", slurm_user()),
            ("StorageType", "accounting_storage/mysql"),
            ("StorageHost", "localhost"),
            ("StorageUser", "root"),
            ("StorageLoc", "slurm"),
            ("PidFile", &format!("{directory}/slurmdbd.pid")),
            ("PluginDir", &self.plugin_path(cluster)),
        ] {
            config.set(name, value);
        }
        let path = cluster.directory().join("slurmdbd.conf");
        fs::write(&path, config.text())?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        Ok(())
    }
}

/// The name of the user that runs the daemons: this process's.
fn slurm_user() -> &'static str {
    if rustix::process::getuid().is_root() {
        "root"
    } else {
        "slurm"
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Where they were written across the end of a second, slurmctld did not find the name of its own host.
    #[test]
    fn files_of_names_have_one_time() {
        let directory = tempfile::tempdir().unwrap();
        for (at, name) in [0, 5, 1].into_iter().zip(["passwd", "group", HOSTS_FILE]) {
            let file = fs::File::create(directory.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(at)).unwrap();
        }
        same_second(directory.path()).unwrap();
        let time = |name| fs::metadata(directory.path().join(name)).unwrap().modified().unwrap();
        let [first, others @ ..] = ["passwd", "group", HOSTS_FILE].map(time);
        assert_eq!(others, [first; 2]);
    }
}
