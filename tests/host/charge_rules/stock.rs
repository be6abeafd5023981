//! Where no rule fits a job, every bit is stock's; with limits and without, with half-life and usage factors.

use slurm_inproc::{Host, HostResult};

use crate::charges::{assert_same, ended, prepare, running, Charged, Run, ASSOCIATIONS, LIMITS};
use crate::settings::write_file;
use crate::setup::{in_both, NOW};

fn scenario(host: &mut Host, enforce: u16, settings: &str) -> HostResult<Vec<Charged>> {
    prepare(host, enforce)?;
    // Stock does not read it.
    write_file(host, settings)?;
    let mut jobs: Vec<_> = (1..=5_u32).map(|qos| running(qos).qos(qos)).collect();
    jobs.extend(
        ["fast", "long", "billed"]
            .iter()
            .zip(6..)
            .map(|(partition, id)| running(id).partitions([(*partition).to_owned()])),
    );
    jobs.push(running(9).association(6_u32).wckey("w").reservations("r").reservation("r"));
    host.jobs(&jobs)?;
    host.init()?;
    let mut run = Run { host, steps: Vec::new() };
    run.observe()?;
    run.cycle_after(300)?;
    run.host.advance(77)?;
    for id in [2, 5, 8] {
        run.host.jobs(&[ended(id, NOW + 370)])?;
        run.host.job_end(id)?;
        run.observe()?;
    }
    run.cycle_after(299)?;
    run.host.reconfigure(false)?;
    run.cycle_after(86_400)?;
    Ok(run.steps)
}

#[test]
fn rules_that_fit_no_job_leave_every_bit_as_stock_has_it() -> HostResult<()> {
    let others = "Charge=Partition Name=scavenger Factor=0.1\nCharge=QOS Name=scavenger Factor=7 Scope=limits\n\
                  Charge=Reservation Name=other Factor=0\nCharge=WCKey Name=other Factor=0\nCharge=Account Name=biology Factor=3\n\
                  Charge=Parent Name=biology,root Factor=3 Scope=limits\nCharge=Requeued Factor=0\n";
    for settings in [
        "",
        others,
        "MinimumCharge=00:00:01\n",
        "Charge=Partition Name=batch,fast,long,billed Factor=1 Scope=limits\n",
    ] {
        for enforce in [ASSOCIATIONS, LIMITS] {
            let both = in_both(|host| scenario(host, enforce, settings))?;
            assert_same(&format!("{enforce} {settings}"), &both);
        }
    }
    Ok(())
}
