//! Any bytes as a snapshot, which may come from anywhere: a problem with its line, or a snapshot that is written and read again as it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multifactor2_snapshot::format::{read, write};

fuzz_target!(|input: &[u8]| {
    // Rows of a kind are as good as a whole file, so that mutations get somewhere.
    let opening = b"{\"format\":\"multifactor2-snapshot\",\"version\":1}\n".as_slice();
    let rows = input.split(|byte| *byte == b'\n').filter(|line| line.first() == Some(&b'[')).count();
    let end = format!("\n{{\"records\":{rows}}}\n").into_bytes();
    for file in [input.to_vec(), [opening, input, &end].concat()] {
        match read(file.as_slice()) {
            Ok(snapshot) => {
                let mut again = Vec::new();
                write(&snapshot, &mut again).expect("memory");
                let same = read(again.as_slice()).expect("what was written is read");
                assert!(same == snapshot, "not the same");
            }
            Err(problem) => assert!(problem.line > 0 && !problem.what.is_empty()),
        }
    }
});
