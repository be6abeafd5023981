//! Draws docs/figures/kills.svg: on a time line, where the next start continues after a kill, according to the state file.
#![cfg(test)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use multifactor2_fixtures::{project, svg};

use super::history::Times;
use super::journal::Journal;
use super::state_file::{self, Rest, Saved};
use super::tests::at;

/// What happens before a kill.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    Announce(i64),
    /// What was announced.
    Charge(i64),
    /// By slurmctld.
    Save(i64),
}

use Step::{Announce, Charge, Save};

/// Two cycles, a save, and another cycle.
const BEFORE: [Step; 7] =
    [Announce(60), Charge(60), Announce(120), Charge(120), Save(150), Announce(180), Charge(180)];

/// What comes then, and when slurmctld is killed.
const ROWS: [(&str, &[Step], i64); 4] = [
    ("before the next calculation is announced", &[], 230),
    ("announced, not charged", &[Announce(240)], 243),
    ("charged, not saved", &[Announce(240), Charge(240)], 260),
    ("charged and saved", &[Announce(240), Charge(240), Save(270)], 285),
];

/// The time from which the next start charges, with the real state file; and that of the newest cycle in slurmctld's last save.
fn killed_after(directory: &Path, steps: impl Iterator<Item = Step>) -> (i64, i64) {
    let file = directory.join("priority_last_decay_ran");
    let mut journal = Journal::open(&file);
    journal.start(at(0), None, false);
    journal.catch_up();
    let (mut charged, mut saved) = (0, 0);
    for step in steps {
        match step {
            Announce(time) => {
                journal.prepare(at(time));
                journal.announce(at(time));
            }
            Charge(time) => {
                journal.charge();
                charged = time;
            }
            Save(time) => {
                let (new, usage) = (directory.join("assoc_usage.new"), directory.join("assoc_usage"));
                fs::write(&new, [vec![38, 0], time.to_be_bytes().to_vec()].concat()).unwrap();
                fs::rename(new, usage).unwrap();
                saved = charged;
            }
        }
    }
    let mut next = Journal::open(&file);
    let Saved::Complete(_, Rest::History(history)) = state_file::read(&file).unwrap() else {
        panic!("no state file of ours")
    };
    let Times { last_ran, .. } = history.included(next.watch.look().unwrap());
    (last_ran, saved)
}

#[test]
fn the_picture_of_kills_is_what_the_state_file_says() {
    let (mut drawn, mut words) = (String::new(), Vec::new());
    let x = |time: i64| 290 + 2 * time;
    for (y, (name, then, killed)) in (0..).step_by(44).zip(ROWS) {
        let steps = || BEFORE.iter().chain(then).copied();
        let directory = tempfile::tempdir().unwrap();
        let (resumes, saved) = killed_after(directory.path(), steps());
        assert_eq!(resumes, saved, "{name}: nothing twice, nothing lost");
        words.push(format!(
            "{name}: killed at {killed} s, the saved usage has all until {saved} s, the next start charges from there."
        ));
        let _ = writeln!(drawn, "<text x=\"10\" y=\"{}\">{name}</text>", y + 66);
        let _ = writeln!(
            drawn,
            "<rect class=\"d\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"14\"/><rect class=\"a\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"14\"/>",
            x(0), y + 54, 2 * saved, x(saved), y + 54, 2 * (killed - saved)
        );
        for step in steps() {
            let _ = match step {
                Charge(time) => writeln!(drawn, "<path class=\"idle\" d=\"M{} {}v22\"/>", x(time), y + 50),
                Save(time) => {
                    writeln!(drawn, "<text class=\"middle\" x=\"{}\" y=\"{}\">save</text>", x(time), y + 49)
                }
                Announce(_) => Ok(()),
            };
        }
        let _ =
            writeln!(drawn, "<text class=\"head\" x=\"{}\" y=\"{}\">killed</text>", x(killed) + 4, y + 66);
    }
    let key = "<text class=\"dim\" x=\"10\" y=\"22\">Blue: in slurmctld's saved usage. Orange: charged by the next start. \
               Dashed: a calculation, every 60 s.</text>\n";
    let title = "What a kill leaves in the saved usage, and what the next start charges";
    let picture = svg::begin(930, 230, title, &words.join(" ")) + key + &drawn + "</svg>\n";
    project::made("docs/figures/kills.svg", picture.as_bytes());
}
