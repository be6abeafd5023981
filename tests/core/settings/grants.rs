//! Lines of grants: what is refused, and what is read with a warning.

use multifactor2_core::settings::Settings;

const YEAR: &str = "Amount=12 From=2027-01-01 Until=2027-12-31";

fn error(text: &str) -> String {
    Settings::parse(text, "f").map(|_| text).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_is_allowed() {
    let line = |more: &str| format!("Grant=Account Name=a {YEAR} {more}\n");
    let other =
        |from: &str, until: &str| format!("Grant=Account Name=A Amount=12 From={from} Until={until}\n");
    for (text, said) in [
        (line("Unit=cpu"), "must be the name of a TRES followed by -hours"),
        (line("Pace=week"), "must be month, quarter, or a number of days"),
        (line("CarryOver=-1"), "must be a number from 0 to 1000"),
        (line("Rule=window Borrow=1"), "Borrow is allowed with Rule=carry only"),
        (line("Preset=nesi CarryOver=1"), "CarryOver is allowed with Rule=carry only"),
        (line("Interval=90"), "Interval is allowed with Rule=ageing only"),
        (line("Used=1"), "UsedUntil is missing on the line"),
        (line("UsedUntil=2027-03-01"), "allowed with Used only"),
        (line("Pace=quarter Used=1,2,3,4,5 UsedUntil=2027-03-01"), "can have at most 4 numbers"),
        (line("Partition=p Book=b"), "a line can have Partition or Book, not both"),
        (line("Book=b"), "no Book line has this name"),
        (line("") + &other("2027-12-31", "2028-12-31"), "Account=A can have one line at a time"),
        (
            line("") + &other("2028-01-01", "2028-12-31").replace('\n', " TimeZone=UTC\n"),
            "has another TimeZone",
        ),
        (
            line("") + &other("2028-01-01", "2028-12-31").replace('\n', " Factors=yes\n"),
            "has another Factors",
        ),
        ("Grant=Account Name=* Amount=1 From=2027-01-01 Until=2027-12-31".into(), "takes names, not *"),
        (
            "Grant=User Name=u Amount=1 From=2027-01-15 Until=2027-12-31".into(),
            "the first and the last period must be whole",
        ),
        (
            "Grant=User Name=u Amount=1 From=2027-02-01 Until=2027-01-31".into(),
            "must not be later than Until=2027-01-31",
        ),
        (
            "Grant=User Name=u Amount=1 From=2027-01-01T12:00 Until=2027-01-31".into(),
            "must be a day without a time",
        ),
        (
            "Grant=User Name=u Amount=1 From=1970-01-01 Until=9999-12-31 Pace=1days".into(),
            "a grant can have at most 10000 periods",
        ),
        ("Adjust=User Name=u Amount=1".into(), "At"),
    ] {
        let message = error(&text);
        assert!(message.contains(said) && message.contains("f line"), "{text}: {message}");
    }
}

#[test]
fn what_does_nothing_is_a_warning() {
    let grant = format!("Grant=Account Name=a {YEAR}\n");
    let warnings = |text: &str| {
        let loaded = Settings::parse(text, "f").unwrap_or_else(|errors| panic!("{text}: {errors}"));
        loaded.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(warnings(&format!("{grant}Adjust=Account Name=A Amount=-1 At=2027-04-01\n")), "");
    for adjust in [
        "Adjust=Account Name=b Amount=1 At=2027-04-01",
        "Adjust=User Name=a Amount=1 At=2027-04-01",
        "Adjust=Account Name=a Amount=1 At=2028-04-01",
        "Adjust=Account Name=a Amount=1 At=2027-04-01 Unit=node-hours",
        "Adjust=Account Name=a Amount=1 At=2027-04-01 Partition=p",
    ] {
        let said = warnings(&format!("{grant}{adjust}\n"));
        assert!(said.contains("has no effect for") && said.contains("f line 2"), "{adjust}: {said}");
    }
    let said = warnings(&format!("Grant=Account Name=a {YEAR} Used=5 UsedUntil=2027-03-01\n"));
    assert!(said.contains("counts as used in the period of UsedUntil"), "{said}");
    let said = warnings(&format!("PointsCap=0\n{grant}"));
    assert!(said.contains("gives jobs beyond a grant the same points as all others"), "{said}");
}
