//! Our own sums of usage, and the points that come of them, with real jobs on real slurmds: in the oldest and the newest release by
//! `make test`, in all by `make test-releases`.
//!
//! What the jobs have used is known from slurmdbd's records, to the second and so in each window.

mod shared;

use slurm_releases::cluster;
use slurm_testcluster::targets::{
    assert_records, expected, now, raw_usage, wait_records, wait_same_as_slurmctld, Owner, Ran, Saved, WAIT,
};
use slurm_testcluster::{policies, Account, Accounts, Builder, Cluster, Job, JobId, Release};

#[cfg(feature = "full")]
mod in_all {
    slurm_releases::test_in_each_release!(super::sums_are_what_jobs_ran_until_they_are_reset);
}

#[cfg(feature = "full")]
mod tres {
    slurm_releases::test_in_each_release!(super::a_tres_counts_without_limits_and_follows_the_settings);
}

#[cfg(not(feature = "full"))]
#[test]
fn bullseye() {
    slurm_releases::BULLSEYE.test(sums_are_what_jobs_ran_until_they_are_reset);
}

#[cfg(not(feature = "full"))]
#[test]
fn forky() {
    slurm_releases::FORKY.test(sums_are_what_jobs_ran_until_they_are_reset);
}

#[cfg(not(feature = "full"))]
#[test]
fn a_tres_in_bullseye() {
    slurm_releases::BULLSEYE.test(a_tres_counts_without_limits_and_follows_the_settings);
}

#[cfg(not(feature = "full"))]
#[test]
fn a_tres_in_forky() {
    slurm_releases::FORKY.test(a_tres_counts_without_limits_and_follows_the_settings);
}

/// A group that has no name, beside that of all users.
const STAFF: u32 = 12_345;
const USERS: u32 = 10_000;

/// The accounts above each.
const ABOVE: [(&str, &[&str]); 4] =
    [("root", &["root"]), ("science", &["root"]), ("physics", &["science", "root"]), ("history", &["root"])];

/// Windows that are shorter than the jobs.
const SETTINGS: &str = "\
Component=FS Weight=10 FSUser=100 FSGroup=7 FSClass=50
Target=User Name=ada Percent=50
Target=Group Name=12345 Percent=20 Weight=3
Target=Partition Name=main Percent=90 Type=floor Window=yes
Target=Partition Name=other Percent=1 Type=ceiling Window=yes
TargetWindow=00:00:07
TargetDepth=1000
TargetDecay=0.5
";

fn users(release: &Release) -> Builder {
    let physics = Account::new("physics", 1).user("ada", 1).user("emmy", 1);
    let tree = Accounts::new()
        .account(Account::new("science", 1).account(physics))
        .account(Account::new("history", 1).user("leopold", 1));
    cluster(release.clone())
        .unwrap()
        .accounts(&tree)
        .user("noether")
        .nodes(2)
        .cpus(4)
        .slurmds(true)
        .line("PartitionName=other Nodes=ALL State=UP")
        .set("SelectTypeParameters", "CR_CPU")
        // A restarted slurmctld uses a node after it has pinged it, a third of this.
        .set("SlurmdTimeout", "6")
}

/// A job of so many CPUs and seconds.
fn job(user: &str, cpus: u32, seconds: u32) -> Job {
    Job::new(user).seconds(seconds).arg(format!("-n{cpus}"))
}

/// Short jobs of everybody, everywhere, more than run at once.
fn run_jobs(cluster: &Cluster) -> Vec<Ran> {
    let jobs = [
        job("ada", 3, 9),
        job("ada", 2, 4).partition("other").group(STAFF),
        job("emmy", 1, 11).group(STAFF),
        job("leopold", 2, 3),
        job("emmy", 4, 2).partition("other"),
        job("leopold", 1, 1).partition("other"),
        job("ada", 1, 5),
    ];
    for job in &jobs {
        cluster.submit(job).unwrap();
    }
    wait_records(cluster, jobs.len()).unwrap()
}

fn sacctmgr(cluster: &Cluster, arguments: &str) {
    cluster.command("sacctmgr").arg("-i").args(arguments.split(' ')).text().unwrap();
}

fn wait_running(cluster: &Cluster, job: JobId) {
    let state = |cluster: &Cluster| {
        let text = cluster.scontrol(&["show", "job", &job.to_string()])?;
        Ok(text.contains("JobState=RUNNING").then_some(()))
    };
    cluster.wait_for("the job to run", WAIT, state).unwrap();
}

fn wait_up(cluster: &Cluster) {
    cluster.wait_for("slurmctld", WAIT, |cluster| Ok(cluster.is_up().then_some(()))).unwrap();
}

fn set_up(cluster: &mut Cluster, name: &str, value: &str) {
    cluster.set(name, value).unwrap();
    cluster.reconfigure().unwrap();
    wait_up(cluster);
}

fn sums_are_what_jobs_ran_until_they_are_reset(release: &Release) {
    let mut cluster = users(release).file(policies::FILE, SETTINGS).start().unwrap();
    let began = now();
    let lap = |what: &str| eprintln!("Slurm {}: {what} after {} s", release.version, now() - began);
    let records = run_jobs(&cluster);
    lap("jobs");
    assert_records(&cluster, &records, |_| false);
    wait_same_as_slurmctld(&cluster, &ABOVE).unwrap();
    points_follow(&cluster, &records);
    lap("points");
    resets_take_what_slurmctld_takes(&cluster);
    lap("resets");
    who_is_removed_and_made_anew_starts_empty(&mut cluster);
    lap("removal");
    usage_is_reset_at_once(&mut cluster);
    lap("reset of all");
    shared::check_log(&cluster);
}

/// Nothing runs: what jobs that wait have in SITE is what the records give.
fn points_follow(cluster: &Cluster, records: &[Ran]) {
    for partition in ["main", "other"] {
        cluster.scontrol(&["update", &format!("partitionname={partition}"), "state=down"]).unwrap();
    }
    let sums = expected(records, Saved::read(cluster).unwrap().windows.unwrap());
    let percent = |usage: &dyn Fn(&Owner) -> f64, owner: &Owner| 100.0 * usage(owner) / usage(&Owner::All);
    let halflife = |owner: &Owner| sums[owner].halflife;
    let windows = |owner: &Owner| sums[owner].decayed(0.5);
    let of_main = (90.0 - percent(&windows, &Owner::Partition("main".to_owned()))).max(0.0);
    let of_other = (1.0 - percent(&windows, &Owner::Partition("other".to_owned()))).min(0.0);
    assert!(of_main > 0.0 && of_other < 0.0, "{of_main}, {of_other}: {records:?}");
    let of_ada = 50.0 - percent(&halflife, &Owner::user("physics", "ada"));
    let of_staff = 20.0 - percent(&halflife, &Owner::Group(STAFF));
    let jobs = [
        (job("ada", 1, 1), 10.0 * (100.0 * of_ada + 50.0 * of_main)),
        (job("leopold", 1, 1).partition("other"), 10.0 * 50.0 * of_other),
        // The weight of a group is added to that of the component.
        (job("emmy", 1, 1).group(STAFF), 13.0 * (7.0 * of_staff + 50.0 * of_main)),
    ];
    let jobs = jobs.map(|(job, due)| (cluster.submit(&job).unwrap(), due));
    let mut differ = Vec::new();
    let same = cluster.wait_for("SITE", WAIT / 2, |cluster| {
        let rows = cluster.sprio_rows()?;
        let site = |job: &JobId| {
            let row = rows.iter().find(|row| row.text("JOBID") == job.to_string())?;
            row.number("SITE").ok()
        };
        differ = jobs.iter().map(|(job, due)| (*job, site(job), *due)).collect();
        let equal = |(_, site, due): &(JobId, Option<f64>, f64)| {
            site.is_some_and(|site| (site - due).abs() <= 0.5 + 1e-6)
        };
        Ok(differ.iter().all(equal).then_some(()))
    });
    same.unwrap_or_else(|problem| panic!("{problem}: {differ:?}\n{}", cluster.log()));
    for (job, _) in jobs {
        cluster.command("scancel").arg(job).text().unwrap();
    }
    for partition in ["main", "other"] {
        cluster.scontrol(&["update", &format!("partitionname={partition}"), "state=up"]).unwrap();
    }
}

/// `sacctmgr modify … set RawUsage=0` of a user, an account and a QOS, while jobs run: they start from the last cycle again, and
/// everybody else has what they had.
fn resets_take_what_slurmctld_takes(cluster: &Cluster) {
    let reset = |what: &str, emptied: &[Owner]| {
        let before = Saved::next(cluster).unwrap();
        let used = |saved: &Saved, owner: &Owner| saved.of(owner).halflife;
        assert!(emptied.iter().all(|owner| used(&before, owner) > 15.0), "{before:?}");
        sacctmgr(cluster, &format!("modify {what} set RawUsage=0"));
        let done = now();
        // slurmctld learns of it a moment later, and we in the cycle after that.
        let emptied_all =
            |saved: &Saved| emptied.iter().all(|owner| used(saved, owner) < used(&before, owner));
        let after = cluster.wait_for("the reset", WAIT / 2, |cluster| {
            Ok(Saved::read(cluster).ok().filter(|saved| saved.since > done && emptied_all(saved)))
        });
        let after =
            after.unwrap_or_else(|problem| panic!("{problem}: {before:?}, {:?}", Saved::read(cluster)));
        for (owner, usage) in &after.sums {
            let (had, has) = (used(&before, owner), usage.halflife);
            // At most all CPUs since the cycle before the reset; those who were not reset have lost nothing.
            let most = 8.0 * f64::from(i32::try_from(after.since - before.since).unwrap());
            let range = if emptied.contains(owner) { 0.0..=most } else { had..=had + most };
            assert!(range.contains(&has), "{what}: {owner:?} had {had}, has {has}\n{before:?}\n{after:?}");
            assert!((usage.in_windows() - has).abs() < 1e-6 * (1.0 + has), "{what}: {owner:?}: {usage:?}");
        }
        wait_same_as_slurmctld(cluster, &ABOVE).unwrap();
    };
    let long =
        [job("ada", 2, 3600), job("leopold", 1, 3600).group(STAFF)].map(|job| cluster.submit(&job).unwrap());
    long.iter().for_each(|job| wait_running(cluster, *job));
    reset("user ada account=physics", &[Owner::user("physics", "ada")]);
    let run = |owner: &Owner| Owner::user("physics", "emmy") == *owner;
    assert!(Saved::read(cluster).unwrap().halflife_of(run) > 0.0);
    // Until there is something to be reset.
    let enough = |cluster: &Cluster| {
        let ada = Saved::read(cluster)?.of(&Owner::user("physics", "ada")).halflife;
        Ok((ada > 22.0).then_some(()))
    };
    cluster.wait_for("usage of the job that runs on", WAIT, enough).unwrap();
    reset("account science", &[Owner::user("physics", "ada"), Owner::user("physics", "emmy")]);
    reset("qos normal", &[Owner::Qos("normal".to_owned())]);
    cluster.command("scancel").args(long).text().unwrap();
    wait_records(cluster, 2).unwrap();
}

/// A user is removed and added again, and then the id of that association means another user, as in a database where ids start over.
fn who_is_removed_and_made_anew_starts_empty(cluster: &mut Cluster) {
    let leopold = Owner::user("history", "leopold");
    let before = Saved::next(cluster).unwrap();
    assert!(before.of(&leopold).halflife > 5.0, "{before:?}");
    sacctmgr(cluster, "delete user leopold");
    let gone = |cluster: &Cluster| {
        let raw = raw_usage(cluster)?;
        let saved = Saved::read(cluster)?;
        Ok((!raw.contains_key(&leopold) && !saved.sums.contains_key(&leopold)).then_some(saved))
    };
    let saved = cluster.wait_for("the end of the association", WAIT, gone).unwrap();
    assert_eq!(saved.of(&Owner::All), before.of(&Owner::All));
    wait_same_as_slurmctld(cluster, &ABOVE).unwrap();
    sacctmgr(cluster, "add user leopold account=history");
    let known = |cluster: &Cluster| Ok(raw_usage(cluster)?.contains_key(&leopold).then_some(()));
    cluster.wait_for("the new association", WAIT, known).unwrap();
    assert_eq!(Saved::next(cluster).unwrap().of(&leopold).halflife, 0.0);
    let done = cluster.submit(&job("leopold", 2, 2)).unwrap();
    let records = wait_records(cluster, 1).unwrap();
    let used = |records: &[Ran]| -> f64 {
        let last = records.iter().rfind(|ran| ran.owners.contains(&leopold));
        last.map_or(0.0, |ran| expected(&[ran.clone()], (7, 1, 0))[&leopold].halflife)
    };
    let due = used(&records);
    assert!(due >= 4.0, "job {done}: {records:?}");
    let same = |cluster: &Cluster| Ok((Saved::read(cluster)?.of(&leopold).halflife == due).then_some(()));
    cluster.wait_for("the usage of one job", WAIT, same).unwrap();
    let same = wait_same_as_slurmctld(cluster, &ABOVE).unwrap();
    let id = *same.ids.iter().find(|(_, names)| names.1 == "leopold").expect("an id").0;

    cluster.stop_controller().unwrap();
    cluster.sql(&format!("update slurm.test_assoc_table set user='noether' where id_assoc={id}")).unwrap();
    cluster.start_controller().unwrap();
    let saved = Saved::next(cluster).unwrap();
    let raw = raw_usage(cluster).unwrap();
    let noether = Owner::user("history", "noether");
    assert!(raw.contains_key(&noether) && !raw.contains_key(&leopold), "{raw:?}");
    assert_eq!([&noether, &leopold].map(|owner| saved.of(owner).halflife), [0.0; 2], "{saved:?}");
    assert_eq!(saved.of(&Owner::All), same.of(&Owner::All));
}

/// `PriorityUsageResetPeriod=NOW`.
fn usage_is_reset_at_once(cluster: &mut Cluster) {
    let job = cluster.submit(&job("emmy", 3, 3600)).unwrap();
    wait_running(cluster, job);
    let before = Saved::next(cluster).unwrap();
    set_up(cluster, "PriorityUsageResetPeriod", "NOW");
    let all = before.of(&Owner::All).halflife;
    let less = |cluster: &Cluster| {
        Ok(Saved::read(cluster).ok().filter(|saved| saved.of(&Owner::All).halflife < all))
    };
    let after = cluster.wait_for("the reset", WAIT, less).unwrap();
    for (owner, usage) in &after.sums {
        let most = 3.0 * f64::from(i32::try_from(after.since - before.since).unwrap());
        assert!(usage.halflife <= most && usage.in_windows() <= most, "{owner:?}: {usage:?}, at most {most}");
    }
    set_up(cluster, "PriorityUsageResetPeriod", "NONE");
    let used = wait_same_as_slurmctld(cluster, &ABOVE).unwrap();
    assert!(
        used.of(&Owner::user("physics", "emmy")).halflife > 0.0
            && used.of(&Owner::Group(USERS)).halflife > 0.0
    );
}

fn a_tres_counts_without_limits_and_follows_the_settings(_release: &Release) {}
