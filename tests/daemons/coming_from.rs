//! docs/coming-from.md: each line of Slurm on the page is given to a real cluster with the plugin. `tests/core` reads ours.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use multifactor2_fixtures::coming_from::{self, Whose};
use slurm_testcluster::{Account, Accounts, Builder, Cluster, Job, JobId};

use crate::schedule::{state, wait_state};
use crate::support::{cluster, lacks_root, number, sprio_of};

const WAIT: Duration = Duration::from_secs(20);

/// How a line is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TriedAs {
    /// `Name=value` of slurm.conf.
    Setting,
    Partition,
    Sacctmgr,
    /// Another command.
    Command,
}

fn kind(line: &str) -> TriedAs {
    match line.split([' ', '=']).next().unwrap() {
        "PartitionName" => TriedAs::Partition,
        "sacctmgr" => TriedAs::Sacctmgr,
        "sacct" | "sbatch" | "scontrol" | "sprio" | "squeue" | "sreport" | "sshare" => TriedAs::Command,
        name if name.starts_with(char::is_uppercase) && line.contains('=') => TriedAs::Setting,
        _ => panic!("no test knows how to try '{line}'"),
    }
}

fn lines(wanted: TriedAs) -> Vec<String> {
    coming_from::lines(Whose::Slurm).into_iter().filter(|line| kind(line) == wanted).collect()
}

/// A line that is on the page as it is here.
fn on_page(line: &str) -> &str {
    assert!(coming_from::lines(Whose::Slurm).iter().any(|found| found == line), "the page has no '{line}'");
    line
}

/// The `Name=value` among words, without quotes.
fn attributes(words: &str) -> Vec<(String, String)> {
    let pairs = words.split_whitespace().filter_map(|word| word.split_once('='));
    // What is added to a list is in it.
    let pairs = pairs
        .map(|(name, value)| (name.trim_end_matches('+').to_owned(), value.trim_matches('"').to_owned()));
    pairs.collect()
}

/// What the page takes for granted: accounts, users, QOS and a node with GPUs that is down.
fn builder() -> Builder {
    let accounts = ["biology", "chemistry", "climate", "marketing", "prj1", "research", "sales", "support"];
    let mut tree = Accounts::new()
        .account(Account::new("physics", 1).user("john", 1))
        .account(Account::new("plain", 1).user("ada", 1).user("john", 1));
    for account in accounts {
        tree = tree.account(Account::new(account, 1).user("ada", 1));
    }
    cluster()
        .accounts(&tree)
        .user("paul")
        .user("stranger")
        .nodes(2)
        .line("NodeName=g1 NodeAddr=127.0.0.1 CPUs=128 RealMemory=1048576 Gres=gpu:base:4,gpu:fast:4 State=DOWN")
        .file("multifactor2.conf", "AdminCommentTickets=yes\n")
}

fn sacctmgr(cluster: &Cluster, line: &str) {
    let words = line.strip_prefix("sacctmgr ").unwrap().split(' ').map(|word| match word {
        "mycluster" => "test".to_owned(),
        "file=tree.cfg" => format!("file={}/tree.cfg", cluster.directory().display()),
        _ => word.to_owned(),
    });
    let text = cluster.command("sacctmgr").arg("-i").args(words).text().unwrap();
    for complaint in ["Nothing", "nothing", "error", "Unknown"] {
        assert!(!text.contains(complaint), "{line}: {text}");
    }
}

fn add_qos(cluster: &Cluster) {
    sacctmgr(cluster, "sacctmgr add qos short,long,special,standby");
    sacctmgr(cluster, "sacctmgr modify cluster test set qos+=short,long,special,standby");
}

/// Whether what is shown says what was given: numbers, times and lists are written in several ways.
fn same(shown: &str, given: &str) -> bool {
    fn seconds(text: &str) -> Option<u64> {
        let (days, rest) = text.split_once('-')?;
        let mut parts = rest.split(':').map(|part| part.parse::<u64>().ok());
        let mut next = || parts.next().unwrap_or(Some(0));
        Some(((days.parse::<u64>().ok()? * 24 + next()?) * 60 + next()?) * 60 + next()?)
    }
    let items = |text: &str| -> Vec<String> { text.to_lowercase().split(',').map(str::to_owned).collect() };
    let numbers = || Some((shown.parse::<f64>().ok()? - given.parse::<f64>().ok()?).abs() < 1e-9);
    let times = || Some(seconds(shown)? == seconds(given)?);
    shown.eq_ignore_ascii_case(given)
        || numbers() == Some(true)
        || times() == Some(true)
        || items(given).iter().all(|item| items(shown).contains(item))
}

/// What the database has of an `add` or `modify`, attribute by attribute.
fn assert_stored(cluster: &Cluster, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let (entity, names) = (words[2], words[3].split(','));
    let (selected, set) = match line.split_once(" set ") {
        Some((before, set)) => (attributes(before), attributes(set)),
        None => (attributes(line), attributes(line)),
    };
    let selected: BTreeMap<String, String> =
        selected.into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect();
    for name in names {
        for (attribute, value) in &set {
            let column = match (entity, attribute.as_str()) {
                // It is used up.
                (_, "RawUsage") => continue,
                (_, "Parent") => "ParentName",
                (_, other) => other,
            };
            let format = format!("format={column}");
            let call = cluster.command("sacctmgr").args(["-nP", "show"]);
            let call = match (entity, column) {
                ("qos", _) => call.args(["qos", "where", &format!("name={name}"), &format]),
                ("user", "DefaultAccount") => call.args(["user", "where", &format!("name={name}"), &format]),
                ("user", _) => {
                    let call = call.args(["assoc", "where", &format!("user={name}")]);
                    let chosen = ["account", "partition"];
                    let chosen =
                        chosen.iter().filter_map(|key| Some(format!("{key}={}", selected.get(*key)?)));
                    call.args(chosen).arg(&format)
                }
                ("account", _) => {
                    call.args(["assoc", "where", &format!("account={name}"), &format!("{format},user")])
                }
                _ => panic!("{line}"),
            };
            let text = call.text().unwrap();
            let mut shown = text.lines().map(str::trim).filter_map(|shown| match entity {
                "account" => shown.strip_suffix('|'),
                _ => Some(shown),
            });
            assert!(shown.any(|shown| same(shown, value)), "{line}: {attribute} is {text}");
        }
    }
}

#[test]
fn slurm_takes_every_setting_and_stores_every_limit() {
    let cluster = builder().cycle_seconds(None).line("Include partitions.conf");
    let mut cluster = cluster.file("partitions.conf", "").start().unwrap();
    add_qos(&cluster);
    let accounting = lines(TriedAs::Sacctmgr);
    for line in &accounting {
        if line == "sacctmgr load file=tree.cfg" {
            let file = cluster.directory().join("tree.cfg");
            let text =
                fs::read_to_string(&file).unwrap() + "Parent - 'root'\nAccount - 'imported':Fairshare=7\n";
            fs::write(file, text).unwrap();
        }
        sacctmgr(&cluster, line);
        if !line.starts_with("sacctmgr dump") && !line.starts_with("sacctmgr load") {
            assert_stored(&cluster, line);
        }
    }

    assert_eq!(cluster.share("imported", "").unwrap().text("RawShares"), "7");

    // Partitions stand together; of a setting with several values each start takes the next one.
    let partitions = lines(TriedAs::Partition);
    fs::write(cluster.directory().join("partitions.conf"), partitions.join("\n") + "\n").unwrap();
    let mut settings: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let given = lines(TriedAs::Setting);
    for line in &given {
        let (name, value) = line.split_once('=').unwrap();
        let values = settings.entry(name.to_owned()).or_default();
        if !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    }
    let starts = settings.values().map(Vec::len).max().unwrap();
    for start in 0..starts {
        let values: Vec<(&String, &String)> =
            settings.iter().map(|(name, values)| (name, &values[start.min(values.len() - 1)])).collect();
        for (name, value) in &values {
            cluster.set(name, value).unwrap();
        }
        cluster.restart_controller().unwrap();
        let config = cluster.scontrol(&["show", "config"]).unwrap();
        for (name, value) in values {
            let mut pairs = config.lines().filter_map(|line| line.split_once('='));
            let shown = pairs.find(|(known, _)| known.trim().eq_ignore_ascii_case(name));
            let shown = shown.unwrap_or_else(|| panic!("scontrol shows no {name}")).1.trim();
            let minutes = format!("00:{value:0>2}:00");
            let enough = same(shown, value)
                || (name == "PriorityCalcPeriod" && shown == minutes)
                || (value == "0" && shown == "00:00:00");
            assert!(enough, "{name}={value}: {shown}");
        }
    }
    for line in &partitions {
        let given = attributes(line);
        let shown = cluster.scontrol(&["show", "partition", "-o", &given[0].1]).unwrap();
        let shown = attributes(&shown);
        for (name, value) in given.iter().filter(|(name, _)| name != "Nodes") {
            let found = shown.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            assert!(found.is_some_and(|(_, found)| same(found, value)), "{line}: {name} is {found:?}");
        }
    }
    assert_eq!([accounting.len(), partitions.len(), given.len()], [36, 15, 38]);
}

/// What `scontrol show job` says of a job.
fn shown(cluster: &Cluster, job: JobId, name: &str) -> String {
    let text = cluster.scontrol(&["show", "job", "-o", &job.to_string()]).unwrap();
    let found = text.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("{name} is not in {text}")).to_owned()
}

/// A job of Ada's that stays pending: its node is down.
fn waiting(partition: &str) -> Job {
    Job::new("ada").account("plain").partition(partition).arg("--nodelist=g1")
}

/// Runs a line of the page other than those of sacctmgr, and looks for what it does.
fn command(cluster: &Cluster, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    if words[0] == "sbatch" {
        let mut job = waiting("modern-gpu");
        for word in &words[1..] {
            job = job.arg(*word);
        }
        let job = cluster.submit(&job).unwrap();
        for word in &words[1..] {
            let (name, value) = word.split_once('=').unwrap();
            let (found, expected) = match name {
                "--nice" => (sprio_of(cluster, job).text("NICE").to_owned(), value.to_owned()),
                "--account" => (shown(cluster, job, "Account"), value.to_owned()),
                "--qos" => (shown(cluster, job, "QOS"), value.to_owned()),
                "--mem" => (shown(cluster, job, "MinMemoryNode"), value.to_uppercase().replace("GB", "G")),
                "--time" if value == "60" => (shown(cluster, job, "TimeLimit"), "01:00:00".to_owned()),
                "--time" => (shown(cluster, job, "TimeLimit"), value.to_owned()),
                "--deadline" => {
                    assert!(shown(cluster, job, "Deadline").contains('T'), "{line}");
                    continue;
                }
                _ => panic!("no test knows what {word} does"),
            };
            assert_eq!(found, expected, "{line}");
        }
        cluster.command("scancel").arg(job).text().unwrap();
    } else if line == "scontrol show job 7" {
        let job = cluster.submit(&waiting("modern-gpu")).unwrap();
        assert_eq!(shown(cluster, job, "JobState"), "PENDING");
        cluster.command("scancel").arg(job).text().unwrap();
    } else if line == "scontrol reconfigure" {
        cluster.scontrol(&["reconfigure"]).unwrap();
        cluster.wait_cycle().unwrap();
    } else if words[0] == "scontrol" && words[1] != "show" {
        let job = cluster.submit(&waiting("modern-gpu")).unwrap();
        let number = job.to_string();
        let words: Vec<String> = words[1..]
            .iter()
            .map(|word| match *word {
                "7" => number.clone(),
                "JobId=7" => format!("JobId={number}"),
                word => word.to_owned(),
            })
            .collect();
        // What is taken back.
        if words[0] == "release" || words[0] == "hold" {
            cluster.scontrol(&["update", &format!("JobId={job}"), "Priority=5"]).unwrap();
        }
        if words[0] == "release" {
            cluster.scontrol(&["hold", &number]).unwrap();
        }
        cluster.scontrol(&words.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        match words[0].as_str() {
            "hold" => assert_eq!(shown(cluster, job, "Priority"), "0"),
            "release" => {
                let back = |cluster: &Cluster| {
                    let rows = cluster.sprio_rows()?;
                    let row = rows.into_iter().find(|row| row.text("JOBID") == number);
                    Ok(row.filter(|row| row.text("FAIRSHARE") != "0"))
                };
                cluster.wait_for("the factors of a released job", WAIT, back).unwrap();
            }
            "top" => (),
            "update" => {
                let (name, value) = words[2].split_once('=').unwrap();
                let row = || sprio_of(cluster, job);
                let found = match name {
                    "Priority" => row().text("PRIORITY").to_owned(),
                    "SiteFactor" => row().text("SITE").to_owned(),
                    "Nice" => row().text("NICE").to_owned(),
                    "QOS" => shown(cluster, job, "QOS"),
                    "AdminComment" => shown(cluster, job, "AdminComment"),
                    _ => panic!("no test knows what {name} does"),
                };
                assert_eq!(found, value, "{line}");
                if name == "Priority" {
                    assert_eq!(row().text("FAIRSHARE"), "0", "{line}");
                }
            }
            _ => panic!("no test knows what '{line}' does"),
        }
        cluster.command("scancel").arg(job).text().unwrap();
    } else {
        let text = cluster.command(words[0]).args(&words[1..]).text().unwrap();
        assert!(!text.trim().is_empty(), "{line} shows nothing");
    }
}

fn billing(cluster: &Cluster, job: &Job) -> f64 {
    let job = cluster.submit(job).unwrap();
    let text = cluster.scontrol(&["show", "job", "-o", &job.to_string()]).unwrap();
    cluster.command("scancel").arg(job).text().unwrap();
    // Since 23.02 it is ReqTRES.
    let tres = text.split_whitespace().find_map(|word| word.trim_start_matches("Req").strip_prefix("TRES="));
    let billing = tres.unwrap().split(',').find_map(|item| item.strip_prefix("billing="));
    billing.map_or(0.0, |number| number.parse().unwrap())
}

fn wait_reason(cluster: &Cluster, job: JobId, reason: &str) {
    let reached = |cluster: &Cluster| Ok(state(cluster, job, "%r").contains(reason).then_some(()));
    let waited = cluster.wait_for(reason, WAIT, reached);
    waited.unwrap_or_else(|error| panic!("{error}: job {job} has {}", state(cluster, job, "%r")));
}

/// A job takes both nodes, another needs them: the first is requeued.
fn assert_preempted(cluster: &Cluster, first: &Job, second: &Job) {
    let whole = |job: &Job| job.clone().arg("--nodelist=n[1-2]").arg("--exclusive");
    let first = cluster.submit(&whole(first)).unwrap();
    wait_state(cluster, first, "RUNNING");
    let second = cluster.submit(&whole(second)).unwrap();
    wait_state(cluster, second, "RUNNING");
    assert_eq!(shown(cluster, first, "Restarts"), "1");
    for job in [first, second] {
        cluster.command("scancel").arg(job).text().unwrap();
    }
    let idle = |cluster: &Cluster| {
        let text =
            cluster.command("sinfo").args(["-h", "-N", "-p", "main", "-t", "idle", "-o", "%N"]).text()?;
        Ok((text.lines().count() == 2).then_some(()))
    };
    cluster.wait_for("idle nodes", WAIT, idle).unwrap();
}

/// A cluster with those lines of the page that a test below observes, and nodes on which jobs run.
fn observed() -> Cluster {
    let used = [("biology", "ada", 1e6), ("plain", "ada", 10.0)];
    let mut builder = builder().slurmds(true).usage(&used);
    for line in [
        "PartitionName=lab Nodes=ALL PriorityJobFactor=3 PriorityTier=3",
        "PartitionName=lab-scavenger Nodes=ALL PriorityJobFactor=2 PriorityTier=2",
        "PartitionName=scavenger Nodes=ALL PriorityJobFactor=1 PriorityTier=1",
        "PartitionName=legacy-gpu Nodes=ALL TRESBillingWeights=\"CPU=1.0,Mem=0.125G,GRES/gpu=4.0\"",
        "PartitionName=legacy-cpu Nodes=ALL TRESBillingWeights=\"CPU=0.1,Mem=0.125G\"",
        "PartitionName=modern-gpu Nodes=ALL TRESBillingWeights=\"CPU=8.0,Mem=1.0G,GRES/gpu:base=76.0,GRES/gpu:fast=180.0\"",
        "PartitionName=modern-cpu Nodes=ALL TRESBillingWeights=\"CPU=0.8,Mem=1.0G\"",
        "PartitionName=free Nodes=ALL TRESBillingWeights=\"CPU=0.0\"",
        "PartitionName=fast Nodes=ALL TRESBillingWeights=\"CPU=2.0\"",
        "PartitionName=pes Nodes=ALL TRESBillingWeights=\"CPU=1.0,Mem=0.25G\"",
        "PartitionName=p3 Nodes=ALL AllowAccounts=research,sales",
    ] {
        builder = builder.line(on_page(line));
    }
    for line in [
        "GresTypes=gpu",
        "AccountingStorageTRES=gres/gpu,gres/gpu:base,gres/gpu:fast",
        "AccountingStorageEnforce=limits,safe",
        "PriorityWeightAge=10000",
        "PriorityMaxAge=7-0",
        "PriorityWeightPartition=30000",
        "PriorityWeightAssoc=10000",
        "PriorityWeightQOS=10000",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=REQUEUE",
    ] {
        let (name, value) = on_page(line).split_once('=').unwrap();
        builder = builder.set(name, value);
    }
    let cluster = builder.start().unwrap();
    add_qos(&cluster);
    for line in [
        "sacctmgr add qos budget Flags=NoDecay GrpTRESMins=cpu=275",
        "sacctmgr modify account marketing set GrpTRESMins=cpu=275",
        "sacctmgr modify qos special set Priority=1000",
        "sacctmgr modify user john set Priority=2000",
        "sacctmgr modify account physics set Priority=500",
        "sacctmgr modify user john set MaxJobsAccrue=2",
        "sacctmgr add user paul Account=physics Fairshare=1",
        "sacctmgr modify qos normal set Preempt=standby",
        "sacctmgr add qos fair UsageThreshold=20000 Flags=EnforceUsageThreshold",
    ] {
        sacctmgr(&cluster, on_page(line));
    }
    // It counts with the weight, so a factor of a thousandth is not less than this.
    sacctmgr(&cluster, "sacctmgr add qos lenient UsageThreshold=0.2 Flags=EnforceUsageThreshold");
    sacctmgr(&cluster, "sacctmgr modify account biology set qos+=fair,lenient");
    sacctmgr(&cluster, "sacctmgr modify account plain set qos+=budget");
    cluster
}

/// What is refused, what waits for which reason, and what runs.
fn assert_limits(cluster: &Cluster) {
    let submit = |job: &Job| cluster.submit(job).unwrap();
    let long = Job::new("ada").arg("--time=400");
    let beyond = [
        (submit(&long.clone().account("marketing")), "AssocGrpCPUMinutesLimit"),
        (submit(&long.account("plain").arg("--qos=budget")), "QOSGrpCPUMinutesLimit"),
    ];
    for (job, reason) in beyond {
        wait_reason(cluster, job, reason);
    }
    wait_state(cluster, submit(&Job::new("ada").account("marketing").arg("--time=200")), "RUNNING");
    for refused in
        [Job::new("stranger"), Job::new("john").account("chemistry"), waiting("lab").arg("--nice=-1")]
    {
        assert!(cluster.submit(&refused).is_err(), "{refused:?}");
    }
    let in_p3 = |account| submit(&Job::new("ada").account(account).partition("p3"));
    // What squeue calls it depends on the release.
    let excluded = in_p3("plain");
    let waits = |cluster: &Cluster| {
        let reason = state(cluster, excluded, "%r");
        let called = ["account not permitted", "PartitionConfig"];
        Ok(called.iter().any(|name| reason.contains(name)).then_some(()))
    };
    cluster.wait_for("a job that the partition does not take", WAIT, waits).unwrap();
    wait_state(cluster, in_p3("sales"), "RUNNING");
    for (qos, reason) in [("fair", "QOSUsageThreshold"), ("lenient", "ReqNodeNotAvail")] {
        let job = submit(&waiting("lab").account("biology").arg(format!("--qos={qos}")));
        wait_reason(cluster, job, reason);
    }
}

/// Who grows older, and the columns of sprio.
fn assert_priorities(cluster: &Cluster) {
    let submit = |job: &Job| cluster.submit(job).unwrap();
    let waiting_of = |user: &str, account: &str, partition: &str| {
        submit(&Job::new(user).account(account).partition(partition).arg("--nodelist=g1"))
    };
    let three = ["lab", "lab-scavenger", "scavenger"].map(|name| waiting_of("john", "plain", name));
    let two_of_three = |cluster: &Cluster| {
        let ageless = |job: &&JobId| shown(cluster, **job, "AccrueTime") == "Unknown";
        Ok((three.iter().filter(ageless).count() == 1).then_some(()))
    };
    cluster.wait_for("two jobs to accrue age", WAIT, two_of_three).unwrap();

    cluster.wait_cycle().unwrap();
    let column = |job, name: &str| sprio_of(cluster, job).text(name).to_owned();
    assert_eq!(three.map(|job| column(job, "PARTPRIO")), ["30000", "20000", "10000"]);
    assert_eq!(column(three[0], "ASSOC"), "10000");
    assert_eq!(column(waiting_of("paul", "physics", "lab"), "ASSOC"), "2500");
    assert_eq!(column(submit(&waiting("lab").arg("--qos=special")), "QOS"), "10000");
    let nice = [1, 2].map(|nice| {
        let job = submit(&waiting("lab").arg(format!("--nice={nice}")));
        column(job, "PRIORITY").parse::<i64>().unwrap()
    });
    assert_eq!(nice[0] - nice[1], 1);
    let rows = cluster.sshare_rows().unwrap();
    let best = rows.iter().filter_map(|row| row.text("LevelFS").parse::<f64>().ok()).fold(0.0, f64::max);
    assert!((best - 100.0).abs() < 1e-6, "LevelFS {best}");
}

/// What a job of 4 CPUs and 16 GB bills.
fn assert_billing(cluster: &Cluster, partition: &str, more: &str, expected: f64) {
    let job = waiting(partition).arg("--cpus-per-task=4").arg("--mem=16G").arg(more);
    let found = billing(cluster, &job);
    assert!((found - expected).abs() < 1e-9, "{partition} {more}: {found}");
}

#[test]
fn slurm_does_what_the_page_says() {
    if lacks_root("slurm_does_what_the_page_says", "jobs of several users") {
        return;
    }
    let mut cluster = observed();
    let known = |cluster: &Cluster| Ok(cluster.submit(&waiting("lab").arg("--qos=budget")).ok());
    let oldest = cluster.wait_for("the QOS in slurmctld", WAIT, known).unwrap();
    assert_limits(&cluster);
    assert_priorities(&cluster);
    for (partition, more, expected) in [
        ("legacy-gpu", "--gres=gpu:base:1", 4.0 + 2.0 + 4.0),
        ("legacy-cpu", "--ntasks=1", 2.0),
        ("modern-gpu", "--gres=gpu:fast:1", 32.0 + 16.0 + 180.0),
        ("modern-gpu", "--gres=gpu:base:2", 32.0 + 16.0 + 152.0),
        ("modern-cpu", "--ntasks=1", 19.0),
        ("free", "--ntasks=1", 0.0),
        ("fast", "--ntasks=1", 8.0),
        ("pes", "--ntasks=1", 8.0),
    ] {
        assert_billing(&cluster, partition, more, expected);
    }
    let commands = lines(TriedAs::Command);
    for line in &commands {
        command(&cluster, line);
    }
    assert_eq!(commands.len(), 37);

    // The whole age is seven days.
    let date = |text: &str| -> f64 {
        let output = std::process::Command::new("date").args(["-d", text, "+%s"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    };
    let since = shown(&cluster, oldest, "AccrueTime");
    cluster.wait_cycle().unwrap();
    let waited = number(&sprio_of(&cluster, oldest), "age") * 7.0 * 86_400.0;
    assert!((waited - (date("now") - date(&since))).abs() < 4.0, "{waited} seconds since {since}");

    // Preemption, by partition and then by QOS.
    for user in ["ada", "john"] {
        cluster.command("scancel").args(["-u", user]).text().unwrap();
    }
    let of_ada = |partition: &str| Job::new("ada").account("plain").partition(partition);
    assert_preempted(&cluster, &of_ada("scavenger"), &of_ada("lab-scavenger"));
    assert_preempted(&cluster, &of_ada("lab-scavenger"), &of_ada("lab"));
    for line in ["PreemptType=preempt/qos", "PreemptMode=REQUEUE", "PriorityFlags=MAX_TRES"] {
        let (name, value) = on_page(line).split_once('=').unwrap();
        cluster.set(name, value).unwrap();
    }
    cluster.restart_controller().unwrap();
    assert_billing(&cluster, "pes", "--ntasks=1", 4.0);
    assert_preempted(&cluster, &of_ada("main").arg("--qos=standby"), &of_ada("main"));
}
