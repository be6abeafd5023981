//! What ordinary users can submit, and what they may not reach with it: other users' priorities, a format string, the log.

use std::ops::RangeInclusive;

use slurm_inproc::{
    state, Association, AssociationUsage, Conf, FactorsFilter, Host, HostResult, Job, Nice, Options,
    Partition, Plugin, Qos, QosUsage,
};

use crate::setup::{fill, our_errors, ours, waiting, NOW};
use multifactor2_fixtures::random;

const DEBUG_PRIORITY: u64 = slurm_inproc::constants::DEBUG_FLAG_PRIO;
const UNSET: u32 = slurm_inproc::constants::NO_VAL;

/// Every factor counts.
fn all_weights() -> Conf {
    Conf::new()
        .weight_age(1000_u32)
        .weight_association(1000_u32)
        .weight_fairshare(100_000_u32)
        .weight_job_size(1000_u32)
        .weight_partition(1000_u32)
        .weight_qos(1000_u32)
        .weight_tres("CPU=1000,Mem=1000,Node=1000".to_owned())
        .decay_half_life(3600_u32)
        .enforce(3_u16)
}

/// A job of carol in what sizes, times and niceness she may ask for.
fn hostile(id: u32, random: &mut fastrand::Rng) -> Job {
    let mut any_u32 = |likely: RangeInclusive<u32>| match random.u8(..6) {
        0 => 0,
        1 => u32::MAX,
        2 => UNSET,
        3 => random.u32(..),
        _ => random.u32(likely),
    };
    let sizes: Vec<u32> = (0..6).map(|_| any_u32(1..=64)).collect();
    let mut any_time = || match random.u8(..6) {
        0 => 0,
        1 => i64::MAX,
        2 => i64::MIN,
        3 => -1,
        _ => NOW + random.i64(-100_000..100_000),
    };
    let times: Vec<i64> = (0..3).map(|_| any_time()).collect();
    let amount = |random: &mut fastrand::Rng| if random.bool() { u64::MAX } else { random.u64(..100) };
    let nice = if random.bool() { 0x7fff_fffe } else { random.i64(0..1000) };
    let partitions = if random.bool() {
        vec!["batch".to_owned()]
    } else {
        ["batch", "fast", "long"].map(str::to_owned).to_vec()
    };
    Job::new(id)
        .association(6_u32)
        .user_id(1006_u32)
        .account("chemistry")
        .qos(random.u32(1..=5))
        .partitions(partitions)
        .priority(1_u32)
        .submit_time(times[0])
        .begin_time(times[1])
        .accrue_time(times[2])
        .nice(Nice(nice))
        .min_cpus(sizes[0])
        .max_cpus(sizes[1])
        .total_cpus(sizes[2])
        .min_nodes(sizes[3])
        .total_nodes(sizes[4])
        .time_limit(sizes[5])
        .tres_requested([(1, amount(random)), (2, amount(random)), (4, amount(random))])
}

/// Others depend on a user's jobs only by whether there is one that waits, which is what tickets are handed out by.
#[test]
fn no_job_changes_the_priority_of_others_but_by_waiting() -> HostResult<()> {
    let mut host = ours()?;
    fill(&mut host)?;
    host.configure(&all_weights())?;
    let of_bob = waiting(2).association(5_u32).user_id(1005_u32);
    host.jobs(&[waiting(1), of_bob])?;
    // Carol, who has used nothing, has the most tickets while she waits.
    host.usage(&[AssociationUsage::new(4_u32).raw(1e6)])?;
    host.init()?;
    let others = |host: &mut Host| -> HostResult<[u32; 2]> {
        host.cycle()?;
        Ok([host.dump_job(1)?.priority, host.dump_job(2)?.priority])
    };
    let alone = others(&mut host)?;
    host.jobs(&[waiting(3).association(6_u32).user_id(1006_u32).account("chemistry")])?;
    let beside = others(&mut host)?;
    assert_ne!(alone, beside, "whether carol waits makes a difference");
    host.delete_job(3)?;

    let mut random = random();
    let mut waited = 0;
    for round in 0..300 {
        let jobs: Vec<Job> = (10..random.u32(11..14)).map(|id| hostile(id, &mut random)).collect();
        host.jobs(&jobs)?;
        for id in (10..).take(jobs.len()) {
            assert!(host.set_priority(id)? > 0, "round {round}");
        }
        host.factors(&FactorsFilter::new().uid(0_u32))?;
        let found = others(&mut host)?;
        assert!(found == alone || found == beside, "round {round}: {found:?}, {jobs:?}");
        waited += u32::from(found == beside);
        for id in (10..).take(jobs.len()) {
            host.delete_job(id)?;
        }
    }
    assert!((50..300).contains(&waited), "{waited} of 300");
    assert_eq!(others(&mut host)?, alone);
    host.quit().map(drop)
}

/// Names that would read or write memory, or end the process, if they were ever taken for a format.
const NAMES: [&str; 6] = ["%n%s%n", "user%s%n", "part%n%s", "qos%s%n%s", "label%n%n", "%s%s%s%n%hhn"];

#[test]
fn names_are_never_a_format() -> HostResult<()> {
    let [account, user, partition, qos, label, other] = NAMES;
    let mut options = Options::new(Plugin::multifactor2()?);
    options.log_level = "debug5".to_owned();
    let mut host = Host::start(&options)?;
    host.configure(&all_weights().debug_flags(DEBUG_PRIORITY).cluster_cpus(100_u32).nodes(10_u32))?;
    host.qos(&Qos::new(1_u32).name(qos).priority(10_u32))?;
    host.associations(&[
        Association::new(1_u32).account("root"),
        Association::new(2_u32).parent(1_u32).account(account),
        Association::new(3_u32).parent(2_u32).account(account).user(user).uid(1003_u32),
        Association::new(4_u32).parent(2_u32).account(account).user(other).partition(partition).uid(1004_u32),
    ])?;
    for name in [partition, other] {
        host.partition(&Partition::new(name).factor(50_u16).tres([(1, 100), (4, 10)]))?;
    }
    let job = |id: u32| {
        waiting(id)
            .association(3 + id % 2)
            .user_id(1003 + id % 2)
            .account(account)
            .mcs_label(label)
            .partitions([partition.to_owned(), other.to_owned()])
    };
    // One to be charged, with fewer run seconds in its QOS and associations than are taken out, and one without details.
    let running = job(3).state(state::RUNNING).start_time(NOW).time_limit(60_u32).tres_allocated([(1, 4)]);
    host.jobs(&[job(1), job(2), running, job(4).details(false)])?;
    host.qos_usage(&QosUsage::new(1_u32).run_secs([(1, 1)]))?;
    host.init()?;
    for id in [1, 2, 4] {
        host.set_priority(id)?;
    }
    host.set_association_usage(3)?;
    for weight in [100_000, u32::MAX] {
        // The second time every priority is too large.
        host.configure(&Conf::new().weight_fairshare(weight))?;
        host.reconfigure(true)?;
        host.advance(300)?;
        host.cycle()?;
        host.factors(&FactorsFilter::new().uid(0_u32).partitions([other.to_owned()]))?;
    }
    host.job_end(3)?;
    host.fini()?;
    let log = host.quit()?;
    for expected in [account, user, partition, qos, other] {
        assert!(log.contains(expected), "no {expected} in\n{log}");
    }
    for path in ["exceeds 32 bits", "has no details record", "ran 300 seconds", "fair-share"] {
        assert!(log.contains(path), "nothing about \"{path}\" in\n{log}");
    }
    Ok(())
}

/// `PrivateData` hides users, accounts and jobs from users; without `DebugFlags=Priority` not even the log has them.
#[test]
fn the_log_names_nobody_unless_it_is_asked_to() -> HostResult<()> {
    const NAMES: [&str; 5] = ["alice", "bob", "carol", "physics", "chemistry"];
    let run = |flags: u64| -> HostResult<String> {
        let mut options = Options::new(Plugin::multifactor2()?);
        options.log_level = "debug5".to_owned();
        let mut host = Host::start(&options)?;
        fill(&mut host)?;
        host.configure(&all_weights().debug_flags(flags))?;
        host.jobs(&[waiting(1), waiting(2).association(6_u32).user_id(1006_u32).account("chemistry")])?;
        host.init()?;
        host.set_priority(1)?;
        for _ in 0..3 {
            host.advance(300)?;
            host.cycle()?;
            host.factors(&FactorsFilter::new().uid(1004_u32))?;
        }
        host.reconfigure(true)?;
        host.cycle()?;
        host.fini()?;
        host.quit()
    };
    let of_ours = |log: &str| -> Vec<String> {
        log.lines()
            .filter(|line| line.contains("multifactor2") || line.contains("PRIO: "))
            .map(str::to_owned)
            .collect()
    };
    let quiet = of_ours(&run(0)?);
    assert!(quiet.len() > 3, "{quiet:?}");
    let named: Vec<_> = quiet.iter().filter(|line| NAMES.iter().any(|name| line.contains(name))).collect();
    assert!(named.is_empty(), "{named:?}");
    let explained = of_ours(&run(DEBUG_PRIORITY)?);
    assert!(NAMES.iter().all(|name| explained.iter().any(|line| line.contains(name))), "{explained:?}");
    assert!(our_errors(&explained.join("\n")).is_empty());
    Ok(())
}
