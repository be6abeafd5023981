//! What `make test` compares in the newest release: stock `priority/multifactor` and ours from one saved state with random jobs, under
//! settings that together use every factor and every way of rounding. `parity.rs` compares more, in all releases.

#[path = "../../daemons/comparison.rs"]
mod comparison;
#[path = "../../support/seed.rs"]
mod seed;
#[allow(dead_code)] // the tests of the installed Slurm use more
#[path = "../../daemons/support.rs"]
mod support;
#[path = "../../daemons/workload.rs"]
mod workload;

use comparison::{compare, VARIANTS};
use slurm_releases::{cluster, FORKY};
use workload::Saved;

/// By their names in [`VARIANTS`].
const CHOSEN: [&str; 5] =
    ["default", "relative to time, favor small", "nothing normalised", "largest TRES", "decay"];

#[test]
fn every_column_but_fair_share_is_equal_in_the_newest_release() {
    FORKY.test(|release| {
        let chosen: Vec<_> = VARIANTS.into_iter().filter(|(name, _)| CHOSEN.contains(name)).collect();
        assert_eq!(chosen.len(), CHOSEN.len());
        compare(
            &mut Saved::new(cluster(release.clone()).unwrap(), &mut support::random(), 40),
            &chosen,
            false,
        );
    });
}
