//! The stock plugin in the host computes what Slurm documents: one test per factor, and what surrounds them.

mod shared;

use shared::{pending, small_cluster, NOW};
use slurm_inproc::{state, AssociationUsage, Conf, Extended, FactorsFilter, HostResult, Nice, User};

#[test]
fn each_factor_has_its_documented_value() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(
        &Conf::new()
            .weight_age(1000_u32)
            .weight_partition(1000_u32)
            .weight_qos(1000_u32)
            .weight_job_size(1000_u32)
            .weight_tres("cpu=1000,node=100"),
    )?;
    host.jobs(&[pending(1).min_cpus(20_u32).min_nodes(2_u32).tres_requested([(1, 20), (4, 2)])])?;
    host.init()?;
    // A quarter of a day; factor 50 of at most 200; priority 10 of at most 40; 2 of 10 nodes and 20 of 100
    // processors; 20 of 100 and 2 of 10 in the partition.
    let priority = host.set_priority(1)?;
    assert_eq!(priority, 250 + 250 + 250 + 200 + 200 + 20);
    let factors = host.dump_job(1)?.factors.expect("factors were computed");
    for value in [factors.age, factors.partition, factors.qos] {
        assert_eq!(Extended::from(value), Extended::from(250.0));
    }
    assert_eq!(Extended::from(factors.job_size), Extended::from(1000.0 * ((0.2 + 0.2) / 2.0)));
    assert_eq!(factors.tres[0], Extended::from(1000.0 * 0.2));
    assert_eq!(factors.tres[3], Extended::from(100.0 * 0.2));
    host.quit().map(drop)
}

#[test]
fn nice_and_site_factor_are_added_and_held_jobs_stay_held() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().weight_age(1000_u32))?;
    host.jobs(&[
        pending(1).nice(Nice(-100)),
        pending(2).nice(Nice(100)),
        pending(3).site_factor(Nice(77)),
        pending(4).nice(Nice(5000)),
        pending(5).priority(0_u32),
        pending(6).priority(12_345_u32).direct_set_priority(true),
    ])?;
    host.init()?;
    host.advance(8640)?;
    host.cycle()?;
    let priorities: Vec<u32> = host.dump_jobs()?.iter().map(|job| job.priority).collect();
    assert_eq!(priorities, [350 + 100, 350 - 100, 350 + 77, 1, 0, 12_345]);
    assert_eq!(host.last_job_update()?, NOW + 8640);
    host.quit().map(drop)
}

#[test]
fn jobs_of_several_partitions_have_one_priority_for_each_in_order_of_their_tiers() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().weight_partition(1000_u32))?;
    host.jobs(&[pending(1).partitions(["batch".to_owned(), "fast".to_owned()])])?;
    host.init()?;
    host.set_priority(1)?;
    assert_eq!(host.dump_job(1)?.priority_array, [1000, 250]);
    let lines = host.factors(&FactorsFilter::new().uid(0_u32))?;
    let partitions: Vec<(&str, Extended)> =
        lines.iter().map(|l| (l.partition.as_str(), Extended::from(l.factors.partition))).collect();
    assert_eq!(partitions, [("fast", Extended::from(1000.0)), ("batch", Extended::from(250.0))]);
    host.quit().map(drop)
}

#[test]
fn fair_share_follows_usage_down_the_tree() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().weight_fairshare(300_u32))?;
    host.usage(&[
        AssociationUsage::new(4_u32).raw(1000_u64),
        AssociationUsage::new(5_u32).raw(1000_u64),
        AssociationUsage::new(6_u32).raw(2000_u64),
    ])?;
    host.jobs(&[
        pending(1),
        pending(2).association(5_u32).user_id(1005_u32),
        pending(3).association(6_u32).user_id(1006_u32),
    ])?;
    host.init()?;
    assert_eq!(host.dump_association(1)?.usage_raw, Extended::from(4000_u64));
    // physics has used less of its share than chemistry, and bob less of his than alice.
    let ranks = [host.set_priority(1)?, host.set_priority(2)?, host.set_priority(3)?];
    assert_eq!(ranks, [200, 300, 100]);
    host.quit().map(drop)
}

#[test]
fn sprio_sees_only_what_its_user_may_see() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().weight_age(1000_u32).private_data(1_u16))?;
    host.user(&User::new("dora").uid(1010_u32).coordinates(["physics".to_owned()]))?;
    host.user(&User::new("olga").uid(1011_u32).admin(2_u32))?;
    host.jobs(&[
        pending(1).account("physics"),
        pending(2).account("physics").association(5_u32).user_id(1005_u32),
        pending(3).account("chemistry").association(6_u32).user_id(1006_u32),
    ])?;
    host.init()?;
    host.advance(1)?;
    host.cycle()?;
    let mut seen = |uid: u32| -> HostResult<Vec<u32>> {
        Ok(host.factors(&FactorsFilter::new().uid(uid))?.iter().map(|line| line.job_id).collect())
    };
    assert_eq!(seen(1004)?, [1]);
    assert_eq!(seen(1010)?, [1, 2]);
    assert_eq!(seen(1011)?, [1, 2, 3]);
    assert_eq!(seen(0)?, [1, 2, 3]);
    let filter = FactorsFilter::new().uid(0_u32).jobs([1, 3]).users([1006]);
    assert_eq!(host.factors(&filter)?.len(), 1);
    host.quit().map(drop)
}

#[test]
fn running_jobs_and_jobs_without_details_do_no_harm() -> HostResult<()> {
    let mut host = small_cluster()?;
    host.configure(&Conf::new().weight_age(1000_u32))?;
    host.jobs(&[pending(1).state(state::RUNNING).start_time(NOW).priority(7_u32), pending(2)])?;
    host.jobs(&[pending(2).details(false)])?;
    host.init()?;
    assert_eq!(host.set_priority(2)?, 0);
    host.advance(60)?;
    host.cycle()?;
    assert_eq!(host.dump_job(1)?.priority, 7);
    host.delete_job(2)?;
    host.cycle()?;
    let log = host.quit()?;
    assert!(log.contains("details"), "the log should tell of the job without details: {log}");
    Ok(())
}
