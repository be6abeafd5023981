//! The settings of ticket policies: what each allows, what they say together, and their lines with attributes.

use std::path::Path;
use std::time::Duration;

use multifactor2_core::settings::value::Date;
use multifactor2_core::settings::{
    Dilution, DilutionUnit, Functional, FunctionalKind, Loaded, Override, OverrideKind, Settings, WrittenAt,
};
use proptest::prelude::*;

use super::{error, lines};

/// All of them, none as by default.
const ALL: &str = "\
TicketsShare=1000 TicketsFunctional=100000 PolicyHierarchy=fso CompensationFactor=1.2 MaxFunctionalJobs=50
ShareOverrideTickets=no ShareFunctionalShares=no
FunctionalWeightUser=1 FunctionalWeightAccount=0 FunctionalWeightDepartment=0.5 FunctionalWeightJob=2
AdminCommentTickets=yes
Override=User Name=alice,bob Tickets=1000 From=2027-01-18 Until=2027-01-31 Shared=no
override=account Name=climate Tickets=0 From=2027-01-18T12:00 Until=2027-01-18T12:00:30 shared=yes
Override=PARENT Name=physics Tickets=1000000000
Override=QOS Name=deadline Tickets=1 Until=2028-02-29
Override=Partition Name=gpu Tickets=2
Override=WCKey Name=paper Tickets=3
Override=Job Name=123,123_4,4294967295_0 Tickets=4
Functional=User Name=* Shares=rawshares
Functional=User Name=alice,Bob Shares=2147483646
Functional=Account Name=alice Shares=0
Functional=Department Name=\"physics, chemistry\" Shares=007
Dilution=tree DilutionUnit=committed DilutionQuantum=0.5 DilutionExponent=0.5 DilutionRunning=no DilutionCap=1:00:00
";

fn day(month: u8, day: u8) -> Date {
    Date { year: 2027, month, day, ..Date::default() }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn all() -> Settings {
    let tickets = |kind, of: &[&str], tickets| Override {
        place: WrittenAt::default(),
        kind,
        names: names(of),
        tickets,
        from: None,
        until: None,
        shared: None,
    };
    let end = |date| Some(Date { hour: 23, minute: 59, second: 59, ..date });
    let noon = Date { hour: 12, ..day(1, 18) };
    let shares = |kind, of: &[&str], shares: &str| Functional {
        place: WrittenAt::default(),
        kind,
        names: names(of),
        shares: shares.into(),
    };
    Settings {
        tickets_share: 1000,
        tickets_functional: 100_000,
        policy_hierarchy: "fso".into(),
        compensation_factor: 1.2,
        max_functional_jobs: 50,
        share_override_tickets: false,
        share_functional_shares: false,
        functional_weight_user: 1.0,
        functional_weight_account: 0.0,
        functional_weight_department: 0.5,
        functional_weight_job: 2.0,
        admin_comment_tickets: true,
        overrides: vec![
            Override {
                from: Some(day(1, 18)),
                until: end(day(1, 31)),
                shared: Some(false),
                ..tickets(OverrideKind::User, &["alice", "bob"], 1000)
            },
            Override {
                from: Some(noon),
                until: Some(Date { second: 30, ..noon }),
                shared: Some(true),
                ..tickets(OverrideKind::Account, &["climate"], 0)
            },
            tickets(OverrideKind::Parent, &["physics"], 1_000_000_000),
            Override {
                until: end(Date { year: 2028, ..day(2, 29) }),
                ..tickets(OverrideKind::Qos, &["deadline"], 1)
            },
            tickets(OverrideKind::Partition, &["gpu"], 2),
            tickets(OverrideKind::WcKey, &["paper"], 3),
            tickets(OverrideKind::Job, &["123", "123_4", "4294967295_0"], 4),
        ],
        functional: vec![
            shares(FunctionalKind::User, &["*"], "rawshares"),
            shares(FunctionalKind::User, &["alice", "Bob"], "2147483646"),
            shares(FunctionalKind::Account, &["alice"], "0"),
            shares(FunctionalKind::Department, &["physics", "chemistry"], "007"),
        ],
        dilution: Dilution::Tree,
        dilution_unit: DilutionUnit::Committed,
        dilution_quantum: 0.5,
        dilution_exponent: 0.5,
        dilution_running: false,
        dilution_cap: Duration::from_secs(3600),
        ..Settings::default()
    }
}

/// The warnings of a text named `f`.
fn warnings(text: &str) -> Vec<String> {
    let Loaded { warnings, .. } =
        Settings::parse(text, "f").unwrap_or_else(|errors| panic!("{text}: {errors}"));
    warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_written_is_multifactor2() {
    let settings = Settings::default();
    assert_eq!(settings.to_string(), "");
    assert_eq!(
        (settings.tickets_share, settings.tickets_functional, settings.policy_hierarchy.as_str()),
        (10_000, 0, "OFS")
    );
    assert_eq!((settings.compensation_factor, settings.max_functional_jobs), (0.0, 200));
    assert!(settings.share_override_tickets && settings.share_functional_shares);
    assert!(!settings.admin_comment_tickets);
    let weights = [
        settings.functional_weight_user,
        settings.functional_weight_account,
        settings.functional_weight_department,
        settings.functional_weight_job,
    ];
    assert_eq!(weights.map(|weight| weight.to_string()), ["0.25"; 4]);
    assert!(settings.overrides.is_empty() && settings.functional.is_empty());
    assert_eq!((settings.dilution, settings.dilution_unit), (Dilution::None, DilutionUnit::Job));
    assert_eq!((settings.dilution_quantum, settings.dilution_exponent), (1.0, 1.0));
    assert!(settings.dilution_running);
    assert_eq!(settings.dilution_cap, Duration::from_secs(7 * 24 * 3600));
}

#[test]
fn everything_is_read_shown_and_kept() {
    let loaded = Settings::parse(ALL, "/etc/f").unwrap();
    assert_eq!(loaded.settings, all());
    // The line of the log.
    let shown =
        all().to_string().replace(" Override=", "\nOverride=").replace(" Functional=", "\nFunctional=");
    assert_eq!(Settings::parse(&shown, "log").unwrap().settings, all(), "{shown}");
    // What is kept for the next process.
    let written = &loaded.written;
    assert_eq!(Settings::parse(written, "kept").unwrap().settings, all());
    let line =
        "Override=User Name=alice,bob Tickets=1000 From=2027-01-18 Until=2027-01-31 Shared=no # /etc/f line 5\n";
    assert!(written.contains(line), "{written}");
}

#[test]
fn the_example_of_each_line_is_good() {
    let example = multifactor2_fixtures::project::read("packaging/multifactor2.conf.example");
    let lines =
        |key: &str| example.lines().filter_map(|line| line.strip_prefix('#')).find(|l| l.starts_with(key));
    let text =
        ["Override=", "Functional=", "TicketsFunctional="].map(|key| lines(key).expect(key)).join("\n");
    let Settings { overrides, functional, .. } = Settings::parse(&text, "example").unwrap().settings;
    assert_eq!((overrides.len(), functional.len()), (1, 1), "{text}");
    assert!(overrides[0].until.is_some_and(|until| until.hour == 23) && overrides[0].shared == Some(true));
}

#[test]
fn hierarchies() {
    for good in ["OFS", "fso", "SOF", "Sf", "o", "NONE", "none"] {
        let settings = Settings::parse(&format!("PolicyHierarchy={good}"), "f").unwrap().settings;
        assert_eq!(settings.policy_hierarchy, good);
    }
    for bad in ["OO", "OFSO", "OFX", "O,F", "\"\"", "NON", "\"O F\"", "ſ"] {
        let message = error(&format!("PolicyHierarchy={bad}"));
        let text =
            "must be NONE, or some of the letters O, F and S, each once, in any order; correct it, or \
                    remove it to use the default OFS";
        assert!(message.ends_with(text), "{bad}: {message}");
    }
}

#[test]
fn each_value_is_checked() {
    for (text, allowed) in [
        ("TicketsShare=1000000001", "must be a whole number from 0 to 1000000000; correct it"),
        ("TicketsFunctional=-1", "must be a whole number from 0 to 1000000000; correct it"),
        ("CompensationFactor=0.5", "must be 0, or a number of 1 or more; correct it, or remove it to use the default 0"),
        ("CompensationFactor=-2", "must be 0, or a number of 1 or more"),
        ("CompensationFactor=inf", "must be 0, or a number of 1 or more"),
        ("MaxFunctionalJobs=0", "must be a whole number from 1 to 1000000"),
        ("ShareOverrideTickets=shared", "must be one of yes, true, 1, no, false, 0"),
        ("FunctionalWeightUser=-0.1", "must be a number from 0 to 1000000"),
        ("FunctionalWeightJob=1e300", "must be a number from 0 to 1000000"),
        ("Dilution=users", "must be one of none, user, tree; did you mean user?"),
        ("DilutionUnit=cpus", "must be one of job, cpu, billing, committed; did you mean cpu?"),
        ("DilutionQuantum=0", "must be a number above 0; correct it, or remove it to use the default 1"),
        ("DilutionQuantum=nan", "must be a number above 0"),
        ("DilutionExponent=-1", "must be a number from 0 to 10"),
        ("DilutionExponent=10.1", "must be a number from 0 to 10"),
        (
            "DilutionCap=0",
            "must be a time written as minutes, minutes:seconds, hours:minutes:seconds or \
             days-hours[:minutes[:seconds]], longer than 0 seconds; correct it, or remove it to use the default 7-0",
        ),
        (
            "Override=Group Name=a Tickets=1",
            "must be one of User, Account, Parent, QOS, Partition, WCKey, Job",
        ),
        ("Override=User Tickets=1", "Name is missing on the line; add Name=..., names separated by commas, each once"),
        ("Override=User Name=a", "Tickets is missing on the line; add Tickets=..., a whole number from 0 to 1000000000"),
        ("Override=User Name=a,a Tickets=1", "must be names separated by commas, each once"),
        ("Override=User Name=a Tickets=1.5", "must be a whole number from 0 to 1000000000"),
        ("Override=User Name=a Tickets=1 From=tomorrow", "must be a date YYYY-MM-DD[Thh:mm[:ss]] from 1970 on"),
        (
            "Override=User Name=a Tickets=1 Until=2027-02-29",
            "must be a date YYYY-MM-DD[Thh:mm[:ss]] from 1970 on (without a time, the end of that day)",
        ),
        ("Override=User Name=a Tickets=1 Shares=1", "unknown key; known keys are Name, Tickets, From, Until, Shared"),
        ("Functional=QOS Name=a Shares=1", "must be one of User, Account, Department"),
        ("Functional=User Shares=1", "Name is missing on the line"),
        (
            "Functional=User Name=a",
            "Shares is missing on the line; add Shares=..., a whole number from 0 to 2147483646, or RawShares",
        ),
        ("Functional=User Name=a Shares=2147483647", "must be a whole number from 0 to 2147483646, or RawShares"),
        ("Functional=User Name=a Shares=parent", "must be a whole number from 0 to 2147483646, or RawShares"),
        ("Functional=User Name=a Shares=+1", "must be a whole number from 0 to 2147483646, or RawShares"),
        ("Functional=User Name=a Shares=\"\"", "must be a whole number from 0 to 2147483646, or RawShares"),
    ] {
        let message = error(text);
        assert!(message.starts_with("f line 1: ") && message.contains(allowed), "{text}: {message}");
    }
    for good in ["CompensationFactor=1", "CompensationFactor=0", "DilutionQuantum=1e-9", "DilutionExponent=0"]
    {
        assert!(Settings::parse(good, "f").is_ok(), "{good}");
    }
}

#[test]
fn lines_with_attributes_stand_in_the_file_only() {
    let file = Path::new("/nonexistent/multifactor2.conf");
    let load = |parameters: &str| Settings::load(Some(parameters), file);
    for (key, parameters) in [
        ("Override", "Override=User Name=alice Tickets=1"),
        ("Override", "TicketsShare=5,override=User"),
        ("Functional", "Functional=User"),
    ] {
        let errors = load(parameters).expect_err(parameters);
        let [message] = &lines(&errors)[..] else { panic!("{parameters}: {errors}") };
        assert!(message.starts_with("PriorityParameters: "), "{message}");
        let advice = format!("=User: allowed in multifactor2.conf only; move {key} there");
        assert!(message.replace(" Name=alice Tickets=1", "").ends_with(&advice), "{message}");
    }
    let settings = load("TicketsShare=5,Dilution=user,PolicyHierarchy=SOF").unwrap().settings;
    assert_eq!((settings.tickets_share, settings.dilution), (5, Dilution::User));
}

#[test]
fn what_does_not_go_together_is_an_error_with_both_places() {
    for (text, message) in [
        (
            "Distribution=standing\nCompensationFactor=5",
            "f line 2: CompensationFactor=5: must be 0 with Distribution=standing (f line 1); remove it, or set \
             Distribution=tickets",
        ),
        (
            "CompensationFactor=1\n\nDistribution=STRICT",
            "f line 1: CompensationFactor=1: must be 0 with Distribution=strict (f line 3); remove it, or set \
             Distribution=tickets",
        ),
        (
            "Distribution=strict\nDilution=Tree",
            "f line 2: Dilution=Tree: must be none or user with Distribution=strict (f line 1); set \
             Dilution=user, or another Distribution",
        ),
        (
            "FunctionalWeightUser=0 FunctionalWeightAccount=0.0 FunctionalWeightDepartment=0\n\
             FunctionalWeightJob=0\nTicketsFunctional=1",
            "f line 3: TicketsFunctional=1: must be 0 if FunctionalWeightUser, FunctionalWeightAccount, \
             FunctionalWeightDepartment and FunctionalWeightJob are 0; set one of the four to more than 0, or set \
             TicketsFunctional=0",
        ),
        (
            "#\nOverride=User Name=a Tickets=1 From=2027-02-01 \\\n Until=2027-01-31",
            "f line 2: From=2027-02-01: must not be later than Until=2027-01-31; correct one of the two",
        ),
        (
            "Override=User Name=a Tickets=1 From=2027-02-01T12:00:01 Until=2027-02-01T12:00",
            "f line 1: From=2027-02-01T12:00:01: must not be later than Until=2027-02-01T12:00; \
             correct one of the two",
        ),
        (
            "Override=Account Name=* Tickets=1",
            "f line 1: Name=*: Override takes names, not * for everybody; write the names",
        ),
        (
            "TicketsFunctional=1\nFunctional=User Name=a,* Shares=1",
            "f line 2: Name=a,*: must be * alone, or names without it; give * a separate line",
        ),
        (
            "Functional=User Name=a,b Shares=1\n\nFunctional=user Name=c,b Shares=2",
            "f line 3: Name=b: only one line with Functional=User can have this name, and f line 1 has it, too; \
             remove it from one of the two",
        ),
        (
            "Functional=Account Name=* Shares=1\nFunctional=Account Name=* Shares=1",
            "f line 2: Name=*: only one line with Functional=Account can have this name, and f line 1 has it, too; \
             remove it from one of the two",
        ),
        // Slurm keeps accounts in small letters.
        (
            "Functional=Department Name=Physics Shares=1\nFunctional=Department Name=physics Shares=1",
            "f line 2: Name=physics: only one line with Functional=Department can have this name, and f line 1 \
             has it, too; remove it from one of the two",
        ),
    ] {
        assert_eq!(error(text), message, "{text}");
    }
    for job in [
        "0",
        "123_",
        "_4",
        "123_x",
        "123_4_5",
        "123_[1-3]",
        "123+1",
        "alice",
        "+1",
        "1_+1",
        "4294967296",
        "1.2",
    ] {
        let message = error(&format!("Override=Job Name=7,{job},8_9 Tickets=1"));
        let expected = format!(
            "f line 1: Name={job}: with Override=Job a name must be the id of a job or of a task of a job array, such as \
             123 or 123_4"
        );
        assert_eq!(message, expected);
    }
    for good in [
        "Distribution=standing\nCompensationFactor=0",
        "Distribution=tickets\nCompensationFactor=5",
        "Distribution=strict\nDilution=user",
        "Distribution=standing\nDilution=tree",
        "FunctionalWeightUser=0 FunctionalWeightAccount=0 FunctionalWeightDepartment=0 FunctionalWeightJob=0",
        "Override=User Name=a Tickets=1 From=2027-01-31 Until=2027-01-31",
        "Override=User Name=a Tickets=1\nOverride=User Name=a Tickets=1",
        "Override=User Name=123_x Tickets=1",
        "Functional=User Name=a,A Shares=1\nFunctional=Account Name=a Shares=1\nFunctional=User Name=* Shares=1",
    ] {
        assert!(Settings::parse(good, "f").is_ok(), "{good}");
    }
}

#[test]
fn every_pair_that_does_not_go_together_is_named_at_once() {
    let text =
        "Override=Job Name=x Tickets=1 From=2027-01-02 Until=2027-01-01\nDistribution=strict Dilution=tree\n\
                CompensationFactor=2";
    let errors = Settings::parse(text, "f").unwrap_err();
    let places: Vec<_> = errors.iter().map(|error| (error.place.line.unwrap(), error.key.as_str())).collect();
    assert_eq!(places, [(1, "From"), (1, "Name"), (2, "Dilution"), (3, "CompensationFactor")], "{errors}");
    // In PriorityParameters, too, which has no lines.
    let missing = Path::new("/nonexistent/multifactor2.conf");
    let errors = Settings::load(Some("CompensationFactor=2,Distribution=strict"), missing).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "PriorityParameters: CompensationFactor=2: must be 0 with Distribution=strict (PriorityParameters); remove \
         it, or set Distribution=tickets"
    );
    // As many as there may be, and no more.
    let many = "Functional=User Name=a Shares=1\n".repeat(1000);
    let errors = Settings::parse(&many, "f").unwrap_err();
    assert_eq!((errors.iter().count(), errors.omitted()), (50, 949));
}

#[test]
fn what_has_no_effect_or_does_not_settle_is_a_warning() {
    const SETTLES: &str = "usage settles on the shares only with DilutionExponent=1 and DilutionRunning=yes";
    let useless = |cause: &str, cure: &str| format!("has no effect with {cause}: remove it, or set {cure}");
    let undiluted = useless("Dilution=none", "Dilution=user or tree");
    let functional = useless("TicketsFunctional=0", "TicketsFunctional to more than 0");
    for (text, expected) in [
        ("Dilution=user\nDilutionExponent=0.5", vec![(2, "DilutionExponent", SETTLES)]),
        ("Dilution=tree\n\nDilutionRunning=no", vec![(3, "DilutionRunning", SETTLES)]),
        ("Dilution=user DilutionExponent=1.00 DilutionRunning=yes", vec![]),
        (
            "DilutionUnit=cpu\nDilutionQuantum=2\nDilutionExponent=2\nDilutionRunning=no\nDilutionCap=1",
            vec![
                (1, "DilutionUnit", &undiluted),
                (2, "DilutionQuantum", &undiluted),
                (3, "DilutionExponent", &undiluted),
                (4, "DilutionRunning", &undiluted),
                (5, "DilutionCap", &undiluted),
            ],
        ),
        // What is written as it is by default anyway is no mistake.
        (
            "DilutionUnit=job DilutionQuantum=1.0 DilutionExponent=1 DilutionRunning=1 DilutionCap=168:00:00 \
             MaxFunctionalJobs=200 ShareFunctionalShares=true FunctionalWeightUser=.25",
            vec![],
        ),
        ("Dilution=user DilutionUnit=cpu DilutionQuantum=64", vec![]),
        (
            "Dilution=user DilutionUnit=cpu\nDilutionCap=1-0",
            vec![(2, "DilutionCap", &useless("DilutionUnit=cpu", "DilutionUnit=committed"))],
        ),
        ("Dilution=user DilutionUnit=committed DilutionCap=1-0", vec![]),
        (
            "FunctionalWeightJob=1\nMaxFunctionalJobs=3\nFunctional=User Name=a Shares=1\nFunctional=User Name=b Shares=1",
            vec![
                (2, "MaxFunctionalJobs", &functional),
                (1, "FunctionalWeightJob", &functional),
                (3, "Functional", &functional),
            ],
        ),
        ("TicketsFunctional=1 FunctionalWeightJob=1\nFunctional=User Name=a Shares=1", vec![]),
    ] {
        let expected: Vec<_> =
            expected.iter().map(|(line, key, advice)| format!("f line {line}: {key}: {advice}")).collect();
        assert_eq!(warnings(text), expected, "{text}");
    }
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn lines_that_are_good_are_kept_as_they_are(
        lines in prop::collection::vec((0_usize..2, 0_usize..7, "[a-z0-9_*,]{1,4}", 0..1100_i64, 1..40_u8), 0..4)
    ) {
        let kinds = ["User", "Account", "Parent", "QOS", "Partition", "WCKey", "Job"];
        let text: String = lines
            .into_iter()
            .map(|(block, kind, name, number, day)| match block {
                0 => format!("Override={} Name={name} Tickets={number} Until=2027-01-{day:02}\n", kinds[kind]),
                _ => format!("Functional={} Name={name} Shares={number}\n", kinds[kind]),
            })
            .collect();
        match Settings::parse(&text, "f") {
            Err(errors) => {
                for error in &errors {
                    let phrases = ["must be", "must not be", "takes names", "only one line", "missing"];
                    prop_assert!(phrases.iter().any(|phrase| error.allowed.contains(phrase)), "{error}");
                    prop_assert!(error.place.line.is_some());
                }
            }
            Ok(Loaded { settings, written, .. }) => {
                prop_assert_eq!(Settings::parse(&written, "kept").unwrap().settings, settings);
            }
        }
    }
}
