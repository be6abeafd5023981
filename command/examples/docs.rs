//! Writes the generated parts of docs/command.md.

use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (path, text) = multifactor2_command::made::page_of_questions(&root)?;
    fs::write(root.join(path), text)
}
