//! `make demo`: the documented example of priority/multifactor2 in a real, private cluster.
//!
//! Starts a private cluster with the plugin, gives it the account tree, the usage and the pending
//! jobs of the example, shows what Slurm's own tools say, and compares each documented number
//! with it. The exit code is 0 where all agree, 1 where one differs, 2 where something failed.
//! `make demo POLICIES=1` shows the tables of Grid Engine's ticket policies instead.

mod comparison;
mod policies;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use multifactor2_fixtures::example::waiting;
use slurm_testcluster::parity::OURS;
use slurm_testcluster::{example, Builder, Cluster, Job, Result};

const WEIGHT: u32 = 100_000;

const USAGE: &str = "\
usage: demo [--plugin FILE] [--priority-type TYPE]

  --plugin FILE         the plugin, default libpriority_multifactor2.so beside this program
  --priority-type TYPE  default priority/multifactor2; a plugin of Slurm's own shows what differs
  --policies            the tables of Grid Engine's ticket policies instead of the documented example

KEEP=1 in the environment leaves the cluster running and says how to use and stop it.";

struct Options {
    plugin: PathBuf,
    priority_type: String,
    policies: bool,
}

impl Options {
    /// A cluster with the plugin, to be described further.
    fn builder(&self) -> Result<Builder> {
        let mut builder = Cluster::builder()
            .priority_type(&self.priority_type)
            .set("PriorityWeightFairshare", &WEIGHT.to_string())
            // What later releases do by default must be said in 20.11.
            .set("SelectTypeParameters", "CR_Core_Memory");
        if self.priority_type == OURS {
            anyhow::ensure!(
                self.plugin.is_file(),
                "the plugin {} does not exist; build it with 'make'",
                self.plugin.display()
            );
            builder = builder.plugin(&self.plugin, "priority_multifactor2.so");
        }
        Ok(builder)
    }
}

/// What is done, and since when.
struct Told(Instant);

impl Told {
    fn say(&self, text: &str) {
        println!("[{:5.1} s] {text}", self.0.elapsed().as_secs_f64());
    }
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("demo: {message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match if options.policies { policies::run(&options) } else { run(&options) } {
        Ok(0) => {
            println!("\nAll documented numbers are what Slurm reports.");
            ExitCode::SUCCESS
        }
        Ok(differing) => {
            println!("\n{differing} of the documented numbers are not what Slurm reports.");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("demo: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn options() -> std::result::Result<Option<Options>, String> {
    let beside = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut options = Options {
        plugin: beside.with_file_name("libpriority_multifactor2.so"),
        priority_type: OURS.to_owned(),
        policies: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--plugin" => options.plugin = value()?.into(),
            "--priority-type" => options.priority_type = value()?,
            "--policies" => options.policies = true,
            "-h" | "--help" => return Ok(None),
            other => return Err(format!("unknown argument '{other}'")),
        }
    }
    Ok(Some(options))
}

fn run(options: &Options) -> Result<usize> {
    let told = Told(Instant::now());
    let say = |text: &str| told.say(text);

    say(&format!("Starting a private cluster with PriorityType={}", options.priority_type));
    say("  (database, slurmdbd, slurmctld; the documented account tree and usage)");
    let cluster = options.builder()?.accounts(&example::tree()).usage(&example::usage()).start()?;
    say(&format!("Slurm {} runs in {}", cluster.release().version, cluster.directory().display()));

    for (user, _) in waiting() {
        let job = cluster.submit(&Job::new(user.user).account(user.account))?;
        say(&format!("Submitted job {job} of {}; it stays pending, the partition is down", user.user));
    }
    say("Waiting for a decay cycle");
    cluster.wait_cycle()?;

    say("What the administrator sees: sshare -a -l");
    println!("\n{}", trimmed(&cluster.sshare(&["-a", "-l"])?));
    say("What the administrator sees: sprio -l");
    println!("\n{}", trimmed(&cluster.sprio(&["-l"])?));
    say("The documented numbers beside those that Slurm reports");
    println!();
    let differing = comparison::print(&cluster, WEIGHT)?;

    leave(cluster, &told)?;
    Ok(differing)
}

/// Stops the cluster, unless it is to be kept.
fn leave(cluster: Cluster, told: &Told) -> Result<()> {
    if std::env::var("KEEP").is_ok_and(|keep| !matches!(keep.as_str(), "" | "0")) {
        return keep(cluster);
    }
    drop(cluster);
    println!();
    told.say("Stopped the cluster and removed its files");
    Ok(())
}

/// The text without the blanks with which Slurm's tools fill their lines.
fn trimmed(text: &str) -> String {
    text.lines().map(str::trim_end).fold(String::new(), |all, line| all + line + "\n")
}

/// Leaves the cluster running and says how to use and stop it.
fn keep(cluster: Cluster) -> Result<()> {
    let script = cluster.directory().join("run");
    let exports = cluster.environment().iter().map(|(name, value)| format!("export {name}='{value}'\n"));
    fs::write(&script, format!("#!/bin/sh\n{}exec \"$@\"\n", exports.collect::<String>()))?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let directory = cluster.directory().display().to_string();
    let keeper = cluster.detach()?;
    println!(
        "
The cluster runs on. Use it from any shell of this user:

    export SLURM_CONF={directory}/slurm.conf
    sshare -al
    {directory}/run sprio -l    # with the names of the cluster's own users

Its logs are in {directory}/log. This stops it and removes its files:

    kill {keeper}"
    );
    Ok(())
}
