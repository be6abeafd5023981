//! Grants: what is counted of whom and when, over ends, resizes, suspensions, midnights, restarts and damaged files, and what that does to jobs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use multifactor2_snapshot::{format, Snapshot};
use slurm_inproc::{state, Association, Conf, FactorsFilter, Host, HostResult, Job, Options, Partition, Qos};

use crate::charges::LIMITS;
use crate::setup::{eventually, options, FAIR_TREE, NOW};

const JOHN: u32 = 3;
const ANN: u32 = 5;
const EVE: u32 = 7;
const NORMAL: u32 = 1;
const OFFSET: i64 = slurm_inproc::constants::NICE_OFFSET as i64;

/// Midnight of UTC after [`NOW`].
const MIDNIGHT: i64 = NOW + 73_600;

/// An hour of a CPU each day.
const LINE: &str = "Grant=Account Name=physics Amount=3 From=2033-05-18 Until=2033-05-20 Pace=1days TimeZone=UTC Within=1000\nPointsCap=100000\n";

fn start(settings: &str, jobs: &[Job], change: impl FnOnce(&mut Options)) -> HostResult<Host> {
    let mut options = options()?;
    options.files = vec![("multifactor2.conf".to_owned(), settings.to_owned())];
    change(&mut options);
    let mut host = Host::start(&options)?;
    host.configure(
        &Conf::new().flags(FAIR_TREE).decay_half_life(0_u32).cluster_cpus(128_u32).enforce(LIMITS),
    )?;
    host.tres_totals(&[(1, 128), (2, 1000), (4, 4)])?;
    host.qos(&Qos::new(NORMAL).name("normal"))?;
    let account = |id: u32, parent: u32, name: &str| Association::new(id).parent(parent).account(name);
    let user = |id: u32, parent: u32, account: &str, name: &str| {
        Association::new(id).parent(parent).account(account).user(name).uid(1000 + id)
    };
    host.associations(&[
        Association::new(1_u32).account("root"),
        account(2, 1, "physics"),
        user(JOHN, 2, "physics", "john"),
        account(4, 1, "chemistry"),
        user(ANN, 4, "chemistry", "ann"),
        account(6, 2, "optics"),
        user(EVE, 6, "optics", "eve"),
    ])?;
    host.partition(&Partition::new("batch"))?;
    host.partition(&Partition::new("fast"))?;
    host.jobs(jobs)?;
    host.init()?;
    Ok(host)
}

fn job(id: u32, association: u32) -> Job {
    Job::new(id)
        .association(association)
        .user_id(1000 + association)
        .qos(NORMAL)
        .partitions(["batch".to_owned()])
        .priority(1_u32)
        .submit_time(NOW - 60)
        .begin_time(NOW - 60)
        .accrue_time(NOW - 60)
        .time_limit(60_u32)
        .tres_requested([(1, 2), (4, 1)])
}

fn running(id: u32, association: u32, cpus: u64) -> Job {
    let job = job(id, association).state(state::RUNNING).start_time(NOW).end_time_expected(NOW + 200_000);
    job.time_limit(10_000_u32).tres_allocated([(1, cpus), (4, 1)])
}

fn ended(host: &mut Host, id: u32, at: i64) -> HostResult<()> {
    host.jobs(&[Job::new(id).state(state::COMPLETE | state::COMPLETING).end_time(at)])?;
    host.job_end(id)
}

fn at(host: &mut Host, time: i64) -> HostResult<()> {
    host.set_clock(time)?;
    host.cycle().map(drop)
}

/// What sprio's SITE shows, now and when the job is set again.
#[track_caller]
fn assert_sites(host: &mut Host, expected: &[(u32, i64)], what: &str) -> HostResult<()> {
    for (id, expected) in expected {
        for when in ["calculated", "set again"] {
            let shown = host.factors(&FactorsFilter::new().uid(0_u32).jobs([*id]))?;
            assert_eq!(i64::from(shown[0].factors.site) - OFFSET, *expected, "{what}, {when}: job {id}");
            host.set_priority(*id)?;
        }
    }
    Ok(())
}

fn file(host: &Host) -> PathBuf {
    host.directory().join("state/multifactor2_grants")
}

/// What is kept of the line that begins so: its state, and the seconds used by period.
#[track_caller]
pub fn kept(host: &Host, line: &str) -> (String, Vec<i128>) {
    let text = fs::read_to_string(file(host)).unwrap();
    let begin = format!("ledger {line} ");
    let rest = text.lines().find_map(|text| text.strip_prefix(&begin)).unwrap_or_else(|| panic!("{text}"));
    let words: Vec<&str> = rest.split(' ').collect();
    (words[4].to_owned(), words[5..].iter().map(|word| word.parse().unwrap()).collect())
}

const PHYSICS: &str = "Account physics cpu - - UTC 2033-05-18 1days -";

#[test]
fn a_grant_that_is_used_up_puts_jobs_last_until_the_next_period() -> HostResult<()> {
    let mut host = start(LINE, &[job(1, JOHN), job(2, ANN), job(3, EVE), running(7, EVE, 4)], |_| ())?;
    assert_sites(&mut host, &[(1, 1000), (2, 0), (3, 1000)], "nothing is used")?;
    at(&mut host, NOW + 899)?;
    assert_eq!(kept(&host, PHYSICS), ("within".to_owned(), vec![4 * 899]));
    assert_sites(&mut host, &[(1, 1000), (2, 0), (3, 1000)], "nearly all is used")?;
    at(&mut host, NOW + 900)?;
    assert_eq!(kept(&host, PHYSICS), ("beyond".to_owned(), vec![3600]));
    assert_sites(&mut host, &[(1, -100_000), (2, 0), (3, -100_000)], "all is used")?;
    host.fini()?;
    host.init()?;
    assert_sites(&mut host, &[(1, -100_000), (2, 0), (3, -100_000)], "after a restart")?;
    ended(&mut host, 7, NOW + 900)?;
    at(&mut host, MIDNIGHT - 1)?;
    assert_sites(&mut host, &[(1, -100_000)], "the last second of the day")?;
    // Nothing is carried: the next day has as much as each.
    at(&mut host, MIDNIGHT)?;
    assert_sites(&mut host, &[(1, 1000), (2, 0), (3, 1000)], "the next day")?;
    // Jobs behind the last day are as if beyond.
    at(&mut host, MIDNIGHT + 3 * 86_400)?;
    assert_sites(&mut host, &[(1, -100_000), (2, 0)], "when the grant is over")?;
    let log = host.quit()?;
    assert!(!log.contains("error: priority/multifactor2"), "{log}");
    Ok(())
}

#[test]
fn each_second_is_counted_once_over_borders_ends_and_restarts() -> HostResult<()> {
    let mut host = start(LINE, &[job(1, JOHN), running(7, JOHN, 2), running(8, EVE, 3)], |_| ())?;
    at(&mut host, MIDNIGHT - 10)?;
    // Ends after midnight, between two cycles. It is told twice.
    host.set_clock(MIDNIGHT + 20)?;
    ended(&mut host, 7, MIDNIGHT + 5)?;
    host.job_end(7)?;
    at(&mut host, MIDNIGHT + 30)?;
    let first = 5 * 73_600;
    assert_eq!(kept(&host, PHYSICS).1, [first, 2 * 5 + 3 * 30]);
    // A restart in between, with an end that waits in the file.
    host.jobs(&[running(9, JOHN, 10).start_time(MIDNIGHT + 31)])?;
    host.set_clock(MIDNIGHT + 50)?;
    ended(&mut host, 9, MIDNIGHT + 41)?;
    host.fini()?;
    let text = fs::read_to_string(file(&host))?;
    assert!(text.contains("\nended 9 "), "{text}");
    host.init()?;
    at(&mut host, MIDNIGHT + 60)?;
    assert_eq!(kept(&host, PHYSICS).1, [first, 10 + 3 * 60 + 100]);
    // slurmctld was killed, and knows nothing of the end of 8: it runs again, and is counted from the time of the file on.
    let before = fs::read(file(&host))?;
    host.set_clock(MIDNIGHT + 90)?;
    ended(&mut host, 8, MIDNIGHT + 80)?;
    host.fini()?;
    assert_ne!(fs::read(file(&host))?, before);
    host.jobs(&[running(8, EVE, 3)])?;
    host.init()?;
    at(&mut host, MIDNIGHT + 100)?;
    assert_eq!(kept(&host, PHYSICS).1, [first, 10 + 3 * 100 + 100]);
    // An older file, as after a crash of the machine.
    host.fini()?;
    fs::write(file(&host), before)?;
    host.set_clock(MIDNIGHT + 120)?;
    host.init()?;
    at(&mut host, MIDNIGHT + 130)?;
    assert_eq!(kept(&host, PHYSICS).1, [first, 10 + 3 * 130 + 100]);
    host.quit().map(drop)
}

#[test]
fn a_resize_goes_on_with_the_rest_and_suspended_seconds_are_taken_off() -> HostResult<()> {
    let mut host = start(LINE, &[running(7, JOHN, 8), running(8, EVE, 1)], |_| ())?;
    at(&mut host, NOW + 100)?;
    assert_eq!(kept(&host, PHYSICS).1, [900]);
    // Half the CPUs from second 150 on: slurmctld tells an end, and the job goes on with the same id and start.
    host.set_clock(NOW + 150)?;
    host.jobs(&[Job::new(7_u32).state(state::RUNNING | state::RESIZING).resize_time(NOW + 150)])?;
    host.job_end(7)?;
    let smaller = Job::new(7_u32).state(state::RUNNING).tres_allocated([(1, 4), (4, 1)]);
    host.jobs(&[smaller.end_time_expected(NOW + 200_000)])?;
    // The other one stands still for half a minute.
    host.jobs(&[Job::new(8_u32).state(2_u32).suspend_time(NOW + 130).before_suspension(130)])?;
    for what in ["in one process", "after a restart"] {
        if what == "after a restart" {
            host.fini()?;
            host.init()?;
        }
        host.set_clock(NOW + 160)?;
    }
    host.jobs(&[Job::new(8_u32).state(state::RUNNING).suspend_time(NOW + 160).before_suspension(130)])?;
    at(&mut host, NOW + 200)?;
    // 8 for 150 seconds, 4 for 50; and 130 + 40.
    assert_eq!(kept(&host, PHYSICS).1, [8 * 150 + 4 * 50 + 170]);
    at(&mut host, NOW + 300)?;
    assert_eq!(kept(&host, PHYSICS).1, [8 * 150 + 4 * 150 + 270]);
    // It is suspended when it ends: what it ran counts.
    host.jobs(&[Job::new(8_u32).state(2_u32).suspend_time(NOW + 310).before_suspension(280)])?;
    at(&mut host, NOW + 400)?;
    ended(&mut host, 8, NOW + 310)?;
    ended(&mut host, 7, NOW + 400)?;
    at(&mut host, NOW + 500)?;
    assert_eq!(kept(&host, PHYSICS).1, [8 * 150 + 4 * 250 + 280]);
    host.quit().map(drop)
}

#[test]
fn what_cannot_be_read_is_said_and_nobody_is_beyond() -> HostResult<()> {
    let mut host = start(LINE, &[job(1, JOHN), running(7, JOHN, 4)], |_| ())?;
    at(&mut host, NOW + 900)?;
    at(&mut host, NOW + 1000)?;
    assert_sites(&mut host, &[(1, -100_000)], "all is used")?;
    // The copy before, with what the job that runs has used since.
    host.fini()?;
    let (path, old) = (file(&host), file(&host).with_extension("old"));
    fs::write(&path, "half a file")?;
    assert!(old.exists());
    host.init()?;
    assert_sites(&mut host, &[(1, -100_000)], "the copy")?;
    assert_eq!(kept(&host, PHYSICS), ("beyond".to_owned(), vec![4000]));
    assert!(host.log().contains("The previous copy is used"), "{}", host.log());
    // Neither can be read.
    host.fini()?;
    fs::write(&path, "half a file")?;
    fs::write(&old, "half a file")?;
    host.init()?;
    for what in ["in this process", "in the next one"] {
        assert_sites(&mut host, &[(1, 0)], what)?;
        assert_eq!(kept(&host, PHYSICS).0, "unknown", "{what}");
        host.fini()?;
        host.init()?;
    }
    let said = "The earlier usage of grants is unknown, and no job is beyond them";
    assert!(host.log().contains(said), "{}", host.log());
    assert!(host.log().contains("that of account physics: no job is beyond them. Run 'multifactor2 grants"));
    // The administrator knows: an hour on the first day.
    let known = LINE.replace(" Within", " Used=1 UsedUntil=2033-05-19 Within");
    fs::write(host.directory().join("multifactor2.conf"), known)?;
    host.reconfigure(true)?;
    host.cycle()?;
    assert_sites(&mut host, &[(1, -100_000)], "told")?;
    host.quit().map(drop)
}

#[test]
fn units_scopes_and_partitions_are_counted_apart() -> HostResult<()> {
    let days = "From=2033-05-18 Until=2033-05-20 Pace=1days TimeZone=UTC";
    let lines = [
        format!("Grant=User Name=john Amount=3 Unit=node-hours {days} Beyond=share Within=10"),
        format!("Grant=QOS Name=NORMAL Amount=300 {days} Within=100"),
        format!("Grant=Group Name=4711 Amount=300 {days} Partition=fast Within=40"),
        format!("Grant=Account Name=chemistry Amount=300 {days} Rule=carry Borrow=1 CarryOver=0.5"),
        "Adjust=User Name=john Amount=-1.5 Unit=node-hours At=2033-05-18".to_owned(),
        "PointsCap=100000\n".to_owned(),
    ];
    let jobs = [
        job(1, JOHN),
        job(2, ANN).group_id(4711_u32).partitions(["batch".to_owned(), "fast".to_owned()]),
        running(7, JOHN, 2).tres_allocated([(1, 2), (4, 5)]),
        running(8, ANN, 3).group_id(4711_u32).partitions(["fast".to_owned()]),
        running(9, ANN, 50).group_id(4711_u32),
    ];
    let mut host = start(&lines.join("\n"), &jobs, |_| ())?;
    at(&mut host, NOW + 100)?;
    let of = |host: &Host, line: &str| kept(host, &format!("{line} UTC 2033-05-18 1days -"));
    assert_eq!(
        of(&host, "User john node - -"),
        ("beyond".to_owned(), vec![500]),
        "an hour less than nothing"
    );
    assert_eq!(of(&host, "QOS normal cpu - -"), ("within".to_owned(), vec![5500]));
    assert_eq!(of(&host, "Group 4711 cpu fast -"), ("within".to_owned(), vec![300]));
    assert_eq!(of(&host, "Account chemistry cpu - -"), ("within".to_owned(), vec![5300]));
    let shown = host.factors(&FactorsFilter::new().uid(0_u32).jobs([1, 2]))?;
    let sites: Vec<(u32, String, i64)> = shown
        .into_iter()
        .map(|entry| (entry.job_id, entry.partition, i64::from(entry.factors.site) - OFFSET))
        .collect();
    // Beyond one grant there is no bonus, and of several the largest counts once.
    assert_eq!(sites[0].2, 0, "{sites:?}");
    assert_eq!(sites[1..].iter().map(|(_, _, site)| *site).collect::<Vec<_>>(), [100, 100], "{sites:?}");
    host.quit().map(drop)
}

/// What slurmctld charges is what is used: with the factor of the QOS, that of the weekday and hour, and the minimum.
#[test]
fn with_factors_usage_is_what_slurmctld_charges() -> HostResult<()> {
    const OF: &str = "Account physics cpu - - UTC,factors 2033-05-18 1days -";
    let settings = LINE.replace("Amount=3", "Amount=3.5 Factors=yes")
        + "Charge=Account Name=optics Factor=0.5 Days=Thu\nMinimumCharge=10:00\n";
    let jobs = [job(1, JOHN), running(7, EVE, 4), running(8, JOHN, 3), running(9, ANN, 50)];
    let mut host = start(&settings, &jobs, |_| ())?;
    host.qos(&Qos::new(NORMAL).name("normal").usage_factor(0.25))?;
    host.set_clock(NOW + 100)?;
    ended(&mut host, 8, NOW + 100)?;
    at(&mut host, NOW + 1000)?;
    // Four processors for 1,000 s, and three for the ten minutes that a job is charged at least.
    let first = 1_000_000 * (4 * 1000 + 3 * 600) / 4;
    assert_eq!(kept(&host, OF), ("within".to_owned(), vec![first]));
    host.fini()?;
    host.init()?;
    // The day after it is Thursday, at half price.
    at(&mut host, MIDNIGHT - 10)?;
    host.set_clock(MIDNIGHT + 20)?;
    ended(&mut host, 7, MIDNIGHT + 10)?;
    at(&mut host, MIDNIGHT + 30)?;
    let used = kept(&host, OF).1;
    assert_eq!(used.iter().sum::<i128>(), 1_000_000 * (4 * 73_600 + 2 * 10 + 3 * 600) / 4);
    assert_eq!(used.len(), 2, "a job over midnight is in both days: {used:?}");
    let log = host.quit()?;
    assert!(!log.contains("error: priority/multifactor2"), "{log}");
    Ok(())
}

/// The accounting does not know it, so nothing of it is taken.
#[test]
fn no_correction_is_taken_of_a_grant_with_factors() -> HostResult<()> {
    let mut host = start(&LINE.replace("Amount=3", "Amount=3 Factors=yes"), &[running(7, EVE, 4)], |_| ())?;
    at(&mut host, NOW + 100)?;
    let file = file(&host);
    let text = fs::read_to_string(&file).unwrap();
    let of: Vec<&str> = text.lines().nth(1).unwrap().split(' ').collect();
    let path = file.with_extension("correction");
    let line = PHYSICS.replace("UTC", "UTC,factors");
    let correction =
        format!("multifactor2_correction 1\nof {} {}\nused {line} 1 0 3600\nend 1\n", of[1], of[2]);
    fs::write(&path, correction).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    at(&mut host, NOW + 200)?;
    assert_eq!(kept(&host, &line).1, [800_000_000]);
    let log = host.quit()?;
    assert!(
        log.contains("it names a grant with Factors=yes, and the accounting does not know the factors"),
        "{log}"
    );
    Ok(())
}

#[test]
fn without_limits_lines_do_nothing_and_without_lines_there_is_no_file() -> HostResult<()> {
    let host = start("", &[job(1, JOHN), running(7, JOHN, 4)], |_| ())?;
    assert!(!file(&host).exists());
    host.quit()?;
    let mut options = options()?;
    options.files = vec![("multifactor2.conf".to_owned(), LINE.to_owned())];
    let mut host = Host::start(&options)?;
    host.configure(&Conf::new().flags(FAIR_TREE))?;
    host.associations(&[Association::new(1_u32).account("root")])?;
    host.init()?;
    assert!(!file(&host).exists());
    let log = host.quit()?;
    assert!(log.contains("Grant does nothing, because without limits in AccountingStorageEnforce"), "{log}");
    Ok(())
}

/// A correction of the line of physics: what was counted of its first day, and what the accounting has.
fn correct(host: &Host, change: impl FnOnce(String) -> String) -> PathBuf {
    let text = fs::read_to_string(file(host)).unwrap();
    let words: Vec<&str> = text.lines().nth(1).unwrap().split(' ').collect();
    let (id, at) = (words[1], words[2]);
    let counted = kept(host, PHYSICS).1.first().copied().unwrap_or_default();
    let text = format!("multifactor2_correction 1\nof {id} {at}\nused {PHYSICS} 1 {counted} 3600\nend 1\n");
    let path = file(host).with_extension("correction");
    let _ = fs::remove_file(&path);
    let new = path.with_extension("made");
    fs::write(&new, change(text)).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(&new, &path).unwrap();
    path
}

fn another_id(text: &str) -> String {
    let at = text.find("of ").unwrap() + 3;
    format!("{}0123456789abcdef{}", &text[..at], &text[at + 16..])
}

/// The seconds of the first day, with what the accounting has added.
fn corrected(host: &Host) -> (String, String) {
    let text = fs::read_to_string(file(host)).unwrap();
    let begin = format!("ledger {PHYSICS} ");
    let words: Vec<&str> =
        text.lines().find_map(|text| text.strip_prefix(&begin)).unwrap().split(' ').collect();
    (words[4].to_owned(), words.get(5).copied().unwrap_or_default().to_owned())
}

#[test]
fn what_the_accounting_has_is_taken_once_and_only_from_who_may() -> HostResult<()> {
    let mut host = start(LINE, &[job(1, JOHN), running(7, EVE, 1)], |_| ())?;
    at(&mut host, NOW + 100)?;
    let directory = host.directory().join("state");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
    // Whatever is wrong leaves what is in force.
    let mut when = NOW + 100;
    let mut refused = |host: &mut Host, what: &str, make: &dyn Fn(&Host)| -> HostResult<()> {
        make(host);
        when += 10;
        at(host, when)?;
        assert_eq!(corrected(host), ("within".to_owned(), (when - NOW).to_string()), "{what}");
        Ok(())
    };
    refused(&mut host, "half of it", &|host| drop(correct(host, |text| text.replace("end 1\n", ""))))?;
    refused(&mut host, "another id", &|host| drop(correct(host, |text| another_id(&text))))?;
    refused(&mut host, "more than was counted", &|host| {
        drop(correct(host, |text| text.replace(" 1 1", " 1 91")));
    })?;
    refused(&mut host, "a grant that is not there", &|host| {
        drop(correct(host, |text| text.replace("used Account physics", "used User physics")));
    })?;
    refused(&mut host, "others may write it", &|host| {
        let path = correct(host, |text| text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o660)).unwrap();
    })?;
    refused(&mut host, "it has two names", &|host| {
        let path = correct(host, |text| text);
        fs::hard_link(&path, path.with_extension("other")).unwrap();
    })?;
    refused(&mut host, "a link", &|host| {
        let path = correct(host, |text| text);
        let real = path.with_extension("real");
        fs::rename(&path, &real).unwrap();
        std::os::unix::fs::symlink(&real, &path).unwrap();
    })?;
    refused(&mut host, "a directory", &|host| {
        let path = correct(host, |text| text);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
    })?;
    fs::remove_dir(file(&host).with_extension("correction")).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
    refused(&mut host, "others may write its directory", &|host| drop(correct(host, |text| text)))?;
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    // The whole of it, and jobs follow at once.
    let counted = when - NOW;
    correct(&host, |text| text);
    at(&mut host, when + 10)?;
    let due = ("beyond".to_owned(), format!("{}+{}", counted + 10, 3600 - counted));
    assert_eq!(corrected(&host), due);
    assert_sites(&mut host, &[(1, -100_000)], "the accounting has more")?;
    at(&mut host, when + 10)?;
    assert_eq!(corrected(&host), due, "it is read twice");
    host.fini()?;
    host.init()?;
    at(&mut host, when + 20)?;
    assert_eq!(
        corrected(&host),
        ("beyond".to_owned(), format!("{}+{}", counted + 20, 3600 - counted)),
        "after a restart"
    );
    let log = host.quit()?;
    assert!(!log.contains("error: priority/multifactor2"), "{log}");
    for due in [
        "its end is missing",
        "another ledger",
        "more had been counted",
        "a grant that does not exist",
        "group or others can write to it",
        "not a regular file, or has more than one name",
        "it is a symbolic link",
        "group or others can write to its directory",
        "loaded the usage of grants from the accounting as of",
        ", 1 periods",
    ] {
        assert!(log.contains(due), "{due}: {log}");
    }
    assert_eq!(log.matches(" is not used: ").count(), 9, "each is said once: {log}");
    Ok(())
}

#[test]
fn an_unknown_grant_is_known_again_once_the_accounting_was_asked() -> HostResult<()> {
    let mut host = start(LINE, &[job(1, JOHN), running(7, EVE, 4)], |_| ())?;
    at(&mut host, NOW + 900)?;
    host.fini()?;
    let kept = file(&host);
    for name in [kept.clone(), kept.with_extension("old")] {
        fs::write(name, "x").unwrap();
    }
    host.init()?;
    at(&mut host, NOW + 910)?;
    assert_eq!(corrected(&host).0, "unknown");
    assert_sites(&mut host, &[(1, 0)], "nobody knows what was used")?;
    correct(&host, |text| text);
    at(&mut host, NOW + 920)?;
    assert_eq!(corrected(&host).0, "beyond");
    assert_sites(&mut host, &[(1, -100_000)], "slurmdbd knows it")?;
    Ok(())
}

/// The snapshot of the cycle at a time, once its thread has ended: a cycle that comes before writes none.
fn snapshot(host: &Host, path: &Path, time: i64) -> Snapshot {
    let taken = || Some(format::read(fs::read(path).ok()?.as_slice()).expect("never half a file"));
    let found = eventually(|| taken().filter(|snapshot| snapshot.about.time == time));
    eventually(|| (!host.threads().ok()?.contains(&"snapshot".to_owned())).then_some(()));
    found.unwrap_or_else(|| panic!("no snapshot of {time}: {}", host.log()))
}

/// What `multifactor2 grants` shows: john's job runs with two CPUs, and the accounting has an hour of the first day.
#[test]
fn a_snapshot_says_whose_grants_there_are_and_how_they_stand() -> HostResult<()> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("snapshot");
    let group = LINE.lines().next().unwrap().replace("Account Name=physics", "Group Name=root");
    let lines = format!("{LINE}{group} Partition=fast\nSnapshot={}\n", path.display());
    let mut host = start(&lines, &[running(7, JOHN, 2)], |_| ())?;
    snapshot(&host, &path, NOW);
    at(&mut host, NOW + 300)?;
    let found = snapshot(&host, &path, NOW + 300).grants;
    let [physics, group] = &found[..] else { panic!("{found:?}") };
    assert_eq!((physics.kind.as_str(), physics.name.as_str(), physics.group), ("Account", "physics", None));
    assert_eq!((physics.unit.as_str(), physics.state.as_str(), physics.within), ("cpu", "within", 1000.0));
    assert_eq!(
        (physics.used, physics.used_all, physics.granted, physics.running),
        (600.0, 600.0, 3600.0, 2.0)
    );
    assert_eq!((physics.begun, physics.counted_until, physics.corrected_until), (NOW, NOW + 300, 0));
    assert_eq!((group.kind.as_str(), group.name.as_str(), group.group), ("Group", "root", Some(0)));
    assert_eq!((&group.partitions[..], group.used), (&["fast".to_owned()][..], 0.0));
    correct(&host, |text| text);
    at(&mut host, NOW + 600)?;
    let corrected = &snapshot(&host, &path, NOW + 600).grants[0];
    assert_eq!((corrected.corrected, corrected.corrected_until), (3000.0, NOW + 300));
    assert_eq!((corrected.used, corrected.state.as_str()), (4200.0, "beyond"));
    host.quit().map(drop)
}
