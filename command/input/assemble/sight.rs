//! What is hidden from the user, and what remains unknown because of it.

use multifactor2_snapshot::Snapshot;

use crate::algorithm::Algorithm;
use crate::input::commands::{ASSOCIATIONS, NAMES, PARTITIONS, PRIORITIES, QOS, QUEUE, SHARES};
use crate::input::parse::associations::User;
use crate::input::texts::Texts;

/// Says what is missing, and sets `partial_tree` and `partial_queue`.
pub(super) fn look(
    snapshot: &mut Snapshot,
    algorithm: Algorithm,
    texts: &Texts,
    users: &[User],
    left: usize,
    hidden: &mut Vec<String>,
) {
    let failed = |name: &str| texts.manifest.failed.get(name);
    for name in NAMES {
        // priority/basic has no addends, and sprio says so.
        let is_expected = name == PRIORITIES && algorithm == Algorithm::Basic;
        if let (Some(why), Some((command, missing)), false) = (failed(name), without(name), is_expected) {
            hidden.push(format!("{command} gave no answer ({why}): {missing}"));
        }
    }
    let sees_all = sees_all(snapshot, texts.manifest.uid, users);
    let [hides_jobs, hides_usage, hides_users] =
        ["jobs", "usage", "users"].map(|what| !sees_all && snapshot.is_private(what));
    if hides_jobs {
        let because = "PrivateData=jobs hides the jobs of others, so it is not known how many come before.";
        snapshot.about.lack_queue("hidden", because);
        hidden.push(
            "PrivateData=jobs hides the jobs of others, except in accounts that you coordinate. Places in the queue, the jobs \
             before yours and the number of jobs of others are unknown."
                .to_owned(),
        );
    }
    let has_root = snapshot.associations.iter().any(|row| row.account == "root" && row.user.is_empty());
    // Where no job was found, nothing else was asked.
    let was_asked = texts.texts.contains_key(SHARES) || failed(SHARES).is_some();
    if hides_usage || (was_asked && !has_root) {
        snapshot.about.partial_tree = true;
        let why = if hides_usage { "PrivateData=usage hides" } else { "This user cannot see" };
        hidden.push(format!(
            "{why} the associations of others, except in accounts that you coordinate: {} are shown, without those above them. \
             Shares and usage of others, ranks and the effect of changes on fair-share are unknown. Your own factors and addends \
             are those that Slurm shows.",
            snapshot.associations.len()
        ));
    }
    if hides_users {
        hidden.push(
            "PrivateData=users hides the records of other users, so it is not known which of them are operators or coordinators."
                .to_owned(),
        );
    }
    if texts.manifest.is_of_some_jobs() {
        snapshot.about.only_jobs = true;
        snapshot.about.lack_queue("not_asked", "only some jobs were asked for; --place asks for all.");
    }
    for (name, command) in [(QUEUE, "squeue"), (PRIORITIES, "sprio")] {
        // priority/basic has no addends, and its priorities are those of squeue.
        if failed(name).is_some() && !(name == PRIORITIES && algorithm == Algorithm::Basic) {
            snapshot.about.lack_queue("not_answered", &format!("{command} gave no answer."));
        }
    }
    // Of some jobs sprio may have been asked for all.
    if left > 0 && !snapshot.about.only_jobs {
        hidden.push(format!(
            "{left} jobs of sprio are missing from squeue: they were submitted or started between the two calls, and are left out."
        ));
    }
}

/// Root, `SlurmUser`, operators and administrators.
fn sees_all(snapshot: &Snapshot, uid: u32, users: &[User]) -> bool {
    let slurm = snapshot.parameter("SlurmUser").unwrap_or_default();
    let is_slurm = slurm.ends_with(&format!("({uid})"));
    let level = users.iter().find(|user| user.uid == uid).map(|user| user.level.as_str());
    uid == 0 || is_slurm || matches!(level, Some("Operator" | "Administrator"))
}

/// The command of a text, and what cannot be known without it.
fn without(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        PARTITIONS => ("scontrol show partition", "PriorityTier, limits and sizes of partitions are unknown."),
        ASSOCIATIONS => (
            "scontrol show assoc_mgr",
            "raw usage has no decimals, priorities of associations and usage of QOS are unknown, and parents come from sshare.",
        ),
        SHARES => (
            "sshare",
            "fair-share factors, normalised shares and effective usage are unknown. Since 23.02 sshare needs the priority plugin \
             on this host.",
        ),
        QUEUE => ("squeue", "the queue is unknown."),
        PRIORITIES => ("sprio", "what priorities are made of is unknown."),
        QOS => ("sacctmgr show qos", "UsageFactor, UsageThreshold and priorities of QOS are unknown: it needs slurmdbd."),
        _ => return None,
    })
}
