//! Translates Grid Engine: what `qconf` prints of the scheduler, the share tree, users, projects and departments.

mod objects;
mod text;
mod tree;

use std::sync::Arc;

use super::draft::{clock, rounded, Draft, Item};
use super::page::Why;
use objects::Objects;
use text::{blocks, lines, pairs};

/// The files of a directory, each by the option of qconf that prints it.
pub(super) const FILES: [&str; 6] = ["ssconf", "sstree", "suser", "sprj", "su", "sconf"];

/// Lines that only one output of qconf has.
const MARKS: [(&str, &str); 9] = [
    ("policy_hierarchy", "ssconf"),
    ("weight_tickets_share", "ssconf"),
    ("childnodes", "sstree"),
    ("default_project", "suser"),
    ("delete_time", "suser"),
    ("xacl", "sprj"),
    ("entries", "su"),
    ("auto_user_fshare", "sconf"),
    ("execd_spool_dir", "sconf"),
];

/// Which output of qconf the text is, by its lines, where it is one.
pub(super) fn file_of(text: &str) -> Option<&'static str> {
    let lines = lines(text);
    let mut keys = lines.iter().filter_map(|(_, line)| line.split(|c: char| c == '=' || c.is_whitespace()).next());
    keys.find_map(|key| MARKS.iter().find(|(mark, _)| *mark == key)).map(|(_, file)| *file)
}

/// What the scheduler says besides the lines that it gives at once.
#[derive(Default)]
struct Scheduler {
    /// `weight_urgency`, `weight_priority`, `weight_waiting_time` and `weight_deadline`, where they are set.
    urgency: [Option<(f64, Item)>; 4],
    /// `weight_tickets_share`
    share: Option<(i64, Item)>,
    /// `weight_tickets_functional`
    functional: Option<(i64, Item)>,
    others: Vec<Item>,
}

/// Translates the outputs. Each has what it is called in the help, what messages call it, and its text.
pub(super) fn translate(texts: &[(&str, String, String)]) -> Draft {
    let mut draft = Draft::default();
    draft.slurm("PriorityType=priority/multifactor2", "", &[]);
    let text = |file: &str| texts.iter().find(|(known, ..)| *known == file);
    let mut scheduler = Scheduler::default();
    if let Some((_, name, text)) = text("ssconf") {
        let source = Arc::from(name.as_str());
        let items = pairs(&source, text, &mut draft);
        for item in &items {
            scheduler.take(item, &mut draft);
        }
        scheduler.write(&mut draft);
        draft.rest(&items);
    }
    let mut objects = Objects::default();
    for file in ["suser", "sprj", "su"] {
        if let Some((_, name, text)) = text(file) {
            for block in blocks(&Arc::from(name.as_str()), text, &mut draft) {
                objects.take(file, &block, &mut draft);
            }
        }
    }
    if let Some((_, name, text)) = text("sconf") {
        objects.automatic(&pairs(&Arc::from(name.as_str()), text, &mut draft), &mut draft);
    }
    objects.write(&mut draft);
    if let Some((_, name, text)) = text("sstree") {
        let is_used = scheduler.share.as_ref().is_none_or(|(tickets, _)| *tickets > 0);
        tree::translate(&Arc::from(name.as_str()), text, &objects, is_used, &mut draft);
    }
    objects.members(&mut draft);
    draft
}

impl Scheduler {
    fn take(&mut self, item: &Item, draft: &mut Draft) {
        let value = item.value.as_str();
        match item.key.as_str() {
            "weight_ticket" => {
                if let Some(weight) = draft.number(item, value, 0.0, 10_000.0) {
                    let remark = "FAIRSHARE of sprio -n is ntckts.";
                    #[allow(clippy::cast_possible_truncation)] // within the range that was read
                    let weight = (weight * 100_000.0).round() as i64;
                    draft.slurm(format!("PriorityWeightFairshare={weight}"), remark, &[item]);
                }
            }
            "weight_tickets_functional" => {
                self.functional =
                    draft.integer(item, value, 0, 1_000_000_000).map(|tickets| (tickets, item.clone()));
            }
            "weight_tickets_share" => {
                self.share =
                    draft.integer(item, value, 0, 1_000_000_000).map(|tickets| (tickets, item.clone()));
            }
            "weight_user" => weight("User", item, draft),
            "weight_project" => weight("Account", item, draft),
            "weight_department" => weight("Department", item, draft),
            "weight_job" => weight("Job", item, draft),
            "policy_hierarchy" | "ticket_policy_hierarchy" => hierarchy(item, draft),
            "share_override_tickets" => yes_no("ShareOverrideTickets", item, draft),
            "share_functional_shares" => yes_no("ShareFunctionalShares", item, draft),
            "max_functional_jobs_to_schedule" => {
                if let Some(jobs) = draft.integer(item, value, 0, 4_294_967_295) {
                    let remark = if (1..=1_000_000).contains(&jobs) {
                        ""
                    } else {
                        "The nearest allowed value."
                    };
                    draft.ours(format!("MaxFunctionalJobs={}", jobs.clamp(1, 1_000_000)), remark, &[item]);
                }
            }
            "compensation_factor" => {
                if let Some(factor) = draft.number(item, value, 0.0, 1e9) {
                    if factor == 0.0 || factor >= 1.0 {
                        draft.ours(format!("CompensationFactor={factor}"), "", &[item]);
                    } else {
                        draft.note(Why::ByHand, "Here it must be 0, or a number of 1 or more.", &[item]);
                    }
                }
            }
            "halftime" => half_time(item, draft),
            "halflife_decay_list" => {
                if value.split([',', ':']).any(|word| word.trim().starts_with("finished_jobs")) {
                    finished_jobs(item, draft);
                }
                if !value.eq_ignore_ascii_case("none") {
                    draft.page(&["halflife_decay_list"], item);
                }
            }
            "usage_weight_list" => usage(item, draft),
            "max_pending_tasks_per_job" | "report_pjob_tickets" => {
                draft.page(&[&item.key], item);
            }
            key => match URGENCY.iter().position(|known| *known == key) {
                Some(at) => {
                    let most = if at < 2 { 10_000.0 } else { 1e9 };
                    self.urgency[at] = draft.number(item, value, 0.0, most).map(|weight| (weight, item.clone()));
                }
                None => self.others.push(item.clone()),
            },
        }
    }

    fn write(&self, draft: &mut Draft) {
        if let Some((tickets, item)) = &self.functional {
            // Four weights of 0 are not allowed beside functional tickets, and none have an effect.
            let all =
                ["User", "Account", "Department", "Job"].map(|kind| format!("FunctionalWeight{kind}=0"));
            let nothing = all.iter().all(|line| draft.ours.has(line));
            let tickets = if nothing { 0 } else { *tickets };
            draft.ours(format!("TicketsFunctional={tickets}"), "", &[item]);
        }
        if let Some((tickets, item)) = &self.share {
            let remark =
                if *tickets == 0 { "Without these tickets shares have no effect, as in Grid Engine." } else { "" };
            draft.ours(format!("TicketsShare={tickets}"), remark, &[item]);
        }
        self.urgency(draft);
        for item in &self.others {
            draft.unknown(item);
        }
    }
}

impl Scheduler {
    /// The urgency and the POSIX priority of jobs.
    fn urgency(&self, draft: &mut Draft) {
        let number = |at: usize| self.urgency[at].as_ref().map_or(0.0, |(weight, _)| *weight);
        let [urgency, priority, waiting, deadline] = [0, 1, 2, 3].map(number);
        let items: Vec<&Item> = self.urgency.iter().flatten().map(|(_, item)| item).collect();
        if let (None, Some((_, item))) = (&self.urgency[0], &self.urgency[2]) {
            let remark = "For each minute; Grid Engine counts seconds. Compare it with PriorityWeightFairshare.";
            if waiting > 0.0 {
                draft.ours(format!("Component=SERV QueueTime={}", rounded(waiting * 60.0)), remark, &[item]);
            }
            return;
        }
        if urgency > 0.0 || priority > 0.0 {
            // As many points as weight_ticket has in the line for it.
            let [of_urgency, of_priority] = [urgency, priority].map(|weight| rounded(weight * 100_000.0));
            let mut line = format!("Component=URGENCY Urgency={of_urgency} Priority={of_priority}");
            for (name, weight) in [("WaitingTime", waiting), ("Deadline", deadline)] {
                if weight > 0.0 {
                    line = format!("{line} {name}={}", rounded(weight));
                }
            }
            let remark = "Without urgencies of resources: weigh TRES with PriorityWeightTRES. Nice is subtracted as it is, too.";
            draft.ours(line, remark, &items);
            if (urgency + priority) * 100_000.0 > 1_000_000.0 {
                draft.ours("PointsCap=2000000000", "High enough not to cut points off.", &items);
            }
        } else {
            for item in items {
                draft.note(Why::Nothing, "No effect in Grid Engine either: weight_urgency and weight_priority are 0.", &[item]);
            }
        }
    }
}

/// What makes the urgency and the priority of a job, in the order of [`Scheduler::urgency`].
const URGENCY: [&str; 4] = ["weight_urgency", "weight_priority", "weight_waiting_time", "weight_deadline"];

fn weight(kind: &str, item: &Item, draft: &mut Draft) {
    if let Some(weight) = draft.number(item, &item.value, 0.0, 1e6) {
        draft.ours(format!("FunctionalWeight{kind}={weight}"), "", &[item]);
    }
}

fn yes_no(key: &str, item: &Item, draft: &mut Draft) {
    if let Some(yes) = draft.yes_no(item) {
        draft.ours(format!("{key}={}", if yes { "yes" } else { "no" }), "", &[item]);
    }
}

fn hierarchy(item: &Item, draft: &mut Draft) {
    let text = item.value.to_ascii_uppercase();
    let mut left = vec!['O', 'F', 'S'];
    let mut takes =
        |letter| left.iter().position(|known| *known == letter).map(|at| left.remove(at)).is_some();
    if text == "NONE" || !text.is_empty() && text.chars().all(&mut takes) {
        draft.ours(format!("PolicyHierarchy={text}"), "", &[item]);
    } else {
        draft.error(item, "must be NONE, or some of the letters O, F and S, each once", "");
    }
}

/// `halftime` in hours, or as a time.
fn half_time(item: &Item, draft: &mut Draft) {
    let hours = match item.value.split_once(':') {
        Some((hours, rest)) if rest.chars().all(|letter| letter == '0' || letter == ':') => hours,
        _ => item.value.as_str(),
    };
    match draft.integer(item, hours, 0, 876_000) {
        Some(0) => {
            draft.slurm("PriorityDecayHalfLife=0", "", &[item]);
            let remark = "slurm.conf wants a period with a half-life of 0.";
            draft.slurm("PriorityUsageResetPeriod=YEARLY", remark, &[item]);
        }
        Some(hours) => {
            draft.slurm(format!("PriorityDecayHalfLife={}-{:02}:00:00", hours / 24, hours % 24), "", &[item]);
        }
        None => (),
    }
}

/// `usage_weight_list cpu=0.8,mem=0.2,io=0`
fn usage(item: &Item, draft: &mut Draft) {
    let mut weights = Vec::new();
    for part in item.value.split([',', ' ']).filter(|part| !part.is_empty()) {
        let shown = Item { value: part.into(), ..item.clone() };
        let Some((name, number)) = part.split_once('=') else {
            draft.error(&shown, "must be cpu=NUMBER, mem=NUMBER or io=NUMBER", "");
            continue;
        };
        let Some(weight) = draft.number(&shown, number, 0.0, 1e9) else { continue };
        match name {
            _ if weight == 0.0 => (),
            "cpu" => weights.push(format!("CPU={weight}")),
            "mem" => weights.push(format!("Mem={weight}G")),
            "finished_jobs" => finished_jobs(&shown, draft),
            "io" => {
                draft.page(&["io"], &shown);
            }
            _ => draft.unknown(&shown),
        }
    }
    // A CPU counts 1 by default, and alone its weight is none.
    if weights.len() > 1 || weights.first().is_some_and(|weight| !weight.starts_with("CPU")) {
        let remark = "Before the lines of partitions, for all of them.";
        let line = format!("TRESBillingWeights=\"{}\"", weights.join(","));
        draft.partition("DEFAULT", &line, remark, &[item]);
    }
}

/// Not a count of jobs, but tiny jobs in bulk gain nothing.
fn finished_jobs(item: &Item, draft: &mut Draft) {
    let remark = "Not a count of jobs, but tiny jobs in bulk gain nothing.";
    draft.ours(format!("MinimumCharge={}", clock(300)), remark, &[item]);
}
