//! Which of our own sums the settings in force need.

use multifactor2_accounting::sums::{columns, Recipe};
use multifactor2_core::books::BookLines;
use multifactor2_core::policy::points::Points;
use multifactor2_core::settings::Settings;

/// For a share tree in windows; empty if it uses none.
pub fn recipe_of_tree(settings: &Settings) -> Recipe {
    let windows = settings.tree_windows().map(|(length, depth, _)| (length, depth));
    Recipe { metric: columns::BILLING.to_owned(), windows, ..Recipe::default() }
}

/// Empty where slurmctld's own usage is enough: half-life usage of billing, by association and QOS.
pub fn recipe(settings: &Settings, books: &BookLines) -> Recipe {
    let points = Points::configured(settings);
    let needs = points.as_ref().map(Points::needs).unwrap_or_default();
    let weights = settings.dominant_weights().unwrap_or_default();
    Recipe {
        metric: settings.target_metric.to_ascii_lowercase(),
        halflife: needs.own_halflife,
        windows: needs.windows.then(|| settings.target_windows()),
        tres: weights.into_iter().map(|(name, _)| name).collect(),
        books: books.names().to_vec(),
        steps: needs.targets && points.is_some_and(|points| points.kept_steps().is_some()),
    }
}
