//! How commands are run.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use multifactor2_command::input::ask::{ask_with, run, CommandAnswer, Question};
use multifactor2_command::input::commands::{calls, queue, Call};
use multifactor2_command::input::texts::Manifest;
use multifactor2_command::input::Problem;

use crate::recorded::{directory, texts, RELEASES};

fn call(program: &'static str, arguments: &[&str]) -> Call {
    Call {
        name: "config",
        program,
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
    }
}

#[test]
fn each_command_is_run_once() {
    let programs = Mutex::new(Vec::new());
    let texts = texts("24.11.5", "multifactor2-root");
    let asked = ask_with(&Question::default(), 0, "|q7x2kd|", &|call| {
        programs.lock().unwrap().push(call.program);
        Ok(CommandAnswer { is_good: true, text: texts.text(call.name).to_owned(), said: String::new() })
    });
    let mut programs = programs.into_inner().unwrap();
    programs.sort_unstable();
    assert_eq!(programs, ["scontrol", "scontrol", "scontrol", "sprio", "squeue", "sshare"]);
    let asked = asked.unwrap();
    assert!(asked.texts.iter().all(|(name, text)| texts.text(name) == text));
}

#[test]
fn squeue_is_asked_for_every_task_where_it_would_hide_some() {
    for (release, expected) in [((22, 5), "-ha"), ((23, 2), "-har"), ((26, 5), "-har")] {
        assert_eq!(queue(None, &Manifest::default(), release).arguments[0], expected);
    }
    let calls = calls(Some("other"), &[], &[]);
    assert!(calls.iter().all(|call| call.arguments[..2] == ["-M", "other"]));
}

#[test]
fn a_slurmctld_that_is_down_is_told_with_the_next_step() {
    for release in RELEASES {
        let said = std::fs::read_to_string(directory(release).join("no-slurmctld.txt")).unwrap();
        let run = |_: &Call| Ok(CommandAnswer { is_good: false, text: String::new(), said: said.clone() });
        let problem = ask_with(&Question::default(), 0, "|x|", &run).unwrap_err();
        assert!(problem.what.contains("Unable to contact slurm controller"), "{release}: {problem}");
        assert!(problem.next.contains("scontrol ping"), "{release}: {problem}");
    }
}

#[test]
fn one_command_that_fails_is_noted_and_the_others_count() {
    let texts = texts("22.05.8", "multifactor2-root");
    let run = |call: &Call| {
        if call.program == "sprio" {
            return Err(Problem {
                what: "sprio: No such file or directory".to_owned(),
                next: "see PATH".to_owned(),
            });
        }
        Ok(CommandAnswer { is_good: true, text: texts.text(call.name).to_owned(), said: String::new() })
    };
    let asked = ask_with(&Question::default(), 0, "|q7x2kd|", &run).unwrap();
    let snapshot = multifactor2_command::input::assemble(&asked, None).unwrap();
    assert!(snapshot.jobs.len() > 10 && snapshot.jobs.iter().all(|job| !job.is_computed));
    let said = snapshot.about.hidden.join("\n");
    assert!(said.contains("sprio gave no answer (sprio: No such file or directory: see PATH)"), "{said}");
}

#[test]
fn a_command_that_is_not_there_says_so() {
    let problem = run(&call("no-such-command-of-slurm", &[]), Duration::from_secs(9)).unwrap_err();
    assert!(problem.what.contains("no-such-command-of-slurm") && problem.next.contains("PATH"), "{problem}");
}

#[test]
fn a_command_that_hangs_is_ended() {
    let start = Instant::now();
    let problem = run(&call("sleep", &["60"]), Duration::from_millis(200)).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(30));
    assert!(problem.what.contains("no answer in"), "{problem}");
}

#[test]
fn nothing_in_the_environment_changes_what_is_printed() {
    for name in ["SQUEUE_FORMAT", "SPRIO_FORMAT", "SSHARE_FORMAT", "SLURM_CLUSTERS", "LC_TIME", "LANGUAGE"] {
        std::env::set_var(name, "x");
    }
    std::env::set_var("SLURM_TIME_FORMAT", "relative");
    let answer = run(&call("env", &[]), Duration::from_secs(9)).unwrap();
    let lines: Vec<&str> = answer.text.lines().collect();
    for line in ["SLURM_TIME_FORMAT=%s", "LC_ALL=C", "TZ=UTC", "SLURM_BITSTR_LEN=0", "SQUEUE_ARRAY_UNIQUE=1"]
    {
        assert!(lines.contains(&line), "{line}: {}", answer.text);
    }
    let others = ["SQUEUE_FORMAT", "SPRIO_", "SSHARE_", "SLURM_CLUSTERS", "LC_TIME", "LANGUAGE"];
    assert!(!lines.iter().any(|line| others.iter().any(|name| line.starts_with(name))), "{}", answer.text);
}

#[test]
fn what_a_command_says_of_itself_is_kept_with_its_failure() {
    let answer = run(&call("sh", &["-c", "echo out; echo err >&2; exit 3"]), Duration::from_secs(9)).unwrap();
    assert_eq!((answer.is_good, answer.text.as_str(), answer.said.as_str()), (false, "out\n", "err\n"));
}
