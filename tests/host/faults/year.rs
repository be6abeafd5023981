//! A year of fifty projects under each preset of grants, with kills: what is counted, corrected and decided, beside the trace itself and the model of the
//! rules.
//!
//! The process is killed at each step of the save, and at twenty times of chance between two calculations. A kill loses what has ended since the last save, and no
//! more; the next correction brings it back to the second.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use multifactor2_core::rules::grants::correction::{Compared, Correction};
use multifactor2_core::rules::grants::ledger::Ledger;
use multifactor2_core::rules::grants::Sequences;
use multifactor2_core::settings::Settings;
use num_bigint::BigInt;
use num_rational::BigRational;
use slurm_inproc::{state, Association, HostResult, Job};

use crate::model::{standing, ModelGrant, ModelRule};
use crate::setup::{conf, running, Rig};

/// 2034-01-01 in UTC.
const BEGIN: i64 = 2_019_686_400;
const DAY: i64 = 86_400;
/// Between two calculations; none has a border within.
const STEP: i64 = DAY / 2;
const STEPS: i64 = 365 * 2;
const PROJECTS: u32 = 50;
/// Kills at times of chance.
const SEEDS: u64 = 20;
const POINTS: [&str; 7] =
    ["grants.begin", "grants.finish", "grants.correct", "grants.save", "save", "commit", "charge:1"];

/// A run of the trace.
#[derive(Clone, Copy, Debug)]
struct Run {
    id: u32,
    project: u32,
    cpus: u64,
    start: i64,
    end: i64,
}

/// A preset, as our own reading of the page has it.
fn preset(name: &str) -> (ModelRule, Vec<i64>) {
    let months = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let lengths: Vec<i64> = match name {
        "nhr" => months.chunks(3).map(|quarter| quarter.iter().sum()).collect(),
        _ => months.to_vec(),
    };
    let mut borders = vec![BEGIN];
    for days in lengths {
        borders.push(borders[borders.len() - 1] + days * DAY);
    }
    let times = |count: i64| BigRational::new(BigInt::from(count), BigInt::from(100));
    let rule = match name {
        "jsc" => ModelRule::Carry { carry_over: times(100), borrow: times(100), debt_cap: Some(times(101)) },
        "nhr" => ModelRule::Carry { carry_over: times(100), borrow: times(0), debt_cap: None },
        "rwth" => ModelRule::Window,
        _ => ModelRule::Ageing { interval_seconds: 90 * DAY },
    };
    (rule, borders)
}

/// Numbers that look like chance, the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Jobs that come in waves: projects use much in some months and little in others.
fn made() -> Vec<Run> {
    let mut chance = Chance(2034);
    let mut runs = Vec::new();
    for id in 0..3000 {
        let project = u32::try_from(chance.below(PROJECTS.into())).unwrap();
        let month = (chance.below(4) + u64::from(project)) % 12;
        let start = BEGIN + i64::try_from(month * 30 * 86_400 + chance.below(30 * 86_400)).unwrap();
        let length = 60 + i64::try_from(chance.below(40 * 3600)).unwrap();
        runs.push(Run { id: 1000 + id, project, cpus: 1 + chance.below(128), start, end: start + length });
    }
    runs
}

/// The log of the IBM SP2 at KTH, eleven months of 214 users, from the Parallel Workloads Archive: its users are divided among the projects.
fn of_kth() -> Option<Vec<Run>> {
    const HASH: &str = "18d2d37d2cc1f9ab16ebf333e9fb29cf0a7fda16af21fc1aafb5deeb59220f3a";
    let directory = std::env::var_os("MULTIFACTOR2_TRACES").map(PathBuf::from)?;
    let file = directory.join("KTH-SP2-filtered.swf.gz");
    let text = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).arg(&file).output().unwrap();
        assert!(output.status.success(), "{program} {}", file.display());
        String::from_utf8(output.stdout).unwrap()
    };
    let hash = text("sha256sum", &[]);
    assert_eq!(hash.split(' ').next(), Some(HASH), "it is another trace");
    let mut runs = Vec::new();
    for line in text("gzip", &["-dc"]).lines().filter(|line| !line.starts_with(';')) {
        let fields: Vec<i64> = line.split_whitespace().map(|field| field.parse().unwrap_or(-1)).collect();
        let (run, cpus, user) = (fields[3], fields[4], fields[11]);
        let start = BEGIN + fields[1] + fields[2];
        if run > 0 && cpus > 0 {
            let id = 1000 + u32::try_from(runs.len()).unwrap();
            let project = u32::try_from(user).unwrap() % PROJECTS;
            runs.push(Run { id, project, cpus: cpus.try_into().unwrap(), start, end: start + run });
        }
    }
    Some(runs)
}

/// CPU seconds by project and period.
type Sums = BTreeMap<(u32, usize), i128>;

fn add(sums: &mut Sums, borders: &[i64], run: &Run, (from, to): (i64, i64)) {
    for (period, border) in (1..).zip(borders.windows(2)) {
        let seconds = to.min(border[1]).min(run.end) - from.max(border[0]).max(run.start);
        if seconds > 0 {
            *sums.entry((run.project, period)).or_default() += i128::from(seconds) * i128::from(run.cpus);
        }
    }
}

struct Year<'r> {
    rig: Rig,
    settings: String,
    state: PathBuf,
    borders: Vec<i64>,
    /// What runs, by id.
    active: BTreeMap<u32, &'r Run>,
    /// What is new since the host was told last.
    new: Vec<Job>,
    /// What has ended since the last save.
    ended: Vec<&'r Run>,
    /// The calculation that was saved last.
    saved: i64,
    /// What kills have lost.
    lost: Sums,
}

fn job(run: &Run) -> Job {
    running(run.id, 101 + 2 * run.project)
        .start_time(run.start)
        .end_time_expected(run.start + 400 * DAY)
        .time_limit(600_000_u32)
        .total_cpus(u32::try_from(run.cpus).unwrap())
        .tres_allocated([(1, run.cpus), (4, 1)])
}

fn rig(settings: &str, state: &Path, now: i64) -> HostResult<Rig> {
    let mut rig = Rig::of(now, state, &conf(), settings)?;
    let projects: Vec<Association> = (0..PROJECTS)
        .flat_map(|project| {
            let id = 100 + 2 * project;
            let account = format!("p{project}");
            [
                Association::new(id).parent(1_u32).account(&account),
                Association::new(id + 1)
                    .parent(id)
                    .account(&account)
                    .user(format!("u{project}"))
                    .uid(2000 + id),
            ]
        })
        .collect();
    rig.host.associations(&projects)?;
    Ok(rig)
}

impl<'r> Year<'r> {
    fn tell_new(&mut self) -> HostResult<()> {
        if !self.new.is_empty() {
            self.rig.host.jobs(&std::mem::take(&mut self.new))?;
        }
        Ok(())
    }

    /// All that starts and ends until a time.
    fn until(
        &mut self,
        time: i64,
        runs: &mut std::iter::Peekable<std::slice::Iter<'r, Run>>,
    ) -> HostResult<()> {
        loop {
            let next_end = self.active.values().map(|run| (run.end, run.id)).min();
            let next_start = runs.peek().map(|run| run.start);
            match (next_start, next_end) {
                (Some(start), end) if start <= time && end.is_none_or(|(end, _)| start <= end) => {
                    let run = runs.next().unwrap();
                    self.active.insert(run.id, run);
                    self.new.push(job(run));
                }
                (_, Some((end, id))) if end <= time => {
                    self.tell_new()?;
                    self.rig.host.set_clock(end)?;
                    self.rig.host.jobs(&[Job::new(id).state(state::COMPLETE).end_time(end)])?;
                    self.rig.host.job_end(id)?;
                    self.ended.push(self.active.remove(&id).unwrap());
                }
                _ => return Ok(()),
            }
        }
    }

    /// The process is killed: a new one has what was saved, and the jobs that run.
    fn kill(&mut self, now: i64) -> HostResult<()> {
        self.rig = rig(&self.settings, &self.state, now)?;
        for run in std::mem::take(&mut self.ended) {
            add(&mut self.lost, &self.borders, run, (self.saved, now));
        }
        self.new = self.active.values().map(|run| job(run)).collect();
        self.tell_new()?;
        // It calculates at once.
        self.rig.host.init()?;
        self.saved = now;
        Ok(())
    }
}

#[allow(clippy::too_many_lines)] // one story
fn year(name: &str, runs: &[Run]) -> HostResult<()> {
    let (rule, borders) = preset(name);
    let mut whole = Sums::new();
    for run in runs {
        add(&mut whole, &borders, run, (BEGIN, i64::MAX));
    }
    // In hours, so that each project is beyond at times.
    let amount = |project: u32| {
        let all: i128 = whole.iter().filter(|((of, _), _)| *of == project).map(|(_, used)| used).sum();
        (all / 3600).max(1)
    };
    let mut lines = String::new();
    for project in 0..PROJECTS {
        let amount = amount(project);
        let _ = writeln!(
            lines,
            "Grant=Account Name=p{project} Preset={name} Amount={amount} From=2034-01-01 Until=2034-12-31 TimeZone=UTC"
        );
    }
    let sequences = Sequences::of(
        &Settings::parse(&lines, "f").unwrap_or_else(|errors| panic!("{errors}")).settings,
        |_| 0,
    );
    let grants: Vec<ModelGrant> = (0..PROJECTS)
        .map(|project| ModelGrant {
            amount: BigRational::from_integer(BigInt::from(amount(project) * 3600)),
            by_days: false,
            rule: rule.clone(),
            adjusts: Vec::new(),
            borders: borders.clone(),
        })
        .collect();
    let directory = tempfile::tempdir()?;
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700))?;
    let file = directory.path().join("multifactor2_grants");
    let mut year = Year {
        rig: rig(&lines, directory.path(), BEGIN)?,
        settings: lines,
        state: directory.path().to_owned(),
        borders: borders.clone(),
        active: BTreeMap::new(),
        new: Vec::new(),
        ended: Vec::new(),
        saved: BEGIN,
        lost: Sums::new(),
    };
    year.rig.host.init()?;
    let mut chance = Chance(7);
    let at_steps: BTreeMap<i64, &str> =
        (1..).zip(POINTS).map(|(number, point)| (number * 90 - 11, point)).collect();
    let at_times: BTreeMap<i64, i64> = (0..SEEDS)
        .map(|seed| {
            let step = 5 + i64::try_from(seed).unwrap() * 36 + i64::try_from(chance.below(30)).unwrap();
            (step, i64::try_from(chance.below(STEP.unsigned_abs())).unwrap())
        })
        .collect();
    let mut sorted: Vec<Run> = runs.to_vec();
    sorted.sort_by_key(|run| (run.start, run.id));
    let mut coming = sorted.iter().peekable();
    let (mut truth, mut counted_at) = (Sums::new(), BEGIN);
    let (mut is_short, mut kills, mut all_lost, mut states) = (false, 0, 0_i128, BTreeSet::new());
    for step in 1..STEPS {
        let now = BEGIN + step * STEP;
        if let Some(after) = at_times.get(&step) {
            let at = now - STEP + after;
            year.until(at, &mut coming)?;
            year.kill(at)?;
            (kills, is_short) = (kills + 1, true);
        }
        year.until(now, &mut coming)?;
        year.tell_new()?;
        year.rig.host.set_clock(now)?;
        if let Some(point) = at_steps.get(&step) {
            year.rig.arm(&format!("{point}!"))?;
            assert!(year.rig.host.cycle().is_err(), "{point} is not passed");
            year.kill(now)?;
            (kills, is_short) = (kills + 1, true);
            continue;
        }
        year.rig.host.cycle()?;
        let over: Vec<u32> = year.ended.iter().map(|run| run.id).collect();
        for id in over {
            year.rig.host.delete_job(id)?;
        }
        year.ended.clear();
        for run in runs.iter().filter(|run| run.start < now && run.end > counted_at) {
            add(&mut truth, &borders, run, (counted_at, now));
        }
        (counted_at, year.saved) = (now, now);
        // Amounts and standings, beside the trace and the model.
        let text = fs::read_to_string(&file)?;
        let ledger = Ledger::parse(&text).unwrap_or_else(|problem| panic!("{problem}: {text}"));
        assert_eq!(ledger.since, now);
        let mut correction = Correction { id: ledger.id, at: now, ..Correction::default() };
        for (project, (sequence, grant)) in (0..).zip(sequences.all.iter().zip(&grants)) {
            let line = &sequence.lines[0];
            let account = ledger.accounts.get(&line.ledger).expect("each project has its line");
            let of = |sums: &Sums, period| sums.get(&(project, period)).copied().unwrap_or_default();
            let due: Vec<i128> =
                (1..borders.len()).map(|period| of(&truth, period) - of(&year.lost, period)).collect();
            let found: Vec<i128> = (1..borders.len()).map(|period| account.amount(period)).collect();
            assert_eq!(found, due, "{name}, p{project}, step {step}");
            let theirs = standing(grant, &due, now).expect("it is in the grant");
            let ours = line.grant.standing(&account.amounts(), now).expect("it is in the grant");
            assert_eq!(
                (&ours.balance, &ours.limit),
                (&theirs.balance, &theirs.limit),
                "{name}, p{project}, step {step}"
            );
            assert_eq!(account.is_beyond, Some(!theirs.is_within), "{name}, p{project}, step {step}");
            states.insert((project, theirs.is_within));
            let begun = borders.iter().filter(|border| **border < now).count().min(borders.len() - 1);
            for period in 1..=begun {
                let counted = account.used.get(period - 1).copied().unwrap_or_default();
                let compared = Compared { counted, accounted: of(&truth, period) };
                correction.periods.insert((line.ledger.clone(), period), compared);
            }
        }
        if std::mem::take(&mut is_short) {
            all_lost += year.lost.values().sum::<i128>();
            let beside = file.with_extension("made");
            fs::write(&beside, correction.text())?;
            fs::set_permissions(&beside, fs::Permissions::from_mode(0o600))?;
            fs::rename(&beside, file.with_extension("correction"))?;
            // From the next calculation on nothing is missing.
            year.lost.clear();
        }
    }
    assert_eq!(kills, SEEDS + u64::try_from(POINTS.len()).unwrap());
    assert!(all_lost > 0, "kills have lost nothing");
    let both = (0..PROJECTS)
        .filter(|project| states.contains(&(*project, true)) && states.contains(&(*project, false)));
    println!(
        "{name}: {} runs, {kills} kills, {all_lost} CPU seconds lost and found again, {} projects within and beyond",
        runs.len(),
        both.count()
    );
    year.rig.host.quit()?;
    Ok(())
}

#[test]
fn a_year_under_jsc() -> HostResult<()> {
    year("jsc", &made())
}

#[test]
fn a_year_under_nhr() -> HostResult<()> {
    year("nhr", &made())
}

#[test]
fn a_year_under_rwth() -> HostResult<()> {
    year("rwth", &made())
}

#[test]
fn a_year_under_nesi() -> HostResult<()> {
    year("nesi", &made())
}

#[test]
fn the_year_of_kth_under_each_preset() -> HostResult<()> {
    let Some(runs) = of_kth() else {
        slurm_testcluster::skip(
            "grants_of_kth",
            "needs KTH-SP2-filtered.swf.gz in the directory that MULTIFACTOR2_TRACES names",
        );
        return Ok(());
    };
    for name in ["jsc", "nhr", "rwth", "nesi"] {
        year(name, &runs)?;
    }
    Ok(())
}
