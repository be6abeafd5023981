//! Targets go by charged usage: our own sums have all factors, and minimums, once.

use std::fs;

use multifactor2_core::rules::sums::Model;
use multifactor2_core::rules::sums_file::parse;
use slurm_inproc::{state, HostResult, Job};

use super::{begin, of, ALICE};
use crate::charges::{running, ASSOCIATIONS, LIMITS};
use crate::setup::NOW;

const SETTINGS: &str =
    "Target=Partition Name=batch Percent=50\nTarget=User Name=alice Percent=50 Window=yes\n\
                        TargetWindow=01:00:00\nCharge=Account Name=physics Factor=0.5\n\
                        Charge=Partition Name=batch Factor=4 Scope=limits\nMinimumCharge=10:00\n";

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
        let text =
            fs::read_to_string(host.directory().join("state/multifactor2_usage")).expect("the file is there");
        let sums = parse(&text).expect("it can be read").0;
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
