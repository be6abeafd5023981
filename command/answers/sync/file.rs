//! Reads a file that describes accounts: CSV or YAML.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};

use crate::error::Error;
use crate::output::escape::is_treacherous;

/// The most bytes that a file may have.
const MOST_BYTES: u64 = 64 << 20;

/// The most shares, as sacctmgr takes them.
const MOST_SHARES: u32 = i32::MAX as u32 - 1;

/// `Fairshare=`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shares {
    /// A number.
    Number(u32),
    /// The word `parent`.
    Parent,
}

/// An account as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name, in small letters, as Slurm keeps it.
    pub name: String,
    /// The account above; `root` where none is given.
    pub parent: String,
    /// Its shares, where they are given.
    pub shares: Option<Shares>,
    /// Its users, with their shares where they are given.
    pub users: Vec<(String, Option<Shares>)>,
    /// The line of the file.
    pub line: usize,
}

/// Reads a file.
///
/// # Errors
/// With the line, what is wrong, and what to do.
pub fn read(path: &Path) -> Result<Vec<Account>, Error> {
    let source = |error: &dyn std::fmt::Display| Error::of_source(path, &error);
    if !fs::metadata(path).map_err(|error| source(&error))?.is_file() {
        return Err(source(&"it is not a regular file: name one"));
    }
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|error| source(&error))?;
    file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|error| source(&error))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(source(&"it has more than 64 MiB: check that this is the right file"));
    }
    let is_yaml = path.extension().is_some_and(|extension| {
        extension.eq_ignore_ascii_case("yaml") || extension.eq_ignore_ascii_case("yml")
    });
    let read = if is_yaml { yaml(&text) } else { csv(&text) };
    let named = |(line, problem): (usize, String)| {
        Error::Question(format!("{} line {line}: {problem}", path.display()))
    };
    read.and_then(checked).map_err(named)
}

/// The line, from 1, and what is wrong there.
type Wrong = (usize, String);

const COLUMNS: [&str; 4] = ["account", "parent", "shares", "users"];

/// Accounts in the rows of a table.
fn csv(text: &str) -> Result<Vec<Account>, Wrong> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .flexible(true)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let line_of = |error: &csv::Error| error.position().map_or(1, csv::Position::line);
    let wrong = |error: csv::Error| (whole(line_of(&error)), format!("it cannot be read: {error}"));
    let header = reader.headers().map_err(wrong)?.clone();
    let mut places = HashMap::new();
    for (at, name) in header.iter().enumerate() {
        let Some(column) = COLUMNS.iter().find(|column| column.eq_ignore_ascii_case(name)) else {
            return Err((1, format!("unknown column {name:?}: the header can have {}", COLUMNS.join(", "))));
        };
        if places.insert(*column, at).is_some() {
            return Err((1, format!("column {column} appears twice: remove one")));
        }
    }
    if !places.contains_key("account") {
        let problem = format!("column account is missing: the first line can name the columns {}", COLUMNS.join(", "));
        return Err((1, problem));
    }
    let mut accounts = Vec::new();
    // Where the reader was before a record: empty lines and comments may be between.
    let (mut before, mut line) = (0, 1);
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let begins = record.position().map_or(before, |position| usize::try_from(position.byte()).unwrap_or(before));
        line += newlines(&text[before..begins]);
        before = begins;
        let is_none = |line: &&str| line.trim().is_empty() || line.starts_with('#');
        let line = line + text[begins..].lines().take_while(is_none).count();
        if record.len() > header.len() {
            let (fields, columns) = (record.len(), header.len());
            let problem = format!("{fields} fields, but the header has {columns}: separate users by blanks");
            return Err((line, problem));
        }
        let field = |name: &str| places.get(name).and_then(|at| record.get(*at)).unwrap_or_default();
        let user = |word: &str| {
            let (name, number) = word.split_once(':').map_or((word, None), |(name, number)| (name, Some(number)));
            Ok((name.to_owned(), number.map(|number| shares(number, line)).transpose()?))
        };
        let users = field("users").split([' ', ';', '\t']).filter(|word| !word.is_empty()).map(user);
        accounts.push(Account {
            name: field("account").to_owned(),
            parent: field("parent").to_owned(),
            shares: Some(field("shares")).filter(|text| !text.is_empty()).map(|text| shares(text, line)).transpose()?,
            users: users.collect::<Result<_, Wrong>>()?,
            line,
        });
    }
    Ok(accounts)
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fn whole(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX)
}

/// Accounts in a list.
fn yaml(text: &str) -> Result<Vec<Account>, Wrong> {
    let documents = MarkedYaml::load_from_str(text)
        .map_err(|error| (error.marker().line(), format!("it is not valid YAML: {}", error.info())))?;
    let Some(document) = documents.first() else { return Ok(Vec::new()) };
    let line_of = |node: &MarkedYaml| node.span.start.line();
    if documents.len() > 1 {
        return Err((line_of(&documents[1]), "a file can have one document only: remove the line ---".to_owned()));
    }
    let YamlData::Sequence(entries) = &document.data else {
        return Err((line_of(document), "must be a list of accounts, each with - account: NAME".to_owned()));
    };
    let mut accounts = Vec::new();
    for entry in entries {
        let line = line_of(entry);
        let YamlData::Mapping(fields) = &entry.data else {
            return Err((line, format!("an entry must have the form KEY: VALUE, with the keys {}", COLUMNS.join(", "))));
        };
        let mut account =
            Account { name: String::new(), parent: String::new(), shares: None, users: Vec::new(), line };
        for (key, value) in fields {
            match scalar(key)?.as_str() {
                "account" => account.name = scalar(value)?,
                "parent" => account.parent = scalar(value)?,
                "shares" => account.shares = given(value)?,
                "users" => account.users = users(value)?,
                other => {
                    return Err((line_of(key), format!("unknown key {other:?}: use one of {}", COLUMNS.join(", "))))
                }
            }
        }
        accounts.push(account);
    }
    Ok(accounts)
}

/// `[ada, bob]` or `{ada: 2, bob: }`
fn users(node: &MarkedYaml) -> Result<Vec<(String, Option<Shares>)>, Wrong> {
    match &node.data {
        YamlData::Mapping(users) => {
            users.iter().map(|(name, shares)| Ok((scalar(name)?, given(shares)?))).collect()
        }
        YamlData::Sequence(users) => users.iter().map(|name| Ok((scalar(name)?, None))).collect(),
        _ if scalar(node)?.is_empty() => Ok(Vec::new()),
        _ => Err((node.span.start.line(), "users must be written as [ada, emmy] or {ada: 2, emmy: 1}".to_owned())),
    }
}

fn given(node: &MarkedYaml) -> Result<Option<Shares>, Wrong> {
    let text = scalar(node)?;
    let line = node.span.start.line();
    Some(text).filter(|text| !text.is_empty()).map(|text| shares(&text, line)).transpose()
}

/// A word or number as text; nothing for null.
fn scalar(node: &MarkedYaml) -> Result<String, Wrong> {
    let wrong = || {
        let problem = "must be a word or a whole number: put quotes around anything else";
        (node.span.start.line(), problem.to_owned())
    };
    match &node.data {
        YamlData::Value(Scalar::Null) => Ok(String::new()),
        YamlData::Value(Scalar::Integer(number)) => Ok(number.to_string()),
        YamlData::Value(Scalar::String(text)) | YamlData::Representation(text, ..) => Ok(text.trim().to_owned()),
        _ => Err(wrong()),
    }
}

fn shares(text: &str, line: usize) -> Result<Shares, Wrong> {
    if text.eq_ignore_ascii_case("parent") {
        return Ok(Shares::Parent);
    }
    let number = text.parse().ok().filter(|number| *number <= MOST_SHARES);
    let allowed = || format!("shares {text:?}: must be a whole number from 0 to {MOST_SHARES}, or the word parent");
    number.map(Shares::Number).ok_or_else(|| (line, allowed()))
}

/// Names that sacctmgr takes as names, each once, and accounts in small letters.
fn checked(mut accounts: Vec<Account>) -> Result<Vec<Account>, Wrong> {
    let mut seen = HashMap::new();
    for account in &mut accounts {
        let line = account.line;
        account.name = account.name.to_lowercase();
        account.parent = account.parent.to_lowercase();
        if account.parent.is_empty() {
            "root".clone_into(&mut account.parent);
        }
        let names = [account.name.as_str(), account.parent.as_str()];
        for name in names.into_iter().chain(account.users.iter().map(|(user, _)| user.as_str())) {
            if !is_name(name) {
                let allowed = "must have 1 to 200 bytes, must have no blanks, control characters, quotes, =, comma, \
                               +, brackets or backslashes, and must not begin with -";
                return Err((line, format!("name {name:?}: {allowed}")));
            }
        }
        if account.name == "root" {
            return Err((line, "root is the top of every tree: remove it".to_owned()));
        }
        if let Some(first) = seen.insert(account.name.clone(), line) {
            return Err((line, format!("account {} is on line {first}, too: merge the two", account.name)));
        }
        let mut users = HashSet::new();
        if let Some((user, _)) = account.users.iter().find(|(user, _)| !users.insert(user.clone())) {
            return Err((line, format!("user {user} appears twice: remove one")));
        }
    }
    Ok(accounts)
}

/// Whether sacctmgr takes a text as one name, and a terminal shows it as it is.
pub(super) fn is_name(name: &str) -> bool {
    (1..=200).contains(&name.len())
        && !name.starts_with('-')
        && !name.chars().any(|letter| letter.is_whitespace() || is_treacherous(letter) || ",=[]\"'\\+".contains(letter))
}

#[cfg(test)]
pub(super) fn csv_for_tests(text: &str) -> Vec<Account> {
    csv(text).and_then(checked).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "# the tree\nAccount, Parent ,shares,users\nPhysics,,40,\n\n\"optics\",PHYSICS,parent,ada:2;emmy  bob:parent\n";

    const LIST: &str = "# the tree\n- account: Physics\n  shares: 40\n\n- users: {ada: 2, emmy: , bob: parent}\n  account: optics\n  parent: PHYSICS\n  shares: parent\n";

    #[test]
    fn both_forms_say_the_same() {
        let (rows, list) = (csv(ROWS).and_then(checked).unwrap(), yaml(LIST).and_then(checked).unwrap());
        let optics = &rows[1];
        assert_eq!((optics.name.as_str(), optics.parent.as_str(), optics.shares), ("optics", "physics", Some(Shares::Parent)));
        let users = [("ada", Some(Shares::Number(2))), ("emmy", None), ("bob", Some(Shares::Parent))];
        assert_eq!(optics.users, users.map(|(user, shares)| (user.to_owned(), shares)));
        assert_eq!(rows[0].parent, "root");
        assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [3, 5]);
        assert_eq!(list.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 5]);
        for (row, entry) in rows.into_iter().zip(list) {
            assert_eq!(Account { line: 0, ..row }, Account { line: 0, ..entry });
        }
        let users = yaml("- account: a\n  users: [ada, 17]\n- account: b\n  users:\n").unwrap();
        assert_eq!(users[0].users, [("ada".to_owned(), None), ("17".to_owned(), None)]);
        assert_eq!((yaml(""), csv("account\n")), (Ok(Vec::new()), Ok(Vec::new())));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, line, why) in [
            ("acount\nx\n", 1, "unknown column \"acount\": the header can have account, parent, shares, users"),
            ("parent\nx\n", 1, "column account is missing"),
            ("account,account\nx,y\n", 1, "appears twice"),
            ("account,shares\nx,-1\n", 2, "shares \"-1\": must be a whole number"),
            ("account,users\nx,a,b\n", 2, "3 fields, but the header has 2"),
            ("account\nx\n\nX\n", 4, "account x is on line 2, too"),
            ("account,users\nx,a:1 a:2\n", 2, "user a appears twice"),
            ("account\n-f\n", 2, "name \"-f\""),
            ("account\n\"a=b\"\n", 2, "name \"a=b\""),
            ("account,parent\nx,\"a b\"\n", 2, "name \"a b\""),
            ("account\nroot\n", 2, "root is the top"),
            ("account\n\"\"\n", 2, "name \"\""),
        ] {
            let (found, problem) = csv(text).and_then(checked).unwrap_err();
            assert!(found == line && problem.contains(why), "{text:?}: {found}: {problem}");
        }
        for (text, line, why) in [
            ("- account: x\n  shares: 1.5\n", 2, "a word or a whole number"),
            ("- account: x\n- acount: y\n", 2, "unknown key \"acount\": use one of"),
            ("account: x\n", 1, "must be a list"),
            ("- x\n", 1, "an entry must have the form"),
            ("- account: x\n  users: ada\n", 2, "must be written as [ada, emmy]"),
            ("- account: x\n---\n- account: y\n", 3, "one document"),
            ("- account: [x\n", 2, "not valid YAML"),
            ("- parent: x\n", 1, "name \"\""),
        ] {
            let (found, problem) = yaml(text).and_then(checked).unwrap_err();
            assert!(found == line && problem.contains(why), "{text:?}: {found}: {problem}");
        }
    }
}
