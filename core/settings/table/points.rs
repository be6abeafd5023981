//! The lines of settings that give points: the priority function of Maui, and targets.

crate::block! {
    /// A component of Maui's priority function.
    pub struct Component(component: choice(ComponentKind {
        /// Who a job belongs to, and where it waits, as `Credential` lines say.
        Cred = "CRED",
        /// How far the usage of these is from its target, as `Target` lines say, in percent points.
        Fs = "FS",
        /// What a job requests.
        Res = "RES",
        /// How well a job was served so far: how long it has waited.
        Serv = "SERV",
        /// How near a job is to the wait that it should have at most, as `Service` lines say.
        Target = "TARGET",
        /// What a running job has used. It needs `PriorityFlags=CALCULATE_RUNNING`, and is 0 for jobs that wait.
        Usage = "USAGE",
    })) {
        /// What the whole component is multiplied with. It may be negative, as may all weights.
        weight = "Weight": decimal(-1e9 ..= 1e9) default("1");
        /// The most that the component counts, before `Weight`. 0 or less is no limit.
        cap = "Cap": decimal(-1e9 ..= 1e9) default("0");
        /// The partitions that the line is for. It replaces the general line of the component as a whole there. Without
        /// `Partition` the line is for all partitions that have no line.
        partitions = "Partition": names() unset("debug");
        /// The shortest time limit that the expansion factor is computed with, so that tiny jobs do not overtake all
        /// others. Only with `SERV`; the expansion factor of `TARGET` is computed with it, too.
        xfactor_min_limit = "XFMinLimit": duration() unset("00:10:00");
    }
    Cred as "CRED" {
        /// The priority of the job's user.
        user = "User";
        /// The priority of the job's Unix group.
        group = "Group";
        /// The priority of the job's account.
        account = "Account";
        /// The sum of the priorities of the job's account and all accounts above it, by lines `Credential=Parent`.
        parent = "Parent";
        /// The priority of the job's QOS.
        qos = "QOS";
        /// The priority of the job's partition, which Maui calls class.
        class = "Class";
    }
    Fs as "FS" {
        /// How far the user is below the target: target less usage in percent points, or as `Type` and `Mode` of the
        /// line say.
        fs_user = "FSUser";
        /// The same of the Unix group.
        fs_group = "FSGroup";
        /// The same of the account.
        fs_account = "FSAccount";
        /// The same along the account tree, see `CapTiers` and `TierMultiplier`.
        fs_parent = "FSParent";
        /// The same of the QOS.
        fs_qos = "FSQOS";
        /// The same of the partition.
        fs_class = "FSClass";
    }
    Res as "RES" {
        /// Nodes.
        node = "Node";
        /// Processors, which are CPUs here.
        proc = "Proc";
        /// Memory of the whole job in MB.
        mem = "Mem";
        /// Swap space. Slurm has none, so this is always 0.
        swap = "Swap";
        /// Temporary disk space of the whole job in MB: `--tmp` times nodes.
        disk = "Disk";
        /// Processor seconds: processors times the time limit.
        ps = "PS";
        /// Processor equivalents: the largest part that the job requests of the cluster's processors, memory or GRES,
        /// times the cluster's processors.
        pe = "PE";
        /// The time limit in seconds.
        wall_time = "WallTime";
    }
    Serv as "SERV" {
        /// How long the job has waited, in minutes, since it gains age.
        queue_time = "QueueTime";
        /// The expansion factor: 1 plus the wait over the time limit, or over `XFMinLimit` where that is longer.
        xfactor = "XFactor";
        /// How many jobs have started in the partition that were behind the job in the order of the calculation before. Only
        /// calculations look, so jobs that come and go between two of them are missed. It is 0 after a restart and after a
        /// requeue.
        bypass = "Bypass";
    }
    Target as "TARGET" {
        /// How near the wait is to `TargetQueueTime` of its `Service` line.
        target_queue_time = "TargetQueueTime";
        /// How near the expansion factor is to `TargetXFactor` of its `Service` line.
        target_xfactor = "TargetXFactor";
    }
    Usage as "USAGE" {
        /// Processors times the seconds that the job has run.
        consumed = "Consumed";
        /// Processors times the seconds that are left of the time limit.
        remaining = "Remaining";
        /// The percentage of the time limit that is over.
        percent = "Percent";
        /// The seconds that the job has run.
        execution_time = "ExecutionTime";
    }
}

crate::block! {
    /// A priority of a user, group, account, QOS or partition.
    pub struct Credential(kind: choice(CredentialKind {
        /// Users. A user is the same in all accounts.
        User = "User",
        /// Unix groups, by name or number: the group that a job runs with.
        Group = "Group",
        /// The account of a job alone.
        Account = "Account",
        /// The account of a job and all accounts above it. The priorities of several of them add up.
        Parent = "Parent",
        /// Qualities of service.
        Qos = "QOS",
        /// Partitions.
        Partition = "Partition",
    })) {
        /// Who has the priority. Each of several names has all of it. Of each kind a name may stand on one line only.
        /// `*` alone means everybody of this kind who is on no other line, or has the priority 0 there.
        names = "Name": names() required("john,paul");
        /// The priority. It may be negative.
        priority = "Priority": integer(-1_000_000_000 ..= 1_000_000_000) required("2000");
    }
}

crate::block! {
    /// How long jobs of a QOS or partition should wait at most.
    pub struct Service(kind: choice(ServiceKind {
        /// Qualities of service.
        Qos = "QOS",
        /// Partitions.
        Partition = "Partition",
    })) {
        /// Which ones. Of each kind a name may stand on one line only. `*` alone means all that are on no other line.
        names = "Name": names() required("short");
        /// The wait that a job should have at most.
        target_queue_time = "TargetQueueTime": positive_duration() unset("00:15:00");
        /// The expansion factor that a job should have at most: its wait and time limit over its time limit.
        target_xfactor = "TargetXFactor": positive_decimal() unset("3");
        /// A number that is added to the weight `QueueTime` of `Component=SERV`, also where there is no such line.
        queue_time_weight = "QueueTimeWeight": decimal(-1e9 ..= 1e9) default("0");
        /// The same for the weight `XFactor`.
        xfactor_weight = "XFactorWeight": decimal(-1e9 ..= 1e9) default("0");
        /// How the value grows as the target comes near.
        curve = "Curve": choice(Curve {
            /// From nearly 0 to 1 when the target is reached, and no further.
            Bounded = "bounded",
            /// As Maui's manual says: one over the square of what is left until the target, in minutes for the wait. It is
            /// 100,000,000 from the target on.
            Maui = "maui",
        }) default("bounded");
    }
}

crate::block! {
    /// The part of all usage that a user, group, account, QOS or partition should have.
    pub struct Target(kind: choice(TargetKind {
        /// Users, over all of their associations.
        User = "User",
        /// Unix groups, by name or number: the group that a job runs with.
        Group = "Group",
        /// Jobs directly in an account.
        Account = "Account",
        /// An account with all below it, measured against its siblings: the percentage is that among the accounts and
        /// users below the same account. That of a cap is of the usage of all.
        Parent = "Parent",
        /// Qualities of service.
        Qos = "QOS",
        /// Partitions.
        Partition = "Partition",
    })) {
        /// Who has the target. Each of several names has all of it. Of each kind a name may have one target and one
        /// cap. `*` alone means everybody of this kind who is on no other line.
        names = "Name": names() required("john");
        /// The percentage of the usage of all. With `%available` behind it, it is the percentage of what the cluster could have
        /// given in that time, which needs a `TargetMetric` other than billing.
        percent = "Percent": text("a number from 0 to 1000000, or one with %available behind it", percent) unset("16.5");
        /// What a cap allows in hours of `TargetMetric`, instead of `Percent`.
        amount = "Amount": decimal(0.0 ..= 1e15) unset("");
        /// What the target is.
        target_type = "Type": choice(TargetType {
            /// Points for those below it, and against those above it.
            Target = "target",
            /// Points for those below it only.
            Floor = "floor",
            /// Points against those above it only.
            Ceiling = "ceiling",
            /// Jobs that would go beyond it, as their time limits say, have `-PointsCap` points: they come last. They are
            /// never held. Where they should be, let Slurm do it: `sacctmgr modify account NAME set GrpTRESMins=cpu=N`,
            /// or the same on a QOS with the flag `NoDecay`, and `limits` in `AccountingStorageEnforce`.
            Cap = "cap",
        }) default("target");
        /// With `Account` and `Group` a number that is added to `Weight` of `Component=FS` for their jobs. Else the
        /// distance is multiplied with it. It has no effect on a cap.
        weight = "Weight": decimal(-1e9 ..= 1e9) unset("1");
        /// How the distance is measured.
        mode = "Mode": choice(TargetMode {
            /// In percent points: target less usage.
            Difference = "difference",
            /// As a part of the target: 1 less usage over target.
            Ratio = "ratio",
        }) default("difference");
        /// Whether usage is counted in windows. Without `Window` it is as `TargetUsage` says.
        window = "Window": yes_no() unset("yes");
    }
}

impl Target {
    /// The percentage, and whether it is of what was available; `None` for an amount.
    pub fn percentage(&self) -> Option<(f64, bool)> {
        percentage(self.percent.as_deref()?)
    }
}

const AVAILABLE: &str = "%available";

fn percentage(text: &str) -> Option<(f64, bool)> {
    let at = text.len().checked_sub(AVAILABLE.len()).filter(|at| text.is_char_boundary(*at));
    let (number, available) = match at.map(|at| text.split_at(at)) {
        Some((number, unit)) if unit.eq_ignore_ascii_case(AVAILABLE) => (number, true),
        _ => (text, false),
    };
    let number = number.parse::<f64>().ok().filter(|number| (0.0..=1e6).contains(number))?;
    Some((number, available))
}

fn percent(text: &str) -> bool {
    percentage(text).is_some()
}
