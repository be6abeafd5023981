//! The host as a process: other surroundings, refusals, many jobs.

mod shared;

use shared::{fill, pending, small_cluster, FAIR_TREE, NOW};
use slurm_inproc::{build_plugin, Association, Conf, Error, Extended, Host, HostResult, Options, Plugin};
use std::path::Path;

#[test]
fn without_slurmctlds_symbols_the_plugin_only_computes_the_factor() -> HostResult<()> {
    let mut host = Host::start(&Options { slurmctld: false, ..Options::new(Plugin::stock()) })?;
    host.init_without_thread()?;
    assert_eq!(Extended::from(host.fairshare_factor(0.5, 0.25)?), Extended::from(0.25));
    assert_eq!(Extended::from(host.fairshare_factor(0.5, 0.0)?), Extended::Zero);
    host.quit().map(drop)
}

#[test]
fn without_slurmdbd_there_is_no_fair_share_and_no_thread() -> HostResult<()> {
    let mut host = Host::start(&Options { slurmdbd: false, ..Options::new(Plugin::stock()) })?;
    fill(&mut host)?;
    host.configure(&Conf::new().weight_age(1000_u32).weight_fairshare(1000_u32).weight_qos(1000_u32))?;
    host.jobs(&[pending(1)])?;
    host.init_without_thread()?;
    assert_eq!(host.dump_job(1)?.priority, 250);
    let log = host.quit()?;
    assert!(log.contains("PriorityWeightFairshare can only be used with SlurmDBD"), "{log}");
    Ok(())
}

#[test]
fn a_bad_request_is_refused_and_the_host_goes_on() -> HostResult<()> {
    let mut host = small_cluster()?;
    for (request, reason) in [
        ("job id=1 colour=red", "does not know the argument 'colour'"),
        ("job id=2 assoc=99", "no association 99"),
        ("job id=3 partitions=none", "no partition 'none'"),
        ("part name=batch tres=77=1", "'77=1' is not"),
        ("totals counts=77=1", "'77=1' is not"),
        ("frobnicate", "unknown command"),
        ("set id=99", "no such job"),
    ] {
        match host.request(request) {
            Err(Error::Refused { reason: found, .. }) => assert!(found.contains(reason), "{found}"),
            other => panic!("{request}: {other:?}"),
        }
    }
    host.init()?;
    host.quit().map(drop)
}

#[test]
fn the_tree_can_change_while_the_plugin_runs() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().weight_fairshare(1000_u32))?;
    host.jobs(&[pending(1)])?;
    host.init()?;
    host.associations(&[
        Association::new(2_u32).shares(90_u32),
        Association::new(7_u32).parent(3_u32).account("chemistry").user("dave").uid(1007_u32),
    ])?;
    host.associations(&[Association::new(4_u32).delete(true)])?;
    host.advance(60)?;
    host.cycle()?;
    let records = host.dump_associations()?;
    assert_eq!(records.iter().map(|r| r.id).collect::<Vec<_>>().len(), 6);
    assert!(records.iter().all(|r| r.id != 4));
    assert_eq!(host.dump_association(2)?.shares_raw, 90);
    host.quit().map(drop)
}

#[test]
fn other_threads_may_ask_while_the_clock_is_released() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().weight_age(1000_u32))?;
    host.init()?;
    host.release_clock()?;
    let now = host.request("clock")?[0].get::<i64>("now")?;
    assert_ne!(now, NOW);
    host.cycle()?;
    host.quit().map(drop)
}

#[test]
fn the_same_seed_makes_the_same_jobs_on_any_heap() -> HostResult<()> {
    let mut sums = Vec::new();
    for scatter in [false, true, true] {
        let mut host = small_cluster()?;
        host.configure(&Conf::new().flags(FAIR_TREE).weight_age(1000_u32).weight_tres("cpu=100"))?;
        host.bulk_jobs(1, 20_000, 7, scatter)?;
        host.init()?;
        let set = host.bench_set(3, false)?;
        assert!(set.iter().all(|b| b.jobs == 20_000 && !b.wall.is_zero()));
        sums.push(host.dump_jobs()?.iter().map(|j| u64::from(j.priority)).sum::<u64>());
        host.quit()?;
    }
    assert_eq!(sums[0], sums[1]);
    assert_eq!(sums[1], sums[2]);
    Ok(())
}

#[test]
fn jobs_may_change_beside_a_cycle() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().weight_age(1000_u32).weight_fairshare(1000_u32))?;
    host.bulk_jobs(1, 5000, 3, false)?;
    host.init()?;
    for round in 0..20_u32 {
        host.advance(60)?;
        let before = host.start_cycle()?;
        host.delete_job(1 + round)?;
        host.jobs(&[pending(10_000 + round)])?;
        host.set_priority(10_000 + round)?;
        assert_eq!(host.finish_cycle(before)?.completed, before.completed + 1);
    }
    assert_eq!(host.dump_jobs()?.len(), 5000);
    host.quit().map(drop)
}

#[test]
fn cycles_come_on_demand_however_the_thread_sleeps() -> HostResult<()> {
    let directory = tempfile::tempdir()?;
    let library = directory.path().join("sleeper.so");
    build_plugin(&Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins/sleeper.c"), &library)?;
    for wait in ["relative", "absolute"] {
        let mut host = Host::start(&Options::new(Plugin::of("priority/sleeper", &library)))?;
        fill(&mut host)?;
        host.configure(&Conf::new().parameters(wait).calc_period(300_u32))?;
        host.jobs(&[pending(1).priority(0_u32)])?;
        for loaded in 1..=3 {
            host.init()?;
            for _ in 0..10 {
                host.cycle()?;
            }
            assert_eq!(host.dump_job(1)?.priority, loaded * 11, "{wait}");
            host.fini()?;
        }
        host.quit()?;
    }
    Ok(())
}
