//! Under valgrind, by `make memcheck`: one life of the plugin without an error or a leak, and how its effort grows. valgrind
//! computes `long double` in 64 bits, so no numbers are compared here.

mod effort;

use multifactor2_fixtures::valgrind as report;
use slurm_inproc::constants::{DEBUG_FLAG_PRIO, PRIORITY_RESET_NOW};
use slurm_inproc::{
    state, Association, AssociationUsage, Conf, FactorsFilter, HostResult, Job, Options, Partition, Plugin,
    Qos,
};

#[test]
#[ignore = "takes a minute and needs valgrind: make memcheck"]
fn valgrind_reports_nothing() -> HostResult<()> {
    let directory = tempfile::tempdir()?;
    let report = directory.path().join("report");
    let mut options = Options::new(Plugin::multifactor2()?);
    options.wrapper = report::options(&report);
    options.wrapper.push("--track-origins=yes".to_owned());
    let mut host = slurm_inproc::Host::start(&options)?;
    let conf = Conf::new().cluster_cpus(100_u32).nodes(10_u32).max_age(86_400_u32).enforce(3_u16);
    let conf =
        conf.weight_age(1000_u32).weight_fairshare(10_000_u32).weight_qos(10_u32).weight_partition(10_u32);
    host.configure(
        &conf.weight_tres("cpu=10,node=5".to_owned()).weight_job_size(7_u32).decay_half_life(3600_u32),
    )?;
    host.qos(&Qos::new(1_u32).name("normal").priority(10_u32))?;
    let user = |id: u32, parent: u32, name: &str| {
        Association::new(id).parent(parent).account("a").user(name).uid(1000 + id).shares(1_u32)
    };
    host.associations(&[
        Association::new(1_u32).account("root"),
        Association::new(2_u32).parent(1_u32).account("a").shares(1_u32),
        user(3, 2, "alice"),
        user(4, 2, "bob"),
    ])?;
    for name in ["batch", "fast"] {
        host.partition(&Partition::new(name).factor(50_u16).tres([(1, 100), (4, 10)]))?;
    }
    let waiting = |id: u32, partitions: &[&str]| {
        Job::new(id)
            .association(3 + id % 2)
            .user_id(1003 + id % 2)
            .qos(1_u32)
            .partitions(partitions.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
            .priority(1_u32)
            .begin_time(options.clock - 60)
            .accrue_time(options.clock - 60)
    };
    host.jobs(&[
        waiting(1, &["batch"]),
        waiting(2, &["batch", "fast"]),
        waiting(3, &["fast"])
            .state(state::RUNNING)
            .start_time(options.clock)
            .time_limit(60_u32)
            .tres_allocated([(1, 4)]),
    ])?;
    host.usage(&[AssociationUsage::new(3_u32).raw(1e6)])?;
    host.bulk_jobs(100, 200, 1, false)?;
    for round in 0..2 {
        host.init()?;
        host.set_priority(1)?;
        for _ in 0..3 {
            host.advance(300)?;
            host.cycle()?;
            host.factors(&FactorsFilter::new().uid(0_u32))?;
        }
        host.configure(&Conf::new().debug_flags(DEBUG_FLAG_PRIO).reset_period(PRIORITY_RESET_NOW))?;
        host.reconfigure(true)?;
        host.associations(&[user(5 + round, 2, "carol").shares(9_u32)])?;
        host.set_association_usage(5 + round)?;
        host.jobs(&[Job::new(3_u32).end_time(options.clock + 900).state(state::COMPLETE)])?;
        host.job_end(3)?;
        host.delete_job(2)?;
        // A job whose priority is set directly loses its factors, and gets them again.
        for direct in [true, false] {
            host.jobs(&[Job::new(1_u32).direct_set_priority(direct)])?;
            host.set_priority(1)?;
        }
        host.advance(300)?;
        host.cycle()?;
        host.jobs(&[waiting(2, &["batch", "fast"])])?;
        host.fini()?;
    }
    host.init()?;
    host.quit()?;
    let report = report::Report::read(&report);
    let (accesses, ours) = (report.accesses(), report.of_the_plugin());
    assert!(accesses.is_empty(), "{}", accesses.join("\n"));
    assert!(ours.is_empty(), "leaks through the plugin:\n{}", ours.join("\n"));
    Ok(())
}
