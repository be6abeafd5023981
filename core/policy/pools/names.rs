//! The names by which pools know users, accounts and jobs.

use crate::settings::Place;

/// What an association is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Names<'n> {
    /// The user's name; empty for the association of an account.
    pub user: &'n str,
    /// The account's name.
    pub account: &'n str,
}

/// What a job is called, besides its association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobNames<'n> {
    /// Its first partition.
    pub partition: &'n str,
    /// Its QOS.
    pub qos: &'n str,
    /// Its wckey, without the star of a default one.
    pub wckey: &'n str,
    /// Its id.
    pub id: u32,
    /// The id of the array that it is of, and which task it is once it has left it.
    pub array: Option<(u32, Option<u32>)>,
    /// Tickets in its `AdminComment`.
    pub own: u32,
}

/// A name in a line of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<'n> {
    /// Where the line is.
    pub place: &'n Place,
    /// The setting.
    pub setting: &'static str,
    /// What follows it: the kind of object.
    pub kind: String,
    /// The name.
    pub name: &'n str,
    /// What has that name.
    pub of: Bearer,
}

/// What is said of a line of which nothing has a name.
pub const NONE_OF_THAT_NAME: &str =
    "this name does not exist, so the line has no effect for it. Correct the name, or create it: every calculation \
     looks for it again";

impl Named<'_> {
    /// The line, as far as it has the name: place, setting and name.
    pub fn line(&self) -> String {
        let Named { place, setting, kind, name, of } = self;
        let key = match (*setting, of) {
            ("Component", _) | ("Grant", Bearer::Partition) => "Partition",
            ("Book", Bearer::Partition) => "Partitions",
            ("Book", _) => "Shares",
            _ => "Name",
        };
        format!("{place}: {setting}={kind} {key}={name}")
    }
}

/// What has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearer {
    /// A user or an account, which is there or not.
    Association(bool),
    /// A partition.
    Partition,
    /// A QOS.
    Qos,
    /// What comes and goes with jobs.
    Job,
    /// A Unix group, whose number is known or not.
    Group(bool),
}

/// The tickets that an `AdminComment` names: one word `tickets=N` between blanks, commas or semicolons, N up to 1,000,000. `None` without
/// such a word; an error if it is malformed or there are several.
///
/// # Errors
/// The first word that is wrong.
pub fn comment_tickets(comment: &str) -> Result<Option<u32>, &str> {
    const MOST: u32 = 1_000_000;
    let mut found = None;
    for word in comment.split(|c: char| c.is_whitespace() || c == ',' || c == ';') {
        let Some(number) = word.strip_prefix("tickets=") else { continue };
        let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        let number = number.parse().ok().filter(|number| is_number && *number <= MOST).ok_or(word)?;
        if found.replace(number).is_some() {
            return Err(word);
        }
    }
    Ok(found)
}

/// `Override=Job Name=123` is the job or all of an array, `123_4` one task.
pub(super) fn is_job(name: &str, names: JobNames<'_>) -> bool {
    match name.split_once('_') {
        None => {
            name.parse() == Ok(names.id) || names.array.is_some_and(|(array, _)| name.parse() == Ok(array))
        }
        Some((array, task)) => names
            .array
            .is_some_and(|(id, of)| array.parse() == Ok(id) && of.is_some_and(|of| task.parse() == Ok(of))),
    }
}
