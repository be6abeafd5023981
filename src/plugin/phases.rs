//! The phases of a cycle: their order, and which of Slurm's locks each may take. `Plugin::run_cycle` enters one after the other; a debug
//! build ends if a phase takes a lock that it does not list, or if the order is another ([`order`]). docs/cycle.md has
//! the same as a table, which a test compares and `make docs` writes.

use crate::host::order::{self, Level, PhaseLocks};

use Level::{None, Read, Write};

macro_rules! phases {
    ($($(#[doc = $why:literal])+ $Phase:ident ($($function:path),+), [$jobs:ident, $associations:ident, $qos:ident, $tres:ident];)+) => {
        /// A phase of a cycle.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Phase {
            $($(#[doc = $why])+ $Phase,)+
        }

        impl Phase {
            /// What it may take.
            fn locks(self) -> PhaseLocks {
                match self {
                    $(Self::$Phase => PhaseLocks {
                        phase: stringify!($Phase), jobs: $jobs, associations: $associations, qos: $qos, tres: $tres,
                    },)+
                }
            }

            /// All of them, in their order, with the functions that do them, and what happens.
            #[cfg(test)]
            const ALL: &'static [(Self, &'static [&'static str], &'static str)] =
                &[$((Self::$Phase, &[$(stringify!($function)),+], concat!($($why),+)),)+];
        }
    };
}

// What each may take of jobs (with nodes and partitions for reading), associations, QOS and TRES.
phases! {
    /// Self-checks of all associations and QOS and of jobs of every kind, once and again after a cycle that was
    /// left out
    Check(records_are_sound), [Read, Read, Read, None];

    /// Writes and syncs the state file of this cycle under a temporary name, so that nothing between reading and
    /// charging waits for the disk
    Prepare(Progress::prepare), [None, None, None, None];

    /// The site factor plugin, if there is one, may write job records
    SiteFactors(update_site_factors), [Write, None, None, None];

    /// Reads every job once: which ones wait, a `Draft` of each priority, the ids of running jobs. Above 100,000
    /// jobs it reads in chunks. With dominant shares it reads TRES first, separately
    Gather(gather_known, gather_list, Gathered::read), [Read, Read, Read, Read];

    /// Takes and releases the locks once, after which a save that was under way is over. Then, without a lock,
    /// replaces the state file, which names this cycle and the present `assoc_usage`
    Announce(Progress::announce), [None, Write, Write, Read];

    /// One hold of the locks, in which no call waits for a disk. If slurmctld has saved since the announcement
    /// (`Watch::is_unchanged`), releases the locks and announces again. Otherwise resets usage if that is due,
    /// decays it (all by one factor) and charges running jobs: finds them by id (`find_job_record`), reads 4096 of
    /// them once, then writes each association and QOS once, with the sums in registers and in the order of the
    /// jobs. A save of usage and the end of a job see all of this or nothing (*A restart*, below). Counts our own
    /// sums of usage in the same hold, if settings need them
    Charge(charge), [Write, Write, Write, Read];

    /// Replaces `multifactor2_usage` if there are sums of our own; `multifactor2_interrupted` if `Charge=Requeued`
    /// is in force and something has changed (reads jobs only to see which of the noted ones are gone); and
    /// `multifactor2_points`, with the counts of the cycle before, if lines count how often jobs are overtaken or
    /// how well time limits fit
    Save(OwnUsage::save, save_interrupted, save_points), [Read, None, None, None];

    /// Reads usage and shape of the tree and computes, each book separately. Usage is slurmctld's less that of
    /// books, or comes from our own sums (`OwnUsage::measures`), added up along the same tree. Points, if there are
    /// any, learn what is new and weigh targets by the usage that this cycle has left (`PointsQueue::learn`); only
    /// they need QOS. Tickets of single jobs are handed out without a lock
    Distribute(Standing::distribute), [None, Read, Read, None];

    /// Gives every job its points, if there are any
    Value(PointsQueue::value), [None, None, None, None];

    /// Writes what `sshare` shows, by id. Associations that came in between are left for the next cycle
    Publish(Standing::publish), [None, Write, None, None];

    /// Adds the factors of associations, in stock's order of addition, and finds out which priorities change
    Finish(Drafts::finish), [None, None, None, None];

    /// In chunks: finds jobs by id and writes only priorities that changed; more than that for jobs in several
    /// partitions or QOS or with a `UsageThreshold`. Reads TRES for their names if priorities are explained
    Write(write_priorities), [Write, Read, Read, Read];

    /// Warns of what is odd in the configuration, and of names in it that do not exist
    Look(advise, warn_of_unknown), [Read, Read, Read, None];

    /// If one is due, reads what the records hold, 10,000 jobs at a time. Another thread does the rest
    Snapshot(take_snapshot), [Read, Read, Read, Read];
}

/// A cycle on its way through the phases. Nothing of it is left in a release build.
#[derive(Debug)]
pub struct Phases {
    current: Phase,
}

impl Phases {
    /// A cycle begins.
    pub fn begin() -> Self {
        order::enter(Some(Phase::Check.locks()));
        Self { current: Phase::Check }
    }

    /// The next phase begins. Some are left out by some cycles; a cycle that slurmctld's save came in between is announced again.
    #[inline]
    pub fn enter(&mut self, next: Phase) {
        let again = (self.current, next) == (Phase::Charge, Phase::Announce);
        debug_assert!(next > self.current || again, "{next:?} after {:?}", self.current);
        self.current = next;
        order::enter(Some(next.locks()));
    }
}

impl Drop for Phases {
    fn drop(&mut self) {
        order::enter(Option::None);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use multifactor2_fixtures::{project, svg};

    use super::*;

    const BEGIN: &str = "<!-- begin phases: made by \"make docs\" from src/plugin/phases.rs -->\n";
    const END: &str = "<!-- end phases -->\n";

    fn in_words(locks: &PhaseLocks) -> String {
        let each = [
            ("jobs", locks.jobs),
            ("associations", locks.associations),
            ("QOS", locks.qos),
            ("TRES", locks.tres),
        ];
        let with = |wanted: Level, verb: &str| {
            let names: Vec<&str> =
                each.iter().filter(|(_, level)| *level == wanted).map(|(name, _)| *name).collect();
            (!names.is_empty()).then(|| format!("{} {verb}", names.join(", ")))
        };
        let parts: Vec<String> =
            [with(Level::Write, "write"), with(Read, "read")].into_iter().flatten().collect();
        if parts.is_empty() {
            "none".to_owned()
        } else {
            parts.join("; ")
        }
    }

    #[test]
    fn the_page_has_the_phases_of_a_cycle() {
        let page = project::read("docs/cycle.md");
        let (before, rest) = page.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let mut table = "| phase | function | locks | what happens |\n|---|---|---|---|\n".to_owned();
        for (phase, functions, why) in Phase::ALL {
            let functions: Vec<String> = functions.iter().map(|name| format!("`{name}`")).collect();
            let (functions, locks) = (functions.join(", "), in_words(&phase.locks()));
            let _ = writeln!(table, "| {phase:?} | {functions} | {locks} | {} |", why.trim());
        }
        let now = format!("{before}{BEGIN}{table}{END}{after}");
        project::made("docs/cycle.md", now.as_bytes());
    }

    /// docs/figures/cycle.svg: the phases from top to bottom, and what each may hold.
    #[test]
    fn the_picture_has_the_phases_of_a_cycle() {
        let mut drawn = String::new();
        let columns = ["jobs", "associations", "QOS", "TRES"];
        for (x, name) in (0..).step_by(105).zip(columns) {
            let _ = writeln!(drawn, "<text class=\"head middle\" x=\"{}\" y=\"22\">{name}</text>", x + 160);
        }
        let mut words = Vec::new();
        for (y, (phase, ..)) in (0..).step_by(26).zip(Phase::ALL) {
            let locks = phase.locks();
            words.push(format!("{phase:?}: {}.", in_words(&locks)));
            let _ = writeln!(drawn, "<text x=\"10\" y=\"{}\">{phase:?}</text>", y + 48);
            let levels = [locks.jobs, locks.associations, locks.qos, locks.tres];
            for (x, level) in (0..).step_by(105).zip(levels) {
                let (class, name) = match level {
                    None => ("idle", ""),
                    Read => ("d flow", "read"),
                    Write => ("a flow", "WRITE"),
                };
                let _ = writeln!(
                    drawn,
                    "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"95\" height=\"20\"/><text class=\"middle\" x=\"{}\" y=\"{}\">{name}</text>",
                    x + 112,
                    y + 33,
                    x + 160,
                    y + 48
                );
            }
        }
        let height = u32::try_from(40 + 26 * Phase::ALL.len()).unwrap();
        let picture = svg::begin(540, height, "Which locks each phase of a cycle may hold", &words.join(" "));
        project::made("docs/figures/cycle.svg", (picture + &drawn + "</svg>\n").as_bytes());
    }

    #[test]
    #[should_panic(expected = "Gather after Write")]
    fn another_order_is_noticed() {
        let mut phases = Phases::begin();
        phases.enter(Phase::Write);
        phases.enter(Phase::Gather);
    }

    #[test]
    fn a_cycle_may_leave_phases_out_and_announce_again() {
        let mut phases = Phases::begin();
        for phase in
            [Phase::Gather, Phase::Announce, Phase::Charge, Phase::Announce, Phase::Charge, Phase::Write]
        {
            phases.enter(phase);
        }
    }
}
