//! What jobs of the same association have in common, worked out once for each: all of it where neither books nor pools make a difference.

use multifactor2_core::books::BookAt;
use multifactor2_core::factors::weighted_fair_share;
use multifactor2_core::policy::pools::{JobTickets, Pools};

use super::drafts::Drafts;
use super::standing::Standing;
use super::waiting::AssocPlace;

/// The weighted factors of associations.
pub struct KnownOnce<'k> {
    drafts: &'k Drafts,
    standing: &'k Standing,
    /// By place, for the default book and without tickets of pools.
    of_places: Vec<Option<(f64, f64)>>,
    /// What gave the tickets of jobs in the default book.
    pools: Option<&'k Pools>,
}

impl<'k> KnownOnce<'k> {
    /// Of all associations of the drafts.
    pub fn new(drafts: &'k Drafts, standing: &'k Standing) -> Self {
        let plain = (BookAt::DEFAULT, None);
        let of_places = drafts.waiting().places().map(|place| drafts.known(standing, place, plain));
        Self { drafts, standing, of_places: of_places.collect(), pools: standing.pools_of_cycle() }
    }

    /// That of an association, and of a job there in a book with these tickets.
    #[inline]
    pub fn of(&self, association: AssocPlace, of: (BookAt, Option<JobTickets>)) -> Option<(f64, f64)> {
        match (of, self.pools) {
            ((BookAt::DEFAULT, None), _) => self.plain(association),
            ((BookAt::DEFAULT, Some(tickets)), Some(pools)) if association != AssocPlace::NONE => {
                let (of_association, _) = self.plain(association)?;
                let weight = self.drafts.fair_share_weight();
                Some((of_association, weighted_fair_share(pools.factor(tickets), weight)))
            }
            (of, _) => self.drafts.known(self.standing, association, of),
        }
    }

    /// That of an association, where there are neither books nor pools.
    #[inline]
    pub fn plain(&self, association: AssocPlace) -> Option<(f64, f64)> {
        let plain = (BookAt::DEFAULT, None);
        let known = self.of_places.get(association.index()).copied();
        known.unwrap_or_else(|| self.drafts.known(self.standing, association, plain))
    }
}
