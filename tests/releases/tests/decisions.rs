//! Decisions, not crashes: what the plugin does in a Slurm that it does not know, or that is not as it should
//! be. In each case one line says what was found and what to do, and nothing is written.
//! Most use the plugin with the feature `test-overrides`, which makes it see such a Slurm; some the plugin as it ships, in a
//! Slurm whose number was exchanged.

use crate::shared;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shared::{check_example, check_log, example, submit_example};
use slurm_releases::renumbered::number;
use slurm_releases::{cluster, in_prefixes, pretending_plugin, skip, Suite, BOOKWORM, FORKY, SUITES, TRIXIE};
use slurm_testcluster::{Cluster, Job, Release};

const TIMEOUT: Duration = Duration::from_secs(60);
const LEFT_OUT: &str = "This calculation of priorities is skipped";
const PASSIVE: &str = "The plugin is passive until slurmctld starts again";

/// A cluster with the plugin that can pretend, told so by a variable.
fn pretending(release: &Release, variable: &str, value: &str) -> slurm_testcluster::Builder {
    let builder = Cluster::builder()
        .release(release.clone())
        .plugin(pretending_plugin().unwrap(), "priority_multifactor2.so")
        .priority_type("priority/multifactor2")
        .set("SelectTypeParameters", "CR_Core_Memory")
        .controller_env(variable, value);
    example(builder)
}

/// A wrong table must be noticed in the first calculation, and in the next one nothing is written any more and jobs go on being scheduled.
fn goes_passive(builder: slurm_testcluster::Builder, found: &str) {
    let cluster = builder.slurmds(true).nodes(1).start().unwrap();
    let usage = || -> Vec<String> {
        cluster.sshare_rows().unwrap().iter().map(|row| format!("{:?}", row.cells())).collect()
    };
    let before = usage();
    submit_example(&cluster);
    // Two are not several.
    submit_example(&cluster);
    cluster
        .wait_for("the passive state", TIMEOUT, |cluster| Ok(cluster.log().contains(PASSIVE).then_some(())))
        .unwrap();
    std::thread::sleep(Duration::from_secs(3));
    let log = cluster.log();
    let complaints: Vec<&str> =
        log.lines().filter(|line| line.contains("error: priority/multifactor2")).collect();
    assert_eq!(complaints.len(), 2, "{complaints:#?}");
    for (complaint, end) in complaints.iter().zip([LEFT_OUT, PASSIVE]) {
        assert!(complaint.contains(found) && complaint.contains("SLURM_SRC="), "{complaint}");
        assert!(complaint.contains(end), "{complaint}");
    }
    assert_eq!(usage(), before, "something was written");
    keeps_priorities(&cluster, !found.starts_with("a job record"));
    let job =
        cluster.submit(&Job::new("user4").account("e").partition("main").seconds(1).arg("--export=ALL"));
    let job = format!("-j{}", job.unwrap());
    cluster
        .wait_for("a job to run", TIMEOUT, |cluster| {
            let state = cluster.command("squeue").args(["-h", "-t", "all", "-o", "%T", &job]).text()?;
            Ok((state.trim() == "COMPLETED").then_some(()))
        })
        .unwrap();
    assert!(cluster.is_up());
}

/// The second job is behind the first; a change of a job keeps its priority, and so does a hold and what an administrator has set, where a job
/// can be read at all.
fn keeps_priorities(cluster: &Cluster, readable: bool) {
    let priority = |job: &str| -> u64 {
        let text = cluster.scontrol(&["show", "job", job]).unwrap();
        let word = text.split_whitespace().find_map(|word| word.strip_prefix("Priority=")).unwrap();
        word.parse().unwrap()
    };
    let update = |job: &str, change: &str| {
        cluster.scontrol(&["update", &format!("jobid={job}"), change]).unwrap();
    };
    let jobs = cluster.command("squeue").args(["-h", "-t", "pd", "-S", "i", "-o", "%i"]).text().unwrap();
    let mut jobs = jobs.split_whitespace();
    let (one, two) = (jobs.next().unwrap(), jobs.next().unwrap());
    let first = priority(one);
    assert_eq!(first, priority(two) + 1);
    update(one, "comment=changed");
    assert_eq!(priority(one), first);
    update(two, "priority=4242");
    update(two, "comment=changed");
    assert_eq!(priority(two), if readable { 4242 } else { first - 1 });
    cluster.scontrol(&["hold", one]).unwrap();
    update(one, "comment=again");
    assert_eq!(priority(one), 0, "it is held");
    cluster.scontrol(&["release", one]).unwrap();
    assert!(priority(one) > 0 && priority(one) <= first, "{}", priority(one));
}

/// With the layout of another release, or only one record of it.
fn with_layout_goes_passive(suite: Suite, layout: &str, found: &str) {
    let Some(release) = suite.release().unwrap() else { return };
    goes_passive(pretending(&release, "MULTIFACTOR2_TEST_LAYOUT", layout), found);
}

/// The plugin as it ships, in a Slurm whose records are not those of the release that it says it is.
fn with_number_goes_passive(suite: Suite, micro: u8, found: &str) {
    let (major, minor) = suite.slurm;
    let directory = place(suite, &format!("micro-{micro}"));
    let Some(release) = suite.renumbered(number(major, minor, micro), &directory).unwrap() else { return };
    goes_passive(example(cluster(release).unwrap()), found);
}

#[test]
fn the_shift_of_part_record_in_23_02_3_is_noticed() {
    with_layout_goes_passive(BOOKWORM, "23.02.3:part", "a partition has 328 bytes, 352 expected");
}

#[test]
fn the_shift_of_job_record_in_24_11_1_is_noticed() {
    with_number_goes_passive(TRIXIE, 0, "a job record has 1160 bytes, 1144 expected");
}

#[test]
fn the_shift_of_job_record_in_24_11_4_is_noticed() {
    with_number_goes_passive(TRIXIE, 3, "a job record has 1160 bytes, 1152 expected");
}

#[test]
fn the_move_of_the_magic_number_in_25_11_is_noticed() {
    with_layout_goes_passive(FORKY, "25.05.0:job", "a job record has 1296 bytes, 1160 expected");
}

#[test]
fn the_shift_of_job_record_in_26_05_5_is_noticed() {
    with_number_goes_passive(FORKY, 3, "a job record has 1296 bytes, 1288 expected");
}

/// slurmctld must refuse to start, and its log say why.
fn refuses(release: &Release, variable: &str, value: &str, expected: &[&str]) {
    let cluster = pretending(release, variable, value).controller(false).start().unwrap();
    let mut cluster = cluster;
    let error = format!("{:#}", cluster.start_controller().unwrap_err());
    let log = cluster.log();
    for text in expected {
        assert!(log.contains(text), "no '{text}' in:\n{log}\n{error}");
    }
    assert!(log.contains("failed to initialize priority plugin"), "{log}");
    assert!(!log.contains("panicked"), "{log}");
}

fn releases() -> impl Iterator<Item = Release> {
    SUITES.iter().filter_map(|suite| suite.release().unwrap()).chain(slurm_releases::in_prefixes().unwrap())
}

/// Where the changed files of a Slurm with another number are.
fn place(suite: Suite, test: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", suite.name))
}

#[test]
fn a_newer_micro_release_of_a_known_series_works_and_one_line_says_so() {
    for suite in SUITES {
        let (major, minor) = suite.slurm;
        let newer = suite.renumbered(number(major, minor, 77), &place(suite, "newer")).unwrap();
        let Some(release) = newer else { continue };
        println!("Slurm {}", release.version);
        let builder = example(cluster(release).unwrap()).line("PartitionName=other Nodes=n1 State=DOWN");
        let cluster = builder.start().unwrap();
        submit_example(&cluster);
        cluster.wait_cycle().unwrap();
        check_example(&cluster);
        check_log(&cluster);
        let log = cluster.log();
        let said: Vec<&str> =
            log.lines().filter(|line| line.contains("newer than this build knows")).collect();
        assert_eq!(said.len(), 1, "{log}");
        assert!(said[0].contains(&format!("in Slurm {major:02}.{minor:02}.77")), "{}", said[0]);
        cluster.reconfigure().unwrap();
        cluster.wait_cycle().unwrap();
        check_example(&cluster);
        check_log(&cluster);
        // A job in several partitions has an entry for each, and a priority where slurmctld says where it keeps them.
        let job = Job::new("user2").account("c").partition("held,other");
        let job = cluster.submit(&job).unwrap().to_string();
        cluster.wait_cycle().unwrap();
        let entries = cluster.sprio_rows().unwrap();
        assert_eq!(entries.iter().filter(|entry| entry.text("JOBID") == job).count(), 2, "{entries:?}");
        let one = cluster.log().matches("a job in several partitions or QOS has one priority").count();
        assert_eq!(one, usize::from((major, minor) < (24, 5)), "{}", cluster.log());
        check_log(&cluster);
    }
}

#[test]
fn the_plugin_as_it_ships_refuses_an_unknown_major_release() {
    for suite in SUITES {
        let newer = suite.renumbered(number(32, 5, 0), &place(suite, "major")).unwrap();
        let Some(release) = newer else { continue };
        println!("Slurm {}", release.version);
        let mut cluster = example(cluster(release).unwrap()).controller(false).start().unwrap();
        cluster.start_controller().unwrap_err();
        let log = cluster.log();
        let said = log.lines().filter(|line| line.contains("error: priority/multifactor2")).count();
        assert_eq!(said, 1, "{log}");
        for text in
            ["Slurm 32.05.0 is not supported", "20.11 to 26.05", "failed to initialize priority plugin"]
        {
            assert!(log.contains(text), "no '{text}' in:\n{log}");
        }
    }
}

/// Only a Slurm that was built from source can be one.
#[test]
fn a_candidate_is_refused_unless_slurmctld_is_told_its_name() {
    let candidates = in_prefixes().unwrap().into_iter().filter_map(|release| {
        let name = release.candidate().unwrap()?;
        Some((release, name))
    });
    let mut tested = 0;
    for (release, name) in candidates {
        tested += 1;
        for asked in ["", "26.05.0-0rc1"] {
            let builder = example(cluster(release.clone()).unwrap()).controller(false);
            let mut refused = builder.controller_env("MULTIFACTOR2_CANDIDATE", asked).start().unwrap();
            refused.start_controller().unwrap_err();
            let log = refused.log();
            let said = log.lines().filter(|line| line.contains("error: priority/multifactor2")).count();
            assert_eq!(said, 1, "{log}");
            let asks = format!("MULTIFACTOR2_CANDIDATE={name}");
            for text in [format!("Slurm {name} is a release candidate"), asks, "newer than".to_owned()] {
                assert!(log.contains(&text), "no '{text}' in:\n{log}");
            }
        }
        let served = example(cluster(release).unwrap()).start().unwrap();
        let log = served.log();
        assert!(log.contains(&format!("in Slurm {name}, whose layout is provisional")), "{log}");
    }
    if tested == 0 {
        skip("candidate", "MULTIFACTOR2_SLURM_PREFIXES names no release candidate");
    }
}

#[test]
fn an_unknown_major_release_is_refused() {
    for release in releases() {
        let expected = ["Slurm 32.05.0 is not supported", "20.11 to 26.05", "SLURM_SRC="];
        refuses(&release, "MULTIFACTOR2_TEST_RELEASE", "32.05.0", &expected);
    }
}

#[test]
fn a_table_of_another_major_release_is_refused_at_the_start() {
    for release in releases() {
        let other =
            if (release.version.year, release.version.month) == (25, 5) { "25.11.0" } else { "25.05.0" };
        // What is noticed first depends on the two releases: the size of slurm_conf, or a text in it.
        let version = release.version;
        let found =
            format!("does not match the layout of Slurm {other} chosen for release {version}: slurm_conf");
        let expected = [&found, "SLURM_SRC="];
        refuses(&release, "MULTIFACTOR2_TEST_LAYOUT", other, &expected);
    }
}

/// In a known release each of these is a refusal.
#[test]
fn an_unknown_micro_release_that_looks_otherwise_starts_passive() {
    for suite in SUITES {
        let (major, minor) = suite.slurm;
        let newer = suite.renumbered(number(major, minor, 77), &place(suite, "otherwise")).unwrap();
        let Some(release) = newer else { continue };
        let other = if suite.slurm == (25, 5) { "25.11.0" } else { "25.05.0" };
        for (variable, value, found, readable) in [
            ("MULTIFACTOR2_TEST_LAYOUT", other, "slurm_conf has", false),
            ("MULTIFACTOR2_TEST_MISSING", "calc_job_billable_tres", "lacks calc_job_billable_tres", false),
        ] {
            println!("Slurm {} with {variable}={value}", release.version);
            let cluster = pretending(&release, variable, value).start().unwrap();
            submit_example(&cluster);
            let log = cluster.log();
            let complaints: Vec<&str> =
                log.lines().filter(|line| line.contains("error: priority/multifactor2")).collect();
            assert_eq!(complaints.len(), 1, "{complaints:#?}");
            assert!(complaints[0].contains(found) && complaints[0].contains(PASSIVE), "{}", complaints[0]);
            assert!(complaints[0].contains("Look for a newer slurm-multifactor2"), "{}", complaints[0]);
            keeps_priorities(&cluster, readable);
            cluster.reconfigure().unwrap();
            cluster.wait_for("slurmctld", TIMEOUT, |cluster| Ok(cluster.is_up().then_some(()))).unwrap();
            assert!(cluster.sprio_rows().unwrap().is_empty());
        }
    }
}

#[test]
fn a_missing_function_is_named() {
    for release in releases() {
        let expected = ["lacks calc_job_billable_tres", "Set PriorityType=priority/multifactor"];
        refuses(&release, "MULTIFACTOR2_TEST_MISSING", "calc_job_billable_tres", &expected);
    }
}

#[test]
fn a_process_that_binds_everything_at_start_can_load_it() {
    for release in releases() {
        let builder = example(cluster(release).unwrap()).controller_env("LD_BIND_NOW", "1").controller(false);
        let mut cluster = builder.start().unwrap();
        if cluster.start_controller().is_err() {
            // Some of Slurm's own plugins cannot be loaded so, in 20.11; ours must not be the reason.
            let log = cluster.log();
            assert!(log.contains("undefined symbol") && !log.contains("priority_multifactor2"), "{log}");
            println!("Slurm {} itself does not start with LD_BIND_NOW", cluster.release().version);
            continue;
        }
        submit_example(&cluster);
        cluster.wait_cycle().unwrap();
        check_example(&cluster);
        let sshare = cluster.command("sshare").args(["-alP"]).env("LD_BIND_NOW", "1").text().unwrap();
        assert!(sshare.contains("user5"));
        check_log(&cluster);
    }
}

#[test]
fn copies_of_the_plugin_do_not_mislead_it() {
    for release in releases() {
        // Copies under other names beside it, and where no plugin is found slurmctld opens them all.
        let plugin = slurm_releases::plugin().unwrap();
        let with_copies = |builder: slurm_testcluster::Builder| {
            builder.plugin(&plugin, "priority_older.so").plugin(&plugin, "priority_aaa.so")
        };
        let cluster = with_copies(example(cluster(release.clone()).unwrap())).start().unwrap();
        submit_example(&cluster);
        cluster.wait_cycle().unwrap();
        check_example(&cluster);
        check_log(&cluster);
        drop(cluster);

        let builder =
            Cluster::builder().release(release.clone()).set("SelectTypeParameters", "CR_Core_Memory");
        let builder = with_copies(builder).plugin(&plugin, "priority_multifactor2.so").controller(false);
        let mut cluster = builder.priority_type("priority/nosuch").start().unwrap();
        cluster.start_controller().unwrap_err();
        let log = cluster.log();
        assert!(log.contains("failed to initialize priority plugin") && !log.contains("panicked"), "{log}");
        drop(cluster);

        // Files that are no plugins at all, as an interrupted copy leaves them.
        let builder = example(slurm_releases::cluster(release).unwrap()).file("plugins/priority_aaa.so", "");
        let cluster = builder.file("plugins/auth_aaa.so", "").start().unwrap();
        assert!(cluster.log().contains("layout"), "{}", cluster.log());
        check_log(&cluster);
    }
}

#[test]
fn the_plugin_that_ships_cannot_pretend() {
    let reads_variables = |file: PathBuf| {
        let bytes = std::fs::read(file).unwrap();
        bytes.windows(18).any(|window| window == b"MULTIFACTOR2_TEST_")
    };
    assert!(reads_variables(pretending_plugin().unwrap()), "this test looks for the wrong thing");
    assert!(!reads_variables(slurm_releases::plugin().unwrap()));
}
