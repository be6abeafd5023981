//! Run seconds, which slurmctld reserves for the whole limit of a job: what rules give back of them in all is what was reserved.

use slurm_inproc::HostResult;

use super::{begin, of, of_qos, reconfigure, ALICE, NORMAL};
use crate::charges::{ended, running, LIMITS};
use crate::settings::write_file;
use crate::setup::NOW;

/// Ten hours of four processors.
const RESERVED: u64 = 4 * 36_000;

#[test]
fn a_job_gives_back_by_its_factor_while_it_runs_and_the_rest_at_its_end() -> HostResult<()> {
    for (factor, back) in [("0", 0), ("0.1", 120), ("1", 1200), ("10", 12_000), ("1000", RESERVED)] {
        let mut host = begin(&format!("Charge=Account Name=physics Factor={factor} Scope=limits\n"), LIMITS)?;
        host.jobs(&[running(1)])?;
        host.init()?;
        host.advance(300)?;
        host.cycle()?;
        assert_eq!((of(&mut host, ALICE)?.back, of_qos(&mut host, NORMAL)?.back), (back, back), "{factor}");
        host.advance(300)?;
        host.jobs(&[ended(1, NOW + 600)])?;
        host.job_end(1)?;
        let all = (of(&mut host, ALICE)?.back, of_qos(&mut host, NORMAL)?.back);
        assert_eq!(all, (RESERVED, RESERVED), "{factor}");
        host.quit()?;
    }
    Ok(())
}

#[test]
fn a_rule_that_comes_and_goes_leaves_no_run_seconds_behind() -> HostResult<()> {
    let mut host = begin("", LIMITS)?;
    host.jobs(&[running(1)])?;
    host.init()?;
    for text in [
        "Charge=Partition Name=batch Factor=0.5 Scope=limits\n",
        "Charge=Partition Name=batch Factor=4 Scope=limits\n",
        "",
    ] {
        host.advance(300)?;
        host.cycle()?;
        write_file(&host, text)?;
        reconfigure(&mut host, |_| 0)?;
    }
    host.advance(300)?;
    host.cycle()?;
    assert_eq!(of(&mut host, ALICE)?.back, 4 * (900 + 300));
    host.jobs(&[ended(1, NOW + 1250)])?;
    host.advance(50)?;
    host.job_end(1)?;
    assert_eq!(of(&mut host, ALICE)?.back, RESERVED);
    host.quit().map(drop)
}
