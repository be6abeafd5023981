//! Detects from slurmctld's raw usage, from one cycle to the next, whose usage an administrator has reset.
//!
//! `sacctmgr modify ... set RawUsage=0` subtracts the usage of an association from it and from all above it, empties those below it, and
//! tells no plugin. So the usage that belongs to an association itself, and not to one below it, is compared: only a reset lowers it. An
//! account whose users were reset, or moved out of it, does not count as reset.

use rustc_hash::FxHashMap;

/// An association, as it is now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Its id.
    pub id: u32,
    /// That of the one above it.
    pub parent: Option<u32>,
    /// Its raw usage, with that of all below it.
    pub raw: f64,
}

/// Parent and raw usage by id, as the last cycle left them.
pub(crate) type Remembered = FxHashMap<u32, (Option<u32>, f64)>;

/// What was charged, by id.
pub(crate) type Charged = FxHashMap<u32, f64>;

/// Raw usage is a sum of many charges, in another order than ours.
const TOLERANCE: f64 = 1e-9;

/// slurmctld saves usage with six decimals, so after a restart each number may be less by the last of them.
const SAVED: f64 = 1e-6;

/// The associations whose own usage was reset since `before`, each with what slurmctld has charged to it since that reset. `ended` has the
/// charges since `before` of jobs that ended.
pub(crate) fn resets(before: &Remembered, now: &[Seen], ended: &Charged) -> Vec<(u32, f64)> {
    if before.is_empty() {
        return Vec::new();
    }
    let mut own_before: FxHashMap<u32, f64> = before.iter().map(|(id, (_, raw))| (*id, *raw)).collect();
    for (parent, raw) in before.values() {
        if let Some(own) = parent.and_then(|parent| own_before.get_mut(&parent)) {
            *own -= raw;
        }
    }
    let places: FxHashMap<u32, usize> = now.iter().enumerate().map(|(at, seen)| (seen.id, at)).collect();
    let above: Vec<Option<usize>> =
        now.iter().map(|seen| seen.parent.and_then(|parent| places.get(&parent).copied())).collect();
    let mut own: Vec<f64> = now.iter().map(|seen| seen.raw).collect();
    // So many numbers each is made of.
    let mut parts = vec![1_u32; now.len()];
    for (seen, above) in now.iter().zip(&above) {
        if let Some(above) = above {
            own[*above] -= seen.raw;
            parts[*above] += 1;
        }
    }
    // An account with nothing left: all below it are reset with it, also those of whom billing counts nothing.
    let emptied: Vec<bool> = now
        .iter()
        .map(|seen| before.get(&seen.id).is_some_and(|(_, raw)| *raw > SAVED && seen.raw <= raw * TOLERANCE))
        .collect();
    // Looked for once: there are a hundred thousand associations, and slurmctld waits.
    let any_is_emptied = emptied.contains(&true);
    let is_below_emptied = |at: usize| {
        // Parents that lead in a circle end somewhere, too.
        any_is_emptied
            && std::iter::successors(Some(at), |at| above[*at]).take(now.len()).any(|at| emptied[at])
    };
    let mut found = Vec::new();
    for (at, seen) in now.iter().enumerate() {
        let raw_before = before.get(&seen.id).map_or(0.0, |(_, raw)| *raw);
        let due =
            own_before.get(&seen.id).copied().unwrap_or(0.0) + ended.get(&seen.id).copied().unwrap_or(0.0);
        let fell = has_fallen(due, own[at], (raw_before.max(seen.raw), parts[at]));
        if fell && raw_before > 0.0 || is_below_emptied(at) {
            found.push((seen.id, own[at].max(0.0)));
        }
    }
    found
}

/// Whether usage is less than what is due, if it was computed from `parts` numbers as large as `scale`.
pub(crate) fn has_fallen(due: f64, found: f64, (scale, parts): (f64, u32)) -> bool {
    due - found > TOLERANCE * scale.max(due) + SAVED * f64::from(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROOT: u32 = 1;
    const PHYSICS: u32 = 2;
    const ALICE: u32 = 3;
    const BOB: u32 = 4;
    const MATHS: u32 = 5;

    fn seen(usage: [f64; 5]) -> Vec<Seen> {
        let parents = [None, Some(ROOT), Some(PHYSICS), Some(PHYSICS), Some(ROOT)];
        (1..).zip(parents).zip(usage).map(|((id, parent), raw)| Seen { id, parent, raw }).collect()
    }

    fn remembered(usage: [f64; 5]) -> Remembered {
        seen(usage).into_iter().map(|seen| (seen.id, (seen.parent, seen.raw))).collect()
    }

    #[track_caller]
    fn assert_resets(now: [f64; 5], ended: &[(u32, f64)], expected: &[(u32, f64)]) {
        let found = resets(
            &remembered([1000.0, 600.0, 500.0, 100.0, 400.0]),
            &seen(now),
            &ended.iter().copied().collect(),
        );
        assert_eq!(found, expected);
    }

    /// The file of slurmctld's usage has six decimals: what a restart takes off is no reset, however little is left.
    #[test]
    fn what_is_rounded_when_it_is_saved_is_no_reset() {
        let before = remembered([8.123_456_9, 3.000_000_4, 1.999_999_6, 1e-7, 0.4]);
        assert_eq!(
            resets(&before, &seen([8.123_456, 3.0, 1.999_999, 0.0, 0.399_999]), &Charged::default()),
            []
        );
        // What a hundred users have lost by it is still less than their account has of its own.
        let users = |of: f64| (0..100).map(move |id| (10 + id, of));
        let with = |of: f64, account: f64| -> Vec<Seen> {
            let all = users(of).map(|(id, raw)| Seen { id, parent: Some(PHYSICS), raw });
            all.chain([Seen { id: PHYSICS, parent: None, raw: account }]).collect()
        };
        let before: Remembered =
            with(0.1, 12.0).into_iter().map(|seen| (seen.id, (seen.parent, seen.raw))).collect();
        assert_eq!(resets(&before, &with(0.100_000_9, 12.0), &Charged::default()), []);
        assert_eq!(resets(&before, &with(0.1, 11.9), &Charged::default()).len(), 1);
        assert_eq!(resets(&before, &with(0.099, 11.9), &Charged::default()).len(), 100);
    }

    /// All of slurmctld waits for it. Looking at all others for each takes a minute and more; this takes a part of a second.
    #[test]
    fn a_hundred_thousand_associations_are_looked_at_once_each() {
        let parent = |id: u32| (id > 0).then(|| if id < 1000 { 0 } else { 1 + id % 999 });
        let now: Vec<Seen> = (0..100_000).map(|id| Seen { id, parent: parent(id), raw: 1e9 }).collect();
        let before: Remembered = now.iter().map(|seen| (seen.id, (seen.parent, seen.raw))).collect();
        let begun = std::time::Instant::now();
        assert_eq!(resets(&before, &now, &Charged::default()), []);
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }

    #[test]
    fn who_has_as_much_as_before_or_more_was_not_reset() {
        assert_resets([1000.0, 600.0, 500.0, 100.0, 400.0], &[], &[]);
        assert_resets([1500.0, 900.0, 700.0, 200.0, 600.0], &[], &[]);
        assert_resets([999.999_999_9, 600.0, 500.0, 100.0, 400.0], &[], &[]);
        assert!(resets(&Remembered::default(), &seen([0.0; 5]), &FxHashMap::default()).is_empty());
    }

    #[test]
    fn a_user_is_reset_and_the_accounts_above_are_not() {
        assert_resets([500.0, 100.0, 0.0, 100.0, 400.0], &[], &[(ALICE, 0.0)]);
    }

    #[test]
    fn an_account_is_reset_with_all_below_it() {
        let all = [(PHYSICS, 0.0), (ALICE, 0.0), (BOB, 0.0)];
        assert_resets([400.0, 0.0, 0.0, 0.0, 400.0], &[], &all);
        // What slurmctld's subtraction leaves.
        assert_resets([400.0, 1e-12, 0.0, 0.0, 400.0], &[], &[(PHYSICS, 1e-12), (ALICE, 0.0), (BOB, 0.0)]);
        assert_resets([0.0; 5], &[], &[(ROOT, 0.0), (PHYSICS, 0.0), (ALICE, 0.0), (BOB, 0.0), (MATHS, 0.0)]);
    }

    #[test]
    fn jobs_that_ended_since_do_not_hide_a_reset() {
        // 700 before it and 20 after it.
        assert_resets([520.0, 120.0, 20.0, 100.0, 400.0], &[(ALICE, 720.0)], &[(ALICE, 20.0)]);
        assert_resets([1020.0, 620.0, 520.0, 100.0, 400.0], &[(ALICE, 520.0)], &[(ALICE, 520.0)]);
        assert_resets([1720.0, 1320.0, 1220.0, 100.0, 400.0], &[(ALICE, 720.0)], &[]);
    }

    #[test]
    fn what_an_account_keeps_of_users_that_are_gone_can_be_reset_too() {
        let before = remembered([1000.0, 600.0, 100.0, 100.0, 400.0]);
        let now = seen([600.0, 200.0, 100.0, 100.0, 400.0]);
        assert_eq!(resets(&before, &now, &FxHashMap::default()), [(PHYSICS, 0.0)]);
    }

    #[test]
    fn an_association_that_is_moved_or_removed_was_not_reset() {
        let before = remembered([1000.0, 600.0, 500.0, 100.0, 400.0]);
        // Alice goes to maths; slurmctld takes her usage with her.
        let mut moved = seen([1000.0, 100.0, 500.0, 100.0, 900.0]);
        moved[2].parent = Some(MATHS);
        assert!(resets(&before, &moved, &FxHashMap::default()).is_empty());
        // Alice is removed: her account keeps what she has used, or, in older releases, does not.
        for physics in [600.0, 100.0] {
            let mut left = seen([400.0 + physics, physics, 500.0, 100.0, 400.0]);
            left.remove(2);
            assert!(resets(&before, &left, &FxHashMap::default()).is_empty(), "{physics}");
        }
    }

    proptest! {
        #![proptest_config(multifactor2_fixtures::seeded())]

        /// Who is reset and who is not, in any tree.
        #[test]
        fn exactly_those_below_are_reset(
            parents in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
            usage in prop::collection::vec(1.0..1e12_f64, 20),
            more in prop::collection::vec(0.0..1e12_f64, 20),
            reset: prop::sample::Index,
        ) {
            let count = u32::try_from(parents.len()).unwrap();
            let parents: Vec<Option<u32>> = (0..count).zip(&parents)
                .map(|(at, pick)| (at > 0).then(|| u32::try_from(pick.index(at as usize)).unwrap())).collect();
            let reset = u32::try_from(reset.index(parents.len())).unwrap();
            let path = |id: u32| std::iter::successors(Some(id), |id| parents[*id as usize]);
            let is_reset = |id: u32| path(id).any(|above| above == reset);
            let sums = |own: &dyn Fn(u32) -> f64| {
                let mut raw = vec![0.0; parents.len()];
                for id in 0..count {
                    path(id).for_each(|above| raw[above as usize] += own(id));
                }
                raw
            };
            let before = sums(&|id| usage[id as usize]);
            let before: Remembered = (0..count).map(|id| (id, (parents[id as usize], before[id as usize]))).collect();
            let after = sums(&|id| if is_reset(id) { 0.0 } else { usage[id as usize] + more[id as usize] });
            let now: Vec<Seen> = (0..count)
                .map(|id| Seen { id, parent: parents[id as usize], raw: after[id as usize] }).collect();
            let ended = (0..count).map(|id| (id, more[id as usize])).collect();
            let found: Vec<u32> = resets(&before, &now, &ended).into_iter().map(|(id, _)| id).collect();
            let largest = usage[..parents.len()].iter().chain(&more).fold(0.0_f64, |a, b| a.max(*b));
            for id in 0..count {
                // Less than the tolerance of the sums above it cannot be told.
                if is_reset(id) && usage[id as usize] > largest * 1e-6 {
                    prop_assert!(found.contains(&id), "{} of {:?}", id, found);
                }
                prop_assert!(is_reset(id) || !found.contains(&id), "{} was not reset", id);
            }
        }
    }
}
