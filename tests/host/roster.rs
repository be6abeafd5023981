//! Jobs that come and go between cycles: whichever way a cycle finds them, by their ids or by slurmctld's list, all get the
//! priorities that stock gives them, and all that run are charged.

use proptest::collection::vec;
use proptest::prelude::*;
use slurm_inproc::{Conf, Host, HostResult, Job, Options, Plugin};

use crate::charges::{assert_same, prepare, running, Charged, LIMITS};
use crate::setup::{in_both_with, waiting, Both};

/// Further than a cycle looks for new ids.
const FAR: u32 = 50_000;
/// What a cycle logs that has not found all jobs by their ids.
const BY_LIST: &str = "they are read by the list";

/// What may happen to the jobs.
#[derive(Debug, Clone)]
enum Event {
    /// New ones, each so many ids after the one before; every other one runs.
    New(Vec<u32>),
    /// One with an id below all others, as after the highest one of all.
    Low,
    /// One that waits, with this id.
    At(u32),
    /// The nth from the begin is gone.
    Purge(usize),
    /// A waiting one leaves its id to another record at the end of the list, as when a task leaves an array.
    Replace(usize),
    Cycle,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => vec(prop_oneof![6 => Just(1), 3 => 2..9_u32, 1 => Just(FAR)], 1..4).prop_map(Event::New),
        1 => Just(Event::Low),
        3 => any::<usize>().prop_map(Event::Purge),
        2 => any::<usize>().prop_map(Event::Replace),
        6 => Just(Event::Cycle),
    ]
}

#[derive(Debug)]
struct Jobs {
    /// In the order of the list.
    ids: Vec<u32>,
    highest: u32,
    lowest: u32,
}

impl Jobs {
    fn new() -> Self {
        Self { ids: Vec::new(), highest: 1000, lowest: 1000 }
    }

    fn add(&mut self, host: &mut Host, id: u32, job: Job) -> HostResult<()> {
        self.ids.push(id);
        host.jobs(&[job.qos(1 + id % 5).association(4 + id % 3)])
    }

    fn remove(&mut self, host: &mut Host, at: usize) -> HostResult<()> {
        let id = self.ids.remove(at);
        host.delete_job(id)
    }

    fn apply(&mut self, host: &mut Host, event: &Event) -> HostResult<()> {
        match event {
            Event::New(steps) => {
                for step in steps {
                    self.highest += step;
                    let id = self.highest;
                    let job = if id % 2 == 0 { running(id) } else { waiting(id) };
                    self.add(host, id, job)?;
                }
            }
            Event::At(id) => self.add(host, *id, waiting(*id))?,
            Event::Low => {
                self.lowest -= 1;
                self.add(host, self.lowest, waiting(self.lowest))?;
            }
            Event::Purge(at) if !self.ids.is_empty() => self.remove(host, at % self.ids.len())?,
            Event::Replace(at) => {
                let waits: Vec<usize> = (0..self.ids.len()).filter(|at| self.ids[*at] % 2 == 1).collect();
                if let Some(at) = waits.get(at % waits.len().max(1)) {
                    let id = self.ids[*at];
                    self.remove(host, *at)?;
                    self.add(host, id, waiting(id).partitions(["fast".to_owned()]))?;
                }
            }
            Event::Purge(_) => {}
            Event::Cycle => {
                host.advance(300)?;
                host.cycle()?;
            }
        }
        Ok(())
    }
}

/// What accounts and jobs are like after every event.
type History = (Vec<Charged>, Vec<Vec<(u32, u32)>>);

fn history(host: &mut Host, events: &[Event]) -> HostResult<History> {
    prepare(host, LIMITS)?;
    host.configure(&Conf::new().weight_age(10_000_u32).weight_qos(1000_u32).weight_partition(100_u32))?;
    host.init()?;
    let (mut jobs, mut history) = (Jobs::new(), History::default());
    for event in events {
        jobs.apply(host, event)?;
        history.0.push(Charged::read(host)?);
        history.1.push(host.dump_jobs()?.iter().map(|job| (job.id, job.priority)).collect());
    }
    Ok(history)
}

/// Such that the log says what a cycle reads by the list.
fn options(plugin: Plugin) -> Options {
    Options { log_level: "debug2".to_owned(), ..Options::new(plugin) }
}

/// Compares with stock; returns how many cycles have read the list.
#[track_caller]
fn check(events: &[Event]) -> usize {
    let both = in_both_with(options, |host| history(host, events));
    let Both { stock, ours, stock_log, our_log } = both.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ours.1, stock.1, "{events:?}");
    let by_list = our_log.matches(BY_LIST).count();
    assert_same("jobs that come and go", &Both { stock: stock.0, ours: ours.0, stock_log, our_log });
    by_list
}

#[test]
fn new_jobs_are_found_by_the_ids_that_follow() {
    let new = |steps: &[u32]| Event::New(steps.to_vec());
    let events = [new(&[1, 1, 1]), Event::Cycle, new(&[1, 7]), Event::Cycle, Event::Purge(1), Event::Cycle];
    let more = [Event::Purge(0), Event::Replace(0), new(&[3]), Event::Cycle, Event::Cycle];
    assert_eq!(check(&[&events[..], &more[..]].concat()), 1, "only the first cycle with jobs reads the list");
}

#[test]
fn a_job_with_an_id_from_elsewhere_is_found_in_the_list() {
    let new = |steps: &[u32]| Event::New(steps.to_vec());
    let far = [new(&[1, 1]), Event::Cycle, new(&[FAR]), Event::Cycle, Event::Cycle];
    assert_eq!(check(&far), 2, "the first cycle, and that after a gap");
    let low = [new(&[1, 1]), Event::Cycle, Event::Low, Event::Cycle, Event::Cycle];
    assert_eq!(check(&low), 2, "the first cycle, and that after the ids began anew");
    // As many as are gone: the number of jobs is the same.
    let both = [new(&[1, 1]), Event::Cycle, Event::Purge(0), Event::Low, Event::Cycle, Event::Cycle];
    assert_eq!(check(&both), 2, "the first cycle, and that after an exchange");
}

#[test]
fn ids_are_followed_across_the_highest_one_and_for_each_cluster_of_a_federation() {
    let at = |ids: &[u32]| ids.iter().map(|id| Event::At(*id)).chain([Event::Cycle]).collect::<Vec<_>>();
    let highest = 0x03ff_0000;
    let wrapped = [at(&[highest - 2, highest - 1]), at(&[1]), at(&[2, 3]), at(&[5]), at(&[6])].concat();
    assert_eq!(check(&wrapped), 2, "the first cycle, and that after the ids began anew");
    let (one, two) = (1 << 26, 2 << 26);
    let federated =
        [at(&[one + 10, two + 500]), at(&[two + 501, one + 11]), at(&[one + 12]), at(&[two + 502])].concat();
    assert_eq!(check(&federated), 1, "only the first cycle with jobs reads the list");
}

/// So many are read in parts, and the lock is let go of in between.
#[test]
fn very_many_jobs_are_found_by_their_ids_too() -> HostResult<()> {
    const MANY: u32 = 101_000;
    let both = in_both_with(options, |host| {
        prepare(host, LIMITS)?;
        host.configure(&Conf::new().weight_age(10_000_u32).weight_qos(1000_u32))?;
        host.bulk_jobs(1, MANY.into(), 7, false)?;
        host.init()?;
        host.advance(300)?;
        host.cycle()?;
        for id in [1, 777, MANY] {
            host.delete_job(id)?;
        }
        host.jobs(&[waiting(MANY + 1), running(MANY + 5), waiting(MANY + 6).qos(2_u32)])?;
        host.advance(300)?;
        host.cycle()?;
        let priorities: Vec<_> = host.dump_jobs()?.iter().map(|job| (job.id, job.priority)).collect();
        Ok((priorities, Charged::read(host)?))
    })?;
    assert!(both.ours == both.stock, "differs from stock");
    assert_eq!(both.our_log.matches(BY_LIST).count(), 1, "only the first cycle reads the list");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..multifactor2_fixtures::seeded() })]

    #[test]
    fn jobs_come_and_go_as_with_stock(events in vec(event(), 1..40)) {
        check(&events);
    }
}
