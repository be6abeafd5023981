//! Tickets of single jobs where a job changes: what is left of its limit, and whose it is.

use slurm_inproc::{state, HostResult, Job};

use crate::closed::{host, job, shown, HEAVY, LIGHT, WITHOUT};
use crate::setup::NOW;
use crate::tree::WEIGHT;

#[test]
fn a_running_job_commits_what_is_left_of_its_limit() -> HostResult<()> {
    let of_waiting = |running: Option<(i64, u32)>| -> HostResult<f64> {
        let mut host = host("Dilution=user\nDilutionUnit=committed\nDilutionQuantum=240")?;
        if let Some((start, limit)) = running {
            host.jobs(&[job(100, LIGHT, &["up"], WITHOUT)
                .state(state::RUNNING)
                .start_time(start)
                .end_time(NOW + 3600)
                .end_time_expected(NOW + 3600)
                .time_limit(limit)
                .total_cpus(4_u32)
                .tres_allocated([(1, 4_u64), (4, 1), (5, 4)])])?;
        }
        let waiting = |id, user| job(id, user, &["up"], WITHOUT).time_limit(1_u32);
        host.jobs(&[waiting(101, HEAVY), waiting(102, LIGHT)])?;
        host.cycle()?;
        let shown = shown(&mut host)?;
        host.quit()?;
        Ok(shown[&(101, "up".to_owned())] / shown[&(102, "up".to_owned())])
    };
    let (alone, whole) = (of_waiting(None)?, of_waiting(Some((NOW, 60)))?);
    // 240 billed minutes: half the tickets.
    crate::tree::assert_near(whole, 2.0 * alone, "an hour of 4");
    assert_eq!(of_waiting(Some((NOW - 3600, 120)))?.to_bits(), whole.to_bits(), "the second of two hours");
    Ok(())
}

#[test]
fn a_job_that_gets_another_account_has_the_tickets_of_that() -> HostResult<()> {
    let mut host = host("Dilution=user")?;
    host.jobs(&[
        job(101, HEAVY, &["up"], WITHOUT),
        job(102, HEAVY, &["up"], WITHOUT),
        job(201, LIGHT, &["up"], WITHOUT),
    ])?;
    host.cycle()?;
    let priorities = [101, 102, 201].map(|id| host.dump_job(id).map(|job| job.priority));
    assert_eq!(priorities.map(Result::unwrap), [WEIGHT / 9, WEIGHT / 18, WEIGHT]);
    // Known from the last cycle, then from its submission: the second of light, and the third.
    host.jobs(&[Job::new(102_u32).association(LIGHT)])?;
    assert_eq!(host.set_priority(102)?, WEIGHT / 2);
    host.jobs(&[job(103, HEAVY, &["up"], WITHOUT)])?;
    assert_eq!(host.set_priority(103)?, WEIGHT / 27);
    host.jobs(&[Job::new(103_u32).association(LIGHT)])?;
    assert_eq!(host.set_priority(103)?, WEIGHT / 3);
    host.quit()?;
    Ok(())
}
