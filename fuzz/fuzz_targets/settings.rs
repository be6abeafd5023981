//! Configuration text: any bytes give settings or errors, never a panic or a hang.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multifactor2_accounting::kept_settings as kept;
use multifactor2_core::settings::Settings;
use std::path::Path;

fuzz_target!(|text: &str| {
    match Settings::parse(text, "fuzz") {
        Ok(loaded) => {
            let again = loaded.settings.to_string();
            let same = Settings::parse(&again, "again").expect("what we write we can read");
            assert_eq!(loaded.settings, same.settings);
            // Of lines without effect.
            assert!(same.warnings.len() <= loaded.warnings.len(), "{again}");
            assert!(loaded.warnings.iter().all(|warning| !warning.to_string().is_empty()));
            let kept = kept::text(&loaded, Path::new(text));
            assert_eq!(kept::parse(&kept, "kept").as_ref(), Ok(&loaded.settings), "{kept}");
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in &errors {
                let line = error.to_string();
                assert!(line.contains("fuzz"), "no file in: {line}");
                assert!(!line.contains('\n'), "more than a line: {line}");
            }
        }
    }
    if let Err(why) = kept::parse(text, "fuzz") {
        assert!(!why.contains('\n'), "more than a line: {why}");
    }
});
