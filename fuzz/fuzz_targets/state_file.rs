//! State file: any bytes, and the cycle that a restarted slurmctld goes on from.
#![no_main]

use std::path::Path;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use priority_multifactor2::plugin::state_file::{parse, Saved};
use priority_multifactor2::plugin::times::History;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    saved: Option<i64>,
    now: i64,
    bytes: &'a [u8],
}

fuzz_target!(|input: Input| {
    match parse(Path::new("fuzz"), input.bytes) {
        Saved::None => assert!(input.bytes.is_empty()),
        Saved::Damaged(times, damage) => {
            assert!(times.last_ran >= 0 && times.last_reset >= 0);
            assert!(damage.to_string().contains("-i"));
        }
        Saved::Complete(entries) => {
            assert!(entries.len() * 16 <= input.bytes.len());
            let newest = entries[0];
            let history = History::new(entries.clone());
            let found = history.resume(input.saved, input.now).expect("there is one");
            assert!(entries.contains(&found) && found.last_ran <= newest.last_ran);
            // A cycle that may be in the saved usage is never gone behind.
            if let Some(saved) = input.saved.filter(|saved| newest.last_ran <= *saved) {
                assert_eq!(found, newest, "{saved}");
            }
        }
    }
});
