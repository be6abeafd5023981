//! The lines of settings that say what is charged.

crate::block! {
    /// What the usage of some jobs is multiplied with.
    pub struct Charge(kind: choice(ChargeKind {
        /// Jobs that run in a partition.
        Partition = "Partition",
        /// Jobs of a QOS: that of the job, not that of its partition.
        Qos = "QOS",
        /// Jobs that run in a reservation. A job that was submitted to several is none of them.
        Reservation = "Reservation",
        /// Jobs of a workload characterization key. The default key is written without its star. Without `wckeys` in
        /// `AccountingStorageEnforce` any user may name any key, so such a line has no effect there.
        WcKey = "WCKey",
        /// Jobs of users directly in an account.
        Account = "Account",
        /// Jobs of an account and of all accounts below it.
        Parent = "Parent",
        /// Runs of a job that follow one which was preempted, lost a node or could not be launched, not those after a requeue that
        /// somebody asked for. It takes no `Name`. Nothing is given back of the run that was cut off. It needs `limits` in
        /// `AccountingStorageEnforce`.
        Requeued = "Requeued",
    })) {
        /// Whose jobs the line is for. It must be there, but for `Requeued`. Each of several names is meant.
        names = "Name": names() unset("scavenger");
        /// What usage is multiplied with. With 0 it is not counted. The factors of all lines that fit a job are multiplied,
        /// several of one kind too.
        factor = "Factor": decimal(0.0 ..= 1000.0) required("0.1");
        /// Which usage is meant.
        scope = "Scope": choice(ChargeScope {
            /// What fair-share uses: `RawUsage` of associations. Limits, usage of QOS and what `sreport` says stay as they are.
            Priority = "priority",
            /// This, and what limits such as `GrpTRESMins`, `GrpWall` and `GrpTRESRunMins` of associations and QOS count. What
            /// `sreport` says stays as it is.
            Limits = "limits",
        }) default("priority");
    }
}
