//! Replaces every name that may reveal people or projects.
//!
//! Names are numbered in the order in which associations were created, so that a second saved directory of the same cluster mostly gets the
//! same numbers. Nobody can compute a name back from its number.

use std::collections::HashMap;

use multifactor2_core::settings::text::{self, Pair, Statement};
use multifactor2_snapshot::records::{Grant, Setting, Usage};
use multifactor2_snapshot::Snapshot;

/// Parameters whose values name neither hosts nor files nor people.
const KEPT: [&str; 9] = [
    "AccountingStorageEnforce",
    "AccountingStorageTRES",
    "FairShareDampeningFactor",
    "MaxArraySize",
    "MaxJobCount",
    "PreemptMode",
    "PrivateData",
    "SchedulerType",
    "SLURM_VERSION",
];

/// Names of one kind.
struct Names {
    kind: &'static str,
    kept: &'static [&'static str],
    known: HashMap<String, String>,
}

impl Names {
    fn new(kind: &'static str, kept: &'static [&'static str]) -> Self {
        Self { kind, kept, known: HashMap::new() }
    }

    fn change(&mut self, name: &mut String) {
        if name.is_empty() || self.kept.contains(&name.as_str()) {
            return;
        }
        let number = self.known.len() + 1;
        let kind = self.kind;
        let other = self.known.entry(std::mem::take(name)).or_insert_with(|| format!("{kind}{number}"));
        other.clone_into(name);
    }
}

/// Those of all kinds.
struct AllNames {
    users: Names,
    accounts: Names,
    partitions: Names,
    qos: Names,
    reservations: Names,
    wckeys: Names,
    books: Names,
    groups: Names,
}

/// The same snapshot with other names.
pub fn anonymise(snapshot: &Snapshot) -> Snapshot {
    let mut snapshot = snapshot.clone();
    let mut names = AllNames {
        users: Names::new("user", &["root"]),
        accounts: Names::new("account", &["root"]),
        partitions: Names::new("partition", &[]),
        qos: Names::new("qos", &["normal"]),
        reservations: Names::new("reservation", &[]),
        wckeys: Names::new("wckey", &[]),
        books: Names::new("book", &[]),
        groups: Names::new("group", &["root"]),
    };
    names.cluster(&mut snapshot);
    names.jobs(&mut snapshot);
    snapshot.usage.iter_mut().for_each(|row| names.usage(row));
    for row in &mut snapshot.windows {
        if row.of == "partition" {
            names.partitions.change(&mut row.key);
        }
    }
    for row in &mut snapshot.groups {
        names.groups.change(&mut row.name);
    }
    snapshot.grants.iter_mut().for_each(|row| names.grant(row));
    for Setting { line, from } in snapshot.settings.iter_mut().flatten() {
        *line = setting(line, |kind, name| names.of_setting(kind, name));
        *from = from.rsplit('/').next().unwrap_or_default().to_owned();
    }
    let known = names.known();
    let is_kept = |name: &str| name.starts_with("Priority") || KEPT.contains(&name);
    snapshot.parameters.retain(|name, _| is_kept(name));
    for (name, value) in &mut snapshot.parameters {
        if name == "PriorityParameters" || name.starts_with("PrioritySiteFactor") {
            *value = replaced(value, &known);
        }
    }
    "cluster".clone_into(&mut snapshot.about.cluster);
    snapshot
}

impl AllNames {
    fn cluster(&mut self, snapshot: &mut Snapshot) {
        // Numbers go by ids, not by the order of names, which would tell something of them.
        let mut by_id: Vec<&mut _> = snapshot.associations.iter_mut().collect();
        by_id.sort_by_key(|row| row.id);
        for row in by_id {
            self.accounts.change(&mut row.account);
            self.users.change(&mut row.user);
            self.partitions.change(&mut row.partition);
        }
        for row in &mut snapshot.partitions {
            self.partitions.change(&mut row.name);
            // Names of hosts.
            row.nodes.clear();
            self.qos.change(&mut row.qos);
        }
        for row in &mut snapshot.qos {
            self.qos.change(&mut row.name);
        }
        for row in &mut snapshot.books {
            self.books.change(&mut row.name);
            row.partitions.iter_mut().for_each(|name| self.partitions.change(name));
        }
        for row in &mut snapshot.book_associations {
            self.books.change(&mut row.book);
        }
    }

    fn jobs(&mut self, snapshot: &mut Snapshot) {
        for job in &mut snapshot.jobs {
            self.users.change(&mut job.user);
            self.accounts.change(&mut job.account);
            self.partitions.change(&mut job.partition);
            job.partitions.iter_mut().for_each(|name| self.partitions.change(name));
            self.qos.change(&mut job.qos);
            self.reservations.change(&mut job.reservation);
            self.wckeys.change(&mut job.wckey);
            // Slurm's own reasons are one word; others are what an administrator wrote.
            if !job.reason.chars().all(|character| character.is_ascii_alphanumeric() || character == '_') {
                "Other".clone_into(&mut job.reason);
            }
        }
        for row in &mut snapshot.entries {
            self.partitions.change(&mut row.partition);
            self.qos.change(&mut row.qos);
        }
        for row in &mut snapshot.running {
            self.partitions.change(&mut row.partition);
            self.qos.change(&mut row.qos);
            self.wckeys.change(&mut row.wckey);
        }
    }

    /// What says whose usage, step or accuracy it is.
    fn usage(&mut self, row: &mut Usage) {
        if let Some(mut book) = row.model.strip_prefix("book ").map(str::to_owned) {
            self.books.change(&mut book);
            row.model = format!("book {book}");
        }
        let (kind, book) = match row.of.split_once('@') {
            Some((kind, book)) => (kind.to_owned(), Some(book.to_owned())),
            None => (row.of.clone(), None),
        };
        match (row.model.as_str(), kind.as_str()) {
            ("accuracy", _) | ("step", "User") => self.users.change(&mut row.key),
            ("step", "Account") => self.accounts.change(&mut row.key),
            ("step", "Parent") => {
                let (account, user) = row.key.split_once(' ').unwrap_or((&row.key, ""));
                let (mut account, mut user) = (account.to_owned(), user.to_owned());
                self.accounts.change(&mut account);
                self.users.change(&mut user);
                row.key = if user.is_empty() { account } else { format!("{account} {user}") };
            }
            (_, "partition" | "Partition") => self.partitions.change(&mut row.key),
            _ => (),
        }
        if let Some(mut book) = book {
            self.books.change(&mut book);
            row.of = format!("{kind}@{book}");
        }
    }

    fn grant(&mut self, row: &mut Grant) {
        match row.kind.as_str() {
            "Account" => self.accounts.change(&mut row.name),
            "User" => self.users.change(&mut row.name),
            "Group" => self.groups.change(&mut row.name),
            "QOS" => self.qos.change(&mut row.name),
            _ => self.wckeys.change(&mut row.name),
        }
        row.partitions.iter_mut().for_each(|name| self.partitions.change(name));
        self.books.change(&mut row.book);
        row.place = row.place.rsplit('/').next().unwrap_or_default().to_owned();
    }

    /// A name on a line of settings.
    fn of_setting(&mut self, kind: &str, name: &mut String) {
        // In whatever case they are written, they are in small letters elsewhere.
        if matches!(kind, "Account" | "Parent" | "Department" | "QOS") {
            name.make_ascii_lowercase();
        }
        let names = match kind {
            // A number is no name.
            "Group" if name.parse::<u32>().is_ok() => return,
            "User" => &mut self.users,
            "Account" | "Parent" | "Department" => &mut self.accounts,
            "Partition" => &mut self.partitions,
            "QOS" => &mut self.qos,
            "WCKey" => &mut self.wckeys,
            "Group" => &mut self.groups,
            "Book" => &mut self.books,
            _ => return,
        };
        names.change(name);
    }

    /// Those that texts may have, with what they are called now.
    fn known(&self) -> HashMap<&str, &str> {
        let Self { users, accounts, partitions, qos, reservations, wckeys, books, groups: _ } = self;
        let all = [users, accounts, partitions, qos, reservations, wckeys, books];
        all.into_iter().flat_map(|names| &names.known).map(|(name, other)| (&**name, &**other)).collect()
    }
}

/// A line of settings with other names in `Name=` and `Partition=`: `change` gets the kind of each.
fn setting(line: &str, mut change: impl FnMut(&str, &mut String)) -> String {
    let pairs = text::parse(line, "").statements.into_iter().flat_map(Statement::into_pairs);
    let mut block = String::new();
    let mut written = Vec::new();
    for Pair { key, mut value, .. } in pairs {
        let kind = match key.as_str() {
            "Name" => block.as_str(),
            "Partition" | "Partitions" => "Partition",
            "Book" => "Book",
            _ => "",
        };
        if key == "Book" {
            // In whatever case it is written, it is one book.
            value.make_ascii_lowercase();
        }
        if key == "Shares" {
            let of_account = |entry: &str| {
                let (name, shares) = entry.rsplit_once(':').unwrap_or((entry, ""));
                let mut name = name.trim().to_owned();
                if name != "*" {
                    change("Account", &mut name);
                }
                format!("{name}:{shares}")
            };
            value = value.split(',').map(of_account).collect::<Vec<_>>().join(",");
        }
        if !kind.is_empty() {
            let mut names: Vec<String> = value.split(',').map(str::to_owned).collect();
            // A star is all of them.
            names.iter_mut().filter(|name| *name != "*").for_each(|name| change(kind, name));
            value = names.join(",");
        }
        written.push(text::written(&key, &value));
        if block.is_empty() {
            block = value;
        }
    }
    written.join(" ")
}

/// A text with other words where there is one for them. Words are what stands between marks of the syntax.
fn replaced(text: &str, known: &HashMap<&str, &str>) -> String {
    let is_mark = |character: char| character.is_whitespace() || "=,:\"\\#".contains(character);
    let mut other = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let end =
            if is_mark(character) { character.len_utf8() } else { rest.find(is_mark).unwrap_or(rest.len()) };
        let (word, after) = rest.split_at(end);
        other.push_str(known.get(word).copied().unwrap_or(word));
        rest = after;
    }
    other
}
