//! Sums of usage of our own against their definitions, through their files, and the rows of settings in docs/coming-from.md.

mod books;
mod dominant;
mod kept_settings;
mod rows_page;
mod sums;
mod sums_size;
