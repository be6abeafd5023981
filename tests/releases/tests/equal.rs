//! What `make test` compares in the newest release: stock `priority/multifactor` and ours from one saved state with random jobs, under
//! settings that together use every factor and every way of rounding. `parity.rs` compares more, in all releases.

use slurm_releases::{cluster, FORKY};
use slurm_testcluster::parity::{compare, Saved, VARIANTS};

/// By their names in [`VARIANTS`].
const CHOSEN: [&str; 5] =
    ["default", "relative to time, favor small", "nothing normalised", "largest TRES", "decay"];

#[test]
fn every_column_but_fair_share_is_equal_in_the_newest_release() {
    FORKY.test(|release| {
        let chosen: Vec<_> = VARIANTS.into_iter().filter(|(name, _)| CHOSEN.contains(name)).collect();
        assert_eq!(chosen.len(), CHOSEN.len());
        compare(
            &mut Saved::new(cluster(release.clone()).unwrap(), &mut multifactor2_fixtures::random(), 40),
            &chosen,
            false,
        );
    });
}
