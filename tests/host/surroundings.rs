//! Without slurmdbd, outside slurmctld, during other requests, and in a host that checks the order of locks.

use slurm_inproc::{Conf, FactorsFilter, Host, HostResult, Job, Options, Partition, Qos};

use crate::setup::{fill, in_both_with, options, our_errors, ours, waiting, FAIR_TREE, NOW};

#[test]
fn without_slurmdbd_age_and_fair_share_are_ignored_and_the_rest_is_as_with_stock() -> HostResult<()> {
    let without = |plugin| Options { slurmdbd: false, ..Options::new(plugin) };
    let both = in_both_with(without, |host| {
        fill(host)?;
        let weights = Conf::new().weight_age(1000_u32).weight_fairshare(1000_u32).weight_partition(1000_u32);
        host.configure(&weights.weight_qos(1000_u32).weight_job_size(100_u32))?;
        host.jobs(&[
            waiting(1),
            waiting(2).qos(2_u32),
            waiting(3).partitions(["fast".to_owned()]).priority(0_u32),
        ])?;
        host.init_without_thread()?;
        // The factors are in the list for sprio, not in the records.
        let priorities = |host: &mut Host| -> HostResult<Vec<u32>> {
            Ok(host.dump_jobs()?.iter().map(|job| job.priority).collect())
        };
        let at_start = priorities(host)?;
        host.jobs(&[waiting(4).min_cpus(100_u32)])?;
        let submitted = host.set_priority(4)?;
        Ok((at_start, submitted, priorities(host)?, host.factors(&FactorsFilter::new().uid(0_u32))?))
    })?;
    assert_eq!(both.ours, both.stock);
    assert!(both.ours.0.iter().any(|priority| *priority > 1) && both.ours.3.len() == 3, "{:?}", both.ours);
    let errors = our_errors(&both.our_log);
    for name in ["PriorityWeightAge", "PriorityWeightFairshare"] {
        let line = errors.iter().find(|line| line.contains(&format!("{name} needs slurmdbd and is ignored")));
        assert!(line.is_some_and(|line| line.contains("set AccountingStorageType=")), "{}", both.our_log);
    }
    assert!(both.stock_log.contains("can only be used with SlurmDBD"), "{}", both.stock_log);
    Ok(())
}

/// The age was shown as of the last cycle, since only submissions with fair-share were noted.
#[test]
fn without_associations_the_age_is_shown_as_of_the_submission_as_by_stock() -> HostResult<()> {
    let both = in_both_with(Options::new, |host| {
        host.configure(&Conf::new().flags(FAIR_TREE).weight_age(10_000_u32).max_age(86_400_u32))?;
        host.qos(&Qos::new(1_u32).name("normal"))?;
        host.partition(&Partition::new("batch"))?;
        host.init_without_thread()?;
        host.advance(4000)?;
        host.jobs(&[Job::new(1_u32)
            .user_id(1004_u32)
            .qos(1_u32)
            .partitions(["batch".to_owned()])
            .priority(1_u32)
            .begin_time(NOW)
            .accrue_time(NOW)])?;
        let submitted = host.set_priority(1)?;
        host.advance(1000)?;
        Ok((submitted, host.factors(&FactorsFilter::new().uid(0_u32))?))
    })?;
    assert_eq!(both.ours, both.stock);
    assert_eq!((both.ours.0, both.ours.1.len()), (462, 1), "{:?}", both.ours);
    Ok(())
}

#[test]
fn outside_slurmctld_it_is_silent_and_only_computes_the_factor() -> HostResult<()> {
    let mut host = Host::start(&Options { slurmctld: false, ..options()? })?;
    host.init_without_thread()?;
    // F = S / U_eff, as in the C plugin; 0 without shares or without usage that was ever computed.
    for (efctv, shares, expected) in
        [(0.5, 0.25, 0.5), (0.0035, 0.35, 100.0), (0.5, 0.0, 0.0), (4_294_967_294.0, 0.5, 0.0)]
    {
        crate::tree::assert_near(host.fairshare_factor(efctv, shares)?, expected, "F");
    }
    let log = host.quit()?;
    assert!(!log.contains("multifactor2"), "{log}");
    Ok(())
}

#[test]
fn slurmctld_and_sshare_compute_the_same_factor() -> HostResult<()> {
    let mut inside = ours()?;
    fill(&mut inside)?;
    inside.init()?;
    let mut outside = Host::start(&Options { slurmctld: false, ..options()? })?;
    outside.init_without_thread()?;
    for (efctv, shares) in [(0.3, 0.7), (1.0, 1.0), (1e-9, 0.9), (0.0, 0.5), (0.25, 0.05)] {
        let [a, b] = [inside.fairshare_factor(efctv, shares)?, outside.fairshare_factor(efctv, shares)?];
        assert_eq!(a.to_bits(), b.to_bits(), "{efctv} {shares}");
    }
    inside.quit()?;
    outside.quit().map(drop)
}

#[test]
fn jobs_come_and_go_beside_cycles_with_all_lock_rules_kept() -> HostResult<()> {
    let mut host = ours()?;
    fill(&mut host)?;
    host.configure(&Conf::new().weight_age(1000_u32).weight_fairshare(1000_u32).weight_tres("cpu=10"))?;
    host.bulk_jobs(1, 3000, 3, false)?;
    host.init()?;
    for round in 0..20_u32 {
        host.advance(60)?;
        let before = host.start_cycle()?;
        host.delete_job(1 + round)?;
        host.jobs(&[waiting(10_000 + round)])?;
        host.set_priority(10_000 + round)?;
        host.set_association_usage(4)?;
        host.factors(&FactorsFilter::new().uid(0_u32).jobs([2000]))?;
        assert_eq!(host.finish_cycle(before)?.completed, before.completed + 1);
    }
    let log = host.quit()?;
    assert_eq!(our_errors(&log), Vec::<&str>::new());
    Ok(())
}
