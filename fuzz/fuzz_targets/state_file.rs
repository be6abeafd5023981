//! State file: any bytes, and the cycle that a restarted slurmctld goes on from.
#![no_main]

use std::path::Path;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use priority_multifactor2::plugin::progress::history::{History, Times};
use priority_multifactor2::plugin::progress::saved_usage::SavedUsage;
use priority_multifactor2::plugin::progress::state_file::{bytes, parse, Rest, Saved};
use priority_multifactor2::plugin::progress::by_the_clock;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    saved: Option<(i64, u64, u64)>,
    now: i64,
    bytes: &'a [u8],
}

fn is_time(times: Times) -> bool {
    times.last_ran >= 0 && times.last_reset >= 0
}

fuzz_target!(|input: Input| {
    let saved = input.saved.map(|(at, size, hash)| SavedUsage { at, size, hash });
    match parse(Path::new("fuzz"), input.bytes) {
        Saved::None => assert!(input.bytes.is_empty()),
        Saved::Damaged(times, damage) => {
            assert!(is_time(times));
            assert!(damage.to_string().contains("expected"));
        }
        Saved::Complete(first, Rest::Before(before)) => {
            assert!((1 + before.len()) * 16 <= input.bytes.len());
            let found = by_the_clock(first, &before, saved, input.now);
            assert!(is_time(found) && (found == first || before.contains(&found)));
            // A cycle that may be in the saved usage is never gone behind.
            if saved.is_some_and(|saved| first.last_ran <= saved.at) {
                assert_eq!(found, first);
            }
        }
        Saved::Complete(first, Rest::History(history)) => {
            let found = history.included(saved);
            assert!(is_time(found) && [history.newest, history.base].contains(&found));
            // What would be written is read again, and what is charged next is in every later save and not in this one.
            let next = Times { last_ran: 1, last_reset: 1 };
            let after: History = history.after(next, saved);
            assert_eq!(after.included(saved), found);
            let other = Some(SavedUsage { hash: saved.map_or(0, |saved| !saved.hash), ..saved.unwrap_or_default() });
            assert_eq!(after.included(other), next);
            let Saved::Complete(again, Rest::History(read)) = parse(Path::new("fuzz"), &bytes(first, &after)) else {
                panic!("{after:?} is not read again")
            };
            assert_eq!((again, read), (first, after));
        }
    }
});
