//! The core against its documentation: the example, an independent model, the promised properties, input that no
//! administrator would write, the known defects of its ancestors, and settings.

mod ancestors;
mod books;
mod books_page;
mod charging_page;
mod closed;
mod coming_from_page;
mod distributions;
mod edges;
mod evaluator;
mod example;
mod grants;
mod grants_page;
mod points;
mod points_page;
mod policies_page;
mod pools;
mod priority;
mod promises;
mod properties;
mod random;
mod settings;
mod shapes;
mod stock;
mod ties;
mod tree_windows_page;
