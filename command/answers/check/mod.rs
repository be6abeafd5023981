//! `multifactor2 check`: settings before slurmctld reads them, and what is odd in a configuration that works.
//!
//! `installed` looks at the files of a Slurm; `findings` has one rule a function.

pub mod findings;
pub(crate) mod host;
pub mod installed;

use std::path::{Path, PathBuf};

use multifactor2_core::settings::Settings;
use multifactor2_snapshot::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::{About, Answer, Ask};
use crate::error::Error;
use crate::input::commands::LOCAL_WEIGHTS;
use crate::input::{self, Needs};
use crate::model::{Model, Options};
use crate::options::{OfCluster, Printed};
use crate::output::show::{printout, Show};
use crate::output::{escape, Printout, Schema, Terminal};
use crate::progress::Progress;

/// What the help says besides.
const HELP: &str = "\
Exit status: 0, 1 for an error, with which slurmctld would not take the settings, 2 where something was found that works, but hardly as meant.

With --plugins it answers for a Slurm that is to be installed, from its files, which are not run, and looks at nothing else: 0 where this build
supports it, 2 where it does not or where that is not certain before it runs, 1 where the files cannot be examined. So for packages that were
unpacked here: --plugins usr/lib64/slurm --slurmctld usr/sbin/slurmctld. Where there is no slurmctld, what sshare needs is looked at.

Examples:
  multifactor2 check multifactor2.conf
  multifactor2 check --from saved
  multifactor2 check --from saved --json";

/// What is not looked at with `--plugins`.
const OF_A_CLUSTER: [&str; 6] = ["file", "from", "save", "anonymise", "conf", "cluster"];

/// Checks settings before slurmctld reads them, the configuration in force, and whether the plugin supports this Slurm
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = HELP)]
#[group(skip)]
#[allow(clippy::doc_markdown)] // shown as help
pub struct Arguments {
    /// The settings to check [default: multifactor2.conf beside slurm.conf, with PriorityParameters of that slurm.conf]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The plugin directory of a Slurm that is to be installed [default: PluginDir of the one that is]
    #[arg(long, value_name = "DIR", conflicts_with_all = OF_A_CLUSTER)]
    pub plugins: Option<PathBuf>,
    /// Its slurmctld [default: the one beside the plugin directory]
    #[arg(long, value_name = "FILE", requires = "plugins", conflicts_with_all = OF_A_CLUSTER)]
    pub slurmctld: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)] // it would be shown
    pub of: OfCluster,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "errors in settings before slurmctld reads them, what is odd in a configuration that works, whether \
         this Slurm is supported";
    const EXAMPLE: &'static str = "multifactor2 check --from saved";

    fn schemas() -> Vec<Schema> {
        vec![Report::schema()]
    }

    /// Also where there is nothing to ask.
    fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
        let (report, snapshot) = check(self, &Progress::begin());
        let status = report.exit_code();
        let model = Model::of(&snapshot, Options::default());
        let printed = printout(&model, report, self.of.form, &Printed::default(), terminal)?;
        Ok(Printout { status, ..printed })
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Report {
    /// What slurmctld will not take, or what could not be examined.
    pub errors: Vec<String>,
    /// What works, but hardly as meant.
    pub findings: Vec<String>,
    /// What is in order, and what could not be looked at.
    pub notes: Vec<String>,
}

impl Answer for Report {
    const NAME: &'static str = "check";
}

impl Report {
    /// 0 for nothing, 1 for errors, 2 for findings.
    pub fn exit_code(&self) -> u8 {
        match (self.errors.is_empty(), self.findings.is_empty()) {
            (false, _) => 1,
            (true, false) => 2,
            (true, true) => 0,
        }
    }

    /// One line each, by how bad it is.
    pub fn text(&self) -> String {
        let kinds = [("error", &self.errors), ("finding", &self.findings), ("ok", &self.notes)];
        let mut text = String::new();
        for (kind, all) in kinds {
            for one in all {
                text.extend([kind, ": ", &escape::terminal(one, false), "\n"]);
            }
        }
        text
    }
}

impl Show for Report {
    fn show(&self, _: &About, _: &Printed, _: Terminal) -> Result<String, Error> {
        // A name may be whatever its owner likes.
        Ok(self.text().lines().map(|line| escape::terminal(line, false) + "\n").collect())
    }
}

/// Checks what is named, or the cluster of this host; the second is the snapshot that was looked at, nothing where there is none.
pub fn check(arguments: &Arguments, progress: &Progress) -> (Report, Snapshot) {
    let input = &arguments.of.input;
    let mut report = Report::default();
    if arguments.plugins.is_some() {
        slurm(arguments, None, &mut report);
        return (report, Snapshot::default());
    }
    let from = input.from.as_deref();
    let cluster = input::load(input, &Needs { qos: true, host: true, ..Needs::default() }, progress);
    let snapshot = cluster.as_ref().ok().map(|(snapshot, _)| snapshot);
    let file = arguments.file.as_deref().or(input.conf.as_deref());
    settings(file, snapshot, from.is_some(), &mut report);
    match &cluster {
        Ok((snapshot, texts)) => {
            let local = texts.as_ref().map_or("", |texts| texts.text(LOCAL_WEIGHTS));
            report.findings.extend(findings::all(snapshot, local));
            report.notes.extend(snapshot.about.hidden.iter().map(|line| format!("not looked at: {line}")));
        }
        Err(problem) if from.is_some() => report.errors.push(problem.to_string()),
        Err(problem) => {
            report.notes.push(format!(
                "slurmctld was not asked, so the configuration in force is not looked at ({problem})"
            ));
        }
    }
    // The files of this host are of another cluster than -M.
    if from.is_none() && input.cluster.is_none() {
        progress.step("Looking at the files of Slurm");
        slurm(arguments, snapshot, &mut report);
    }
    (report, cluster.map(|(snapshot, _)| snapshot).unwrap_or_default())
}

/// Our own settings: those of the file, with `PriorityParameters`.
fn settings(file: Option<&Path>, snapshot: Option<&Snapshot>, is_saved: bool, report: &mut Report) {
    let slurm_conf = host::slurm_conf();
    let of_controller =
        snapshot.and_then(|snapshot| snapshot.parameter("PriorityParameters")).map(str::to_owned);
    let (path, parameters) = match file {
        Some(file) => (file.to_owned(), None),
        // What was saved elsewhere has nothing to do with the files of this host.
        None if is_saved => (PathBuf::new(), of_controller),
        None => {
            let parameters = of_controller.or_else(|| host::setting_of(&slurm_conf, "PriorityParameters"));
            (host::multifactor2_conf(), parameters)
        }
    };
    let name = path.display();
    if let (Some(_), Err(error)) = (file, std::fs::metadata(&path)) {
        report.errors.push(format!("{name}: {error}: check the name"));
        return;
    }
    match Settings::load(parameters.as_deref(), &path) {
        Ok(loaded) => {
            report.findings.extend(loaded.warnings.iter().map(ToString::to_string));
            report.findings.extend(findings::of_settings(&loaded.settings, snapshot));
            report.notes.push(match path.is_file() {
                true => format!("{name}: slurmctld will take these settings"),
                false if is_saved => "PriorityParameters: slurmctld takes these settings".to_owned(),
                false => {
                    format!("{name}: there is none, so each setting not named in slurm.conf has its default")
                }
            });
        }
        Err(errors) => report.errors.extend(errors.to_string().lines().map(str::to_owned)),
    }
}

/// The files of Slurm: whether this release of the plugin supports it, and whether the plugin is there.
fn slurm(arguments: &Arguments, snapshot: Option<&Snapshot>, report: &mut Report) {
    let Some(plugins) = arguments.plugins.clone().or_else(host::plugin_directory) else {
        report.notes.push("no plugin directory of Slurm found on this host: --plugins names one".to_owned());
        return;
    };
    match installed::examine(arguments.slurmctld.as_deref(), &plugins) {
        Ok(verdict) if verdict.supported => report.notes.push(verdict.text),
        Ok(verdict) => report.findings.push(verdict.text),
        Err(why) => report.errors.push(why.to_string()),
    }
    if let (Some(snapshot), None) = (snapshot, &arguments.plugins) {
        report.findings.extend(findings::plugin_is_there(snapshot));
    }
}
