//! Tickets of single jobs, by what a job is called: read from the fields of every release.

use std::fs;

use slurm_fakehost::{all, in_releases, Job, Record, Slurmctld, NO_VAL};

use crate::setup::{end, fill, usage, Cluster};

/// Fair-share has as much weight as the largest number of tickets that a job of the test gets: priorities are tickets.
const MOST: u32 = 6400;
/// `AccountingStorageEnforce=wckeys`: without it such a line has no effect.
const WCKEYS: u16 = 4;

const SETTINGS: &str = "\
TicketsShare=0
AdminCommentTickets=yes
Override=Partition Name=fast Tickets=100 Shared=no
Override=QOS Name=HIGH Tickets=200 Shared=no
Override=WCKey Name=paper Tickets=400 Shared=no
Override=Job Name=7_3 Tickets=800
Override=Job Name=110,130 Tickets=1600
Override=User Name=carol Tickets=6400 Shared=no
";

fn begin(
    slurmctld: &mut Slurmctld,
    settings: &str,
    jobs: impl Fn(&Cluster) -> Vec<Job>,
) -> (Cluster, Vec<Record>) {
    fs::write(slurmctld.directory.join("multifactor2.conf"), settings).unwrap();
    slurmctld.configure("priority_weight_fs", MOST).set("accounting_enforce", WCKEYS);
    let cluster = fill(slurmctld);
    let jobs = jobs(&cluster).iter().map(|job| slurmctld.add_job(job)).collect();
    slurmctld.begin();
    (cluster, jobs)
}

#[test]
fn override_tickets_go_by_what_a_job_is_called() {
    in_releases(&all(), |slurmctld| {
        let expected = |cluster: &Cluster| {
            let job = |id| cluster.waiting(id);
            vec![
                (Job { partitions: vec![cluster.fast], ..job(102) }, 100),
                (Job { qos: vec![cluster.high], ..job(103) }, 200),
                (Job { wckey: Some("*paper"), ..job(104) }, 400),
                (Job { wckey: Some("papers"), ..job(105) }, 0),
                (Job { array: (7, 3), ..job(106) }, 800),
                (Job { array: (7, NO_VAL), ..job(107) }, 0),
                (Job { array: (7, 4), ..job(108) }, 0),
                (job(110), 1600),
                (Job { admin_comment: Some("ask ann; tickets=3200"), ..job(111) }, 3200),
                (Job { admin_comment: Some("tickets=3200 tickets=1"), ..job(112) }, 0),
                (Job { admin_comment: Some("tickets=1000001"), ..job(113) }, 0),
                (Job { association: Some(cluster.carol), user_id: 1006, ..job(114) }, MOST),
                // The tickets of a heterogeneous job are those of its leader.
                (Job { het_leader: 130, ..job(130) }, 1600),
                (Job { het_leader: 130, partitions: vec![cluster.fast], ..job(131) }, 1600),
            ]
        };
        let (cluster, jobs) =
            begin(slurmctld, SETTINGS, |cluster| expected(cluster).into_iter().map(|(job, _)| job).collect());
        for (job, (of, tickets)) in jobs.iter().zip(expected(&cluster)) {
            let priority = job.get::<u32>("priority");
            // A priority of 0 would be a hold.
            assert_eq!(priority, tickets.max(1), "job {}", of.id);
            // Set again it keeps what it has; of a new one the same is said.
            assert_eq!(slurmctld.ask_priority(0, *job), tickets.max(1), "job {} again", of.id);
        }
        assert!(slurmctld.log().contains("which is ignored: write tickets=N once"), "{}", slurmctld.log());
        end(slurmctld);
    });
}

/// What a partition adds counts where the job is tried in it.
#[test]
fn override_tickets_of_a_partition_are_those_of_its_entry() {
    in_releases(&all(), |slurmctld| {
        let in_two =
            |cluster: &Cluster| Job { partitions: vec![cluster.batch, cluster.fast], ..cluster.waiting(101) };
        let of_carol = |cluster: &Cluster| Job {
            association: Some(cluster.carol),
            user_id: 1006,
            ..cluster.waiting(102)
        };
        let (_, jobs) = begin(slurmctld, SETTINGS, |cluster| vec![in_two(cluster), of_carol(cluster)]);
        let again = |slurmctld: &mut Slurmctld| slurmctld.ask_priority(0, jobs[0]);
        again(slurmctld);
        let (numbers, _) = crate::several::array(jobs[0]).expect("an array");
        // By tier: fast, then batch.
        assert_eq!(numbers[..2], [100, 1]);
        end(slurmctld);
    });
}

/// A user's next job is the last of the user's jobs, those that have come since the last cycle included.
#[test]
fn with_dilution_every_further_job_of_a_user_has_less() {
    in_releases(&all(), |slurmctld| {
        let (cluster, jobs) = begin(slurmctld, "Dilution=user\n", |cluster| {
            vec![cluster.waiting(101), cluster.waiting(102), cluster.running(103, 60)]
        });
        let priorities: Vec<u32> = jobs[..2].iter().map(|job| job.get("priority")).collect();
        // With one that runs they have the second and the third part; the second is the best.
        assert_eq!(priorities, [MOST, MOST * 2 / 3]);
        let fourth = slurmctld.add_job(&cluster.waiting(104));
        assert_eq!(slurmctld.set_priority(0, fourth), MOST / 2);
        let fifth = slurmctld.add_job(&cluster.waiting(105));
        assert_eq!(slurmctld.set_priority(0, fifth), MOST * 2 / 5);
        assert_eq!(slurmctld.set_priority(0, fifth), MOST * 2 / 5, "it counts once, however often it is set");
        slurmctld.advance(60);
        slurmctld.cycle();
        let priorities: Vec<u32> =
            [jobs[0], jobs[1], fourth, fifth].iter().map(|job| job.get("priority")).collect();
        assert_eq!(priorities, [MOST, MOST * 2 / 3, MOST / 2, MOST * 2 / 5]);
        crate::setup::assert_near(usage(cluster.alice).get::<f64>("fs_factor"), 2.0 / 6.0, "the next job");
        end(slurmctld);
    });
}
