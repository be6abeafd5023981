//! `UsageMeasure` and `DominantTRES`: what they may say.

use std::path::Path;

use multifactor2_core::settings::{Settings, UsageMeasure};

fn weights(list: &str) -> Vec<(String, f64)> {
    let text = format!("UsageMeasure=dominant\nDominantTRES={list}");
    let loaded = Settings::parse(&text, "f").unwrap_or_else(|errors| panic!("{list}: {errors}"));
    assert!(loaded.warnings.is_empty(), "{list}: {:?}", loaded.warnings);
    // What is kept for the next start says the same.
    let again = Settings::parse(&loaded.settings.to_string(), "f").expect("as it was written").settings;
    assert_eq!(again, loaded.settings, "{list}");
    loaded.settings.dominant_weights().expect("dominant")
}

#[test]
fn lists_of_tres_with_and_without_weights() {
    let of = |list: &[(&str, f64)]| -> Vec<(String, f64)> {
        list.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
    };
    assert_eq!(weights("cpu,mem,gres/gpu=2.0"), of(&[("cpu", 1.0), ("mem", 1.0), ("gres/gpu", 2.0)]));
    assert_eq!(weights("CPU=1e-3"), of(&[("cpu", 1e-3)]));
    assert_eq!(weights("\"GRES/gpu:a100 = 5 , node\""), of(&[("gres/gpu:a100", 5.0), ("node", 1.0)]));
    let default = Settings::parse("UsageMeasure=Dominant", "f").unwrap().settings;
    assert_eq!(default.dominant_weights(), Some(of(&[("cpu", 1.0), ("mem", 1.0)])));
    // In PriorityParameters a list ends at the comma.
    let (one, none) = ("UsageMeasure=dominant,DominantTRES=gres/gpu=2", Path::new("/nonexistent"));
    assert_eq!(
        Settings::load(Some(one), none).unwrap().settings.dominant_weights(),
        Some(of(&[("gres/gpu", 2.0)]))
    );
}

#[test]
fn by_default_usage_is_billing() {
    let settings = Settings::default();
    assert_eq!((settings.usage_measure, settings.dominant_weights()), (UsageMeasure::Billing, None));
}

#[test]
fn what_is_no_list_says_so() {
    for list in [
        "", "cpu,", "cpu,,mem", "cpu,CPU", "cpu=0", "cpu=-1", "cpu=nan", "cpu=inf", "cpu=x", "cpu=", "=1",
        "cpu=1=2", "c pu", "cpu=1e10", "*",
    ] {
        let errors = Settings::parse(&format!("\nDominantTRES=\"{list}\""), "f").expect_err(list).to_string();
        assert!(errors.starts_with("f line 2: DominantTRES"), "{list}: {errors}");
        assert!(errors.contains("names of TRES separated by commas, each once"), "{list}: {errors}");
    }
    let errors = Settings::parse("UsageMeasure=cpu", "f").unwrap_err().to_string();
    assert!(errors.contains("must be one of billing, dominant"), "{errors}");
}

#[test]
fn a_list_without_effect_is_a_warning() {
    let warnings = Settings::parse("DominantTRES=cpu", "f").unwrap().warnings;
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].to_string().contains("UsageMeasure=billing"), "{}", warnings[0]);
    assert!(Settings::parse("DominantTRES=cpu,mem", "f").unwrap().warnings.is_empty());
}
