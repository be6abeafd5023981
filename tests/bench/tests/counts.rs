//! Instructions per job, compared with the committed ones, so that no step back goes unseen. `make counts` writes them anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{bail, ensure, Context, Result};
use slurm_bench::counts::{all, Count};
use slurm_inproc::Plugin;

/// A commit may cost so much more than its file says; whoever writes the file anew says why.
const SLACK: f64 = 1.03;
/// Never more than this of what the last version took.
const SLACK_OF_VERSION: f64 = 1.05;
/// What is smaller than this is not compared: the difference between many jobs and few is not exact.
const NOISE: f64 = 10.0;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn compiler() -> Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = Command::new(rustc).arg("--version").output()?;
    Ok(String::from_utf8(said.stdout)?.trim().to_owned())
}

/// What a file says: which compiler it is of, and instructions by settings and measure.
struct Committed {
    compiler: String,
    counts: BTreeMap<(String, String), f64>,
}

impl Committed {
    fn read(name: &str) -> Result<Self> {
        let file = file(name);
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let compiler = text.lines().find_map(|line| line.strip_prefix("# compiler: "));
        let compiler =
            compiler.with_context(|| format!("{}: no compiler is named", file.display()))?.to_owned();
        let mut counts = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let [settings, measure, instructions, _] = line.split('\t').collect::<Vec<_>>()[..] else {
                bail!("{}: '{line}' has not four columns", file.display());
            };
            counts.insert((settings.to_owned(), measure.to_owned()), instructions.parse()?);
        }
        Ok(Self { compiler, counts })
    }

    /// Rows that cost more than so much of what they did here, in words.
    fn worse(&self, counts: &[Count], slack: f64) -> Vec<String> {
        let mut worse = Vec::new();
        for count in counts {
            let name = (count.settings.clone(), count.measure.to_owned());
            let now = count.instructions;
            match self.counts.get(&name) {
                None => worse.push(format!("{}, {}: {now:.0}, not in the file", name.0, name.1)),
                Some(before) if now > before * slack + NOISE => {
                    worse.push(format!("{}, {}: {before:.0} -> {now:.0}", name.0, name.1));
                }
                Some(_) => {}
            }
        }
        worse
    }
}

fn text(counts: &[Count], compiler: &str) -> String {
    let mut text = format!(
        "# Instructions and cache misses per job, or per association, as callgrind counts them in Slurm 22.05.8: made by \"make counts\".\n\
         # compiler: {compiler}\n"
    );
    for Count { settings, measure, instructions, misses } in counts {
        let _ = writeln!(text, "{settings}\t{measure}\t{instructions:.0}\t{misses:.1}");
    }
    text
}

#[test]
fn no_job_costs_more_instructions_than_is_committed() -> Result<()> {
    let plugin = Plugin::multifactor2()?;
    let library = plugin.library.clone().context("the plugin has no file")?;
    ensure!(
        library.parent().is_some_and(|directory| directory.ends_with("release")),
        "{} is no release build: run `make test` or `make counts`",
        library.display()
    );
    let (counts, compiler) = (all(&plugin)?, compiler()?);
    print!("{}", text(&counts, &compiler));
    if let Some(which) = env::var_os("MULTIFACTOR2_WRITE_COUNTS") {
        fs::write(file("counts.tsv"), text(&counts, &compiler))?;
        if which == "version" {
            fs::write(file("counts-of-version.tsv"), text(&counts, &compiler))?;
        }
        return Ok(());
    }
    let (committed, version) = (Committed::read("counts.tsv")?, Committed::read("counts-of-version.tsv")?);
    let mut problems = Vec::new();
    for (file, slack, remedy) in [
        (&committed, SLACK, "mend it, or run `make counts` and say in the commit why it has to be"),
        (&version, SLACK_OF_VERSION, "small steps have added up since the last version: mend it"),
    ] {
        let worse = file.worse(&counts, slack);
        if worse.is_empty() {
            continue;
        }
        let said = format!("more than {slack} times as many instructions: {}; {remedy}", worse.join("; "));
        if file.compiler == compiler {
            problems.push(said);
        } else {
            println!("The file is of {}, this is {compiler}: not compared. {said}", file.compiler);
        }
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}
