//! From the command line to what is printed.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use multifactor2_core::settings::value::{Kind, Value};
use multifactor2_snapshot::Snapshot;

use crate::answers::what_if::Changes;
use crate::answers::{self, Answer, Bare, Report};
use crate::assumed;
use crate::check;
use crate::cli::{AsJson, Cli, OfCluster, OfTime, Printed, Question};
use crate::files;
use crate::input;
use crate::model::{Model, Options};
use crate::output::{escape, html, Show, Terminal};
use crate::progress::Progress;
use crate::replay;

/// What is printed, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printout {
    /// For standard output.
    pub out: String,
    /// For standard error.
    pub err: String,
    /// 0, 1 after an error, 2 where something was found, 130 where a replay was stopped by Ctrl-C.
    pub status: u8,
}

impl Printout {
    fn text(out: String) -> Self {
        Self { out, ..Self::default() }
    }

    fn failed(message: &str) -> Self {
        let err = format!("multifactor2: {}\n", escape::terminal(message, false));
        Self { err, status: 1, ..Self::default() }
    }
}

/// The program: answers its command line and prints it.
pub fn main() -> ExitCode {
    let result = run(std::env::args_os(), Terminal::of_stdout());
    // A pipe that is closed early, as by head, is no error.
    let _ = io::stdout().write_all(result.out.as_bytes()).and_then(|()| io::stdout().flush());
    let _ = io::stderr().write_all(result.err.as_bytes());
    ExitCode::from(result.status)
}

/// Answers a command line, of which the first word is the name of the program.
pub fn run(args: impl IntoIterator<Item = OsString>, terminal: Terminal) -> Printout {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.first().map(Path::new).and_then(Path::file_name).is_some_and(|name| name == "swhy") {
        args.insert(1, "why".into());
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render().to_string();
            return if error.use_stderr() {
                Printout { err: text, status: 1, ..Printout::default() }
            } else {
                Printout::text(text)
            };
        }
    };
    answer(&cli, terminal).unwrap_or_else(|message| Printout::failed(&message))
}

/// Checks, also where there is nothing to ask.
fn check(arguments: &check::Arguments, of: &OfCluster, terminal: Terminal) -> Result<Printout, String> {
    let (report, snapshot) = check::check(arguments, &of.input, &Progress::begin());
    let status = report.exit_code();
    let model = Model::of(&snapshot, Options::default());
    let plain = Printed::default();
    let printing = Printing { model: &model, json: of.form.json, printed: &plain, terminal };
    Ok(Printout { status, ..printing.print(report)? })
}

/// The one question that is about no cluster.
fn migrate(options: &answers::migrate::Options, form: AsJson) -> Result<Printout, String> {
    let answer = match answers::migrate::run(options) {
        Ok(answer) => answer,
        Err(errors) => {
            let err = errors.to_string().lines().map(|line| Printout::failed(line).err).collect();
            return Ok(Printout { err, status: 1, ..Printout::default() });
        }
    };
    if form.json {
        return json(&Bare::new(answer));
    }
    Ok(Printout::text(answer.to_string()))
}

/// The snapshot that a question is about.
fn load(options: &input::Arguments, needs_qos: bool) -> Result<Snapshot, String> {
    let progress = Progress::begin();
    let mut snapshot = input::load(options, needs_qos, &progress).map_err(|problem| problem.to_string())?;
    progress.step("Computing");
    if options.conf.is_none() {
        // The files of this host are of this cluster only.
        let is_here = options.from.is_none() && options.cluster.is_none();
        let file = is_here.then(|| check::host::slurm_conf().with_file_name("multifactor2.conf"));
        assumed::find(&mut snapshot, file.as_deref());
    }
    Ok(snapshot)
}

fn answer(cli: &Cli, terminal: Terminal) -> Result<Printout, String> {
    match &cli.question {
        Question::Check { asked, of } => check(asked, of, terminal),
        Question::Migrate { asked, form } => migrate(asked, *form),
        Question::Replay(asked) => {
            let (out, status) = replay::run(asked, terminal)?;
            Ok(Printout { out, status, ..Printout::default() })
        }
        Question::Settings { printed, of } => {
            let snapshot = load(&of.input, false)?;
            let model = Model::of(&snapshot, Options::default());
            let printing = Printing { model: &model, json: of.form.json, printed, terminal };
            printing.print(answers::settings::settings(&model))
        }
        Question::Metrics { asked, of } => {
            let snapshot = load(&of.input, false)?;
            let metrics = answers::metrics::of(&snapshot, asked);
            if let Some(path) = &asked.out {
                answers::metrics::write(&metrics, path).map_err(|problem| problem.to_string())?;
                return Ok(Printout::default());
            }
            let model = Model::of(&snapshot, Options::default());
            let plain = Printed::default();
            let printing = Printing { model: &model, json: of.form.json, printed: &plain, terminal };
            printing.print(metrics)
        }
        Question::Why { of, .. }
        | Question::Queue { of, .. }
        | Question::Tree { of, .. }
        | Question::Recover { of, .. } => of_time(&cli.question, of, terminal),
        Question::WhatIf { of, .. } | Question::Cost { of, .. } => of_time(&cli.question, of, terminal),
    }
}

/// A question whose answer hangs on the time.
fn of_time(question: &Question, of: &OfTime, terminal: Terminal) -> Result<Printout, String> {
    let mut options = of.input.clone();
    if matches!(question, Question::WhatIf { .. }) {
        // It is a change there.
        options.conf = None;
    }
    let needs_qos =
        matches!(question, Question::Cost { .. } | Question::Recover { .. } | Question::WhatIf { .. });
    let snapshot = load(&options, needs_qos)?;
    let at = of.at.as_deref().map(|text| time(text, &snapshot)).transpose()?;
    let model = Model::of(&snapshot, Options { at, ..Options::default() });
    let plain = Printed::default();
    let printing = |printed| Printing { model: &model, json: of.form.json, printed, terminal };
    match question {
        Question::Why { job, other: None, .. } => printing(&plain).print(answers::why::why(&model, job)?),
        Question::Why { job, other: Some(other), .. } => {
            printing(&plain).print(answers::compare::compare(&model, job, other)?)
        }
        Question::Queue { users, accounts, jobs, partitions, me, printed, .. } => {
            let mut users = users.clone();
            if *me {
                users.push(own_name()?);
            }
            let filter = answers::queue::Filter {
                users,
                accounts: accounts.clone(),
                jobs: jobs.clone(),
                partitions: partitions.clone(),
            };
            printing(printed).print(answers::queue::queue(&model, &filter)?)
        }
        Question::Tree { users, accounts, files, svg, printed, .. } => {
            let filter = answers::tree::Filter { users: users.clone(), accounts: accounts.clone() };
            let tree = answers::tree::tree(&model, &filter);
            if files.html.is_none() && svg.is_none() {
                return printing(printed).print(tree);
            }
            let report = Report::new(&model, tree);
            if let Some(file) = &files.html {
                write(file, &html::tree::page(&report)?)?;
            }
            if let Some(file) = svg {
                write(file, &html::tree::picture(&report))?;
            }
            Ok(Printout::default())
        }
        Question::WhatIf { changes, files, printed, .. } => {
            let changes = whole(of, changes, &snapshot)?;
            let answer = answers::what_if::of_model(&model, &changes)?;
            let Some(file) = &files.html else { return printing(printed).print(answer) };
            write(file, &html::what_if::page(&Report::new(&model, answer))?)?;
            Ok(Printout::default())
        }
        Question::Recover { who, to, running_on, .. } => {
            let asked = answers::recover::Asked { who: who.clone(), to: *to, running_on: *running_on };
            printing(&plain).print(answers::recover::recover(&model, &asked)?)
        }
        Question::Cost { job: Some(job), .. } => printing(&plain).print(answers::cost::of_job(&model, job)?),
        Question::Cost { job: None, options, submitter, .. } => {
            let user = submitter.clone().map_or_else(own_name, Ok)?;
            printing(&plain).print(answers::cost::of_options(&model, options, &user)?)
        }
        // Answered above.
        Question::Settings { .. }
        | Question::Metrics { .. }
        | Question::Check { .. }
        | Question::Migrate { .. }
        | Question::Replay(_) => Ok(Printout::default()),
    }
}

/// How an answer is printed.
struct Printing<'p> {
    model: &'p Model<'p>,
    json: bool,
    printed: &'p Printed,
    terminal: Terminal,
}

impl Printing<'_> {
    fn print<A: Answer + Show>(self, answer: A) -> Result<Printout, String> {
        let report = Report::new(self.model, answer);
        if self.json {
            return json(&report);
        }
        report.answer.show(&report.about, self.printed, self.terminal).map(Printout::text)
    }
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    files::write(file, text.as_bytes(), None).map_err(|problem| problem.to_string())
}

fn json(value: &impl serde::Serialize) -> Result<Printout, String> {
    let text =
        escape::json(value).map_err(|error| format!("the answer cannot be written as JSON: {error}"))?;
    Ok(Printout::text(text))
}

/// Changes with the settings of `--conf`, and with who submits.
fn whole(of: &OfTime, changes: &Changes, snapshot: &Snapshot) -> Result<Changes, String> {
    let mut changes = changes.clone();
    if let Some(conf) = &of.input.conf {
        let lines = input::settings(Some(conf.as_path()), input::parameters(snapshot));
        let lines = lines.map_err(|problem| problem.to_string())?.unwrap_or_default();
        changes.settings = Some(answers::what_if::Settings { file: conf.display().to_string(), lines });
    }
    if !changes.submissions.is_empty() && changes.submitter.is_none() {
        changes.submitter = Some(own_name()?);
    }
    Ok(changes)
}

/// The name of who asks.
fn own_name() -> Result<String, String> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let by_uid = || {
        let output = std::process::Command::new("id").arg("-un").output().ok()?;
        let name = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !name.is_empty()).then_some(name)
    };
    variable("USER")
        .or_else(|| variable("LOGNAME"))
        .or_else(by_uid)
        .ok_or_else(|| "nothing says who you are: give your name with -u, or with --as".to_owned())
}

/// A time as `--at` takes it.
fn time(text: &str, snapshot: &Snapshot) -> Result<i64, String> {
    let bad = || {
        format!("--at {text}: give a date YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time such as +7-0 for seven days")
    };
    if let Some(span) = text.strip_prefix('+') {
        let Some(Value::Duration(seconds)) = Kind::Duration.read(span) else { return Err(bad()) };
        let seconds = i64::try_from(seconds).map_err(|_| bad())?;
        return snapshot.about.time.checked_add(seconds).ok_or_else(bad);
    }
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(i64::from(seconds));
    }
    let Some(Value::Date(date)) = Kind::Date.read(text) else { return Err(bad()) };
    let civil: jiff::civil::DateTime = date.to_string().parse().map_err(|_| bad())?;
    let zoned = civil.to_zoned(jiff::tz::TimeZone::system()).map_err(|_| bad())?;
    Ok(zoned.timestamp().as_second())
}
