//! The model's passes against those of real slurmctlds, one by one: no chaos, as each pass begins with the cluster's own queue and running jobs.
//!
//! `make replay-truth` keeps of the log of slurmctld what happened, line by line: `SECOND submit JOB`, `SECOND end JOB`, `SECOND clean NODE` (a node
//! has cleaned up after a job), `SECOND main some` or `all`, `SECOND backfill`, and `SECOND start JOB NODES`, which belongs to the pass before it. Priorities are fixed: who came first is first.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use flate2::read::GzDecoder;
use multifactor2_replay::sim::{Parameters, Pass, Passes, Runs};
use multifactor2_replay::Workload;

use crate::truth;

/// Kinds of machines and jobs, and the release.
const KINDS: [&str; 5] = [
    "passes-shared-22.05",
    "passes-shared-26.05",
    "passes-memory-22.05",
    "passes-gres-22.05",
    "passes-whole-22.05",
];

/// Of the starts of the cluster and of the model so many have to be the same jobs in the same pass.
const SAME: f64 = 0.95;

/// How many starts are the same, of the cluster alone, and of the model alone; and those on the same nodes.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    same: usize,
    on_same_nodes: usize,
    cluster: usize,
    model: usize,
}

impl Counts {
    #[allow(clippy::cast_precision_loss)] // jobs of a test
    fn part(self) -> f64 {
        self.same as f64 / (self.same + self.cluster + self.model).max(1) as f64
    }
}

/// A pass: what it is, when, who started where.
struct Real {
    pass: Pass,
    now: i64,
    starts: Vec<Runs>,
}

struct Comparison {
    places: BTreeMap<u64, u32>,
    running: Vec<Runs>,
    waiting: BTreeSet<(u64, u32)>,
    /// Nodes on which a job has ended, once for each.
    ending: Vec<u32>,
    of_main: Counts,
    of_backfill: Counts,
}

impl Comparison {
    /// What happens between two passes.
    fn happens(&mut self, what: &str, number: u64) {
        match what {
            "submit" => _ = self.waiting.insert((number, self.places[&number])),
            "end" => {
                let job = self.places[&number];
                let at = self.running.iter().position(|runs| runs.job == job).unwrap();
                self.ending.extend(self.running.swap_remove(at).nodes);
            }
            _ => {
                let node = u32::try_from(number).unwrap();
                if let Some(at) = self.ending.iter().position(|ending| *ending == node) {
                    self.ending.swap_remove(at);
                }
            }
        }
    }

    /// Compares a pass, and goes on from what the cluster did.
    fn end(&mut self, passes: &Passes<'_>, real: Option<Real>) {
        let Some(real) = real else { return };
        // slurmctld may know that a node is clean before it says so.
        self.ending.retain(|node| !real.starts.iter().any(|start| start.nodes.contains(node)));
        let waiting: Vec<u32> = self.waiting.iter().map(|(_, job)| *job).collect();
        let made = passes.make(real.pass, real.now, &self.running, &self.ending, &waiting);
        let counts = if real.pass == Pass::Backfill { &mut self.of_backfill } else { &mut self.of_main };
        for start in &made {
            match real.starts.iter().find(|other| other.job == start.job) {
                Some(other) => {
                    counts.same += 1;
                    counts.on_same_nodes += usize::from(other.nodes == start.nodes);
                }
                None => counts.model += 1,
            }
        }
        counts.cluster +=
            real.starts.iter().filter(|start| !made.iter().any(|other| other.job == start.job)).count();
        self.waiting.retain(|(_, job)| !real.starts.iter().any(|start| start.job == *job));
        self.running.extend(real.starts);
    }
}

fn compare(kind: &str) -> (Counts, Counts) {
    let workload: Workload = truth::read(&truth::directory().join(kind), 1);
    let machine = workload.machine.as_ref().unwrap();
    let parameters = Parameters::of(&workload.config).unwrap();
    let depth = parameters.default_queue_depth;
    let passes = Passes::new(&workload, machine, &parameters);
    let file = std::fs::File::open(truth::directory().join(kind).join("passes.txt.gz")).unwrap();
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let mut comparison = Comparison {
        places: (0..).zip(&workload.jobs).map(|(place, job)| (job.id, place)).collect(),
        running: Vec::new(),
        waiting: BTreeSet::new(),
        ending: Vec::new(),
        of_main: Counts::default(),
        of_backfill: Counts::default(),
    };
    let mut real: Option<Real> = None;
    // What comes while a pass is made, it does not see.
    let mut meanwhile: Vec<(&str, u64)> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let now: i64 = words[0].parse().unwrap();
        let id = || words[2].parse::<u64>().unwrap();
        let pass = match (words[1], words.get(2)) {
            ("submit" | "end" | "clean", _) => {
                meanwhile.push((words[1], id()));
                continue;
            }
            ("start", _) => {
                let nodes = words[3].split(',').map(|node| node.parse().unwrap()).collect();
                let job = comparison.places[&id()];
                real.as_mut().unwrap().starts.push(Runs { job, since: now, nodes });
                continue;
            }
            ("backfill", _) => Pass::Backfill,
            (_, Some(&"some")) => Pass::Main(Some(depth)),
            _ => Pass::Main(None),
        };
        comparison.end(&passes, real.take());
        meanwhile.drain(..).for_each(|(what, number)| comparison.happens(what, number));
        real = Some(Real { pass, now, starts: Vec::new() });
    }
    comparison.end(&passes, real);
    (comparison.of_main, comparison.of_backfill)
}

#[test]
fn passes_start_the_same_jobs() {
    let mut missed = Vec::new();
    for kind in KINDS {
        let (main, backfill) = compare(kind);
        println!(
            "{kind}: main {:.1} % {main:?}; backfill {:.1} % {backfill:?}",
            100.0 * main.part(),
            100.0 * backfill.part()
        );
        let all = Counts {
            same: main.same + backfill.same,
            cluster: main.cluster + backfill.cluster,
            model: main.model + backfill.model,
            ..main
        };
        if all.part() < SAME {
            missed.push((kind, all.part()));
        }
    }
    assert_eq!(missed, [], "jobs that start in the same pass, in parts of all that start in one");
}
