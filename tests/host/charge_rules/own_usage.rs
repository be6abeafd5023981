//! Targets use charged usage: our own sums have all factors, and minimums, once.

use std::fs;

use multifactor2_accounting::sums::{Model, Sums};
use multifactor2_accounting::sums_file::parse;
use slurm_inproc::{state, Conf, Host, HostResult, Job};

use super::{begin, of, of_qos, ALICE};
use crate::charges::{running, ASSOCIATIONS, LIMITS};
use crate::setup::NOW;

const SETTINGS: &str =
    "Target=Partition Name=batch Percent=50\nTarget=User Name=alice Percent=50 Window=yes\n\
                        TargetWindow=01:00:00\nCharge=Account Name=physics Factor=0.5\n\
                        Charge=Partition Name=batch Factor=4 Scope=limits\nMinimumCharge=10:00\n";

/// What the last cycle has saved.
fn saved(host: &Host) -> Sums {
    let text =
        fs::read_to_string(host.directory().join("state/multifactor2_usage")).expect("the file is there");
    parse(&text).expect("it can be read").0
}

#[test]
fn sums_of_targets_have_factors_and_minimums_with_and_without_reports_of_ends() -> HostResult<()> {
    for enforce in [LIMITS, ASSOCIATIONS] {
        let mut host = begin(SETTINGS, enforce)?;
        host.jobs(&[running(1), running(2)])?;
        host.init()?;
        host.advance(60)?;
        host.cycle()?;
        host.advance(60)?;
        host.jobs(&[Job::new(1_u32).state(state::COMPLETE).end_time(NOW + 100)])?;
        if enforce == LIMITS {
            host.job_end(1)?;
        }
        host.cycle()?;
        host.advance(60)?;
        host.cycle()?;
        // The second one still runs.
        let expected = 4.0 * 2.0 * (600.0 + 180.0);
        assert_eq!(of(&mut host, ALICE)?.raw, expected, "{enforce}");
        let sums = saved(&host);
        for model in [Model::HalfLife, Model::Windows { decay: 1.0 }] {
            let found = sums.readings(model);
            for (what, found) in [
                ("all", found.all),
                ("batch", found.partitions["batch"]),
                ("alice", found.associations[&ALICE]),
            ] {
                assert!(
                    (found - expected).abs() < 1e-6,
                    "{what}: {found}, not {expected}; {enforce} {model:?}"
                );
            }
        }
        host.quit()?;
    }
    Ok(())
}

/// Of jobs that run, of one that has ended, and of one that no cycle has seen. The half-life is a minute.
#[test]
fn a_qos_without_decay_keeps_its_usage_in_our_own_sums() -> HostResult<()> {
    let (normal, kept, triple) = (1, 3, 5);
    for enforce in [LIMITS, ASSOCIATIONS] {
        let mut host = begin("TargetMetric=cpu\nTarget=QOS Name=kept Percent=50\n", enforce)?;
        host.configure(&Conf::new().decay_half_life(60_u32))?;
        let job = |id: u32, qos: u32| running(id).qos(qos);
        host.jobs(&[job(1, kept), job(2, kept), job(3, normal)])?;
        host.init()?;
        host.advance(60)?;
        host.cycle()?;
        host.jobs(&[job(4, triple).start_time(NOW + 70)])?;
        host.advance(60)?;
        let ends = |id: u32| Job::new(id).state(state::COMPLETE).end_time(NOW + 100);
        host.jobs(&[ends(1), ends(4)])?;
        if enforce == LIMITS {
            host.job_end(1)?;
            host.job_end(4)?;
        }
        host.cycle()?;
        host.advance(60)?;
        host.cycle()?;
        let found = saved(&host).readings(Model::HalfLife).qos;
        assert!((found[&kept] - 4.0 * (100.0 + 180.0)).abs() < 1e-6, "{found:?}, {enforce}");
        assert!((found[&triple] - 4.0 * 3.0 * 30.0).abs() < 1e-6, "{found:?}, {enforce}");
        // slurmctld counts the same where it reports ends.
        let same = if enforce == LIMITS { vec![normal, kept, triple] } else { vec![normal] };
        for qos in same {
            let raw = of_qos(&mut host, qos)?.raw;
            assert!((found[&qos] - raw).abs() < 1e-6, "slurmctld has {raw}, we {found:?}, {enforce}");
        }
        assert!(found[&normal] < 4.0 * 180.0 / 3.0, "{found:?}, {enforce}");
        host.quit()?;
    }
    Ok(())
}
