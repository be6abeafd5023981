//! How answers are shown: text, tables, JSON, pages.

pub mod escape;
pub mod html;
pub mod numbers;
pub mod page;
pub mod show;
pub mod table;

pub use page::{Page, Terminal};
pub use show::Show;
pub use table::{Form, Table};
