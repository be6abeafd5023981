//! Books have what raw usage gets: all factors, and minimums, once. Here every job of alice's is in one of two books.

use std::fs;

use multifactor2_accounting::sums_file::parse;
use slurm_inproc::{state, Conf, Host, HostResult, Job};

use super::{begin, of, ALICE};
use crate::charges::{running, ASSOCIATIONS, LIMITS};
use crate::setup::NOW;

const SETTINGS: &str = "Book=one Partitions=batch\nBook=two Partitions=long,fast Shares=chemistry:3,*:1\n\
                        Charge=Account Name=physics Factor=0.5\n\
                        Charge=Partition Name=long Factor=4 Scope=limits\nMinimumCharge=10:00\n";

/// Jobs with their partitions, first and last seconds: between two cycles, across some, in the second of a cycle, and longer than the
/// minimum.
const JOBS: [(u32, &str, i64, i64); 10] = [
    (1, "batch", 10, 50),
    (2, "long", 20, 130),
    (3, "fast", 30, 200),
    (4, "batch", 100, 300),
    (5, "long", 150, 250),
    (6, "batch", 160, 900),
    (7, "fast", 0, 1150),
    (8, "long", 450, 450),
    (9, "batch", 400, 400),
    (10, "long", 500, 9000),
];

/// What alice has in each book.
fn in_books(host: &Host) -> [f64; 2] {
    let text =
        fs::read_to_string(host.directory().join("state/multifactor2_usage")).expect("the file is there");
    let sums = parse(&text).expect("it can be read").0;
    let of = |at: usize| sums.used(ALICE).get(at).copied().unwrap_or(0.0);
    [of(0), of(1)]
}

/// Cycles every hundred seconds, with jobs that start and end between them.
fn play(
    host: &mut Host,
    is_told: bool,
    mut check: impl FnMut(&mut Host, i64) -> HostResult<()>,
) -> HostResult<()> {
    host.init()?;
    for at in (50..=1300).step_by(50) {
        host.set_clock(NOW + at)?;
        for (id, partition, start, end) in JOBS {
            if start > at - 50 && start <= at || at == 50 && start == 0 {
                host.jobs(&[running(id).partitions([partition.to_owned()]).start_time(NOW + start)])?;
            }
            if end > at - 50 && end <= at {
                host.jobs(&[Job::new(id).state(state::COMPLETE).end_time(NOW + end)])?;
                if is_told {
                    host.job_end(id)?;
                }
            }
        }
        if at % 100 == 0 {
            host.cycle()?;
            check(host, at)?;
        }
    }
    Ok(())
}

#[test]
fn books_have_what_raw_usage_gets_with_and_without_reports_of_ends_and_decay() -> HostResult<()> {
    for (enforce, half_life) in [(LIMITS, 0), (ASSOCIATIONS, 0), (LIMITS, 3600), (ASSOCIATIONS, 3600_u32)] {
        let mut host = begin(SETTINGS, enforce)?;
        host.configure(&Conf::new().decay_half_life(half_life))?;
        play(&mut host, enforce == LIMITS, |host, at| {
            let (raw, books) = (of(host, ALICE)?.raw, in_books(host));
            let sum: f64 = books.iter().sum();
            assert!(
                (raw - sum).abs() <= 1e-9 * raw,
                "{enforce}, {half_life}, at {at}: {raw} of raw usage, {books:?}"
            );
            Ok(())
        })?;
        if half_life == 0 && enforce == LIMITS {
            // Half a second's price for each of four processors; four times that in `long`.
            let one = 2.0 * (600.0 + 600.0 + 740.0 + 600.0);
            let two = 2.0 * (600.0 + 1150.0) + 8.0 * (600.0 + 600.0 + 600.0 + 800.0);
            let found = in_books(&host);
            assert!(
                (found[0] - one).abs() < 1e-6 && (found[1] - two).abs() < 1e-6,
                "{found:?}, not {one}, {two}"
            );
        }
        host.quit()?;
    }
    Ok(())
}

/// As with `TRESBillingWeights=CPU=-1.0`: the file with what waits of a job that has ended, and with slurmctld's raw usage, is read by the
/// next process.
#[test]
fn less_than_nothing_counts_nothing_and_can_be_read_back() -> HostResult<()> {
    let mut host = begin(SETTINGS, LIMITS)?;
    host.init()?;
    host.jobs(&[running(1).partitions(["batch".to_owned()]).start_time(NOW).billable_tres(-4.0)])?;
    host.set_clock(NOW + 100)?;
    host.cycle()?;
    host.set_clock(NOW + 150)?;
    host.jobs(&[Job::new(1_u32).state(state::COMPLETE).end_time(NOW + 150)])?;
    host.job_end(1)?;
    assert!(
        host.dump_association(ALICE)?.usage_raw.to_f64() < 0.0,
        "slurmctld's own usage is less than nothing"
    );
    host.fini()?;
    assert_eq!(in_books(&host), [0.0; 2]);
    host.init()?;
    host.set_clock(NOW + 200)?;
    host.cycle()?;
    let log = host.quit()?;
    assert!(!log.contains("cannot use"), "{log}");
    Ok(())
}
