//! The ledger against seconds counted one by one: jobs that start, end, are resized and suspended at random times, cycles and restarts in between.

use std::collections::BTreeMap;

use multifactor2_core::rules::grants::ledger::{Cycle, Ledger, Mark, Piece, Tally};
use multifactor2_core::rules::grants::{Exact, Granted, Sequence, Sequences, Standings};
use multifactor2_core::settings::Settings;
use proptest::prelude::*;

/// Midnight of 2027-01-01 in UTC.
const FIRST: i64 = 1_798_761_600;
const DAY: i64 = 86_400;

fn sequences(lines: &str) -> Sequences {
    Sequences::of(&Settings::parse(lines, "f").unwrap_or_else(|errors| panic!("{errors}")).settings, |_| 0)
}

/// Two lines with a day between them.
const LINES: &str = "\
Grant=Account Name=a Amount=1000 From=2027-01-01 Until=2027-01-03 Pace=1days TimeZone=UTC
Grant=Account Name=a Amount=1000 From=2027-01-05 Until=2027-01-06 Pace=1days TimeZone=UTC Outside=none
";

/// A job: when it starts and ends, how much it has, and with how much it goes on from a time on.
#[derive(Clone, Debug)]
struct Run {
    start: i64,
    end: i64,
    rate: i128,
    resize: Option<(i64, i128)>,
}

prop_compose! {
    fn run()(start in 0..6 * DAY, length in 1..2 * DAY, rate in 1..50_i128, resized: bool, at in 0.0..1.0_f64, then in 1..50_i128) -> Run {
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // small
        let when = start + 1 + (at * (length - 1) as f64) as i64;
        Run { start, end: start + length, rate, resize: (resized && length > 2 && when < start + length).then_some((when, then)) }
    }
}

/// What happens at a time.
enum Event {
    Cycle,
    /// Stopped and started again; with `true` slurmctld has forgotten what came after the last cycle.
    Restart,
    Resize(usize),
    End(usize),
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    #[test]
    fn each_second_is_counted_once(
        runs in prop::collection::vec(run(), 1..8), cycles in prop::collection::vec(0..8 * DAY, 1..20), restarts in prop::collection::vec(0..8 * DAY, 0..4),
    ) {
        let sequences = sequences(LINES);
        let mut ledger = Ledger::new(1, FIRST);
        let mut slots = ledger.follow(&sequences, FIRST);
        let mut events: Vec<(i64, u8, Event)> = Vec::new();
        for (at, run) in runs.iter().enumerate() {
            events.extend(run.resize.map(|(when, _)| (when, 0, Event::Resize(at))));
            events.push((run.end, 0, Event::End(at)));
        }
        events.extend(cycles.iter().map(|at| (*at, 2, Event::Cycle)));
        events.extend(restarts.iter().map(|at| (*at, 1, Event::Restart)));
        events.push((9 * DAY, 2, Event::Cycle));
        events.sort_by_key(|(at, order, _)| (*at, *order));
        let key = sequences.all[0].key.text();
        let mut sizes: BTreeMap<usize, i128> = BTreeMap::new();
        for (at, _, event) in &events {
            let now = FIRST + at;
            let piece = |ledger: &Ledger, job: usize, rate: i128, is_resize| {
                let (id, started) = (u32::try_from(job).unwrap(), FIRST + runs[job].start);
                let mark = ledger.mark_of(id, started);
                let (start, run) = (mark.at, (now - mark.at).max(0));
                (Piece { job: id, started, start, run, is_resize, rates: vec![(key.clone(), rate)], is_restored: false }, (now, now - started))
            };
            match event {
                Event::Resize(job) => {
                    let (piece, until) = piece(&ledger, *job, runs[*job].rate, true);
                    ledger.end(piece, until);
                    sizes.insert(*job, runs[*job].resize.unwrap().1);
                }
                Event::End(job) => {
                    let rate = sizes.get(job).copied().unwrap_or(runs[*job].rate);
                    let (piece, until) = piece(&ledger, *job, rate, false);
                    ledger.end(piece, until);
                }
                Event::Restart => {
                    ledger = Ledger::parse(&ledger.text()).unwrap();
                    slots = ledger.follow(&sequences, FIRST);
                }
                Event::Cycle => {
                    let mut tally = Tally::new(1, ledger.since, now);
                    let mut marks = BTreeMap::new();
                    for (job, run) in runs.iter().enumerate().filter(|(_, run)| run.start <= *at && *at < run.end) {
                        let (id, started) = (u32::try_from(job).unwrap(), FIRST + run.start);
                        let mark = ledger.mark_of(id, started);
                        if ledger.marks.contains_key(&id) {
                            marks.insert(id, Mark { started, at: now, ran: now - started });
                        }
                        let rate = sizes.get(&job).copied().unwrap_or(run.rate);
                        tally.add(0, (mark.at, now - mark.at), rate);
                    }
                    let cycle = Cycle { now, tally: &tally, marks, sequences: &sequences, slots: &mut slots, offset: |_| 0 };
                    ledger.settle(cycle, |_| false);
                }
            }
        }
        // The same by the second.
        let mut expected = [0_i128; 7];
        for run in &runs {
            for second in run.start..run.end {
                let rate = run.resize.filter(|(at, _)| second >= *at).map_or(run.rate, |(_, rate)| rate);
                if let Some(day) = usize::try_from(second / DAY).ok().filter(|day| *day < 7) {
                    expected[day] += rate;
                }
            }
        }
        let lines = &sequences.all[0].lines;
        let used = |line: usize, period: usize| ledger.used(&lines[line]).get(period).copied().unwrap_or_default();
        prop_assert_eq!([used(0, 0), used(0, 1), used(0, 2)], [expected[0], expected[1], expected[2]]);
        prop_assert_eq!([used(1, 0), used(1, 1)], [expected[4], expected[5]]);
    }
}

/// Clocks that are set forward and back again within some days.
fn changing(at: i64) -> i64 {
    if (FIRST + DAY + 7200..FIRST + 4 * DAY + 3600).contains(&at) {
        3600
    } else {
        0
    }
}

proptest! {
    #![proptest_config(multifactor2_fixtures::seeded())]

    /// Period and day are remembered from cycle to cycle, and so is how grants stand: it is the same as where nothing is.
    #[test]
    fn what_is_remembered_between_cycles_changes_nothing(
        cycles in prop::collection::vec((1..DAY / 3, prop::collection::vec((0..3_u32, 0..DAY / 2, 0..40_i128), 0..5), any::<bool>()), 1..40),
    ) {
        let lines = "\
            Grant=Account Name=a Amount=100 From=2027-01-01 Until=2027-01-03 Pace=1days Borrow=0.5 Within=3\n\
            Grant=Account Name=a Amount=200 From=2027-01-05 Until=2027-01-10 Pace=2days Outside=none Within=5\n\
            Grant=Account Name=b Amount=300 From=2027-01-02 Until=2027-01-10 Pace=3days TimeZone=UTC Preset=rwth Used=20 UsedUntil=2027-01-03\n\
            Grant=Account Name=c Amount=50 From=2027-01-01 Until=2027-01-08 Pace=4days Preset=nesi Beyond=share\n";
        let settings = Settings::parse(lines, "f").unwrap_or_else(|errors| panic!("{errors}")).settings;
        let sequences = Sequences::of(&settings, changing);
        let names: Vec<String> = sequences.all.iter().map(|sequence| sequence.lines[0].ledger.clone()).collect();
        let mut ledger = Ledger::new(1, FIRST);
        let mut slots = ledger.follow(&sequences, FIRST);
        let mut standings = Standings::default();
        let mut now = FIRST;
        for (step, charges, corrects) in cycles {
            now += step;
            let mut tally = Tally::new(3, ledger.since, now);
            for (place, back, rate) in charges {
                let start = if back % 2 == 0 { ledger.since } else { now - back };
                tally.add(place, (start, now - start), rate);
            }
            let mut plain = ledger.clone();
            let mut anew = plain.follow(&sequences, FIRST);
            for (ledger, slots) in [(&mut ledger, &mut slots), (&mut plain, &mut anew)] {
                let (marks, offset) = (BTreeMap::new(), changing);
                ledger.settle(Cycle { now, tally: &tally, marks, sequences: &sequences, slots, offset }, |_| false);
                if corrects && step % 5 == 0 {
                    ledger.accounts.get_mut(&names[0]).unwrap().corrected = vec![Some(3600 * 40)];
                }
            }
            let found = standings.effects(&sequences, &mut slots, &mut ledger, now);
            prop_assert_eq!(found, Standings::default().effects(&sequences, &mut anew, &mut plain, now));
            prop_assert_eq!(ledger.text(), plain.text());
        }
    }
}

#[test]
fn what_a_line_says_of_earlier_times_counts_and_is_not_counted_twice() {
    let lines = "Grant=Account Name=a Amount=12 From=2027-01-01 Until=2027-01-03 Pace=1days TimeZone=UTC Used=3.5,1 UsedUntil=2027-01-02\n";
    let sequences = sequences(lines);
    let mut ledger = Ledger::new(1, FIRST);
    let mut slots = ledger.follow(&sequences, FIRST);
    // It ran from the evening before on: what was before the day is in the number of the line.
    let mut tally = Tally::default();
    tally.add(0, (FIRST + DAY - 100, 160), 2);
    let cycle = Cycle {
        now: FIRST + DAY + 60,
        tally: &tally,
        marks: BTreeMap::new(),
        sequences: &sequences,
        slots: &mut slots,
        offset: |_| 0,
    };
    ledger.settle(cycle, |_| false);
    assert_eq!(ledger.used(&sequences.all[0].lines[0]), [12_600, 3600 + 120]);
    // One number alone is that of the period before the day.
    let sequences =
        self::sequences(&lines.replace("Used=3.5,1 UsedUntil=2027-01-02", "Used=2 UsedUntil=2027-01-03"));
    assert_eq!(Ledger::new(1, FIRST).used(&sequences.all[0].lines[0]), [0, 7200]);
}

/// A job may end behind the time of a cycle, before that cycle counts: what is later counts in the next one.
#[test]
fn what_is_later_than_a_cycle_counts_in_the_next_one() {
    let sequences = sequences(LINES);
    let mut ledger = Ledger::new(1, FIRST);
    let mut slots = ledger.follow(&sequences, FIRST);
    let rates = vec![(sequences.all[0].key.text(), 2)];
    let piece =
        Piece { job: 1, started: FIRST, start: FIRST, run: 100, is_resize: false, rates, is_restored: false };
    ledger.end(piece, (FIRST + 100, 100));
    let mut used = |now: i64| {
        let (tally, marks) = (Tally::default(), BTreeMap::new());
        let cycle =
            Cycle { now, tally: &tally, marks, sequences: &sequences, slots: &mut slots, offset: |_| 0 };
        ledger.settle(cycle, |_| false);
        ledger.used(&sequences.all[0].lines[0])
    };
    assert_eq!([FIRST + 40, FIRST + 160, FIRST + 200].map(&mut used), [[80], [200], [200]]);
}

/// A grant is counted from when the ledger began. Where its line is taken out, it may come back within two periods after its end.
#[test]
fn a_grant_whose_line_was_taken_out_is_kept_for_two_periods_after_its_end() {
    let (with, without) = (sequences(LINES), sequences(""));
    let line = &with.all[0].lines[0];
    let mut before = Ledger::new(1, FIRST);
    let _ = before.follow(&with, FIRST + 50);
    assert_eq!(before.accounts.get(&line.ledger).unwrap().begun, FIRST);
    before.accounts.get_mut(&line.ledger).unwrap().used = vec![5];
    // Its days are the first three.
    for (at, used) in [(5 * DAY - 1, vec![5]), (5 * DAY, vec![])] {
        let mut ledger = before.clone();
        let _ = ledger.follow(&without, FIRST + at);
        let _ = ledger.follow(&with, FIRST + at);
        assert_eq!(ledger.used(line), used, "after {at} seconds");
    }
}

#[test]
fn standings_are_worked_out_anew_when_something_changes_and_only_then() {
    let lines = "Grant=Account Name=a Amount=3 From=2027-01-01 Until=2027-01-03 Pace=1days TimeZone=UTC Within=7 Borrow=1\n";
    let of = |more: &str| sequences(&format!("{lines}{more}"));
    let sequences = of("");
    let mut ledger = Ledger::new(1, FIRST);
    let mut slots = ledger.follow(&sequences, FIRST);
    let mut standings = Standings::default();
    let mut at = |ledger: &mut Ledger, sequences: &Sequences, now: i64| {
        standings.effects(sequences, &mut slots, ledger, now).granted([0], "main")
    };
    let within = Granted { points: 7.0, ..Granted::default() };
    let beyond = Granted { is_last: true, ..Granted::default() };
    assert_eq!(at(&mut ledger, &sequences, FIRST + 10), within);
    let ledger_of = sequences.all[0].lines[0].ledger.clone();
    for (used, expected) in [(7199, within), (7200, beyond)] {
        ledger.accounts.get_mut(&ledger_of).unwrap().used = vec![used];
        assert_eq!(at(&mut ledger, &sequences, FIRST + 20), expected, "{used}");
    }
    assert_eq!(ledger.accounts.get(&ledger_of).unwrap().changed, FIRST + 20);
    // The next day owes an hour, and may borrow one: nothing was used, and nothing may be.
    assert_eq!(at(&mut ledger, &sequences, FIRST + DAY), within);
    ledger.accounts.get_mut(&ledger_of).unwrap().used = vec![7200, 3600];
    assert_eq!(at(&mut ledger, &sequences, FIRST + DAY + 1), beyond);
    // What comes late to the day before counts.
    ledger.accounts.get_mut(&ledger_of).unwrap().used = vec![7200 - 60, 3600];
    assert_eq!(at(&mut ledger, &sequences, FIRST + DAY + 2), within);
    // An adjustment in the day.
    let adjusted = of("Adjust=Account Name=a Amount=-1 At=2027-01-02T12:00:00\n");
    let mut standings = Standings::default();
    let mut slots = ledger.follow(&adjusted, FIRST);
    let mut at = |now: i64| standings.effects(&adjusted, &mut slots, &mut ledger, now).granted([0], "main");
    assert_eq!(
        [at(FIRST + DAY + 3), at(FIRST + DAY + DAY / 2 - 1), at(FIRST + DAY + DAY / 2)],
        [within, within, beyond]
    );
    // Behind it.
    assert_eq!(at(FIRST + 3 * DAY), beyond);
}

/// Amounts, adjustments and what was used before are in the parts in which usage with factors is counted.
#[test]
fn a_grant_with_factors_stands_as_one_without() {
    for preset in ["jsc", "nhr", "rwth", "nesi"] {
        let of = |factors: &str| {
            let grant = format!(
                "Grant=Account Name=a Preset={preset} Amount=1200.5 From=2027-01-01 Until=2027-12-31"
            );
            let rest = "TimeZone=UTC Used=40,130.1 UsedUntil=2027-03-01";
            sequences(&format!("{grant} {rest}{factors}\nAdjust=Account Name=a Amount=-7 At=2027-02-03\n"))
        };
        let (plain, with) = (of(""), of(" Factors=yes"));
        let (plain, with) = (&plain.all[0], &with.all[0]);
        assert_eq!((plain.parts(), with.parts()), (1, 1_000_000));
        for (used, at) in [(0, 20), (360_000, 50), (7_000_000, 200), (1_234, 364)] {
            let at = FIRST + at * DAY;
            let standing = |sequence: &Sequence| {
                let line = &sequence.lines[0];
                let mut all = line.used_before.clone();
                all.resize(12, 0);
                all[2] += used * i128::from(sequence.parts());
                line.grant.standing(&all, at).unwrap()
            };
            let (plain, with) = (standing(plain), standing(with));
            let parts = Exact::from_integer(1_000_000.into());
            for (plain, with) in [
                (plain.granted, with.granted),
                (plain.carried, with.carried),
                (plain.balance, with.balance),
                (plain.limit, with.limit),
            ] {
                assert_eq!(plain * &parts, with, "{preset} at {at}");
            }
            assert_eq!(plain.is_within, with.is_within);
        }
    }
}

#[test]
fn a_second_is_rounded_to_a_millionth_and_never_less_than_nothing() {
    let line = "Grant=Account Name=a Amount=1 From=2027-01-01 Until=2027-12-31 Factors=yes\n";
    let with = sequences(line);
    let rate = |count, factor: f64| with.all[0].rate(count, || factor);
    assert_eq!(
        [rate(3, 1.0), rate(3, 0.1), rate(1, 1.0 / 3.0), rate(0, 2.0)],
        [3_000_000, 300_000, 333_333, 0]
    );
    assert_eq!([rate(1, 4e-7), rate(1, 6e-7), rate(1, -1.0), rate(1, f64::NAN)], [0, 1, 0, 0]);
    assert_eq!(rate(1 << 50, 1e300), 1 << 60);
    let plain = sequences(&line.replace(" Factors=yes", ""));
    assert_eq!(plain.all[0].rate(3, || unreachable!()), 3);
}
