//! `TreeUsage` with its windows: what they may say, and with what they do not go.

use multifactor2_core::settings::{Settings, TreeUsage};

#[test]
fn windows_of_the_tree_are_asked_for_by_their_setting_alone() {
    let default = Settings::default();
    assert_eq!((default.tree_usage, default.tree_windows()), (TreeUsage::HalfLife, None));
    assert!(!default.counts_for_tree());
    let text = "TreeUsage=Window\nTreeWindow=6:00:00\nTreeDepth=4\nTreeDecay=0.5";
    let loaded = Settings::parse(text, "f").unwrap();
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.settings.tree_windows(), Some((21_600, 4, 0.5)));
    assert!(loaded.settings.counts_for_tree());
    // Targets have windows of their own.
    assert!(Settings::parse(
        &format!("{text}\nTarget=User Name=a Percent=5\nComponent=FS\nTargetUsage=window"),
        "f"
    )
    .is_ok());
    let one = Settings::parse("TreeUsage=window", "f").unwrap().settings;
    assert_eq!(one.tree_windows(), Some((86_400, 14, 0.8)));
}

#[test]
fn what_does_not_go_together_is_an_error_and_what_does_nothing_is_said() {
    for (text, said) in [
        (
            "TreeUsage=window\nUsageMeasure=dominant",
            "f line 1: TreeUsage=window: must be halflife with UsageMeasure=dominant",
        ),
        (
            "TreeUsage=window\nBook=gpu Partitions=gpu",
            "f line 1: TreeUsage=window: must be halflife with Book lines",
        ),
        ("TreeUsage=days", "halflife"),
        ("TreeWindow=0", "longer than 0 seconds"),
        ("TreeDepth=0", "from 1 to 1000"),
        ("TreeDecay=1.5", "from 0 to 1"),
    ] {
        let errors = Settings::parse(text, "f").unwrap_err().to_string();
        assert!(errors.contains(said), "{errors}");
    }
    let warnings = Settings::parse("TreeWindow=6:00:00\nTreeDepth=4\nTreeDecay=0.5", "f").unwrap().warnings;
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].to_string().contains("TreeUsage=window"), "{}", warnings[0]);
}
