//! Which table belongs where in the documentation.

use crate::table::Table;
use crate::{gaming, settles};

/// Pages with tables.
pub const PAGES: [&str; 3] = ["docs/weights.md", "docs/replay.md", "docs/policies.md"];

/// Page, name of the block, and the table.
pub type Block = (&'static str, &'static str, Table);

/// All tables: `rows` are those of the picture, `gains` is the text of [`gaming::FILE`].
pub fn blocks(rows: &[settles::SettlingRow], gains: &str) -> Vec<Block> {
    let mut blocks = of_gains(gains);
    blocks.extend(of_shares(rows));
    blocks.push(("docs/weights.md", "units", settles::units(&settles::DILUTED)));
    blocks
}

/// Who gains.
pub fn of_gains(gains: &str) -> Vec<Block> {
    let rows = gaming::rows(gains);
    vec![
        ("docs/replay.md", "gains", gaming::gains(&rows)),
        ("docs/replay.md", "holes", gaming::holes(&rows)),
        ("docs/policies.md", "not covered", gaming::not_covered(&rows)),
    ]
}

/// What becomes of shares, but by unit of dilution.
pub fn of_shares(rows: &[settles::SettlingRow]) -> Vec<Block> {
    let page = "docs/weights.md";
    vec![
        (page, "squares", settles::squares()),
        (page, "users", settles::many_users()),
        (page, "distributions", settles::distributions(rows)),
        (page, "dilution", settles::dilution()),
        (page, "cases", settles::cases()),
    ]
}
