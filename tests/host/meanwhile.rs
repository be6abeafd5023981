//! What others do to a job while a cycle runs: at each moment at which the cycle holds no lock, schedulers, administrators and
//! slurmdbd change what it has read. Schedulers never keep a priority from being written; an administrator's always stays.

use slurm_inproc::{state, Association, Conf, FactorsFilter, Host, HostResult, Job};

use crate::example::{number, tree};
use crate::setup::{fill, in_both, ours, waiting, FAIR_TREE, NOW};
use crate::tree::{id, Tree};

const DEBUG_PRIORITY: u64 = 0x800;
/// More locks than a cycle takes.
const MANY: u32 = 100;

/// Runs a scenario once for each lock that a cycle takes: `before` prepares a host, `meanwhile` is done when the cycle is about
/// to take that lock, `after` looks at what came of it. Returns how many locks there were.
fn at_every_step(
    before: impl Fn(&mut Host) -> HostResult<()>,
    meanwhile: impl Fn(&mut Host) -> HostResult<()>,
    after: impl Fn(&mut Host, u32) -> HostResult<()>,
) -> HostResult<u32> {
    for step in 1..MANY {
        let mut host = ours()?;
        before(&mut host)?;
        host.advance(60)?;
        let (cycle, reached) = host.start_cycle_until(step)?;
        if reached {
            meanwhile(&mut host)?;
            host.go_on()?;
        }
        host.finish_cycle(cycle)?;
        if !reached {
            return Ok(step - 1);
        }
        after(&mut host, step)?;
        host.quit()?;
    }
    panic!("a cycle that takes more than {MANY} locks")
}

/// Four waiting jobs, the second in two partitions, whose priority is their age after the first cycle.
fn prepare(host: &mut Host) -> HostResult<()> {
    fill(host)?;
    host.configure(
        &Conf::new().weight_age(86_400_u32).weight_partition(1000_u32).debug_flags(DEBUG_PRIORITY),
    )?;
    let several = waiting(2).partitions(["batch".to_owned(), "fast".to_owned()]);
    host.jobs(&[waiting(1), several, waiting(3), waiting(4)])?;
    host.init().map(drop)
}

fn priorities(host: &mut Host) -> HostResult<Vec<u32>> {
    Ok(host.dump_jobs()?.iter().map(|job| job.priority).collect())
}

/// The last line that says what became of the priorities of a cycle.
fn tally(host: &Host) -> String {
    let log = host.log();
    let line = log.lines().filter_map(|line| line.split_once("PRIO: ")).map(|(_, text)| text);
    let mut tallies = line.filter(|text| text.contains(" priorities computed: "));
    tallies.next_back().unwrap_or_default().to_owned()
}

/// Age, and 250 or 1000 of the partition.
const COMPUTED: [u32; 4] = [21_660 + 250, 21_660 + 250, 21_660 + 250, 21_660 + 250];

#[test]
fn what_schedulers_write_into_a_job_never_keeps_its_priority_from_being_written() -> HostResult<()> {
    let steps = at_every_step(
        prepare,
        |host| {
            // As the schedulers do, an older number of one of the partitions; here for any job.
            host.jobs(&[1, 2, 3].map(|id: u32| Job::new(id).priority(777_u32 + id)))
        },
        |host, step| {
            assert_eq!(priorities(host)?, COMPUTED, "step {step}: {}", tally(host));
            assert_eq!(tally(host), "4 priorities computed: 4 written, 0 unchanged", "step {step}");
            Ok(())
        },
    )?;
    assert!(steps >= 5, "{steps} steps");
    Ok(())
}

#[test]
fn priorities_that_stay_as_they_were_are_counted_as_such() -> HostResult<()> {
    let mut host = ours()?;
    prepare(&mut host)?;
    // In the same second, so that nobody is older.
    host.cycle()?;
    assert_eq!(tally(&host), "4 priorities computed: 0 written, 4 unchanged");
    host.quit().map(drop)
}

#[test]
fn priorities_fall_unless_incr_only_forbids_it_and_are_counted_as_such() -> HostResult<()> {
    let incr_only = slurm_inproc::constants::PRIORITY_FLAGS_INCR_ONLY;
    for (flags, less, counts) in [
        (0, 50, "4 priorities computed: 2 written, 2 unchanged"),
        (incr_only, 0, "4 priorities computed: 0 written, 2 unchanged, 2 lower, which INCR_ONLY forbids"),
    ] {
        let mut host = ours()?;
        prepare(&mut host)?;
        host.configure(&Conf::new().flags(FAIR_TREE | flags))?;
        host.reconfigure(false)?;
        let before = priorities(&mut host)?;
        host.jobs(&[1, 3].map(|id: u32| Job::new(id).nice(slurm_inproc::Nice(50))))?;
        host.cycle()?;
        assert_eq!(tally(&host), counts);
        let expected = [before[0] - less, before[1], before[2] - less, before[3]];
        assert_eq!(priorities(&mut host)?, expected);
        host.quit()?;
    }
    Ok(())
}

#[test]
fn what_an_administrator_or_a_submission_sets_meanwhile_stays_and_is_counted() -> HostResult<()> {
    let counts = std::cell::RefCell::new(Vec::new());
    at_every_step(
        prepare,
        |host| {
            host.jobs(&[
                Job::new(1_u32).priority(0_u32),
                Job::new(2_u32).priority(5_u32).direct_set_priority(true),
                Job::new(3_u32).nice(slurm_inproc::Nice(1000)),
                Job::new(4_u32).state(state::RUNNING).start_time(NOW + 60),
            ])?;
            host.set_priority(3).map(drop)
        },
        |host, step| {
            let found = priorities(host)?;
            assert_eq!(found[..3], [0, 5, COMPUTED[2] - 1000], "step {step}: {}", tally(host));
            counts.borrow_mut().push(tally(host));
            Ok(())
        },
    )?;
    // From the reading of the jobs to the writing.
    let meanwhile =
        "4 priorities computed: 0 written, 0 unchanged, 1 of held jobs, 1 of jobs with a direct priority, 1 of \
         jobs submitted or changed meanwhile, 1 of jobs that have started or are gone";
    let counts = counts.into_inner();
    assert!(counts.iter().any(|line| line == meanwhile), "{counts:#?}");
    // Before it, the cycle computes only the one that is left.
    let before = "1 priorities computed: 0 written, 0 unchanged, 1 of jobs submitted or changed meanwhile";
    assert_eq!(counts[0], before, "{counts:#?}");
    Ok(())
}

/// All associations made anew at other addresses, with the same ids, as slurmctld does when it reads them again.
fn reload(host: &mut Host, tree: &Tree) -> HostResult<()> {
    let users: Vec<usize> = (0..tree.0.len()).filter(|n| tree.0[*n].user).collect();
    let all = |of: &dyn Fn(usize) -> Association| users.iter().map(|n| of(*n)).collect::<Vec<_>>();
    host.associations(&all(&|n| Association::new(id(n)).delete(true)))?;
    // Somebody else gets the memory.
    let strangers = users.iter().map(|n| {
        let stranger = Association::new(1000 + id(*n)).parent(1_u32).account("a0").user(format!("s{n}"));
        stranger.uid(5000 + id(*n)).shares(0_u32)
    });
    host.associations(&strangers.collect::<Vec<_>>())?;
    host.associations(&all(&|n| tree.association(n)))?;
    tree.load_usage(host)?;
    let waiting = users.iter().filter(|n| tree.0[**n].waiting);
    host.jobs(&waiting.map(|n| Job::new(id(*n)).association(id(*n))).collect::<Vec<_>>())
}

#[test]
fn associations_that_are_read_anew_meanwhile_cost_nobody_its_fair_share() -> HostResult<()> {
    let tree = tree();
    at_every_step(
        |host| {
            tree.load(host)?;
            host.init().map(drop)
        },
        |host| reload(host, &tree),
        |host, step| {
            for n in ["user1", "user2", "user3", "user4", "user5"].map(number) {
                if !tree.0[n].waiting {
                    continue;
                }
                let expected = tree.outcomes()[n].factor * f64::from(crate::tree::WEIGHT);
                let found = f64::from(host.dump_job(id(n))?.priority);
                assert!((found - expected).abs() <= 1.0, "step {step}, job of {n}: {found}, not {expected}");
            }
            Ok(())
        },
    )?;
    Ok(())
}

/// `sprio` shows what a priority came from, as stock does: not what changed since.
#[test]
fn sprio_shows_what_the_number_came_from_until_the_next_cycle() -> HostResult<()> {
    let both = in_both(|host| {
        fill(host)?;
        host.configure(
            &Conf::new()
                .weight_age(86_400_u32)
                .weight_association(2000_u32)
                .weight_partition(3000_u32)
                .weight_qos(4000_u32),
        )?;
        host.jobs(&[waiting(1), waiting(2), waiting(3).accrue_time(0_i64)])?;
        host.init()?;
        host.advance(60)?;
        host.cycle()?;
        // One after the cycle, one changed after it.
        host.jobs(&[waiting(4)])?;
        host.advance(10)?;
        host.jobs(&[waiting(2).nice(slurm_inproc::Nice(5))])?;
        for job in [2, 4] {
            let priority = host.set_priority(job)?;
            host.jobs(&[Job::new(job).priority(priority)])?;
        }
        let before = (factors(host)?, priorities(host)?);
        host.advance(10)?;
        // A QOS, a partition, an association and an accrual time change, and so do weights.
        host.qos(&slurm_inproc::Qos::new(1_u32).priority(35_u32))?;
        host.partition(&slurm_inproc::Partition::new("batch").factor(160_u16))?;
        host.associations(&[Association::new(4_u32).priority(3_u32)])?;
        host.jobs(&[Job::new(3_u32).accrue_time(NOW - 5000)])?;
        let after = (factors(host)?, priorities(host)?);
        assert_eq!(before, after);
        assert_eq!(after.0, after.1);
        host.advance(60)?;
        host.cycle()?;
        let new = (factors(host)?, priorities(host)?);
        assert_ne!(after, new);
        Ok((after, new))
    })?;
    assert_eq!(both.stock, both.ours);
    Ok(())
}

/// A cycle leaves a job alone whose nodes boot, and so does what `sprio` shows of it, whether a submission or a cycle has computed it.
#[test]
fn sprio_shows_a_job_whose_nodes_boot_as_it_was_computed_last() -> HostResult<()> {
    const BOOTING: u32 = state::RUNNING | state::POWER_UP_NODE;
    let both = in_both(|host| {
        fill(host)?;
        host.configure(&Conf::new().flags(0x30_u16).weight_age(86_400_u32))?;
        host.jobs(&[waiting(1), waiting(2)])?;
        host.init()?;
        host.advance(60)?;
        host.cycle()?;
        host.set_priority(1)?;
        let shown = |host: &mut Host| -> HostResult<Vec<u32>> {
            host.advance(60)?;
            host.cycle()?;
            factors(host)
        };
        let before = shown(host)?;
        host.jobs(&[1, 2].map(|id: u32| Job::new(id).state(BOOTING).start_time(NOW)))?;
        Ok((before, shown(host)?, shown(host)?))
    })?;
    assert_eq!(both.stock, both.ours);
    assert_eq!(both.ours.0, both.ours.2);
    Ok(())
}

/// The sum of what `sprio` shows of each job, rounded down as a priority is.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // small numbers
fn factors(host: &mut Host) -> HostResult<Vec<u32>> {
    let lines = host.factors(&FactorsFilter::new().uid(0_u32))?;
    let sum =
        |f: &slurm_inproc::Factors| f.age + f.association + f.fairshare + f.job_size + f.partition + f.qos;
    Ok(lines
        .iter()
        .map(|line| (sum(&line.factors) - (f64::from(line.factors.nice) - 2_147_483_648.0)) as u32)
        .collect())
}
