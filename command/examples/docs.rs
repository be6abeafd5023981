//! Writes what is made from the command: schemas, manual pages, completions.

use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (path, text) in multifactor2_command::made::files(&root)? {
        let path = root.join(path);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}
