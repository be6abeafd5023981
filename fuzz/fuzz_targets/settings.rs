//! Configuration text: any bytes give settings or errors, never a panic or a hang.
#![no_main]

use libfuzzer_sys::fuzz_target;
use priority_multifactor2::conf::Settings;

fuzz_target!(|text: &str| {
    match Settings::parse(text, "fuzz") {
        Ok((settings, warnings)) => {
            let again = settings.to_string();
            let (same, none) = Settings::parse(&again, "again").expect("what we write we can read");
            assert_eq!(settings, same);
            assert!(none.is_empty(), "{again}");
            assert!(warnings.iter().all(|warning| !warning.to_string().is_empty()));
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
});
