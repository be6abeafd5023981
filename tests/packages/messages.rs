//! `docs/messages.md` has every line that the plugin and its commands print, and no other; the manual page's part of it is
//! made from there (`make docs`).
//!
//! Texts are compared between the parts that vary: `{…}` in the source, words in capitals and `…` in the page.

use multifactor2_fixtures::project::{read, sources};

/// Calls whose texts nobody reads but developers: levels below info, and what ends a test or a debug build.
const FOR_DEVELOPERS: [&str; 9] = [
    "debug!(",
    "trace!(",
    "assert!(",
    "assert_eq!(",
    "panic!(",
    "unreachable!(",
    "expect(",
    "unwrap_or_else(|| unreachable!(",
    "fault!(",
];

/// The beginnings of texts that are no line of a log: what they are.
const NOT_LOGGED: [(&str, &str); 26] = [
    ("Priority MULTIFACTOR2 ticket plugin", "the name that Slurm asks for"),
    ("Each line has a grade:", "the help of check"),
    ("Checking the files of Slurm", "what a terminal shows while it lasts"),
    ("fault {name} on purpose", "a panic of a test build"),
    ("slurmctld's lock for {}", "the check of the order of locks, in debug builds"),
    ("the association manager's lock for {}", "the same"),
    ("our own lock of rank {}", "the same"),
    ("{} is taken twice by one thread", "the same"),
    ("{} is held while {} is waited for", "the same"),
    ("slurmctld's locks are taken twice", "the same"),
    ("the association manager's locks are taken twice", "the same"),
    ("{} is taken after one of the same rank", "the same"),
    ("{} is taken in the phase", "the same"),
    ("{next:?} after {:?}", "the check of the order of phases, in debug builds"),
    ("{FIRST}{VERSION}: the last good settings", "the first line of a file"),
    ("What follows the key of the block.", "a comment of settings!"),
    ("The most that it counts, before its weight.", "the meaning of a setting"),
    ("How the tickets of an account are divided", "the same"),
    ("errors in settings before slurmctld reads them", "what docs/command.md says of check"),
    ("multifactor2 check --from saved", "the example there"),
    ("owner {above:?} is not there yet", "a check in debug builds"),
    ("the last good settings: the current ones have errors", "what a snapshot says"),
    ("Reservations, wckeys, Unix groups", "the same"),
    ("Partitions are left out", "the same"),
    ("The size of the cluster is left out", "the same"),
    ("This is the public file", "the same"),
];

/// White space of any kind as one blank each.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text in the source, and the code before it.
struct Literal<'a> {
    before: &'a str,
    text: String,
}

impl Literal<'_> {
    /// Whether it is an argument of one of these calls: of the last call whose bracket is open before it.
    fn is_in(&self, calls: &[&str]) -> bool {
        let mut depth = 0;
        for (at, byte) in self.before.bytes().enumerate().rev().take(400) {
            match byte {
                b')' => depth += 1,
                b'(' if depth > 0 => depth -= 1,
                b'(' if calls.iter().any(|call| self.before[..=at].ends_with(call)) => return true,
                b';' | b'{' | b'}' => return false,
                _ => (),
            }
        }
        false
    }

    /// What is always the same in it.
    fn fixed(&self) -> Vec<String> {
        let text = self
            .text
            .trim_start_matches("priority/multifactor2: ")
            .replace("\\n", " ")
            .replace("\\\"", "\"")
            .replace("\\\\", "\\");
        let mut pieces = vec![String::new()];
        let mut open = false;
        for character in text.chars() {
            match character {
                '{' => {
                    open = true;
                    pieces.push(String::new());
                }
                '}' => open = false,
                _ if open => (),
                other => pieces.last_mut().unwrap().push(other),
            }
        }
        let pieces =
            pieces.iter().map(|piece| flat(piece.trim_matches(|c: char| !c.is_alphanumeric() && c != '\\')));
        pieces.filter(|piece| piece.chars().any(char::is_alphabetic)).collect()
    }
}

/// The texts of a Rust file, without its unit tests.
fn literals(code: &str) -> Vec<Literal<'_>> {
    if code.contains("\n#![cfg(test)]\n") {
        return Vec::new();
    }
    // Where they are in the file itself; other files have none but tests, or their own.
    let is_inside = |at: &usize| code[*at..].lines().nth(2).is_some_and(|line| line.ends_with('{'));
    let code = ["\n#[cfg(test)]\nmod ", "\n#[cfg(test)]\npub(super) mod ", "\n#[cfg(test)]\npub mod "]
        .iter()
        .flat_map(|mark| code.match_indices(mark).map(|(at, _)| at))
        .filter(is_inside)
        .min()
        .map_or(code, |end| &code[..end]);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(character) = code[at..].chars().next() {
        let rest = &code[at..];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if character == '\'' {
            // A letter in quotes, or a lifetime.
            let mut letters = rest.chars().skip(1);
            let letter = match (letters.next(), letters.next(), letters.next()) {
                (Some('\\'), Some(_), _) => rest[3..].find('\'').map(|end| end + 4),
                (Some(letter), Some('\''), _) => Some(2 + letter.len_utf8()),
                _ => None,
            };
            at += letter.unwrap_or(1);
        } else if character == '"' {
            let raw = code[..at].ends_with('r');
            let mut end = 1;
            while let Some(byte) = rest.as_bytes().get(end).filter(|byte| **byte != b'"') {
                end += if *byte == b'\\' && !raw { 2 } else { 1 };
            }
            let mut text = String::new();
            for (number, line) in rest[1..end.min(rest.len())].split("\\\n").enumerate() {
                text.push_str(if number == 0 { line } else { line.trim_start() });
            }
            found.push(Literal { before: &code[..at], text });
            at += end + 1;
        } else {
            at += character.len_utf8();
        }
    }
    found
}

/// Whether the pieces stand in this order in the text.
fn in_order(pieces: &[String], text: &str) -> bool {
    let mut rest = text;
    pieces.iter().all(|piece| match rest.split_once(piece.as_str()) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// The messages of the page: indented lines.
fn messages(page: &str) -> Vec<String> {
    page.split("\n\n").filter(|part| part.starts_with("    ")).map(flat).collect()
}

/// All code of the plugin and its commands.
fn code() -> Vec<(String, String)> {
    let all =
        ["src", "core", "accounting", "releases", "command/answers/check"].into_iter().flat_map(|root| {
            sources(root).into_iter().map(move |(path, text)| (format!("{root}/{}", path.display()), text))
        });
    // Examples are for developers; a build directory is not ours.
    all.filter(|(path, _)| !path.contains("/examples/") && !path.contains("/target/")).collect()
}

#[test]
fn every_line_of_the_log_is_in_the_page() {
    let page = read("docs/messages.md");
    let (messages, whole) = (messages(&page), flat(&page));
    let (mut logged, mut missing) = (0, Vec::new());
    for (path, text) in code() {
        for literal in literals(&text) {
            if literal.is_in(&FOR_DEVELOPERS)
                || NOT_LOGGED.iter().any(|(begin, _)| literal.text.starts_with(begin))
            {
                continue;
            }
            let fixed = literal.fixed();
            let explained = if literal.is_in(&["error!(", "warn!(", "info!(", "error_line("]) {
                logged += 1;
                messages.iter().any(|message| in_order(&fixed, message))
            } else {
                // A part of a line, or no line at all: what reads like a sentence is taken for a part.
                let sentences = fixed.iter().filter(|piece| piece.split(' ').count() >= 3);
                sentences.into_iter().all(|piece| whole.contains(piece.as_str()))
            };
            if !explained {
                missing.push(format!("{path}: {}", literal.text));
            }
        }
    }
    assert!(logged > 25, "{logged} lines are logged");
    assert!(
        missing.is_empty(),
        "docs/messages.md lacks these texts. Add an entry with cause and remedy, then run `make docs`. What is no line of a \
         log belongs in NOT_LOGGED.\n{}",
        missing.join("\n")
    );
}

#[test]
fn every_line_of_the_trial_is_in_the_page() {
    let page = flat(&read("docs/messages.md"));
    let script = read("packaging/trial");
    let code = script.lines().filter(|line| !line.trim_start().starts_with('#'));
    let texts = code.flat_map(|line| {
        let calls = ["echo \"", "fail \""].into_iter().filter_map(move |call| line.split_once(call));
        calls.filter_map(|(_, rest)| rest.rsplit_once('"')).map(|(text, _)| text)
    });
    let mut printed = 0;
    for text in texts {
        printed += 1;
        // What the shell puts in stands between blanks.
        let words: Vec<&str> = text.split_whitespace().collect();
        for run in words.split(|word| word.contains(['$', '"'])).filter(|run| run.len() > 2) {
            let run = run.join(" ");
            assert!(page.contains(&run), "docs/messages.md lacks '{run}' of packaging/trial");
        }
    }
    assert!(printed > 10, "{printed}");
}

/// A word that stands for something else, or is put into a line by another text.
fn varies(word: &str) -> bool {
    let plain = word.trim_matches(|c: char| !c.is_alphanumeric());
    let capitals = plain.chars().all(|letter| letter.is_ascii_uppercase());
    word.contains('…')
        || word.contains("FILE")
        || word.contains("slurm-RELEASE")
        || (capitals && !plain.is_empty())
}

#[test]
fn every_message_of_the_page_exists() {
    let mut source = String::new();
    for (_, text) in code() {
        for literal in literals(&text) {
            let text = literal.text.replace("\\n", " ").replace("\\\"", "\"");
            source.push_str(&flat(&text));
            source.push('\n');
        }
    }
    source.push_str(&flat(&(read("packaging/trial") + &read("packaging/notice"))));
    let messages = messages(&read("docs/messages.md"));
    assert!(messages.len() > 60, "{}", messages.len());
    for message in messages {
        // What follows a comma may come from another text.
        let message = message.trim_start_matches("PRIO: ").replace(", ", " … ").replace("; ", " … ");
        let words: Vec<&str> = message.split(' ').collect();
        for run in words.split(|word| varies(word)) {
            // Of each run of fixed words some three in a row are in one text: several texts may make one line.
            let mut threes = run.windows(3).map(|three| three.join(" ")).peekable();
            assert!(
                threes.peek().is_none() || threes.any(|three| source.contains(&three)),
                "docs/messages.md: nothing says '{}' of '{message}'",
                run.join(" ")
            );
        }
    }
}
