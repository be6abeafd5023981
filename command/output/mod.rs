//! How answers are shown: text, tables, JSON, pages.

pub mod escape;
pub mod html;
pub mod numbers;
pub mod page;
mod printout;
pub mod schema;
pub mod show;
pub mod table;

pub use page::{Page, Terminal};
pub use printout::Printout;
pub use schema::Schema;
pub use show::Show;
pub use table::{Described, Form, Table};
