//! Escapes the names of users, accounts, jobs and partitions, which are text that users can choose. All of it passes through here before it
//! is shown: on a terminal, in a table for programs, in CSV, in JSON.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;

/// Characters that change how the text around them is shown: line ends, directions, and those that are not seen.
pub(crate) fn is_treacherous(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Text for a terminal: control and bidirectional characters as escapes such as `\u{1b}`. `ascii` also all that is not ASCII.
pub fn terminal(text: &str, ascii: bool) -> Cow<'_, str> {
    let is_bad = |character: char| is_treacherous(character) || ascii && !character.is_ascii();
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_bad(character) {
            let _ = write!(shown, "{}", character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// A field between bars (`-P`, `-p`): as on a terminal, and bars as escapes, so that a row has the same number of fields always.
pub fn field(text: &str) -> String {
    terminal(text, false).replace('|', "\\u{7c}")
}

/// A cell of CSV: what a spreadsheet would take for a formula gets an apostrophe before it; quoted where that is needed.
pub fn csv(text: &str) -> String {
    let text = terminal(text, false);
    let is_number = text.parse::<f64>().is_ok();
    let text = if !is_number && text.trim_start().starts_with(['=', '+', '-', '@']) {
        Cow::Owned(format!("'{text}"))
    } else {
        text
    };
    if text.contains(['"', ',', ';', '\'']) || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}

/// JSON in which `<`, `>`, `&` and characters that [`terminal`] escapes are escapes, so that it can be put into a page or be looked at.
///
/// # Errors
/// The value cannot be JSON.
pub fn json(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(escaped(&serde_json::to_string_pretty(value)?))
}

/// The same in one line.
///
/// # Errors
/// The value cannot be JSON.
pub fn json_line(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(escaped(&serde_json::to_string(value)?))
}

fn escaped(plain: &str) -> String {
    let mut text = String::with_capacity(plain.len() + 1);
    // None of these is part of JSON itself, so all are within strings.
    for character in plain.chars() {
        if matches!(character, '<' | '>' | '&') || character != '\n' && is_treacherous(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(character);
        }
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a name can be.
    const HOSTILE: &str = "<script>\"'&|\u{1b}]0;title\u{7}\nnext\u{202e}back,=1";

    #[test]
    fn nothing_reaches_a_terminal_that_changes_what_is_around_it() {
        let shown = terminal(HOSTILE, false);
        assert!(!shown.contains(is_treacherous), "{shown:?}");
        assert!(shown.contains("\\u{1b}]0;title\\u{7}\\u{a}next\\u{202e}back"));
        assert!(terminal("grün", true).is_ascii());
        assert!(matches!(terminal("grün", false), Cow::Borrowed(_)));
    }

    #[test]
    fn a_row_for_programs_keeps_its_fields() {
        assert!(!field(HOSTILE).contains(['|', '\n']));
    }

    #[test]
    fn a_spreadsheet_takes_no_name_for_a_formula() {
        for name in ["=1+1", "+1+1", "-a", "@sum", " =1"] {
            assert!(csv(name).trim_start_matches(['"', ' ']).starts_with('\''), "{}", csv(name));
        }
        assert_eq!(csv("-1.5"), "-1.5");
        assert_eq!(csv("a\"b,c"), "\"a\"\"b,c\"");
        assert!(!csv(HOSTILE).contains('\n'));
    }

    #[test]
    fn json_can_be_put_into_a_page_and_says_the_same() {
        let text = json(&[HOSTILE]).unwrap();
        assert!(!text.contains(['<', '>', '&', '\u{202e}', '\u{1b}']), "{text}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), [HOSTILE]);
    }
}
