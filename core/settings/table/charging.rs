//! The lines of settings that say what is charged.

use crate::rules::hours::{read_days, read_hours, WeekHours};

crate::block! {
    /// What the usage of some jobs is multiplied with.
    pub struct Charge(kind: choice(ChargeKind {
        /// Jobs that run in a partition.
        Partition = "Partition",
        /// Jobs by their own QOS, not by that of their partition.
        Qos = "QOS",
        /// Jobs that run in a reservation. No line fits a job that was submitted to several.
        Reservation = "Reservation",
        /// Jobs of a workload characterization key, without the star of a default key. Without `wckeys` in
        /// `AccountingStorageEnforce` any user may name any key, so the line has no effect.
        WcKey = "WCKey",
        /// Jobs of users directly in an account.
        Account = "Account",
        /// Jobs of an account and of all accounts below it.
        Parent = "Parent",
        /// Runs after one that was preempted, lost a node or could not be launched, not after a requeue that somebody asked for.
        /// Nothing is given back of the interrupted run. It takes no `Name`, and needs `limits` in `AccountingStorageEnforce`.
        Requeued = "Requeued",
    })) {
        /// The names whose jobs the line is for. Required, except with `Requeued`.
        names = "Name": names() unset("scavenger");
        /// The multiplier of usage; with 0 it is not counted. The factors of all lines that fit a job are multiplied, even of one
        /// kind.
        factor = "Factor": decimal(0.0 ..= 1000.0) required("0.1");
        /// Which usage is multiplied.
        scope = "Scope": choice(ChargeScope {
            /// `RawUsage` of associations, which fair-share uses. Limits, usage of QOS and `sreport` stay as they are.
            Priority = "priority",
            /// This, and what limits such as `GrpTRESMins`, `GrpWall` and `GrpTRESRunMins` of associations and QOS count. `sreport`
            /// stays as it is.
            Limits = "limits",
        }) default("priority");
        /// The weekdays on which the line counts, by the controller's clock: `Sat,Sun`, or `Mon-Fri`. Without `Days` all count.
        days = "Days": text("weekdays and spans of them, each day once: Sun, Mon, Tue, Wed, Thu, Fri, Sat, Mon-Fri", are_days)
            unset("Sat,Sun");
        /// The hours of these weekdays in which it counts. `18:00-06:00` is from 18:00 to midnight and from midnight to 06:00 of the same
        /// weekdays. Each second that a job runs counts by itself, and what is missing to `MinimumCharge` as its last one.
        hours = "Hours": text("two different times, from 00:00 to 24:00, with - between them", are_hours) unset("18:00-06:00");
    }
}

impl Charge {
    /// When the line counts; `None` for always.
    pub fn week_hours(&self) -> Option<WeekHours> {
        if self.days.is_none() && self.hours.is_none() {
            return None;
        }
        WeekHours::read(self.days.as_deref(), self.hours.as_deref())
    }
}

fn are_days(text: &str) -> bool {
    read_days(text).is_some()
}

fn are_hours(text: &str) -> bool {
    read_hours(text).is_some()
}
