//! Other times: windows roll at their borders, and `recover` finds when a factor is reached.

use multifactor2_command::answers::cost;
use multifactor2_command::answers::recover::{self, Asked, Others, Recover};
use multifactor2_command::model::{Model, Options};
use multifactor2_fixtures::assert_near;
use multifactor2_snapshot::records::Running;
use multifactor2_snapshot::Snapshot;

use super::{by_chance, golden, said, Windowed, DAY};
use crate::outputs::{answered, Sample};
use crate::site;

fn at(snapshot: &Snapshot, time: i64) -> Model<'_> {
    Model::of(snapshot, Options { at: Some(time), ..Options::default() })
}

fn ask(snapshot: &Snapshot, who: &str, to: f64, running_on: bool) -> Result<Recover, String> {
    recover::recover(
        &Model::of(snapshot, Options::default()),
        &Asked { who: Some(who.to_owned()), to, running_on },
    )
    .map_err(|error| error.to_string())
}

#[test]
fn at_another_time_windows_are_older() {
    let mut random = multifactor2_fixtures::random();
    for _ in 0..200 {
        let windowed = by_chance(&mut random);
        let snapshot = windowed.snapshot();
        let time = site::TIME + random.i64(0..windowed.length * (windowed.depth + 2));
        let model = at(&snapshot, time);
        assert!(model.shares.is_computed(), "{:?}", model.notes);
        let close = |found: f64, expected: f64, what: &str| {
            assert!(
                (found - expected).abs() < 1e-9,
                "{what}: {found}, not {expected}: {windowed:?} at {time}"
            );
        };
        close(model.standings[2].usage_norm, windowed.part(time), "U");
        let factors = windowed.factors(time);
        close(model.standings[2].factor.unwrap(), factors[0], "ann");
        close(model.standings[4].factor.unwrap(), factors[1], "ben");
    }
}

#[test]
fn what_is_not_told_is_not_known_in_the_next_window() {
    let border = (site::TIME.div_euclid(DAY) + 1) * DAY;
    let mut snapshot = golden().snapshot();
    snapshot.tree_windows[0].told = 2;
    snapshot.tree_windows.iter_mut().for_each(|row| row.amounts.truncate(2));
    let mut without = snapshot.clone();
    without.tree_windows.clear();
    for snapshot in [&snapshot, &without] {
        // In the same one it is as it was.
        let model = at(snapshot, border - 1);
        assert!(model.notes.is_empty() && model.shares.is_computed());
        assert_near(model.standings[2].usage_norm, 68.75 / 216.25, "U");
        let model = at(snapshot, border);
        assert!(model.notes.iter().any(|note| note.contains("lacks the usage of each")), "{:?}", model.notes);
        assert!(!model.shares.is_computed());
        assert!(model.tree.in_windows(2).is_none());
        let cost = cost::of_options(&model, None, &"-A bio -p main -t 60".parse().unwrap(), "ben").unwrap();
        assert!(cost.remarks.iter().any(|remark| remark.starts_with("The usage of each window")), "{cost:?}");
        let later = Asked { who: Some("ben".to_owned()), to: 0.5, running_on: false };
        let error = recover::recover(&model, &later).unwrap_err().to_string();
        assert!(error.contains("lacks the usage of each"), "{error}");
        // When all of now are gone, nothing is left.
        let model = at(snapshot, border + 3 * DAY);
        assert!(model.notes.is_empty() && model.shares.is_computed());
        assert_near(model.standings[2].usage_norm, 0.0, "U");
        assert!(ask(snapshot, "ben", 0.5, false).unwrap_err().contains("lacks the usage of each"));
        let users = said(&Sample::new(snapshot).ask(&["why", "--user", "ann", "ben"]).out);
        assert!(users.contains("When this changes is not known: shares use windows"), "{users}");
    }
    // Two that are told and two that begin are all.
    let model = at(&snapshot, border + DAY);
    assert!(model.shares.is_computed());
    assert_near(model.standings[2].usage_norm, golden().part(border + DAY), "U");
}

/// The first calculation at which a factor is at least so much: each is looked at.
fn first(until: i64, is_reached: impl Fn(i64) -> bool) -> Option<i64> {
    (0..=until / 300).map(|step| step * 300).find(|after| is_reached(site::TIME + after))
}

#[test]
fn a_factor_recovers_when_windows_begin() {
    let (windowed, mut snapshot) = (golden(), golden().snapshot());
    let border = |number: i64| (site::TIME.div_euclid(DAY) + number) * DAY;
    let stops = |answer: &Recover| answer.accounts[0].courses[0].clone();
    let answer = ask(&snapshot, "ben", 0.8, false).unwrap();
    assert_near(answer.accounts[0].factor, 68.75 / (216.25 - 68.75), "now");
    // 68.75 of ann become 31.25, 15 and 7.5, and 147.5 of ben 67.5, 28.125 and 6.25.
    let course = stops(&answer);
    assert_eq!((course.others, course.reached), (Others::Stop, Some(border(3) - site::TIME)), "{course:?}");
    let points: Vec<(i64, f64)> = course.points.iter().map(|point| (point.after, point.factor)).collect();
    for (number, (after, factor)) in (0..).zip(&points) {
        let time = if number == 0 { site::TIME } else { border(number) };
        assert_eq!(site::TIME + after, time);
        assert!((factor - windowed.factors(time)[1]).abs() < 1e-9, "{points:?}");
    }
    let windows = answer.windows.unwrap();
    assert_eq!((windows.length, windows.depth, windows.next), (DAY, 4, border(1)));
    // If ann keeps what she has, what ben has must fall to hers over 0.8: 67.5 is enough.
    let keeps = answer.accounts[0].courses[1].clone();
    assert_eq!((keeps.others, keeps.reached), (Others::KeepUsage, Some(border(1) - site::TIME)), "{keeps:?}");
    assert!(answer.remarks[0].starts_with(
        "Shares use the usage in 4 windows of 1-00:00:00 (TreeUsage=window), each weighted 0.5"
    ));
    assert!(!answer.remarks.iter().any(|remark| remark.contains("HalfLife")), "{:?}", answer.remarks);
    // slurmctld calculates a while after the border.
    snapshot.about.time += 100;
    let answer = ask(&snapshot, "ben", 0.8, false).unwrap();
    assert_eq!(stops(&answer).reached, Some(border(3) + 100 - snapshot.about.time));
    // Without half-life it is the same.
    snapshot.parameters.insert("PriorityDecayHalfLife".to_owned(), "00:00:00".to_owned());
    assert_eq!(ask(&snapshot, "ben", 0.8, false).unwrap().accounts, answer.accounts);
    let shown = Sample::new(&snapshot).ask(&["recover", "ben", "--to", "0.8"]);
    assert!(answered(&shown) && !shown.out.contains("DecayHalfLife"), "{}", shown.out);
    let users = said(&Sample::new(&golden().snapshot()).ask(&["why", "--user", "ann", "ben"]).out);
    assert!(users.contains("This changes in") && !users.contains("half-li"), "{users}");
}

#[test]
fn recovery_is_where_counting_each_calculation_finds_it() {
    let mut random = multifactor2_fixtures::random();
    let mut found = 0;
    for _ in 0..60 {
        let windowed = by_chance(&mut random);
        let mut snapshot = windowed.snapshot();
        let to = 0.05 + 0.95 * random.f64();
        let until = windowed.length * (windowed.depth + 1);
        let answer = ask(&snapshot, "ben", to, false).unwrap();
        let reached = first(until, |time| windowed.factors(time)[1] >= to - 1e-12);
        assert_eq!(answer.accounts[0].courses[0].reached, reached, "{to} {windowed:?} {answer:#?}");
        // Ann keeps what she has.
        let [ann, _] = windowed.counts(site::TIME);
        let keeps = first(until, |time| {
            let [_, ben] = windowed.counts(time);
            let of =
                |usage: f64| 1.0 / if ann + ben > 0.0 { (usage / (ann + ben)).max(0.005) } else { 0.005 };
            of(ben) / of(ben).max(of(ann)) >= to - 1e-12
        });
        assert_eq!(answer.accounts[0].courses[1].reached, keeps, "{to} {windowed:?} {answer:#?}");
        found += usize::from(reached.is_some_and(|after| after > 0));
        // Ann runs on.
        let running = Running {
            association: 3,
            qos: "normal".to_owned(),
            count: 1,
            billing: 20.0,
            ..Running::default()
        };
        snapshot.running.push(running);
        let answer = ask(&snapshot, "ben", to, false).unwrap();
        let course = answer.accounts[0].courses.iter().find(|course| course.others == Others::RunOn).unwrap();
        for point in &course.points {
            let then = runs_on(&windowed, site::TIME + point.after);
            assert!((point.factor - then).abs() < 1e-9, "{point:?}, not {then}: {windowed:?}");
        }
        let reached = first(until, |time| runs_on(&windowed, time) >= to);
        let late = |after: Option<i64>| after.unwrap_or(i64::MAX);
        // As exact as half a minute and a calculation. It is looked until all windows of now are gone.
        let difference = late(course.reached).abs_diff(late(reached));
        let is_beyond = course.reached.is_none()
            && reached.is_some_and(|after| after >= windowed.length * windowed.depth);
        assert!(difference <= 330 || is_beyond, "{:?} {reached:?} {to} {windowed:?}", course.reached);
    }
    assert!(found > 10, "{found}");
}

/// The factor of ben where ann has run on with 20 in each second, from the time of the snapshot.
fn runs_on(windowed: &Windowed, time: i64) -> f64 {
    let mut more = windowed.clone();
    let mut begin = site::TIME;
    while begin < time {
        let number = begin.div_euclid(windowed.length);
        let end = ((number + 1) * windowed.length).min(time);
        more.users[0].push((number, 20.0 * (end - begin) as f64));
        begin = end;
    }
    more.factors(time)[1]
}

/// Ben runs on, too, and uses twice of what ann does.
#[test]
fn who_runs_on_may_never_reach_it() {
    let mut snapshot = golden().snapshot();
    for (association, billing) in [(3, 10.0), (5, 20.0)] {
        let qos = "normal".to_owned();
        snapshot.running.push(Running { association, qos, count: 1, billing, ..Running::default() });
    }
    let answer = ask(&snapshot, "ben", 0.9, true).unwrap();
    let course = answer.accounts[0].courses.iter().find(|course| course.others == Others::RunOn).unwrap();
    assert_eq!(course.reached, None, "{course:?}");
    assert!(course.sentence.contains("does not reach 0.9 within"), "{course:?}");
    // What is older than four windows is gone.
    assert!((course.points.last().unwrap().factor - 0.5).abs() < 1e-9, "{course:?}");
}

#[test]
fn a_reset_empties_the_windows() {
    let mut snapshot = golden().snapshot();
    snapshot.parameters.insert("PriorityUsageResetPeriod".to_owned(), "DAILY".to_owned());
    let answer = ask(&snapshot, "ben", 1.0, false).unwrap();
    let course = &answer.accounts[0].courses[0];
    assert!(course.by_reset && course.reached == Some(answer.reset.unwrap().at - site::TIME), "{course:?}");
    // Nobody has used anything.
    let idle = Windowed::new(DAY, 4, 0.5, [&[], &[]]);
    let answer = ask(&idle.snapshot(), "ben", 0.5, false).unwrap();
    assert_eq!(answer.accounts[0].courses[0].reached, Some(0));
}
