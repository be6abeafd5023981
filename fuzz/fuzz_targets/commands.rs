//! What Slurm's commands may have printed, or a saved directory may hold: any text gives a snapshot or a reason, never a panic. What
//! it gives can be written, read back, and given other names.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use multifactor2_command::answers::check::{findings, here};
use multifactor2_command::input::anonymise::anonymise;
use multifactor2_command::input::assemble;
use multifactor2_command::input::commands::NAMES;
use multifactor2_command::input::dump;
use multifactor2_command::input::texts::Texts;
use multifactor2_core::settings::Settings;
use multifactor2_snapshot::format;

/// What stands between texts of squeue in the seeds.
const MARK: &str = "|q7x2kd|";

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    texts: [&'a str; 8],
    dump: &'a str,
    uid: u32,
}

fuzz_target!(|input: Input| {
    let mut texts = Texts::default();
    MARK.clone_into(&mut texts.manifest.mark);
    texts.manifest.uid = input.uid;
    for (name, text) in NAMES.iter().zip(input.texts) {
        texts.texts.insert((*name).to_owned(), text.to_owned());
    }
    // Without it there is nothing to go on with.
    let config = texts.texts.entry("config".to_owned()).or_default();
    config.push_str("\nPriorityType = priority/multifactor2\n");
    let snapshot = assemble(&texts, None).expect("there is a PriorityType");
    for row in &snapshot.associations {
        assert!(row.usage.is_finite() && row.usage >= 0.0);
        assert!(row.parent == 0 || snapshot.associations.iter().any(|above| above.id == row.parent));
    }
    let _ = findings::all(&snapshot, Some(&Settings::default()));
    let _ = here::other_slurm_conf(&snapshot, texts.text("local-weights"), None);
    let other = anonymise(&snapshot);
    assert_eq!(other.jobs.len(), snapshot.jobs.len());
    for snapshot in [snapshot, other] {
        let mut bytes = Vec::new();
        format::write(&snapshot, &mut bytes).expect("memory");
        let again = format::read(&*bytes).expect("what we write we can read");
        assert_eq!(again, snapshot);
    }
    let dump = dump::snapshot(input.dump);
    assert!(dump.associations.iter().skip(1).all(|row| row.parent < row.id));
});
