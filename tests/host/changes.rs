//! Tickets of a job that gets another account between two cycles: known from the last one, or from its submission.

use slurm_inproc::{HostResult, Job};

use crate::closed::{host, job, HEAVY, LIGHT, WITHOUT};
use crate::tree::WEIGHT;

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
