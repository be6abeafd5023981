//! Sums a replay up in a few sentences: which users cannot be judged, which policy to choose, what it costs and who pays, and how far to
//! trust that.
//!
//! A difference is reported only if it is larger than chance (two standard deviations of jittered runs) and larger than the error of the
//! past (the policy that the cluster had, replayed, against the record).

use std::fmt::Write as _;

use crate::answers::replay::answer::measures::{self, Measure};
use crate::answers::replay::answer::{Change, Comparison, Past, Policy, Replay};
use crate::output::numbers::{count, percent, seconds, span};

/// How many of those that gain or pay are named.
const NAMED: usize = 3;

/// How many are named that cannot be judged.
const SILENT: usize = 8;

/// A headline, sentences, and warnings.
#[derive(Default)]
pub(super) struct Summary {
    /// Of whom nothing can be said.
    pub warnings: Vec<String>,
    /// What matters most.
    pub headline: String,
    /// What each policy does, and for whom.
    pub items: Vec<String>,
}

impl Summary {
    /// Of an answer.
    pub fn of(answer: &Replay) -> Self {
        let Some(first) = answer.policies.first() else { return Self::default() };
        let mut items = vec![format!(
            "Under {} jobs wait {} on average, and usage is {} away from the shares. {} of all usage went to accounts that were \
             not entitled to it.",
            first.name,
            WAIT.show(first),
            percent(first.share_error.mean),
            SHORTFALL.show(first)
        )];
        let others = answer.policies.iter().skip(1).zip(&answer.comparisons);
        items.extend(others.map(|(policy, comparison)| compared(answer, policy, comparison)));
        items.extend(how_sure(answer));
        let headline = if answer.policies.len() > 1 && !answer.stopped {
            choice(answer)
        } else {
            items.remove(0)
        };
        Self { warnings: warnings(answer), headline, items }
    }
}

/// Those that say which policy to choose: less is better.
const SHORTFALL: &Measure = &measures::ACCOUNT_SHORTFALL;
const SHARE_ERROR: &Measure = &measures::SHARE_ERROR;
const WAIT: &Measure = &measures::MEAN_WAIT;

impl Measure {
    /// The smallest difference that is told: what chance makes, and what the past, replayed, is off. `None` if one of them is not known.
    fn noise(&self, answer: &Replay, one: &Policy, other: &Policy) -> Option<f64> {
        let deviation = |policy: &Policy| {
            let found = policy.runs.iter().find(|runs| runs.measure == self.name && runs.runs > 1);
            found.map(|runs| runs.deviation)
        };
        let chance = 2.0 * deviation(one)?.max(deviation(other)?);
        Some(chance.max(answer.past.as_ref()?.error_of(self.name)?))
    }

    /// Whether two policies cannot be told apart by it.
    fn is_same(&self, answer: &Replay, one: &Policy, other: &Policy) -> bool {
        let mean = |policy: &Policy| {
            let found = policy.runs.iter().find(|runs| runs.measure == self.name);
            found.map_or_else(|| self.value(policy), |runs| runs.mean)
        };
        // Also over the runs: jobs of one second have an order in the trace as it is, which no policy gives them.
        let (difference, of_means) = (self.value(one) - self.value(other), mean(one) - mean(other));
        self.noise(answer, one, other)
            .is_none_or(|noise| difference.abs() <= noise || of_means.abs() <= noise || difference * of_means < 0.0)
    }

    /// The policy that is best, and those that cannot be told from it.
    fn best<'a>(&self, answer: &'a Replay) -> Vec<&'a Policy> {
        let policies = &answer.policies;
        let best = policies.iter().min_by(|one, other| self.value(one).total_cmp(&self.value(other)));
        best.map_or_else(Vec::new, |best| {
            policies.iter().filter(|policy| self.is_same(answer, best, policy)).collect()
        })
    }
}

fn names(policies: &[&Policy]) -> String {
    let names: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
    names.join(" or ")
}

/// Of whom nothing can be said, and why.
fn warnings(answer: &Replay) -> Vec<String> {
    let mut warnings: Vec<String> = answer
        .unsaid
        .iter()
        .take(SILENT)
        .map(|unsaid| {
            let of = if unsaid.of == "account" { &answer.trace.account_word } else { &unsaid.of };
            format!("No verdict on {of} {} ({}): {}.", unsaid.name, count(unsaid.jobs, "job", "jobs"), unsaid.why)
        })
        .collect();
    if answer.unsaid.len() > SILENT {
        warnings.push(format!(
            "No verdict on {} more accounts, users and partitions: --csv, --json and --html name them.",
            answer.unsaid.len() - SILENT
        ));
    }
    if answer.trace.runs_cut {
        warnings.push(format!(
            "Ten minutes were over after {}, so chance is estimated less precisely. --runs sets a number of runs, whatever the time.",
            count(answer.trace.runs, "jittered run", "jittered runs")
        ));
    }
    warnings
}

/// Why no policy can be chosen at all; `None` if one may be.
fn no_choice(answer: &Replay) -> Option<String> {
    let Some(past) = &answer.past else {
        return Some(
            "No policy can be recommended: the trace has no start times, so nothing shows how close a replay is to the cluster."
                .to_owned(),
        );
    };
    if past.is_misfit {
        return Some(format!(
            "No policy can be recommended: {}. Something that this replay does not know decided waits.",
            past_sentence(past)
        ));
    }
    if past.deviation.is_none() {
        return Some(
            "No policy can be recommended: the trace is too short to measure how close a replay is to the cluster."
                .to_owned(),
        );
    }
    if answer.trace.runs < 2 {
        return Some(
            "No policy can be recommended: without at least two jittered runs a difference may be chance. Leave --runs out."
                .to_owned(),
        );
    }
    None
}

/// Which policy to choose.
fn choice(answer: &Replay) -> String {
    if let Some(why) = no_choice(answer) {
        return why;
    }
    let (fair, quick) = (SHORTFALL.best(answer), WAIT.best(answer));
    let both: Vec<&Policy> =
        fair.iter().copied().filter(|policy| quick.iter().any(|other| other.name == policy.name)).collect();
    if both.len() == answer.policies.len() {
        return format!(
            "Neither account shortfall ({}) nor mean wait ({}) separates the policies.",
            values(SHORTFALL, &both),
            values(WAIT, &both)
        );
    }
    if !both.is_empty() {
        return format!(
            "By both measures choose {}: no account shortfall is smaller ({} of all usage went to accounts that were not entitled \
             to it) and no mean wait is shorter ({}), beyond chance and the error of the past.",
            names(&both),
            values(SHORTFALL, &both),
            values(WAIT, &both)
        );
    }
    format!(
        "Choose {} if accounts should get what their shares entitle them to: the account shortfall is {} (that part of all usage \
         went to accounts that were not entitled to it), the mean wait {}. Choose {} if waits should be short on average: the \
         mean wait is {}, the shortfall {}.",
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
fn compared(answer: &Replay, policy: &Policy, comparison: &Comparison) -> String {
    let first = &answer.policies[0];
    let against = |measure: &Measure| {
        let told = if measure.is_same(answer, first, policy) { ", no difference that is certain" } else { "" };
        format!("{} against {}{told}", measure.show(policy), measure.show(first))
    };
    let whole = &comparison.whole;
    let wait = if whole.is_told {
        longer(whole.before, whole.longer)
    } else {
        "no difference that is certain".to_owned()
    };
    let mut sentence = format!(
        "{} against {}: mean wait {} against {} ({wait}); share error {}; account shortfall {}.",
        policy.name,
        first.name,
        WAIT.show(policy),
        WAIT.show(first),
        against(SHARE_ERROR),
        against(SHORTFALL)
    );
    let told = |change: &&Change| change.is_told;
    let gain: Vec<&Change> = comparison.accounts.iter().filter(told).filter(|change| change.longer < 0.0).collect();
    let pay: Vec<&Change> =
        comparison.accounts.iter().rev().filter(told).filter(|change| change.longer > 0.0).collect();
    if gain.is_empty() && pay.is_empty() {
        sentence.push_str(" No account has a difference that is certain.");
    }
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

/// The past policy, replayed, against the record.
fn past_sentence(past: &Past) -> String {
    let assumed = if past.source.is_empty() { " (assumed, because the trace does not name it: see --past)" } else { "" };
    let within = past.deviation.map_or_else(String::new, |deviation| format!(", give or take {}", span(seconds(2.0 * deviation))));
    format!(
        "under {}{assumed}, the past policy, replayed jobs wait {} on average against {} recorded{within}",
        past.policy,
        span(seconds(past.recorded + past.error)),
        span(seconds(past.recorded)),
    )
}

/// How sure what is said is.
fn how_sure(answer: &Replay) -> Option<String> {
    // Of a misfit the headline has said it.
    let past = answer.past.as_ref().filter(|past| !past.is_misfit || answer.policies.len() < 2)?;
    let mut sentence = past_sentence(past);
    sentence.replace_range(..1, &sentence[..1].to_uppercase());
    let worst = past.error_of(WAIT.name);
    let told = worst.map_or_else(
        || "The trace is too short to separate that from chance, so no difference is reported".to_owned(),
        |worst| format!("Differences of mean waits up to {} are not reported", span(seconds(worst))),
    );
    Some(format!("{sentence}. {told}."))
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
