//! Where a limit holds a job, `why` says which, where it is set and what is used of it, as slurmctld counts it.

use std::time::Duration;

use multifactor2_command::input::ask::Question;
use slurm_releases::asked::ask;
use slurm_testcluster::{Account, Accounts, Cluster, Job, Release};

use super::command::{answer, sacctmgr};

slurm_releases::test_in_each_release!(a_limit_is_told_as_it_counts);

const WAIT: Duration = Duration::from_secs(120);

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
