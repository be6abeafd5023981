//! Translates maui.cfg and moab.cfg. The parameters are those of Maui's and Moab's manuals; docs/coming-from.md says what replaces each.

mod credentials;
mod limits;
mod text;
mod tree;
mod weights;

use std::sync::Arc;

use super::draft::{clock, is_name_of_sacctmgr, rounded, Draft, Item, Use};
use super::page::Why;
use credentials::{Credentials, MauiCredential, Percent};
use text::{parameters, seconds, words, Parameter};
use tree::Tree;
use weights::Weights;

/// Windows of usage, with the defaults of each.
struct Windows {
    interval: u64,
    depth: i64,
    decay: f64,
    from: Vec<Item>,
}

/// What is set for the whole file.
struct Whole {
    is_moab: bool,
    weights: Weights,
    credentials: Credentials,
    tree: Tree,
    windows: Windows,
    policy: Option<Item>,
    percent: Percent,
    multiplier: Option<(f64, Item)>,
    cap_tiers: Option<Item>,
    proportional: Option<Item>,
    caps_give_points: Option<Item>,
    negative: Option<Item>,
    dilution: Option<(&'static str, u32, Item)>,
}

/// Translates a file.
pub(super) fn translate(source: &Arc<str>, text: &str, is_moab: bool) -> Draft {
    let mut draft = Draft::default();
    let (interval, depth) = if is_moab { (43_200, 8) } else { (86_400, 7) };
    let mut whole = Whole {
        is_moab,
        weights: Weights::default(),
        credentials: Credentials::default(),
        tree: Tree::default(),
        windows: Windows { interval, depth, decay: 1.0, from: Vec::new() },
        policy: None,
        percent: Percent::Delivered,
        multiplier: None,
        cap_tiers: None,
        proportional: None,
        caps_give_points: None,
        negative: None,
        dilution: None,
    };
    draft.slurm("PriorityType=priority/multifactor2", "", &[]);
    let parameters = parameters(source, text, &mut draft);
    for parameter in &parameters {
        whole.take(parameter, &mut draft);
    }
    whole.write(&mut draft);
    draft.rest(&parameters.into_iter().map(|parameter| parameter.item).collect::<Vec<_>>());
    draft
}

impl Whole {
    fn take(&mut self, parameter: &Parameter, draft: &mut Draft) {
        let Parameter { name, index, item } = parameter;
        if let Some(kind) = MauiCredential::of(name) {
            return self.credentials.take(kind, parameter, draft);
        }
        if self.weights.take(name, index.as_deref(), item, draft) || self.usage(name, item, draft) {
            return;
        }
        match name.as_str() {
            "FSTREE" => self.tree.take(parameter, draft),
            "QOSQTTARGET" => self.credentials.of_qos("QTTARGET", parameter, draft),
            "QOSXFTARGET" => self.credentials.of_qos("XFTARGET", parameter, draft),
            "QOSQTWEIGHT" => self.credentials.of_qos("QTWEIGHT", parameter, draft),
            "QOSXFWEIGHT" => self.credentials.of_qos("XFWEIGHT", parameter, draft),
            "XFMINWCLIMIT" => {
                if let Some(seconds) = seconds(item, draft) {
                    self.weights.least_limit(seconds, item);
                }
            }
            "JOBPRIOACCRUALPOLICY" => accrual(item, draft),
            "JOBATTRPRIOF" | "JOBPRIOF" => job_attributes(item, &mut self.weights, draft),
            "ENABLENEGJOBPRIORITY" => {
                if draft.yes_no(item) == Some(true) {
                    draft.page(&[name], item);
                    self.negative = Some(item.clone());
                }
            }
            "FSENABLECAPPRIORITY" => {
                self.caps_give_points = (draft.yes_no(item) == Some(true)).then(|| item.clone());
            }
            "FSTREECAP" => self.cap_tiers = (draft.yes_no(item) == Some(true)).then(|| item.clone()),
            "FSTREEISPROPORTIONAL" => {
                self.proportional = (draft.yes_no(item) == Some(true)).then(|| item.clone());
            }
            "FSTREETIERMULTIPLIER" => {
                self.multiplier =
                    draft.number(item, &item.value, -1000.0, 1000.0).map(|number| (number, item.clone()));
            }
            "FSTREEISREQUIRED" | "FSTREEUSERISREQUIRED" => {
                if draft.yes_no(item) == Some(true) {
                    let remark = "Users who are not in the tree cannot submit jobs.";
                    draft.slurm_list("AccountingStorageEnforce", "associations", remark, &[item]);
                }
            }
            "FSTREEACLPOLICY" => match item.value.to_ascii_uppercase().as_str() {
                "OFF" => {
                    draft.page(&[name, "OFF"], item);
                }
                "FULL" | "PARENT" | "SELF" => {
                    let remark =
                        "Jobs run only in accounts with which their user has an association.";
                    draft.slurm_list("AccountingStorageEnforce", "associations", remark, &[item]);
                }
                _ => draft.error(item, "must be one of OFF, PARENT, SELF, FULL", ""),
            },
            // A switch that is off needs no reason why there is none here.
            "REJECTNEGPRIOJOBS" | "ENABLEFSVIOLATIONPREEMPTION" | "FSMOSTSPECIFICLIMIT" => {
                if draft.yes_no(item) == Some(true) {
                    draft.page(&[name], item);
                }
            }
            "JOBPRIOEXCEPTIONS" => exceptions(item, draft),
            "IDCFG" => {
                draft.page(&["identity"], item);
            }
            _ => self.others(name, item, draft),
        }
    }

    /// Parameters of usage. False for others.
    fn usage(&mut self, name: &str, item: &Item, draft: &mut Draft) -> bool {
        match name {
            "FSPOLICY" => {
                let policy = item.value.to_ascii_uppercase();
                let (policy, is_part) =
                    policy.strip_suffix('%').map_or((policy.as_str(), false), |policy| (policy, true));
                let known = [
                    "DEDICATEDPS",
                    "DEDICATEDPES",
                    "SDEDICATEDPES",
                    "SDEDICATEDPS",
                    "PDEDICATEDPS",
                    "PSDEDICATED",
                    "UTILIZEDPS",
                    "NONE",
                ];
                if known.contains(&policy) {
                    self.policy = Some(Item { value: policy.into(), ..item.clone() });
                    self.percent = match (is_part, self.is_moab) {
                        (false, _) => Percent::Delivered,
                        (true, true) => Percent::Available,
                        (true, false) => Percent::Ratio,
                    };
                } else {
                    let allowed = format!("must be one of {}, optionally followed by %", known.join(", "));
                    draft.error(item, allowed, "");
                }
            }
            "FSINTERVAL" => {
                if let Some(seconds) = seconds(item, draft) {
                    if seconds == 0 {
                        draft.error(item, "must be a time above 0", "");
                    }
                    self.windows.interval = seconds.max(1);
                    self.windows.from.push(item.clone());
                }
            }
            "FSDEPTH" => {
                if let Some(depth) = draft.integer(item, &item.value, 1, 1000) {
                    self.windows.depth = depth;
                    self.windows.from.push(item.clone());
                }
            }
            "FSDECAY" => {
                if let Some(decay) = draft.number(item, &item.value, 0.0, 1.0) {
                    self.windows.decay = decay;
                    self.windows.from.push(item.clone());
                }
            }
            "RMPOLLINTERVAL" => {
                // Moab's may be two times, of which the first is the shortest.
                let last = item.value.rsplit(',').next().unwrap_or_default().to_owned();
                if let Some(seconds) = seconds(&Item { value: last, ..item.clone() }, draft) {
                    let minutes = seconds.div_ceil(60).clamp(1, 1440);
                    let remark = "How often usage and priorities are calculated, in minutes.";
                    draft.slurm(format!("PriorityCalcPeriod={minutes}"), remark, &[item]);
                }
            }
            _ => return false,
        }
        true
    }

    /// Weights without a part here, and what is not known.
    fn others(&mut self, name: &str, item: &Item, draft: &mut Draft) {
        let base = name.strip_suffix("WEIGHT").or_else(|| name.strip_suffix("CAP")).unwrap_or(name);
        let is_weight = base != name;
        let dilution = match base {
            "UPROC" | "FSPPU" => Some(("cpu", 64)),
            "UJOB" | "FSJPU" | "FSJRPU" => Some(("job", 1)),
            "FSPSPU" => Some(("committed", 92_160)),
            _ => None,
        };
        if is_weight && item.value.parse() == Ok(0.0) {
            draft.note(Why::Nothing, "0 means no weight and no limit.", &[item]);
        } else if let Some((unit, quantum)) = dilution {
            self.dilution = Some((unit, quantum, item.clone()));
        } else if base == "USERPRIO" {
            draft.note(Why::Nothing, "Users lower their own jobs with sbatch --nice=100.", &[item]);
        } else if base == "DEADLINE" {
            let remark = "Component=URGENCY Urgency=50000 Deadline=3600000 weighs deadlines: see docs/points.md.";
            draft.note(Why::ByHand, remark, &[item]);
        } else if ["ATTRGRES", "GRES", "ATTRATTR", "FEATURE"].contains(&base) {
            let remark = "JOBATTRPRIOF lists the attributes that count. Slurm weighs TRES and QOS: \
             PriorityWeightTRES=GRES/gpu=3000, or sbatch --qos=special.";
            draft.note(Why::ByHand, remark, &[item]);
        } else if ![name, base, &format!("{base}WEIGHT")].iter().any(|name| draft.page(&[*name], item)) {
            if is_weight {
                // It does weigh something there, whatever that is.
                draft.note(Why::Unknown, "A weight or cap that neither table of parameters has.", &[item]);
            } else {
                draft.unknown(item);
            }
        }
    }

    fn write(mut self, draft: &mut Draft) {
        let by_points = self
            .multiplier
            .as_ref()
            .map(|(_, item)| item)
            .or(self.cap_tiers.as_ref())
            .or(self.proportional.as_ref());
        let by_points = by_points.filter(|_| !self.tree.is_empty()).cloned();
        let mut needed = Vec::new();
        // Written apart, since components come first.
        let mut lines = Draft::default();
        if self.credentials.priorities(&mut lines) {
            needed.push("CRED");
        }
        self.offset(&mut lines);
        let (mut points, caps) =
            self.credentials.targets(self.percent, self.caps_give_points.as_ref(), &mut lines);
        let percent = if self.proportional.is_some() { Percent::Ratio } else { self.percent };
        let before = lines.ours.all.len();
        let tree_points = self.tree.targets(by_points.is_some(), percent, &mut lines);
        let of_tree = lines.ours.all.len() > before;
        points |= tree_points;
        if tree_points {
            let item = by_points.as_ref().or(self.tree.first()).cloned();
            let moves = !self.credentials.has_targets(Some(MauiCredential::Account));
            if let Some(item) = item {
                self.weights.by_the_tree(&item, moves);
            }
        }
        if points {
            needed.push("FS");
        }
        // With the curve of the manual only a cap keeps the points within bounds.
        let curve = if self.weights.is_capped("TARGET") { " Curve=maui" } else { "" };
        if self.credentials.services(curve, &mut lines) {
            needed.push("TARGET");
        }
        let may_lack = points || self.weights.takes_away();
        std::mem::take(&mut self.weights).write(&needed, draft);
        if draft.ours.all.iter().any(|line| line.text.starts_with("Component=")) || caps {
            draft.ours("PointsCap=1000000000", "The highest priority there, before setspri.", &[]);
        }
        if may_lack {
            let remark = "Points can be negative, but no priority is below 1. Give all jobs an offset: see \"The scale\" in \
                          docs/points.md.";
            draft.notes.push(super::Note {
                why: Why::ByHand,
                from: "weights and targets".into(),
                remark: remark.into(),
            });
        }
        if points || caps || of_tree {
            self.usage_of_targets(of_tree, draft);
        }
        self.credentials.charges(&mut lines);
        draft.append(lines);
        self.policy(draft);
        self.tickets(draft);
        let limits = self.credentials.limits();
        self.tree.write(limits, draft);
        limits.write(draft);
        self.windows_of_tree(draft);
    }

    /// Windows for shares as they were there. They do not go with books, which shares of partitions become.
    fn windows_of_tree(&self, draft: &mut Draft) {
        let Some(item) = self.tree.first() else { return };
        if draft.ours.all.iter().any(|line| line.text.starts_with("Book=")) {
            return;
        }
        let Windows { interval, depth, decay, from } = &self.windows;
        let from: Vec<&Item> = from.iter().chain([item]).collect();
        let remark = "These four make shares use the windows themselves, without PriorityDecayHalfLife.";
        draft.ours_instead("TreeUsage=window", remark, &from);
        draft.ours_instead(format!("TreeWindow={}", clock(*interval)), "", &from);
        draft.ours_instead(format!("TreeDepth={depth}"), "", &from);
        draft.ours_instead(format!("TreeDecay={decay}"), "", &from);
    }

    /// `ENABLENEGJOBPRIORITY`: what keeps an order below 0.
    fn offset(&mut self, draft: &mut Draft) {
        let Some(item) = &self.negative else { return };
        if self.weights.weighs("CRED") || self.credentials.has_user_priorities() {
            let remark = "Give all jobs an offset by hand: see \"The scale\" in docs/points.md.";
            return draft.note(Why::ByHand, remark, &[item]);
        }
        self.weights.set("CRED", "User", 1.0, item);
        draft.ours("Credential=User Name=* Priority=1000000", "An offset that every job has.", &[item]);
    }

    /// The usage that targets are compared with.
    fn usage_of_targets(&self, of_tree: bool, draft: &mut Draft) {
        let Windows { interval, depth, decay, from } = &self.windows;
        let from: Vec<&Item> = from.iter().collect();
        let remark = if from.is_empty() { "These are the defaults there." } else { "" };
        draft.ours("TargetUsage=window", remark, &from);
        draft.ours(format!("TargetWindow={}", clock(*interval)), "", &from);
        draft.ours(format!("TargetDepth={depth}"), "", &from);
        draft.ours(format!("TargetDecay={decay}"), "", &from);
        // By billing where a job counts for more than its processors.
        let is_billing = self.policy.as_ref().is_some_and(|item| item.value.contains("PES"));
        if !is_billing || self.percent == Percent::Available {
            draft.ours("TargetMetric=cpu", "", &self.policy.iter().collect::<Vec<_>>());
        }
        if self.policy.as_ref().is_none_or(|item| item.value == "NONE") {
            let remark = "Without FSPOLICY targets had no effect there. Here they do.";
            let from = self.policy.as_ref().map_or_else(|| "FSPOLICY is not set".into(), Item::shown);
            draft.notes.push(super::Note { why: Why::ByHand, from, remark: remark.into() });
        }
        if let Some((number, item)) = &self.multiplier {
            if of_tree {
                draft.ours(
                    format!("TierMultiplier={number}"),
                    "Our own definition: Moab's is not public.",
                    &[item],
                );
            }
        }
        if let Some(item) = self.cap_tiers.as_ref().filter(|_| of_tree) {
            draft.ours("CapTiers=yes", "Our own definition.", &[item]);
        }
    }

    /// `FSPOLICY`, for the tree.
    fn policy(&self, draft: &mut Draft) {
        let Some(item) = &self.policy else { return };
        match item.value.as_str() {
            "DEDICATEDPES" => {
                draft.slurm_list("PriorityFlags", "MAX_TRES", "", &[item]);
                let remark = "The larger of CPUs and memory of 4 GB each, for nodes with 4 GB a CPU.";
                draft.partition("DEFAULT", "TRESBillingWeights=\"CPU=1.0,Mem=0.25G\"", remark, &[item]);
            }
            "SDEDICATEDPES" => {
                let remark = "For a partition of nodes that are twice as fast.";
                draft.partition("fast", "TRESBillingWeights=\"CPU=2.0\"", remark, &[item]);
            }
            "NONE" => draft.note(Why::Nothing, "No fair-share there.", &[item]),
            name => {
                draft.page(&[name], item);
            }
        }
    }

    /// What the tree gives tickets by, and what makes them fewer.
    fn tickets(&self, draft: &mut Draft) {
        let first = self.tree.first().or(self.dilution.as_ref().map(|(_, _, item)| item));
        if let Some(item) = first {
            let remark =
                "The tree works with tickets. This is what the best job gets: compare it with the points.";
            draft.slurm("PriorityWeightFairshare=100000", remark, &[item]);
        }
        if let Some(item) = self.tree.first() {
            let Windows { interval, depth, decay, from } = &self.windows;
            let from: Vec<&Item> = from.iter().chain([item]).collect();
            let half = half_life(*interval, *depth, *decay);
            let remark = "Usage has the same mean age as in the windows.";
            draft.slurm(format!("PriorityDecayHalfLife={half}"), remark, &from);
        }
        if let Some((unit, quantum, item)) = &self.dilution {
            let remark = "This reduces tickets, not points. Choose the amount that halves them.";
            draft.ours("Dilution=user", remark, &[item]);
            draft.ours(format!("DilutionUnit={unit}"), "", &[item]);
            draft.ours(format!("DilutionQuantum={quantum}"), "", &[item]);
        }
    }
}

/// The half-life under which usage has the same mean age as in windows, as Slurm writes it: that of an exponential decay is
/// half-life / ln 2, that of windows the mean of their middles, each with its weight.
fn half_life(interval: u64, depth: i64, decay: f64) -> String {
    let (mut weight, mut sum, mut ages) = (1.0, 0.0, 0.0);
    #[allow(clippy::cast_possible_truncation)] // at most 1000 windows
    for window in 0..depth as i32 {
        sum += weight;
        ages += weight * (f64::from(window) + 0.5);
        weight *= decay;
    }
    #[allow(clippy::cast_precision_loss)] // small enough to be exact
    let seconds = interval as f64 * ages / sum * std::f64::consts::LN_2;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // neither negative nor beyond the range of times
    let hours = ((seconds / 3600.0).round() as u64).clamp(1, 24 * 3650);
    format!("{}-{:02}:00:00", hours / 24, hours % 24)
}

/// `JOBPRIOACCRUALPOLICY`
fn accrual(item: &Item, draft: &mut Draft) {
    match item.value.to_ascii_uppercase().as_str() {
        "ALWAYS" => draft.slurm_list("PriorityFlags", "ACCRUE_ALWAYS", "Held jobs gain age.", &[item]),
        "FULLPOLICY" | "FULLPOLICYRESET" => {
            draft.page(&["FULLPOLICY"], item);
        }
        "QUEUEPOLICY" | "QUEUEPOLICYRESET" => {
            let remark = "Jobs at a limit keep gaining age in Slurm, except at limits from MAXIJOB. To let only two waiting jobs \
             of a user gain age: sacctmgr modify qos normal set MaxJobsAccruePerUser=2";
            draft.note(Why::ByHand, remark, &[item]);
        }
        "ACCRUE" | "RESET" => {
            draft.note(Why::ByHand, "JOBPRIOEXCEPTIONS lists what does not stop the wait. ALL is QueueTimeSince=submit.", &[item]);
        }
        _ => {
            let allowed = "must be one of ALWAYS, QUEUEPOLICY, FULLPOLICY, ACCRUE, RESET";
            draft.error(item, allowed, "");
        }
    }
}

/// `JOBPRIOEXCEPTIONS`
fn exceptions(item: &Item, draft: &mut Draft) {
    if words(&item.value).iter().any(|word| word.eq_ignore_ascii_case("ALL")) {
        draft.ours("QueueTimeSince=submit", "The wait counts from submission, whatever holds the job.", &[item]);
    } else {
        draft.page(&["JOBPRIOEXCEPTIONS", "DEPENDS"], item);
    }
}

/// `JOBATTRPRIOF`
fn job_attributes(item: &Item, weights: &mut Weights, draft: &mut Draft) {
    for word in words(&item.value) {
        let shown = Item { value: word.clone(), ..item.clone() };
        let parsed = word.split_once('=').and_then(|(what, points)| {
            let (kind, name) = what.split_once('[')?;
            Some((kind.to_ascii_uppercase(), name.strip_suffix(']')?.to_owned(), points.to_owned()))
        });
        let Some((kind, name, points)) = parsed else {
            let allowed = "must be a word such as GRES[gpu]=100, ATTR[special]=100 or STATE[Idle]=100";
            draft.error(&shown, allowed, "");
            continue;
        };
        let Some(points) = draft.integer(&shown, &points, -1_000_000_000, 1_000_000_000) else { continue };
        let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.-:".contains(letter));
        match kind.as_str() {
            "STATE" => {
                if !weights.state(&name, points, &shown) {
                    let remark = "Jobs in other states than Idle, Running and Suspended have no priority in Slurm.";
                    draft.note(Why::Nothing, remark, &[&shown]);
                }
            }
            "GRES" if points >= 0 && plain && !name.is_empty() => {
                let remark = "In proportion to what the partition has of it.";
                draft.slurm_list("PriorityWeightTRES", &format!("GRES/{name}={points}"), remark, &[&shown]);
            }
            "ATTR" if points >= 0 && plain && is_name_of_sacctmgr(&name) && !name.is_empty() => {
                let remark = "Give the attribute a QOS that jobs request, and set PriorityWeightQOS.";
                let priority = format!("Priority={points}");
                draft.sacctmgr(Use::Take, &["add", "qos", &name, &priority], remark, &[&shown]);
            }
            _ => draft.note(Why::ByHand, "Slurm weighs TRES and QOS, both with 0 or more.", &[&shown]),
        }
    }
}
