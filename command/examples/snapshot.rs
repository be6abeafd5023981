//! Writes a snapshot to standard output, to try and to measure the command with: the documented example, or a random cluster if the numbers
//! of associations and waiting jobs are given.

#[path = "../../tests/command/site.rs"]
mod site;

use std::io::{self, BufWriter, Write};

use multifactor2_snapshot::format;

fn main() -> io::Result<()> {
    let numbers: Vec<u32> = std::env::args().skip(1).filter_map(|number| number.parse().ok()).collect();
    let snapshot = match numbers.as_slice() {
        [associations, jobs] => site::random(site::Size { associations: *associations, jobs: *jobs }, 1),
        _ => site::example(),
    };
    let mut out = BufWriter::new(io::stdout().lock());
    format::write(&snapshot, &mut out)?;
    out.flush()
}
