//! Where this plugin deliberately does other than stock, besides fair-share itself. Nothing else may differ; a new
//! difference adds it here, with the reason.
//!
//! | what | stock | here | why |
//! |---|---|---|---|
//! | `sprio`, a job in several partitions, one of which has no count of a TRES | shows the TRES value of the job's first partition, weighted twice | shows 0 | stock forgets to clear a copied array; the priority itself is right in both |
//! | `sprio` while a job has no details record | reads through a null pointer | leaves the job out | slurmctld must live |
//! | a cycle that changes no priority | tells clients that jobs changed | does not | clients would fetch all jobs again for nothing |
//! | factors in the job records | stored | made when `sprio` asks; fair-share alone where the QOS has a `UsageThreshold` | nobody else reads them |
//! | `CALCULATE_RUNNING`, a pending job whose expected start has passed | charges its account wall time | charges nothing | it holds no resources |

use slurm_inproc::constants::{PRIORITY_FLAGS_CALCULATE_RUNNING, PRIORITY_FLAGS_FAIR_TREE};
use slurm_inproc::{state, Conf, Extended, FactorsFilter, Host, HostResult, Job, Partition, Qos};

use crate::charges::{prepare, LIMITS};
use crate::setup::{fill, in_both, ours, waiting, NOW};

#[test]
fn sprio_shows_no_tres_of_another_partition() -> HostResult<()> {
    let both = in_both(|host| {
        fill(host)?;
        host.partition(&Partition::new("bare").factor(10_u16).tres([(4, 5)]))?;
        host.configure(&Conf::new().weight_tres("cpu=1000"))?;
        host.jobs(&[waiting(1)
            .partitions(["batch".to_owned(), "bare".to_owned()])
            .tres_requested([(1, 15)])])?;
        host.init()?;
        host.set_priority(1)?;
        let lines = host.factors(&FactorsFilter::new().uid(0_u32))?;
        let column =
            |name: &str| lines.iter().find(|line| line.partition == name).expect("a line").factors.tres[0];
        Ok(((column("batch"), column("bare")), host.dump_job(1)?.priority_array))
    })?;
    assert_eq!(both.stock.1, both.ours.1, "the priorities are the same");
    assert_eq!(both.stock.0 .0, both.ours.0 .0, "so is the column of the partition that has the TRES");
    assert_eq!(both.stock.0 .1.to_f64().to_bits(), (1000.0 * 0.1 * 1000.0_f64).to_bits(), "stock");
    assert_eq!(both.ours.0 .1, Extended::Zero);
    Ok(())
}

#[test]
fn sprio_leaves_out_a_job_without_details() -> HostResult<()> {
    let mut host = ours()?;
    fill(&mut host)?;
    host.configure(&Conf::new().weight_age(1000_u32))?;
    host.jobs(&[waiting(1).details(false), waiting(2)])?;
    host.init()?;
    host.advance(60)?;
    host.cycle()?;
    let lines = host.factors(&FactorsFilter::new().uid(0_u32))?;
    assert_eq!(lines.iter().map(|line| line.job_id).collect::<Vec<_>>(), [2]);
    host.quit().map(drop)
}

#[test]
fn a_pending_job_is_not_charged_for_its_expected_start() -> HostResult<()> {
    let both = in_both(|host| {
        prepare(host, LIMITS)?;
        host.configure(
            &Conf::new()
                .flags(PRIORITY_FLAGS_FAIR_TREE | PRIORITY_FLAGS_CALCULATE_RUNNING)
                .decay_half_life(0_u32),
        )?;
        host.jobs(&[waiting(1).start_time(NOW - 100).time_limit(60_u32).state(state::PENDING)])?;
        host.init()?;
        let before = host.dump_association(4)?;
        host.advance(300)?;
        host.cycle()?;
        let after = host.dump_association(4)?;
        assert_eq!(after.usage_raw, before.usage_raw);
        Ok(after.grp_used_wall - before.grp_used_wall)
    })?;
    assert!(both.stock > 299.0, "stock charges {} seconds", both.stock);
    assert_eq!(Extended::from(both.ours), Extended::Zero);
    Ok(())
}

#[test]
fn clients_hear_of_changed_jobs_only() -> HostResult<()> {
    let both = in_both(|host| {
        fill(host)?;
        host.configure(&Conf::new().weight_partition(1000_u32))?;
        host.jobs(&[waiting(1)])?;
        host.init()?;
        host.advance(60)?;
        host.cycle()?;
        let unchanged = host.last_job_update()?;
        host.configure(&Conf::new().weight_partition(2000_u32))?;
        host.reconfigure(false)?;
        host.advance(60)?;
        host.cycle()?;
        Ok((unchanged, host.last_job_update()?))
    })?;
    assert_eq!(both.stock, (NOW + 60, NOW + 120));
    assert_eq!(both.ours, (NOW, NOW + 120));
    Ok(())
}

/// slurmctld compares it with the threshold, weighted as it is, before it starts a job.
#[test]
fn only_the_fair_share_factor_for_a_usage_threshold_is_stored() -> HostResult<()> {
    let mut host = ours()?;
    fill(&mut host)?;
    host.configure(&Conf::new().weight_age(1000_u32).weight_fairshare(10_000_u32))?;
    host.qos(&Qos::new(1_u32).usage_threshold(0.25))?;
    host.jobs(&[waiting(1), waiting(2).qos(2_u32), waiting(3)])?;
    host.init()?;
    host.set_priority(1)?;
    host.set_priority(2)?;
    let stored =
        |host: &mut Host, job| HostResult::Ok(host.dump_job(job)?.factors.map(|factors| factors.fairshare));
    let shown = |host: &mut Host, job| -> HostResult<Option<f64>> {
        let mut lines = host.factors(&FactorsFilter::new().uid(0_u32).jobs([job]))?;
        Ok(lines.pop().map(|line| line.factors.fairshare))
    };
    assert!(shown(&mut host, 1)?.is_some_and(|factor| factor > 0.0));
    assert_eq!(stored(&mut host, 1)?, shown(&mut host, 1)?, "from a submission");
    assert_eq!(stored(&mut host, 2)?, None, "no threshold");
    host.advance(60)?;
    host.cycle()?;
    assert_eq!(stored(&mut host, 3)?, shown(&mut host, 3)?, "from a cycle");
    assert!(stored(&mut host, 3)?.is_some());
    // An administrator's priority: slurmctld goes by the association then.
    host.jobs(&[waiting(3).direct_set_priority(true).priority(77_u32)])?;
    assert_eq!((host.set_priority(3)?, stored(&mut host, 3)?), (77, Some(0.0)));
    host.quit().map(drop)
}

/// slurmctld computes the factor where it finds none, and keeps it: under a direct priority a cycle makes it do so anew.
#[test]
fn a_direct_priority_does_not_freeze_what_a_usage_threshold_is_compared_with() -> HostResult<()> {
    let mut host = ours()?;
    fill(&mut host)?;
    host.configure(&Conf::new().weight_fairshare(10_000_u32))?;
    host.qos(&Qos::new(1_u32).usage_threshold(0.25))?;
    host.jobs(&[waiting(1)])?;
    host.init()?;
    host.set_priority(1)?;
    let stored =
        |host: &mut Host| HostResult::Ok(host.dump_job(1)?.factors.map_or(0.0, |factors| factors.fairshare));
    assert!(stored(&mut host)? > 0.0);
    host.jobs(&[Job::new(1_u32).direct_set_priority(true).priority(77_u32)])?;
    host.advance(60)?;
    host.cycle()?;
    assert_eq!((stored(&mut host)?, host.dump_job(1)?.priority), (0.0, 77));
    host.quit().map(drop)
}

#[test]
fn clients_hear_of_a_priority_that_changed_in_another_partition_only() -> HostResult<()> {
    let mut host = ours()?;
    fill(&mut host)?;
    host.configure(&Conf::new().weight_partition(1000_u32))?;
    host.jobs(&[waiting(1).partitions(["batch".to_owned(), "long".to_owned()])])?;
    host.init()?;
    host.advance(60)?;
    host.cycle()?;
    let before = (host.dump_job(1)?, host.last_job_update()?);
    host.partition(&Partition::new("long").factor(20_u16))?;
    host.advance(60)?;
    host.cycle()?;
    let after = (host.dump_job(1)?, host.last_job_update()?);
    assert_eq!(before.0.priority, after.0.priority);
    assert_ne!(before.0.priority_array, after.0.priority_array);
    assert_eq!((before.1, after.1), (NOW, NOW + 120));
    host.quit().map(drop)
}
