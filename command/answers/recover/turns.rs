//! When one user comes before another.

use multifactor2_core::books::BookAt;
use multifactor2_core::Node;

use super::course::Course;
use super::{first_in, steps, Others, HALF_LIVES};
use crate::model::{Model, WholeTree};

/// In how many seconds the next job of the second has a higher fair-share factor than that of the first, if the second stops and all others keep
/// the usage that they have; `None` for never within [`HALF_LIVES`].
pub fn turns(model: &Model<'_>, tree: WholeTree<'_>, first: Node, second: Node) -> Option<i64> {
    let book = BookAt::DEFAULT;
    let course = Course::new(model, &[second], (Others::KeepUsage, false), book);
    let has_turned = |after: i64| {
        let then = model.shares.with_usage(&model.config, tree, book, &course.usage(after));
        then.factor_of_next(second).zip(then.factor_of_next(first)).is_some_and(|(second, first)| second > first)
    };
    let end = i64::from(model.config.half_life).saturating_mul(HALF_LIVES);
    let mut before = 0;
    for after in steps(end) {
        if has_turned(after) {
            return Some(first_in(before, after, has_turned));
        }
        before = after;
    }
    None
}
