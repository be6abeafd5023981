//! Which users see which jobs in `sprio`: with `PrivateData=jobs` users, coordinators and operators see what they see under stock,
//! and so they do where jobs have MCS labels.

use std::collections::BTreeMap;
use std::time::Duration;

use slurm_testcluster::{Account, Accounts, Cluster, Job};

use crate::support::{cluster, OURS, STOCK};

/// Who asks: a user with two accounts, one who coordinates `physics` and so `optics` below it, one of another account, an operator
/// without an account of its own, one whom Slurm does not know, and Slurm's own.
const VIEWERS: [&str; 6] = ["ada", "emmy", "rosalind", "olga", "stranger", "root"];

/// Options with which sprio asks.
const QUESTIONS: [&[&str]; 4] =
    [&[], &["-u", "ada"], &["-p", "other"], &["-u", "emmy,rosalind", "-p", "main"]];

/// Lines of sprio by viewer and question.
type Seen = BTreeMap<(String, usize), Vec<String>>;

fn start(mcs: Option<&str>) -> Cluster {
    let optics = Account::new("optics", 7).user("ada", 3).user("lise", 1);
    let tree = Accounts::new()
        .account(Account::new("physics", 40).account(optics).user("ada", 2).user("emmy", 1))
        .account(Account::new("biology", 60).user("rosalind", 1).user("ada", 1))
        .account(Account::new("office", 1).user("olga", 1));
    let mut builder = cluster()
        .priority_type(STOCK)
        .accounts(&tree)
        .user("stranger")
        .line("PartitionName=other Nodes=n1 State=DOWN PriorityJobFactor=7")
        .set("PriorityWeightPartition", "1000")
        .set("PrivateData", "jobs");
    if let Some(plugin) = mcs {
        builder = builder.set("MCSPlugin", plugin).set("MCSParameters", "enforced,select,privatedata");
    }
    let cluster = builder.start().unwrap();
    let sacctmgr = |arguments: &[&str]| {
        cluster.command("sacctmgr").arg("-i").args(arguments).text().unwrap();
    };
    sacctmgr(&["add", "coordinator", "account=physics", "names=emmy"]);
    sacctmgr(&["modify", "user", "olga", "set", "adminlevel=operator"]);
    for (account, user) in [
        ("physics", "ada"),
        ("optics", "ada"),
        ("biology", "ada"),
        ("physics", "emmy"),
        ("optics", "lise"),
        ("biology", "rosalind"),
        ("office", "olga"),
    ] {
        for partition in ["main", "other", "main,other"] {
            cluster.submit(&Job::new(user).account(account).partition(partition)).unwrap();
        }
    }
    cluster
}

/// What every viewer sees, once slurmctld knows who may see more than others.
fn look(cluster: &Cluster) -> Seen {
    cluster.wait_cycle().unwrap();
    let lines = |viewer: &str, question: &[&str]| {
        let sprio = cluster.command("sprio").user(viewer).unwrap();
        let text = sprio.args(["-h", "-o", "%i|%r|%u|%P|%N"]).args(question).text().unwrap();
        text.lines().map(|line| line.replace(' ', "")).filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    let all = |_: &Cluster| Ok((lines("olga", &[]).len() == 28).then_some(()));
    cluster.wait_for("the operator to see all jobs", Duration::from_secs(20), all).unwrap();
    let mut seen = Seen::new();
    for viewer in VIEWERS {
        for (at, question) in QUESTIONS.iter().enumerate() {
            seen.insert((viewer.to_owned(), at), lines(viewer, question));
        }
    }
    seen
}

/// Looks under both plugins at the same jobs; gives how many lines each viewer sees.
fn compare(mcs: Option<&str>) -> [usize; 6] {
    let mut cluster = start(mcs);
    let stock = look(&cluster);
    cluster.set("PriorityType", OURS).unwrap();
    cluster.restart_controller().unwrap();
    let ours = look(&cluster);
    for (what, seen) in &stock {
        assert_eq!(&ours[what], seen, "{mcs:?}, {} asks {:?}", what.0, QUESTIONS[what.1]);
    }
    VIEWERS.map(|viewer| ours[&(viewer.to_owned(), 0)].len())
}

#[test]
fn private_jobs_are_seen_by_their_users_coordinators_and_operators() {
    // Every user's jobs have four lines in each account.
    assert_eq!(compare(None), [12, 16, 4, 28, 0, 28]);
}

#[test]
fn private_jobs_with_a_label_are_seen_by_who_has_it() {
    for mcs in ["mcs/user", "mcs/account"] {
        let seen = compare(Some(mcs));
        eprintln!("{mcs}: {seen:?} lines for {VIEWERS:?}");
        assert_eq!((seen[3], seen[5]), (28, 28), "an operator and root see all");
        assert!(seen.iter().any(|lines| *lines < 28), "{mcs}: nothing is private");
    }
}
