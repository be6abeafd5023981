//! The lines of settings that give points: the priority function of Maui, and targets.

crate::block! {
    /// A component of Maui's priority function.
    pub struct Component(component: choice(ComponentKind {
        /// The priorities of a job's user, group, account, QOS and partition, by `Credential` lines.
        Cred = "CRED",
        /// How far their usage is from its target, by `Target` lines, in percentage points.
        Fs = "FS",
        /// What a job requests.
        Res = "RES",
        /// How well a job was served so far: how long it has waited.
        Serv = "SERV",
        /// How near a job is to the longest wait that it should have, by `Service` lines.
        Target = "TARGET",
        /// What a running job has used, 0 for waiting jobs. It needs `PriorityFlags=CALCULATE_RUNNING`.
        Usage = "USAGE",
        /// How urgent a job is beside all others that wait and run: by its wait and deadline, and by its nice value.
        Urgency = "URGENCY",
        /// What a job does: it waits, runs or is suspended.
        Attr = "ATTR",
    })) {
        /// The multiplier of the whole component.
        weight = "Weight": decimal(-1e9 ..= 1e9) default("1");
        /// In place of `Weight`: the job for which the component is largest, of all jobs that wait and run, has this part of `PointsCap`, and
        /// others in proportion. It moves with whatever jobs there are.
        weight_percent = "WeightPercent": decimal(0.0 ..= 100.0) unset("50");
        /// The most that the component counts, before `Weight`. 0 or less is no limit.
        cap = "Cap": decimal(-1e9 ..= 1e9) default("0");
        /// The partitions that the line is for. There it replaces the general line of the component as a whole. Without `Partition`
        /// the line is for all partitions without a line.
        partitions = "Partition": names() unset("debug");
        /// The shortest time limit in the expansion factor, so that tiny jobs do not overtake all others. Only with `SERV`, but
        /// `TARGET` uses it as well.
        xfactor_min_limit = "XFMinLimit": duration() unset("00:10:00");
        /// Only with `URGENCY`, on the line for all partitions: what a second of wait adds to the urgency. Grid Engine's
        /// `weight_waiting_time` is 0.278.
        waiting_time = "WaitingTime": decimal(-1e9 ..= 1e9) unset("0.278");
        /// The same: it is divided by the seconds until the deadline (`sbatch --deadline`), at least one, and added to the urgency. Grid
        /// Engine's `weight_deadline` is 3600000. Users choose their deadlines.
        deadline = "Deadline": decimal(-1e9 ..= 1e9) unset("3600000");
        /// The same: what the deadline says. Without `DeadlineIs` it is `start`.
        deadline_is = "DeadlineIs": choice(DeadlineIs {
            /// The time limit is subtracted: what is left until the job has to start, as Grid Engine's `-dl` says.
            Start = "start",
            /// What is left until the job has to end, which is what Slurm's `--deadline` says.
            End = "end",
        }) unset("start");
        /// Only with `ATTR`: the value of `State` for jobs in these states: PENDING, RUNNING, SUSPENDED; 0 for those that are left out.
        /// Without `States` it is 1 for jobs that run. These have priorities with `PriorityFlags=CALCULATE_RUNNING`.
        states = "States": weights(-1e9 ..= 1e9) unset("RUNNING:100");
    }
    Cred as "CRED" {
        /// The priority of the job's user.
        user = "User";
        /// The priority of the job's Unix group.
        group = "Group";
        /// The priority of the job's account.
        account = "Account";
        /// The sum of the priorities of the job's account and all accounts above it, by `Credential=Parent` lines.
        parent = "Parent";
        /// The priority of the job's QOS.
        qos = "QOS";
        /// The priority of the job's partition, Maui's class.
        class = "Class";
    }
    Fs as "FS" {
        /// How far the user is below the target: target less usage in percentage points, or by `Type` and `Mode` of the line.
        fs_user = "FSUser";
        /// The same for the Unix group.
        fs_group = "FSGroup";
        /// The same for the account.
        fs_account = "FSAccount";
        /// The same along the account tree; see `CapTiers` and `TierMultiplier`.
        fs_parent = "FSParent";
        /// The same for the QOS.
        fs_qos = "FSQOS";
        /// The same for the partition.
        fs_class = "FSClass";
        /// How well the user's time limits fit: what the jobs that have ended ran of what they asked for, in percent. It decays with
        /// `PriorityDecayHalfLife`; 0 for a user of whom nothing is known. It needs `limits` in `AccountingStorageEnforce`.
        wc_accuracy = "WCAccuracy";
    }
    Res as "RES" {
        /// Nodes.
        node = "Node";
        /// Processors, here CPUs.
        proc = "Proc";
        /// Memory of the whole job in MB.
        mem = "Mem";
        /// Swap space, always 0: Slurm has none.
        swap = "Swap";
        /// Temporary disk space of the whole job in MB: `--tmp` times nodes.
        disk = "Disk";
        /// Processor seconds: processors times the time limit.
        ps = "PS";
        /// Processor equivalents: the largest part that the job requests of the cluster's processors, memory or GRES, times the
        /// cluster's processors.
        pe = "PE";
        /// The time limit in seconds.
        wall_time = "WallTime";
    }
    Serv as "SERV" {
        /// Minutes that the job has waited since it gains age.
        queue_time = "QueueTime";
        /// The expansion factor: 1 plus the wait over the time limit, or over `XFMinLimit` if that is longer.
        xfactor = "XFactor";
        /// How many jobs have started in one of the job's partitions with a lower priority there, while it was eligible. Without `limits` in
        /// `AccountingStorageEnforce`, those are missed that end and are forgotten before the next calculation. It is 0 after a requeue.
        bypass = "Bypass";
        /// How often the job was requeued. A user can requeue a job of his own, with `scontrol requeue`: cap it.
        start_count = "StartCount";
    }
    Target as "TARGET" {
        /// How near the wait is to `TargetQueueTime` of its `Service` line.
        target_queue_time = "TargetQueueTime";
        /// How near the expansion factor is to `TargetXFactor` of its `Service` line.
        target_xfactor = "TargetXFactor";
    }
    Usage as "USAGE" {
        /// Processors times seconds run.
        consumed = "Consumed";
        /// Processors times the seconds left of the time limit.
        remaining = "Remaining";
        /// The part of the time limit that is over, in percent.
        percent = "Percent";
        /// Seconds run.
        execution_time = "ExecutionTime";
    }
    Urgency as "URGENCY" {
        /// The urgency by `WaitingTime` and `Deadline`: 0 for the least urgent job, 1 for the most urgent one, 0.5 if all are alike.
        urgency = "Urgency";
        /// The nice value likewise: 1 for the job with the lowest one.
        priority = "Priority";
    }
    Attr as "ATTR" {
        /// The number that `States` has for the job's state.
        state = "State";
    }
}

crate::block! {
    /// A priority of a user, group, account, QOS or partition.
    pub struct Credential(kind: choice(CredentialKind {
        /// Users, the same in all accounts.
        User = "User",
        /// Unix groups, by name or number: the group that a job runs with.
        Group = "Group",
        /// The account of a job alone.
        Account = "Account",
        /// The account of a job and all accounts above it. Their priorities add up.
        Parent = "Parent",
        /// Qualities of service.
        Qos = "QOS",
        /// Partitions.
        Partition = "Partition",
    })) {
        /// Each of several names has all of the priority, and may be on one line of a kind only. `*` alone means all of this kind
        /// that are on no other line, or have the priority 0 there.
        names = "Name": names() required("john,paul");
        /// The priority.
        priority = "Priority": integer(-1_000_000_000 ..= 1_000_000_000) required("2000");
        /// With `Group`: what replaces the weight `Class` of `Component=CRED` for jobs of the group.
        class_weight = "ClassWeight": decimal(-1e9 ..= 1e9) unset("5");
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
        /// A name may be on one line of a kind only. `*` alone means all that are on no other line.
        names = "Name": names() required("short");
        /// The longest wait that a job should have.
        target_queue_time = "TargetQueueTime": positive_duration() unset("00:15:00");
        /// The largest expansion factor that a job should have: its wait and time limit over its time limit.
        target_xfactor = "TargetXFactor": positive_decimal() unset("3");
        /// Added to the weight `QueueTime` of `Component=SERV`, also without such a line.
        queue_time_weight = "QueueTimeWeight": decimal(-1e9 ..= 1e9) default("0");
        /// The same for the weight `XFactor`.
        xfactor_weight = "XFactorWeight": decimal(-1e9 ..= 1e9) default("0");
        /// How the value grows as the target comes near.
        curve = "Curve": choice(Curve {
            /// From nearly 0 to 1 at the target, and no further.
            Bounded = "bounded",
            /// As in Maui's manual: one over the square of what is left until the target, in minutes for the wait, and 100,000,000
            /// from the target on.
            Maui = "maui",
        }) default("bounded");
        /// A target that is missed by a factor counts 1 + the logarithm to base 2 of that factor as much, at most so much: 2 at twice the
        /// target, 3 at four times. Without `TargetGrowth` it stays as it is at the target. Only with `Curve=bounded`.
        target_growth = "TargetGrowth": decimal(1.0 ..= 1000.0) unset("4");
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
        /// An account with all below it. The percentage is of the usage of it and its siblings, that of a cap of all usage.
        Parent = "Parent",
        /// Qualities of service.
        Qos = "QOS",
        /// Partitions.
        Partition = "Partition",
    })) {
        /// Each of several names has all of the target, and may have one target and one cap of a kind. `*` alone means all of this
        /// kind that are on no other line.
        names = "Name": names() required("john");
        /// The percentage of all usage. With `%available` it is of what the cluster could have given in that time, which needs a
        /// `TargetMetric` other than billing.
        percent = "Percent": text("a number from 0 to 1000000, or one with %available behind it", percent) unset("16.5");
        /// What a cap allows in hours of `TargetMetric`, instead of `Percent`.
        amount = "Amount": decimal(0.0 ..= 1e15) unset("");
        /// The kind of target.
        target_type = "Type": choice(TargetType {
            /// Points for those below it, and against those above it.
            Target = "target",
            /// Points for those below it only.
            Floor = "floor",
            /// Points against those above it only.
            Ceiling = "ceiling",
            /// Jobs that would exceed it, by their time limits, have `-PointsCap` points: they come last. With `Block` they do not
            /// start at all.
            Cap = "cap",
        }) default("target");
        /// With `Account` and `Group`, added to `Weight` of `Component=FS` for their jobs. Otherwise the distance is multiplied by
        /// it. It has no effect on a cap.
        weight = "Weight": decimal(-1e9 ..= 1e9) unset("1");
        /// How the distance is measured.
        mode = "Mode": choice(TargetMode {
            /// In percentage points: target less usage.
            Difference = "difference",
            /// Relative to the target: 1 less usage over target.
            Ratio = "ratio",
        }) default("difference");
        /// Whether usage is counted in windows. Without `Window`, `TargetUsage` decides.
        window = "Window": yes_no() unset("yes");
        /// A book, with `User`, `Account` and `Parent`: the target is for jobs in its partitions, and the percentage is of what was used
        /// there. Usage of a book decays with the half-life, and is billing, or with `UsageMeasure=dominant` a TRES of `DominantTRES`, which
        /// `TargetMetric` has to say too.
        book = "Book": text("the name of a Book line", super::books::is_name) unset("gpu");
        /// With `Type=cap`: jobs beyond the cap do not start. They wait with the reason `QOSUsageThreshold` and hold no tickets until
        /// the usage has fallen. slurmctld does this where the job's QOS has the flag `EnforceUsageThreshold` and a `UsageThreshold`
        /// of more than 0 and at most 0.000001. Elsewhere such jobs come last. A job in several partitions or QOS waits so if it is
        /// beyond a cap in each. Jobs whose priority an administrator has set start nevertheless.
        block = "Block": yes_no() default("no");
    }
}

impl super::Settings {
    /// Whether there are caps, or grants, beyond which jobs do not start.
    pub fn caps_stop(&self) -> bool {
        self.targets.iter().any(Target::stops) || self.grants.iter().any(super::Grant::stops)
    }
}

impl Target {
    /// Jobs beyond it do not start.
    pub fn stops(&self) -> bool {
        self.target_type == TargetType::Cap && self.block
    }

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
