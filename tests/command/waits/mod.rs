//! `multifactor2 tree --waits` with a sacct that prints what a test gives it: each cell against sums that the test makes of the same jobs, what is no job, what
//! is not in the tree, and all that it refuses.

mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::CommandExt as _;

use multifactor2_fixtures::random;
use multifactor2_snapshot::records::Association;
use serde_json::Value;

use self::place::{association, job, now, small, Job, WaitsHost, SACCT};

/// Who a row is of: of what, its id, account and user.
type Key = (String, Option<u64>, String, String);

fn key(row: &Value) -> Key {
    let text = |name: &str| row[name].as_str().unwrap().to_owned();
    (text("of"), row["id"].as_u64(), text("account"), text("user"))
}

fn rows(answer: &Value) -> BTreeMap<Key, &Value> {
    let all = answer["rows"].as_array().unwrap();
    let rows: BTreeMap<Key, &Value> = all.iter().map(|row| (key(row), row)).collect();
    assert_eq!(rows.len(), all.len(), "a row is there twice: {answer:#}");
    rows
}

/// The row of an account or user by its names.
fn row<'a>(answer: &'a Value, account: &str, user: &str) -> &'a Value {
    let mut all = answer["rows"].as_array().unwrap().iter();
    let is_it = |row: &&Value| row["account"] == account && row["user"] == user && row["of"] != "others";
    all.find(is_it).unwrap_or_else(|| panic!("no {account} {user}: {answer:#}"))
}

fn assert_near(found: &Value, due: Option<f64>, what: &str) {
    let is_near = match (found.as_f64(), due) {
        (Some(found), Some(due)) => (found - due).abs() <= 1e-9 * due.abs().max(1.0),
        (None, None) => found.is_null(),
        _ => false,
    };
    assert!(is_near, "{what}: {found}, due {due:?}");
}

/// The numbers of a row against those of its jobs.
#[allow(clippy::cast_precision_loss)] // small numbers
fn assert_cells(row: &Value, jobs: &[&Job]) {
    let what = format!("{:?}", key(row));
    let (wait, run) =
        (|job: &Job| (job.start.unwrap() - job.eligible).max(0) as f64, |job: &Job| job.run as f64);
    let mean = |of: Vec<f64>| (!of.is_empty()).then(|| of.iter().sum::<f64>() / of.len() as f64);
    assert_eq!(row["jobs"], jobs.len(), "{what}");
    let hours = jobs.iter().map(|job| (job.run * job.cpus) as f64 / 3600.0).sum();
    assert_near(&row["cpu_hours"], Some(hours), &what);
    assert_near(&row["wait"], mean(jobs.iter().map(|job| wait(job)).collect()), &what);
    // The first that is not below 95 of 100.
    let mut waits: Vec<f64> = jobs.iter().map(|job| wait(job)).collect();
    waits.sort_by(f64::total_cmp);
    let due =
        waits.iter().enumerate().find(|(at, _)| (at + 1) * 100 >= waits.len() * 95).map(|(_, wait)| *wait);
    assert_near(&row["wait95"], due, &what);
    let factor = |job: &&Job| (wait(job) + run(job).max(1.0)) / run(job).max(1.0);
    assert_near(&row["xfactor"], mean(jobs.iter().map(factor).collect()), &what);
    let of_limit = |job: &&Job| Some((wait(job) + run(job)) / (60.0 * job.limit.parse::<f64>().ok()?));
    assert_near(&row["xfactor_of_limit"], mean(jobs.iter().filter_map(of_limit).collect()), &what);
}

const NAMES: [&str; 8] =
    ["plain", "a|b", "=1+1", "two words", "line\nend", "\u{202e}back", "-x", "\u{1b}[31m\u{e9}"];

/// A tree by chance, with odd names, and jobs in and beside it.
fn drawn(rng: &mut fastrand::Rng, since: i64) -> (Vec<Association>, Vec<Job>) {
    let mut tree = vec![association(1, 0, "root", "")];
    let accounts = rng.u32(1..12);
    for id in 2..accounts + 2 {
        tree.push(association(id, rng.u32(1..id), &format!("{}{id}", NAMES[rng.usize(0..8)]), ""));
    }
    for id in accounts + 2..accounts + 2 + rng.u32(0..30) {
        let above = tree[rng.usize(0..=accounts as usize)].clone();
        let name = format!("{}{}", NAMES[rng.usize(0..8)], rng.u32(0..9));
        let is_there = |row: &Association| row.parent == above.id && row.user == name;
        if !tree.iter().any(is_there) {
            tree.push(association(id, above.id, &above.account, &name));
        }
    }
    let users: Vec<Association> = tree.iter().filter(|row| !row.user.is_empty()).cloned().collect();
    let mut jobs = Vec::new();
    for _ in 0..rng.usize(0..300) {
        let (run, wait) = (rng.i64(0..5) * rng.i64(0..20_000), rng.i64(-50..5) * rng.i64(0..9000));
        let end = since + rng.i64(-86_400..5_000_000);
        let end = end.min(now() - 5);
        let start = end - run - rng.i64(0..2) * 77;
        let of = users.get(rng.usize(0..users.len().max(1)));
        let (association, account, user) = match (of, rng.u8(0..10)) {
            (Some(of), 1..) => (of.id, of.account.clone(), of.user.clone()),
            // Its user is gone, or its account.
            (Some(of), 0) if rng.bool() => (900, of.account.clone(), format!("left{}", rng.u8(0..3))),
            _ => (901, format!("{}gone", NAMES[rng.usize(0..8)]), format!("left{}", rng.u8(0..3))),
        };
        let mut job = Job {
            association,
            user,
            account,
            eligible: start + wait.min(20),
            start: Some(start),
            end: Some(end),
            run,
            cpus: rng.i64(1..200),
            limit: ["UNLIMITED", "Partition_Limit", "", "1", "60", "1440"][rng.usize(0..6)].to_owned(),
            allocated: true,
        };
        match rng.u8(0..12) {
            // It waits, runs, or was cancelled: with and without a Start.
            0 => (job.start, job.end, job.run, job.allocated) = (None, None, 0, false),
            1 => job.end = None,
            2 => (job.start, job.run, job.allocated) = (None, 0, false),
            3 => (job.start, job.run, job.allocated) = (job.end, 0, false),
            _ => (),
        }
        jobs.push(job);
    }
    (tree, jobs)
}

#[test]
fn every_cell_is_what_the_jobs_say() {
    let mut rng = random();
    for _ in 0..4 {
        let since = now() - rng.i64(86_400..4_000_000);
        let (tree, jobs) = drawn(&mut rng, since);
        let place = WaitsHost::new(tree);
        place.jobs(&jobs);
        let answer = place.answer(since, "");
        let found = rows(&answer);
        let until = answer["until"].as_i64().unwrap();
        assert!((now() - until).abs() < 60 && answer["since"] == since);
        let finished: Vec<&Job> = jobs.iter().filter(|job| job.has_finished(since)).collect();
        let is_in = |job: &Job| place.tree.iter().any(|row| row.id == job.association);
        let is_account = |name: &str| place.tree.iter().any(|row| row.account == name && row.user.is_empty());
        let mut due: BTreeMap<Key, Vec<&Job>> = BTreeMap::new();
        for row in &place.tree {
            let of = if row.user.is_empty() { "account" } else { "user" };
            due.insert(
                (of.to_owned(), Some(row.id.into()), row.account.clone(), row.user.clone()),
                Vec::new(),
            );
        }
        for job in &finished {
            let mut keys: Vec<Key> = Vec::new();
            let own = |of: &str, user: &str| (of.to_owned(), None, job.account.clone(), user.to_owned());
            let mut above = if is_in(job) { Some(job.association) } else { None };
            if above.is_none() {
                keys.push(own("user", &job.user));
                above = place
                    .tree
                    .iter()
                    .find(|row| row.account == job.account && row.user.is_empty())
                    .map(|row| row.id);
            }
            if !is_in(job) && !is_account(&job.account) {
                keys.extend([own("account", ""), ("others".to_owned(), None, String::new(), String::new())]);
            }
            for id in above.map(|id| place.path(id)).unwrap_or_default() {
                keys.extend(due.keys().find(|key| key.1 == Some(id.into())).cloned());
            }
            for key in keys {
                due.entry(key).or_default().push(job);
            }
        }
        assert_eq!(found.keys().collect::<Vec<_>>(), due.keys().collect::<Vec<_>>());
        for (key, jobs) in &due {
            assert_cells(found[key], jobs);
        }
        let never =
            jobs.iter().filter(|job| !job.allocated && job.end.is_some_and(|end| end >= since)).count();
        assert_eq!((&answer["never_started"], &answer["left_out"]), (&never.into(), &0.into()));
        // No job is lost, and none is there twice.
        let tops = answer["rows"].as_array().unwrap().iter().filter(|row| row["depth"] == 0);
        assert_eq!(tops.map(|row| row["jobs"].as_u64().unwrap()).sum::<u64>(), finished.len() as u64);
        assert_same_for_programs(&place, since, &answer);
        assert_filtered(&place, since, &answer);
    }
}

/// The table for programs has the numbers of the JSON, and as many cells in each row.
fn assert_same_for_programs(place: &WaitsHost, since: i64, answer: &Value) {
    let text = place.ask(since, "-P").out;
    let mut lines = text.lines().map(|line| line.split('|').collect::<Vec<_>>());
    assert_eq!(
        lines.next().unwrap(),
        ["Account", "User", "Jobs", "CPUHours", "Wait", "Wait95", "XFactor", "AvgXF", "InTree"]
    );
    let rows = answer["rows"].as_array().unwrap();
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines.len(), rows.len(), "{text}");
    for (line, row) in lines.iter().zip(rows) {
        assert_eq!(line.len(), 9, "{line:?}");
        assert_eq!(line[2], row["jobs"].to_string());
        for (cell, name) in
            line[3..8].iter().zip(["cpu_hours", "wait", "wait95", "xfactor", "xfactor_of_limit"])
        {
            match row[name].as_f64() {
                // Six digits are shown, of hundreds two places.
                Some(due) => {
                    let found: f64 = cell.parse().unwrap();
                    let unit = if due.abs() < 100.0 { 1e-4 } else { 0.00501 };
                    assert!((found - due).abs() <= 1e-5 * due.abs() + unit, "{name}: {cell}, {due}");
                }
                None => assert_eq!(*cell, "-"),
            }
        }
        assert_eq!(line[8], if row["in_tree"] == true { "yes" } else { "no" });
    }
    let csv = place.ask(since, "--csv -n -o jobs,intree").out;
    assert_eq!(csv.lines().count(), rows.len(), "{csv}");
}

/// `-A` and `-u` choose the rows that they choose in `tree`, with the same numbers.
fn assert_filtered(place: &WaitsHost, since: i64, whole: &Value) {
    let whole = rows(whole);
    let plain = |name: &str| {
        !name.is_empty() && !name.contains(|letter: char| " ,\n-".contains(letter) || letter.is_control())
    };
    let users: Vec<&str> =
        place.tree.iter().map(|row| row.user.as_str()).filter(|name| plain(name)).take(2).collect();
    let accounts: Vec<&str> =
        place.tree[1..].iter().map(|row| row.account.as_str()).filter(|name| plain(name)).take(2).collect();
    let mut filters = vec!["-u left1".to_owned(), "-A plaingone".to_owned()];
    filters.extend(users.iter().map(|name| format!("-u {name}")));
    filters.extend(accounts.iter().map(|name| format!("-A {name}")));
    filters
        .extend(users.first().zip(accounts.first()).map(|(user, account)| format!("-u {user} -A {account}")));
    for filter in filters {
        let answer = place.answer(since, &filter);
        let tree: Value =
            serde_json::from_str(&place.site.ask(&format!("tree --json {filter}")).out).unwrap();
        let of_tree: BTreeSet<u64> = tree["answer"]["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["id"].as_u64().unwrap())
            .collect();
        let found = rows(&answer);
        let ids: BTreeSet<u64> = found.keys().filter_map(|key| key.1).collect();
        if !filter.contains("left") {
            assert_eq!(ids, of_tree, "{filter}");
        }
        for (key, row) in found {
            assert_eq!(row, whole[&key], "{filter}");
        }
    }
}

#[test]
fn months_are_asked_one_after_the_other() {
    let place = WaitsHost::new(small());
    let since = now() - 70 * 86_400;
    place.jobs(&[job(3, "u", "a", 60, 100)]);
    let said = place.site.said(
        place
            .site
            .command()
            .args(["tree", "--waits", "--json", "--since", &since.to_string()])
            .env("SACCT_FORMAT", "user")
            .env("SLURM_CLUSTERS", "other")
            .env("SLURM_TIME_FORMAT", "relative")
            .env("TZ", "Asia/Tokyo"),
    );
    let answer: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(row(&answer["answer"], "root", "")["jobs"], 1);
    let calls: Vec<&String> = said.calls.iter().filter(|call| call.starts_with("sacct ")).collect();
    assert!((3..=4).contains(&calls.len()), "{calls:?}");
    let word = |call: &str, option: &str| {
        let mut words = call.split(' ').skip_while(|word| *word != option);
        words.nth(1).unwrap_or_else(|| panic!("no {option}: {call}")).to_owned()
    };
    for pair in calls.windows(2) {
        assert_eq!(word(pair[0], "-E"), word(pair[1], "-S"));
    }
    assert!(
        calls.iter().all(|call| call.contains(" -a -D -X ") && !word(call, "-M").is_empty()),
        "{calls:?}"
    );
    let environment = fs::read_to_string(place.site.path("environment")).unwrap();
    for due in ["TZ=UTC", "SLURM_TIME_FORMAT=%s", "LC_ALL=C"] {
        assert!(environment.lines().any(|line| line == due), "{due}: {environment}");
    }
    assert!(
        !environment.contains("SACCT_FORMAT") && !environment.contains("SLURM_CLUSTERS"),
        "{environment}"
    );
}

#[test]
fn what_a_job_is() {
    let place = WaitsHost::new(small());
    let since = now() - 2 * 86_400;
    // A requeued run, and its second; two tasks of an array; one that ran for less than a second; one that ended before.
    let mut early = job(3, "u", "a", 10, 50);
    early.end = Some(since - 1);
    let mut suspended = job(5, "v", "c", 30, 40);
    suspended.end = suspended.end.map(|end| end + 1000);
    let jobs = [
        job(3, "u", "a", 100, 10),
        job(3, "u", "a", 300, 90),
        job(5, "v", "c", 0, 3600),
        job(5, "v", "c", 0, 3600),
        job(7, "v", "b", 7, 0),
        // Of an association that is gone: its user has another there, or a partition of its own only.
        job(99, "v", "b", 9, 3),
        job(98, "u", "b", 1, 1),
        suspended,
        early,
    ];
    place.jobs(&jobs);
    let answer = place.answer(since, "");
    assert_cells(row(&answer, "root", ""), &jobs.iter().take(8).collect::<Vec<_>>());
    assert_cells(row(&answer, "a", ""), &[&jobs[0], &jobs[1], &jobs[2], &jobs[3], &jobs[7]]);
    assert_near(&row(&answer, "a", "u")["xfactor"], Some((11.0 + 390.0 / 90.0) / 2.0), "two runs");
    let of_partition = rows(&answer)[&("user".to_owned(), Some(7), "b".to_owned(), "v".to_owned())];
    assert_eq!((&of_partition["xfactor"], &of_partition["partition"]), (&8.0.into(), &"gpu".into()));
    let of_all = rows(&answer)[&("user".to_owned(), Some(8), "b".to_owned(), "v".to_owned())];
    assert_eq!(of_all["xfactor"], 4.0);
    assert_eq!(
        (&row(&answer, "b", "u")["in_tree"], &row(&answer, "b", "u")["depth"]),
        (&false.into(), &2.into())
    );
    let text = place.ask(since, "").out;
    assert!(text.contains("u (gone)") && text.contains("(gone): no longer in the tree."), "{text}");
    assert!(!text.contains("InTree") && text.contains("AvgXF"), "{text}");
    // Of a part of the tree nobody knows what is gone.
    place.save(true);
    let text = place.ask(since, "").out;
    assert!(
        text.contains("u (not seen)") && text.contains("not in the part of the tree that you can see"),
        "{text}"
    );
}

#[test]
fn records_that_cannot_be_are_counted_apart() {
    let place = WaitsHost::new(small());
    let since = now() - 2 * 86_400;
    let good = job(3, "u", "a", 100, 10);
    let mut wrong = good.cells(4711);
    "soon".clone_into(&mut wrong[2]);
    let mut never = good.clone();
    (never.start, never.run, never.allocated) = (None, 0, false);
    let lines = [good.cells(1), wrong.clone(), never.cells(2), wrong];
    place.site.write("jobs", &lines.map(|cells| cells.join("\u{1e}") + "\n").concat());
    let answer = place.answer(since, "");
    assert_cells(row(&answer, "root", ""), &[&good]);
    assert_eq!((&answer["left_out"], &answer["never_started"]), (&2.into(), &1.into()));
    let said = place.ask(since, "").out;
    let text = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("sacct has 2 jobs with impossible times or numbers; left out. The first: job 4711: Eligible is \"soon\"."), "{text}");
    assert!(text.contains("One job ended without starting and is not counted."), "{text}");
    place.jobs(&[]);
    let text = place.ask(since, "").out;
    assert!(
        text.contains("root") && !text.contains("without starting") && !text.contains("(gone)"),
        "{text}"
    );
    assert_cells(row(&place.answer(since, ""), "root", ""), &[]);
}

#[test]
fn no_answer_is_made_of_half_an_answer() {
    let place = WaitsHost::new(small());
    let since = now() - 2 * 86_400;
    let good = job(3, "u", "a", 100, 10).cells(1).join("\u{1e}") + "\n";
    let refused = |due: &str, status: i32| {
        let mut command = place.site.command();
        let output = command.args(["tree", "--waits", "--since", &since.to_string()]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(status) && output.stdout.is_empty(), "{output:?}");
        assert!(said.contains(due), "{due}: {said}");
    };
    // Cut off within a record, and within its last cell.
    for cut in [good.len() / 2, good.len() - 1] {
        place.site.write("jobs", &(good.clone() + &good[..cut]));
        refused("cut off", 3);
    }
    place.site.write("jobs", &good);
    place.site.write("silent", "");
    refused("cut off", 3);
    fs::remove_file(place.site.path("silent")).unwrap();
    place.site.write("fails", "");
    refused("slurmdbd went away", 3);
    let config = fs::read_to_string(place.site.path("config.txt")).unwrap();
    for (name, value, due) in [
        ("AccountingStorageEnforce", "limits,nojobs", "AccountingStorageEnforce in slurm.conf has nojobs"),
        ("AccountingStorageType", "(null)", "AccountingStorageType in slurm.conf is not"),
    ] {
        let line = |line: &str| {
            if line.starts_with(&format!("{name} ")) {
                format!("{name} = {value}")
            } else {
                line.to_owned()
            }
        };
        place.site.write("config.txt", &(config.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"));
        refused(due, 1);
    }
    place.site.write("config.txt", &config);
    for (words, due) in [("2100-01-01", "before now"), ("soon", "give a date YYYY-MM-DD")] {
        let said = place.site.ask(&format!("tree --waits --since {words}"));
        assert!(
            said.err.contains(due) && said.out.is_empty() && said.calls.is_empty(),
            "{words}: {}",
            said.err
        );
    }
}

/// What slurmdbd hides depends on its own `PrivateData`, not on that of slurm.conf, and on who asks.
#[test]
fn what_is_missing_is_said() {
    let place = WaitsHost::new(small());
    let since = now() - 40 * 86_400;
    let own = "PrivateData=jobs in slurmdbd.conf";
    // Of nobody's rights is nothing hidden from root, who runs the tests.
    let as_user = |is_user: bool| {
        let mut command = place.site.command();
        command.args(["tree", "--waits", "--since", &since.to_string()]);
        if is_user && rustix::process::geteuid().is_root() {
            command.uid(12_345).gid(12_345);
        }
        let said = place.site.said(&mut command);
        assert!(said.out.contains("XFactor"), "{}{}", said.out, said.err);
        said.out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let path = place.site.path("config.txt");
    let config = fs::read_to_string(&path).unwrap();
    let slurm_user = config.lines().find(|line| line.starts_with("SlurmUser ")).unwrap().to_owned();
    fs::write(&path, config.replace(&slurm_user, "SlurmUser               = slurm(64030)")).unwrap();
    crate::site::path_as("ada", &place.site.path(""));
    let says = |slurmdbd: &str| {
        let text = format!("\nSlurmDBD configuration:\nStorageType = accounting_storage/mysql\n{slurmdbd}\n");
        place.site.write("slurmdbd", &text);
    };
    let sure = "PrivateData=jobs in slurmdbd.conf: sacct shows only your own jobs";
    let unless = "PrivateData=jobs in slurmdbd.conf: unless you are an operator, sacct shows";
    let perhaps = "sacctmgr does not show PrivateData of slurmdbd.conf. If it has jobs, sacct shows";
    let (own_jobs, all_jobs) = ("ada", "u");
    for (slurmdbd, level, user, due) in [
        ("PrivateData = jobs,users", Some("None|"), own_jobs, sure),
        ("PrivateData = jobs", None, own_jobs, unless),
        ("PrivateData = jobs", Some("Operator|"), all_jobs, ""),
        ("PrivateData = jobs", Some("Administrator|a,b"), all_jobs, ""),
        ("PrivateData = none", None, own_jobs, ""),
        // Not told. Others' jobs are seen where nothing is hidden, or by who coordinates.
        ("Other = x", Some("None|"), own_jobs, perhaps),
        ("Other = x", Some("None|"), all_jobs, ""),
        ("Other = x", Some("None|a"), all_jobs, perhaps),
        ("Other = x", None, all_jobs, perhaps),
    ] {
        place.jobs(&[job(3, user, "a", 1, 1)]);
        says(slurmdbd);
        let _ = fs::remove_file(place.site.path("level"));
        if let Some(level) = level {
            place.site.write("level", &format!("{level}\n"));
        }
        let text = as_user(true);
        let is_hidden = text.contains("sacct shows only your own jobs");
        assert_eq!(is_hidden, !due.is_empty(), "{slurmdbd}: {text}");
        assert!(text.contains(due), "{due}: {text}");
    }
    says("PrivateData = jobs\nPurgeJobAfter = 30 days");
    if rustix::process::geteuid().is_root() {
        let text = as_user(false);
        assert!(!text.contains(own), "{text}");
        assert!(text.contains("PurgeJobAfter in slurmdbd.conf: jobs that ended before "), "{text}");
    }
    says("PrivateData = jobs\nPurgeJobAfter = 12 months");
    assert!(!as_user(true).contains("PurgeJobAfter"));
}

/// No jobs that wait or run: slurmctld has the tree alone to tell.
#[test]
fn slurmctld_is_asked_for_the_tree_alone() {
    let place = WaitsHost::new(small());
    place.jobs(&[job(6, "ada", "physics", 60, 100)]);
    let since = now() - 2 * 86_400;
    let said = place.ask(since, "--live");
    let asked: Vec<&str> = said.calls.iter().map(|call| call.split(' ').next().unwrap()).collect();
    assert!(asked.contains(&"sshare") && asked.contains(&"sacct"), "{asked:?}");
    assert!(!asked.contains(&"squeue") && !asked.contains(&"sprio"), "{asked:?}");
    // What cannot be known of priorities is no matter here.
    assert!(said.out.contains("physics") && !said.out.contains("FAIRSHARE"), "{}", said.out);
    let answer = place.answer(since, "--live");
    assert_eq!(
        (&row(&answer, "root", "")["jobs"], &row(&answer, "physics", "")["of"]),
        (&1.into(), &"account".into())
    );
}

#[test]
fn it_is_said_how_many_were_read() {
    let place = WaitsHost::new(small());
    let lines = (0..6000).map(|id| job(3, "u", "a", 1, 1).cells(id).join("\u{1e}") + "\n");
    place.site.write("jobs", &lines.collect::<String>());
    place
        .site
        .write("sacct", &SACCT.replace("[ ! -f \"$SITE/fails\" ]", "sleep 3; [ ! -f \"$SITE/fails\" ]"));
    let mut command = place.site.command();
    command.args(["tree", "--waits", "--json", "--since", "now-2days"]).env("TERM", "xterm");
    let (out, shown) = crate::progress::on_a_terminal(command);
    assert!(out.contains("\"jobs\": 6000"), "{out}");
    assert!(shown.contains("Reading jobs from sacct") && shown.contains(", 5000 records, "), "{shown:?}");
    assert!(shown.ends_with("\r\u{1b}[K"), "{shown:?}");
}

#[test]
fn a_page_has_the_same_rows() {
    let place = WaitsHost::new(small());
    let jobs = [job(3, "u", "a", 100, 10), job(99, "<b>", "<script>", 1, 1)];
    place.jobs(&jobs);
    let since = now() - 2 * 86_400;
    let file = place.site.path("page.html");
    let said = place.ask(since, &format!("--html {}", file.display()));
    assert!(said.out.is_empty() && said.err.is_empty(), "{}{}", said.out, said.err);
    let page = fs::read_to_string(file).unwrap();
    for part in ["Finished jobs and their waits", "XFactor", "&lt;b&gt;", "(gone): no longer"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<b>"));
}
