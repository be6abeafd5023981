//! The local clock of slurmctld's C library and the one of the command are the same: how far both are ahead of UTC, and when days, months and quarters
//! begin, in zones that change clocks at midnight, by half an hour, to the south of the equator, or that have left out a day.

use std::fmt::Write as _;

use multifactor2_core::calendar::Calendar;
use multifactor2_core::rules::grants::{Pace, Periods};
use multifactor2_core::settings::value::Date;
use priority_multifactor2::host::clock::LocalCalendar;
use slurm_text::dates::{TimeZone, Zone};

const ZONES: [&str; 10] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "America/Havana",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Asia/Beirut",
];

/// The zone that a child process is asked about.
const ASKED: &str = "MULTIFACTOR2_TEST_ZONE";

/// Moments from 2005 to 2037, each hour of the days in which clocks may change, and one in other weeks.
fn moments() -> impl Iterator<Item = i64> {
    (1_104_537_600..2_145_916_800).step_by(3 * 3600 + 17)
}

fn text(calendar: &impl Calendar) -> String {
    let mut text = String::new();
    for at in moments() {
        let offset = calendar.offset(at).expect("a time of our days");
        let day = calendar.day(at).expect("a day");
        writeln!(text, "{at} {offset} {}-{}-{} {}", day.year, day.month, day.day, day.weekday).unwrap();
    }
    let date = |year: u16, month: u8, day: u8| Date { year, month, day, hour: 0, minute: 0, second: 0 };
    let ahead = |at: i64| calendar.offset(at).unwrap_or_default();
    for pace in [Pace::Month, Pace::Quarter, Pace::Days(1)] {
        let periods = Periods::new(date(2009, 1, 15), date(2030, 12, 31), pace, &ahead).expect("periods");
        writeln!(text, "{pace:?} {:?}", periods.borders()).unwrap();
    }
    text
}

/// What a child process prints, which runs in the zone.
#[test]
fn asked_of_the_c_library() {
    if std::env::var_os(ASKED).is_some() {
        println!("BEGIN\n{}END", text(&LocalCalendar));
    }
}

#[test]
fn the_c_library_and_the_command_have_one_calendar() {
    for name in ZONES {
        let zone = TimeZone::get(name).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "zones::asked_of_the_c_library"])
            .env("TZ", name)
            .env(ASKED, "1")
            .output()
            .unwrap();
        let printed = String::from_utf8(child.stdout).unwrap();
        let asked = printed.split("BEGIN\n").nth(1).and_then(|rest| rest.split("END").next());
        let asked = asked.unwrap_or_else(|| panic!("{name}: {printed}"));
        let ours = text(&Zone(&zone));
        let differs = asked.lines().zip(ours.lines()).find(|(theirs, ours)| theirs != ours);
        assert_eq!(differs, None, "{name}");
        assert_eq!(asked.len(), ours.len(), "{name}");
    }
}
