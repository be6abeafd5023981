//! A stop waits for no directory service: it once took as long as the service did, 19.8 s.

use std::time::{Duration, Instant};

use slurm_releases::{cluster, BOOKWORM};

use crate::shared::{example, submit_example};

/// How long the service takes for each question.
const ANSWER: Duration = Duration::from_secs(20);

#[test]
fn a_stop_does_not_wait_for_it() {
    BOOKWORM.test(|release| {
        let ours = example(cluster(release.clone()).unwrap()).slow_object("priority_multifactor2.so");
        let lines = "Component=CRED Group=1\nCredential=Group Name=no-such-group Priority=1\n\
            Snapshot=/tmp/snap\nSnapshotPeriod=1\nSnapshotMode=0640\nSnapshotGroup=no-such-group\n";
        let mut cluster = ours.file("multifactor2.conf", lines).start().unwrap();
        submit_example(&cluster);
        cluster.wait_cycle().unwrap();
        let milliseconds = u32::try_from(ANSWER.as_millis()).unwrap();
        let before = cluster.slow(milliseconds, "getgrnam").unwrap();
        // Names are asked for anew at a reconfigure.
        cluster.scontrol(&["reconfigure"]).unwrap();
        cluster
            .wait_for("a question that is not answered", ANSWER, |cluster| {
                Ok((cluster.slow(milliseconds, "getgrnam")? > before).then_some(()))
            })
            .unwrap();
        let begun = Instant::now();
        cluster.stop_controller().unwrap();
        let taken = begun.elapsed();
        assert!(taken < ANSWER / 2, "the stop took {taken:?}");
    });
}
