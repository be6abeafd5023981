//! `make figures`: the pictures and tables of the documentation that show what policies do in the long run, and who can game them. All of
//! them are replays of synthetic workloads with the plugin's engine, and give the same bytes every time.
//!
//! `--quick` uses [`gaming::FILE`] as it is, because computing it takes minutes.

mod gaming;
mod pages;
mod picture;
mod settles;
mod table;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let quick = std::env::args().any(|argument| argument == "--quick");
    let read = |file: &str| fs::read_to_string(top.join(file));
    let made = || -> std::io::Result<Vec<(&'static str, String)>> {
        let gains = if quick { read(gaming::FILE)? } else { gaming::compute() };
        let rows = settles::rows();
        let mut files = vec![(gaming::FILE, gains.clone()), (picture::FILE, picture::draw(&rows))];
        let blocks = pages::blocks(&rows, &gains);
        for page in pages::PAGES {
            let mut text = read(page)?;
            for (_, name, table) in blocks.iter().filter(|(of, ..)| *of == page) {
                text = table::with_block(&text, name, table);
            }
            files.push((page, text));
        }
        Ok(files)
    };
    let write = |(file, text): &(&'static str, String)| {
        let is_new = read(file).ok().as_ref() != Some(text);
        println!("{file}: {}", if is_new { "written" } else { "as it was" });
        if is_new {
            fs::write(top.join(file), text)
        } else {
            Ok(())
        }
    };
    match made().and_then(|files| files.iter().try_for_each(write)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("make figures: {error}");
            ExitCode::FAILURE
        }
    }
}
