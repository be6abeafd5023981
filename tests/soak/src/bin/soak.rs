//! `make soak`: the long tests in every Debian release, and one table of counts.
//!
//!     soak [kills] [minutes of load] [stock]
//!
//! RELEASES names the suites of Debian, separated by blanks, and PARTS the parts by a word of their names (`kills load`); all
//! without them.

use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{ensure, Result};
use slurm_releases::{Suite, SUITES};
use slurm_soak::outages::{self, Away};
use slurm_soak::pressure::{self, Pressure};
use slurm_soak::table::{aligned, ReleaseRow, Table};
use slurm_soak::{kills, leaks, load, reconfigures, seed, takeovers, Plugin};

/// Requests of each kind whose traces on the heap are measured.
const LEAK_REQUESTS: u32 = 300;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u32| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (kills, minutes) = (number(200), number(10));
    let stock = arguments.next().is_some_and(|text| text == "stock");
    let time = Duration::from_secs(60) * minutes;
    let named = std::env::var("RELEASES").unwrap_or_default();
    let wanted =
        |suite: &Suite| named.trim().is_empty() || named.split_whitespace().any(|name| name == suite.name);
    let mut table = Table(Vec::new());
    let mut beside_stock = Vec::new();
    for suite in SUITES.into_iter().filter(wanted) {
        match one_release(suite, kills, time, stock, &mut beside_stock) {
            Ok(row) => table.0.extend(row),
            Err(error) => table.0.push(ReleaseRow {
                release: suite.name.to_owned(),
                failed: vec![format!("{error:#}")],
                ..ReleaseRow::default()
            }),
        }
    }
    if !beside_stock.is_empty() {
        println!("\nReconfigures that fail:\n{}", aligned(reconfigures::COLUMNS, &beside_stock));
    }
    println!("\n{table}");
    if !table.0.is_empty() && table.0.iter().all(|row| row.failed.is_empty()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// All parts in one release; `None` where it cannot be had.
fn one_release(
    suite: Suite,
    kill: u32,
    time: Duration,
    stock: bool,
    beside_stock: &mut Vec<[String; 13]>,
) -> Result<Option<ReleaseRow>> {
    let Some(release) = suite.release()? else { return Ok(None) };
    let mut plugin = Plugin::in_release(&release)?;
    if stock {
        plugin = plugin.stock();
    }
    println!("\nSlurm {}", release.version);
    let seed = seed();
    // A fifth of the load's time for each, but not less than it takes to say something.
    let fifth = (time / 5).max(Duration::from_secs(5));
    let mut row = ReleaseRow { release: release.version.to_string(), ..ReleaseRow::default() };
    let named = std::env::var("PARTS").unwrap_or_default();
    let wanted = named.split_whitespace().map(str::to_owned).collect();
    let mut parts = Parts { row: &mut row, stock, wanted };

    parts.run(
        "kills",
        || kills::run(&plugin, kill, seed),
        kills::check,
        |row, summary| {
            row.kills = summary.kills;
            row.used(summary.long, kills::SLACK);
            row.used((summary.short.0.max(summary.short.1 - kills::SLACK), summary.short.1), 0.0);
            if let Some((ran, counted)) = summary.own_long {
                for one in counted {
                    row.used((ran, one), 0.0);
                }
            }
            row.complain(&summary.complaints);
        },
    );
    // One per cluster: with either plugin, a backup that takes over a second time may not give back within a minute.
    for turn in 0..(kill / 40).max(1) {
        let run = || takeovers::run(&plugin, 1, seed.wrapping_add(u64::from(turn)));
        parts.run("takeovers", run, takeovers::check, |row, summary| {
            row.takeovers += summary.takeovers;
            row.used(summary.long, takeovers::slack(summary));
            row.complain(&summary.complaints);
        });
    }
    for (name, what) in [("slurmdbd away", Away::Slurmdbd), ("database away", Away::Database)] {
        parts.run(
            name,
            || outages::run(&plugin, what, fifth),
            outages::check,
            |row, summary| {
                row.used(summary.all, 0.5);
                row.complain(&summary.complaints);
            },
        );
    }
    for series in reconfigures::series(&plugin, (kill / 10).clamp(2, 20)) {
        let run = || reconfigures::compare(&plugin, series);
        parts.run("failed reconfigures", run, reconfigures::check, |row, outcome| {
            let (ours, (ends, crashes)) = (&outcome.ours, outcome.ours.ends());
            row.reconfigures.0 += ours.reconfigures.0;
            row.reconfigures.1 += ours.reconfigures.1;
            row.requests += ours.answered;
            // One in the foreground ends where a reconfigure fails, by Slurm's design.
            row.deaths +=
                u32::try_from(crashes + ends - ends.min(outcome.stock.ends().0)).unwrap_or(u32::MAX);
            row.hangs += u32::try_from(ours.hangs.len()).unwrap_or(u32::MAX);
            row.complain(&ours.complaints);
            beside_stock.extend(outcome.rows(&row.release));
        });
    }
    for private in [false, true] {
        let name = if private { "pressure, private" } else { "pressure" };
        let run = || pressure::run(&plugin, &Pressure { jobs: 4000, time: fifth, private });
        parts.run(name, run, pressure::check, |row, summary| {
            row.requests += summary.requests();
            row.hangs += u32::try_from(summary.hangs().count()).unwrap_or(u32::MAX);
            row.complain(&summary.complaints);
        });
    }
    parts.run(
        "load",
        || load::run(&plugin, time, seed),
        load::check,
        |row, summary| {
            row.requests += summary.requests.0 + summary.requests.1;
            row.reconfigures.0 += summary.changes.reconfigures();
            row.hangs += u32::from(summary.hang.is_some());
            row.memory = summary.memory.growth();
            row.complain(&summary.complaints);
        },
    );
    let leaks = || leaks::run(&plugin, LEAK_REQUESTS).and_then(|ours| compare_leaks(&plugin, ours, stock));
    parts.run("leaks", leaks, |_| Ok(()), |_, _| ());
    Ok(Some(row))
}

/// The parts of a release.
struct Parts<'r> {
    row: &'r mut ReleaseRow,
    stock: bool,
    /// Words in the names of those that are wanted; none for all.
    wanted: Vec<String>,
}

impl Parts<'_> {
    /// Counts what came of a part, and prints it; for our plugin it must hold.
    fn run<T: Display>(
        &mut self,
        name: &str,
        run: impl FnOnce() -> Result<T>,
        holds: fn(&T) -> Result<()>,
        mut count: impl FnMut(&mut ReleaseRow, &T),
    ) {
        if !self.wanted.is_empty() && !self.wanted.iter().any(|word| name.contains(word.as_str())) {
            return;
        }
        let outcome = run().and_then(|summary| {
            println!("{name}: {summary}");
            count(self.row, &summary);
            if self.stock {
                Ok(())
            } else {
                holds(&summary)
            }
        });
        if let Err(error) = outcome {
            let text = format!("{error:#}");
            println!("{name}: FAILED: {text}");
            self.row.deaths += u32::from(text.contains("slurmctld ended"));
            self.row.failed.push(name.to_owned());
        }
    }
}

/// What a request leaves is compared with what it leaves under Slurm's own plugin.
fn compare_leaks(plugin: &Plugin, ours: leaks::Summary, stock: bool) -> Result<leaks::Summary> {
    if stock {
        return Ok(ours);
    }
    let theirs = leaks::run(&plugin.stock(), LEAK_REQUESTS)?;
    println!("leaks under stock: {theirs}");
    let beyond = ours.beyond(&theirs);
    ensure!(beyond.is_empty(), "more than stock leaves: {beyond:?}; {ours}");
    Ok(ours)
}
