//! `--from`, `--save`, `--conf` and the rest: a snapshot from wherever it is wanted.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use multifactor2_snapshot::{format, Snapshot};
use slurm_text::dump::is_dump;

use super::ask::{ask, Question};
use super::texts::{self, Texts};
use super::{anonymise, assemble, dump, settings, Problem};
use crate::error::Error;
use crate::files::NewDirectory;
use crate::progress::Progress;

/// The name of a snapshot in a saved directory.
const SNAPSHOT: &str = "snapshot";

/// The most of a file that is looked at to see what it is.
const BEGINNING: u64 = 64 << 10;

/// Where a snapshot comes from.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(skip)]
pub struct Arguments {
    /// Answer from what --save kept, from a snapshot of the plugin, or from a file of 'sacctmgr dump', and ask Slurm nothing
    #[arg(long, value_name = "PATH")]
    pub from: Option<PathBuf>,
    /// Keep what Slurm said in a new directory, for --from and for support
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// Give users, accounts, partitions, QOS, reservations, wckeys and the cluster other names, the same one wherever a name
    /// stands; 'root' and the QOS 'normal' stay. With --save, one file 'snapshot' is kept instead of what Slurm said, without
    /// names of hosts and files
    #[arg(long)]
    pub anonymise: bool,
    /// The multifactor2.conf of the controller, which no command of Slurm shows
    #[arg(long, value_name = "FILE")]
    pub conf: Option<PathBuf>,
    /// Ask another cluster, by way of slurmdbd
    #[arg(short = 'M', long = "cluster", value_name = "NAME", conflicts_with = "from")]
    pub cluster: Option<String>,
}

/// The snapshot that the options ask for; `qos`: with what slurmdbd alone tells of QOS.
///
/// # Errors
/// What is wrong, and what to do.
pub fn load(arguments: &Arguments, qos: bool, progress: &Progress) -> Result<Snapshot, Error> {
    load_with_texts(arguments, qos, progress).map(|(snapshot, _)| snapshot)
}

/// The same with what Slurm said, where that is what the snapshot is made from.
///
/// # Errors
/// As [`load`].
pub fn load_with_texts(
    arguments: &Arguments,
    qos: bool,
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
        let question = Question { cluster, qos, local_weights: true };
        let texts = ask(&question, &mut |program| progress.step(format!("Asking {program}")))?;
        progress.step("Reading what Slurm said");
        (assemble(&texts, conf)?, Some(texts))
    };
    let snapshot = if arguments.anonymise { anonymise::anonymise(&snapshot) } else { snapshot };
    if let Some(directory) = &arguments.save {
        progress.step("Saving");
        match &texts {
            Some(texts) if !arguments.anonymise => texts.save(directory)?,
            _ => save(&snapshot, directory)?,
        }
    }
    Ok((snapshot, texts))
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
        if conf.is_some() {
            snapshot.settings = settings::settings(conf, settings::parameters(&snapshot))?;
        }
        return Ok((snapshot, None));
    }
    let texts = Texts::read(path)?;
    let mut snapshot = assemble(&texts, conf)?;
    "files".clone_into(&mut snapshot.about.source);
    Ok((snapshot, Some(texts)))
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
    format::read(input).map_err(|problem| {
        let next = "give a snapshot of the plugin (Snapshot= in multifactor2.conf), a directory of --save, or a file of \
                    'sacctmgr dump'";
        Problem::new(format!("{}: {problem}", path.display()), next)
    })
}

fn save(snapshot: &Snapshot, directory: &Path) -> Result<(), Error> {
    let mut bytes = Vec::new();
    format::write(snapshot, &mut bytes).map_err(|error| Error::of_output(directory, &error))?;
    let mut directory = NewDirectory::new(directory)?;
    directory.write(SNAPSHOT, &bytes)?;
    directory.finish();
    Ok(())
}
