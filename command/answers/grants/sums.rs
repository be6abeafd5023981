//! Adds up what the accounting has for each period of a grant, from rows of sacct that are cut at every border.
//!
//! sacct reports how long a job ran between two times. So each request covers the time between two borders of any grant, or between a
//! border and the move of an account. Within such a stretch, a row counts for the same periods and the same parent accounts throughout.

use std::collections::{BTreeSet, HashMap};

use multifactor2_core::rules::grants::ledger::{Account, Ledger};
use multifactor2_core::rules::grants::{has_factors, Key, Scopes};
use slurm_text::tres;

/// A period that is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Whose grant.
    pub key: Key,
    /// The line of settings, as the ledger names it.
    pub line: String,
    /// The number of the period, from 1 on.
    pub period: usize,
    /// From when on it is compared.
    pub from: i64,
    /// Until when.
    pub until: i64,
    /// What the plugin has counted, in seconds of the unit.
    pub counted: i128,
    /// What the accounting has.
    pub accounted: i128,
}

/// What is compared, and what is not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// The periods that are compared.
    pub asked: Vec<Asked>,
    /// Those whose jobs may be gone.
    pub gone: Vec<Gone>,
    /// Whose grants are multiplied with factors, which the accounting does not know.
    pub with_factors: Vec<Key>,
}

/// A period that cannot be compared, as its jobs are gone.
#[derive(Clone, Debug, PartialEq)]
pub struct Gone {
    /// Whose grant.
    pub key: Key,
    /// The number of the period.
    pub period: usize,
}

/// The periods of a ledger that are to be compared: the current one and the one before it, those that never were, or all. Of what began before
/// `purged` the jobs may be gone.
pub fn asked(ledger: &Ledger, all: bool, purged: Option<i64>) -> Question {
    let Question { mut asked, mut gone, mut with_factors } = Question::default();
    for (line, account) in ledger.accounts.iter() {
        let Some((key, _)) = Key::read(line) else { continue };
        if has_factors(line) {
            with_factors.push(key);
            continue;
        }
        let Account { calendar, used, corrected, .. } = account;
        let now = calendar.periods.at(ledger.since).unwrap_or(calendar.periods.count() + 1);
        for period in 1..=calendar.periods.count() {
            let Some((begin, end)) = calendar.periods.span(period) else { break };
            let (from, until) = (begin.max(calendar.counted_from), end.min(ledger.since));
            if from >= until {
                continue;
            }
            let is_known = corrected.get(period - 1).is_some_and(Option::is_some);
            if !all && is_known && period + 1 < now {
                continue;
            }
            if purged.is_some_and(|purged| from < purged) {
                gone.push(Gone { key: key.clone(), period });
                continue;
            }
            let counted = used.get(period - 1).copied().unwrap_or_default();
            asked.push(Asked {
                key: key.clone(),
                line: line.to_owned(),
                period,
                from,
                until,
                counted,
                accounted: 0,
            });
        }
    }
    Question { asked, gone, with_factors }
}

/// The times between which the accounting is asked, in their order.
pub fn spans(asked: &[Asked], changes: &BTreeSet<i64>) -> Vec<(i64, i64)> {
    let mut borders: BTreeSet<i64> = asked.iter().flat_map(|one| [one.from, one.until]).collect();
    if let (Some(first), Some(last)) = (borders.first().copied(), borders.last().copied()) {
        borders.extend(changes.range(first..last));
    }
    let borders: Vec<i64> = borders.into_iter().collect();
    let pairs = borders.windows(2).map(|pair| (pair[0], pair[1]));
    pairs.filter(|(from, until)| asked.iter().any(|one| one.covers(*from, *until))).collect()
}

impl Asked {
    fn covers(&self, from: i64, until: i64) -> bool {
        self.from <= from && until <= self.until
    }
}

/// A run between two times, as sacct tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SacctRun<'r> {
    /// The id of the job.
    pub id: u32,
    /// The seconds of it in which it ran.
    pub seconds: i64,
    /// Its user.
    pub user: &'r str,
    /// Its account.
    pub account: &'r str,
    /// Its partition.
    pub partition: &'r str,
    /// Its QOS.
    pub qos: &'r str,
    /// Its wckey, with the star of a default one.
    pub wckey: &'r str,
    /// The number of its Unix group.
    pub gid: Option<u32>,
    /// What it has allocated.
    pub tres: &'r str,
}

/// Adds the rows between two times.
pub struct Sums<'l> {
    ledger: &'l Ledger,
    from: i64,
    /// Those of the periods that have the time between.
    asked: Vec<usize>,
    /// Whose these are, by their places among them.
    scopes: Scopes,
    /// Those of accounts and of all above them.
    of_accounts: HashMap<String, Vec<u32>>,
}

impl<'l> Sums<'l> {
    /// Of the periods that have the time between.
    pub fn new(ledger: &'l Ledger, all: &[Asked], (from, until): (i64, i64)) -> Self {
        let (asked, keys): (Vec<usize>, Vec<&Key>) = all
            .iter()
            .enumerate()
            .filter(|(_, one)| one.covers(from, until))
            .map(|(place, one)| (place, &one.key))
            .unzip();
        let scopes = Scopes::of(keys.into_iter(), |name| ledger.groups.get(name).copied());
        Self { ledger, from, asked, scopes, of_accounts: HashMap::new() }
    }

    /// Adds one. Says to which periods.
    pub fn add(&mut self, all: &mut [Asked], row: &SacctRun<'_>) -> Vec<usize> {
        let Self { ledger, from, asked, scopes, of_accounts } = self;
        if !of_accounts.contains_key(row.account) {
            let up = ledger.lineage.path(row.account, *from);
            of_accounts.insert(row.account.to_owned(), scopes.of_path(up));
        }
        let others = [
            scopes.of_user(row.user),
            scopes.of_group(row.gid),
            scopes.of_qos(row.qos),
            scopes.of_wckey(row.wckey.trim_start_matches('*')),
        ];
        let allocated = tres::list(row.tres);
        let mut places = Vec::new();
        for at in of_accounts[row.account].iter().chain(others.into_iter().flatten()) {
            let place = asked[*at as usize];
            let one = &mut all[place];
            let amount = allocated.iter().find(|(name, _)| name.eq_ignore_ascii_case(&one.key.unit));
            if let Some((_, amount)) = amount.filter(|_| one.key.has_partition(row.partition)) {
                one.accounted += i128::from(*amount) * i128::from(row.seconds);
                places.push(place);
            }
        }
        places
    }
}
