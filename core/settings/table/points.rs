//! The lines of settings that give points: the priority function of Maui, and targets.

crate::block! {
    /// A component of Maui's priority function.
    pub struct Component(component: choice(ComponentKind {
        /// Priorities of the job's user, group, account, QOS and partition, from `Credential` lines.
        Cred = "CRED",
        /// How far their usage is from its target, from `Target` lines, in percentage points.
        Fs = "FS",
        /// What the job requests.
        Res = "RES",
        /// How the job was served so far: wait, jobs that passed it, requeues.
        Serv = "SERV",
        /// How near the job is to its longest acceptable wait, from `Service` lines.
        Target = "TARGET",
        /// What a running job has used; 0 for waiting jobs. Needs `PriorityFlags=CALCULATE_RUNNING`.
        Usage = "USAGE",
        /// How urgent the job is among all waiting and running jobs, by wait, deadline and nice value.
        Urgency = "URGENCY",
        /// The job's state: waiting, running or suspended.
        Attr = "ATTR",
    })) {
        /// Multiplier of the whole component.
        weight = "Weight": decimal(-1e9 ..= 1e9) default("1");
        /// Instead of `Weight`: the waiting or running job with the largest component gets this part of `PointsCap`, others in
        /// proportion. It shifts as jobs come and go.
        weight_percent = "WeightPercent": decimal(0.0 ..= 100.0) unset("50");
        /// The most that the component counts, before `Weight`. 0 or less is no limit.
        cap = "Cap": decimal(-1e9 ..= 1e9) default("0");
        /// Where the line replaces the component's line without `Partition`, as a whole.
        partitions = "Partition": names() unset("debug");
        /// Shortest time limit in the expansion factor, so that tiny jobs do not overtake all others. Only with `SERV`; `TARGET`
        /// uses it too.
        xfactor_min_limit = "XFMinLimit": duration() unset("00:10:00");
        /// Only with `URGENCY`, on the line for all partitions: urgency per second of wait. Grid Engine's `weight_waiting_time`
        /// is 0.278.
        waiting_time = "WaitingTime": decimal(-1e9 ..= 1e9) unset("0.278");
        /// Likewise: divided by the seconds until the deadline (`sbatch --deadline`), at least one, and added to the urgency.
        /// Grid Engine's `weight_deadline` is 3600000. Users choose their deadlines.
        deadline = "Deadline": decimal(-1e9 ..= 1e9) unset("3600000");
        /// Likewise: what the deadline means. `start` if unset.
        deadline_is = "DeadlineIs": choice(DeadlineIs {
            /// The time limit is subtracted: time left until the job must start, as with Grid Engine's `-dl`.
            Start = "start",
            /// Time left until the job must end, as with Slurm's `--deadline`.
            End = "end",
        }) unset("start");
        /// Only with `ATTR`: `State` for PENDING, RUNNING and SUSPENDED jobs, 0 for states left out. If unset, 1 for running
        /// jobs. Running jobs have priorities only with `PriorityFlags=CALCULATE_RUNNING`.
        states = "States": weights(-1e9 ..= 1e9) unset("RUNNING:100");
    }
    Cred as "CRED" {
        /// Priority of the user.
        user = "User";
        /// Priority of the Unix group.
        group = "Group";
        /// Priority of the account.
        account = "Account";
        /// Sum of the `Credential=Parent` priorities of the account and all accounts above it.
        parent = "Parent";
        /// Priority of the QOS.
        qos = "QOS";
        /// Priority of the partition (Maui's class).
        class = "Class";
    }
    Fs as "FS" {
        /// Target minus usage of the user in percentage points, or by `Type` and `Mode` of the `Target` line.
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
        /// How well the user's time limits fit: run time of ended jobs in percent of the time requested. Decays with
        /// `PriorityDecayHalfLife`; 0 for unknown users, also where it has decayed to less than a second. Needs `limits` in `AccountingStorageEnforce`.
        wc_accuracy = "WCAccuracy";
    }
    Res as "RES" {
        /// Nodes.
        node = "Node";
        /// CPUs.
        proc = "Proc";
        /// Memory of the whole job in MB.
        mem = "Mem";
        /// Swap space, always 0: Slurm has none.
        swap = "Swap";
        /// Temporary disk space of the whole job in MB: `--tmp` times nodes.
        disk = "Disk";
        /// Processor seconds: CPUs times the time limit.
        ps = "PS";
        /// Processor equivalents: the largest part of the cluster's processors, memory or GRES that the job requests, times the
        /// cluster's processors.
        pe = "PE";
        /// Time limit in seconds.
        wall_time = "WallTime";
    }
    Serv as "SERV" {
        /// Minutes waited; see `QueueTimeSince`.
        queue_time = "QueueTime";
        /// Expansion factor: 1 plus the wait over the time limit, or over `XFMinLimit` if longer.
        xfactor = "XFactor";
        /// Jobs with lower priority in one of the job's partitions that started there while it was eligible. Without `limits` in
        /// `AccountingStorageEnforce`, jobs forgotten before the next calculation are missed. 0 after a requeue.
        bypass = "Bypass";
        /// How often the job was requeued. Cap it: users can requeue their own jobs (`scontrol requeue`).
        start_count = "StartCount";
    }
    Target as "TARGET" {
        /// How near the wait is to `TargetQueueTime` of its `Service` line.
        target_queue_time = "TargetQueueTime";
        /// How near the expansion factor is to `TargetXFactor` of its `Service` line.
        target_xfactor = "TargetXFactor";
    }
    Usage as "USAGE" {
        /// CPUs times seconds run.
        consumed = "Consumed";
        /// CPUs times seconds left of the time limit.
        remaining = "Remaining";
        /// Elapsed part of the time limit, in percent.
        percent = "Percent";
        /// Seconds run.
        execution_time = "ExecutionTime";
    }
    Urgency as "URGENCY" {
        /// Urgency by `WaitingTime` and `Deadline`: 0 for the least urgent job, 1 for the most urgent, 0.5 if all are alike.
        urgency = "Urgency";
        /// The nice value likewise: 1 for the lowest.
        priority = "Priority";
    }
    Attr as "ATTR" {
        /// The number in `States` for the job's state.
        state = "State";
    }
}

crate::block! {
    /// A priority of a user, group, account, QOS or partition.
    pub struct Credential(kind: choice(CredentialKind {
        /// Users, the same in all accounts.
        User = "User",
        /// Unix groups that jobs run with, by name or number.
        Group = "Group",
        /// The job's account alone.
        Account = "Account",
        /// The job's account and all accounts above it. Their priorities add up.
        Parent = "Parent",
        /// Qualities of service.
        Qos = "QOS",
        /// Partitions.
        Partition = "Partition",
    })) {
        /// Each of several names has all of the priority. A name can be on only one line of its kind. `*` alone means all on no
        /// other line, or with priority 0 there.
        names = "Name": names() required("john,paul");
        /// The priority.
        priority = "Priority": integer(-1_000_000_000 ..= 1_000_000_000) required("2000");
        /// With `Group`: replaces the weight `Class` of `Component=CRED` for the group's jobs.
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
        /// A name can be on only one line of its kind. `*` alone means all on no other line.
        names = "Name": names() required("short");
        /// Longest wait that a job should have.
        target_queue_time = "TargetQueueTime": positive_duration() unset("00:15:00");
        /// Largest expansion factor that a job should have: wait plus time limit, over time limit.
        target_xfactor = "TargetXFactor": positive_decimal() unset("3");
        /// Added to the weight `QueueTime` of `Component=SERV`, even without such a line.
        queue_time_weight = "QueueTimeWeight": decimal(-1e9 ..= 1e9) default("0");
        /// The same for the weight `XFactor`.
        xfactor_weight = "XFactorWeight": decimal(-1e9 ..= 1e9) default("0");
        /// How the value grows towards the target.
        curve = "Curve": choice(Curve {
            /// From nearly 0 to 1 at the target, and no further.
            Bounded = "bounded",
            /// As in Maui's manual: one over the square of what is left until the target, in minutes for the wait, and 100,000,000
            /// from the target on.
            Maui = "maui",
        }) default("bounded");
        /// A missed target counts 1 + log2(r) times as much, where r is the wait or expansion factor over its target, up to this
        /// limit: 2 at twice the target, 3 at four times. If unset it stays as at the target. Only with `Curve=bounded`.
        target_growth = "TargetGrowth": decimal(1.0 ..= 1000.0) unset("4");
    }
}

crate::block! {
    /// The part of all usage that a user, group, account, QOS or partition should have.
    pub struct Target(kind: choice(TargetKind {
        /// Users, over all their associations.
        User = "User",
        /// Unix groups that jobs run with, by name or number.
        Group = "Group",
        /// Jobs directly in an account.
        Account = "Account",
        /// An account with all below it. The percentage is of the usage of it and its siblings, for a cap of all usage.
        Parent = "Parent",
        /// Qualities of service.
        Qos = "QOS",
        /// Partitions.
        Partition = "Partition",
    })) {
        /// Each of several names has all of the target. A name can have one target and one cap of each kind. `*` alone means all
        /// on no other line.
        names = "Name": names() required("john");
        /// Percentage of all usage. With `%available`, of what the cluster could have given in that time, which needs a
        /// `TargetMetric` other than billing.
        percent = "Percent": text("a number from 0 to 1000000, optionally followed by %available", percent) unset("16.5");
        /// What a cap allows in hours of `TargetMetric`, instead of `Percent`.
        amount = "Amount": decimal(0.0 ..= 1e15) unset("");
        /// The kind of target.
        target_type = "Type": choice(TargetType {
            /// Positive points below it, negative points above it.
            Target = "target",
            /// Positive points below it only.
            Floor = "floor",
            /// Negative points above it only.
            Ceiling = "ceiling",
            /// Jobs that would exceed it, by their time limits, get `-PointsCap` points and come last. With `Block` they do not
            /// start.
            Cap = "cap",
        }) default("target");
        /// With `Account` and `Group`, added to `Weight` of `Component=FS` for their jobs. Otherwise it multiplies the distance.
        /// No effect on caps.
        weight = "Weight": decimal(-1e9 ..= 1e9) unset("1");
        /// How the distance is measured.
        mode = "Mode": choice(TargetMode {
            /// In percentage points: target minus usage.
            Difference = "difference",
            /// Relative to the target: 1 minus usage over target.
            Ratio = "ratio",
        }) default("difference");
        /// Whether usage is counted in windows. By `TargetUsage` if unset.
        window = "Window": yes_no() unset("yes");
        /// With `User`, `Account` and `Parent`: limits target and percentage to usage in the book's partitions. It decays with
        /// the half-life and is billing, or with `UsageMeasure=dominant` a TRES of `DominantTRES`, which must be the
        /// `TargetMetric` too.
        book = "Book": text("the name of a Book line", super::books::is_name) unset("gpu");
        /// With `Type=cap`: jobs beyond the cap do not start. They wait with the reason `QOSUsageThreshold` and hold no tickets
        /// until usage has fallen. Their QOS needs the flag `EnforceUsageThreshold` and a `UsageThreshold` above 0 and at most
        /// 0.000001; otherwise they come last. A job in several partitions or QOS waits only if it is beyond a cap in each. Jobs
        /// whose priority an administrator has set start anyway.
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
    pub(crate) fn stops(&self) -> bool {
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
