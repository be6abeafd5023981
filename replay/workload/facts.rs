//! Facts of jobs that decide in reality when they start, and that a replay lacks. Each is a bit, so that a report can say how many jobs and
//! CPU hours it concerns.

use crate::trace::reasons::Treatment;

/// Declares the facts in the order of a report: name, where it is read, and what becomes of it.
macro_rules! facts {
    ($($(#[doc = $about:literal])+ $Fact:ident: $column:literal, $name:literal, $treatment:ident;)+) => {
        /// A fact of a job.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fact {
            $($(#[doc = $about])+ $Fact,)+
        }

        impl Fact {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$Fact,)+];

            /// In words.
            pub fn name(self) -> &'static str {
                match self { $(Self::$Fact => $name,)+ }
            }

            /// The column of sacct that has it.
            pub fn column(self) -> &'static str {
                match self { $(Self::$Fact => $column,)+ }
            }

            /// What becomes of it.
            pub fn treatment(self) -> Treatment {
                match self { $(Self::$Fact => Treatment::$treatment,)+ }
            }
        }
    };
}

facts! {
    /// It became eligible after its submission, for whatever reason.
    Before: "Eligible", "begin times, holds and dependencies", Frozen;
    /// Its submission names other jobs.
    Dependency: "SubmitLine", "dependencies that the submission names", Frozen;
    /// It was suspended.
    Suspended: "Suspended", "suspensions", LeftOut;
    /// It ran in a reservation.
    Reservation: "Reservation", "reservations", LeftOut;
    /// It asked for features of nodes.
    Constraints: "Constraints", "constraints", LeftOut;
    /// It held licences.
    Licenses: "Licenses", "licences", LeftOut;
    /// It asked for whole nodes.
    Exclusive: "Exclusive", "whole nodes for single jobs", LeftOut;
    /// It is a part of a heterogeneous job, whose parts start together in reality.
    Het: "JobID", "parts of heterogeneous jobs", LeftOut;
    /// It was preempted: what it ran until then is its run.
    Preempted: "State", "preemptions", LeftOut;
    /// It held GPUs, which do not run out in a replay.
    Gpus: "AllocTRES", "GPUs that may run out", LeftOut;
    /// It asked for memory, which does not run out in a replay.
    Memory: "AllocTRES", "memory that may run out", LeftOut;
}

/// A set of facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts(u16);

impl Facts {
    /// Adds one, if it is so.
    #[must_use]
    pub fn with(self, fact: Fact, is_so: bool) -> Self {
        Self(self.0 | u16::from(is_so) << fact as u16)
    }

    /// Whether it is in it.
    pub fn has(self, fact: Fact) -> bool {
        self.0 >> fact as u16 & 1 == 1
    }
}
