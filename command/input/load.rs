//! `--from`, `--save`, `--conf` and related options: loads a snapshot from the requested source.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use multifactor2_snapshot::{format, Snapshot};
use slurm_text::dump::is_dump;
use slurm_text::limits::field as limit_of;

use super::ask::{self, Question, Run, Until};
use super::parse::queue::Listed;
use super::texts::{self, Texts};
use super::{anonymise, assemble, commands, dump, found, parse, settings, Problem};
use crate::answers::check::host;
use crate::error::Error;
use crate::files::NewDirectory;
use crate::options;
use crate::progress::Progress;

/// The name of a snapshot in a saved directory.
const SNAPSHOT: &str = "snapshot";

/// The most of a file that is looked at to see what it is.
const BEGINNING: u64 = 64 << 10;

/// Where a snapshot comes from.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(skip)]
pub struct Arguments {
    /// Read a --save directory, a snapshot of the plugin or a 'sacctmgr dump' file instead of asking Slurm
    #[arg(long, value_name = "PATH")]
    pub from: Option<PathBuf>,
    /// Save Slurm's output in a new directory, for --from and for support
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// Replace names of users, accounts, partitions, QOS, reservations, wckeys and the cluster consistently; 'root' and QOS 'normal' stay. With --save, write a single file 'snapshot', without host and file names
    #[arg(long)]
    pub anonymise: bool,
    /// The controller's multifactor2.conf, which no Slurm command shows
    #[arg(long, value_name = "FILE")]
    pub conf: Option<PathBuf>,
    /// Ask another cluster, through slurmdbd
    #[arg(short = 'M', long = "cluster", value_name = "NAME", conflicts_with = "from")]
    pub cluster: Option<String>,
    /// Ask Slurm even if the plugin's snapshot is readable on this host
    #[arg(long, conflicts_with = "from")]
    pub live: bool,
    /// Time limit for all Slurm commands together; the answer names what is missing
    #[arg(long, value_name = "SECONDS", default_value_t = ask::TIMEOUT.as_secs(), value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub timeout: u64,
}

/// What a question needs to know.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// What slurmdbd alone tells of QOS.
    pub qos: bool,
    /// The weights of this host, and nothing of the plugin's snapshot.
    pub host: bool,
    /// These jobs only, as squeue calls them, and no place; all where there are none.
    pub jobs: Vec<String>,
    /// The jobs of this user only, and no place.
    pub user: Option<String>,
    /// How these jobs stand now, where all else is of a snapshot.
    pub now: Vec<String>,
    /// The limits of these users, and of those of `now`; else only of those whose job a limit holds.
    pub limits_of: Option<Vec<String>>,
    /// The tree alone, and no jobs.
    pub tree_only: bool,
}

impl Needs {
    /// QOS as slurmdbd has them, and all jobs.
    pub fn of_qos() -> Self {
        Self { qos: true, ..Self::default() }
    }
}

/// The snapshot that the options ask for, and what Slurm said where that is what it is made from, or completed with.
///
/// # Errors
/// What is wrong, and what to do.
pub fn load(
    arguments: &Arguments,
    needs: &Needs,
    progress: &Progress,
) -> Result<(Snapshot, Option<Texts>), Error> {
    let conf = arguments.conf.as_deref();
    let (snapshot, texts) = if let Some(path) = &arguments.from {
        progress.step("Reading what was saved");
        read_with_texts(path, conf)?
    } else {
        let cluster = arguments.cluster.as_deref();
        if let Some(cluster) =
            cluster.filter(|name| name.is_empty() || name.contains(',') || name.starts_with('-'))
        {
            return Err(Error::Question(format!("-M {cluster}: this is not one cluster: name one cluster")));
        }
        let until = Until::within(Duration::from_secs(arguments.timeout));
        live(arguments, needs, progress, &|call| until.run(call))?
    };
    let snapshot = if arguments.anonymise { anonymise::anonymise(&snapshot) } else { snapshot };
    if let Some(directory) = &arguments.save {
        progress.step("Saving");
        match &texts {
            // A snapshot of the plugin has more than single requests.
            Some(texts) if !arguments.anonymise && snapshot.about.asked == 0 => texts.save(directory)?,
            _ => save(&snapshot, directory)?,
        }
    }
    // Other names stand in what Slurm said.
    Ok((snapshot, texts.filter(|_| !arguments.anonymise)))
}

/// From the plugin's snapshot of this host, else from what Slurm says.
fn live(
    arguments: &Arguments,
    needs: &Needs,
    progress: &Progress,
    run: Run<'_>,
) -> Result<(Snapshot, Option<Texts>), Error> {
    let (cluster, conf) = (arguments.cluster.as_deref(), arguments.conf.as_deref());
    progress.step("Asking scontrol");
    let mut texts = ask::configuration(cluster, ask::own_uid(), &commands::mark(), run)?;
    let mut not_used = Vec::new();
    let place = Some(texts.text(commands::CONFIG)).filter(|_| cluster.is_none() && !needs.host);
    let file = conf.map_or_else(host::multifactor2_conf, Path::to_owned);
    let place = place.and_then(|configuration| found::PluginFiles::of(configuration, &file));
    if let Some(place) = place.as_ref().filter(|_| !arguments.live) {
        match of_plugin(&texts, needs, place, conf, run) {
            Ok(Some((snapshot, texts))) => return Ok((snapshot, Some(texts))),
            Ok(None) => {}
            Err(problem) => not_used.push(problem),
        }
    }
    progress.step(if needs.tree_only {
        "Asking sshare and scontrol"
    } else {
        "Asking squeue, sprio, sshare and scontrol"
    });
    let question = Question {
        cluster,
        qos: needs.qos,
        local_weights: needs.host,
        jobs: needs.jobs.clone(),
        user: needs.user.clone(),
        asker: options::own_name().ok(),
        tree_only: needs.tree_only,
    };
    ask::rest(&mut texts, &question, run);
    progress.step("Reading what Slurm said");
    let mut snapshot = assemble(&texts, conf)?;
    if let Some(place) = &place {
        match place.read_public(texts.manifest.taken) {
            Ok(Some(public)) => place.add_public(&mut snapshot, public, conf),
            Ok(None) => {}
            Err(problem) => not_used.push(problem),
        }
    }
    snapshot.about.hidden.extend(not_used.iter().map(|problem| format!("{problem}.")));
    Ok((snapshot, Some(texts)))
}

/// The plugin's snapshot of this host, completed by single requests; `None` if there is none with what the question needs.
fn of_plugin(
    texts: &Texts,
    needs: &Needs,
    place: &found::PluginFiles,
    conf: Option<&Path>,
    run: Run<'_>,
) -> Result<Option<(Snapshot, Texts)>, Problem> {
    let configuration = texts.text(commands::CONFIG);
    let Some(mut snapshot) = place.read(texts.manifest.taken)? else { return Ok(None) };
    with_settings(&mut snapshot, conf)?;
    let mut single = texts.clone();
    single.manifest.jobs.clone_from(&needs.now);
    let mut calls = vec![commands::partitions(None)];
    let release = slurm_text::config::release(configuration);
    if ask::preempts_by_qos(configuration) || needs.limits_of.is_some() {
        calls.push(commands::qos(release));
    }
    if !needs.now.is_empty() {
        calls.push(commands::queue(None, &single.manifest, release));
    }
    ask::several(&mut single, &calls, run);
    let (listed, _) = parse::queue::jobs(single.text(commands::QUEUE), &single.manifest);
    let is_looked_at = |job: &&Listed| needs.limits_of.is_some() || limit_of(&job.reason).is_some();
    let users = listed.iter().filter(is_looked_at).map(|job| job.user.clone());
    let users: Vec<String> = users.chain(needs.limits_of.clone().unwrap_or_default()).collect();
    if !users.is_empty() {
        ask::several(&mut single, &[commands::associations(None, &users)], run);
    }
    Ok(found::complete(&mut snapshot, &single, &listed).then_some((snapshot, single)))
}

/// The snapshot in a file or a saved directory, which may come from anywhere; `conf` is what `--conf` names.
///
/// # Errors
/// If it is neither.
pub fn read(path: &Path, conf: Option<&Path>) -> Result<Snapshot, Problem> {
    read_with_texts(path, conf).map(|(snapshot, _)| snapshot)
}

/// The same with what Slurm said, where that is what was kept.
///
/// # Errors
/// As [`read`].
pub fn read_with_texts(path: &Path, conf: Option<&Path>) -> Result<(Snapshot, Option<Texts>), Problem> {
    let about = std::fs::metadata(path).map_err(|error| Problem::of_file(path, &error))?;
    let kept = path.join(SNAPSHOT);
    let file_of_snapshot =
        if about.is_dir() { Some(&*kept).filter(|kept| kept.is_file()) } else { Some(path) };
    if let Some(path) = file_of_snapshot {
        let mut snapshot = file(path)?;
        with_settings(&mut snapshot, conf)?;
        return Ok((snapshot, None));
    }
    let texts = Texts::read(path)?;
    let mut snapshot = assemble(&texts, conf)?;
    "files".clone_into(&mut snapshot.about.source);
    Ok((snapshot, Some(texts)))
}

/// The settings of a file, where one is given.
fn with_settings(snapshot: &mut Snapshot, conf: Option<&Path>) -> Result<(), Problem> {
    if conf.is_some() {
        snapshot.settings = settings::settings(conf, settings::parameters(snapshot))?;
    }
    Ok(())
}

/// A snapshot of the plugin, or a dump.
fn file(path: &Path) -> Result<Snapshot, Problem> {
    let fail = |error: std::io::Error| Problem::of_file(path, &error);
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(Problem::new(
            format!("{}: this is no file", path.display()),
            "name a file or a directory",
        ));
    }
    let mut beginning = Vec::new();
    std::fs::File::open(path).map_err(fail)?.take(BEGINNING).read_to_end(&mut beginning).map_err(fail)?;
    let beginning = String::from_utf8_lossy(&beginning);
    if is_dump(&beginning) {
        let bytes = texts::read(path, texts::MOST_BYTES)?;
        return Ok(dump::snapshot(&String::from_utf8_lossy(&bytes)));
    }
    let input = BufReader::new(std::fs::File::open(path).map_err(fail)?);
    let found = format::read(input).map_err(|problem| {
        let next = "give a snapshot of the plugin (Snapshot= in multifactor2.conf), a directory of --save, or a file of \
                    'sacctmgr dump'";
        Problem::new(format!("{}: {problem}", path.display()), next)
    })?;
    if found.about.source == "public" {
        let what = "this is the file for everybody (SnapshotPublic), and has no jobs, users or associations";
        return Err(Problem::new(format!("{}: {what}", path.display()), "give the file of Snapshot"));
    }
    Ok(found)
}

fn save(snapshot: &Snapshot, directory: &Path) -> Result<(), Error> {
    let mut bytes = Vec::new();
    format::write(snapshot, &mut bytes).map_err(|error| Error::of_output(directory, &error))?;
    let mut directory = NewDirectory::new(directory)?;
    directory.write(SNAPSHOT, &bytes)?;
    directory.finish();
    Ok(())
}
