//! What other programs see of grants, as of the last cycle.

use multifactor2_core::rules::grants::{shown as exact, Exact};
use multifactor2_core::settings::{GrantKind, GrantOutside};
use multifactor2_snapshot::records::Grant;

use super::Grants;

/// A grant as a record of a snapshot.
pub type GrantShown = Grant;

impl Grants {
    /// How all stand at a time.
    pub fn shown(&self, at: i64) -> Vec<GrantShown> {
        let state = self.0.lock();
        let Some(ledger) = &state.ledger else { return Vec::new() };
        let each = state.sequences.all.iter().enumerate().map(|(place, sequence)| {
            let key = &sequence.key;
            let seconds = |parts: i128| whole(parts) / whole(sequence.parts().into());
            let number = |parts: &Exact| exact(parts) / whole(sequence.parts().into());
            let mut shown = Grant {
                kind: key.kind.to_string(),
                name: key.name.clone(),
                unit: key.unit.clone(),
                partitions: key.partitions.clone().unwrap_or_default(),
                book: key.book.clone().unwrap_or_default(),
                counted_until: ledger.since,
                group: ledger.groups.get(&key.name).copied().filter(|_| key.kind == GrantKind::Group),
                running: state.running.get(place).copied().map_or(0.0, &seconds),
                factors: sequence.has_factors,
                ..Grant::default()
            };
            let next =
                sequence.lines.iter().map(|line| line.grant.periods.whole().0).find(|first| *first > at);
            let Some(line) = sequence.line(at) else {
                let before = sequence.lines.iter().rev().find(|line| line.grant.periods.whole().1 <= at);
                let line = before.or(sequence.lines.first());
                shown.beyond = line.map_or_else(String::new, |line| line.beyond.to_string());
                let state = match sequence.outside {
                    GrantOutside::Beyond => "outside",
                    GrantOutside::None => "none",
                };
                state.clone_into(&mut shown.state);
                shown.next_line = next.unwrap_or_default();
                return shown;
            };
            let grant = &line.grant;
            (shown.first, shown.end) = grant.periods.whole();
            shown.periods = u32::try_from(grant.count()).unwrap_or(u32::MAX);
            shown.rule = line.preset.map_or_else(|| line.rule.to_string(), |preset| preset.to_string());
            shown.beyond = line.beyond.to_string();
            shown.within = line.within;
            shown.amount = number(&grant.total(at));
            shown.place = line.place.0.to_string();
            shown.next_line = next.unwrap_or_default();
            let used = ledger.used(line);
            shown.used_all = used.iter().copied().map(seconds).sum();
            if let Some(account) = ledger.accounts.get(&line.ledger) {
                (shown.changed, shown.begun) = (account.changed, account.begun);
                if !account.corrected.is_empty() {
                    shown.corrected = account.corrected.iter().flatten().copied().map(seconds).sum();
                    shown.corrected_until = ledger.corrected_at;
                }
                shown.days = account.days.iter().map(|(begin, _)| *begin).collect();
                shown.used_by_day = account.days.iter().map(|(_, amount)| seconds(*amount)).collect();
            }
            shown.begun = line.counted_from.unwrap_or(shown.begun);
            let Some(standing) = grant.standing(&used, at) else { return shown };
            let (begin, end) = grant.periods.span(standing.period).unwrap_or_default();
            shown.period = u32::try_from(standing.period).unwrap_or(u32::MAX);
            (shown.period_begin, shown.period_end) = (begin, end);
            shown.granted = number(&standing.granted);
            shown.carried = number(&standing.carried);
            shown.borrowable = number(&standing.limit).abs();
            shown.used = used.get(standing.period - 1).copied().map_or(0.0, seconds);
            shown.left = number(&(&standing.balance - &standing.limit));
            shown.next_change = grant.next_change(at).unwrap_or_default();
            shown.should_be = grant.should_be(at).as_ref().map_or(0.0, number);
            let state = match (ledger.is_unknown(line), standing.is_within) {
                (true, _) => "unknown",
                (false, true) => "within",
                (false, false) => "beyond",
            };
            state.clone_into(&mut shown.state);
            shown
        });
        each.collect()
    }
}

#[allow(clippy::cast_precision_loss)] // shown only
fn whole(amount: i128) -> f64 {
    amount as f64
}
