//! The command: its model against the documented example and the engine, its answers, and how it shows them.

mod answers;
mod as_shown;
mod books;
mod browser;
mod example;
mod figures;
mod forecast;
mod hostile;
mod live;
mod made;
mod model;
mod options;
mod order;
mod outputs;
mod pages;
mod progress;
mod random;
mod recorded;
mod replay;
mod short;
mod shown;
mod site;
mod unknown;
mod versions;
mod what_if;
mod written;
