//! Runs Slurm's commands: each once, one after another, within a given time, and without environment variables that would change their
//! output. In parallel they would wait for slurmctld's locks and hold up others: two at a time cost slurmctld a third more.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::commands::{self, Call, ENVIRONMENT};
use super::parse;
use super::texts::{Manifest, Texts, MOST_BYTES};
use super::Problem;

/// How long an answer may take, where nothing else is said.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// How often a running command is looked at.
const PAUSE: Duration = Duration::from_millis(5);

/// What a command gave.
#[derive(Clone, Debug, Default)]
pub struct CommandAnswer {
    /// It ended with 0.
    pub is_good: bool,
    /// What it printed.
    pub text: String,
    /// What it said on stderr.
    pub said: String,
}

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Question<'a> {
    /// `-M`
    pub cluster: Option<&'a str>,
    /// QOS as slurmdbd has them, too; asked in any case where they change the order of the queue.
    pub qos: bool,
    /// The weights of this host, too. sprio gets all jobs from slurmctld once more for that.
    pub local_weights: bool,
    /// These jobs only, as `squeue -j` takes them; all where there are none.
    pub jobs: Vec<String>,
    /// The jobs of this user only.
    pub user: Option<String>,
    /// The name of who asks, whose rights are looked for where jobs are named.
    pub asker: Option<String>,
    /// Associations alone.
    pub tree_only: bool,
}

/// Runs a command.
pub type Run<'r> = &'r dyn Fn(&Call) -> Result<CommandAnswer, Problem>;

/// The time until which commands may run.
#[derive(Clone, Copy, Debug)]
pub struct Until {
    whole: Duration,
    end: Instant,
}

impl Until {
    /// An answer may take so long from now on.
    pub fn within(whole: Duration) -> Self {
        Self { whole, end: Instant::now() + whole }
    }

    /// How long a command may take: of the whole time two thirds, where it asks slurmdbd a sixth, and no longer than what is left.
    fn of(self, call: &Call) -> Duration {
        let most = if call.program == "sacctmgr" { self.whole / 6 } else { self.whole * 2 / 3 };
        most.min(self.end.saturating_duration_since(Instant::now()))
    }

    /// Runs a command of this host.
    ///
    /// # Errors
    /// As [`run`].
    pub fn run(self, call: &Call) -> Result<CommandAnswer, Problem> {
        run(call, self.of(call))
    }
}

/// Asks for the configuration, which says what else to ask; `uid` is the user who asks.
///
/// # Errors
/// If it cannot be had: with what Slurm said, and what to do.
pub fn configuration(cluster: Option<&str>, uid: u32, mark: &str, run: Run<'_>) -> Result<Texts, Problem> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let manifest = Manifest::new(i64::try_from(now).unwrap_or(0), uid, cluster, mark);
    let mut texts = Texts { manifest, ..Texts::default() };
    let first = commands::config(cluster);
    match run(&first)? {
        CommandAnswer { is_good: true, text, .. } => texts.texts.insert(first.name.to_owned(), text),
        answer => return Err(refused(&first, &answer.said)),
    };
    Ok(texts)
}

/// Asks for the rest. What gives no answer is noted.
pub fn rest(texts: &mut Texts, question: &Question<'_>, run: Run<'_>) {
    let release = slurm_text::config::release(texts.text(commands::CONFIG));
    texts.manifest.jobs.clone_from(&question.jobs);
    texts.manifest.user.clone_from(&question.user);
    if question.tree_only {
        let calls = [commands::associations(question.cluster, &[]), commands::shares(question.cluster)];
        return several(texts, &calls, run);
    }
    let mut calls = Vec::new();
    let queue = commands::queue(question.cluster, &texts.manifest, release);
    let (mut jobs, mut users) = (Vec::new(), Vec::new());
    if texts.manifest.is_of_some_jobs() {
        several(texts, &[queue], run);
        // Tasks of arrays and components have ids of their own, which squeue tells, as it tells whose they are.
        let (listed, _) = parse::queue::jobs(texts.text(commands::QUEUE), &texts.manifest);
        jobs = listed.iter().map(|job| job.id).collect();
        if jobs.is_empty() {
            texts.texts.insert(commands::PRIORITIES.to_owned(), String::new());
            return;
        }
        users = listed.into_iter().map(|job| job.user).chain(question.asker.clone()).collect();
    } else {
        calls.push(queue);
    }
    calls.extend(commands::calls(question.cluster, &jobs, &users));
    let qos = question.qos || preempts_by_qos(texts.text(commands::CONFIG));
    calls.extend(qos.then(|| commands::qos(release)));
    calls.extend(question.local_weights.then(commands::local_weights));
    several(texts, &calls, run);
}

/// Asks for some of it.
pub fn several(texts: &mut Texts, calls: &[Call], run: Run<'_>) {
    for call in calls {
        match run(call) {
            Ok(CommandAnswer { is_good: true, text, .. }) => {
                texts.texts.insert(call.name.to_owned(), text);
            }
            // It has ended, or there never was one.
            Ok(answer) if call.name == commands::QUEUE && answer.said.contains("Invalid job id") => {
                texts.texts.insert(call.name.to_owned(), String::new());
            }
            Ok(answer) => {
                texts.manifest.failed.insert(call.name.to_owned(), one_line(&answer.said));
            }
            Err(problem) => {
                texts.manifest.failed.insert(call.name.to_owned(), problem.to_string());
            }
        }
    }
}

/// All that a question asks, of the Slurm of this host or by another way to run a command.
///
/// # Errors
/// As [`configuration`].
pub fn ask_with(question: &Question<'_>, uid: u32, mark: &str, run: Run<'_>) -> Result<Texts, Problem> {
    let mut texts = configuration(question.cluster, uid, mark, run)?;
    rest(&mut texts, question, run);
    Ok(texts)
}

/// The uid that asks.
pub fn own_uid() -> u32 {
    std::fs::metadata("/proc/self").map_or(u32::MAX, |process| process.uid())
}

/// Only slurmdbd says which QOS may preempt which.
pub fn preempts_by_qos(config: &str) -> bool {
    let parameters = slurm_text::config::parameters(config);
    parameters.iter().any(|(name, value)| name.eq_ignore_ascii_case("PreemptType") && value.ends_with("/qos"))
}

/// Slurm's own words, and what they ask for.
pub fn refused(call: &Call, said: &str) -> Problem {
    let said = one_line(said);
    let next = if said.contains("Unable to contact slurm controller") || said.contains("Connection refused") {
        "slurmctld does not answer: see 'scontrol ping', or use --from with what --save kept before"
    } else if said.contains("slurm.conf") || said.contains("configuration") || said.contains("config") {
        "this host has no configuration of Slurm: set SLURM_CONF, or run this where sinfo works"
    } else if said.contains("database") || said.contains("slurmdbd") {
        "-M needs slurmdbd: leave it out on the cluster itself, or ask an administrator whether slurmdbd runs"
    } else {
        "see whether the same command works by itself"
    };
    Problem::new(format!("{} {}: {said}", call.program, call.arguments.join(" ")), next)
}

/// The first lines of what a command said, in one.
fn one_line(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
    if lines.is_empty() {
        return "it failed and said nothing".to_owned();
    }
    lines.join("; ").chars().take(500).collect()
}

/// Runs a command of this host.
///
/// # Errors
/// If it is not there, or takes too long, or prints too much.
pub fn run(call: &Call, timeout: Duration) -> Result<CommandAnswer, Problem> {
    let mut command = Command::new(call.program);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(commands::is_misleading) {
            command.env_remove(&name);
        }
    }
    command.envs(ENVIRONMENT).args(&call.arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| {
        let what = format!("{}: {error}", call.program);
        let next = match error.kind() {
            io::ErrorKind::NotFound => {
                "Slurm's commands are not in PATH here: run this where they are, or use --from with what --save kept"
            }
            _ => "check that it can be run",
        };
        Problem::new(what, next)
    })?;
    let text = reader(child.stdout.take());
    let said = reader(child.stderr.take());
    let status = wait(&mut child, timeout).map_err(|error| {
        Problem::new(
            format!("{} {}: {error}", call.program, call.arguments.first().map_or("", String::as_str)),
            "slurmctld is slow or does not answer: see 'scontrol ping' and 'sdiag', and try again later",
        )
    })?;
    let text = text.recv().unwrap_or_default();
    if text.len() as u64 > MOST_BYTES {
        return Err(Problem::new(
            format!("{}: it printed more than {MOST_BYTES} bytes", call.program),
            "ask an administrator for a snapshot of the plugin, and use --from",
        ));
    }
    let of = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(CommandAnswer { is_good: status, text: of(text), said: of(said.recv().unwrap_or_default()) })
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error is all that there is.
        let _ = pipe.map(|pipe| pipe.take(MOST_BYTES + 1).read_to_end(&mut bytes));
        let _ = sender.send(bytes);
    });
    receiver
}

/// Whether it ended with 0.
fn wait(child: &mut Child, timeout: Duration) -> io::Result<bool> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if start.elapsed() > timeout {
            let _ = child.kill();
            let _ = child.wait();
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no answer in {} s", timeout.as_secs_f64().round()),
            ));
        }
        thread::sleep(PAUSE);
    }
}
