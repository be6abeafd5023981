//! Translates `USERCFG`, `GROUPCFG`, `ACCOUNTCFG`, `QOSCFG` and `CLASSCFG`: priorities, targets, caps, service, charges and limits.

use std::collections::BTreeMap;

use super::limits::{Holder, Limits};
use super::text::{attributes, seconds, Attribute, Parameter};
use crate::answers::migrate::draft::{names_written, rounded, Draft, Item, Use};
use crate::answers::migrate::page::Why;

/// What a credential is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MauiCredential {
    User,
    Group,
    Account,
    Qos,
    Class,
}

impl MauiCredential {
    /// That of a parameter such as `USERCFG`.
    pub fn of(parameter: &str) -> Option<Self> {
        match parameter.strip_suffix("CFG")? {
            "USER" => Some(MauiCredential::User),
            "GROUP" => Some(MauiCredential::Group),
            "ACCOUNT" => Some(MauiCredential::Account),
            "QOS" => Some(MauiCredential::Qos),
            "CLASS" => Some(MauiCredential::Class),
            _ => None,
        }
    }

    /// What our lines call it.
    fn ours(self) -> &'static str {
        match self {
            MauiCredential::User => "User",
            MauiCredential::Group => "Group",
            MauiCredential::Account => "Account",
            MauiCredential::Qos => "QOS",
            MauiCredential::Class => "Partition",
        }
    }

    /// A name as Slurm keeps it: accounts and QOS in small letters, as is everybody.
    fn known(self, name: &str) -> String {
        match self {
            _ if name.eq_ignore_ascii_case("DEFAULT") => "*".into(),
            MauiCredential::Account | MauiCredential::Qos => name.to_lowercase(),
            MauiCredential::User | MauiCredential::Group | MauiCredential::Class => name.into(),
        }
    }

    /// Who has the limits of one of them, by its name as Slurm keeps it.
    fn holder(self, name: &str) -> Holder {
        match (self, name) {
            (MauiCredential::Group, _) => Holder::Group,
            (MauiCredential::User, "*") => Holder::Each("User"),
            (MauiCredential::Account, "*") => Holder::Each("Account"),
            (MauiCredential::User, name) => Holder::User(name.into(), None),
            (MauiCredential::Account, name) => Holder::Account(name.into()),
            (MauiCredential::Qos, name) => Holder::Qos(name.into()),
            (MauiCredential::Class, name) => Holder::Partition(name.into()),
        }
    }
}

/// What targets mean and what they are measured in, by `FSPOLICY` and whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Percent {
    /// Of what was delivered.
    Delivered,
    /// Of what was there: Moab.
    Available,
    /// 1 less usage over target: Maui.
    Ratio,
}

type Attributes = BTreeMap<String, Item>;

#[derive(Default)]
pub(super) struct Credentials {
    /// Of each the attributes by their names; the last one counts.
    all: BTreeMap<(MauiCredential, String), Attributes>,
    limits: Limits,
}

impl Credentials {
    /// Takes a parameter such as `USERCFG[john]`.
    pub fn take(&mut self, kind: MauiCredential, parameter: &Parameter, draft: &mut Draft) {
        let Some(name) = &parameter.index else {
            let allowed = format!("must have a name in brackets: {}[john]", parameter.name);
            draft.error(&parameter.item, allowed, "correct the line");
            return;
        };
        if !draft.name(&parameter.item, name) {
            return;
        }
        let name = kind.known(name);
        for attribute in attributes(parameter, draft) {
            let Attribute { name: what, of, item } = attribute;
            match what.as_str() {
                "PRIORITY" | "FSTARGET" | "FSCAP" | "FSWEIGHT" | "QTWEIGHT" | "XFWEIGHT" | "QTTARGET"
                | "XFTARGET" | "FSSCALINGFACTOR" => {
                    self.all.entry((kind, name.clone())).or_default().insert(what, item);
                }
                "QLIST" | "ADEF" => accounting(kind, &name, &what, &item, draft),
                _ if super::limits::is_known(&what) => {
                    self.limits.take(kind.holder(&name), &what, &of, &item, draft);
                }
                "CLASSWEIGHT" if kind == MauiCredential::Group => {
                    self.all.entry((kind, name.clone())).or_default().insert(what, item);
                }
                _ => draft.unknown(&item),
            }
        }
    }

    /// The old parameters of a QOS, such as `QOSQTTARGET[short] 00:15:00`.
    pub fn of_qos(&mut self, attribute: &str, parameter: &Parameter, draft: &mut Draft) {
        let name = parameter.index.clone().unwrap_or_default();
        if draft.name(&parameter.item, &name) {
            let all = self.all.entry((MauiCredential::Qos, MauiCredential::Qos.known(&name))).or_default();
            all.insert(attribute.into(), parameter.item.clone());
        }
    }

    /// Whether some of a kind have targets or caps.
    pub fn has_targets(&self, of: Option<MauiCredential>) -> bool {
        let of_kind = |kind: MauiCredential| of.is_none_or(|of| of == kind);
        let mut all = self.all.iter().filter(|((kind, _), _)| of_kind(*kind));
        all.any(|(_, attributes)| ["FSTARGET", "FSCAP"].iter().any(|name| attributes.contains_key(*name)))
    }

    /// Whether there are priorities of users.
    pub fn has_user_priorities(&self) -> bool {
        self.all.iter().any(|((kind, _), attributes)| {
            *kind == MauiCredential::User && attributes.contains_key("PRIORITY")
        })
    }

    /// Priorities of credentials. True if there are some.
    pub fn priorities(&self, draft: &mut Draft) -> bool {
        let mut any = false;
        for ((kind, name), attributes) in &self.all {
            let class_weight = attributes.get("CLASSWEIGHT");
            let of = attributes.get("PRIORITY");
            let Some(item) = of.or(class_weight) else { continue };
            let priority = of.map_or(Some(0), |item| draft.integer(item, &item.value, -1_000_000_000, 1_000_000_000));
            let Some(priority) = priority else { continue };
            if *kind == MauiCredential::Qos && name == "*" {
                draft.note(
                    Why::Nothing,
                    "A QOS has no default priority there, so this has no effect.",
                    &[item],
                );
                continue;
            }
            let Some(written) = named(name, item, draft) else { continue };
            let mut line = format!("Credential={} {written} Priority={priority}", kind.ours());
            if let Some(number) =
                class_weight.and_then(|weight| draft.number(weight, &weight.value, -1e9, 1e9))
            {
                line = format!("{line} ClassWeight={number}");
            }
            draft.ours(line, "", &of.into_iter().chain(class_weight).collect::<Vec<_>>());
            any = true;
        }
        any
    }

    /// Targets and caps. Returns whether there are targets that give points, and whether caps.
    pub fn targets(
        &self,
        percent: Percent,
        caps_give_points: Option<&Item>,
        draft: &mut Draft,
    ) -> (bool, bool) {
        let (mut points, mut caps) = (false, false);
        for ((kind, name), attributes) in &self.all {
            let of_all = self.all.get(&(*kind, "*".to_owned()));
            let find = |what: &str| attributes.get(what).or_else(|| of_all.and_then(|all| all.get(what)));
            let weight = attributes.get("FSWEIGHT");
            let target = attributes.get("FSTARGET").or_else(|| weight.and_then(|_| find("FSTARGET")));
            let mut weigh = String::new();
            if let Some(item) = weight {
                match (kind, target) {
                    (MauiCredential::Account | MauiCredential::Group, Some(_)) => {
                        if let Some(number) = draft.number(item, &item.value, -1e9, 1e9) {
                            weigh = format!(" Weight={number}");
                        }
                    }
                    (MauiCredential::Account | MauiCredential::Group, None) => {
                        draft.note(Why::Nothing, "No effect without FSTARGET.", &[item]);
                    }
                    _ => draft.note(Why::Nothing, "FSWEIGHT is for accounts and groups only.", &[item]),
                }
            }
            let mut has_cap = false;
            for item in target.into_iter().chain(attributes.get("FSCAP")) {
                let Some(parsed) = Goal::read(item, item.key.ends_with("FSCAP"), draft) else { continue };
                let Some(written) = named(name, item, draft) else { continue };
                let line = format!("Target={} {written}", kind.ours());
                if has_cap {
                    draft.note(Why::ByHand, "Each name can have one cap: the first was taken.", &[item]);
                    continue;
                }
                has_cap = parsed.is_cap();
                match parsed {
                    Goal::None => draft.note(Why::Nothing, "0 means no target there.", &[item]),
                    Goal::Target(number, suffix) => {
                        let from: Vec<&Item> = std::iter::once(item).chain(weight).collect();
                        draft.ours(format!("{line} {}{suffix}{weigh}", percent.written(number)), "", &from);
                        points = true;
                    }
                    Goal::RelativeCap(number) => {
                        if caps_give_points.is_some() && !attributes.contains_key("FSTARGET") {
                            draft.ours(format!("{line} Percent={number} Type=floor"), "", &[item]);
                            points = true;
                        }
                        let remark = "Jobs come last. To block them, as there, add Block=yes: see docs/points.md.";
                        draft.ours(format!("{line} Percent={number} Type=cap"), remark, &[item]);
                        caps = true;
                    }
                    Goal::AbsoluteCap(seconds) => {
                        let remark = "In hours. Jobs come last. To block them, as there, add Block=yes: see docs/points.md.";
                        let hours = rounded(seconds / 3600.0);
                        draft.ours(format!("{line} Amount={hours} Type=cap"), remark, &[item]);
                        blocking(*kind, name, seconds, item, draft);
                        caps = true;
                    }
                }
            }
        }
        (points, caps)
    }

    /// Waits that jobs of a QOS should have at most. True if there are some.
    pub fn services(&self, curve: &str, draft: &mut Draft) -> bool {
        let mut any = false;
        for ((kind, name), attributes) in &self.all {
            let (mut line, mut from, mut has_target) = (String::new(), Vec::new(), false);
            for what in ["QTTARGET", "XFTARGET", "QTWEIGHT", "XFWEIGHT"] {
                let Some(item) = attributes.get(what) else { continue };
                if *kind != MauiCredential::Qos {
                    draft.note(Why::Nothing, "This is an attribute of a QOS only.", &[item]);
                    continue;
                }
                let word = match what {
                    "QTTARGET" => seconds(item, draft)
                        .filter(|seconds| *seconds > 0)
                        .map(|seconds| format!("TargetQueueTime={}", super::clock(seconds))),
                    "XFTARGET" => draft
                        .number(item, &item.value, 0.0, 1e9)
                        .filter(|number| *number > 0.0)
                        .map(|number| format!("TargetXFactor={number}")),
                    "QTWEIGHT" => draft
                        .number(item, &item.value, -1e9, 1e9)
                        .map(|number| format!("QueueTimeWeight={number}")),
                    _ => draft
                        .number(item, &item.value, -1e9, 1e9)
                        .map(|number| format!("XFactorWeight={number}")),
                };
                let Some(word) = word else { continue };
                has_target |= what.ends_with("TARGET");
                line = format!("{line} {word}");
                from.push(item);
            }
            let Some(first) = from.first() else { continue };
            let Some(written) = named(name, first, draft) else { continue };
            let curve = if has_target { curve } else { "" };
            draft.ours(format!("Service=QOS {written}{line}{curve}"), "", &from);
            any |= has_target;
        }
        any
    }

    /// What usage is worth.
    pub fn charges(&self, draft: &mut Draft) {
        for ((kind, name), attributes) in &self.all {
            let Some(item) = attributes.get("FSSCALINGFACTOR") else { continue };
            let Some(factor) = draft.number(item, &item.value, 0.0, 1000.0) else { continue };
            let of = match kind {
                MauiCredential::Qos | MauiCredential::Class | MauiCredential::Account if name != "*" => {
                    kind.ours()
                }
                _ => {
                    let remark = "Here only usage of a QOS, partition or account can have a factor.";
                    draft.note(Why::ByHand, remark, &[item]);
                    continue;
                }
            };
            let Some(written) = named(name, item, draft) else { continue };
            draft.ours(format!("Charge={of} {written} Factor={factor}"), "", &[item]);
        }
    }

    /// The limits, with those of the tree.
    pub fn limits(&mut self) -> &mut Limits {
        &mut self.limits
    }
}

/// `Name=` of one; a note where no line of ours can have the name.
pub(super) fn named(name: &str, item: &Item, draft: &mut Draft) -> Option<String> {
    let written = names_written(&[name]);
    if written.is_none() {
        draft.note(Why::ByHand, "A name with a comma or blanks around it cannot be written here.", &[item]);
    }
    written
}

/// What `FSTARGET` or `FSCAP` asks for.
pub(super) enum Goal {
    None,
    /// Percent, and the words behind it.
    Target(f64, &'static str),
    /// Percent.
    RelativeCap(f64),
    /// Seconds of processors.
    AbsoluteCap(f64),
}

impl Goal {
    pub fn is_cap(&self) -> bool {
        matches!(self, Goal::RelativeCap(_) | Goal::AbsoluteCap(_))
    }

    pub fn read(item: &Item, is_cap: bool, draft: &mut Draft) -> Option<Self> {
        let text = item.value.trim();
        let (number, modifier) = match text.char_indices().last() {
            Some((at, letter @ ('+' | '-' | '%' | '^'))) => (&text[..at], Some(letter)),
            _ => (text, None),
        };
        let is_amount = modifier == Some('^');
        let most = if is_amount { 3.6e18 } else { 1e6 };
        let bad = number.trim().parse::<f64>().ok().is_none_or(|number| !(0.0..=most).contains(&number));
        if bad || is_cap && matches!(modifier, Some('+' | '-')) {
            let allowed = if is_cap {
                "must be a number from 0 to 1000000, optionally followed by %, or an amount followed by ^"
            } else {
                "must be a number from 0 to 1000000, optionally followed by +, -, % or ^"
            };
            draft.error(item, allowed, "");
            return None;
        }
        let number = number.trim().parse::<f64>().unwrap_or_default() + 0.0;
        Some(match modifier {
            Some('^') => Goal::AbsoluteCap(number),
            Some('%') => Goal::RelativeCap(number),
            None if is_cap => Goal::RelativeCap(number),
            _ if number == 0.0 => Goal::None,
            Some('+') => Goal::Target(number, " Type=floor"),
            Some('-') => Goal::Target(number, " Type=ceiling"),
            _ => Goal::Target(number, ""),
        })
    }
}

impl Percent {
    /// A percentage that is this.
    pub fn written(self, number: f64) -> String {
        match self {
            Percent::Delivered => format!("Percent={number}"),
            Percent::Available => format!("Percent={number}%available"),
            Percent::Ratio => format!("Percent={number} Mode=ratio"),
        }
    }
}

/// A cap that blocks jobs, as it did there, is a limit of Slurm.
fn blocking(kind: MauiCredential, name: &str, seconds: f64, item: &Item, draft: &mut Draft) {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within the range that was read
    let limit = format!("GrpTRESMins=cpu={}", (seconds / 60.0).floor() as u64);
    let entity = match kind {
        MauiCredential::User => "user",
        MauiCredential::Account => "account",
        MauiCredential::Qos => "qos",
        MauiCredential::Group | MauiCredential::Class => return,
    };
    if name == "*" || !super::is_name_of_sacctmgr(name) {
        return;
    }
    let remark = "To hold jobs, as there. Usage under this limit decays with PriorityDecayHalfLife.";
    draft.sacctmgr(Use::Instead, &["modify", entity, name, "set", &limit], remark, &[item]);
    for word in ["limits", "safe"] {
        draft.slurm_list("AccountingStorageEnforce", word, "", &[item]);
    }
}

/// `QLIST` and `ADEF`.
fn accounting(kind: MauiCredential, name: &str, what: &str, item: &Item, draft: &mut Draft) {
    let entity = match kind {
        MauiCredential::User => "user",
        MauiCredential::Account => "account",
        _ => {
            draft.note(Why::ByHand, "Slurm has this for users and accounts only.", &[item]);
            return;
        }
    };
    if !draft.name(item, &item.value) {
        return;
    }
    let values: Vec<&str> =
        item.value.split([',', ':']).map(|value| value.trim_end_matches(['&', '^'])).collect();
    let good = values.iter().all(|value| super::is_name_of_sacctmgr(value) && !value.is_empty());
    if name == "*" || !good || !super::is_name_of_sacctmgr(name) || what == "ADEF" && values.len() != 1 {
        let remark = "Set it with sacctmgr for each user or account: Slurm has no default for all.";
        draft.note(Why::ByHand, remark, &[item]);
        return;
    }
    let key = if what == "QLIST" { "QOS" } else { "DefaultAccount" };
    let set = format!("{key}={}", values.join(",").to_lowercase());
    draft.sacctmgr(Use::Take, &["modify", entity, name, "set", &set], "", &[item]);
}
