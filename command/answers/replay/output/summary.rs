//! A replay in a few sentences: which policy to choose, what it costs and whom, and how far to trust that.

use std::fmt::Write as _;

use crate::answers::replay::answer::measures::{self, Measure};
use crate::answers::replay::answer::{Change, Comparison, Policy, Replay};
use crate::output::numbers::{percent, seconds, span};

/// So many of those that gain or pay are named.
const NAMED: usize = 3;

/// Parts of a number by which another is as good.
const HARDLY: f64 = 0.02;

/// Means within this factor, or a minute, of what was recorded are near it.
const NEAR: f64 = 1.5;

/// A headline, sentences, and a warning.
#[derive(Default)]
pub(super) struct Summary {
    /// What matters most.
    pub headline: String,
    /// What each policy does, and for whom.
    pub items: Vec<String>,
    /// Why it is not to be trusted much.
    pub warning: Option<String>,
}

impl Summary {
    /// Of an answer.
    pub fn of(answer: &Replay) -> Self {
        let Some(first) = answer.policies.first() else { return Self::default() };
        let mut items = vec![format!(
            "Under {} jobs wait {} on average, and usage is {} from the shares. {} of all usage went to other accounts than those who were entitled to it.",
            first.name,
            WAIT.show(first),
            percent(first.share_error.mean),
            SHORTFALL.show(first)
        )];
        let others = answer.policies.iter().skip(1).zip(&answer.comparisons);
        items.extend(others.map(|(policy, comparison)| compared(first, policy, comparison)));
        if answer.trace.runs == 0 && answer.policies.len() > 1 {
            items.push("How much of the differences is chance is not known: ask for --runs 10.".to_owned());
        }
        let headline = if answer.policies.len() > 1 && !answer.stopped {
            choice(&answer.policies)
        } else {
            items.remove(0)
        };
        let (trust, is_near) = trust(answer, first);
        if is_near {
            items.push(trust);
            Self { headline, items, warning: None }
        } else {
            Self { headline, items, warning: Some(trust) }
        }
    }
}

/// Those that say which policy to choose: less is better.
const SHORTFALL: &Measure = &measures::ACCOUNT_SHORTFALL;
const SHARE_ERROR: &Measure = &measures::SHARE_ERROR;
const WAIT: &Measure = &measures::MEAN_WAIT;

impl Measure {
    /// Whether two policies cannot be told apart by it: by chance, where there are jittered runs, else by less than [`HARDLY`].
    fn is_same(&self, one: &Policy, other: &Policy) -> bool {
        let runs = |policy: &Policy| {
            let found = policy.runs.iter().find(|runs| runs.measure == self.name && runs.runs > 1);
            found.map(|runs| (runs.mean, runs.deviation))
        };
        if let (Some((one, spread)), Some((other, other_spread))) = (runs(one), runs(other)) {
            return (one - other).abs() <= 2.0 * spread.max(other_spread);
        }
        let (one, other) = (self.value(one), self.value(other));
        (one - other).abs() <= HARDLY * one.abs().max(other.abs())
    }

    /// The policy that is best, and those that cannot be told from it.
    fn best<'p>(&self, policies: &'p [Policy]) -> Vec<&'p Policy> {
        let best = policies.iter().min_by(|one, other| self.value(one).total_cmp(&self.value(other)));
        best.map_or_else(Vec::new, |best| {
            policies.iter().filter(|policy| self.is_same(best, policy)).collect()
        })
    }
}

fn names(policies: &[&Policy]) -> String {
    let names: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
    names.join(" or ")
}

/// Which policy to choose.
fn choice(policies: &[Policy]) -> String {
    let (fair, quick) = (SHORTFALL.best(policies), WAIT.best(policies));
    let both: Vec<&Policy> =
        fair.iter().copied().filter(|policy| quick.iter().any(|other| other.name == policy.name)).collect();
    if both.len() == policies.len() {
        return format!(
            "Neither account shortfall ({}) nor mean wait ({}) tells the policies apart.",
            values(SHORTFALL, &both),
            values(WAIT, &both)
        );
    }
    if !both.is_empty() {
        return format!(
            "By both measures the choice is {}: the smallest account shortfall ({} of all usage went to other accounts than those who were entitled to it), and no mean wait is shorter by more than {} ({}).",
            names(&both),
            values(SHORTFALL, &both),
            percent(HARDLY),
            values(WAIT, &both)
        );
    }
    format!(
        "Choose {} if accounts are to get what their shares entitle them to: the account shortfall is {} (that part of all usage went to other accounts than those who were entitled to it), the mean wait {}. Choose {} if waits are to be short on average: the mean wait is {}, the shortfall {}.",
        names(&fair),
        values(SHORTFALL, &fair),
        values(WAIT, &fair),
        names(&quick),
        values(WAIT, &quick),
        values(SHORTFALL, &quick)
    )
}

/// What each of some policies has, those that show the same together.
fn values(measure: &Measure, policies: &[&Policy]) -> String {
    let mut values: Vec<String> = policies.iter().map(|policy| measure.show(policy)).collect();
    values.dedup();
    values.join(" or ")
}

/// What another policy changes, and for whom.
fn compared(first: &Policy, policy: &Policy, comparison: &Comparison) -> String {
    let against = |measure: &Measure| {
        let chance = if !policy.runs.is_empty() && measure.is_same(first, policy) {
            ", no more than chance"
        } else {
            ""
        };
        format!("{} against {}{chance}", measure.show(policy), measure.show(first))
    };
    let (before, after) = (first.waits.wait.mean, policy.waits.wait.mean);
    let mut sentence = format!(
        "{} against {}: mean wait {} ({}); share error {}; account shortfall {}.",
        policy.name,
        first.name,
        longer(before, after - before),
        against(WAIT),
        against(SHARE_ERROR),
        against(SHORTFALL)
    );
    let gain: Vec<&Change> = comparison.accounts.iter().filter(|change| seconds(change.longer) < 0).collect();
    let pay: Vec<&Change> =
        comparison.accounts.iter().rev().filter(|change| seconds(change.longer) > 0).collect();
    for (title, changes) in [("Who gains", gain), ("Who pays", pay)] {
        if changes.is_empty() {
            continue;
        }
        let named: Vec<String> = changes
            .iter()
            .take(NAMED)
            .map(|change| {
                let word = if change.longer < 0.0 { "less" } else { "more" };
                format!(
                    "{} waits {} {word} ({})",
                    change.name,
                    span(seconds(change.longer.abs())),
                    longer(change.before, change.longer)
                )
            })
            .collect();
        let others = changes.len().saturating_sub(NAMED);
        let more = if others > 0 { format!(", and {others} more") } else { String::new() };
        // Writing to a String cannot fail.
        let _ = write!(sentence, " {title}: {}{more}.", named.join(", "));
    }
    sentence
}

/// How much longer or shorter something is, in words.
fn longer(before: f64, longer: f64) -> String {
    if seconds(longer) == 0 {
        return "the same".to_owned();
    }
    if seconds(before) == 0 {
        return "no wait before".to_owned();
    }
    let word = if longer < 0.0 { "shorter" } else { "longer" };
    let part = longer.abs() / before;
    if part > 2.0 {
        format!("{:.1} times as long", 1.0 + part)
    } else {
        format!("{} {word}", percent(part))
    }
}

/// How far to trust it, and whether the replay is near what was recorded, as far as that is known.
fn trust(answer: &Replay, first: &Policy) -> (String, bool) {
    let Some(recorded) = &answer.trace.recorded else {
        return (
            "The trace does not tell how long jobs waited, so nothing says how near this is to the cluster."
                .to_owned(),
            true,
        );
    };
    let (was, is) = (recorded.wait.mean, first.waits.wait.mean);
    let is_near = (was - is).abs() <= 60.0 || was.max(is) <= NEAR * was.min(is);
    let so = if is_near {
        "near that, as it should be if it is the policy that the cluster had"
    } else {
        "far from that. If it is the policy that the cluster had, the replay misses something that matters there: trust differences between policies less, and single numbers not at all"
    };
    let was = span(seconds(was));
    (format!("As recorded, jobs waited {was} on average. Under {} the replay is {so}.", first.name), is_near)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bug: an account that had not waited at all was said to wait "inf times as long".
    #[test]
    fn what_was_nothing_is_no_part_of_anything() {
        assert_eq!(longer(0.2, 3600.0), "no wait before");
        assert_eq!(longer(100.0, 300.0), "4.0 times as long");
        assert_eq!(longer(100.0, -25.0), "25.0% shorter");
        assert_eq!(longer(100.0, 0.3), "the same");
    }
}
