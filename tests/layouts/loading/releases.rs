//! Which release the object says it serves, for every release that there is and some that there are not.

use super::processes::{release, Process};

/// Landmarks between releases: a function, the release that added (true) or dropped it.
const LANDMARKS: [(&str, u32, bool); 5] = [
    ("priority_g_recover", release(23, 2, 0), true),
    ("priority_g_thread_start", release(23, 11, 6), true),
    ("part_list_to_xstr", release(24, 5, 0), true),
    ("priority_g_calc_fs_factor", release(25, 11, 0), false),
    ("threadpool_create", release(26, 5, 0), true),
];

/// slurmctld of a release: its library's API number, the functions that tell releases apart, one loaded plugin.
fn slurmctld(api: u32, version: u32) -> Process {
    let landmarks =
        LANDMARKS.iter().filter(|(_, at, added)| (version >= *at) == *added).map(|(name, ..)| *name);
    Process {
        api: Some(api),
        functions: landmarks.chain(["lock_slurmctld"]).collect(),
        loaded: vec![("auth/none", version)],
        ..Process::default()
    }
}

#[track_caller]
fn assert_serves(process: &Process, version: u32) {
    let observed = process.run();
    assert_eq!(observed.version(), version, "{process:?}: {observed:?}");
}

#[track_caller]
fn assert_refused(process: &Process, messages: &[&str]) {
    let observed = process.run();
    assert_eq!(observed.version(), 0, "{process:?}: {observed:?}");
    let before_init: Vec<&String> =
        observed.lines.iter().take_while(|l| !l.starts_with("plugin_version")).collect();
    assert_eq!(before_init.len(), 1, "one line says why: {observed:?}");
    assert!(!observed.lines.contains(&"init 0".to_owned()), "init refuses as well: {observed:?}");
    for message in messages {
        assert!(observed.errors()[0].contains(message), "'{message}' is not in {observed:?}");
    }
}

#[test]
fn every_layout_group_is_served_from_its_first_to_its_last_release() {
    for (api, versions) in [
        (36, vec![(20, 11, 0), (20, 11, 9)]),
        (37, vec![(21, 8, 0), (21, 8, 8)]),
        (38, vec![(22, 5, 0), (22, 5, 11)]),
        (39, vec![(23, 2, 0), (23, 2, 2), (23, 2, 3), (23, 2, 8)]),
        (40, vec![(23, 11, 0), (23, 11, 5), (23, 11, 6), (23, 11, 11)]),
        (41, vec![(24, 5, 0), (24, 5, 8)]),
        (42, vec![(24, 11, 0), (24, 11, 1), (24, 11, 3), (24, 11, 4), (24, 11, 7)]),
        (43, vec![(25, 5, 0), (25, 5, 8)]),
        (44, vec![(25, 11, 0), (25, 11, 7)]),
        (45, vec![(26, 5, 0), (26, 5, 3)]),
    ] {
        for (major, minor, micro) in versions {
            let version = release(major, minor, micro);
            assert_serves(&slurmctld(api, version), version);
        }
    }
}

#[test]
fn a_newer_micro_release_of_a_known_major_is_served() {
    for (api, version) in [(38, release(22, 5, 99)), (45, release(26, 5, 77))] {
        assert_serves(&slurmctld(api, version), version);
    }
}

#[test]
fn an_unknown_major_is_refused_with_what_is_supported_and_what_to_do() {
    for (api, version, name) in [(57, release(32, 5, 0), "32.05.0"), (35, release(20, 2, 7), "20.02.7")] {
        assert_refused(
            &slurmctld(api, version),
            &[
                &format!(
                    "priority/multifactor2: Slurm {name} is not supported; this file supports 20.11 to 26.05"
                ),
                &format!("SLURM_SRC=/path/to/slurm-{name}"),
                "or set PriorityType=priority/multifactor",
            ],
        );
    }
}

/// The candidate in the table, until its release takes its place: then the tests of `releases/choice.rs` alone speak of one.
#[test]
fn the_table_s_candidate_is_served_to_who_asks_for_it_by_name_and_its_release_to_nobody() {
    let table = slurm_fakehost::table();
    let Some(group) = table.groups.last().filter(|group| group.candidate.is_some()) else { return };
    let (name, number) = (group.compared(), group.first.number());
    let api = u32::try_from(slurm_fakehost::api(group.first)).expect("small");
    let process = |called: &str, accepted: Option<&str>| Process {
        called: called.to_owned(),
        accepted: accepted.map(str::to_owned),
        ..slurmctld(api, number)
    };
    assert_serves(&process(&name, Some(&name)), number);
    let newer = format!("slurm-multifactor2 newer than {}", env!("CARGO_PKG_VERSION"));
    for accepted in [None, Some(""), Some("26.05.0-0rc1")] {
        let text = format!("Slurm {name} is a release candidate");
        assert_refused(
            &process(&name, accepted),
            &[&text, &newer, &format!("MULTIFACTOR2_CANDIDATE={name}")],
        );
    }
    for called in [group.first.to_string(), format!("{name}9"), String::new()] {
        let text = format!("Slurm {} is not supported", group.first);
        assert_refused(
            &process(&called, Some(&name)),
            &[&text, &newer, &format!("only its release candidate {name}")],
        );
    }
    let sshare = Process { functions: vec![], ..process(&name, None) };
    assert_serves(&sshare, number);
}

#[test]
fn contradictions_are_refused_and_named() {
    let version = release(22, 5, 8);
    let with = |function| {
        let mut process = slurmctld(38, version);
        process.functions.push(function);
        process
    };
    let mut without = slurmctld(38, version);
    without.functions.retain(|name| *name != "priority_g_calc_fs_factor");
    for (process, message) in [
        (slurmctld(39, version), "the process says that it is Slurm 22.05.8, but its library has API 39"),
        (with("priority_g_recover"), "but it has priority_g_recover"),
        (with("part_list_to_xstr"), "but it has part_list_to_xstr"),
        (without, "but it lacks priority_g_calc_fs_factor"),
    ] {
        assert_refused(
            &process,
            &[message, "PluginDir in slurm.conf probably mixes two Slurm installations"],
        );
    }
}

/// Each of the functions by which releases are told apart, in the release that added or dropped it and in the one before.
#[test]
fn every_landmark_counts_in_the_release_at_which_it_comes_or_goes() {
    let before = [
        (38, release(22, 5, 11)),
        (40, release(23, 11, 5)),
        (40, release(23, 11, 11)),
        (43, release(25, 5, 8)),
        (44, release(25, 11, 7)),
    ];
    let apis = [39, 40, 41, 44, 45];
    for (((name, at, _), api), before) in LANDMARKS.into_iter().zip(apis).zip(before) {
        for (api, version) in [(api, at), before] {
            let right = slurmctld(api, version);
            let mut wrong = right.clone();
            wrong.functions.retain(|function| *function != name);
            let has = if wrong.functions.len() == right.functions.len() {
                wrong.functions.push(name);
                "has"
            } else {
                "lacks"
            };
            assert_refused(&wrong, &[&format!("but it {has} {name}")]);
        }
    }
}

/// Slurm's own tests are such programs: some of slurmctld's names beside objects of sshare.
#[test]
fn a_program_with_names_of_slurmctlds_is_told_that_it_is_not_slurmctld() {
    let advice = [
        "test24.1.prog has symbols of slurmctld, but is another program",
        "Give this program a slurm.conf with PriorityType=priority/multifactor",
    ];
    let program = |version, api| Process {
        program: Some("test24.1.prog"),
        one_piece: true,
        functions: vec!["cluster_cpus", "priority_g_recover", "priority_g_thread_start"],
        ..slurmctld(api, version)
    };
    assert_refused(&program(release(24, 11, 5), 42), &advice);
    // Where no landmark is missing, init says what is.
    let mut older = program(release(22, 5, 8), 38);
    older.functions = vec!["cluster_cpus", "priority_g_calc_fs_factor"];
    let observed = older.run();
    assert_eq!(observed.version(), release(22, 5, 8));
    let [error] = observed.errors()[..] else { panic!("{observed:?}") };
    assert!(advice.iter().all(|part| error.contains(part)), "{error}");
    assert!(!error.contains("report the release"), "{error}");
}

/// It may have no more of Slurm than it uses, and a static library exports what it likes.
#[test]
fn outside_slurmctld_no_function_of_slurms_is_missed() {
    for (api, version) in [(38, release(22, 5, 8)), (42, release(24, 11, 5)), (45, release(26, 5, 3))] {
        let process = Process { functions: vec![], one_piece: true, ..slurmctld(api, version) };
        let observed = process.run();
        assert_eq!((observed.version(), observed.errors().len()), (version, 0), "{observed:?}");
        assert!(observed.lines.contains(&"init 0".to_owned()), "{observed:?}");
    }
}

#[test]
fn before_any_plugin_is_loaded_one_beside_the_library_tells_the_release() {
    let version = release(24, 11, 5);
    let process = slurmctld(42, version);
    assert_serves(
        &Process { loaded: vec![], beside: vec![("priority/basic", version)], ..process.clone() },
        version,
    );
    // One left over from the release before gives itself away, and a loaded one is believed rather than it.
    let stale = vec![("priority/basic", release(24, 5, 8))];
    assert_refused(
        &Process { loaded: vec![], beside: stale.clone(), ..process.clone() },
        &["the process says that it is Slurm 24.05.8, but its library has API 42"],
    );
    assert_serves(&Process { beside: stale, ..process.clone() }, version);
    assert_refused(
        &Process { loaded: vec![], ..process },
        &["cannot tell which Slurm release is running (API 42)", "this file supports 20.11 to 26.05"],
    );
}

#[test]
fn a_slurmctld_that_holds_libslurm_itself_is_served() {
    let version = release(25, 11, 7);
    let process = Process { one_piece: true, ..slurmctld(44, version) };
    assert_serves(&process, version);
    let other = Process { one_piece: true, ..slurmctld(57, release(32, 5, 0)) };
    assert_refused(&other, &["Slurm 32.05.0 is not supported"]);
    let mixed = Process { one_piece: true, ..slurmctld(43, version) };
    assert_refused(&mixed, &["the process says that it is Slurm 25.11.7, but its library has API 43"]);
}

#[test]
fn plugins_that_need_not_match_exactly_do_not_count() {
    let version = release(22, 5, 8);
    let mut process = slurmctld(38, version);
    process.loaded = vec![("spank", release(21, 8, 0)), ("auth/none", version)];
    assert_serves(&process, version);
}
