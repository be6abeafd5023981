//! Which sums of our own the targets in force need.

use multifactor2_core::rules::sums::Recipe;
use multifactor2_core::settings::{Settings, TargetKind, TargetUsage};

/// `None` where slurmctld's own usage is enough: half-life usage of billing, by association and QOS.
pub fn recipe(settings: &Settings) -> Option<Recipe> {
    let by_windows = |window: Option<bool>| window.unwrap_or(settings.target_usage == TargetUsage::Window);
    let is_billing = settings.target_metric.eq_ignore_ascii_case("billing");
    let (mut halflife, mut windows) = (false, false);
    for target in &settings.targets {
        if target.kind == TargetKind::Parent {
            // Accounts without a line are measured, too.
            windows |= settings.target_usage == TargetUsage::Window;
            halflife |= !is_billing && settings.target_usage == TargetUsage::HalfLife;
        }
        if by_windows(target.window) {
            windows = true;
        } else {
            halflife |= !is_billing || matches!(target.kind, TargetKind::Group | TargetKind::Partition);
        }
    }
    let windows = windows.then(|| {
        let length = i64::try_from(settings.target_window.as_secs()).unwrap_or(i64::MAX);
        (length, usize::try_from(settings.target_depth).unwrap_or(1))
    });
    (halflife || windows.is_some()).then(|| Recipe {
        metric: settings.target_metric.to_ascii_lowercase(),
        halflife,
        windows,
    })
}
