//! What sums of usage take from the heap. Apart from the other tests, because it brings a counting allocator.

use allocation_counter::measure;
use multifactor2_accounting::sums::{Recipe, Sums};
use multifactor2_accounting::tally::{Charge, Tally, TallyPlace};

/// As at the first start with short windows, when jobs have run through all of them; slurmctld waits.
#[test]
fn charges_in_many_windows_take_as_much_as_the_sums_and_not_as_the_jobs() {
    const DEPTH: usize = 1000;
    let windows = Some((60, DEPTH));
    let sums = Sums::new(
        Recipe { metric: "cpu".to_owned(), halflife: true, windows, ..Recipe::default() },
        100_000,
        0,
    );
    let mut tally = Tally::default();
    tally.begin(sums.windows_at(100_000), sums.width());
    let memory = measure(|| {
        for job in 0..1000_i32 {
            let run = 60_000.0 - f64::from(job);
            let charge = Charge { start: 40_000 + i64::from(job), run, rate: 1.0, decayed: run };
            tally.add(TallyPlace::ALL, &charge, true);
        }
    });
    assert!(memory.bytes_max < 100 * DEPTH as u64, "{} bytes", memory.bytes_max);
}
