//! Translates weights and caps into `Component=` lines.

use std::collections::BTreeMap;

use crate::answers::migrate::draft::{clock, Draft, Item};
use crate::answers::migrate::page::Why;

/// What Maui and Moab call a component or a part, in all their releases, what it is here, and for a component its parts.
type Part = (&'static [&'static str], &'static str);
type Component = (&'static [&'static str], &'static str, &'static [Part]);

const COMPONENTS: [Component; 7] = [
    (
        &["CRED"],
        "CRED",
        &[
            (&["USER"], "User"),
            (&["GROUP"], "Group"),
            (&["ACCOUNT"], "Account"),
            (&["QOS"], "QOS"),
            (&["CLASS"], "Class"),
        ],
    ),
    (
        &["FS", "FAIRSHARE"],
        "FS",
        &[
            (&["FSUSER", "UFS"], "FSUser"),
            (&["FSGROUP", "GFS"], "FSGroup"),
            (&["FSACCOUNT", "AFS"], "FSAccount"),
            (&[PARENT], "FSParent"),
            (&["FSQOS"], "FSQOS"),
            (&["FSCLASS"], "FSClass"),
            (&["WCACCURACY", "FSUSERWCACCURACY"], "WCAccuracy"),
        ],
    ),
    (
        &["RES", "RESOURCE"],
        "RES",
        &[
            (&["NODE"], "Node"),
            (&["PROC"], "Proc"),
            (&["MEM", "MEMORY"], "Mem"),
            (&["DISK"], "Disk"),
            (&["PS"], "PS"),
            (&["PE"], "PE"),
            (&["WALLTIME"], "WallTime"),
        ],
    ),
    // Of the cap of the component Maui's table has a name with a W in it.
    (
        &["SERV", "SERVICE", "SERVICEW"],
        "SERV",
        &[
            (&["QUEUETIME"], "QueueTime"),
            (&["XFACTOR"], "XFactor"),
            (&["BYPASS"], "Bypass"),
            (&["STARTCOUNT"], "StartCount"),
        ],
    ),
    (
        &["TARG", "TARGET", "SERVICETARGET"],
        "TARGET",
        &[
            (&["TARGETQUEUETIME", "QUEUETIMETARGET"], "TargetQueueTime"),
            (&["TARGETXFACTOR", "XFACTORTARGET"], "TargetXFactor"),
        ],
    ),
    (
        &["USAGE"],
        "USAGE",
        &[
            (&["USAGECONSUMED", "CONSUMED"], "Consumed"),
            (&["USAGEREMAINING", "REMAINING"], "Remaining"),
            (&["USAGEPERCENT", "PERCENT"], "Percent"),
            (&["USAGEEXECUTIONTIME", "EXECUTIONTIME"], "ExecutionTime"),
        ],
    ),
    (&["ATTR"], "ATTR", &[(&["ATTRSTATE"], "State")]),
];

/// What a weight in percent is called here.
const PERCENT: &str = "WeightPercent";

/// Not a name of Maui: points by the tree, where there is one.
const PARENT: &str = "the tree";

/// The largest weight, and cap, that a line can have.
const LARGEST: f64 = 1e9;

/// By component and attribute the number, and what it came from.
type Attributes = BTreeMap<(&'static str, String), (f64, Item)>;

/// Weights and caps of all partitions, which is the empty name, and of each.
#[derive(Default)]
pub(super) struct Weights {
    of: BTreeMap<String, Attributes>,
    least: Option<(u64, Item)>,
    /// `JOBATTRPRIOF STATE[...]`, by what Slurm calls the state.
    states: BTreeMap<&'static str, (i64, Item)>,
}

/// Where a parameter belongs: the component and the attribute.
fn attribute(name: &str) -> Option<(&'static str, String)> {
    let (base, is_cap) = match name.strip_suffix("WEIGHT") {
        Some(base) => (base, false),
        None => (name.strip_suffix("CAP")?, true),
    };
    COMPONENTS.iter().find_map(|(theirs, ours, parts)| {
        if theirs.contains(&base) {
            return Some((*ours, if is_cap { "Cap" } else { "Weight" }.into()));
        }
        let (_, part) = parts.iter().find(|(theirs, _)| theirs.contains(&base))?;
        Some((*ours, format!("{part}{}", if is_cap { "Cap" } else { "" })))
    })
}

impl Weights {
    /// Takes a parameter. False where it is neither a weight nor a cap.
    pub fn take(&mut self, name: &str, partition: Option<&str>, item: &Item, draft: &mut Draft) -> bool {
        let Some(attribute) = attribute(name) else { return false };
        let (attribute, text, most) = match item.value.strip_suffix('%') {
            None => (attribute, item.value.as_str(), LARGEST),
            Some(text) if attribute.1 == "Weight" => ((attribute.0, PERCENT.to_owned()), text, 100.0),
            Some(_) => {
                draft.error(item, "must be a number without %, which is for weights of components only", "");
                return true;
            }
        };
        let partition = partition.unwrap_or_default();
        if !partition.is_empty() && !draft.name(item, partition) {
            return true;
        }
        if partition.contains(',') {
            draft.note(
                Why::ByHand,
                "a partition of Slurm cannot have this name: write its line by hand",
                &[item],
            );
            return true;
        }
        let least = if attribute.1 == PERCENT { 0.0 } else { -most };
        if let Some(number) = draft.number(item, text, least, most) {
            self.of.entry(partition.trim().into()).or_default().insert(attribute, (number, item.clone()));
        }
        true
    }

    /// `JOBATTRPRIOF STATE[Running]=100`. False for a state that jobs with a priority do not have in Slurm.
    pub fn state(&mut self, name: &str, points: i64, item: &Item) -> bool {
        let ours = match name.to_ascii_uppercase().as_str() {
            "IDLE" => "PENDING",
            "RUNNING" | "STARTING" => "RUNNING",
            "SUSPENDED" => "SUSPENDED",
            _ => return false,
        };
        self.states.insert(ours, (points, item.clone()));
        true
    }

    /// `XFMINWCLIMIT`
    pub fn least_limit(&mut self, seconds: u64, item: &Item) {
        self.least = Some((seconds, item.clone()));
    }

    /// Sets one for all partitions.
    pub fn set(&mut self, component: &'static str, attribute: &str, number: f64, item: &Item) {
        let general = self.of.entry(String::new()).or_default();
        general.insert((component, attribute.to_owned()), (number, item.clone()));
    }

    /// Whether something is said of a component.
    pub fn weighs(&self, component: &'static str) -> bool {
        self.of.values().flatten().any(|((of, _), _)| *of == component)
    }

    /// Whether a component is limited, or one of its parts is.
    pub fn is_capped(&self, component: &'static str) -> bool {
        self.of.values().flatten().any(|((of, attribute), (number, _))| {
            *of == component && attribute.ends_with("Cap") && *number > 0.0
        })
    }

    /// Whether something of a component is weighed with less than nothing.
    pub fn takes_away(&self) -> bool {
        self.of
            .values()
            .flatten()
            .any(|((_, attribute), (number, _))| !attribute.ends_with("Cap") && *number < 0.0)
    }

    /// The weight of accounts is one of the tree, where only the tree has targets.
    pub fn by_the_tree(&mut self, item: &Item, moves: bool) {
        let general = self.of.entry(String::new()).or_default();
        for (from, to) in [("FSAccount", "FSParent"), ("FSAccountCap", "FSParentCap")] {
            if let Some(found) = general.get(&("FS", from.to_owned())).cloned() {
                if moves {
                    general.remove(&("FS", from.to_owned()));
                }
                general.insert(("FS", to.to_owned()), found);
            }
        }
        general.entry(("FS", "FSParent".to_owned())).or_insert_with(|| (1.0, item.clone()));
    }

    /// Writes the lines. Those components are among them that `needed` names, with weights or without.
    pub fn write(mut self, needed: &[&'static str], draft: &mut Draft) {
        let (_, general) = self.of.remove_entry("").unwrap_or_default();
        for (_, component, parts) in COMPONENTS {
            // A line of a partition replaces the general one as a whole, so it says everything.
            let all =
                std::iter::once(("", &general)).chain(self.of.iter().map(|(name, own)| (name.as_str(), own)));
            for (partition, own) in all {
                let is_own = own.keys().any(|(of, _)| *of == component);
                if !partition.is_empty() && !is_own {
                    continue;
                }
                let mut line = format!("Component={component}");
                if !partition.is_empty() {
                    line = format!(
                        "{line} {}",
                        multifactor2_core::settings::text::written("Partition", partition)
                    );
                }
                let mut from = Vec::new();
                let (mut weight, mut weighs_a_part) = (1.0, false);
                let mut is_there = needed.contains(&component) || is_own;
                let names = parts.iter().flat_map(|(_, part)| [(*part).to_owned(), format!("{part}Cap")]);
                for name in ["Weight".to_owned(), PERCENT.to_owned(), "Cap".to_owned()].into_iter().chain(names) {
                    let key = (component, name);
                    let found = own.get(&key).or_else(|| general.get(&key));
                    let name = key.1;
                    match found {
                        // The default here is 0, and there 1: what is 0 needs no word.
                        Some((number, item)) if name == "QueueTime" && *number == 0.0 => {
                            from.push(item.clone());
                        }
                        // Beside a weight in percent, that is the one which counts.
                        Some((_, item)) if name == "Weight" && own.contains_key(&(component, PERCENT.into())) => {
                            from.push(item.clone());
                        }
                        Some((number, item)) => {
                            line = format!("{line} {name}={number}");
                            match name.as_str() {
                                "Weight" | PERCENT => weight = *number,
                                part => weighs_a_part |= !part.ends_with("Cap") && *number != 0.0,
                            }
                            from.push(item.clone());
                        }
                        None if name == "QueueTime" => {
                            line += " QueueTime=1";
                            (is_there, weighs_a_part) = (true, true);
                        }
                        None => (),
                    }
                }
                if let Some((seconds, item)) = self.least.as_ref().filter(|_| component == "SERV") {
                    line = format!("{line} XFMinLimit={}", clock(*seconds));
                    from.push(item.clone());
                    is_there = true;
                }
                if component == "ATTR" && !self.states.is_empty() {
                    let states: Vec<String> =
                        self.states.iter().map(|(name, (points, _))| format!("{name}:{points}")).collect();
                    line = format!("{line} States={}", states.join(","));
                    from.extend(self.states.values().map(|(_, item)| item.clone()));
                    is_there = true;
                }
                // What is 0 for every job needs no line, and of usage no priorities of running jobs.
                let is_idle = weight == 0.0 || !weighs_a_part;
                if !is_there || line == "Component=SERV" || is_idle && !needed.contains(&component) {
                    continue;
                }
                let remark = match component {
                    "SERV"
                        if line.contains("QueueTime=1")
                            && !from.iter().any(|item| item.key.starts_with("QUEUE")) =>
                    {
                        "The weight of the queue time is 1 there unless it is set."
                    }
                    "USAGE" => "Only squeue and scontrol show it. Slurm does not preempt by priority.",
                    _ if from.is_empty() => "Without a weight its parts have no effect, as there.",
                    _ => "",
                };
                let of_running = component == "USAGE" || line.contains("RUNNING:");
                draft.ours(line, remark, &from.iter().collect::<Vec<_>>());
                if of_running {
                    draft.slurm_list(
                        "PriorityFlags",
                        "CALCULATE_RUNNING",
                        "",
                        &from.iter().collect::<Vec<_>>(),
                    );
                }
            }
        }
    }
}
