//! The parser on settings that do not exist yet: blocks, every kind of value, and arbitrary text.

use multifactor2_core::settings::schema::{check, Absent, Entries, Entry, Setting};
use multifactor2_core::settings::text::{parse, parse_list, Pair, Statement};
use multifactor2_core::settings::value::{Date, Kind, Value, Word};
use multifactor2_core::settings::{Errors, Place, Settings, Warning};
use proptest::prelude::*;

const fn row(name: &'static str, kind: Kind, absent: Absent) -> Setting {
    Setting {
        name,
        kind,
        absent,
        example: "",
        meaning: "Test.",
        attributes: None,
        with: None,
        is_described: true,
    }
}

const fn word(text: &'static str) -> Word {
    Word { text, meaning: "Test." }
}

const ANY: Kind = Kind::Text { allowed: "any word", is_list: false, accepts: |text| !text.is_empty() };
const SHARE: Kind = Kind::Decimal { min: 0.0, max: f64::INFINITY };

static OVERRIDE: &[Setting] = &[
    row("Name", Kind::Names, Absent::Error),
    row("Tickets", Kind::Integer { min: 0, max: 1_000_000 }, Absent::Error),
    row("Until", Kind::Date, Absent::Unset),
    row("Shared", Kind::YesNo, Absent::Default("no")),
];
static BOOK: &[Setting] = &[row("Shares", Kind::Weights { min: 0.0, max: 100.0 }, Absent::Unset)];
static TABLE: &[Setting] = &[
    row("XFactorWeight", SHARE, Absent::Default("0")),
    row("XFactorMinLimit", Kind::Duration, Absent::Default("00:10:00")),
    Setting {
        name: "Override",
        kind: Kind::Choice(&[word("User"), word("Account")]),
        absent: Absent::Unset,
        example: "",
        meaning: "Test.",
        attributes: Some(OVERRIDE),
        with: None,
        is_described: true,
    },
    Setting { attributes: Some(BOOK), ..row("Book", ANY, Absent::Unset) },
];

fn read(text: &str) -> Result<(Entries, Vec<Warning>), Errors> {
    check(parse(text, "f"), TABLE)
}

#[test]
fn blocks_collect_their_attributes() {
    let (entries, warnings) = read(
        "XFactorWeight=100 XFactorMinLimit=5\n\
         Override=user Name=alice,bob Tickets=500 Until=2027-01-31 # boost\n\
         override=Account Name=\"climate, ocean\" \\\n Tickets=1 Tickets=2 shared=YES\n\
         Book=gpu Shares=chem:3,bio:1.5,*:0\n",
    )
    .unwrap();
    assert_eq!(entries.value_of("XFactorWeight"), Some(Value::Decimal(100.0)));
    assert_eq!(entries.value_of("XFactorMinLimit"), Some(Value::Duration(300)));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0].place.line, Some(4));
    let blocks: Vec<_> = entries.blocks("Override").collect();
    assert_eq!(blocks.iter().map(|b| b.place.line.unwrap()).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(blocks[0].value, Value::Choice("User"));
    assert_eq!(blocks[0].value_of("Tickets"), Some(Value::Integer(500)));
    assert_eq!(blocks[0].value_of("Shared"), Some(Value::YesNo(false)));
    let until = Date { year: 2027, month: 1, day: 31, hour: 0, minute: 0, second: 0 };
    assert_eq!(blocks[0].value_of("Until"), Some(Value::Date(until)));
    assert_eq!(blocks[1].value_of("Until"), None);
    written_again(&entries).unwrap();
    assert_eq!(blocks[1].value_of("Name"), Some(Value::Names(vec!["climate".into(), "ocean".into()])));
    assert_eq!(blocks[1].value_of("Tickets"), Some(Value::Integer(2)));
    assert_eq!(blocks[1].value_of("Shared"), Some(Value::YesNo(true)));
    let shares = vec![("chem".into(), 3.0), ("bio".into(), 1.5), ("*".into(), 0.0)];
    assert_eq!(entries.blocks("Book").next().unwrap().value_of("Shares"), Some(Value::Weights(shares)));
}

#[test]
fn wrong_blocks_are_named() {
    for (text, messages) in [
        ("Override=User Name=a", &["Override=User: Tickets is missing"][..]),
        ("Override=Usr Name=a Tickets=x", &["Override=Usr: must be one of User, Account", "Tickets=x: must be a whole"]),
        ("Override=User Name=a Tickets=1 Till=2", &["Till=2: unknown key; known keys are Name, Tickets, Until, Shared"]),
        ("Overide=User Name=a Tickets=1", &["Overide=User: unknown key"]),
        ("XFactorWeight=1 Override=User Name=a", &["allowed at the beginning of a line only"]),
        ("Override=User Name=a ?", &["\"?\": must be Key=Value"]),
        ("XFactorWeight=-1", &["XFactorWeight=-1: must be a number of 0 or more; correct it, or remove it to use the default 0"]),
    ] {
        let errors = read(text).expect_err(text);
        let found: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), messages.len(), "{text}: {found:?}");
        for message in messages {
            assert!(found.iter().any(|f| f.contains(message)), "{message}: {found:?}");
        }
    }
    let errors = check(parse_list("Override=User", "PriorityParameters"), TABLE).unwrap_err();
    assert!(errors.to_string().contains("allowed in multifactor2.conf only"), "{errors}");
}

#[test]
fn kinds_accept_and_refuse() {
    let integer = Kind::Integer { min: -1, max: 10 };
    let decimal = Kind::Decimal { min: 0.0, max: 1.0 };
    let weights = Kind::Weights { min: 0.0, max: 10.0 };
    let seconds = |n| Some(Value::Duration(n));
    for (kind, text, expected) in [
        (integer, "-1", Some(Value::Integer(-1))),
        (integer, "10", Some(Value::Integer(10))),
        (integer, "11", None),
        (integer, "1.0", None),
        (integer, "99999999999999999999", None),
        (decimal, "0.25", Some(Value::Decimal(0.25))),
        (decimal, "1.0000001", None),
        (decimal, "nan", None),
        (SHARE, "inf", None),
        (SHARE, "1e999", None),
        (Kind::YesNo, "Yes", Some(Value::YesNo(true))),
        (Kind::YesNo, "0", Some(Value::YesNo(false))),
        (Kind::YesNo, "maybe", None),
        (Kind::Duration, "90", seconds(5_400)),
        (Kind::Duration, "1:30", seconds(90)),
        (Kind::Duration, "1:00:01", seconds(3_601)),
        (Kind::Duration, "2-1", seconds(176_400)),
        (Kind::Duration, "2-1:1", seconds(176_460)),
        (Kind::Duration, "2-1:1:1", seconds(176_461)),
        (Kind::Duration, "2-", None),
        (Kind::Duration, "1:2:3:4", None),
        (Kind::Duration, "-1", None),
        (Kind::Duration, "1:", None),
        (Kind::Duration, "+1", None),
        (Kind::Duration, "9999999999", None),
        (Kind::PositiveDuration, "0:01", seconds(1)),
        (Kind::PositiveDuration, "0-0", None),
        (Kind::PositiveDecimal, "1e-9", Some(Value::Decimal(1e-9))),
        (Kind::PositiveDecimal, "0.0", None),
        (Kind::PositiveDecimal, "-0", None),
        (Kind::PositiveDecimal, "1e-999", None),
        (Kind::PositiveDecimal, "inf", None),
        (Kind::ZeroOrDecimal { min: 1.0 }, "0", Some(Value::Decimal(0.0))),
        (Kind::ZeroOrDecimal { min: 1.0 }, "1", Some(Value::Decimal(1.0))),
        (Kind::ZeroOrDecimal { min: 1.0 }, "0.999", None),
        (Kind::ZeroOrDecimal { min: 1.0 }, "-1", None),
        (Kind::ZeroOrDecimal { min: 1.0 }, "nan", None),
        (Kind::Names, "a", Some(Value::Names(vec!["a".into()]))),
        (Kind::Names, "a,,b", None),
        (Kind::Names, "a,a", None),
        (Kind::Names, "", None),
        (weights, "a:b:1", Some(Value::Weights(vec![("a:b".into(), 1.0)]))),
        (weights, "a:11", None),
        (weights, "a", None),
        (weights, ":1", None),
        (weights, "a:1,a:2", None),
    ] {
        assert_eq!(kind.read(text), expected, "{kind:?} {text:?}");
    }
    for good in ["2028-02-29", "2000-02-29", "2027-12-31T23:59", "2027-01-01t00:00:59"] {
        assert!(Kind::Date.read(good).is_some(), "{good}");
    }
    for bad in [
        "2027-02-29",
        "2100-02-29",
        "2027-13-01",
        "2027-00-01",
        "2027-04-31",
        "2027-01-00",
        "1969-12-31",
        "27-01-01",
        "2027-1-1",
        "2027-01",
        "2027-01-01T",
        "2027-01-01T24:00",
        "2027-01-01T12",
        "2027-01-01T12:60",
        "2027-01-01T12:00:60",
        "2027-01-01 12:00",
        "2027-01-01T12:00:00:00",
        "+027-01-01",
    ] {
        assert_eq!(Kind::Date.read(bad), None, "{bad}");
        assert_eq!(Kind::EndDate.read(bad), None, "{bad}");
    }
}

#[test]
fn a_date_alone_is_the_beginning_of_the_day_or_its_end() {
    let date = |hour, minute, second| {
        Some(Value::Date(Date { year: 2028, month: 2, day: 29, hour, minute, second }))
    };
    for (text, begin, end) in [
        ("2028-02-29", date(0, 0, 0), date(23, 59, 59)),
        ("2028-02-29T00:00", date(0, 0, 0), date(0, 0, 0)),
        ("2028-02-29T12:30", date(12, 30, 0), date(12, 30, 0)),
        ("2028-02-29t12:30:15", date(12, 30, 15), date(12, 30, 15)),
    ] {
        assert_eq!((Kind::Date.read(text), Kind::EndDate.read(text)), (begin, end), "{text}");
    }
}

fn place() -> Place {
    Place { source: "f".into(), line: Some(1) }
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn rendered_pairs_parse_back(given in prop::collection::vec(("[A-Za-z][A-Za-z0-9_.]{0,9}", "[^\r\n\0]{0,20}"), 1..5)) {
        prop_assume!(given.iter().all(|(key, _)| !key.eq_ignore_ascii_case("include")));
        let pairs: Vec<Pair> =
            given.into_iter().map(|(key, value)| Pair { place: place(), key, value }).collect();
        let text = pairs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let document = parse(&text, "f");
        prop_assert!(document.errors.is_empty(), "{text}: {}", document.errors);
        prop_assert_eq!(document.statements, vec![Statement::Pairs { pairs, complete: true }], "{}", text);
    }

    #[test]
    fn arbitrary_bytes_give_settings_or_one_line_errors(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        one_line_each(&text)?;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f");
        std::fs::write(&file, &bytes).unwrap();
        if let Err(errors) = Settings::load(Some(&text), &file) {
            prop_assert!(!errors.is_empty());
        }
    }

    #[test]
    fn almost_settings_give_settings_or_one_line_errors(
        text in "((Override|Book|XFactorWeight|Include|Name|Shares|Until)?[ =:,\"\\\\#\n\té0-9a-z-]{0,6}){0,12}"
    ) {
        one_line_each(&text)?;
    }

    #[test]
    fn kinds_never_panic(text in "[-+0-9:,.eETtä ]{0,24}") {
        let (weights, zero) = (Kind::Weights { min: 0.0, max: 1.0 }, Kind::ZeroOrDecimal { min: 1.0 });
        let positive = [Kind::PositiveDecimal, Kind::PositiveDuration];
        for kind in [Kind::Duration, Kind::Date, Kind::EndDate, Kind::Names, SHARE, weights, zero].iter().chain(&positive) {
            let _ = kind.read(&text);
        }
    }
}

fn one_line_each(text: &str) -> Result<(), TestCaseError> {
    let lines = text.split('\n').count();
    for result in [read(text), check(parse_list(text, "PriorityParameters"), TABLE)] {
        if let Ok((entries, _)) = &result {
            written_again(entries)?;
        }
        for error in result.err().iter().flatten() {
            let message = error.to_string();
            prop_assert!(!message.contains(char::is_control), "{message:?}");
            let says = ["must be", "must end", "allowed", "missing", "known", "at most"];
            prop_assert!(says.iter().any(|word| message.contains(word)), "{message}");
            prop_assert!(error.place.line.is_none_or(|line| (1..=lines).contains(&line)), "{message}");
        }
    }
    Ok(())
}

/// What is kept of settings gives them back.
fn written_again(entries: &Entries) -> Result<(), TestCaseError> {
    let text = entries.to_string();
    let (again, warnings) = read(&text).map_err(|errors| TestCaseError::fail(format!("{text}\n{errors}")))?;
    prop_assert!(warnings.is_empty(), "{text}");
    for setting in TABLE {
        prop_assert_eq!(again.value_of(setting.name), entries.value_of(setting.name), "{}", text);
        let blocks = |entries: &Entries| -> Vec<Vec<Option<Value>>> {
            let attributes = setting.attributes.unwrap_or_default().iter();
            let of = |block: &Entry| attributes.clone().map(|a| block.value_of(a.name)).collect();
            entries
                .blocks(setting.name)
                .map(|block| [vec![Some(block.value.clone())], of(block)].concat())
                .collect()
        };
        prop_assert_eq!(blocks(&again), blocks(entries), "{}", text);
    }
    Ok(())
}
