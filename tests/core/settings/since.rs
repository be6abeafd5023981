//! Every setting has the version that brought it.

use multifactor2_core::settings::since::{refused_by, SINCE};
use multifactor2_core::settings::{Settings, SETTINGS};

#[test]
fn every_setting_is_in_the_table_once() {
    for setting in SETTINGS {
        let times = SINCE.iter().flat_map(|(_, keys)| *keys).filter(|key| **key == setting.name).count();
        assert_eq!(times, 1, "{}: say in core/settings/since.rs with which version it comes", setting.name);
    }
    for key in SINCE.iter().flat_map(|(_, keys)| *keys) {
        let name = key.split(['.', '=']).next().unwrap();
        assert!(SETTINGS.iter().any(|setting| setting.name == name), "{key}: there is no such setting");
    }
}

#[test]
fn later_keys_and_words_are_refused() {
    let text = "ActiveJobs=pending\nOverride=User Name=ada Tickets=5\nParentUsers=split\n";
    let written = Settings::parse(text, "file").unwrap().written;
    let refused = refused_by("0.1.0", &written).unwrap();
    let what: Vec<_> = refused.iter().map(|one| (one.place.as_str(), one.what.as_str(), one.since)).collect();
    assert_eq!(what, [("file line 3", "ParentUsers", "0.2.0"), ("file line 2", "Override", "0.2.0")]);
    let later = Settings::parse("activejobs=STARTABLE", "file").unwrap().written;
    assert_eq!(refused_by("0.1.0", &later).unwrap()[0].what, "ActiveJobs=STARTABLE", "as it is written");
    assert_eq!(refused_by("0.2.0", &written), Some(Vec::new()));
    assert_eq!(refused_by("0.0.7", &written), None);
}
