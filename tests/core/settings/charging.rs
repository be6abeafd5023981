//! The lines of charging.

use multifactor2_core::settings::{ChargeKind, ChargeScope, Loaded, Settings};

fn loaded(text: &str) -> Loaded {
    Settings::parse(text, "f").unwrap_or_else(|errors| panic!("{text}: {errors}"))
}

#[test]
fn lines_are_read_and_written_and_read_again() {
    let text = "Charge=Partition Name=a,b Factor=0.1\nCharge=QOS Name=q Factor=1000 Scope=limits\nCharge=Reservation Name=r Factor=0\n\
                Charge=WCKey Name=w Factor=2 Scope=priority\nCharge=Account Name=x Factor=3\nCharge=Parent Name=y Factor=3\n\
                Charge=Requeued Factor=0.5\nMinimumCharge=00:10:00\n";
    let Loaded { settings, written, warnings, .. } = loaded(text);
    assert_eq!(warnings, []);
    let kinds: Vec<ChargeKind> = settings.charges.iter().map(|line| line.kind).collect();
    let all = [
        ChargeKind::Partition,
        ChargeKind::Qos,
        ChargeKind::Reservation,
        ChargeKind::WcKey,
        ChargeKind::Account,
        ChargeKind::Parent,
        ChargeKind::Requeued,
    ];
    assert_eq!(kinds, all);
    let first = &settings.charges[0];
    assert_eq!(
        (first.names.as_deref().map(<[String]>::len), first.factor, first.scope),
        (Some(2), 0.1, ChargeScope::Priority)
    );
    assert_eq!(settings.charges[1].scope, ChargeScope::Limits);
    assert_eq!(settings.minimum_charge.as_secs(), 600);
    assert_eq!(loaded(&written).settings, settings);
    assert_eq!(loaded(&settings.to_string().replace(" Charge=", "\nCharge=")).settings, settings);
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_what_is_allowed() {
    for (text, start, allowed) in [
        ("Charge=Partition Factor=1", "f line 1: Charge=Partition: ", "Name is missing"),
        ("Charge=Partition Name=a", "f line 1: Charge=Partition: ", "Factor is missing"),
        ("Charge=Requeued Name=a Factor=2", "f line 1: Name=a: ", "Charge=Requeued takes no Name"),
        ("Charge=QOS Name=a,* Factor=2", "f line 1: Name=*: ", "Charge takes names, not *"),
        ("Charge=QOS Name=a Factor=1000.5", "f line 1: Factor=1000.5: ", "a number from 0 to 1000"),
        ("Charge=QOS Name=a Factor=-1", "f line 1: Factor=-1: ", "a number from 0 to 1000"),
        ("Charge=QOS Name=a Factor=2 Scope=all", "f line 1: Scope=all: ", "must be one of priority, limits"),
        (
            "Charge=User Name=a Factor=2",
            "f line 1: Charge=User: ",
            "must be one of Partition, QOS, Reservation",
        ),
        ("MinimumCharge=soon", "f line 1: MinimumCharge=soon: ", "must be a time"),
    ] {
        let errors = Settings::parse(text, "f").expect_err(text).to_string();
        assert!(errors.starts_with(start) && errors.contains(allowed), "{text}: {errors}");
    }
}

#[test]
fn a_factor_that_changes_nothing_is_odd() {
    let warnings = loaded("Charge=QOS Name=a Factor=1").warnings;
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].to_string().contains("f line 1: Charge: has no effect with Factor=1"),
        "{}",
        warnings[0]
    );
}
