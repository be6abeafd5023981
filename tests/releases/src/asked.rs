//! Slurm's commands, asked in a test cluster as `multifactor2` asks them.

use anyhow::Result;
use multifactor2_command::input::ask::{ask_with, CommandAnswer, Question};
use multifactor2_command::input::commands::ENVIRONMENT;
use multifactor2_command::input::texts::Texts;
use multifactor2_command::input::Problem;
use slurm_testcluster::{Call, Cluster};

/// What the commands print for a user; `mark` stands between the texts of squeue.
///
/// # Errors
/// If the configuration of slurmctld cannot be had, or there is no such user.
pub fn ask(cluster: &Cluster, question: &Question, user: &str, mark: &str) -> Result<Texts> {
    let texts = ask_with(question, cluster.ids(user)?.0, mark, &|call| {
        let mut command = cluster.command(call.program).args(&call.arguments);
        for (name, value) in ENVIRONMENT {
            command = command.env(name, value);
        }
        let fail = |error: anyhow::Error| Problem { what: error.to_string(), next: String::new() };
        let output = command.user(user).and_then(Call::output).map_err(fail)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(CommandAnswer {
            is_good: output.status.success(),
            text: text(output.stdout),
            said: text(output.stderr),
        })
    })?;
    Ok(texts)
}
