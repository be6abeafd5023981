//! `multifactor2 check`: tests settings before slurmctld reads them, and finds what is odd in a configuration that works.
//!
//! `installed` reads the files of a Slurm installation, `here` other files of this host. `names` checks the names in settings. `findings`
//! has one function per rule over what slurmctld reports. Rules that need the configuration alone are in the engine, so that the plugin
//! reports the same.

pub mod findings;
pub mod here;
pub mod host;
pub mod installed;
mod names;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use multifactor2_core::settings::advice::Advice;
use multifactor2_core::settings::since::{refused_by, SINCE};
use multifactor2_core::settings::{Loaded, Settings, PARAMETERS};
use multifactor2_snapshot::records::Setting;
use multifactor2_snapshot::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;

use self::host::Written;
use self::installed::Support;
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
Each line has a grade:
  wrong            does not do what it is for, or slurmctld refuses it
  without effect   changes no job's priority
  unusual          works as documented, but few sites want it
  ok               checked, nothing is wrong
  not looked at    cannot be checked here, with the reason
  error            the check itself failed

Exit status: 0 if nothing is wrong or without effect, 2 if something is (with --strict also if something is unusual), 1 if the \
check itself failed.

With --plugins it only checks whether this build supports a Slurm to be installed. It reads the files of that Slurm without \
running them. 'unusual' means that support is not certain before that Slurm runs. Without a slurmctld it checks what sshare \
needs. For packages that are unpacked in this directory:
  --plugins usr/lib64/slurm --slurmctld usr/sbin/slurmctld

Examples:
  multifactor2 check multifactor2.conf
  multifactor2 check new/slurm.conf
  multifactor2 check --from saved --strict
  multifactor2 check --from saved --json";

/// What is not looked at with `--plugins`.
const OF_A_CLUSTER: [&str; 7] = ["file", "from", "save", "anonymise", "conf", "cluster", "older"];

/// Check settings before slurmctld reads them, the configuration in force, and whether the plugin supports this Slurm
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = HELP)]
#[group(skip)]
#[allow(clippy::doc_markdown)] // shown as help
pub struct Arguments {
    /// A multifactor2.conf, or a new slurm.conf with the multifactor2.conf in its directory [default: multifactor2.conf next to
    /// slurm.conf, with PriorityParameters of that slurm.conf]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Exit with 2 for unusual findings, too
    #[arg(long)]
    pub strict: bool,
    /// Show which settings an older version of the plugin refuses
    #[arg(id = "older", long = "for", value_name = "VERSION")]
    pub older: Option<String>,
    /// Plugin directory of a Slurm to be installed [default: PluginDir of the installed one]
    #[arg(long, value_name = "DIR", conflicts_with_all = OF_A_CLUSTER)]
    pub plugins: Option<PathBuf>,
    /// Its slurmctld [default: the one next to the plugin directory]
    #[arg(long, value_name = "FILE", requires = "plugins", conflicts_with_all = OF_A_CLUSTER)]
    pub slurmctld: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)] // it would be shown
    pub of: OfCluster,
}

impl Ask for Arguments {
    const ANSWERS: &'static str = "errors in settings before slurmctld reads them; what is wrong, without effect or unusual in the configuration \
         in force; whether this Slurm is supported";
    const EXAMPLE: &'static str = "multifactor2 check --from saved";

    fn schemas() -> Vec<Schema> {
        vec![Report::schema()]
    }

    /// Also where there is nothing to ask.
    fn ask(&self, terminal: Terminal) -> Result<Printout, Error> {
        let (report, snapshot) = check(self, &Progress::begin());
        let status = report.exit_code(self.strict);
        let model = Model::of(&snapshot, Options::default());
        let printed = printout(&model, report, self.of.form, &Printed::default(), terminal)?;
        Ok(Printout { status, ..printed })
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Report {
    /// Requested checks that failed.
    pub errors: Vec<String>,
    /// Findings, the worst first.
    pub findings: Vec<Finding>,
    /// What was checked and is in order.
    pub ok: Vec<String>,
    /// What was not checked, and why.
    pub not_looked_at: Vec<String>,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Its grade.
    pub grade: Grade,
    /// What, and what to do.
    pub sentence: String,
}

/// The grade of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// It does not do what it is for, or slurmctld refuses it.
    Wrong,
    /// It changes no job's priority.
    WithoutEffect,
    /// It works as documented, but few sites want it.
    Unusual,
}

impl From<Advice> for Finding {
    fn from(advice: Advice) -> Self {
        use multifactor2_core::settings::advice::Grade as Of;
        let grade = match advice.grade {
            Of::Wrong => Grade::Wrong,
            Of::WithoutEffect => Grade::WithoutEffect,
            Of::Unusual => Grade::Unusual,
        };
        Self { grade, sentence: advice.text }
    }
}

impl Grade {
    fn word(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::WithoutEffect => "without effect",
            Self::Unusual => "unusual",
        }
    }
}

impl Answer for Report {
    const NAME: &'static str = "check";
    const VERSION: u32 = 2;
}

impl Report {
    /// 0 for nothing but what is unusual, 1 where the check failed, 2 for what is wrong or without effect; `strict`: for what is unusual, too.
    pub fn exit_code(&self, strict: bool) -> u8 {
        let counts = |finding: &Finding| strict || finding.grade != Grade::Unusual;
        match (self.errors.is_empty(), self.findings.iter().any(counts)) {
            (false, _) => 1,
            (true, true) => 2,
            (true, false) => 0,
        }
    }

    /// One line each, by how bad it is; names, which may be whatever their owners like, are escaped.
    pub fn text(&self) -> String {
        let findings = self.findings.iter().map(|finding| (finding.grade.word(), &finding.sentence));
        let all = self.errors.iter().map(|error| ("error", error));
        let all = all.chain(findings).chain(self.ok.iter().map(|ok| ("ok", ok)));
        let all = all.chain(self.not_looked_at.iter().map(|what| ("not looked at", what)));
        let mut text = String::new();
        for (kind, one) in all {
            let _ = writeln!(text, "{kind}: {}", escape::terminal(one, false));
        }
        text
    }

    fn found(&mut self, advice: impl IntoIterator<Item = Advice>) {
        self.findings.extend(advice.into_iter().map(Finding::from));
    }
}

impl Show for Report {
    fn show(&self, _: &About, _: &Printed, _: Terminal) -> Result<String, Error> {
        Ok(self.text())
    }
}

/// Checks what is named, or the cluster of this host. The second value is the snapshot that was checked, if any.
pub fn check(arguments: &Arguments, progress: &Progress) -> (Report, Snapshot) {
    let mut report = Report::default();
    let snapshot = if arguments.plugins.is_some() {
        slurm(arguments, None, &mut report);
        Snapshot::default()
    } else {
        cluster(arguments, progress, &mut report)
    };
    // What does not work at all stands there once.
    let mut seen = Vec::new();
    report.findings.retain(|finding| !seen.contains(&finding.sentence) && { seen.push(finding.sentence.clone()); true });
    report.findings.sort_by_key(|finding| finding.grade);
    (report, snapshot)
}

/// What is to be looked at: files, and which snapshot.
struct Look<'a> {
    arguments: &'a Arguments,
    /// The slurm.conf that was named, which is not in force.
    named: Option<Written>,
    /// Our own settings.
    file: Option<&'a Path>,
    /// The files of this host are of this cluster.
    is_here: bool,
}

fn cluster(arguments: &Arguments, progress: &Progress, report: &mut Report) -> Snapshot {
    let input = &arguments.of.input;
    let from = input.from.as_deref();
    let cluster = input::load(input, &Needs { qos: true, host: true, ..Needs::default() }, progress);
    let (mut snapshot, texts, is_known) = match cluster {
        Ok((snapshot, texts)) => (snapshot, texts, true),
        Err(problem) if from.is_some() => {
            report.errors.push(problem.to_string());
            return Snapshot::default();
        }
        Err(problem) => {
            report.not_looked_at.push(format!("the configuration in force, because slurmctld could not be asked ({problem})"));
            (Snapshot::default(), None, false)
        }
    };
    let file = arguments.file.as_deref().or(input.conf.as_deref());
    let named = file.and_then(Written::of).filter(Written::is_slurm_conf);
    // The files of this host are of another cluster than -M.
    let is_here = from.is_none() && input.cluster.is_none();
    let look = Look { arguments, named, file, is_here };
    if let Some(named) = look.named.clone() {
        snapshot.parameters = named.all();
        let priority_type = snapshot.parameter("PriorityType").unwrap_or("priority/multifactor").to_owned();
        snapshot.about.priority_type = priority_type;
    }
    let settings = look.settings(&mut snapshot, report);
    if is_known || look.named.is_some() {
        report.found(findings::all(&snapshot, settings.as_ref()));
        let what = if look.named.is_some() { "the named slurm.conf" } else { "the configuration in force" };
        report.ok.push(format!("{what} was checked"));
        let hidden = snapshot.about.hidden.iter();
        report.not_looked_at.extend(hidden.map(|line| line.trim_end_matches('.').to_owned()));
    } else if let Some(settings) = &settings {
        report.found(settings.advice(None));
    }
    if let Some(settings) = settings.as_ref().filter(|_| findings::is_ours(&snapshot) || !is_known) {
        let unknown = names::unknown(&Model::of(&snapshot, Options::default()), settings);
        report.found(unknown.found);
        report.not_looked_at.extend(unknown.not_looked_at);
        look.directories(&snapshot, settings, report);
    }
    if is_here {
        progress.step("Checking the files of Slurm");
        if look.named.is_none() {
            let local = texts.as_ref().map_or("", |texts| texts.text(LOCAL_WEIGHTS));
            look.this_host(&snapshot, local, is_known, report);
        }
        slurm(arguments, Some(&snapshot).filter(|_| is_known), report);
    }
    snapshot
}

impl Look<'_> {
    /// Our own settings: those of the file, with `PriorityParameters`; `None` where slurmctld will not take them.
    fn settings(&self, snapshot: &mut Snapshot, report: &mut Report) -> Option<Settings> {
        let is_saved = self.arguments.of.input.from.is_some();
        let of_controller = snapshot.parameter(PARAMETERS).map(str::to_owned);
        let (path, parameters) = match (self.file, &self.named) {
            (Some(file), Some(_)) => (file.with_file_name("multifactor2.conf"), of_controller),
            (Some(file), None) => (file.to_owned(), None),
            // What was saved elsewhere has nothing to do with the files of this host.
            (None, _) if is_saved => (PathBuf::new(), of_controller),
            (None, _) => {
                let written = || Written::of(&host::slurm_conf())?.get(PARAMETERS).map(str::to_owned);
                (host::multifactor2_conf(), of_controller.or_else(written))
            }
        };
        let name = path.display();
        if let (Some(_), None, Err(error)) = (self.file, &self.named, std::fs::metadata(&path)) {
            report.errors.push(format!("{name}: {error}: check the name"));
            return None;
        }
        let loaded = match Settings::load(parameters.as_deref(), &path) {
            Ok(loaded) => loaded,
            Err(errors) => {
                report.found(errors.to_string().lines().map(Advice::wrong));
                return None;
            }
        };
        report.found(loaded.warnings.iter().map(|warning| Advice { grade: warning.grade, text: warning.to_string() }));
        report.ok.push(match path.is_file() {
            true => format!("{name}: slurmctld will take these settings"),
            false if is_saved => "PriorityParameters: slurmctld takes these settings".to_owned(),
            false => format!("{name}: no such file, so settings that are not in slurm.conf have their defaults"),
        });
        self.older(&loaded, report);
        let lines = loaded.written.lines().map(|line| {
            let (line, from) = line.rsplit_once(" # ").unwrap_or((line, ""));
            Setting { line: line.to_owned(), from: from.to_owned() }
        });
        // What is computed goes by these.
        snapshot.settings = Some(lines.collect());
        Some(loaded.settings)
    }

    /// What an older version would refuse.
    fn older(&self, loaded: &Loaded, report: &mut Report) {
        let Some(version) = &self.arguments.older else { return };
        let Some(refused) = refused_by(version, &loaded.written) else {
            let known: Vec<&str> = SINCE.iter().map(|(version, _)| *version).collect();
            report.errors.push(format!("--for {version}: known versions are {}", known.join(", ")));
            return;
        };
        if refused.is_empty() {
            report.ok.push(format!("{version} takes these settings, too"));
        }
        report.found(refused.into_iter().map(|setting| {
            Advice::wrong(format!(
                "{}: {}: {version} refuses it, because it is new in {}; remove it there, or install {} or later",
                setting.place, setting.what, setting.since, setting.since
            ))
        }));
    }

    /// Whether what the settings ask for can be written.
    fn directories(&self, snapshot: &Snapshot, settings: &Settings, report: &mut Report) {
        let owner = snapshot.parameter("SlurmUser").and_then(slurm_text::config::uid);
        for (setting, file) in here::files_of(settings) {
            if !self.is_here {
                report.not_looked_at.push(format!("{setting}={file}: its directory is on another host"));
                continue;
            }
            match here::directory_of(setting, file, owner) {
                here::DirectoryHere::Good => report.ok.push(format!("{setting}={file}: SlurmUser can write there")),
                here::DirectoryHere::Bad(advice) => report.found([advice]),
                here::DirectoryHere::NotKnown(why) => report.not_looked_at.push(why),
            }
        }
    }

    /// Compares the configuration files of this host with what slurmctld says.
    fn this_host(&self, snapshot: &Snapshot, local: &str, is_known: bool, report: &mut Report) {
        let slurm_conf = host::slurm_conf();
        let written = Written::of(&slurm_conf);
        if written.is_none() {
            let name = slurm_conf.display();
            report.not_looked_at.push(format!("{name}: not on this host; slurmd or sackd may fetch it from slurmctld"));
        }
        if !is_known {
            return;
        }
        report.found(here::other_slurm_conf(snapshot, local, written.as_ref()));
        if self.file.is_none() {
            report.found(here::idle_settings(snapshot, &host::multifactor2_conf()));
        }
    }
}

/// The files of Slurm: whether this release of the plugin supports it, and whether the plugin is there.
fn slurm(arguments: &Arguments, snapshot: Option<&Snapshot>, report: &mut Report) {
    let Some(plugins) = arguments.plugins.clone().or_else(host::plugin_directory) else {
        report.not_looked_at.push("the files of Slurm: this host has no plugin directory, and --plugins names none".to_owned());
        return;
    };
    match installed::examine(arguments.slurmctld.as_deref(), &plugins) {
        Ok(verdict) => match verdict.supported {
            Support::Yes => report.ok.push(verdict.text),
            Support::NotCertain => report.found([Advice::unusual(verdict.text)]),
            Support::No => report.found([Advice::wrong(verdict.text)]),
        },
        Err(why) => report.errors.push(why.to_string()),
    }
    if let (Some(snapshot), None) = (snapshot, &arguments.plugins) {
        report.found(here::plugin_is_there(snapshot));
    }
}
