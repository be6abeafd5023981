//! A snapshot: everything that determines the priorities of a cluster at one time, as the plugin or Slurm's commands report it.
//!
//! The plugin writes it. The command `multifactor2` reads it, or assembles it from Slurm's commands. So every answer uses one form,
//! whatever the source. [`records`] has the contents, [`format`](mod@format) the file.
//!
//! Names, units and ranges are those of slurm.conf(5), squeue(1), sprio(1) and sshare(1). Times are seconds since 1970, or 0 for none. What
//! is unknown is `None` or left out; nothing here is guessed.

pub mod format;
mod record;
pub mod records;

use std::collections::BTreeMap;

use records::{
    About, Association, Book, BookAssociation, Entry, Grant, Group, Job, Parameter, Partition, Qos, Running,
    Setting, TreeWindow, Tres, Usage, Window,
};

/// See the crate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Of what, when, and by whom.
    pub about: About,
    /// `Name = value` as `scontrol show config` has them, by name.
    pub parameters: BTreeMap<String, String>,
    /// Our own settings in force, in the syntax of multifactor2.conf; `None` where nobody could tell.
    pub settings: Option<Vec<Setting>>,
    /// By the positions that all lists of TRES have.
    pub tres: Vec<Tres>,
    /// All that can be seen.
    pub partitions: Vec<Partition>,
    /// All that can be seen.
    pub qos: Vec<Qos>,
    /// All that can be seen, a parent before those below it.
    pub associations: Vec<Association>,
    /// Books, where the settings have some.
    pub books: Vec<Book>,
    /// Where associations stand in books, where they have used something or wait in them.
    pub book_associations: Vec<BookAssociation>,
    /// Jobs that wait, held ones among them.
    pub jobs: Vec<Job>,
    /// What jobs in several partitions or QOS have in each.
    pub entries: Vec<Entry>,
    /// Jobs that run, alike ones together.
    pub running: Vec<Running>,
    /// Usage that targets go by.
    pub usage: Vec<Usage>,
    /// What was used in each window, where targets go by windows; empty too where whoever wrote it did not tell.
    pub windows: Vec<Window>,
    /// What each association was billed in each window that the share tree goes by.
    pub tree_windows: Vec<TreeWindow>,
    /// Unix groups that the settings name, as far as the controller knows them.
    pub groups: Vec<Group>,
    /// How grants stand.
    pub grants: Vec<Grant>,
}

impl Snapshot {
    /// A parameter of slurm.conf, by its name in any case.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Whether `PrivateData` has a word, or `all`.
    pub fn is_private(&self, what: &str) -> bool {
        let private = self.parameter("PrivateData").unwrap_or_default();
        private
            .split(',')
            .map(str::trim)
            .any(|word| [what, "all"].iter().any(|name| word.eq_ignore_ascii_case(name)))
    }

    fn parameter_records(&self) -> impl Iterator<Item = Parameter> + '_ {
        self.parameters.iter().map(|(name, value)| Parameter { name: name.clone(), value: value.clone() })
    }
}
