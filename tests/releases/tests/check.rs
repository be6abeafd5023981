//! What `check` says of configurations that slurmctld takes: the same as the plugin writes to its log, no more and no less.

use std::fs;
use std::path::Path;
use std::time::Duration;

use multifactor2_command::answers::check::host::Written;
use multifactor2_command::answers::check::{check, here, Arguments};
use multifactor2_command::input::ask::Question;
use multifactor2_command::progress::Progress;
use slurm_releases::asked::ask;
use slurm_testcluster::{Account, Accounts, Cluster, Release};

#[path = "../../command/support/configurations.rs"]
mod configurations;
use configurations::{Case, BASE, CASES};

slurm_releases::test_in_each_release!(a_table_of_configurations);

const WAIT: Duration = Duration::from_secs(60);

fn a_table_of_configurations(release: &Release) {
    let accounts = Accounts::new().account(Account::new("chem", 1).user("ada", 1).user("eve", 2));
    let mut cluster = slurm_releases::cluster(release.clone())
        .unwrap()
        .accounts(&accounts)
        .cycle_seconds(None)
        .nodes(1)
        .line("PartitionName=work Nodes=ALL State=UP Default=YES")
        .start()
        .unwrap();
    let conf = cluster.directory().join("multifactor2.conf");
    for case in &CASES {
        run(&mut cluster, &conf, case);
    }
}

/// Starts slurmctld with a configuration, and compares its log with what `check` says.
fn run(cluster: &mut Cluster, conf: &Path, case: &Case) {
    let what = format!("Slurm {}, {:?}, {:?}", cluster.release().version, case.slurm, case.ours);
    let written = case.slurm.lines().filter_map(|line| line.split_once('='));
    for (name, value) in BASE.into_iter().chain(written) {
        if value.is_empty() {
            cluster.unset(name).unwrap();
        } else {
            cluster.set(name, value).unwrap();
        }
    }
    fs::write(conf, case.ours).unwrap();
    let before = cluster.log().len();
    cluster.restart_controller().unwrap_or_else(|error| panic!("{what}: {error}"));
    let said = |cluster: &Cluster| cluster.log()[before..].to_owned();
    for part in case.logged {
        let wait = format!("slurmctld to say '{part}' ({what})");
        cluster.wait_for(&wait, WAIT, |cluster| Ok(said(cluster).contains(part).then_some(()))).unwrap();
    }
    let question = Question { qos: true, ..Question::default() };
    let saved = cluster.directory().join("checked");
    let _ = fs::remove_dir_all(&saved);
    ask(cluster, &question, "root", "|m4rk|").unwrap().save(&saved).unwrap();
    let mut arguments = Arguments { file: Some(conf.to_owned()), ..Arguments::default() };
    arguments.of.input.from = Some(saved);
    let (report, snapshot) = check(&arguments, &Progress::begin());
    let text = report.text();
    assert_eq!(report.findings.len(), case.found.len(), "{what}: {text}");
    for (grade, part) in case.found {
        let is_it = |line: &str| line.starts_with(&format!("{grade}: ")) && line.contains(part);
        assert!(text.lines().any(is_it), "{what}: '{grade}: …{part}' is not in {text}");
    }
    // slurmctld goes by this slurm.conf, in whatever words.
    let written = Written::of(&cluster.directory().join("slurm.conf"));
    assert_eq!(here::other_slurm_conf(&snapshot, "", written.as_ref()), [], "{what}");
    // No other advice of the plugin, in any words of the table.
    let log = said(cluster);
    let all = CASES.iter().flat_map(|case| case.logged);
    let others: Vec<_> = all.filter(|part| log.contains(**part) && !case.logged.contains(part)).collect();
    assert!(others.is_empty(), "{what}: slurmctld said {others:?} as well: {log}");
}
