//! `make docs`: rewrites the generated parts of the documentation, from the table of settings and from docs/messages.md.

mod render;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match render::pages(&top) {
        Ok(pages) => {
            for (path, before, after) in pages {
                let changed = before != after;
                if let (true, Err(error)) = (changed, std::fs::write(top.join(path), after)) {
                    eprintln!("{path}: {error}");
                    return ExitCode::FAILURE;
                }
                println!("{path}: {}", if changed { "written" } else { "as it was" });
            }
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}
