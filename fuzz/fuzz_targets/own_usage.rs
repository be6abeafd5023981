//! Our own sums of usage: any text as their file, and what a restart, other settings and a cycle make of it.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use multifactor2_accounting::ended::Ended;
use multifactor2_accounting::raw_usage::Seen;
use multifactor2_accounting::sums::{Cycle, Model, Readings, Recipe};
use multifactor2_accounting::sums_file::{parse, text};
use multifactor2_accounting::tally::{counted, Charge, TallyPlace, Tally};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    text: &'a str,
    length: i64,
    depth: u16,
    now: i64,
    last_reset: i64,
    decay: u8,
    job: (u32, u32, i64, f64, f64, f64),
    associations: Vec<(u32, Option<u32>, f64)>,
}

fn all_are_numbers(readings: &Readings) {
    let Readings { associations, of_tree, qos, groups, partitions, all, capacity } = readings;
    let maps = associations.values().chain(qos.values()).chain(groups.values()).chain(partitions.values());
    for amount in maps.chain([of_tree, all, capacity]) {
        assert!(amount.is_finite() && *amount >= 0.0, "{amount}");
    }
}

fuzz_target!(|input: Input| {
    // A line of the file is as good as the whole, so that mutations get somewhere.
    let whole = format!(
        "multifactor2_usage 3\nsince 1000 0\nrecipe cpu yes 100 4 10\ntres mem gres/gpu\nbooks a b\nremoved c mem 0.9\nall 1 2\ncapacity 3\n{}\nend\n",
        input.text
    );
    for given in [input.text, &whole] {
        let Ok((mut sums, mut ended)) = parse(given) else { continue };
        let written = text(&sums, &ended);
        let (again, jobs) = parse(&written).expect("what was written is read");
        assert_eq!(text(&again, &jobs), written);
        let recipe = Recipe {
            metric: sums.recipe().metric.clone(),
            halflife: true,
            windows: Some((input.length, input.depth.into())),
            tres: vec!["cpu".to_owned(), "mem".to_owned()],
            books: vec!["b".to_owned(), "c".to_owned()],
            steps: input.depth % 2 == 0,
        };
        sums.follow(&recipe, &mut ended);
        let (job, association, start, run, rate, decayed) = input.job;
        let charge = Charge { start, run, rate, decayed }.finite();
        let columns = [rate, decayed, 0.0, run].map(counted).to_vec();
        ended.push(Ended { job, charge, columns, association: Some(association), ..Ended::default() });
        let mut tally = Tally::default();
        tally.begin(sums.windows_at(input.now), sums.width());
        tally.add(TallyPlace::CAPACITY, &charge, true);
        tally.add_columns(TallyPlace::CAPACITY, 1, &[run, start as f64]);
        let now: Vec<Seen> =
            input.associations.iter().map(|&(id, parent, raw)| Seen { id, parent, raw }).collect();
        sums.reset_as_slurmctld(&now, &[], &mut ended);
        let decay = f64::from(input.decay) / 255.0;
        sums.settle(Cycle { now: input.now, decay, last_reset: input.last_reset, tally: &tally }, &mut ended);
        sums.survey(&now, true);
        sums.remember(&now, &[]);
        for model in [Model::HalfLife, Model::Windows { decay }] {
            all_are_numbers(&sums.readings(model));
        }
        let written = text(&sums, &ended);
        if (0..253_402_300_800).contains(&sums.since()) && (0..253_402_300_800).contains(&input.last_reset) {
            let (again, jobs) = parse(&written).unwrap_or_else(|problem| panic!("{problem}: {written}"));
            assert_eq!(text(&again, &jobs), written);
        }
    }
});
