//! Slurm's own commands with all their options: none of them complains, whatever part of the plugin they meet.
//! Counterpart of Slurm's tests of the options of `sshare` and `sprio`.

use std::process::Output;

use slurm_testcluster::{Cluster, Job};

use crate::example;
use crate::support::{cluster, number};

/// The standard output of a command that succeeds and complains about nothing.
fn quiet(cluster: &Cluster, program: &str, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = cluster.command(program).args(arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success() && stderr.is_empty(), "{program} {arguments:?}: {status}, {stderr}");
    String::from_utf8(stdout).unwrap()
}

const SSHARE: [&[&str]; 16] = [
    &[],
    &["-l"],
    &["-a"],
    &["-al"],
    &["-A", "c,e"],
    &["-l", "-A", "c", "-u", "user2"],
    &["-u", "user2,user5"],
    &["-m", "-a"],
    &["-n", "-a"],
    &["-p", "-a"],
    &["-P", "-al"],
    &["-alnP"],
    &["-U", "-a"],
    &["-M", "test", "-a"],
    &["-v", "-V"],
    &["--helpformat"],
];

#[test]
fn sshare_with_every_option_is_silent_on_stderr() {
    for flags in ["NO_FAIR_TREE", ""] {
        let mut builder = cluster().accounts(&example::tree()).usage(&example::usage());
        if !flags.is_empty() {
            builder = builder.set("PriorityFlags", flags);
        }
        let cluster = builder.start().unwrap();
        cluster.submit(&Job::new("user2")).unwrap();
        cluster.wait_cycle().unwrap();
        for arguments in SSHARE {
            let text = quiet(&cluster, "sshare", arguments);
            assert!(!text.trim().is_empty(), "sshare {arguments:?} prints nothing");
        }
        let fields = quiet(&cluster, "sshare", &["--helpformat"]);
        for field in fields.split_whitespace() {
            let text = quiet(&cluster, "sshare", &["-aP", "-o", field]);
            assert!(text.lines().count() > 11, "sshare -o {field}: {text}");
        }
        // As a user who is no administrator.
        let own = cluster.command("sshare").arg("-lP").user("user2").unwrap().output().unwrap();
        assert!(own.status.success() && own.stderr.is_empty(), "{own:?}");
        assert!(String::from_utf8_lossy(&own.stdout).contains("user2"));
    }
}

/// The options of sprio: what it selects, how it sorts, what it shows.
#[test]
fn sprio_with_every_option_shows_what_was_asked_for() {
    let cluster = cluster()
        .accounts(&example::tree())
        .usage(&example::usage())
        .line("PartitionName=other Nodes=n1 State=DOWN PriorityJobFactor=7")
        .set("PriorityWeightPartition", "1000")
        .set("PriorityWeightAge", "1000")
        .set("PriorityWeightTRES", "CPU=100")
        .start()
        .unwrap();
    let second = cluster.submit(&Job::new("user2").partition("main,other").arg("--nice=5")).unwrap();
    let fifth = cluster.submit(&Job::new("user5").arg("--ntasks=2")).unwrap();
    let held = cluster.submit(&Job::new("user1").arg("--hold")).unwrap();
    cluster.wait_cycle().unwrap();
    let ids = |arguments: &[&str]| {
        let text = quiet(&cluster, "sprio", &[&["-h", "-o", "%i"], arguments].concat());
        text.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<u32>>()
    };
    assert_eq!(ids(&[]), [second, second, fifth], "a held job is not shown");
    assert_eq!(ids(&["-j", &fifth.to_string()]), [fifth]);
    assert_eq!(ids(&["-j", &format!("{second},{fifth}")]), [second, second, fifth]);
    assert_eq!(ids(&["-u", "user5"]), [fifth]);
    assert!(ids(&["-u", "user1"]).is_empty());
    assert_eq!(ids(&["-p", "other"]), [second]);
    assert_eq!(ids(&["-S", "-f"])[0], fifth);
    assert_eq!(ids(&["-S", "f"])[0], second);
    assert_eq!(ids(&["-S", "-y"])[0], fifth);
    assert!(!quiet(&cluster, "sprio", &["-l"]).contains(&format!(" {held} ")));

    for arguments in [
        &["-l"][..],
        &["-n"],
        &["-nl"],
        &["-w"],
        &["-wn"],
        &["-v"],
        &["-V"],
        &["-M", "test"],
        &["--help"],
        &["--usage"],
        &["--long", "--noheader"],
        &["--norm"],
        &["--weights"],
        &["--version"],
    ] {
        assert!(!quiet(&cluster, "sprio", arguments).trim().is_empty(), "{arguments:?}");
    }
    let weights = quiet(&cluster, "sprio", &["-h", "-w", "-o", "%F %P %A"]);
    assert_eq!(weights.split_whitespace().collect::<Vec<_>>(), ["100000", "1000", "1000"]);
    let rows = cluster.sprio_rows().unwrap();
    let in_other = rows.iter().find(|row| row.text("PARTITION") == "other").unwrap();
    assert_eq!((in_other.text("PARTPRIO"), in_other.text("NICE")), ("1000", "5"));
    for row in &rows {
        let parts = ["AGE", "ASSOC", "FAIRSHARE", "JOBSIZE", "PARTPRIO", "QOS", "SITE"];
        let sum: f64 = parts.iter().map(|column| number(row, column)).sum();
        let tres: f64 = row.text("TRES").split_once('=').map_or(0.0, |(_, amount)| amount.parse().unwrap());
        let expected = sum + tres - number(row, "NICE");
        assert!(
            (number(row, "PRIORITY") - expected).abs() <= 3.0,
            "{row:?}: the columns sum up to {expected}"
        );
    }
    let normalised = quiet(&cluster, "sprio", &["-h", "-n", "-o", "%i %f %p %t", "-j", &fifth.to_string()]);
    let words: Vec<&str> = normalised.split_whitespace().collect();
    // The partition's factor is 1 of 7; the job wants two of its 32 CPUs.
    assert_eq!(words, [&*fifth.to_string(), "1.0000000", "0.1428571", "cpu=0.06"]);
}
