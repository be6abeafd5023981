//! Asks Slurm: each command once, with nothing of the environment that would change what it prints.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::commands::{self, Call, ENVIRONMENT};
use super::texts::{Manifest, Texts, MOST_BYTES};
use super::Problem;

/// How long a command may take.
pub const TIMEOUT: Duration = Duration::from_secs(60);

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
    /// The weights of this host, too.
    pub local_weights: bool,
}

/// Asks the Slurm of this host; `before` is told the program that is asked next.
///
/// # Errors
/// If what every answer needs cannot be had: with what Slurm said, and what to do.
pub fn ask(question: &Question, before: &mut dyn FnMut(&str)) -> Result<Texts, Problem> {
    let uid = std::fs::metadata("/proc/self").map_or(u32::MAX, |process| process.uid());
    ask_with(question, uid, &commands::mark(), &mut |call| {
        before(call.program);
        run(call, TIMEOUT)
    })
}

/// The same by another way to run a command, as this user.
///
/// # Errors
/// As [`ask`].
pub fn ask_with(
    question: &Question,
    uid: u32,
    mark: &str,
    run: &mut dyn FnMut(&Call) -> Result<CommandAnswer, Problem>,
) -> Result<Texts, Problem> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let manifest = Manifest::new(i64::try_from(now).unwrap_or(0), uid, question.cluster, mark);
    let mut texts = Texts { manifest, ..Texts::default() };
    let first = commands::config(question.cluster);
    match run(&first)? {
        CommandAnswer { is_good: true, text, .. } => texts.texts.insert(first.name.to_owned(), text),
        answer => return Err(refused(&first, &answer.said)),
    };
    let release = slurm_text::config::release(texts.text(commands::CONFIG));
    let mut calls = commands::calls(question.cluster, mark, release);
    let qos = question.qos || preempts_by_qos(texts.text(commands::CONFIG));
    calls.extend(qos.then(commands::qos));
    calls.extend(question.local_weights.then(commands::local_weights));
    for call in &calls {
        match run(call) {
            Ok(CommandAnswer { is_good: true, text, .. }) => {
                texts.texts.insert(call.name.to_owned(), text);
            }
            Ok(answer) => {
                texts.manifest.failed.insert(call.name.to_owned(), one_line(&answer.said));
            }
            Err(problem) => {
                texts.manifest.failed.insert(call.name.to_owned(), problem.to_string());
            }
        }
    }
    Ok(texts)
}

/// Only slurmdbd says which QOS may preempt which.
fn preempts_by_qos(config: &str) -> bool {
    let parameters = slurm_text::config::parameters(config);
    parameters.iter().any(|(name, value)| name.eq_ignore_ascii_case("PreemptType") && value.ends_with("/qos"))
}

/// Slurm's own words, and what they ask for.
fn refused(call: &Call, said: &str) -> Problem {
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
                format!("no answer in {} s", timeout.as_secs()),
            ));
        }
        thread::sleep(PAUSE);
    }
}
