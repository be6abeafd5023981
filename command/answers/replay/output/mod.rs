//! Shows a replay: as tables on a terminal, and as a page.

mod page;
mod summary;
mod text;

pub use page::page;
pub use text::text;
