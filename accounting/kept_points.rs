//! Saves what points need from one slurmctld to the next, as text: how often jobs were overtaken (BYPASS), and how well users' time limits
//! fit (`WCAccuracy`).
//!
//! | line | what |
//! |---|---|
//! | `multifactor2_points 1` | the first: the version of the format |
//! | `until TIME` | up to when starts are counted |
//! | `bypass JOB SUBMITTED COUNT` | a job that was overtaken |
//! | `accuracy USER AT USED REQUESTED` | seconds, as of a time |
//! | `end` | the last, without which the file is not whole |
//!
//! Names are written as in [`escaped`].

use std::fmt::Write as _;

use multifactor2_core::rules::lines_of_file::{between, escaped, not_ours, unescaped, LAST};
use multifactor2_core::seldom;

use super::accuracy::{Accuracies, Accuracy};
use super::bypass::Overtaken;

const FIRST: &str = "multifactor2_points ";
const VERSION: u32 = 1;

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptPoints {
    /// How often jobs were overtaken.
    pub overtaken: Overtaken,
    /// How well time limits fit.
    pub accuracies: Accuracies,
}

impl KeptPoints {
    /// What the file holds.
    pub fn text(&self) -> String {
        let mut text = format!("{FIRST}{VERSION}\n");
        if let Some(until) = self.overtaken.until() {
            let _ = writeln!(text, "until {until}");
        }
        let mut counts: Vec<_> = self.overtaken.counts().collect();
        seldom::sort_by(&mut counts, Ord::cmp);
        for (job, submit, count) in counts {
            let _ = writeln!(text, "bypass {job} {submit} {count}");
        }
        for (user, Accuracy { used, requested, at }) in self.accuracies.users() {
            let _ = writeln!(text, "accuracy {} {at} {used:?} {requested:?}", escaped(user));
        }
        text + LAST + "\n"
    }

    /// What a file holds.
    ///
    /// # Errors
    /// Why it cannot be used, as a phrase.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines = between(text, FIRST, VERSION..=VERSION)?;
        let (mut until, mut counts, mut users) = (None, Vec::new(), Vec::new());
        for (line, number) in lines {
            let mut read = || -> Option<()> {
                let words: Vec<&str> = line.split(' ').collect();
                match words[..] {
                    ["until", time] => until = Some(time.parse().ok()?),
                    ["bypass", job, submit, count] => {
                        counts.push((job.parse().ok()?, submit.parse().ok()?, count.parse().ok()?));
                    }
                    ["accuracy", name, at, ran, requested] => {
                        let seconds = |word: &str| {
                            word.parse::<f64>().ok().filter(|number| (0.0..1e300).contains(number))
                        };
                        let (used, requested) = (seconds(ran)?, seconds(requested).filter(|all| *all > 0.0)?);
                        users.push((unescaped(name)?, Accuracy { used, requested, at: at.parse().ok()? }));
                    }
                    _ => return None,
                }
                Some(())
            };
            read().ok_or_else(|| not_ours(number))?;
        }
        Ok(Self {
            overtaken: until.map_or_else(Overtaken::default, |until| Overtaken::kept(until, counts)),
            accuracies: Accuracies::kept(users),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut kept = KeptPoints {
            overtaken: Overtaken::kept(500, [(7, 100, 3), (2, 90, 1)]),
            accuracies: Accuracies::default(),
        };
        kept.accuracies.note("u t\nb%", (60.5, 3600.0), 480, 1.0);
        kept.accuracies.note("ann", (1.0 / 3.0, 60.0), 480, 1.0);
        let text = kept.text();
        assert_eq!(KeptPoints::parse(&text), Ok(kept), "{text}");
        assert_eq!(KeptPoints::parse(&KeptPoints::default().text()), Ok(KeptPoints::default()));
    }

    #[test]
    fn a_file_that_is_damaged_or_newer_is_refused() {
        for (text, why) in [
            ("", "first line"),
            ("multifactor2_points 2\nend\n", "newer"),
            ("multifactor2_points 1\nuntil 5\n", "end is missing"),
            ("multifactor2_points 1\nuntil 5\nend", "end is missing"),
            ("multifactor2_points 1\nbypass 1 2\nend\n", "line 2"),
            ("multifactor2_points 1\nuntil 5\naccuracy ann 5 1 0\nend\n", "line 3"),
            ("multifactor2_points 1\naccuracy ann 5 NaN 7\nend\n", "line 2"),
            ("multifactor2_points 1\naccuracy %f 5 1 7\nend\n", "line 2"),
        ] {
            let problem = KeptPoints::parse(text).unwrap_err();
            assert!(problem.contains(why), "{text:?}: {problem}");
        }
    }
}
