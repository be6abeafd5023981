//! Where a snapshot comes from: Slurm's commands asked once, the files that `--save` kept of these, or a file of the plugin.

mod problem;

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use multifactor2_core::settings::{Settings, PARAMETERS};
use multifactor2_snapshot::records::Setting;
use multifactor2_snapshot::{format, Snapshot};

pub use problem::Problem;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// A file or directory instead of the cluster.
    pub from: Option<PathBuf>,
    /// Keeps there what was read.
    pub save: Option<PathBuf>,
    /// With stable pseudonyms in place of names.
    pub anonymise: bool,
    /// Our settings, where nobody else tells them.
    pub conf: Option<PathBuf>,
    /// The cluster, where the local one is not meant.
    pub cluster: Option<String>,
}

/// Gets the snapshot that is asked for.
///
/// # Errors
/// There is none, it is damaged, or the settings of [`Options::conf`] are wrong.
pub fn open(options: &Options) -> Result<Snapshot, Problem> {
    let Some(path) = &options.from else {
        return Err(Problem::new(
            "no snapshot is given",
            "name one with --from FILE; the plugin writes it where Snapshot= in multifactor2.conf says",
        ));
    };
    if options.save.is_some() || options.anonymise || options.cluster.is_some() {
        let what = "--save, --anonymise and --cluster are for what Slurm's commands say, which this build does not ask";
        return Err(Problem::new(what, "leave them out"));
    }
    let file = File::open(path).map_err(|error| Problem::of_file(path, &error))?;
    let mut snapshot = format::read(BufReader::with_capacity(1 << 16, file))
        .map_err(|problem| Problem::new(path.display().to_string(), problem.to_string()))?;
    if let Some(conf) = &options.conf {
        snapshot.settings = Some(settings(&snapshot, conf)?);
    }
    Ok(snapshot)
}

/// The settings of a file, on top of those of `PriorityParameters`, as lines of a snapshot.
fn settings(snapshot: &Snapshot, conf: &std::path::Path) -> Result<Vec<Setting>, Problem> {
    if let Err(error) = File::open(conf) {
        return Err(Problem::of_file(conf, &error));
    }
    let parameters = snapshot.parameter(PARAMETERS).filter(|text| *text != "(null)");
    let loaded = Settings::load(parameters, conf)
        .map_err(|errors| Problem::new("the settings are wrong", errors.to_string()))?;
    let lines = loaded.written.lines().map(|line| {
        let (line, from) = line.rsplit_once(" # ").unwrap_or((line, ""));
        Setting { line: line.to_owned(), from: from.to_owned() }
    });
    Ok(lines.collect())
}
