//! Reads `scontrol -o show assoc_mgr`: users with their rights, associations with their parents, QOS with their usage.

use slurm_text::lines::{field, is_of_cluster, number, whole, Unread};

/// A user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: u32,
    /// `AdminLevel`: `None`, `Operator` or `Administrator`.
    pub level: String,
}

/// An association. Shares and usage in parts have two places only, so `sshare` is asked for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Its id.
    pub id: u32,
    /// The id of the account above, of accounts below the root only: of a user, the account of its name is above it.
    pub parent: Option<u32>,
    /// Its account.
    pub account: String,
    /// Its user; empty for an account.
    pub user: String,
    /// Its partition; empty for all.
    pub partition: String,
    /// Its priority.
    pub priority: u32,
    /// Raw shares.
    pub shares: u32,
    /// Raw usage, to two places.
    pub usage: f64,
    /// It is the default of its user.
    pub is_default: bool,
}

/// A QOS.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Used {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Raw usage.
    pub usage: Option<f64>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssociationsRead {
    /// Users that can be seen.
    pub users: Vec<User>,
    /// Associations that can be seen.
    pub associations: Vec<Known>,
    /// QOS.
    pub qos: Vec<Used>,
    /// What could not be read.
    pub unread: Unread,
}

/// All lines.
pub fn all(text: &str) -> AssociationsRead {
    let mut found = AssociationsRead::default();
    for (line, number) in text.lines().zip(1..) {
        let is_read = if let Some(rest) = line.strip_prefix("ClusterName=") {
            association(rest).map(|row| found.associations.push(row))
        } else if line.starts_with("UserName=") {
            user(line).map(|row| found.users.push(row))
        } else if let Some(rest) = line.strip_prefix("QOS=") {
            qos(rest).map(|row| found.qos.push(row))
        } else if is_heading(line) {
            Some(())
        } else {
            None
        };
        if is_read.is_none() {
            found.unread.note(number);
        }
    }
    found
}

/// Lines that hold nothing; and those of limits by account or user, which 24.05 and later print on separate lines.
fn is_heading(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line == "Current Association Manager state"
        || line.ends_with(" Records")
        || (line.starts_with("No ") && line.contains(" currently cached in Slurm"))
        || is_of_cluster(line)
        || line.starts_with(['{', '}'])
        || line.starts_with("Account Limits")
        || line.starts_with("User Limits")
}

/// `name(number)`
fn named(text: &str) -> Option<(&str, u32)> {
    let (name, number) = text.strip_suffix(')')?.rsplit_once('(')?;
    Some((name, whole(number)?))
}

fn user(line: &str) -> Option<User> {
    let (name, uid) = named(field(line, "UserName")?)?;
    Some(User { name: name.to_owned(), uid, level: field(line, "AdminLevel").unwrap_or_default().to_owned() })
}

/// What is between two marks; the rest after the second.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<(&'a str, &'a str)> {
    let start = text.find(from)? + from.len();
    let end = start + text[start..].find(to)?;
    Some((&text[start..end], &text[end..]))
}

fn association(line: &str) -> Option<Known> {
    // Names may have blanks, and are in a fixed order.
    let (account, rest) = between(line, " Account=", " UserName=")?;
    let (user, rest) = between(rest, " UserName=", " Partition=")?;
    let (partition, rest) = between(rest, " Partition=", " Priority=")?;
    let user = user.trim();
    let (user, _) = if user.is_empty() { ("", 0) } else { named(user)? };
    let parent = match between(rest, " ParentAccount=", " DefAssoc=") {
        // `name(id) Lft=2`, from 23.11 on `name(id) Lineage=…`.
        Some((parent, _)) => {
            let end = parent.find(" Lft=").or_else(|| parent.find(" Lineage="));
            named(parent[..end.unwrap_or(parent.len())].trim()).map(|(_, id)| id)
        }
        None => None,
    };
    let usage = field(rest, "UsageRaw/Norm/Efctv")?.split('/').next()?;
    let shares = field(rest, "SharesRaw/Norm/Level/Factor")?.split('/').next()?;
    Some(Known {
        id: whole(field(rest, "ID")?)?,
        parent,
        account: account.to_owned(),
        user: user.to_owned(),
        partition: partition.trim().to_owned(),
        priority: whole(field(rest, "Priority")?)?,
        shares: whole(shares)?,
        usage: number(usage).filter(|usage| *usage >= 0.0)?,
        is_default: field(rest, "DefAssoc") == Some("Yes"),
    })
}

fn qos(line: &str) -> Option<Used> {
    let end = line.find(" UsageRaw=")?;
    let (name, id) = named(line[..end].trim())?;
    Some(Used { id, name: name.to_owned(), usage: field(line, "UsageRaw").and_then(number) })
}
