//! Our own sums of usage, and the points that come of them, with real jobs on real slurmds: in the oldest and the newest release by
//! `make test`, in all by `make test-releases`.
//!
//! What the jobs have used is known from slurmdbd's records, to the second and so in each window.
#![allow(clippy::float_cmp)] // sums of whole seconds are exact, as are those that are saved and read back

use crate::shared;

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

/// Of what the cluster could have given.
const OF_AVAILABLE: &str = "\
Component=FS Weight=10 FSClass=100
Target=Partition Name=main Percent=5%available
TargetUsage=window
TargetMetric=cpu
TargetWindow=00:00:07
TargetDepth=1000
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
    let jobs = jobs.map(|job| cluster.submit(&job).unwrap());
    wait_records(cluster, &jobs).unwrap()
}

fn sacctmgr(cluster: &Cluster, arguments: &str) {
    cluster.command("sacctmgr").arg("-i").args(arguments.split(' ')).text().unwrap();
}

fn wait_running(cluster: &Cluster, job: JobId) {
    wait_state(cluster, job, "RUNNING");
}

fn wait_state(cluster: &Cluster, job: JobId, due: &str) {
    let state = |cluster: &Cluster| {
        let text = cluster.scontrol(&["show", "job", &job.to_string()])?;
        Ok(text.contains(&format!("JobState={due}")).then_some(()))
    };
    cluster.wait_for(due, WAIT, state).unwrap();
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
    lap("reset of all, and decay");
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
    for job in long {
        wait_running(cluster, job);
    }
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
    wait_records(cluster, &long).unwrap();
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
    assert_eq!(saved.of(&Owner::All).halflife, before.of(&Owner::All).halflife);
    wait_same_as_slurmctld(cluster, &ABOVE).unwrap();
    sacctmgr(cluster, "add user leopold account=history");
    let known = |cluster: &Cluster| Ok(raw_usage(cluster)?.contains_key(&leopold).then_some(()));
    cluster.wait_for("the new association", WAIT, known).unwrap();
    assert_eq!(Saved::next(cluster).unwrap().of(&leopold).halflife, 0.0);
    let done = cluster.submit(&job("leopold", 2, 2)).unwrap();
    let records = wait_records(cluster, &[done]).unwrap();
    let ran = records.iter().find(|ran| ran.job == done).unwrap();
    let due = expected(std::slice::from_ref(ran), (7, 1, 0))[&leopold].halflife;
    assert!(due >= 4.0, "{ran:?}");
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
    assert_eq!(saved.of(&Owner::All).in_windows(), same.of(&Owner::All).in_windows());
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
    Saved::next(cluster).unwrap();
    let used = wait_same_as_slurmctld(cluster, &ABOVE).unwrap();
    assert!(
        used.of(&Owner::user("physics", "emmy")).halflife > 0.0
            && used.of(&Owner::Group(USERS)).halflife > 0.0
    );
    decayed_sums_are_slurmctlds(cluster);
}

/// A job runs on, and another ends between two cycles: half of usage is left after a minute, in windows all of it.
fn decayed_sums_are_slurmctlds(cluster: &mut Cluster) {
    set_up(cluster, "PriorityDecayHalfLife", "1");
    let brief = cluster.submit(&job("ada", 2, 2)).unwrap();
    wait_state(cluster, brief, "COMPLETED");
    Saved::next(cluster).unwrap();
    let saved = wait_same_as_slurmctld(cluster, &ABOVE).unwrap();
    for user in ["ada", "emmy"] {
        let usage = saved.of(&Owner::user("physics", user));
        let all = usage.in_windows();
        assert!(all >= 4.0 && (0.3 * all..0.999 * all).contains(&usage.halflife), "{user}: {usage:?}");
    }
}

/// `TargetMetric=cpu` where slurmctld charges no TRES, over a restart and a kill, and with other settings.
fn a_tres_counts_without_limits_and_follows_the_settings(release: &Release) {
    let builder = users(release).set("AccountingStorageEnforce", "associations");
    let mut cluster = builder.file(policies::FILE, OF_AVAILABLE).start().unwrap();
    let began = now();
    let lap = |what: &str| eprintln!("Slurm {}: {what} after {} s", release.version, now() - began);
    let early = Saved::next(&cluster).unwrap();
    let long = cluster.submit(&job("emmy", 3, 3600)).unwrap();
    let short = cluster.submit(&job("ada", 2, 4).partition("other")).unwrap();
    wait_running(&cluster, long);
    cluster.wait_saved(long).unwrap();
    cluster.restart_controller().unwrap();
    cluster.reconfigure().unwrap();
    wait_up(&cluster);
    cluster.kill_controller().unwrap();
    cluster.start_controller().unwrap();
    lap("restarts");
    cluster.command("scancel").arg(long).text().unwrap();
    let records = wait_records(&cluster, &[long, short]).unwrap();
    let saved = assert_records(&cluster, &records, |_| false);
    assert_eq!((saved.metric.as_str(), saved.halflife), ("cpu", false));
    // All processors, whether slurmctld ran or not.
    let passed = f64::from(i32::try_from(saved.since - early.since).unwrap());
    let given = saved.capacity.in_windows() - early.capacity.in_windows();
    assert!((given - 8.0 * passed).abs() < 1e-6, "{given} in {passed} s: {early:?}\n{saved:?}");
    lap("records");
    points_of_available(&cluster);
    other_settings(&cluster);
    lap("settings");
    shared::check_log(&cluster);
}

/// The part of what was available, which becomes more every second.
fn points_of_available(cluster: &Cluster) {
    cluster.scontrol(&["update", "partitionname=main", "state=down"]).unwrap();
    let job = cluster.submit(&job("leopold", 1, 1)).unwrap();
    let due = |saved: &Saved| {
        let used = saved.of(&Owner::Partition("main".to_owned())).decayed(0.8);
        1000.0 * (5.0 - 100.0 * used / saved.capacity.decayed(0.8))
    };
    let mut seen = Vec::new();
    let same = cluster.wait_for("SITE", WAIT / 2, |cluster| {
        let before = Saved::read(cluster)?;
        let rows = cluster.sprio_rows()?;
        let site = rows.iter().find(|row| row.text("JOBID") == job.to_string()).map(|row| row.number("SITE"));
        let (site, dues) = (site.transpose()?, [&before, &Saved::read(cluster)?].map(due));
        seen.push((site, dues));
        Ok(dues.iter().any(|due| site.is_some_and(|site| (site - due).abs() <= 0.5 + 1e-6)).then_some(()))
    });
    same.unwrap_or_else(|problem| panic!("{problem}: {seen:?}\n{}", cluster.log()));
    cluster.command("scancel").arg(job).text().unwrap();
    cluster.scontrol(&["update", "partitionname=main", "state=up"]).unwrap();
}

/// Nothing runs. Other windows get what overlaps, fewer keep the newest, another metric begins anew.
fn other_settings(cluster: &Cluster) {
    let change = |from: &str, to: &str| {
        policies::change(cluster, &OF_AVAILABLE.replace(from, to)).unwrap();
        wait_up(cluster);
        Saved::next(cluster).unwrap()
    };
    let before = Saved::next(cluster).unwrap();
    let used = |saved: &Saved, owner: &Owner| saved.of(owner).in_windows();
    let kept = |saved: &Saved| {
        before.sums.keys().all(|owner| (used(saved, owner) - used(&before, owner)).abs() < 1e-6)
    };
    for (length, seconds) in [("00:00:14", 14), ("00:00:05", 5), ("00:01:00", 60), ("00:00:07", 7)] {
        let after = change("00:00:07", length);
        assert_eq!(after.windows.map(|windows| windows.0), Some(seconds));
        assert!(kept(&after), "{length}: {before:?}\n{after:?}");
        if seconds == 14 {
            // Each has two of the old ones, to the second.
            let due = |owner: &Owner| {
                let mut pairs = vec![0.0; after.windows.unwrap().1];
                let (_, _, newest) = before.windows.unwrap();
                for (age, amount) in (0..).zip(before.of(owner).windows) {
                    let at = after.windows.unwrap().2 - (newest - age).div_euclid(2);
                    pairs[usize::try_from(at).unwrap()] += amount;
                }
                pairs
            };
            for owner in before.sums.keys() {
                let (found, due) = (after.of(owner).windows, due(owner));
                let same = |at: usize| (found.get(at).copied().unwrap_or(0.0) - due[at]).abs() < 1e-6;
                assert!((0..due.len()).all(same), "{owner:?}: {found:?}, {due:?}");
            }
        }
    }
    // Windows that are nearly as long as nothing ran.
    cluster
        .wait_for("an empty window", WAIT, |cluster| {
            let saved = Saved::read(cluster)?;
            Ok((saved.of(&Owner::All).windows.first().is_none_or(|amount| *amount == 0.0)).then_some(()))
        })
        .unwrap();
    let few = change("TargetDepth=1000", "TargetDepth=1");
    assert_eq!(few.windows.map(|windows| windows.1), Some(1));
    assert_eq!(used(&few, &Owner::All), 0.0, "{few:?}");
    let again = change("", "");
    assert_eq!(used(&again, &Owner::All), 0.0, "what was dropped is gone: {again:?}");
    let done = cluster.submit(&job("ada", 3, 2)).unwrap();
    wait_records(cluster, &[done]).unwrap();
    let saved = Saved::next(cluster).unwrap();
    assert!(used(&saved, &Owner::All) >= 6.0, "{saved:?}");
    let nodes = change("TargetMetric=cpu", "TargetMetric=node");
    assert_eq!((nodes.metric.as_str(), used(&nodes, &Owner::All)), ("node", 0.0));
    let done = cluster.submit(&job("ada", 3, 2)).unwrap();
    let records = wait_records(cluster, &[done]).unwrap();
    let ran = records.iter().find(|ran| ran.job == done).unwrap();
    let nodes = Saved::next(cluster).unwrap();
    let due = f64::from(i32::try_from(ran.time.1 - ran.time.0).unwrap());
    assert_eq!(used(&nodes, &Owner::user("physics", "ada")), due, "{nodes:?}");
}
