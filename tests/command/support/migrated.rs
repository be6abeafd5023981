//! What must hold of every answer of `multifactor2 migrate`, for tests and fuzzing.

use multifactor2_command::answers::migrate::MigrateAnswer;
use multifactor2_core::settings::Settings;

/// Reads the lines of ours.
#[track_caller]
pub fn read(answer: &MigrateAnswer) -> Settings {
    let text = answer.settings();
    Settings::parse(&text, "multifactor2.conf").unwrap_or_else(|errors| panic!("{errors}\n{text}")).settings
}

/// What must hold of any input.
#[track_caller]
pub fn check(answer: &MigrateAnswer) {
    for note in &answer.notes {
        assert!(!note.remark.chars().any(char::is_control), "{note:?}");
    }
    let _ = read(answer);
    for line in answer.multifactor2_conf.iter().chain(&answer.slurm_conf).chain(&answer.sacctmgr) {
        assert!(!line.text.chars().any(char::is_control), "{:?}", line.text);
    }
    for line in &answer.sacctmgr {
        assert!(is_quoted(&line.text), "{}", line.text);
    }
    for line in answer.to_string().lines().filter(|line| line.starts_with('#')) {
        assert!(!line.ends_with('\\') && !line.chars().any(char::is_control), "{line:?}");
    }
}

/// Whether a shell does nothing with a line but split it: quotes are closed, and between them are harmless letters.
fn is_quoted(line: &str) -> bool {
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                if !letters.any(|letter| letter == '\'') {
                    return false;
                }
            }
            '\\' => {
                if letters.next() != Some('\'') {
                    return false;
                }
            }
            letter if letter.is_ascii_alphanumeric() || " _.,:+/=@%-".contains(letter) => (),
            _ => return false,
        }
    }
    true
}
