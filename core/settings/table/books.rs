//! The lines of books: separate shares and usage for some partitions.

use std::collections::HashSet;

use crate::seldom;
use crate::settings::value::MAX_NAME;

crate::block! {
    /// Partitions with usage of their own.
    pub struct Book(name: text(
        "a name of at most 64 letters, digits and ._-, other than default",
        is_name
    )) {
        /// Partitions of the book. A partition can be in only one book.
        partitions = "Partitions": names() required("gpu,gpu-long");
        /// Shares of accounts, at any level, in place of their `Fairshare`. `*` means all others directly below the same account,
        /// which otherwise have 0. Levels without a named account keep their `Fairshare`. Jobs with 0 shares have a factor of 0:
        /// they come last, and start where nothing else can.
        shares = "Shares": list(
            "account:shares pairs separated by commas, each account once and at most 255 bytes long, shares a whole \
             number from 0 to 2147483646, with * for all other accounts",
            lists_shares
        ) unset("chem:3,bio:1,*:0");
    }
}

impl Book {
    /// Accounts in small letters, as Slurm keeps them, with their shares. `*` is the last.
    pub fn shares_of_accounts(&self) -> Option<Vec<(String, u32)>> {
        self.shares.as_deref().and_then(read_shares)
    }
}

pub(super) fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter))
        && !text.eq_ignore_ascii_case("default")
}

/// What `Shares` lists; `None` for a text that is none.
fn read_shares(text: &str) -> Option<Vec<(String, u32)>> {
    let mut seen = HashSet::new();
    let entry = |entry: &str| {
        let (name, shares) = entry.rsplit_once(':')?;
        let (name, shares) = (name.trim().to_lowercase(), shares.trim());
        let digits = shares.bytes().all(|byte| byte.is_ascii_digit());
        let shares = shares.parse().ok().filter(|shares| digits && *shares <= super::MAX_SHARES)?;
        ((1..=MAX_NAME).contains(&name.len()) && seen.insert(name.clone())).then_some((name, shares))
    };
    let mut all: Vec<(String, u32)> = text.split(',').map(entry).collect::<Option<_>>()?;
    seldom::sort_by_key(&mut all, |(name, _)| name == "*");
    // `*` alone is beside nobody.
    (all[0].0 != "*").then_some(all)
}

fn lists_shares(text: &str) -> bool {
    read_shares(text).is_some()
}
