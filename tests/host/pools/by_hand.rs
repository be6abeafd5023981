//! Single cases with numbers worked out by hand. Each of them tells a mistake that was planted, and that all others let pass.

use slurm_inproc::{state, Conf, HostResult, Job};

use super::{diluted, job, loaded, submit, ALICE, BOB};
use crate::setup::NOW;
use crate::tree::{assert_near, job_factor};

/// An hour was allowed, half of it is over, and one CPU is billed: 30, of which 60 leave two thirds to the next job.
#[test]
fn a_running_job_is_as_large_as_what_is_left_of_its_limit() -> HostResult<()> {
    let mut host = loaded("Dilution=user\nDilutionUnit=committed\nDilutionQuantum=60\n", &Conf::new())?;
    let running = Job::new(11_u32).state(state::RUNNING).start_time(NOW - 1800).end_time(NOW + 1800);
    host.jobs(&[running.time_limit(60_u32).tres_allocated([(1, 1), (5, 1)])])?;
    host.cycle()?;
    assert_near(job_factor(&mut host, 12)?, 2.0 / 3.0, "behind the job that runs");
    assert_near(job_factor(&mut host, 21)?, 1.0, "of whom nothing runs");
    host.quit().map(drop)
}

/// `scontrol update JobId=… Account=…`: the association is another one, so what the job had is not its own any more, neither from the
/// last cycle nor from its submission since.
#[test]
fn a_job_that_changes_its_account_has_no_tickets_of_the_old_one() -> HostResult<()> {
    let mut host = diluted()?;
    assert_near(job_factor(&mut host, 12)?, 1.0 / 2.0, "the second of alice");
    assert_near(submit(&mut host, job(12, BOB), 12)?, 1.0 / 3.0, "the third of bob");
    assert_near(
        submit(&mut host, job(13, ALICE), 13)?,
        1.0 / 3.0,
        "a new one of alice, who had two in the last cycle",
    );
    assert_near(submit(&mut host, job(13, BOB), 13)?, 1.0 / 4.0, "the fourth of bob");
    host.quit().map(drop)
}
