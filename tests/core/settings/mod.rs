//! Settings as an administrator meets them: files, `PriorityParameters`, messages, manual page and example.

mod books;
mod bounds;
mod charging;
mod declared;
mod dominant;
mod grants;
mod keeper;
mod parser;
mod points;
mod policies;
mod since;
mod snapshot;
mod tree_windows;

use multifactor2_core::settings::files::{MAX_BYTES, MAX_DEPTH, MAX_FILES};
use multifactor2_core::settings::report::MAX_REPORTS;
use multifactor2_core::settings::{ActiveJobs, Errors, Loaded, Settings, SETTINGS};
use multifactor2_fixtures::project::read;
use std::fs;

fn pending() -> Settings {
    Settings { active_jobs: ActiveJobs::Pending, ..Settings::default() }
}

fn eligible() -> Settings {
    Settings { active_jobs: ActiveJobs::Eligible, ..Settings::default() }
}

fn lines(errors: &Errors) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// The single error of a text named `f`.
fn error(text: &str) -> String {
    let errors = Settings::parse(text, "f").expect_err(text);
    assert_eq!(errors.iter().count(), 1, "{text:?}: {errors}");
    errors.to_string()
}

#[test]
fn notations_that_are_read() {
    for text in [
        "ActiveJobs=pending",
        "activejobs = PENDING",
        "ACTIVEJOBS=\"pending\"  # why",
        "\u{feff}ActiveJobs=pending\r\n",
        "# ActiveJobs=eligible\n\n\tActiveJobs=pending#glued",
        "Active\\\nJobs=\\  \n  pending",
        "ActiveJobs=pend\\ing",
        "ActiveJobs=pending \\",
    ] {
        let Loaded { settings, warnings, .. } =
            Settings::parse(text, "f").unwrap_or_else(|e| panic!("{text:?}: {e}"));
        assert_eq!((settings, warnings.len()), (pending(), 0), "{text:?}");
    }
    assert_eq!(Settings::parse("", "f").unwrap().settings, eligible());
    assert_eq!(eligible(), Settings::default());
}

#[test]
fn every_error_names_file_line_value_and_what_is_allowed() {
    for (text, line, shown, allowed) in [
        (
            "\n#\nActiveJobs=eligable",
            3,
            "ActiveJobs=eligable",
            "must be one of eligible, pending, startable; did you mean eligible?",
        ),
        (
            "ActveJobs=pending",
            1,
            "ActveJobs=pending",
            "known keys are ActiveJobs, Distribution, FairShareScale, ParentUsers, TicketsShare, TicketsFunctional, \
             PolicyHierarchy, CompensationFactor, MaxFunctionalJobs, ShareOverrideTickets, ShareFunctionalShares, \
             FunctionalWeightUser, FunctionalWeightAccount, FunctionalWeightDepartment, FunctionalWeightJob, \
             AdminCommentTickets, Override, Functional, Dilution, DilutionUnit, DilutionQuantum, DilutionExponent, \
             DilutionRunning, DilutionCap, Component, Credential, Service, Target, PointsWeight, PointsCap, QueueTimeSince, TargetUsage, \
             TargetWindow, TargetDepth, TargetDecay, TargetMetric, FSStep, CapTiers, TierMultiplier, Charge, MinimumCharge, \
             UsageMeasure, DominantTRES, TreeUsage, TreeWindow, TreeDepth, TreeDecay, Book, Grant, Adjust, Snapshot, SnapshotPeriod, SnapshotMode, SnapshotGroup, SnapshotPublic; did you mean ActiveJobs?",
        ),
        // Three letters of ten may be missing.
        ("AcveJos=pending", 1, "AcveJos=pending", "did you mean ActiveJobs?"),
        ("Zebra=1", 1, "Zebra=1", "SnapshotPublic; correct"),
        ("\\\n\\\n Zebra=1", 3, "Zebra=1", "known keys are"),
        ("ActiveJobs", 1, "\"ActiveJobs\"", "must be Key=Value"),
        ("ActiveJobs=", 1, "ActiveJobs", "a value is missing"),
        ("ActiveJobs=\"\"", 1, "ActiveJobs", "must be one of eligible, pending, startable"),
        ("ActiveJobs+=pending", 1, "\"ActiveJobs+=pending\"", "must be Key=Value"),
        ("=pending", 1, "\"=pending\"", "must be Key=Value"),
        ("ActiveJobs=\"pending", 1, "ActiveJobs=\"pending", "must end on the same line"),
        ("ActiveJobs=\"a#b\"", 1, "ActiveJobs=\"a", "write # in a value as \\#"),
        ("ActiveJobs=\"a\"b", 1, "ActiveJobs=\"a\"b", "a closing quote must be followed"),
        ("\nActiveJobs=a\0b", 2, "\"ActiveJobs=a\"", "must be text without NUL"),
        ("ActiveJobs=a\x1bb", 1, "ActiveJobs=a\\u{1b}b", "must be"),
        ("Include=x", 1, "Include=x", "must be Include <path>"),
        ("Include", 1, "Include", "a value is missing"),
        ("Include a b", 1, "Include=a b", "one path"),
        ("Include a", 1, "Include=a", "allowed in files only"),
    ] {
        let message = error(text);
        let start = format!("f line {line}: {shown}: ");
        assert!(message.starts_with(&start), "{text:?}: {message}");
        assert!(message.contains(allowed), "{text:?}: {message}");
        assert!(message.contains("; ") && !message.contains(char::is_control), "{text:?}: {message}");
    }
    let long = error(&format!("ActiveJobs={}", "x".repeat(100_000)));
    assert!(long.len() < 300, "{long}");
}

#[test]
fn all_errors_are_collected_and_bounded() {
    let errors = Settings::parse("Zebra=1\nActiveJobs=x Yak=2\n\"\nActiveJobs=y", "f").unwrap_err();
    let numbers: Vec<_> = errors.iter().map(|error| error.place.line.unwrap()).collect();
    assert_eq!(numbers, [1, 2, 2, 3, 4], "{errors}");
    let errors = Settings::parse(&"?\n".repeat(1000), "f").unwrap_err();
    assert_eq!((errors.iter().count(), errors.omitted()), (MAX_REPORTS, 1000 - MAX_REPORTS));
    assert!(errors.to_string().ends_with("950 more errors are not shown"));
    assert_eq!((&errors).into_iter().count(), MAX_REPORTS);
    // Those of one place that are only counted are counted beside those of another.
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f");
    fs::write(&file, "?\n".repeat(70)).unwrap();
    let errors = Settings::load(Some(&"?,".repeat(80)), &file).unwrap_err();
    assert_eq!((errors.iter().count(), errors.omitted()), (MAX_REPORTS, 150 - MAX_REPORTS));
    let twice = Settings::parse(&"ActiveJobs=pending\n".repeat(MAX_REPORTS + 10), "f").unwrap();
    assert_eq!(twice.warnings.len(), MAX_REPORTS);
}

#[test]
fn the_last_of_two_wins_with_a_warning() {
    let Loaded { settings, warnings, .. } =
        Settings::parse("ActiveJobs=eligible\nactivejobs=pending", "f").unwrap();
    assert_eq!(settings, pending());
    assert_eq!(warnings.len(), 1);
    assert_eq!(
        warnings[0].to_string(),
        "f line 2: activejobs: replaces the value of f line 1; remove one of the two"
    );
}

#[test]
fn priority_parameters_then_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("multifactor2.conf");
    let load = |parameters| Settings::load(parameters, &file);
    for none in [None, Some(""), Some("(null)"), Some(" , ")] {
        assert_eq!(load(none).unwrap().settings, eligible(), "{none:?}");
    }
    assert_eq!(load(Some("ActiveJobs=pending")).unwrap().settings, pending());
    let errors = load(Some("ActiveJobs=eligable,pending")).unwrap_err();
    let [piece, value] = &lines(&errors)[..] else { panic!("{errors}") };
    assert!(piece.starts_with("PriorityParameters: \"pending\": must be Key=Value"), "{piece}");
    assert!(
        value.starts_with(
            "PriorityParameters: ActiveJobs=eligable: must be one of eligible, pending, startable"
        ),
        "{value}"
    );

    for half in ["=pending", "ActiveJobs="] {
        let message = load(Some(half)).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("PriorityParameters: \"{half}\": must be Key=Value")),
            "{message}"
        );
    }

    fs::write(&file, "ActiveJobs=pending\n").unwrap();
    let Loaded { settings, warnings, .. } = load(Some("activejobs=eligible")).unwrap();
    assert_eq!((settings, warnings.len()), (pending(), 1));
    assert!(warnings[0].to_string().contains("replaces the value of PriorityParameters"), "{}", warnings[0]);
}

#[test]
fn includes_are_relative_to_the_including_file() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("sub dir")).unwrap();
    fs::write(at("main"), "include \"sub dir/one\" # nested\n").unwrap();
    fs::write(at("sub dir/one"), "Include two\n").unwrap();
    fs::write(at("sub dir/two"), "ActiveJobs=pending").unwrap();
    assert_eq!(Settings::load(None, &at("main")).unwrap().settings, pending());
}

#[test]
fn limits_of_files_are_met_and_not_passed() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for levels in [MAX_DEPTH, MAX_DEPTH + 1] {
        for level in 0..levels {
            fs::write(at(&format!("level{level}")), format!("Include level{}", level + 1)).unwrap();
        }
        fs::write(at(&format!("level{levels}")), "ActiveJobs=pending").unwrap();
        assert_eq!(Settings::load(None, &at("level0")).is_ok(), levels == MAX_DEPTH, "{levels} levels");
    }
    // The first file counts, too.
    for files in [MAX_FILES, MAX_FILES + 1] {
        fs::write(at("none"), "").unwrap();
        fs::write(at("many"), "Include none\n".repeat(files - 1)).unwrap();
        assert_eq!(Settings::load(None, &at("many")).is_ok(), files == MAX_FILES, "{files} files");
    }
    let most = usize::try_from(MAX_BYTES).unwrap();
    for bytes in [most, most + 1] {
        let mut text = "#".repeat(bytes - 19) + "\nActiveJobs=pending";
        fs::write(at("large"), &text).unwrap();
        let loaded = Settings::load(None, &at("large"));
        assert_eq!(
            loaded.map(|loaded| loaded.settings).ok(),
            (bytes == most).then_some(pending()),
            "{bytes} bytes"
        );
        text.clear();
    }
}

#[test]
fn damage_in_an_included_file_is_named_there() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("main"), "Include damaged\n").unwrap();
    fs::write(at("damaged"), b"#\n#\nActiveJobs=\xff\n").unwrap();
    let message = Settings::load(None, &at("main")).unwrap_err().to_string();
    assert!(message.starts_with(&format!("{} line 3", at("damaged").display())), "{message}");
}

#[test]
fn what_cannot_be_included_is_named_where_it_is_included() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let main = at("main");
    for (content, allowed) in [
        ("missing", "a file that SlurmUser can read; check"),
        ("main", "cannot include itself"),
        ("back", "cannot include itself"),
        (".", "a regular file"),
        ("/dev/zero", "a regular file"),
        ("level0", "16 levels deep"),
        ("wide0", "256 files"),
    ] {
        fs::write(at("back"), "Include main").unwrap();
        for level in 0..20 {
            fs::write(at(&format!("level{level}")), format!("Include level{}", level + 1)).unwrap();
        }
        for level in 0..9 {
            let next = format!("Include wide{}\n", level + 1);
            fs::write(at(&format!("wide{level}")), next.repeat(2)).unwrap();
        }
        fs::write(at("wide9"), "").unwrap();
        fs::write(&main, format!("\nInclude {content}")).unwrap();
        let errors = Settings::load(None, &main).unwrap_err();
        let message = errors.to_string();
        assert!(message.contains(": Include=") && message.contains(allowed), "{content}: {message}");
        if !["back", "level0", "wide0"].contains(&content) {
            let start = format!("{} line 2: Include={content}: ", main.display());
            assert!(message.starts_with(&start), "{content}: {message}");
        }
    }
}

#[test]
fn unreadable_files_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f");
    fs::write(&file, b"ActiveJobs=pending\n\nActiveJobs=\xff\n").unwrap();
    let message = Settings::load(None, &file).unwrap_err().to_string();
    assert!(message.starts_with(&format!("{} line 3: ", file.display())), "{message}");
    assert!(message.contains("must be text in UTF-8"), "{message}");
    let message = Settings::load(None, directory.path()).unwrap_err().to_string();
    assert!(message.contains("must be a regular file"), "{message}");
    let link = directory.path().join("dangling");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    let message = Settings::load(None, &link).unwrap_err().to_string();
    assert!(message.contains("must be a file that SlurmUser can read"), "{message}");
}

#[test]
fn table_is_sound_and_documented() {
    let page = read("packaging/man/priority_multifactor2.8");
    let example = read("packaging/multifactor2.conf.example");
    let mut uncommented = String::new();
    for setting in SETTINGS {
        let (_, rest) = page.split_once(&format!("\n.BR {} = ", setting.name)).expect(setting.name);
        assert!(
            setting.absent == multifactor2_core::settings::schema::Absent::Unset
                || setting.default_value().is_some()
        );
        assert!(example.contains(&format!("\n#{}=", setting.name)), "{} is not in the example", setting.name);
        if let multifactor2_core::settings::value::Kind::Choice(words) = setting.kind {
            for word in words {
                assert!(rest.contains(word.text), "{}={}", setting.name, word.text);
            }
        }
        assert!(setting.to_string().contains(&setting.kind.allowed()));
    }
    assert!(Settings::parse(&example, "example").is_ok());
    // A line with attributes has no default.
    let blocks: Vec<_> =
        SETTINGS.iter().filter(|setting| setting.attributes.is_some()).map(|s| s.name).collect();
    assert_eq!(
        blocks,
        [
            "Override",
            "Functional",
            "Component",
            "Credential",
            "Service",
            "Target",
            "Charge",
            "Book",
            "Grant",
            "Adjust"
        ]
    );
    // All three texts name each of them in one sentence.
    let words = |text: &str| {
        text.replace(['`', '#', '"'], " ").replace(',', " ").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (last, others) = blocks.split_last().unwrap();
    let sentence = format!("{} and {last}", others.join(" "));
    for text in [&page, &example, &read("docs/settings.md")] {
        assert!(words(text).contains(&sentence), "{sentence}");
    }
    for line in example.lines() {
        let line = line
            .strip_prefix('#')
            .filter(|l| l.starts_with(char::is_uppercase) && l.contains('='))
            .filter(|line| !blocks.iter().any(|block| line.starts_with(&format!("{block}="))))
            .unwrap_or("");
        uncommented.extend([line, "\n"]);
    }
    let Loaded { settings: shown, warnings, .. } = Settings::parse(&uncommented, "example").unwrap();
    assert_eq!(shown, Settings::default(), "the example shows the defaults");
    assert_eq!(warnings, []);
    assert_eq!(Settings::parse(&pending().to_string(), "log").unwrap().settings, pending());
}
