//! Plain jobs are read by a shorter way than others, where nothing else is wanted of a job. `DebugFlags=Priority` wants more: then all go the
//! long way.

use std::fs;

use slurm_inproc::constants::{
    DEBUG_FLAG_PRIO, PRIORITY_FLAGS_FAIR_TREE, PRIORITY_FLAGS_NO_NORMAL_TRES, PRIORITY_FLAGS_SIZE_RELATIVE,
};
use slurm_inproc::{Association, AssociationUsage, Conf, Host, HostResult, Options, Partition, Plugin, Qos};

use crate::charges::LIMITS;

fn weights() -> Conf {
    Conf::new()
        .cluster_cpus(1000_u32)
        .nodes(100_u32)
        .max_age(604_800_u32)
        .decay_half_life(604_800_u32)
        .weight_age(1_000_003_u32)
        .weight_fairshare(100_000_007_u32)
        .weight_job_size(10_000_019_u32)
        .weight_partition(1_000_033_u32)
        .weight_qos(1_000_037_u32)
        .weight_association(1_000_039_u32)
        .flags(PRIORITY_FLAGS_FAIR_TREE)
}

fn filled(conf: &Conf, settings: &str) -> HostResult<Host> {
    let mut options = Options::new(Plugin::multifactor2()?);
    options.files = vec![("multifactor2.conf".to_owned(), settings.to_owned())];
    let mut host = Host::start(&options)?;
    host.configure(conf)?;
    for id in 1..=3_u32 {
        host.qos(&Qos::new(id).name(format!("q{id}")).priority(7 * id))?;
    }
    for (name, factor) in [("p1", 3_u16), ("p2", 5), ("p3", 11)] {
        host.partition(&Partition::new(name).factor(factor).max_time(3000_u32).tres([
            (1, 1000),
            (2, 999_983),
            (4, 97),
        ]))?;
    }
    let user =
        |id: u32| Association::new(id).parent(2_u32).account("a").user(format!("u{id}")).uid(1000 + id);
    host.associations(&[
        Association::new(1_u32).account("root"),
        Association::new(2_u32).parent(1_u32).account("a"),
    ])?;
    for id in 3..10_u32 {
        host.associations(&[user(id).shares(id)])?;
        host.usage(&[AssociationUsage::new(id).raw(f64::from(id * id * 1000))])?;
    }
    host.bulk_jobs(1, 700, 5, false)?;
    host.check_locks(true)?;
    host.init()?;
    host.cycle()?;
    Ok(host)
}

/// Priorities of all jobs after a cycle, and after each was set.
fn both(host: &mut Host, seed: u64) -> HostResult<[(u64, u64, u64); 2]> {
    host.vary_jobs(seed, 977, 60)?;
    host.cycle()?;
    let of_cycle = host.digest_jobs()?;
    host.vary_jobs(seed, 977, 60)?;
    host.bench_set(1, false)?;
    Ok([of_cycle, host.digest_jobs()?])
}

/// Each job that is set would be another one of its user, and come behind itself.
#[test]
fn a_job_that_is_set_after_pools_were_taken_back_is_not_counted_again() -> HostResult<()> {
    let mut host = filled(&weights(), "Dilution=user\n")?;
    let before = host.set_priority(7)?;
    fs::write(host.directory().join("multifactor2.conf"), "")?;
    host.reconfigure(true)?;
    assert_eq!([host.set_priority(7)?, host.set_priority(7)?], [before; 2]);
    host.quit().map(drop)
}

#[test]
fn the_short_way_and_the_long_one_give_the_same_priorities() -> HostResult<()> {
    let tres = "cpu=1000003,mem=500009,node=10007";
    // u3 has used up what is granted, u4 and u5 have not, the others are under no grant.
    let grants = "Grant=User Name=u3 Amount=0 From=2030-01-01 Until=2040-12-31 Beyond=low\n\
                  Grant=User Name=u4,u5 Amount=1000000 From=2030-01-01 Until=2040-12-31 Within=30000011\n";
    let fair_tree = PRIORITY_FLAGS_FAIR_TREE;
    for (conf, settings) in [
        (weights(), ""),
        (weights().weight_tres(tres), ""),
        (weights().weight_tres(tres).flags(fair_tree | PRIORITY_FLAGS_NO_NORMAL_TRES), ""),
        (weights().favor_small(1_u16), ""),
        (weights().flags(fair_tree | PRIORITY_FLAGS_SIZE_RELATIVE), ""),
        (weights().weight_fairshare(0_u32).weight_job_size(0_u32), ""),
        (weights().enforce(LIMITS), grants),
    ] {
        let mut host = filled(&conf, settings)?;
        let short = both(&mut host, 3)?;
        host.configure(&Conf::new().debug_flags(DEBUG_FLAG_PRIO))?;
        host.reconfigure(false)?;
        let long = both(&mut host, 3)?;
        assert_eq!(short, long);
        assert!(short[0].2 > 700 * 1000, "the priorities say something: {short:?}");
        assert_eq!(
            host.quit()?.lines().filter(|line| line.contains("job 7: age")).count(),
            2,
            "the long way was gone"
        );
    }
    Ok(())
}
