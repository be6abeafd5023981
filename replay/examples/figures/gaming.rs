//! What a user gains by gaming the settings that docs/policies.md recommends.
//!
//! Two users of an account are alike. One plays, the other is its twin. There are five users in three accounts with the shares 2 : 2 : 1 on
//! 128 CPUs, and all of them always have jobs waiting. Jobs have up to 6 CPUs, run for a quarter of an hour to three hours, and request
//! more time than that. Three days count, after two half-lives of a day.
//!
//! **The rule**: a user counts as gaining if the mean over the [`SEEDS`] is above [`LIMIT`]. Nothing is subtracted for noise. Every mean
//! has its standard error. The same seeds without a player give the baseline. The standard error of each of its means must be at most
//! [`NOISE`]: otherwise the workload is too small to say anything.
//!
//! Every gain of every seed is in [`FILE`], so that a test can compute one of the seeds and compare.

use std::fmt::Write;

use multifactor2_replay::sim::{simulate, Parameters, Plan, Scheduler};
use multifactor2_replay::strategist::{Played, Strategy, STRATEGIES};
use multifactor2_replay::synthetic::{Full, Member, Work};
use multifactor2_replay::workload::Machine;

use crate::settles::policy;
use crate::table::{each, Table};

/// From the top of the project.
pub const FILE: &str = "docs/figures/gaming.csv";
/// The workloads.
pub const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];
/// The most that is no gain.
pub const LIMIT: f64 = 1.02;
/// The largest standard error of a mean where nobody plays, which a test looks at.
#[allow(dead_code)]
pub const NOISE: f64 = 0.01;

/// The one that plays.
const PLAYER: &str = "ada";
const CPUS: u32 = 128;

/// Those of the table of complaints in docs/policies.md that change the order of jobs here, and Slurm's own formula. A line break is
/// written as a semicolon.
const SETTINGS: [&str; 14] = [
    "tickets",
    "Distribution=standing",
    "Distribution=strict",
    "Dilution=user",
    "Dilution=tree",
    "Distribution=standing Dilution=user",
    "Distribution=strict Dilution=user",
    CPU,
    "Dilution=user DilutionUnit=committed DilutionQuantum=600",
    "Dilution=user DilutionUnit=committed DilutionQuantum=600 DilutionRunning=no",
    "Dilution=user CompensationFactor=1",
    "Override=Account Name=physics Tickets=20000",
    "TicketsFunctional=2500; FunctionalWeightUser=0 FunctionalWeightAccount=1; \
     FunctionalWeightDepartment=0 FunctionalWeightJob=0; Functional=Account Name=biology Shares=1; Dilution=user",
    FAIR_TREE,
];
const CPU: &str = "Dilution=user DilutionUnit=cpu DilutionQuantum=4";
const FAIR_TREE: &str = "Fair Tree";

/// Of these `easy` shows what a scheduler does that lets narrow jobs into every hole.
const UNDER_EASY: [&str; 3] = ["tickets", CPU, FAIR_TREE];

/// A replay.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    pub scheduler: &'static str,
    pub settings: &'static str,
    pub strategy: &'static str,
    pub seed: u64,
}

/// All replays of a seed.
pub fn cases(seed: u64) -> Vec<Case> {
    let all = std::iter::once(Strategy::Honest).chain(STRATEGIES).map(Strategy::name);
    let under_slurm = SETTINGS.iter().flat_map(|settings| {
        all.clone().map(|strategy| Case { scheduler: "slurm", settings, strategy, seed })
    });
    let under_easy = UNDER_EASY.iter().flat_map(|settings| {
        all.clone().take(2).map(|strategy| Case { scheduler: "easy", settings, strategy, seed })
    });
    under_slurm.chain(under_easy).collect()
}

/// The machine and its users.
fn full(seed: u64) -> Full {
    let work = |asks| Work { asks, cpus: 1..=6, run: 900..=9900, limit: 110..=300, memory: 0..=0 };
    Full {
        seed,
        cpus: CPUS,
        hours: 5 * 24,
        waiting: 12,
        half_life: 24,
        period: 600,
        tree: vec![
            Member::account("physics", 40),
            Member::account("chemistry", 40),
            Member::account("biology", 20),
            Member::user("physics", PLAYER, 1, work(0.3)),
            Member::user("physics", "bob", 1, work(0.2)),
            Member::user("chemistry", "eve", 1, work(0.27)),
            Member::user("chemistry", "fay", 1, work(0.27)),
            Member::user("biology", "gus", 1, work(0.27)),
        ],
    }
}

/// Gains of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Service over that of the twin.
    pub service: f64,
    /// What it had of its entitlement, over the same of the twin.
    pub by_entitlement: f64,
}

/// Replays a case.
pub fn gain(case: &Case) -> Gain {
    let (full, policy) = (full(case.seed), policy(&case.settings.replace("; ", "\n")));
    let strategy = Strategy::named(case.strategy).unwrap_or(Strategy::Honest);
    let played = Played::new(&full.make(), PLAYER, strategy).expect("there is another account");
    let machine = Machine::of_procs(CPUS);
    let scheduler = match case.scheduler {
        "slurm" => Scheduler::Slurm(Parameters::default()),
        _ => Scheduler::Easy,
    };
    let plan = Plan { workload: &played.workload, machine: &machine, scheduler, policy: &policy };
    let outcome = simulate(&plan).expect("a plan");
    Gain {
        service: played.service(&outcome, full.settled()).gain().expect("both wait"),
        by_entitlement: played.gain_by_entitlement(&outcome, full.settled()).expect("both are entitled"),
    }
}

const HEAD: &str = "scheduler,settings,strategy,seed,gain,by entitlement";

/// A line of [`FILE`].
pub fn line(
    Case { scheduler, settings, strategy, seed }: &Case,
    Gain { service, by_entitlement }: Gain,
) -> String {
    format!("{scheduler},{settings},{strategy},{seed},{service:.4},{by_entitlement:.4}")
}

/// [`FILE`] from nothing: minutes.
pub fn compute() -> String {
    let cases: Vec<Case> = SEEDS.into_iter().flat_map(cases).collect();
    let lines = each(&cases, |case| line(case, gain(case)));
    format!("{HEAD}\n{}\n", lines.join("\n"))
}

/// Mean and standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    pub value: f64,
    pub error: f64,
}

impl Mean {
    #[allow(clippy::cast_precision_loss)] // counts of seeds
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let value = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|other| (other - value).powi(2)).sum();
        Self { value, error: (squares / (count - 1.0) / count).sqrt() }
    }

    fn cell(self) -> String {
        let cell = format!("{:.3} ± {:.3}", self.value, self.error);
        if self.value > LIMIT {
            format!("**{cell}**")
        } else {
            cell
        }
    }
}

/// Means over the seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct GamingRow {
    pub scheduler: String,
    pub settings: String,
    pub strategy: String,
    pub gain: Mean,
    pub by_entitlement: Mean,
}

/// Of the text of [`FILE`], in the order of [`cases`].
pub fn rows(csv: &str) -> Vec<GamingRow> {
    let lines: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let of = |case: &Case| {
        let same = |line: &&Vec<&str>| line[..3] == [case.scheduler, case.settings, case.strategy];
        let mean = |column: usize| {
            let values = lines.iter().filter(same).map(|line| line[column].parse().expect("a number"));
            Mean::of(&values.collect::<Vec<f64>>())
        };
        GamingRow {
            scheduler: case.scheduler.to_owned(),
            settings: case.settings.to_owned(),
            strategy: case.strategy.to_owned(),
            gain: mean(4),
            by_entitlement: mean(5),
        }
    };
    cases(SEEDS[0]).iter().map(of).collect()
}

/// What settings are called in tables.
fn shown(settings: &str) -> String {
    match settings {
        "tickets" => "defaults".to_owned(),
        FAIR_TREE => FAIR_TREE.to_owned(),
        _ if settings.starts_with("TicketsFunctional") => {
            "a fixed part for biology, `Dilution=user`".to_owned()
        }
        _ => settings.split(' ').map(|setting| format!("`{setting}`")).collect::<Vec<_>>().join(" "),
    }
}

/// Gains under the model of Slurm, of all settings and strategies.
pub fn gains(rows: &[GamingRow]) -> Table {
    let mut table = Table::new(
        ["settings", "honest"]
            .into_iter()
            .chain(STRATEGIES.map(Strategy::name))
            .chain(["honest, by entitlement", "second-account, by entitlement"]),
    );
    let rows: Vec<&GamingRow> = rows.iter().filter(|row| row.scheduler == "slurm").collect();
    for of_settings in rows.chunk_by(|a, b| a.settings == b.settings) {
        let by_entitlement = |strategy: &str| {
            let row = of_settings.iter().find(|row| row.strategy == strategy);
            row.expect("every strategy").by_entitlement.cell()
        };
        let mut cells = vec![shown(&of_settings[0].settings)];
        cells.extend(of_settings.iter().map(|row| row.gain.cell()));
        cells.extend(["honest", "second-account"].map(by_entitlement));
        table.push(cells);
    }
    table
}

/// What splitting gains where the scheduler lets narrow jobs into every hole.
pub fn holes(rows: &[GamingRow]) -> Table {
    let mut table = Table::new(["settings", "split under `easy`", "split under `slurm`"]);
    for easy in rows.iter().filter(|row| (row.scheduler.as_str(), row.strategy.as_str()) == ("easy", "split"))
    {
        let same = |row: &&GamingRow| {
            (&*row.scheduler, &row.settings, &row.strategy) == ("slurm", &easy.settings, &easy.strategy)
        };
        let slurm = rows.iter().find(same).expect("every strategy");
        table.push([shown(&easy.settings), easy.gain.cell(), slurm.gain.cell()]);
    }
    table
}

/// What is above the limit under the model of Slurm, by strategy: in how many of the settings, and the largest.
pub fn not_covered(rows: &[GamingRow]) -> Table {
    let mut table = Table::new(["strategy", "gains under", "the most", "by entitlement"]);
    for strategy in STRATEGIES.map(Strategy::name) {
        let of_strategy = rows.iter().filter(|row| row.scheduler == "slurm" && row.strategy == strategy);
        let above: Vec<&GamingRow> = of_strategy.filter(|row| row.gain.value > LIMIT).collect();
        let Some(most) = above.iter().max_by(|a, b| a.gain.value.total_cmp(&b.gain.value)) else { continue };
        let mut under = String::new();
        if above.len() > SETTINGS.len() / 2 {
            write!(under, "{} of {} settings", above.len(), SETTINGS.len()).expect("a string grows");
        } else {
            under = above.iter().map(|row| shown(&row.settings)).collect::<Vec<_>>().join("; ");
        }
        let cells = [
            format!("`{strategy}`"),
            under,
            format!("{:.2}", most.gain.value),
            format!("{:.2}", most.by_entitlement.value),
        ];
        table.push(cells);
    }
    table
}
