//! When one user overtakes another.

use multifactor2_core::books::BookAt;
use multifactor2_core::Node;

use super::course::Course;
use super::Others;
use crate::model::{Model, WholeTree};

/// In how many seconds the next job of the second has a higher fair-share factor than that of the first, if the second stops and all others keep
/// the usage that they have; `None` for never within [`super::HALF_LIVES`], or until all windows of now are gone.
pub fn turns(model: &Model<'_>, tree: WholeTree<'_>, first: Node, second: Node) -> Option<i64> {
    let book = BookAt::DEFAULT;
    let course = Course::new(model, &[second], (Others::KeepUsage, false), book);
    let has_turned = |after: i64| {
        let then = model.shares.with_usage(&model.config, tree, book, &course.usage(after));
        then.factor_of_next(second).zip(then.factor_of_next(first)).is_some_and(|(second, first)| second > first)
    };
    let mut before = 0;
    for after in course.times(course.horizon()) {
        if has_turned(after) {
            return Some(course.first_in(before, after, has_turned));
        }
        before = after;
    }
    None
}
