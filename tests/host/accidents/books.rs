//! Books: every second that is charged is in one of them once, whatever happens, and raw usage is stock's to the bit.

use std::fs;

use multifactor2_core::rules::sums::Sums;
use multifactor2_core::rules::sums_file::parse;
use slurm_inproc::{state, Association, Conf, Host, HostResult, Job, Options, Partition, Plugin};

use crate::lives::{at_every_lock, save_in_cycle, Lives};
use crate::setup::{self, plugins, running, usage, CPUS, NOW};

const BOOKS: &str = "Book=gpu Partitions=gpu,gpu-long\nBook=big Partitions=big\n";
const ASSOCIATIONS: u16 = 1;
const DAILY: u16 = 2;

fn lives<'p>(plugin: &'p Plugin, conf: Conf, settings: &str) -> HostResult<Lives<'p>> {
    let mut lives = Lives::new(plugin, conf)?;
    settings.clone_into(&mut lives.settings);
    Ok(lives)
}

/// A process with partitions of all books; a partition has to be there before its jobs.
fn start(lives: &Lives<'_>, now: i64, jobs: &[Job]) -> HostResult<Host> {
    let mut host = lives.start(now, &[])?;
    partitions(&mut host)?;
    host.jobs(jobs)?;
    Ok(host)
}

fn partitions(host: &mut Host) -> HostResult<()> {
    for name in ["gpu", "gpu-long", "big"] {
        host.partition(&Partition::new(name).tres([(1, 100), (4, 10)]))?;
    }
    Ok(())
}

fn job(id: u32, association: u32, start: i64, partition: &str) -> Job {
    running(id, association, start).partitions([partition.to_owned()])
}

fn saved(lives: &Lives<'_>) -> Sums {
    let text = fs::read_to_string(lives.state.path().join("multifactor2_usage")).expect("the file is there");
    parse(&text).unwrap_or_else(|problem| panic!("{problem}: {text}")).0
}

/// Seconds of a job by book: `gpu`, `big`.
fn seconds(sums: &Sums, id: u32) -> [f64; 2] {
    let of = |at: usize| sums.used(id).get(at).copied().unwrap_or(0.0) / CPUS;
    [of(0), of(1)]
}

fn end(host: &mut Host, job: u32, at: i64) -> HostResult<()> {
    host.jobs(&[Job::new(job).state(state::COMPLETE).end_time(at)])?;
    host.job_end(job)
}

#[test]
fn every_second_is_in_one_book_once_wherever_the_process_ends() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let jobs = [
        job(1, 3, NOW, "gpu"),
        job(2, 4, NOW, "big"),
        job(3, 4, NOW, "batch"),
        job(4, 3, NOW + 100, "gpu-long"),
    ];
    let locks = at_every_lock(|lock, end| {
        let lives = lives(&ours, Conf::new(), BOOKS)?;
        let mut first = start(&lives, NOW, &jobs)?;
        first.init()?;
        if !save_in_cycle(&lives, first, NOW + 300, lock, end)? {
            return Ok(false);
        }
        let what = format!("lock {lock}, {end:?}");
        let mut second = start(&lives, NOW + 300, &jobs)?;
        second.init()?;
        second.set_clock(NOW + 1000)?;
        second.cycle()?;
        let sums = saved(&lives);
        assert_eq!([3, 4].map(|id| seconds(&sums, id)), [[1900.0, 0.0], [0.0, 1000.0]], "{what}");
        assert_eq!(
            [usage(&mut second, 3)?, usage(&mut second, 4)?],
            [1900.0 * CPUS, 2000.0 * CPUS],
            "{what}"
        );
        // The default book has what is left: a thousand seconds of the second user.
        let norms = [3, 4].map(|id| second.dump_association(id).map(|shown| shown.usage_norm.to_f64()));
        assert_eq!(norms.map(Result::unwrap), [0.0, 1.0], "{what}");
        second.quit()?;
        Ok(true)
    })?;
    assert!(locks >= 7, "{locks}");
    Ok(())
}

#[test]
fn a_job_that_ends_is_in_its_book_once_whether_slurmctld_remembers_its_end_or_not() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let jobs = [job(1, 3, NOW, "gpu"), job(2, 4, NOW, "big")];
    for moment in 1.. {
        for (regular, remembered) in [(true, true), (true, false), (false, true), (false, false)] {
            let lives = lives(&ours, Conf::new(), BOOKS)?;
            let mut first = start(&lives, NOW, &jobs)?;
            first.init()?;
            first.set_clock(NOW + 300)?;
            let (before, reached) = first.start_cycle_until_free(moment)?;
            if !reached {
                assert!(moment > 8, "{moment} moments");
                return Ok(());
            }
            first.set_clock(NOW + 305)?;
            end(&mut first, 2, NOW + 305)?;
            first.save()?;
            first.go_on()?;
            first.finish_cycle(before)?;
            if regular {
                first.fini()?;
            }
            drop(first);
            let what = format!("moment {moment}, regular: {regular}, remembered: {remembered}");
            let again = if remembered { &jobs[..1] } else { &jobs[..] };
            let mut second = start(&lives, NOW + 400, again)?;
            second.init()?;
            if !remembered {
                second.set_clock(NOW + 500)?;
                end(&mut second, 2, NOW + 500)?;
            }
            second.set_clock(NOW + 1000)?;
            second.cycle()?;
            let sums = saved(&lives);
            assert_eq!(seconds(&sums, 3), [1000.0, 0.0], "{what}");
            let [none, found] = seconds(&sums, 4);
            // What ran after the cycle of a killed process may be lost, as in slurmctld.
            let due: &[f64] = match (regular, remembered) {
                (_, false) => &[500.0],
                (true, true) => &[305.0],
                (false, true) => &[300.0, 305.0],
            };
            assert!(none == 0.0 && due.iter().any(|due| (found - due).abs() < 1e-6), "{what}: {found}");
            second.quit()?;
        }
    }
    Ok(())
}

#[test]
fn books_are_reset_with_all_usage_and_exactly_once() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let first = lives(&ours, Conf::new(), BOOKS)?;
    let mut host =
        start(&first, NOW, &[job(1, 3, NOW, "gpu"), job(2, 4, NOW, "big"), job(3, 4, NOW, "batch")])?;
    host.init()?;
    host.set_clock(NOW + 300)?;
    host.cycle()?;
    // By sacctmgr: of one user.
    host.reset_usage(3)?;
    host.set_clock(NOW + 400)?;
    host.cycle()?;
    assert_eq!([3, 4].map(|id| seconds(&saved(&first), id)), [[100.0, 0.0], [0.0, 400.0]]);
    // Of the whole account.
    host.reset_usage(2)?;
    host.set_clock(NOW + 450)?;
    host.cycle()?;
    assert_eq!([3, 4].map(|id| seconds(&saved(&first), id)), [[50.0, 0.0], [0.0, 50.0]]);
    // One is removed, and its id means somebody else.
    host.jobs(&[Job::new(2_u32).state(state::COMPLETE).end_time(NOW + 450)])?;
    host.job_end(2)?;
    host.delete_job(2)?;
    host.jobs(&[Job::new(3_u32).state(state::COMPLETE).end_time(NOW + 450)])?;
    host.job_end(3)?;
    host.delete_job(3)?;
    host.associations(&[Association::new(4_u32).delete(true)])?;
    host.set_clock(NOW + 500)?;
    host.cycle()?;
    assert_eq!(seconds(&saved(&first), 4), [0.0, 0.0]);
    let dora = Association::new(4_u32).parent(2_u32).account("physics").user("dora").uid(1009_u32);
    host.associations(&[dora.shares(1_u32)])?;
    host.set_clock(NOW + 550)?;
    host.cycle()?;
    let sums = saved(&first);
    assert_eq!([3, 4].map(|id| seconds(&sums, id)), [[150.0, 0.0], [0.0, 0.0]]);
    host.quit()?;
    // PriorityUsageResetPeriod, wherever a save falls into the cycle that does it.
    let midnight = NOW - NOW % 86_400 + 86_400;
    let jobs = [job(1, 3, midnight - 500, "gpu")];
    at_every_lock(|lock, end| {
        let lives = lives(&ours, Conf::new().reset_period(DAILY), BOOKS)?;
        let mut first = start(&lives, midnight - 400, &jobs)?;
        first.init()?;
        first.save()?;
        if !save_in_cycle(&lives, first, midnight + 10, lock, end)? {
            return Ok(false);
        }
        let mut second = start(&lives, midnight + 600, &jobs)?;
        second.init()?;
        // The cycle of the reset counts all of its period, as in slurmctld.
        assert_eq!(seconds(&saved(&lives), 3), [1000.0, 0.0], "lock {lock}, {end:?}");
        second.quit()?;
        Ok(true)
    })
    .map(drop)
}

/// slurmctld reports no ends then, and its raw usage misses the last seconds: so do books, or the default one would have too little.
#[test]
fn without_limits_books_have_what_raw_usage_has() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let lives = lives(&ours, Conf::new().enforce(ASSOCIATIONS), BOOKS)?;
    let mut host =
        start(&lives, NOW, &[job(1, 3, NOW, "batch"), job(2, 3, NOW, "gpu"), job(3, 4, NOW, "big")])?;
    host.init()?;
    for at in [100, 300, 400] {
        if at == 300 {
            host.jobs(&[job(2, 3, NOW, "gpu").state(state::COMPLETE).end_time(NOW + 190)])?;
        }
        host.set_clock(NOW + at)?;
        host.cycle()?;
    }
    assert_eq!([3, 4].map(|id| seconds(&saved(&lives), id)), [[100.0, 0.0], [0.0, 400.0]]);
    assert_eq!([usage(&mut host, 3)?, usage(&mut host, 4)?], [500.0 * CPUS, 400.0 * CPUS]);
    assert_eq!(
        host.dump_association(3)?.usage_norm.to_f64(),
        1.0,
        "the default book has 400 seconds, all its own"
    );
    host.quit().map(drop)
}

/// Books change nothing of what slurmctld keeps.
#[test]
fn raw_usage_is_that_of_stock_to_the_bit() -> HostResult<()> {
    let run = |plugin: &Plugin, settings: &str| -> HostResult<Vec<String>> {
        let mut options = Options::new(plugin.clone());
        options.clock = NOW;
        options.files = vec![("multifactor2.conf".to_owned(), settings.to_owned())];
        let mut host = setup::host(&options)?;
        host.configure(&Conf::new().decay_half_life(3600_u32))?;
        partitions(&mut host)?;
        host.jobs(&[job(1, 3, NOW, "gpu"), job(2, 4, NOW - 77, "big"), job(3, 4, NOW, "batch")])?;
        host.init()?;
        let mut seen = Vec::new();
        for cycle in 1..12 {
            host.set_clock(NOW + cycle * 317)?;
            if cycle == 7 {
                end(&mut host, 1, NOW + cycle * 317)?;
            }
            host.cycle()?;
            for id in 1..=4 {
                seen.push(host.dump_association(id)?.usage_raw.to_string());
            }
        }
        host.quit()?;
        Ok(seen)
    };
    let [stock, ours] = plugins()?;
    let due = run(&stock, "")?;
    assert_eq!(run(&ours, "")?, due);
    assert_eq!(run(&ours, BOOKS)?, due);
    let dominant = "UsageMeasure=dominant\nDominantTRES=cpu,node\n";
    assert_eq!(run(&ours, &format!("{BOOKS}{dominant}"))?, due);
    Ok(())
}

/// The last book that was removed is kept until a half-life has passed, then the file says that there is none, and nothing is counted.
#[test]
fn what_is_left_of_removed_books_goes_after_a_half_life() -> HostResult<()> {
    let [_, ours] = plugins()?;
    let mut lives = lives(&ours, Conf::new().decay_half_life(3600_u32), BOOKS)?;
    let jobs = [job(1, 3, NOW, "gpu")];
    let mut host = start(&lives, NOW, &jobs)?;
    host.init()?;
    host.set_clock(NOW + 300)?;
    host.cycle()?;
    host.save()?;
    let log = host.quit()?;
    assert_eq!(log.matches("starts empty").count(), 2, "{log}");
    let used = saved(&lives).used(3)[0];
    "# nothing\n".clone_into(&mut lives.settings);
    // In another process, as every reconfigure from 23.11 on.
    let mut host = start(&lives, NOW + 300, &jobs)?;
    host.init()?;
    host.set_clock(NOW + 3600)?;
    host.cycle()?;
    let left = saved(&lives).used(3)[0] / used;
    // slurmctld's factor per second is one minus 0.693 by the half-life.
    assert!((left - (1.0_f64 - 0.693 / 3600.0).powi(3300)).abs() < 1e-9, "{left}");
    assert_eq!(host.dump_association(3)?.usage_norm.to_f64(), 1.0, "all is in the default book");
    host.set_clock(NOW + 4000)?;
    host.cycle()?;
    let file = lives.state.path().join("multifactor2_usage");
    assert!(!saved(&lives).has_books());
    let before = fs::metadata(&file).and_then(|data| data.modified()).unwrap();
    host.set_clock(NOW + 4300)?;
    host.cycle()?;
    assert_eq!(
        fs::metadata(&file).and_then(|data| data.modified()).unwrap(),
        before,
        "nothing is counted any more"
    );
    host.quit()?;
    BOOKS.clone_into(&mut lives.settings);
    let mut host = start(&lives, NOW + 4300, &jobs)?;
    host.init()?;
    let log = host.quit()?;
    assert_eq!(log.matches("starts empty").count(), 2, "{log}");
    Ok(())
}
