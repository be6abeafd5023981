//! Jobs.

use multifactor2_command::input::parse::priorities;
use multifactor2_snapshot::records::Job;
use multifactor2_snapshot::Snapshot;
use slurm_text::lines::Unread;

use crate::recorded::{snapshot, texts, RELEASES};

fn one(snapshot: &Snapshot, what: impl Fn(&Job) -> bool) -> Job {
    let mut found = snapshot.jobs.iter().filter(|job| what(job));
    let job = found.next().expect("there is such a job").clone();
    assert_eq!(found.next(), None);
    job
}

fn addends(job: &Job) -> f64 {
    #[allow(clippy::cast_precision_loss)] // small
    let whole = job.site as f64 - job.nice as f64;
    job.age
        + job.assoc
        + job.fair_share
        + job.job_size
        + job.partition_addend
        + job.qos_addend
        + job.tres_addend
        + whole
}

#[test]
fn a_user_cannot_write_lines_of_others_nor_break_the_own() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        assert!(snapshot.jobs.iter().all(|job| job.id < 100), "{release}");
        assert_eq!(one(&snapshot, |job| job.wckey.starts_with('a')).wckey, "a|b,c", "{release}");
        let forged = one(&snapshot, |job| job.wckey.starts_with('x'));
        assert_eq!(forged.wckey, "x\n999999|0||q7x2kd|", "{release}");
        assert_eq!(forged.account, "physics", "{release}");
        assert!(!snapshot.about.hidden.iter().any(|line| line.contains("cannot be read")), "{release}");
    }
}

/// `-O` cuts a field without a colon at 20 characters; see also the account of more in `tree`.
#[test]
fn no_column_is_cut() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        assert!(snapshot.jobs.iter().all(|job| !job.user.is_empty() && !job.account.is_empty()), "{release}");
        let longest = snapshot.jobs.iter().map(|job| job.account.len()).max();
        assert!(longest > Some(20), "{release}");
    }
}

#[test]
fn held_dependent_and_later_jobs_are_not_in_sprio() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        for (reason, is_zero) in [("JobHeldUser", true), ("Dependency", false), ("BeginTime", false)] {
            let job = one(&snapshot, |job| job.reason == reason);
            assert!(!job.is_computed && !job.competes && !job.direct, "{release} {reason}");
            assert_eq!(job.priority == 0, is_zero, "{release} {reason}");
            assert!(addends(&job).abs() < 1e-9, "{release} {reason}");
        }
        let later = one(&snapshot, |job| job.reason == "BeginTime");
        assert!(later.eligible > snapshot.about.taken + 80_000, "{release}: {later:?}");
        assert_eq!(one(&snapshot, |job| job.reason == "JobHeldUser").eligible, 0, "{release}");
    }
}

#[test]
fn a_priority_set_by_hand_has_no_addends() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        let job = one(&snapshot, |job| job.direct);
        assert_eq!((job.priority, job.user.as_str(), job.is_computed), (12345, "kurt", false), "{release}");
        assert!(job.competes && addends(&job).abs() < 1e-9, "{release}");
    }
}

#[test]
fn a_job_in_two_partitions_has_an_entry_for_each() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        let job = one(&snapshot, |job| !job.partitions.is_empty());
        assert_eq!(job.partitions, ["held", "gpu"], "{release}");
        let entries: Vec<_> = snapshot.entries.iter().filter(|entry| entry.job == job.id).collect();
        let of = |partition: &str| entries.iter().find(|entry| entry.partition == partition).unwrap();
        assert_eq!((entries.len(), snapshot.entries.len()), (2, 2), "{release}");
        assert!((of("held").partition_addend - 2000.0).abs() < 1e-9, "{release}");
        assert!((of("gpu").partition_addend - 1000.0).abs() < 1e-9, "{release}");
        assert!([of("held").priority, of("gpu").priority].contains(&job.priority), "{release}");
        assert_eq!(job.limit, Some(1564), "{release}");
    }
}

/// Up to 22.05 squeue shows what is left of an array in one line; later it must show every task, or it would hide those that have
/// a record of their own.
#[test]
fn tasks_of_an_array_are_one_record_but_for_those_that_have_their_own() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        let lise = one(&snapshot, |job| job.user == "lise");
        assert_eq!(lise.array_job, lise.id, "{release}");
        // The last task of an array with a step is not in what 'squeue -r' prints; without '-r' it is.
        let expected = if release < "23" { "1-28:3%2" } else { "1,4,7,10,13,16,19,22,25" };
        assert_eq!(lise.array_tasks, expected, "{release}");
        let rest = one(&snapshot, |job| job.user == "mara" && job.nice == 0);
        let own = one(&snapshot, |job| job.user == "mara" && job.nice == 7);
        assert_eq!((rest.array_tasks.as_str(), own.array_tasks.as_str()), ("1-2,4-5", "3"), "{release}");
        assert_eq!((own.array_job, rest.array_job), (rest.id, rest.id), "{release}");
        assert_eq!(own.priority + 7, rest.priority, "{release}");
    }
}

#[test]
fn the_parts_of_a_heterogeneous_job_know_their_leader() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        let parts: Vec<&Job> = snapshot.jobs.iter().filter(|job| job.user == "olga").collect();
        let leader = parts.iter().map(|job| job.id).min().unwrap();
        assert_eq!(parts.len(), 2, "{release}");
        assert!(parts.iter().all(|job| job.het_job == leader), "{release}");
        assert!(
            snapshot.jobs.iter().filter(|job| job.user != "olga").all(|job| job.het_job == 0),
            "{release}"
        );
    }
}

#[test]
fn sums_of_rounded_addends_are_the_priority_but_for_a_few() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        for job in snapshot.jobs.iter().filter(|job| job.is_computed) {
            let off = addends(job) - f64::from(job.priority);
            assert!(off.abs() < 3.0, "{release}: {off} {job:?}");
        }
        for case in ["multifactor2-root", "fair-tree-root", "classic-root"] {
            let (sums, unread) = priorities::sums(texts(release, case).text("priorities"));
            assert!(sums.len() > 10 && unread == Unread::default(), "{release} {case}");
            for sum in sums.iter().filter(|sum| !sum.direct) {
                #[allow(clippy::cast_precision_loss)] // small
                let nice = sum.nice as f64;
                let all = [
                    sum.site,
                    sum.age.0,
                    sum.assoc.0,
                    sum.fair_share.0,
                    sum.job_size.0,
                    sum.partition_addend.0,
                ];
                let off = all.iter().sum::<f64>() + sum.qos.0 + sum.tres - nice - f64::from(sum.priority);
                assert!(off.abs() < 5.0, "{release} {case}: {off} {sum:?}");
            }
        }
    }
}

/// (1 of 2 nodes and 1 of 16 CPUs) / 2, times 500: sprio prints 141.
#[test]
fn addends_have_the_places_that_sprio_shows_in_parts_of_the_weight() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        let job = one(&snapshot, |job| job.user == "ida");
        assert!((job.job_size - 140.625).abs() < 1e-9, "{release}: {}", job.job_size);
        // Where this host has other weights than the controller, a part says nothing.
        let mut texts = texts(release, "multifactor2-root");
        *texts.texts.get_mut("local-weights").unwrap() = "1000|100|100000|400|2000|3000|\n".to_owned();
        let snapshot = multifactor2_command::input::assemble(&texts, None).unwrap();
        let job = one(&snapshot, |job| job.user == "ida");
        assert!((job.job_size - 141.0).abs() < 1e-9, "{release}: {}", job.job_size);
    }
}

#[test]
fn a_job_knows_its_association_qos_reservation_and_sizes() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        let association =
            |job: &Job| snapshot.associations.iter().find(|row| row.id == job.association).unwrap();
        for job in &snapshot.jobs {
            assert_eq!(
                (&association(job).user, &association(job).account),
                (&job.user, &job.account),
                "{release}"
            );
        }
        let gpu = one(&snapshot, |job| job.user == "otto" && job.partition == "gpu");
        assert_eq!(association(&gpu).partition, "gpu", "{release}");
        assert_eq!(gpu.tres[..2], [1, 500], "{release}");
        assert_eq!(one(&snapshot, |job| job.qos == "high").nice, 50, "{release}");
        assert!(one(&snapshot, |job| job.qos == "high").qos_addend > 2999.0, "{release}");
        assert_eq!(one(&snapshot, |job| job.reservation == "maint").user, "ada", "{release}");
        let wide = one(&snapshot, |job| job.user == "otto" && job.partition == "main");
        assert_eq!((wide.nodes, wide.limit), (2, None), "{release}");
        assert!(
            snapshot.jobs.iter().all(|job| job.group.is_some() && job.submit > 1_000_000_000),
            "{release}"
        );
    }
}

#[test]
fn running_jobs_are_counted_together() {
    for release in RELEASES {
        let snapshot = snapshot(release, "multifactor2-root");
        let count: u32 = snapshot.running.iter().map(|row| row.count).sum();
        assert!(count >= 1, "{release}");
        for row in &snapshot.running {
            assert!(snapshot.associations.iter().any(|known| known.id == row.association), "{release}");
            assert!(row.size >= 1.0 && row.billing >= 1.0 && row.tres[0] >= 1, "{release}: {row:?}");
        }
    }
}

/// sprio of 20.11 where the highest priority of an association is 0.
#[test]
fn a_part_that_is_not_a_number_leaves_the_line_readable() {
    let line = "2|7003|0.00000163|0|0|0.0000000|0|-nan|5022|0.0050223|0|0.0000000|2000|1.0000000|0|0.0000000|19||held\n";
    let (sums, unread) = priorities::sums(line);
    assert_eq!((unread, sums.len()), (Unread::default(), 1));
    assert_eq!((sums[0].priority, sums[0].assoc), (7003, (0.0, 0.0)));
}
