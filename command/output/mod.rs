//! How answers are shown: text, tables, JSON, pages.

pub mod escape;
pub mod html;
pub mod numbers;
pub mod page;
pub mod replay;
pub mod table;
mod text;

pub use page::{Page, Terminal};
pub use table::{Form, Table};
pub use text::Show;
