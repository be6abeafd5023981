//! Replaces names in a collected trace. A name gets the same pseudonym in every file.
//!
//! Names are numbered in the order in which they appear, so that nobody can compute them back. Names that a replay does not need, such as
//! hosts, files and people in slurm.conf, are left out with their lines.

use std::collections::HashMap;

use slurm_text::hosts;

/// Lines of `scontrol show config` that a replay uses, besides those that begin with `Priority`.
const KEPT: [&str; 12] = [
    "AccountingStorageEnforce",
    "Epilog",
    "Epilog[0]",
    "EpilogMsgTime",
    "FairShareDampeningFactor",
    "PreemptMode",
    "PreemptType",
    "SchedulerParameters",
    "SchedulerType",
    "SLURM_VERSION",
    "SelectType",
    "SelectTypeParameters",
];

/// Keys of partitions and nodes that a replay uses; lines without any of them are left out.
const OF_MACHINE: [&str; 17] = [
    "PartitionName",
    "QoS",
    "NodeName",
    "Nodes",
    "Partitions",
    "MaxTime",
    "OverSubscribe",
    "PriorityJobFactor",
    "PriorityTier",
    "TotalCPUs",
    "TotalNodes",
    "TRES",
    "TRESBillingWeights",
    "CPUTot",
    "CPUEfctv",
    "CfgTRES",
    "State",
];

/// Names that say nothing.
const PLAIN: [&str; 6] = ["root", "normal", "parent", "UNLIMITED", "(null)", "N/A"];

/// Other names, by kind and name.
#[derive(Debug, Default)]
pub struct Pseudonyms {
    known: HashMap<(&'static str, String), String>,
    counts: HashMap<&'static str, usize>,
}

impl Pseudonyms {
    /// The text of a file of a trace with other names.
    pub fn of(&mut self, file: &str, text: &str) -> String {
        match file {
            "config.txt" => config(text),
            "partitions.txt" | "nodes.txt" => self.records(text),
            _ => self.table(file, text),
        }
    }

    fn name(&mut self, kind: &'static str, name: &str) -> String {
        if name.is_empty() || PLAIN.contains(&name) {
            return name.to_owned();
        }
        let Self { known, counts } = self;
        let entry = known.entry((kind, name.to_owned()));
        let other = entry.or_insert_with(|| {
            let count = counts.entry(kind).or_default();
            *count += 1;
            format!("{kind}{count}")
        });
        other.clone()
    }

    fn names(&mut self, kind: &'static str, names: impl IntoIterator<Item: AsRef<str>>) -> String {
        let names: Vec<String> = names.into_iter().map(|name| self.name(kind, name.as_ref())).collect();
        names.join(",")
    }

    /// Each of the nodes of a list. Where they cannot be told apart two lists of the same are still the same.
    fn nodes(&mut self, list: &str) -> String {
        match hosts::in_order(list) {
            Some(nodes) => self.names("node", nodes),
            None => self.name("nodes", list),
        }
    }

    /// A table between bars, whose first line has the names of columns.
    fn table(&mut self, file: &str, text: &str) -> String {
        let mut lines = text.lines();
        let Some(header) = lines.next() else { return String::new() };
        let columns: Vec<&str> = header.split('|').collect();
        let mut other = header.to_owned() + "\n";
        for line in lines {
            let fields: Vec<String> = columns
                .iter()
                .zip(line.split('|'))
                .map(|(column, field)| self.field(file, column, field))
                .collect();
            other += &(fields.join("|") + "\n");
        }
        other
    }

    /// A field of a table, by the name of its column.
    pub fn field(&mut self, file: &str, column: &str, field: &str) -> String {
        let kind = match column.to_ascii_lowercase().as_str() {
            "user" => "user",
            "account" | "parentname" | "par name" => "account",
            "partition" => "partition",
            "qos" | "qosreq" => "qos",
            "name" if file == "qos.txt" => "qos",
            "cluster" => "cluster",
            "name" if file == "reservations.txt" => "reservation",
            "reqtres" | "alloctres" | "tres" | "grptres" | "maxtres" | "maxtrespu" | "maxtrespa" => {
                return plain_tres(field);
            }
            "nodelist" => "nodes",
            "nodename" | "nodenames" => return self.nodes(field),
            // Whether there is one is enough.
            "constraints" | "reservation" | "reqreservation" | "licenses" | "submitline" => {
                let is_none = ["", "None", "(null)", "0"].contains(&field);
                return if is_none { String::new() } else { "yes".to_owned() };
            }
            // CANCELLED by 1000
            "state" => return field.split(' ').next().unwrap_or_default().to_owned(),
            _ => return field.to_owned(),
        };
        self.names(kind, field.split(','))
    }

    /// Records of `scontrol`: `Key=Value` between blanks.
    fn records(&mut self, text: &str) -> String {
        let mut other = String::new();
        for line in text.lines() {
            let pairs: Vec<String> = line
                .split_ascii_whitespace()
                .filter_map(|word| word.split_once('='))
                .filter(|(key, _)| OF_MACHINE.contains(key))
                .map(|(key, value)| {
                    let kind = match key {
                        "PartitionName" | "Partitions" => "partition",
                        "QoS" => "qos",
                        "Nodes" => return format!("{key}={}", self.nodes(value)),
                        "NodeName" => "node",
                        _ => return format!("{key}={value}"),
                    };
                    format!("{key}={}", self.names(kind, value.split(',')))
                })
                .collect();
            // Records are divided by empty lines.
            if !pairs.is_empty() || line.trim().is_empty() {
                other += &(pairs.join(" ") + "\n");
            }
        }
        other
    }
}

/// A list of TRES without those that have a name of the site, such as licences and file systems.
fn plain_tres(list: &str) -> String {
    let is_plain = |part: &&str| {
        let name = part.split('=').next().unwrap_or_default();
        ["cpu", "mem", "node", "billing", "energy", "gres/gpu"].contains(&name) || name.starts_with("gres/gpu:")
    };
    list.split(',').filter(is_plain).collect::<Vec<_>>().join(",")
}

/// The lines that a replay uses.
fn config(text: &str) -> String {
    let is_kept = |line: &&str| {
        let name = line.split('=').next().unwrap_or_default().trim();
        // The site's own text may have any name in it.
        let is_priority =
            name.starts_with("Priority") && !name.starts_with("PrioritySite") && name != "PriorityParameters";
        is_priority || KEPT.contains(&name)
    };
    let line = |line: &str| {
        let (name, value) = line.split_once('=').unwrap_or_default();
        // Whether there is an epilog, and not which.
        let has_epilog = name.trim() == "Epilog[0]" || name.trim() == "Epilog" && value.trim() != "(null)";
        if has_epilog { format!("{name}= yes\n") } else { line.to_owned() + "\n" }
    };
    text.lines().filter(is_kept).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bug: names of licences and file systems were in an anonymised trace, among the TRES of a job.
    #[test]
    fn no_column_has_a_name_of_the_site() {
        let mut pseudonyms = Pseudonyms::default();
        let mut of = |file: &str, column: &str, text: &str| pseudonyms.field(file, column, text);
        let tres = "billing=4,cpu=4,fs/secret=1,gres/gpu:a100=1,license/secret=2,mem=4G";
        assert_eq!(of("sacct.txt", "AllocTRES", tres), "billing=4,cpu=4,gres/gpu:a100=1,mem=4G");
        assert_eq!(of("sacct.txt", "Constraints", "secret&gpu"), "yes");
        assert_eq!(of("sacct.txt", "ReqReservation", ""), "");
        assert_eq!(of("sacct.txt", "NodeList", "secret1"), "nodes1");
        assert_eq!(of("reservations.txt", "Name", "secret"), "reservation1");
        // Each by itself: events and partitions name the same ones.
        assert_eq!(of("reservations.txt", "NodeName", "secret[1-2]"), "node1,node2");
        assert_eq!(of("events.txt", "NodeName", "secret2"), "node2");
        assert_eq!(of("sacct.txt", "State", "CANCELLED by 1000"), "CANCELLED");
    }

    #[test]
    fn an_epilog_is_told_without_its_path() {
        assert_eq!(config("Epilog                  = /secret/end\nProlog = /secret\n"), "Epilog                  = yes\n");
        assert_eq!(config("Epilog[0] = /secret/end\nEpilogMsgTime = 2000 usec\n"), "Epilog[0] = yes\nEpilogMsgTime = 2000 usec\n");
        assert_eq!(config("Epilog = (null)\n"), "Epilog = (null)\n");
        assert_eq!(config("Prolog = /secret\n"), "");
    }
}
