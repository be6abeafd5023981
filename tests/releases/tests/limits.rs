//! Where a limit holds a job, `why` says which, where it is set and what is used of it, as slurmctld counts it. `cost` says the same before
//! the job is submitted.

use std::time::Duration;

use multifactor2_command::input::ask::Question;
use slurm_releases::asked::ask;
use slurm_testcluster::{Account, Accounts, Cluster, Job, Release};
use slurm_text::limits::field;

use super::command::{answer, sacctmgr};

slurm_releases::test_in_each_release!(limits);

const WAIT: Duration = Duration::from_secs(120);

fn limits(release: &Release) {
    a_limit_is_told_as_it_counts(release);
    a_limit_that_cost_names_holds_the_job_then(release);
}

fn a_limit_is_told_as_it_counts(release: &Release) {
    let accounts = Accounts::new()
        .account(Account::new("chem", 1).user("ada", 1).user("eve", 1))
        .account(Account::new("bio", 1).user("bob", 1));
    let cluster = slurm_releases::cluster(release.clone())
        .unwrap()
        .accounts(&accounts)
        .set("PriorityWeightFairshare", "1000")
        .set("PriorityWeightQOS", "1")
        .nodes(1)
        .cpus(8)
        .memory(4000)
        .slurmds(true)
        .line("PartitionName=work Nodes=ALL State=UP Default=YES")
        .start()
        .unwrap();
    sacctmgr(&cluster, "add qos short");
    sacctmgr(&cluster, "modify qos short set maxjobsperuser=1");
    sacctmgr(&cluster, "modify cluster test set qos+=normal,short");
    sacctmgr(&cluster, "modify account chem set grptres=cpu=2");
    sacctmgr(&cluster, "modify user bob where account=bio set maxjobs=1");
    let submit = |user: &str, account: &str, qos: &str, cpus: u32| {
        let job = Job::new(user).account(account).partition("work").seconds(300).arg(format!("-n{cpus}"));
        let job = job.arg("--mem=100").arg(format!("--qos={qos}")).arg("--export=ALL");
        cluster.submit(&job).unwrap().to_string()
    };
    let state = |cluster: &Cluster, job: &str, state: &str| {
        cluster
            .wait_for("a job's state and reason", WAIT, |cluster| {
                let shown = cluster.command("squeue").args(["-h", "-j", job, "-o", "%t %r"]).text()?;
                Ok(shown.contains(state).then_some(()))
            })
            .unwrap();
    };
    for (user, account, qos) in [("ada", "chem", "normal"), ("bob", "bio", "normal")] {
        let first = submit(user, account, qos, 1);
        state(&cluster, &first, "R ");
    }
    let by_account = submit("eve", "chem", "normal", 2);
    state(&cluster, &by_account, "AssocGrpCpuLimit");
    let by_user = submit("bob", "bio", "normal", 1);
    state(&cluster, &by_user, "AssocMaxJobsLimit");
    let one = submit("ada", "chem", "short", 1);
    state(&cluster, &one, "R ");
    let by_qos = submit("ada", "chem", "short", 1);
    state(&cluster, &by_qos, "QOSMaxJobsPerUserLimit");
    let expected = [
        (&by_account, "GrpTRES=cpu", "account chem", 2.0, 2.0),
        (&by_user, "MaxJobs", "user bob in bio", 1.0, 1.0),
        (&by_qos, "MaxJobsPU", "QOS short for user ada", 1.0, 1.0),
    ];
    for (asker, all) in [("root", false), ("ada", false), ("root", true)] {
        for (job, name, of, limit, used) in &expected {
            let jobs = if all { Vec::new() } else { vec![(*job).clone()] };
            let question = Question { qos: true, jobs, asker: Some(asker.to_owned()), ..Question::default() };
            let saved = cluster.directory().join(format!("limit-{asker}-{all}-{job}"));
            ask(&cluster, &question, asker, "|m4rk|").unwrap().save(&saved).unwrap();
            let said = answer(&saved, None, &["why", job]).unwrap();
            let what = format!("Slurm {}, {asker}, {name}", release.version);
            let limits = said["answer"]["limits"].as_array().unwrap();
            assert_eq!(limits.len(), 1, "{what}: {said}");
            let found = &limits[0];
            assert_eq!((&found["name"], &found["of"]), (&(*name).into(), &(*of).into()), "{what}: {found}");
            assert_eq!(
                (found["limit"].as_f64(), found["used"].as_f64()),
                (Some(*limit), Some(*used)),
                "{what}: {found}"
            );
            if all && *name == "GrpTRES=cpu" {
                assert_eq!(found["most"][0]["name"], "user ada in chem", "{what}: {found}");
                assert_eq!(found["most"][0]["used"], 2.0, "{what}: {found}");
            }
        }
    }
}

/// What `cost` says of a job that is not submitted, and what slurmctld does with it then.
struct Try {
    user: &'static str,
    account: &'static str,
    qos: &'static str,
    cpus: u32,
    memory: u32,
    minutes: u32,
    /// The limit and whose it is; none where the job starts.
    limit: Option<(&'static str, &'static str)>,
}

/// `has_factor`: the release has `LimitFactor`.
fn tries(has_factor: bool) -> Vec<Try> {
    let plain =
        Try { user: "ada", account: "chem", qos: "normal", cpus: 1, memory: 100, minutes: 10, limit: None };
    let over = |name, of| Some((name, of));
    vec![
        // What runs counts for those after it.
        Try { ..plain },
        Try { user: "eve", cpus: 3, limit: over("GrpTRES=cpu", "account chem"), ..plain },
        Try { user: "eve", memory: 901, limit: over("GrpTRES=mem", "account chem"), ..plain },
        Try { user: "eve", qos: "wide", cpus: 3, ..plain },
        Try {
            user: "eve",
            qos: "double",
            cpus: 2,
            limit: over("GrpTRES=cpu", "account chem").filter(|_| !has_factor),
            ..plain
        },
        Try { user: "bob", account: "bio", ..plain },
        Try { user: "bob", account: "bio", limit: over("MaxJobs", "user bob in bio"), ..plain },
        Try { account: "bio", qos: "short", ..plain },
        Try { account: "bio", qos: "short", limit: over("MaxJobsPU", "QOS short for user ada"), ..plain },
        Try { account: "bio", qos: "tiny", cpus: 2, ..plain },
        Try {
            account: "bio",
            qos: "tiny",
            cpus: 2,
            limit: over("MaxTRESPU=cpu", "QOS tiny for user ada"),
            ..plain
        },
        Try { account: "bio", qos: "lone", cpus: 6, ..plain },
        Try { account: "bio", qos: "lone", limit: over("MaxJobsPA", "QOS lone for account bio"), ..plain },
        Try {
            user: "eve",
            account: "law",
            qos: "lone",
            cpus: 7,
            minutes: 5,
            limit: over("MaxTRESPJ=cpu", "QOS lone"),
            ..plain
        },
        Try { user: "bob", account: "law", cpus: 4, ..plain },
        Try {
            user: "bob",
            account: "law",
            cpus: 7,
            limit: over("GrpTRESRunMins=cpu", "account law"),
            ..plain
        },
        Try {
            user: "bob",
            account: "law",
            minutes: 31,
            limit: over("MaxWallPJ", "user bob in law"),
            ..plain
        },
    ]
}

fn set_limits(cluster: &Cluster, has_factor: bool) {
    for qos in ["short", "tiny", "wide", "double", "lone"] {
        sacctmgr(cluster, &format!("add qos {qos}"));
    }
    sacctmgr(cluster, "modify qos short set maxjobsperuser=1");
    sacctmgr(cluster, "modify qos tiny set maxtresperuser=cpu=3");
    sacctmgr(cluster, "modify qos wide set grptres=cpu=100");
    sacctmgr(cluster, "modify qos lone set maxjobsperaccount=1 maxtresperjob=cpu=6");
    if has_factor {
        sacctmgr(cluster, "modify qos double set limitfactor=2");
    }
    sacctmgr(cluster, "modify cluster test set qos+=normal,short,tiny,wide,double,lone");
    sacctmgr(cluster, "modify account chem set grptres=cpu=3,mem=1000");
    sacctmgr(cluster, "modify account law set grptresrunmins=cpu=100 maxwall=30");
    sacctmgr(cluster, "modify user bob where account=bio set maxjobs=1");
}

/// Whether a job runs, and the reason if it does not.
fn told(cluster: &Cluster, job: &str) -> (bool, String) {
    cluster
        .wait_for("a job that runs or that a limit holds", WAIT, |cluster| {
            let shown = cluster.command("squeue").args(["-h", "-j", job, "-o", "%t %r"]).text()?;
            let (state, reason) = shown.trim().split_once(' ').unwrap_or_default();
            let is_told = state == "R" || !["None", "Priority", "Resources", "BeginTime"].contains(&reason);
            Ok(is_told.then(|| (state == "R", reason.to_owned())))
        })
        .unwrap()
}

fn a_limit_that_cost_names_holds_the_job_then(release: &Release) {
    let accounts = Accounts::new()
        .account(Account::new("chem", 1).user("ada", 1).user("eve", 1))
        .account(Account::new("bio", 1).user("bob", 1).user("ada", 1))
        .account(Account::new("law", 1).user("bob", 1).user("eve", 1));
    let cluster = slurm_releases::cluster(release.clone())
        .unwrap()
        .accounts(&accounts)
        .set("PriorityWeightFairshare", "1000")
        .nodes(1)
        .cpus(64)
        .memory(40_000)
        .slurmds(true)
        .line("PartitionName=work Nodes=ALL State=UP Default=YES")
        .start()
        .unwrap();
    let has_factor = (release.version.year, release.version.month) >= (21, 8);
    set_limits(&cluster, has_factor);
    let submit = |one: &Try| {
        let job = Job::new(one.user).account(one.account).partition("work").seconds(300);
        let job = job.arg(format!("-n{}", one.cpus)).arg(format!("--mem={}", one.memory));
        let job = job.arg(format!("-t{}", one.minutes)).arg(format!("--qos={}", one.qos)).arg("--export=ALL");
        cluster.submit(&job).unwrap().to_string()
    };
    let tries = tries(has_factor);
    for (number, one) in tries.iter().enumerate() {
        let what = format!("Slurm {}, {number}: {}", release.version, one.user);
        let said = |asker: &str, arguments: &[&str]| {
            let saved = cluster.directory().join(format!("cost-{number}-{asker}-{}", arguments.len()));
            let question = Question { qos: true, asker: Some(asker.to_owned()), ..Question::default() };
            ask(&cluster, &question, asker, "|m4rk|").unwrap().save(&saved).unwrap();
            let said = answer(&saved, None, &[&["cost"], arguments].concat()).unwrap();
            let account = said["answer"]["accounts"].as_array().unwrap().iter();
            account
                .into_iter()
                .find(|of| of["account"] == one.account)
                .unwrap_or_else(|| panic!("{what}: {said}"))
                .clone()
        };
        let qos = format!("--qos={}", one.qos);
        let (cpus, memory, minutes) =
            (one.cpus.to_string(), format!("{}M", one.memory), one.minutes.to_string());
        let options = ["-A", one.account, "-p", "work", &qos, "-n", &cpus, "--mem", &memory, "-t", &minutes];
        let as_user = ["--as", one.user];
        let before: Vec<_> = ["root", one.user]
            .map(|asker| said(asker, &[&as_user[..], &options[..]].concat())["limits"].clone())
            .to_vec();
        let job = submit(one);
        let (runs, reason) = told(&cluster, &job);
        for limits in before {
            let limits = limits.as_array().unwrap_or_else(|| panic!("{what}: {limits}"));
            let found: Vec<_> = limits
                .iter()
                .map(|limit| (limit["name"].as_str().unwrap(), limit["of"].as_str().unwrap()))
                .collect();
            assert_eq!(found, one.limit.into_iter().collect::<Vec<_>>(), "{what}: {reason} {limits:?}");
        }
        assert_eq!(runs, one.limit.is_none(), "{what}: {reason}");
        if let Some((name, _)) = one.limit {
            let meant = field(&reason).unwrap_or_else(|| panic!("{what}: {reason} is no limit"));
            assert!(meant.has(name), "{what}: {reason} is not {name}");
            let waits = said("root", &[&job]);
            assert_eq!(waits["limits"][0]["name"], name, "{what}: {waits}");
        }
    }
}
