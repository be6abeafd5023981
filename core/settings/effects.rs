//! Finds lines whose attributes are accepted but have no effect given the other lines: their writer meant something else. `together` does
//! this for single settings, with the place of each.

use super::table::{
    Component, ComponentKind, CredentialKind, Distribution, ParentUsers, Service, Settings, Target,
    TargetKind, TargetType,
};

/// A part of a component, its weight on a line, and the kind of lines that it needs.
type Part<K> = (&'static str, fn(&Component) -> f64, K);

const CREDENTIALS: [Part<CredentialKind>; 6] = [
    ("User", |line| line.user.weight, CredentialKind::User),
    ("Group", |line| line.group.weight, CredentialKind::Group),
    ("Account", |line| line.account.weight, CredentialKind::Account),
    ("Parent", |line| line.parent.weight, CredentialKind::Parent),
    ("QOS", |line| line.qos.weight, CredentialKind::Qos),
    ("Class", |line| line.class.weight, CredentialKind::Partition),
];

const TARGETS: [Part<TargetKind>; 6] = [
    ("FSUser", |line| line.fs_user.weight, TargetKind::User),
    ("FSGroup", |line| line.fs_group.weight, TargetKind::Group),
    ("FSAccount", |line| line.fs_account.weight, TargetKind::Account),
    ("FSParent", |line| line.fs_parent.weight, TargetKind::Parent),
    ("FSQOS", |line| line.fs_qos.weight, TargetKind::Qos),
    ("FSClass", |line| line.fs_class.weight, TargetKind::Partition),
];

/// Whether a `Service` line has what a part needs.
type Has = fn(&Service) -> bool;

const PROMISES: [Part<Has>; 2] = [
    ("TargetQueueTime", |line| line.target_queue_time.weight, |line| line.target_queue_time.is_some()),
    ("TargetXFactor", |line| line.target_xfactor.weight, |line| line.target_xfactor.is_some()),
];

/// Parts that a line weighs, and that lack lines of their kind: name, weight, kind.
fn without<'p, K: Copy>(
    parts: &'p [Part<K>],
    line: &'p Component,
    has: impl Fn(K) -> bool + 'p,
) -> impl Iterator<Item = (&'static str, f64, K)> + 'p {
    let weighed = parts.iter().map(|(part, weight, kind)| (*part, weight(line), *kind));
    weighed.filter(move |(_, weight, kind)| *weight != 0.0 && !has(*kind))
}

impl Settings {
    /// What is written and has no effect, each with what to do.
    pub fn without_effect(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.parent_users == ParentUsers::Split && self.distribution != Distribution::Tickets {
            found.push(format!(
                "ParentUsers=split changes nothing with Distribution={}: remove it, or set Distribution=tickets",
                self.distribution
            ));
        }
        if !self.components.is_empty() && (self.points_weight == 0.0 || self.points_cap == 0) {
            let name = if self.points_cap == 0 { "PointsCap" } else { "PointsWeight" };
            found.push(format!(
                "Component lines change nothing with {name}=0: set another number, or remove the lines"
            ));
        }
        self.parts_of_nothing(&mut found);
        self.lines_that_no_component_weighs(&mut found);
        found
    }

    /// Parts that have a weight, and a value of 0 for every job.
    fn parts_of_nothing(&self, found: &mut Vec<String>) {
        let mut say = |component: ComponentKind, part: &str, weight: f64, lacking: &str| {
            found.push(format!(
                "Component={component} {part}={weight} changes nothing: {lacking}. Add one, or remove {part}"
            ));
        };
        for line in self.components.iter().filter(|line| line.weight != 0.0) {
            match line.component {
                ComponentKind::Cred => {
                    let has = |kind| self.credentials.iter().any(|line| line.kind == kind);
                    for (part, weight, kind) in without(&CREDENTIALS, line, has) {
                        say(line.component, part, weight, &format!("there is no Credential={kind} line"));
                    }
                }
                ComponentKind::Fs => {
                    let has = |kind| self.targets.iter().any(|line| line.kind == kind);
                    for (part, weight, kind) in without(&TARGETS, line, has) {
                        say(line.component, part, weight, &format!("there is no Target={kind} line"));
                    }
                }
                ComponentKind::Target => {
                    let has = |has: Has| self.services.iter().any(has);
                    for (part, weight, _) in without(&PROMISES, line, has) {
                        say(line.component, part, weight, &format!("no Service line has {part}"));
                    }
                }
                ComponentKind::Urgency if line.urgency.weight != 0.0 => {
                    let general = |line: &&Component| {
                        line.component == ComponentKind::Urgency && line.partitions.is_none()
                    };
                    let general = self.components.iter().find(general);
                    if general.is_none_or(|line| {
                        [line.waiting_time, line.deadline].into_iter().flatten().all(|weight| weight == 0.0)
                    }) {
                        let lacking = "there is neither WaitingTime nor Deadline";
                        say(line.component, "Urgency", line.urgency.weight, lacking);
                    }
                }
                ComponentKind::Attr if line.state.weight != 0.0 => {
                    if line
                        .states
                        .as_ref()
                        .is_some_and(|states| states.iter().all(|(_, value)| *value == 0.0))
                    {
                        say(line.component, "State", line.state.weight, "States has no number other than 0");
                    }
                }
                ComponentKind::Res
                | ComponentKind::Serv
                | ComponentKind::Usage
                | ComponentKind::Urgency
                | ComponentKind::Attr => (),
            }
        }
    }

    /// Lines that give what nothing is made of.
    fn lines_that_no_component_weighs(&self, found: &mut Vec<String>) {
        let counts = |weight: fn(&Component) -> f64| {
            self.components.iter().any(|line| line.weight != 0.0 && weight(line) != 0.0)
        };
        let weighs = self.components.iter().any(|line| line.component == ComponentKind::Fs);
        for (part, weight, kind) in TARGETS.into_iter().filter(|_| weighs) {
            let gives_points = |line: &&Target| line.kind == kind && line.target_type != TargetType::Cap;
            let lines = || self.targets.iter().filter(gives_points);
            // What accounts and groups weigh is added to the weight of the component, whatever theirs is.
            let adds = matches!(kind, TargetKind::Account | TargetKind::Group)
                && lines().any(|line| line.weight.is_some_and(|weight| weight != 0.0));
            if lines().next().is_some() && !adds && !counts(weight) {
                found.push(format!(
                    "Target={kind} lines change nothing: no Component=FS line gives {part} a weight. Add it, or \
                     remove the lines"
                ));
            }
        }
        // Without any of them that is said where the lines are.
        let weighs = self.components.iter().any(|line| line.component == ComponentKind::Cred);
        for (part, weight, kind) in CREDENTIALS.into_iter().filter(|_| weighs) {
            let mut lines =
                self.credentials.iter().filter(|line| line.kind == kind && line.class_weight.is_none());
            if lines.next().is_some() && !counts(weight) {
                found.push(format!(
                    "Credential={kind} lines change nothing: no Component=CRED line gives {part} a weight. Add it, or \
                     remove the lines"
                ));
            }
        }
    }
}
