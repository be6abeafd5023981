//! The last good settings of a process.

use multifactor2_core::settings::{Outcome, Settings, SettingsKeeper};

use super::{eligible, pending};

#[test]
fn good_settings_survive_bad_ones() {
    let good = || Settings::parse("ActiveJobs=pending", "f");
    let bad = || Settings::parse("ActiveJobs=x", "f");
    let mut keeper = SettingsKeeper::new();
    assert!(matches!(keeper.reload(bad()), Outcome::Refused(_)));
    assert_eq!(keeper.current(), None);
    assert_eq!(keeper.reload(good()), Outcome::Fresh(good().unwrap()));
    assert_eq!(keeper.reload(bad()), Outcome::Kept(pending(), bad().unwrap_err()));
    assert_eq!(keeper.current(), Some(&pending()));
    // What an earlier process kept is newer than what this one remembers.
    keeper.remember(eligible());
    assert_eq!(keeper.reload(bad()), Outcome::Kept(eligible(), bad().unwrap_err()));
    let none = Settings::parse("", "f");
    assert_eq!(keeper.reload(none.clone()), Outcome::Fresh(none.unwrap()));
}
