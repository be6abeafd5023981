//! Finds the snapshot that the plugin writes on this host, if the user can read it and can trust it. Reading it costs slurmctld nothing
//! that grows with jobs, so it is the first source.
//!
//! A second file may exist for everybody (`SnapshotPublic`), with what Slurm does not tell every user.
//!
//! Requests for single records complete the snapshot: partitions tell their nodes, slurmdbd which QOS preempts which, squeue the current
//! state of a job.

use std::fs::{self, File, Metadata};
use std::io::{self, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use multifactor2_core::settings::{Enforced, Settings, PARAMETERS};
use multifactor2_snapshot::records::Job;
use multifactor2_snapshot::{format, Snapshot};
use rustix::fs::{open, Mode, OFlags};
use slurm_text::{config, partitions, Parameters};

use super::parse::{self, queue::Listed};
use super::texts::Texts;
use super::{commands, Problem};

/// How much older than two periods a snapshot may be, in seconds: a save can take a while.
const LATE: i64 = 60;

/// Where the plugin's files are looked for, and by what they are believed.
#[derive(Debug)]
pub struct PluginFiles {
    settings: Settings,
    /// `SlurmUser`
    owner: Option<u32>,
    cluster: String,
    enforced: Enforced,
}

impl PluginFiles {
    /// By the answer of `scontrol show config`, and the multifactor2.conf of this host. `None` if the plugin does not run, or this
    /// host does not know its settings.
    pub fn of(configuration: &str, conf: &Path) -> Option<Self> {
        let parameters = config::parameters(configuration);
        let of = |name: &str| parameters.get(name).map_or("", String::as_str);
        if !of("PriorityType").ends_with("/multifactor2") {
            return None;
        }
        let written = Some(of(PARAMETERS)).filter(|text| !text.is_empty() && *text != "(null)");
        let settings = Settings::load(written, conf).ok()?.settings;
        let owner = config::uid(of("SlurmUser"));
        Some(Self {
            settings,
            owner,
            cluster: of("ClusterName").to_owned(),
            enforced: Enforced::of_words(of("AccountingStorageEnforce")),
        })
    }

    /// The snapshot, requested now; `None` if there is none that the user can read.
    ///
    /// # Errors
    /// There is one that is not used: why, and what to do.
    pub fn read(&self, now: i64) -> Result<Option<Snapshot>, Problem> {
        self.settings.snapshot_file().map_or(Ok(None), |path| self.read_file("Snapshot", path, now))
    }

    /// The file for everybody, asked for now; as [`PluginFiles::read`].
    ///
    /// # Errors
    /// As [`PluginFiles::read`].
    pub fn read_public(&self, now: i64) -> Result<Option<Snapshot>, Problem> {
        self.settings.public_file().map_or(Ok(None), |path| self.read_file("SnapshotPublic", path, now))
    }

    /// Takes from the file for everybody what Slurm has not told the user: the size of the cluster, and the settings if none was withheld
    /// and `conf` gives no others. Says where those of this host differ from slurmctld's.
    pub fn add_public(&self, snapshot: &mut Snapshot, public: Snapshot, conf: Option<&Path>) {
        let shows_partitions = !snapshot.is_private("partitions");
        let about = &mut snapshot.about;
        if about.cpus == 0 || about.nodes == 0 {
            (about.cpus, about.nodes) = (public.about.cpus, public.about.nodes);
        }
        if conf.is_none() && public.about.withheld == 0 {
            about.plugin = public.about.plugin;
            snapshot.settings = public.settings;
            for setting in snapshot.settings.iter_mut().flatten() {
                "SnapshotPublic".clone_into(&mut setting.from);
            }
            return;
        }
        let mut settings = self.settings.clone();
        settings.take_out_unenforced(self.enforced);
        let of_host = settings.public(shows_partitions).settings.lines();
        let in_force: Vec<String> =
            public.settings.into_iter().flatten().map(|setting| setting.line).collect();
        let differs = |a: &[String], b: &[String]| a.iter().find(|line| !b.contains(line)).cloned();
        if let Some(line) = differs(&of_host, &in_force).or_else(|| differs(&in_force, &of_host)) {
            about.hidden.push(format!(
                "The settings of slurmctld differ from those of this host: {line}. Give the controller's multifactor2.conf with --conf."
            ));
        }
    }

    fn read_file(&self, setting: &str, path: &str, now: i64) -> Result<Option<Snapshot>, Problem> {
        let not_used =
            |what: String, next: &str| Problem::new(format!("the snapshot {path} is not used: {what}"), next);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match open(path, flags, Mode::empty()).map_err(io::Error::from) {
            Ok(file) => File::from(file),
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(not_used(error.to_string(), "check that file")),
        };
        let directory = Path::new(path).parent().unwrap_or(Path::new(path));
        let about = file.metadata().and_then(|file| Ok((file, fs::metadata(directory)?)));
        let (of_file, of_directory) =
            about.map_err(|error| not_used(error.to_string(), "check that file"))?;
        if !of_file.is_file() || !self.is_trusted(&of_file) || !self.is_trusted(&of_directory) {
            let what =
                "it or its directory belongs to a user other than root and SlurmUser, or others can write it";
            return Err(not_used(what.to_owned(), "correct owner and mode"));
        }
        let mut snapshot = format::read(BufReader::new(file))
            .map_err(|error| not_used(error.to_string(), "see the log of slurmctld"))?;
        if snapshot.about.cluster != self.cluster {
            let what = format!("it is of cluster {}, not of {}", snapshot.about.cluster, self.cluster);
            return Err(not_used(what, &format!("correct {setting} in the multifactor2.conf of this host")));
        }
        let age = now - snapshot.about.taken;
        let most = 2 * self.settings.snapshot_period + LATE;
        if age > most {
            let what = format!("it is {age} s old, and may be {most} s old (2 * SnapshotPeriod + {LATE} s)");
            return Err(not_used(what, "see the log of slurmctld"));
        }
        snapshot.about.asked = now;
        Ok(Some(snapshot))
    }

    fn is_trusted(&self, about: &Metadata) -> bool {
        const WRITES: u32 = 0o022;
        (about.uid() == 0 || Some(about.uid()) == self.owner) && about.mode() & WRITES == 0
    }
}

/// Takes from the answers of single requests what a snapshot has not; `listed` are the jobs that squeue was asked for. `false` where a job that is asked for is not in it as it stands
/// now: it is newer, runs or has ended.
pub fn complete(snapshot: &mut Snapshot, texts: &Texts, listed: &[Listed]) -> bool {
    let (parts, _) = partitions::partitions(texts.text(commands::PARTITIONS));
    for partition in &mut snapshot.partitions {
        let told = parts.iter().find(|told| told.name == partition.name);
        partition.nodes = told.map_or_else(String::new, |told| told.node_list.clone());
    }
    let (declared, _) = parse::qos::qos(texts.text(commands::QOS));
    let preempt = |name: &str| declared.iter().find(|qos| qos.name == name)?.preempt.clone();
    snapshot.about.knows_preemption = !declared.is_empty();
    for qos in &mut snapshot.qos {
        match preempt(&qos.name) {
            Some(names) => qos.preempt = names,
            None => snapshot.about.knows_preemption = false,
        }
    }
    if texts.manifest.jobs.is_empty() {
        return true;
    }
    if let Some(why) = texts.manifest.failed.get(commands::QUEUE) {
        let because =
            format!("squeue gave no answer ({why}), so the job may have changed since the snapshot.");
        snapshot.about.doubt_queue("not_answered", &because);
        return true;
    }
    let all_wait = listed.iter().all(|job| job.state == "PD");
    if !all_wait || !texts.manifest.jobs.iter().all(|name| listed.iter().any(|job| job.is_called(name))) {
        return false;
    }
    let mut moved = None;
    for now in listed {
        let Some(at) = snapshot.jobs.iter().position(|job| job.id == now.id) else { return false };
        (snapshot.jobs[at].reason, snapshot.jobs[at].start) = (now.reason.clone(), now.start);
        let job = &snapshot.jobs[at];
        if !may_have(snapshot, job, now.priority) {
            moved = moved.or(Some((job.id, job.priority, now.priority)));
        }
    }
    if let Some((id, then, now)) = moved {
        let because =
            format!("job {id} has priority {now} now, but had {then} in the snapshot: it was changed since.");
        snapshot.about.doubt_queue("not_asked", &because);
    }
    true
}

/// Whether a job can have this priority now by what AGE has added since; in one of its partitions.
fn may_have(snapshot: &Snapshot, job: &Job, now: u32) -> bool {
    let factors = Parameters::new(|name: &str| snapshot.parameter(name)).factors((0, 0), None);
    let (weight, whole) = (f64::from(factors.weights.age), f64::from(factors.max_age.max(1)));
    #[allow(clippy::cast_precision_loss)] // seconds
    let passed = (snapshot.about.asked - snapshot.about.time).max(0) as f64;
    // Rounded down, then and now.
    let growth = (weight * passed / whole).min(weight) + 1.0;
    let from = |then: u32| (f64::from(then) - 1.0..=f64::from(then) + growth).contains(&f64::from(now));
    let entries = snapshot.entries.iter().filter(|entry| entry.job == job.id);
    from(job.priority) || (now != 0 && entries.map(|entry| entry.priority).any(from))
}
