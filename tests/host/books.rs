//! Books: what jobs have in each of them, against the definition, in a cycle, between two, and for `sprio`.

use std::collections::BTreeMap;
use std::fs;

use multifactor2_fixtures::books_model::{in_book, Account};
use multifactor2_fixtures::dominant_model::{shares as dominant_shares, Used};
use multifactor2_fixtures::model::{outcomes, Association as Competitor};
use slurm_inproc::{state, Association, Conf, FactorsFilter, Host, HostResult, Job, Partition, Qos};

use crate::setup::{options, FAIR_TREE, NOW};
use crate::tree::{assert_near, WEIGHT};

const ALICE: u32 = 4;
const BOB: u32 = 5;
const CAROL: u32 = 6;
const SETTINGS: &str = "Book=fast Partitions=fast\nBook=long Partitions=long,longer Shares=chemistry:3,*:1\n";
const PARTITIONS: [&str; 4] = ["batch", "fast", "long", "longer"];

/// The number of a partition's book.
fn book(partition: &str) -> usize {
    match partition {
        "fast" => 1,
        "long" | "longer" => 2,
        _ => 0,
    }
}

fn filled(settings: &str) -> HostResult<Host> {
    let mut options = options()?;
    options.files = vec![("multifactor2.conf".to_owned(), settings.to_owned())];
    let mut host = Host::start(&options)?;
    host.configure(&Conf::new().flags(FAIR_TREE).cluster_cpus(200_u32).nodes(20_u32))?;
    host.configure(&Conf::new().decay_half_life(0_u32).weight_fairshare(WEIGHT))?;
    host.qos(&Qos::new(1_u32).name("normal"))?;
    let account = |id: u32, name: &str| Association::new(id).parent(1_u32).account(name);
    host.associations(&[
        Association::new(1_u32).account("root"),
        account(2, "physics").shares(30_u32),
        account(3, "chemistry").shares(10_u32),
        user(ALICE, 2, "physics", "alice").shares(1_u32),
        user(BOB, 2, "physics", "bob").shares(3_u32),
        user(CAROL, 3, "chemistry", "carol").shares(1_u32),
    ])?;
    for (tier, name) in (1_u16..).zip(PARTITIONS) {
        host.partition(&Partition::new(name).tier(tier).tres([(1, 100), (4, 10)]))?;
    }
    Ok(host)
}

fn user(id: u32, parent: u32, account: &str, name: &str) -> Association {
    Association::new(id).parent(parent).account(account).user(name).uid(1000 + id)
}

fn job(id: u32, association: u32, partitions: &[&str]) -> Job {
    Job::new(id)
        .association(association)
        .user_id(1000 + association)
        .qos(1_u32)
        .partitions(partitions.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        .priority(1_u32)
        .submit_time(NOW - 60)
        .begin_time(NOW - 60)
        .accrue_time(NOW - 60)
}

fn running(id: u32, association: u32, partition: &str, cpus: u32) -> Job {
    job(id, association, &[partition])
        .state(state::RUNNING)
        .start_time(NOW)
        .end_time_expected(NOW + 3_600_000)
        .time_limit(60_000_u32)
        .total_cpus(cpus)
        .tres_allocated([(1, u64::from(cpus)), (4, 1)])
}

/// The cluster as the model has it: usage of alice, bob and carol by book, and who waits in which.
fn model(usage: [[f64; 3]; 3], waiting: [[bool; 3]; 3]) -> Vec<Account> {
    let account = |parent: Option<usize>, name: &str, shares| Account {
        parent,
        shares: Some(shares),
        name: name.to_owned(),
        own: vec![0.0; 3],
        waiting: vec![false; 3],
    };
    let user = |at: usize, parent, shares| Account {
        own: usage[at].to_vec(),
        waiting: waiting[at].to_vec(),
        ..account(Some(parent), "", shares)
    };
    vec![
        account(None, "root", 1),
        account(Some(0), "physics", 30),
        account(Some(0), "chemistry", 10),
        user(0, 1, 1),
        user(1, 1, 3),
        user(2, 2, 1),
    ]
}

/// The factor of a user in each book.
fn factors(model: &[Account], association: u32) -> [f64; 3] {
    let own: &[(&str, u32)] = &[("chemistry", 3), ("*", 1)];
    [(0, None), (1, None), (2, Some(own))]
        .map(|(book, shares)| in_book(model, book, shares)[association as usize - 1].factor)
}

/// What sprio shows of a job, by partition.
fn shown(host: &mut Host, job: u32) -> HostResult<BTreeMap<String, f64>> {
    let rows = host.factors(&FactorsFilter::new().uid(0_u32).jobs([job]))?;
    Ok(rows.into_iter().map(|row| (row.partition, row.factors.fairshare / f64::from(WEIGHT))).collect())
}

/// A job has in each of its partitions what its user has in the book: for `sprio`, and for the scheduler.
#[track_caller]
fn assert_job(
    host: &mut Host,
    job: u32,
    partitions: &[&str],
    expected: [f64; 3],
    what: &str,
) -> HostResult<()> {
    let shown = shown(host, job)?;
    assert_eq!(shown.len(), partitions.len(), "{what}: job {job}: {shown:?}");
    for name in partitions {
        assert_near(shown[*name], expected[book(name)], &format!("{what}: job {job} in {name}"));
    }
    let record = host.dump_job(job)?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // below a million
    let priority = |name: &&str| ((expected[book(name)] * f64::from(WEIGHT)) as u32).max(1);
    if partitions.len() > 1 {
        let (mut found, mut due) =
            (record.priority_array.clone(), partitions.iter().map(priority).collect::<Vec<_>>());
        found.sort_unstable();
        due.sort_unstable();
        assert!(
            found.iter().zip(&due).all(|(found, due)| found.abs_diff(*due) <= 1),
            "{what}: {found:?}, not {due:?}"
        );
    } else {
        assert!(record.priority.abs_diff(priority(&partitions[0])) <= 1, "{what}: {record:?}");
    }
    Ok(())
}

const WAITING: [(u32, u32, &[&str]); 4] = [
    (11, ALICE, &["batch"]),
    (12, BOB, &["fast"]),
    (13, CAROL, &["batch", "fast", "longer"]),
    (14, ALICE, &["long"]),
];
const WAITS: [[bool; 3]; 3] = [[true, false, true], [false, true, false], [true, true, true]];

fn loaded() -> HostResult<Host> {
    let mut host = filled(SETTINGS)?;
    let jobs = WAITING.map(|(id, association, partitions)| job(id, association, partitions));
    host.jobs(&jobs)?;
    host.jobs(&[
        running(1, ALICE, "fast", 8),
        running(2, BOB, "batch", 4),
        running(3, CAROL, "long", 2),
        running(4, BOB, "longer", 1),
        running(5, CAROL, "fast", 1),
    ])?;
    host.init()?;
    host.set_clock(NOW + 100)?;
    host.cycle()?;
    Ok(host)
}

const USED: [[f64; 3]; 3] = [[0.0, 800.0, 0.0], [400.0, 0.0, 100.0], [0.0, 100.0, 200.0]];

#[test]
fn each_job_has_what_its_user_has_in_the_book_of_its_partition() -> HostResult<()> {
    let mut host = loaded()?;
    let due = model(USED, WAITS);
    for (id, association, partitions) in WAITING {
        assert_job(&mut host, id, partitions, factors(&due, association), "after a cycle")?;
    }
    // sshare shows the default book; raw usage is that of all.
    let book = in_book(&due, 0, None);
    for (id, raw) in [(1, 1600.0), (2, 1300.0), (3, 300.0), (ALICE, 800.0), (BOB, 500.0), (CAROL, 300.0)] {
        let record = host.dump_association(id)?;
        let at = id as usize - 1;
        assert_near(record.usage_raw.to_f64(), raw, "raw usage");
        assert_near(record.usage_norm.to_f64(), book[at].u, "U");
        assert_near(record.shares_norm, book[at].s, "S");
        if id >= ALICE {
            assert_near(record.fs_factor, book[at].factor, "factor");
        }
    }
    let log = host.quit()?;
    for book in ["fast", "long"] {
        assert_eq!(log.matches(&format!("Book={book} starts without usage")).count(), 1, "{log}");
    }
    Ok(())
}

/// A submission gets what the last cycle would have given it, in each book; one in several partitions makes its user take part in each.
#[test]
fn submissions_ask_the_books_of_their_partitions() -> HostResult<()> {
    let mut host = loaded()?;
    let due = model(USED, WAITS);
    host.jobs(&[job(21, CAROL, &["long"]), job(22, ALICE, &["fast", "long"])])?;
    for (id, association, partitions) in [(21, CAROL, &["long"][..]), (14, ALICE, &["long"])] {
        let priority = f64::from(host.set_priority(id)?);
        let factor = factors(&due, association)[book(partitions[0])];
        assert!((priority - factor * f64::from(WEIGHT)).abs() <= 1.0, "job {id}: {priority}, not {factor}");
    }
    // Prospective in one of them.
    host.set_priority(22)?;
    let with = model(USED, [[true, true, true], WAITS[1], WAITS[2]]);
    let alone = |at: usize| {
        // Tickets of somebody who comes are compared with those of the best before.
        let (before, after) = (in_book(&due, at, None), in_book(&with, at, None));
        let best = before[3..].iter().filter(|user| user.active).map(|user| user.tickets).fold(0.0, f64::max);
        (after[ALICE as usize - 1].tickets / best).min(1.0)
    };
    let expected = [0.0, alone(1), factors(&due, ALICE)[2]];
    assert_job_rows(&mut host, 22, &["fast", "long"], expected)?;
    host.set_clock(NOW + 200)?;
    host.cycle()?;
    let used = USED.map(|user| user.map(|used| 2.0 * used));
    let due = model(used, [[true; 3], WAITS[1], WAITS[2]]);
    assert_job(&mut host, 22, &["fast", "long"], factors(&due, ALICE), "after another cycle")?;
    assert_job(&mut host, 21, &["long"], factors(&due, CAROL), "after another cycle")?;
    host.quit().map(drop)
}

#[track_caller]
fn assert_job_rows(host: &mut Host, job: u32, partitions: &[&str], expected: [f64; 3]) -> HostResult<()> {
    let shown = shown(host, job)?;
    for name in partitions {
        assert_near(shown[*name], expected[book(name)], &format!("job {job} in {name}"));
    }
    Ok(())
}

#[test]
fn a_user_who_is_newer_than_the_last_cycle_has_each_book() -> HostResult<()> {
    let mut host = loaded()?;
    host.associations(&[user(7, 3, "chemistry", "dora").shares(1_u32)])?;
    host.jobs(&[job(31, 7, &["batch", "fast", "long"])])?;
    host.set_priority(31)?;
    let rows = shown(&mut host, 31)?;
    assert!(rows.values().all(|factor| *factor > 0.0), "{rows:?}");
    host.set_clock(NOW + 200)?;
    host.cycle()?;
    let mut due = model(USED.map(|user| user.map(|used| 2.0 * used)), WAITS);
    due.push(Account { own: vec![0.0; 3], waiting: vec![true; 3], ..due[5].clone() });
    let expected = factors(&due, 7);
    assert_job(&mut host, 31, &["batch", "fast", "long"], expected, "after a cycle")?;
    host.quit().map(drop)
}

/// A share of 0 is a factor of 0, and the lowest priority.
#[test]
fn a_share_of_zero_comes_last() -> HostResult<()> {
    let mut host = filled("Book=long Partitions=long Shares=physics:1\n")?;
    host.jobs(&[job(11, ALICE, &["long"]), job(12, CAROL, &["long"]), job(13, CAROL, &["batch", "long"])])?;
    host.init()?;
    host.cycle()?;
    assert_job(&mut host, 11, &["long"], [1.0, 0.0, 1.0], "physics")?;
    assert_job(&mut host, 12, &["long"], [1.0, 0.0, 0.0], "chemistry")?;
    assert_job(&mut host, 13, &["batch", "long"], [1.0, 0.0, 0.0], "in both")?;
    host.quit().map(drop)
}

/// Nothing was distributed yet: the tree is read on the spot, with the shares of each book.
#[test]
fn before_the_first_cycle_there_are_books() -> HostResult<()> {
    let mut host = filled("Book=long Partitions=long Shares=physics:1\n")?;
    host.init_without_thread()?;
    host.jobs(&[job(11, ALICE, &["long"]), job(12, CAROL, &["long"]), job(13, CAROL, &["batch"])])?;
    let priorities = [host.set_priority(11)?, host.set_priority(12)?, host.set_priority(13)?];
    assert_eq!(priorities, [WEIGHT, 1, WEIGHT]);
    host.quit().map(drop)
}

/// Each book has its own R and C, and its own best job.
#[test]
fn dilution_counts_in_each_book_by_itself() -> HostResult<()> {
    let mut host = filled("Dilution=user\nBook=fast Partitions=fast\n")?;
    let later =
        |id: u32, partitions: &[&str]| job(id, ALICE, partitions).accrue_time(NOW - 60 + i64::from(id));
    host.jobs(&[
        later(11, &["batch"]),
        later(12, &["batch", "fast"]),
        later(13, &["fast"]),
        later(14, &["fast"]),
        running(1, BOB, "fast", 1),
        job(15, BOB, &["batch"]),
    ])?;
    host.init()?;
    host.cycle()?;
    // In the default book bob has nine tickets for one of alice: 30 of 40 shares, divided 3 to 1 each times F of 1.
    let rows = shown(&mut host, 12)?;
    let (first, second) = (shown(&mut host, 11)?["batch"], rows["batch"]);
    assert_near(first, 2.0 * second, "the second of two");
    assert_near(shown(&mut host, 15)?["batch"], 1.0, "the best of its book");
    assert_near(rows["fast"], 1.0, "the first in the other book");
    assert_near(shown(&mut host, 13)?["fast"], 0.5, "the second there");
    assert_near(shown(&mut host, 14)?["fast"], 1.0 / 3.0, "the third there");
    // A submission is the last in each of its books, once.
    host.jobs(&[later(16, &["batch", "fast"])])?;
    for _ in 0..2 {
        host.set_priority(16)?;
        let rows = shown(&mut host, 16)?;
        assert_near(rows["fast"], 0.25, "the fourth");
        assert_near(rows["batch"], first / 3.0, "the third");
    }
    host.jobs(&[later(17, &["fast"])])?;
    host.set_priority(17)?;
    assert_near(shown(&mut host, 17)?["fast"], 0.2, "the fifth");
    // One that the cycle knew keeps what it has.
    host.set_priority(12)?;
    let rows = shown(&mut host, 12)?;
    assert_near(rows["fast"], 1.0, "set again");
    assert_near(rows["batch"], second, "set again");
    host.set_clock(NOW + 60)?;
    host.cycle()?;
    assert_near(shown(&mut host, 17)?["fast"], 0.2, "after a cycle");
    assert_near(shown(&mut host, 16)?["batch"], first / 3.0, "after a cycle");
    host.quit().map(drop)
}

/// Override tickets by partition count in their own entry, whichever book it is in.
#[test]
fn override_tickets_count_in_their_own_book() -> HostResult<()> {
    let mut host = filled("Override=Partition Name=fast Tickets=10000\nBook=fast Partitions=fast,long\n")?;
    host.jobs(&[
        job(11, ALICE, &["batch", "fast", "long"]),
        job(12, ALICE, &["fast"]),
        job(13, ALICE, &["batch"]),
    ])?;
    host.init()?;
    host.cycle()?;
    let rows = shown(&mut host, 11)?;
    assert_near(rows["batch"], 1.0, "no override tickets there");
    assert!(rows["fast"] > rows["long"] && rows["long"] > 0.0, "{rows:?}");
    host.quit().map(drop)
}

/// Three share the tickets of a partition: the first has all of them, the second half, the third a third. In the other partition each
/// is without what it has of them itself, also one that has come since the cycle.
#[test]
fn of_jobs_that_share_tickets_of_a_partition_none_has_any_of_them_in_another() -> HostResult<()> {
    let mut host = filled("Override=Partition Name=fast Tickets=6000\n")?;
    let both = |id| job(id, ALICE, &["fast", "batch"]);
    host.jobs(&[both(11), both(12), both(13), job(14, ALICE, &["batch"])])?;
    host.init()?;
    host.cycle()?;
    host.jobs(&[both(15)])?;
    host.set_priority(15)?;
    let plain = shown(&mut host, 14)?["batch"];
    assert!(plain > 0.0);
    let mut whole = None;
    for (id, nth) in [(11, 1.0), (12, 2.0), (13, 3.0), (15, 4.0)] {
        let rows = shown(&mut host, id)?;
        let part = rows["fast"] - plain;
        assert_near(part, *whole.get_or_insert(part) / nth, &format!("job {id} in fast"));
        assert_near(rows["batch"], plain, &format!("job {id} in batch"));
    }
    host.quit().map(drop)
}

#[test]
fn names_that_nothing_has_are_said_once() -> HostResult<()> {
    let mut host = filled("Book=one Partitions=batch,nowhere Shares=physics:1,nobody:2,*:1\n")?;
    host.init()?;
    host.cycle()?;
    host.cycle()?;
    let log = host.quit()?;
    for said in [
        "Book=one Partitions=nowhere: this name does not exist",
        "Book=one Shares=nobody: this name does not exist",
    ] {
        assert_eq!(log.matches(said).count(), 1, "{said}: {log}");
    }
    assert_eq!(log.matches("this name does not exist").count(), 2, "{log}");
    Ok(())
}

/// A reconfigure gives a book, takes it, and gives it back with what it had.
#[test]
fn books_come_and_go_with_a_reconfigure() -> HostResult<()> {
    let mut host = loaded()?;
    let change = |host: &mut Host, settings: &str, at: i64| -> HostResult<()> {
        fs::write(host.directory().join("multifactor2.conf"), settings)?;
        host.reconfigure(true)?;
        host.set_clock(NOW + at)?;
        host.cycle().map(drop)
    };
    change(&mut host, "", 200)?;
    let all = model(USED.map(|user| [2.0 * user.iter().sum::<f64>(), 0.0, 0.0]), [[true, false, false]; 3]);
    for (id, association, partitions) in WAITING {
        let factor = factors(&all, association)[0];
        assert_job(&mut host, id, partitions, [factor; 3], "without books")?;
    }
    // What ran meanwhile is in the default book.
    change(&mut host, SETTINGS, 300)?;
    let due = model(
        [0, 1, 2].map(|at| {
            let (once, total) = (USED[at], USED[at].iter().sum::<f64>());
            [3.0 * total - 2.0 * once[1] - 2.0 * once[2], 2.0 * once[1], 2.0 * once[2]]
        }),
        WAITS,
    );
    for (id, association, partitions) in WAITING {
        assert_job(&mut host, id, partitions, factors(&due, association), "with them again")?;
    }
    let log = host.quit()?;
    assert_eq!(log.matches("starts without usage").count(), 2, "{log}");
    Ok(())
}

/// Charge rules, a minimum, books and dominant shares at once, with and without reports of ends, against the definitions of each.
#[test]
fn books_go_by_dominant_shares_of_charged_usage() -> HostResult<()> {
    let rules =
        "UsageMeasure=dominant\nDominantTRES=cpu,node=2.0\nCharge=Partition Name=long,longer Factor=0.5\n\
                 Charge=Account Name=chemistry Factor=2\nMinimumCharge=10:00\n";
    for enforce in [1_u16, 3] {
        let mut host = filled(&format!("{SETTINGS}{rules}"))?;
        host.configure(&Conf::new().enforce(enforce))?;
        host.tres_totals(&[(1, 200), (4, 20)])?;
        let waiting = WAITING.map(|(id, association, partitions)| job(id, association, partitions));
        host.jobs(&waiting)?;
        host.jobs(&[
            running(1, ALICE, "fast", 8),
            running(2, BOB, "batch", 4),
            running(3, CAROL, "long", 2),
            running(4, BOB, "longer", 1),
            running(5, CAROL, "fast", 1),
            running(6, BOB, "fast", 16),
        ])?;
        host.init()?;
        host.set_clock(NOW + 50)?;
        host.jobs(&[Job::new(6_u32).state(state::COMPLETE).end_time(NOW + 50)])?;
        if enforce == 3 {
            host.job_end(6)?;
        }
        host.set_clock(NOW + 100)?;
        host.cycle()?;
        // Processors and nodes times charged seconds, by book: the sixth job is charged its minimum.
        let none = [0.0, 0.0];
        let used = [
            [none, [800.0, 100.0], none],
            [[400.0, 100.0], [16.0 * 600.0, 600.0], [50.0, 50.0]],
            [none, [200.0, 200.0], [200.0, 100.0]],
        ];
        let plain = model([[0.0; 3]; 3], WAITS);
        let in_book = |book: usize| -> Vec<f64> {
            let list: Vec<Used> = (0..plain.len())
                .map(|at| Used {
                    parent: plain[at].parent,
                    own: at.checked_sub(3).map_or(none, |user| used[user][book]).to_vec(),
                })
                .collect();
            let dominant = dominant_shares(&list, &[200.0 * 100.0, 20.0 * 100.0], &[1.0, 2.0]);
            let own = [Some(1), Some(1), Some(3)];
            let list: Vec<Competitor> = (0..plain.len())
                .map(|at| Competitor {
                    parent: plain[at].parent,
                    shares: own.get(at).filter(|_| book == 2).copied().unwrap_or(plain[at].shares),
                    user: at >= 3,
                    usage: dominant[at],
                    waiting: plain[at].waiting[book],
                })
                .collect();
            outcomes(&list).into_iter().map(|outcome| outcome.factor).collect()
        };
        let by_book = [0, 1, 2].map(in_book);
        for (id, association, partitions) in WAITING {
            let expected = [0, 1, 2].map(|book: usize| by_book[book][association as usize - 1]);
            assert_job(&mut host, id, partitions, expected, &format!("enforce {enforce}"))?;
        }
        for (id, raw) in [(ALICE, 800.0), (BOB, 400.0 + 50.0 + 9600.0), (CAROL, 400.0)] {
            assert_near(host.dump_association(id)?.usage_raw.to_f64(), raw, "raw usage");
        }
        host.quit()?;
    }
    Ok(())
}

/// Where slurmctld reports no ends: what has no partition any more is charged to nobody.
#[test]
fn an_ended_job_of_a_removed_partition_counts_for_nobody() -> HostResult<()> {
    let after = |ended: Option<Vec<String>>| -> HostResult<Vec<BTreeMap<String, f64>>> {
        let mut host = filled("UsageMeasure=dominant\nDominantTRES=cpu\n")?;
        host.configure(&Conf::new().enforce(1_u16))?;
        host.tres_totals(&[(1, 200), (4, 20)])?;
        host.jobs(&WAITING.map(|(id, association, partitions)| job(id, association, partitions)))?;
        host.jobs(&[running(1, ALICE, "fast", 8), running(3, CAROL, "batch", 2)])?;
        if ended.is_some() {
            host.jobs(&[running(2, BOB, "batch", 16)])?;
        }
        host.init()?;
        host.cycle()?;
        host.set_clock(NOW + 50)?;
        let end = |id: u32| Job::new(id).state(state::COMPLETE).end_time(NOW + 50);
        host.jobs(&[end(3)])?;
        if let Some(partitions) = ended {
            host.jobs(&[end(2).partitions(partitions)])?;
        }
        host.set_clock(NOW + 100)?;
        host.cycle()?;
        let shown = WAITING.iter().map(|(id, ..)| shown(&mut host, *id)).collect::<HostResult<_>>()?;
        host.quit()?;
        Ok(shown)
    };
    let without = after(None)?;
    assert_eq!(after(Some(Vec::new()))?, without);
    assert_ne!(after(Some(vec!["batch".to_owned()]))?, without, "it counts where its partition is");
    Ok(())
}
