//! A `PrioritySiteFactorPlugin` in a real slurmctld: a job has its factor from the submission on, and each cycle lets the plugin
//! change it before priorities are computed. The plugin is a small one, compiled here: Debian has none but `none`.

use std::time::Duration;

use slurm_inproc::CountingSiteFactor;
use slurm_testcluster::{Account, Accounts, Cluster, Job};

use crate::support::{cluster, number, sprio_of, OURS, STOCK};

/// The whole of the priority but for the site factor: half of 1 CPU of 8 and of 1 node of 1.
const SIZE: f64 = 562.0;

#[test]
fn a_site_factor_plugin_is_asked_at_submissions_and_in_cycles_as_by_stock() {
    let site_factor = CountingSiteFactor::build().unwrap();
    for plugin in [STOCK, OURS] {
        let tree = Accounts::new().account(Account::new("first", 1).user("ada", 1));
        let cluster = cluster()
            .priority_type(plugin)
            .accounts(&tree)
            .nodes(1)
            .plugin_dir(site_factor.directory())
            .set("PrioritySiteFactorPlugin", CountingSiteFactor::NAME)
            .set("PriorityWeightFairshare", "0")
            .set("PriorityWeightJobSize", "1000")
            .cycle_seconds(Some(3))
            .start()
            .unwrap();
        cluster.wait_cycle().unwrap();
        let job = cluster.submit(&Job::new("ada")).unwrap();
        let at_submission = sprio_of(&cluster, job);
        assert_eq!(at_submission.text("SITE"), "111", "{plugin}");
        assert!(
            (number(&at_submission, "PRIORITY") - SIZE - 111.0).abs() < 0.5,
            "{plugin}: {at_submission:?}"
        );
        // Each cycle adds a thousand, to what is shown and to what the scheduler goes by.
        for cycles in 1..=3 {
            let expected = SIZE + 111.0 + 1000.0 * f64::from(cycles);
            let reached = |cluster: &Cluster| {
                let id = job.to_string();
                let text = cluster.command("squeue").args(["-h", "-o", "%Q", "-j", &id]).text()?;
                Ok((text.trim() == expected.to_string()).then_some(()))
            };
            cluster.wait_for("the site factor of a cycle", Duration::from_secs(20), reached).unwrap();
            let row = sprio_of(&cluster, job);
            assert!((number(&row, "PRIORITY") - expected).abs() < 0.5, "{plugin}, cycle {cycles}: {row:?}");
            assert!(
                (number(&row, "SITE") - expected + SIZE).abs() < 0.5,
                "{plugin}, cycle {cycles}: {row:?}"
            );
        }
        // After a change of the job its plugin is asked anew, even if what was changed is the site factor.
        cluster.scontrol(&["update", &format!("jobid={job}"), "sitefactor=-5000"]).unwrap();
        let site = sprio_of(&cluster, job).text("SITE").to_owned();
        assert!(site.ends_with("111"), "{plugin}: {site}");
    }
}
