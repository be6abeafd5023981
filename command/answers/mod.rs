//! One file a question: data in, an answer out that can be serialised, and its text.

pub mod metrics;
pub mod migrate;

/// Whether a character can move a cursor, end a line or turn text round: a name may have any.
pub(crate) fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}')
}
