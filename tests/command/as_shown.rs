//! What the model computes from what Slurm's commands have printed is what they have printed.

use multifactor2_command::model::{Model, Options};
use multifactor2_snapshot::records::Setting;

use crate::recorded::{self, RELEASES};

/// Bug: with `ActiveJobs=pending` only those were taken to compete whom sprio shows, which held jobs and such with a begin time are not.
#[test]
fn who_competes_goes_by_active_jobs_with_slurms_commands_too() {
    for release in RELEASES {
        let mut snapshot = recorded::snapshot(release, "multifactor2-root");
        let settings = snapshot.settings.as_ref().unwrap();
        assert!(settings.iter().any(|setting| setting.line == "ActiveJobs=pending"), "{settings:?}");
        let model = Model::of(&snapshot, Options::default());
        for (shown, computed) in snapshot.associations.iter().zip(&model.standings) {
            let (Some(shown), Some(computed)) = (shown.factor, computed.factor) else { continue };
            assert!((shown - computed).abs() < 1e-6, "{release}: {shown} {computed:?}");
        }
        for job in 0..snapshot.jobs.len() {
            assert_eq!(model.differences(job), [], "{release}: {:?}", snapshot.jobs[job]);
        }

        snapshot.settings =
            Some(vec![Setting { line: "ActiveJobs=eligible".to_owned(), ..Setting::default() }]);
        let model = Model::of(&snapshot, Options::default());
        let emmy = snapshot.associations.iter().position(|association| association.user == "emmy").unwrap();
        assert!(!model.standings[emmy].active, "{release}: her jobs are held, or wait for their time");
    }
}
