//! The lines of settings that say what is charged.

use crate::rules::hours::{read_days, read_hours, WeekHours};

crate::block! {
    /// What the usage of some jobs is multiplied with.
    pub struct Charge(kind: choice(ChargeKind {
        /// Jobs that run in a partition.
        Partition = "Partition",
        /// Jobs by their own QOS, not their partition's.
        Qos = "QOS",
        /// Jobs that run in a reservation. No line matches a job submitted to several.
        Reservation = "Reservation",
        /// Jobs of a wckey, without the `*` of a default key. No effect without `wckeys` in `AccountingStorageEnforce`.
        WcKey = "WCKey",
        /// Jobs of users directly in an account.
        Account = "Account",
        /// Jobs of an account and all accounts below it.
        Parent = "Parent",
        /// Runs after one that was preempted, lost a node or failed to launch, not after a requested requeue. The interrupted run
        /// is not refunded. Takes no `Name`; needs `limits` in `AccountingStorageEnforce`.
        Requeued = "Requeued",
    })) {
        /// Whose jobs the line matches. Required, except with `Requeued`.
        names = "Name": names() unset("scavenger");
        /// Multiplier of usage; with 0 it is not counted. The factors of all matching lines are multiplied, even of one kind.
        factor = "Factor": decimal(0.0 ..= 1000.0) required("0.1");
        /// Which usage is multiplied.
        scope = "Scope": choice(ChargeScope {
            /// `RawUsage` of associations, which fair-share uses. Limits, usage of QOS and `sreport` do not change.
            Priority = "priority",
            /// Also what limits of associations and QOS count, such as `GrpTRESMins`, `GrpWall` and `GrpTRESRunMins`. `sreport`
            /// does not change.
            Limits = "limits",
        }) default("priority");
        /// Weekdays on which the line applies, by the controller's clock: `Sat,Sun`, or `Mon-Fri`. All if unset.
        days = "Days": text("weekdays and ranges of them, each day once: Sun, Mon, Tue, Wed, Thu, Fri, Sat, Mon-Fri", are_days)
            unset("Sat,Sun");
        /// Hours of these weekdays. `18:00-06:00` is 18:00 to midnight and midnight to 06:00 of the same weekdays. Each second of
        /// a job counts separately, what is missing to `MinimumCharge` as its last one.
        hours = "Hours": text("two different times from 00:00 to 24:00, with - between them", are_hours) unset("18:00-06:00");
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
