//! Reads and writes lengths of time. Slurm writes them in one way and reads them in three, which disagree about a bare number and about
//! words.
//!
//! | grammar | where | bare number | words |
//! |---|---|---|---|
//! | [`Grammar::Conf`] | slurm.conf: `PriorityMaxAge`, `PriorityDecayHalfLife`, `PriorityCalcPeriod`, `MaxTime=` of a partition; options such as `--time`; a `TimelimitRaw` of sacct that is no limit below | minutes | `UNLIMITED`, `INFINITE` |
//! | [`Grammar::Clock`] | what Slurm prints of a time that always is one: these parameters in `scontrol show config` | an error | none |
//! | [`Grammar::Limit`] | what Slurm prints of a limit: `squeue %l`, `Timelimit` of sacct, `MaxTime` and `DefaultTime` of `scontrol show partition` | an error | `UNLIMITED`, `INFINITE`, `Partition_Limit`, `NONE`, `INVALID`, `NOT_SET`, `N/A`, nothing |
//!
//! Sources: `time_str2secs`, `secs2time_str` and `mins2time_str` in Slurm's `src/common/parse_time.c`.

use multifactor2_core::settings::value::{Kind, Value};

/// A length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// This number of seconds.
    Seconds(u64),
    /// Without end.
    Unlimited,
    /// None is set here: another limit counts, or none is known.
    NotSet,
}

impl Length {
    /// Its seconds, where it has an end.
    pub fn seconds(self) -> Option<u64> {
        match self {
            Self::Seconds(seconds) => Some(seconds),
            Self::Unlimited | Self::NotSet => None,
        }
    }

    /// Its minutes, rounded up as Slurm does, where it has an end.
    pub fn minutes(self) -> Option<u32> {
        u32::try_from(self.seconds()?.div_ceil(60)).ok()
    }
}

/// How a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// As slurm.conf has it.
    Conf,
    /// As Slurm prints a time.
    Clock,
    /// As Slurm prints a limit.
    Limit,
}

impl Grammar {
    /// A text without blanks around it; `None` for one that the grammar does not have.
    pub fn read(self, text: &str) -> Option<Length> {
        let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        match self {
            Self::Conf | Self::Limit if is(&["UNLIMITED", "INFINITE"]) => Some(Length::Unlimited),
            Self::Limit if is(&["", "Partition_Limit", "NONE", "INVALID", "NOT_SET", "N/A", "(null)"]) => {
                Some(Length::NotSet)
            }
            // Whatever Slurm prints has minutes and seconds.
            Self::Clock | Self::Limit if !text.contains(':') => None,
            _ => match Kind::Duration.read(text)? {
                Value::Duration(seconds) => Some(Length::Seconds(seconds)),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Grammar::{Clock, Conf, Limit};
    use super::Length::{NotSet, Seconds, Unlimited};
    use super::*;

    /// A row for each text on which the grammars differ, and some on which they agree.
    #[test]
    fn three_grammars() {
        let rows = [
            ("10", Some(Seconds(600)), None, None),
            ("1-12", Some(Seconds(129_600)), None, None),
            ("10:30", Some(Seconds(630)), Some(Seconds(630)), Some(Seconds(630))),
            ("1:00:00", Some(Seconds(3600)), Some(Seconds(3600)), Some(Seconds(3600))),
            ("2-00:00:01", Some(Seconds(172_801)), Some(Seconds(172_801)), Some(Seconds(172_801))),
            ("UNLIMITED", Some(Unlimited), None, Some(Unlimited)),
            ("infinite", Some(Unlimited), None, Some(Unlimited)),
            ("Partition_Limit", None, None, Some(NotSet)),
            ("INVALID", None, None, Some(NotSet)),
            ("NONE", None, None, Some(NotSet)),
            ("N/A", None, None, Some(NotSet)),
            ("", None, None, Some(NotSet)),
            ("1:2:3:4", None, None, None),
            ("-5:00", None, None, None),
            ("99999999999999999999-00:00:00", None, None, None),
        ];
        for (text, conf, clock, limit) in rows {
            assert_eq!((Conf.read(text), Clock.read(text), Limit.read(text)), (conf, clock, limit), "{text}");
        }
    }

    /// What 20.11 and 26.05 printed: `scontrol show config`, `scontrol show partition`, `squeue %l`, sacct's `Timelimit`.
    #[test]
    fn what_slurm_printed() {
        for text in ["7-00:00:00", "00:05:00", "00:00:01"] {
            assert!(Clock.read(text).is_some(), "{text}");
        }
        for text in ["UNLIMITED", "NONE", "1:00:00", "30:00", "1-00:00:00", "0:30", "Partition_Limit"] {
            assert!(Limit.read(text).is_some(), "{text}");
        }
    }

    #[test]
    fn minutes_are_rounded_up() {
        let minutes = |text| Limit.read(text).and_then(Length::minutes);
        assert_eq!(["00:05", "10:00", "1-02:04:00"].map(minutes), [Some(1), Some(10), Some(1564)]);
        assert_eq!(["UNLIMITED", "NONE"].map(minutes), [None; 2]);
    }
}
