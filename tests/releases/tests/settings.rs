//! A mistake in multifactor2.conf where every reconfigure is a new process (from Slurm 23.11 on): slurmctld in the foreground,
//! which would end with a refusal, lives on with the settings that it had, and so does the next start.

use crate::shared;
use std::fs;

use shared::{example, submit_example};
use slurm_releases::{cluster, FORKY, TRIXIE};
use slurm_testcluster::{Cluster, Job, Release};

#[test]
fn trixie() {
    TRIXIE.test(a_bad_file_never_ends_slurmctld);
}

#[test]
fn forky() {
    FORKY.test(a_bad_file_never_ends_slurmctld);
}

/// One release each; from 23.11 on a reconfigure is a new process.
mod says_what_holds {
    use super::says_what_holds;
    use slurm_releases::{BOOKWORM, BULLSEYE, FORKY, TRIXIE};

    #[test]
    fn bullseye() {
        BULLSEYE.test(says_what_holds);
    }

    #[test]
    fn bookworm() {
        BOOKWORM.test(says_what_holds);
    }

    #[test]
    fn trixie() {
        TRIXIE.test(says_what_holds);
    }

    #[test]
    fn forky() {
        FORKY.test(says_what_holds);
    }
}

/// Start, reconfigures with a change, without one, with an emptied and with a removed file, and a restart: what holds is in the log, and what has
/// changed.
fn says_what_holds(release: &Release) {
    let mut cluster = example(cluster(release.clone()).unwrap()).start().unwrap();
    let file = cluster.directory().join("multifactor2.conf");
    let wait_for = |cluster: &Cluster, from: usize, expected: &[&str]| {
        let minute = std::time::Duration::from_secs(60);
        let found = cluster.wait_for("what slurmctld says of settings", minute, |cluster| {
            let log = cluster.log();
            Ok(expected.iter().all(|part| log[from..].contains(part)).then_some(()))
        });
        found.unwrap_or_else(|error| panic!("{expected:?}: {error:#}\n{}", &cluster.log()[from..]));
    };
    wait_for(&cluster, 0, &["priority/multifactor2: settings: all have their default values."]);
    let steps: [(Option<&str>, &[&str]); 5] = [
        (
            Some("Distribution=strict\n"),
            &[
                "settings that differ from their defaults: Distribution=strict. ",
                "settings have changed. now: Distribution=strict\n",
            ],
        ),
        (
            Some("Distribution=strict\n# the same\n"),
            &["Distribution=strict. ", "settings: nothing has changed"],
        ),
        (
            Some(""),
            &[
                "settings: all have their default values. ",
                "settings have changed. no longer: Distribution=strict\n",
                "multifactor2.conf has no settings, so settings that were in it are no longer in force.",
            ],
        ),
        (Some("ActiveJobs=pending\n"), &["settings have changed. now: ActiveJobs=pending\n"]),
        (
            None,
            &[
                "settings have changed. no longer: ActiveJobs=pending\n",
                "multifactor2.conf does not exist, so settings that were in it are no longer in force.",
            ],
        ),
    ];
    for (text, expected) in steps {
        match text {
            Some(text) => fs::write(&file, text).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let from = cluster.log().len();
        cluster.reconfigure().unwrap();
        wait_for(&cluster, from, expected);
    }
    fs::write(&file, "Distribution=standing\n").unwrap();
    let from = cluster.log().len();
    cluster.restart_controller().unwrap();
    wait_for(
        &cluster,
        from,
        &["their defaults: Distribution=standing. ", "settings have changed. now: Distribution=standing\n"],
    );
}

/// `FAIRSHARE` of the job of user2 in sprio, after a cycle: 49 where the held job of user3 counts, else 24691.
fn fair_share(cluster: &Cluster) -> String {
    cluster.wait_cycle().unwrap();
    let rows = cluster.sprio_rows().unwrap();
    let row = rows.iter().find(|row| row.text("USER") == "user2").unwrap();
    row.text("FAIRSHARE").to_owned()
}

fn our_errors(cluster: &Cluster) -> Vec<String> {
    let log = cluster.log();
    log.lines().filter(|line| line.contains("error: priority/multifactor2: ")).map(str::to_owned).collect()
}

fn a_bad_file_never_ends_slurmctld(release: &Release) {
    let mut cluster = example(cluster(release.clone()).unwrap()).start().unwrap();
    submit_example(&cluster);
    cluster.submit(&Job::new("user3").account("c").partition("held").arg("--hold")).unwrap();
    assert_eq!(fair_share(&cluster), "24691");
    let file = cluster.directory().join("multifactor2.conf");
    fs::write(&file, "ActiveJobs=pending\n").unwrap();
    cluster.reconfigure().unwrap();
    assert_eq!(fair_share(&cluster), "49");

    fs::write(&file, "# ours\nActiveJobs=sometimes\n").unwrap();
    for times in 1..=3 {
        cluster.reconfigure().unwrap();
        cluster
            .wait_for("slurmctld", std::time::Duration::from_secs(60), |cluster| {
                Ok((cluster.is_up() && our_errors(cluster).len() == times).then_some(()))
            })
            .unwrap();
        assert_eq!(fair_share(&cluster), "49");
    }
    assert_eq!(cluster.controller_ended().unwrap(), None);
    cluster.restart_controller().unwrap();
    assert_eq!(fair_share(&cluster), "49");
    let errors = our_errors(&cluster);
    assert_eq!(errors.len(), 4, "{errors:#?}");
    for error in errors {
        for part in [
            "multifactor2.conf line 2: ActiveJobs=sometimes: must be one of eligible, pending, startable",
            "The last good settings stay in force (ActiveJobs=pending)",
        ] {
            assert!(error.contains(part), "'{part}': {error}");
        }
    }

    // Corrected: what is kept follows. Without anything kept a bad file refuses.
    fs::write(&file, "ActiveJobs=eligible\n").unwrap();
    cluster.reconfigure().unwrap();
    assert_eq!(fair_share(&cluster), "24691");
    cluster.stop_controller().unwrap();
    fs::write(&file, "ActiveJobs=sometimes\n").unwrap();
    let kept = cluster.directory().join("state/multifactor2_settings");
    fs::remove_file(&kept).unwrap();
    let refused = format!("{:#}", cluster.start_controller().unwrap_err());
    assert!(refused.contains("ActiveJobs=sometimes: must be"), "{refused}");
    fs::write(&file, "ActiveJobs=pending\n").unwrap();
    cluster.start_controller().unwrap();
    assert_eq!(fair_share(&cluster), "49");
    assert!(kept.is_file());
}
